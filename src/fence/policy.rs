//! Says what a fence is to enforce: a [`Policy`], which `compile` makes of a scope. Each fence
//! renders the policy in its own language.
//!
//! A fence of Linux names directories and files, a scope names patterns. So each write pattern
//! becomes grants, and gets a [`Class`]: what the fence lets through beside the pattern, or refuses
//! although the pattern allows it, is said once, and the verification after the run judges by the
//! pattern itself.

use std::ffi::OsString;
use std::fmt;

use camino::{Utf8Path, Utf8PathBuf};
use serde::{Deserialize, Serialize};

use crate::config::value::{Fence, Net};
use crate::words::path::{RepoPath, escape_for_rule};

/// Holds the directories that a fence has to know, all canonical.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Places {
    /// The worktree.
    pub root: Utf8PathBuf,
    /// The main worktree; hidden.
    pub main: Utf8PathBuf,
    /// The files of the main worktree that can be read where it cannot be made absent.
    pub shown: Vec<Utf8PathBuf>,
    /// The other worktrees that exist; hidden.
    pub others: Vec<Utf8PathBuf>,
    /// The git directory that all worktrees share; never writable.
    pub common_dir: Utf8PathBuf,
    /// What is hidden with `--withhold`: the git directory, which has what is excluded in its
    /// objects, and in what git and we write there at any time; and where objects are borrowed.
    pub withheld: Vec<Utf8PathBuf>,
    /// What of a hidden git directory is shown all the same: hooks, a file with ignore rules,
    /// submodules, and the objects that these borrow of others. Nothing of it stands in something else of it. The record that
    /// `private` is in is shown too.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub shown_in_git: Vec<Utf8PathBuf>,
    /// The directories of the record that clients get in the place of their own; writable.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub states: Vec<Utf8PathBuf>,
    /// The directory of the run: `git` and `tmp` are writable, `bin`, `dotgit` and `start.json`
    /// are not.
    pub private: Utf8PathBuf,
    /// This program.
    pub binary: Utf8PathBuf,
}

/// Holds what the user asks of the fence.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FenceRequest {
    /// The network.
    pub net: Net,
    /// Unix sockets that the command may connect to.
    pub sockets: Vec<Utf8PathBuf>,
    /// Other directories and files that the command may write.
    pub rw: Vec<Utf8PathBuf>,
    /// What is not writable although it stands in one of those.
    pub read_only: Vec<Utf8PathBuf>,
    /// Whether the command brings a sandbox of its own.
    pub nested: bool,
    /// Whether the git directory that all worktrees share is hidden.
    pub withholds: bool,
    /// Whether a pattern that no rule says exactly makes only the files writable that match it, and
    /// not the directory that it is about.
    pub strict: bool,
    /// What is asked of a container.
    pub container: ContainerRequest,
}

/// Holds what is asked of a container, in the words of podman-run(1).
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ContainerRequest {
    /// The image; the host's root without one.
    pub image: Option<String>,
    /// The most memory.
    pub memory: Option<String>,
    /// The most processors.
    pub cpus: Option<f64>,
    /// The user inside; the one outside without one.
    pub user: Option<String>,
    /// The program.
    pub program: ContainerProgram,
}

/// Names a program that runs containers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ContainerProgram {
    /// podman(1).
    #[default]
    Podman,
    /// docker(1).
    Docker,
}

impl ContainerProgram {
    /// The name of the program.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Podman => "podman",
            Self::Docker => "docker",
        }
    }
}

/// Says what a fence is to enforce.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Policy {
    /// Where everything is.
    pub places: Places,
    /// Whether the worktree is writable as a whole, but for the masks and `.git`. The grants are
    /// then for Landlock.
    pub is_whole: bool,
    /// What is writable in the worktree, sorted; none stands below another.
    pub grants: Vec<Grant>,
    /// The granted directories that are missing, and those above them: made before the command
    /// starts, an inner one after the one around it.
    pub directories_to_make: Vec<RepoPath>,
    /// What is excluded and stands in something writable.
    pub masks: Vec<RepoPath>,
    /// The directories of ignored output among the grants.
    pub ignored: Vec<RepoPath>,
    /// How well each pattern is enforced.
    pub patterns: Vec<PatternClass>,
    /// The write patterns as regular expressions.
    pub write_regexes: Vec<String>,
    /// The exclude patterns as regular expressions.
    pub exclude_regexes: Vec<String>,
    /// What the user asks of the fence.
    #[serde(rename = "wishes")]
    pub request: FenceRequest,
}

