//! Decides which untracked files are synced into a worktree: patterns, and what they select; pure.
//!
//! The patterns are those of `[worktree.file_sync]` and `--sync`: globs relative to the
//! repository's root. `.worktreeinclude` selects as well, among ignored files, and the memory
//! bank's untracked files always. What is selected is looked for by `facts/candidates.rs`.

mod braces;
mod component;
mod fault;
mod pattern;
mod search;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::manifest::Stat;
use crate::path::RepoPath;

pub use fault::{PatternError, PatternFault, shown_pattern};
pub use pattern::Pattern;
pub use search::{Kind, Search, State, Step};

/// Says who wrote a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PatternOrigin {
    /// This line of the config, from 1.
    File(u32),
    /// This flag.
    Flag(&'static str),
    /// The record: `add --sync` gave it.
    Record,
    /// Nobody: it is the memory bank's.
    BuiltIn,
}

impl fmt::Display for PatternOrigin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(line) => write!(f, ".agentwt/config.toml:{line}"),
            Self::Flag(flag) => f.write_str(flag),
            Self::Record => f.write_str("of `add --sync`"),
            Self::BuiltIn => f.write_str("built-in"),
        }
    }
}

/// Says what it means that a pattern selects nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Need {
    /// It is a mistake.
    Required,
    /// It may be so (`optional_patterns`).
    Optional,
}

/// Says what a candidate is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum CandidateKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Link,
    /// A directory: what is selected in it stands beside it.
    Directory,
    /// A FIFO, a socket or a device, by its name for people.
    Special(&'static str),
}

/// Says what selected a candidate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SelectedBy {
    /// The pattern at this place in the list that was asked for: the first that matches.
    Pattern(usize),
    /// `.worktreeinclude`.
    WorktreeInclude,
}

/// Holds an untracked file of the main worktree that is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its path.
    pub path: RepoPath,
    /// What it is.
    pub kind: CandidateKind,
    /// Its stat data.
    pub stat: Stat,
    /// What selected it.
    pub by: SelectedBy,
}

/// Holds what was found for a list of patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// What is selected, sorted by path, each once; a directory before what is in it.
    pub entries: Vec<Candidate>,
    /// For each pattern, in order, what it matched.
    pub matches: Vec<Matches>,
    /// Directories that were not entered as another repository or worktree is in them, sorted.
    pub not_entered: Vec<RepoPath>,
}

/// Counts what one pattern matched.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Matches {
    /// Untracked files, links and directories.
    pub untracked: usize,
    /// Tracked files, which are never copied.
    pub tracked: usize,
}
