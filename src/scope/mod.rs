//! Decides what an agent may see and edit: [`Scope`], the one matcher of the program.
//!
//! It is pure: rules and paths in, answers out. The same scope makes the sparse-checkout patterns
//! (what is present), the write bits (what is writable) and the verification (what was allowed), so
//! that these cannot disagree, and `tests/it/baseline.rs` holds it against git itself. It does not
//! read the config, and it does not know what is on disk.
//!
//! ```
//! use git_agentwt::path::RepoPath;
//! use git_agentwt::scope::{Access, Case, EntryKind, Origin, RuleList, Scope, ScopeRule};
//! let rules = [(RuleList::Read, "**"), (RuleList::Write, "src/**"), (RuleList::Exclude, "*.pem")]
//!     .map(|(list, pattern)| ScopeRule::new(list, pattern, Origin::Default));
//! let scope = Scope::compile(rules.into(), Case::Sensitive).expect("the patterns are valid");
//! let path = RepoPath::parse("src/key.pem").expect("it is relative and normal");
//! let verdict = scope.verdict(&path, EntryKind::File);
//! assert_eq!(verdict.access, Access::Excluded);
//! assert_eq!(verdict.rule.map(|rule| rule.pattern.as_str()), Some("*.pem"));
//! ```

mod classifier;
mod coverage;
mod glob;
pub mod overlap;
mod pattern;
mod rule;
mod sparse;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use classifier::Classifier;
use classifier::Names;
pub use coverage::Coverage;
pub use rule::{Fault, Origin, RuleList, ScopeError, ScopeErrors, ScopeRule};

use crate::entry::Mode;
use crate::path::RepoPath;
pub use crate::path::escape_for_rule;
use pattern::Pattern;

/// Says what an agent may do with a path. More access is greater.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Access {
    /// Absent from the worktree.
    Excluded,
    /// Present, not to be edited.
    Read,
    /// Present, and the agent's to edit.
    Write,
}

impl fmt::Display for Access {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Excluded => "excluded",
            Self::Read => "read",
            Self::Write => "write",
        })
    }
}

impl From<RuleList> for Access {
    fn from(list: RuleList) -> Self {
        match list {
            RuleList::Exclude => Self::Excluded,
            RuleList::Read => Self::Read,
            RuleList::Write => Self::Write,
        }
    }
}

/// Says what a path is, as far as patterns care: one with a trailing slash matches directories only.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum EntryKind {
    /// A file or a symbolic link (also one to a directory).
    File,
    /// A directory or a gitlink, which git matches like a directory.
    Directory,
}

impl EntryKind {
    /// What an entry of this mode is.
    pub const fn of(mode: Mode) -> Self {
        if mode.is_directory() {
            Self::Directory
        } else {
            Self::File
        }
    }
}

/// Says whether `a` matches `A`: `core.ignoreCase` of the repository. Only ASCII letters fold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Case {
    /// `core.ignoreCase=false`.
    Sensitive,
    /// `core.ignoreCase=true`.
    Insensitive,
}

/// Says what a scope makes of a path. No rule means that no list matches: the path is excluded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict<'s> {
    /// The access.
    pub access: Access,
    /// The rule that decided: of the deciding list the one that matches the nearest level (the path
    /// itself, then its parents), there the last one, as `git check-ignore -v` reports it.
    pub rule: Option<&'s ScopeRule>,
}

/// Represents valid rules, ready to be asked. Exclude beats write beats read; above all lists
/// `.agentwt/memory/**` is `read` and everything else in `.agentwt` is excluded.
#[derive(Clone, Debug)]
pub struct Scope {
    /// The user's rules in their order, then the built-in ones.
    rules: Vec<ScopeRule>,
    /// How many are the user's.
    users: usize,
    /// One for each rule.
    patterns: Vec<Pattern>,
    names: Names,
    case: Case,
}

/// The memory bank, in the order of a pattern file: the last rule of a level wins.
const BUILT_IN: [(RuleList, &str); 2] = [
    (RuleList::Exclude, "/.agentwt"),
    (RuleList::Read, "/.agentwt/memory/**"),
];

impl Scope {
    /// Compiles the rules, which keep their order within each list.
    ///
    /// # Errors
    /// Returns every rule that is refused, in the order given.
    pub fn compile(mut rules: Vec<ScopeRule>, case: Case) -> Result<Self, Vec<ScopeError>> {
        let users = rules.len();
        rules.extend(BUILT_IN.map(|(list, text)| ScopeRule::new(list, text, Origin::BuiltIn)));
        let (mut patterns, mut errors) = (Vec::with_capacity(rules.len()), Vec::new());
        for rule in &rules {
            match Pattern::parse(&rule.pattern, case) {
                Ok(pattern) => patterns.push(pattern),
                Err(fault) => errors.push(ScopeError {
                    rule: rule.clone(),
                    fault,
                }),
            }
        }
        if !errors.is_empty() {
            return Err(errors);
        }
        Ok(Self {
            rules,
            users,
            names: Names::new(&patterns),
            patterns,
            case,
        })
    }

    /// The patterns of one of the user's lists, in order, each with its rule.
    fn list(&self, list: RuleList) -> impl Iterator<Item = (&ScopeRule, &Pattern)> {
        let all = self.rules().iter().zip(&self.patterns);
        all.filter(move |(rule, _)| rule.list == list)
    }

    /// The user's rules, in the order given, without the built-in ones.
    pub fn rules(&self) -> &[ScopeRule] {
        &self.rules[..self.users]
    }

    /// Whether letters match in either case.
    pub const fn case(&self) -> Case {
        self.case
    }

    /// Whether its own rules let every path be seen, as far as that is plain from their text.
    pub fn shows_all(&self) -> bool {
        let is_all = |rule: &ScopeRule| rule.list == RuleList::Read && rule.pattern == "**";
        let hides = |rule: &ScopeRule| rule.list == RuleList::Exclude;
        self.rules().iter().any(is_all) && !self.rules().iter().any(hides)
    }

    /// The access of one path, and the rule that decided.
    pub fn verdict(&self, path: &RepoPath, kind: EntryKind) -> Verdict<'_> {
        self.classifier().verdict(path, kind)
    }

    /// Whether a file of this path is excluded: absent on purpose.
    pub fn excludes_file(&self, path: &RepoPath) -> bool {
        self.verdict(path, EntryKind::File).access == Access::Excluded
    }

    /// Answers the same for many paths, fast when they are sorted.
    pub fn classifier(&self) -> Classifier<'_> {
        Classifier::new(self)
    }
}

#[cfg(test)]
mod tests;
