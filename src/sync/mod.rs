//! Decides which untracked files are synced into a worktree: patterns, and what they select; pure.
//!
//! The patterns are those of `[worktree.file_sync]` and `--sync`: globs relative to the root of
//! the repository. `.worktreeinclude` selects too, among ignored files, and the untracked files of
//! the memory bank are always selected. `disk/candidates.rs` walks the main worktree.

pub mod matcher;
pub mod pattern;
#[cfg(test)]
mod tests;

use std::fmt;

use crate::inventory::manifest::Stat;
use crate::inventory::placed::PlacedKind;
use crate::words::path::RepoPath;

/// Who wrote a pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum PatternOrigin {
    /// This line of the config, from 1.
    File(u32),
    /// This flag.
    Flag(&'static str),
    /// The record: `add --sync` gave it.
    Record,
    /// The pattern of the memory bank.
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

/// An untracked file of the main worktree that is selected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Its path.
    pub path: RepoPath,
    /// Its stat data.
    pub stat: Stat,
    /// The patterns that select it, by their places in the list, sorted; empty if only
    /// `.worktreeinclude` does.
    pub patterns: Vec<usize>,
}

impl Candidate {
    /// Its kind.
    pub const fn kind(&self) -> PlacedKind {
        PlacedKind::of(&self.stat)
    }

    /// True if it has no content: a FIFO, a socket or a device.
    pub const fn is_special(&self) -> bool {
        matches!(self.kind(), PlacedKind::File) && !self.stat.is_file()
    }
}

/// What was found for a list of patterns.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Candidates {
    /// What is selected, sorted by path, each once; a directory before its entries.
    pub entries: Vec<Candidate>,
    /// For each pattern, in order, the number of tracked files that it matches.
    pub tracked: Vec<usize>,
    /// Directories that were not entered, as another repository or worktree is in them, sorted.
    pub not_entered: Vec<RepoPath>,
}
