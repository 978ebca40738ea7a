//! Plans `git agentwt init`: a config to start from, and the ignore rules of the worktrees.
//!
//! It decides from the names of the tracked top-level entries alone, reads no file and keeps
//! whatever is there: a second `init` plans nothing.
//!
//! ```
//! use git_agentwt::plan::init::{ConfigPlan, EntryKind, InitFacts, TopLevelEntry, plan};
//! let src = TopLevelEntry { name: "src".into(), kind: EntryKind::Directory };
//! let facts = InitFacts { entries: vec![src], ..InitFacts::default() };
//! let ConfigPlan::Write(text) = plan(&facts).config else { panic!("there is no config yet") };
//! assert!(text.contains("\"/src/**\","));
//! ```

mod layout;
mod text;

use bstr::BString;

pub use layout::{Proposal, Proposed};

/// The rule that keeps worktrees out of the main worktree's `git status`, for `info/exclude` of
/// the common git directory (gitignore(5)).
pub const EXCLUDE_RULE: &str = "/.agentwt/worktrees/";

/// Where the file with [`WORKTREES_GITIGNORE`] is, relative to the root of the main worktree.
pub const WORKTREES_GITIGNORE_PATH: &str = ".agentwt/worktrees/.gitignore";

/// Ignores everything beside and below it, itself too: it works where `info/exclude` is not read
/// or was lost, and is never committed.
pub const WORKTREES_GITIGNORE: &str = "*\n";

/// Holds what `init` looks at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InitFacts {
    /// The tracked entries of the repository's root, in any order.
    pub entries: Vec<TopLevelEntry>,
    /// The repository's own name, which a Python package often has too.
    pub repository_name: Option<String>,
    /// `.agentwt/config.toml`.
    pub config: Presence,
    /// `.worktreeinclude` at the root.
    pub worktreeinclude: Presence,
    /// [`EXCLUDE_RULE`] in `info/exclude` of the common git directory.
    pub exclude_rule: Presence,
    /// `.agentwt/worktrees/.gitignore`.
    pub worktrees_gitignore: Presence,
}

/// Names one tracked entry of the root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TopLevelEntry {
    /// Its name, without a `/`.
    pub name: BString,
    /// What it is.
    pub kind: EntryKind,
}

/// Says what a tracked entry of the root is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// A directory.
    Directory,
    /// A directory with an `__init__.py`.
    PythonPackage,
    /// A file, or what else is no directory here: a symbolic link, a submodule.
    File,
}

/// Says whether something is there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Presence {
    /// It is not.
    #[default]
    Absent,
    /// It is.
    Present,
}

/// Holds what `init` will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InitPlan {
    /// What happens to the config.
    pub config: ConfigPlan,
    /// The line to add to `info/exclude` of the common git directory, if it is not there.
    pub exclude_rule: Option<&'static str>,
    /// The content of [`WORKTREES_GITIGNORE_PATH`], if that is not there.
    pub worktrees_gitignore: Option<&'static str>,
}

/// Says what happens to `.agentwt/config.toml`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ConfigPlan {
    /// It is written with this text.
    Write(String),
    /// It is there and stays as it is.
    Keep,
}

impl InitPlan {
    /// Whether everything is there already.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.config == ConfigPlan::Keep
            && self.exclude_rule.is_none()
            && self.worktrees_gitignore.is_none()
    }
}

/// Decides what `init` writes.
#[must_use]
pub fn plan(facts: &InitFacts) -> InitPlan {
    let missing = |there: Presence, what: &'static str| match there {
        Presence::Absent => Some(what),
        Presence::Present => None,
    };
    InitPlan {
        config: match facts.config {
            Presence::Absent => ConfigPlan::Write(text::config(facts)),
            Presence::Present => ConfigPlan::Keep,
        },
        exclude_rule: missing(facts.exclude_rule, EXCLUDE_RULE),
        worktrees_gitignore: missing(facts.worktrees_gitignore, WORKTREES_GITIGNORE),
    }
}

#[cfg(test)]
mod tests;