/// Makes one path of the worktree writable.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Grant {
    /// The path.
    pub path: RepoPath,
    /// What is granted there.
    pub kind: GrantKind,
}

/// Says what is granted at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum GrantKind {
    /// Everything below a directory.
    Tree,
    /// The content of a file: it cannot be removed or replaced.
    File,
}

/// Says how well a fence enforces a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Class {
    /// As the pattern says.
    Exact,
    /// More can be written than the pattern says; the verification finds it.
    Over,
    /// Less can be written than the pattern says.
    Under,
}

/// Says how well some fences enforce one pattern.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct PatternClass {
    /// The pattern as it was written.
    pub pattern: String,
    /// How well.
    pub class: Class,
    /// What that means, in a sentence; empty for [`Class::Exact`].
    pub says: String,
    /// The fences.
    pub fences: Vec<Fence>,
}

impl Policy {
    /// The policy as JSON, for people and programs that read it.
    pub fn to_json(&self) -> Vec<u8> {
        let text = serde_json::to_string_pretty(self);
        (text.unwrap_or_default() + "\n").into_bytes()
    }

    /// How well a fence enforces each pattern.
    pub fn classes(&self, fence: Fence) -> impl Iterator<Item = &PatternClass> {
        self.patterns
            .iter()
            .filter(move |class| class.fences.contains(&fence))
    }

    /// A path of the worktree, as the system takes it.
    pub fn at(&self, path: &RepoPath) -> OsString {
        let below = path.to_os_path().unwrap_or_default();
        self.places.root.as_std_path().join(below).into()
    }

    /// The directories of the run and of its client that are writable.
    pub fn own_directories(&self) -> Vec<Utf8PathBuf> {
        let places = &self.places;
        let mut directories = vec![places.private.join("git"), places.private.join("tmp")];
        directories.extend_from_slice(&places.states);
        directories
    }

    /// What of the git directory can be read; nothing of it stands in something else of it.
    pub fn readable_in_git(&self) -> Vec<&Utf8Path> {
        let places = &self.places;
        if !self.request.withholds {
            return vec![&places.common_dir];
        }
        let record = places.private.parent().unwrap_or(&places.private);
        let mut readable = vec![record];
        readable.extend(places.shown_in_git.iter().map(Utf8PathBuf::as_path));
        readable
    }

    /// The hidden worktrees that stand in a bare repository.
    pub fn hidden_in_repository(&self) -> Vec<&Utf8Path> {
        let mut hidden = self.hidden();
        hidden.retain(|path| path.starts_with(&self.places.common_dir));
        hidden
    }

    /// The hidden worktrees that stand elsewhere.
    pub fn hidden_outside_repository(&self) -> Vec<&Utf8Path> {
        let mut hidden = self.hidden();
        hidden.retain(|path| !path.starts_with(&self.places.common_dir));
        hidden
    }

    /// The worktrees that are hidden; none of them stands in another.
    pub fn hidden(&self) -> Vec<&Utf8Path> {
        let places = &self.places;
        let mut worktrees: Vec<&Utf8Path> = vec![&places.main];
        worktrees.extend(places.others.iter().map(Utf8PathBuf::as_path));
        // a bare repository is where the worktree has its git directory
        worktrees.retain(|path| *path != places.root && *path != places.common_dir);
        worktrees.sort_unstable();
        let mut hidden: Vec<&Utf8Path> = Vec::new();
        for worktree in worktrees {
            if !hidden.iter().any(|above| worktree.starts_with(above)) {
                hidden.push(worktree);
            }
        }
        hidden
    }
}

impl fmt::Display for PatternClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "`{}`: {}", escape_for_rule(&self.pattern), self.says)
    }
}
