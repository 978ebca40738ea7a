//! Copies files into a staging directory, from where they are moved to their place.
//!
//! [`stage`] creates below an own directory what is wanted, whole and with its final mode and time,
//! on the file system of the destination; [`settle`] then moves it in, whole directories at once
//! where the destination has none of that name. So whatever is killed leaves no half file: at
//! most a staging directory, which is ours to remove.

mod content;
mod remove;
mod rename;
mod settle;
mod stage;
#[cfg(test)]
mod tests;

use camino::Utf8Path;

pub use remove::{Expected, Removed, remove_placed};
pub use settle::{Settled, settle};
pub use stage::stage;

use super::error::DiskError;
use super::progress::Progress;
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::{Digest, PlacedKind};

/// Holds one thing to be staged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// Its path, below the source and below the destination.
    pub path: RepoPath,
    /// Where its content is from.
    pub from: Source,
    /// Its permission bits once it is in place.
    pub bits: u32,
}

/// Says where the content of an item is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// The source has it; these were its stat data when it was chosen.
    File(PlacedKind, Stat),
    /// These bytes, for a file that the source does not have.
    Text(Vec<u8>),
}

/// Holds what became of an item.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// Its path.
    pub path: RepoPath,
    /// What it is.
    pub kind: PlacedKind,
    /// Its content, as it was written; none for a directory and for a large clone.
    pub digest: Option<Digest>,
    /// Its stat data in its place.
    pub stat: Stat,
}

/// Holds what staging needs.
pub struct Staging<'a> {
    /// The main worktree.
    pub source: &'a Utf8Path,
    /// The directory to stage in; it is created, and must not exist.
    pub directory: &'a Utf8Path,
    /// Counts what is copied.
    pub progress: &'a Progress,
    /// Whether a signal asked to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}

/// Reports why nothing was placed. What had been done is undone.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[expect(
    missing_docs,
    reason = "the fields are the names that the messages show"
)]
pub enum CopyError {
    /// A signal asked to stop.
    #[error("the copy was stopped")]
    #[diagnostic(
        code(agentwt::copy::stopped),
        help("nothing was placed; run the same command again")
    )]
    Stopped,
    /// A source, or what it was to replace, is no longer what was chosen.
    #[error("{path} changed while it was copied")]
    #[diagnostic(
        code(agentwt::copy::changed),
        help(
            "wait until nothing writes to it (`ls -l '{path}'`), then run the same command again"
        )
    )]
    Changed { path: RepoPath },
    /// Something else stands in the worktree where this is to be.
    #[error("cannot place {wanted} at {path}: {found} stands there")]
    #[diagnostic(
        code(agentwt::copy::in_the_way),
        help(
            "nothing is written through a link or over a file: look with `ls -ld '{path}'`, move it away, then run the same command again"
        )
    )]
    InTheWay {
        path: RepoPath,
        wanted: &'static str,
        found: &'static str,
    },
    /// A file is in the worktree that was not there when the rest was decided.
    #[error("cannot place {path}: it appeared in the worktree meanwhile")]
    #[diagnostic(
        code(agentwt::copy::appeared),
        help("look with `ls -ld '{path}'`, then run the same command again")
    )]
    Appeared { path: RepoPath },
    /// The disk failed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Disk(#[from] DiskError),
    /// It failed, and not all could be undone.
    #[error("{error}; left behind: {}", left.join("; "))]
    #[diagnostic(
        code(agentwt::copy::left),
        help("look at what is left, then run the same command again")
    )]
    Left {
        error: Box<CopyError>,
        left: Vec<String>,
    },
}

impl CopyError {
    /// Whether the disk would have done it, and we did not want to.
    pub fn is_refusal(&self) -> bool {
        match self {
            Self::Changed { .. } | Self::InTheWay { .. } | Self::Appeared { .. } => true,
            Self::Stopped | Self::Disk(_) => false,
            Self::Left { error, .. } => error.is_refusal(),
        }
    }

    fn leaving(self, left: Vec<String>) -> Self {
        if left.is_empty() {
            return self;
        }
        let error = Box::new(self);
        Self::Left { error, left }
    }
}

/// The disk refused to do this (a verb) with a file.
fn disk_error(
    verb: &str,
    path: impl std::fmt::Display,
    error: impl Into<std::io::Error>,
) -> CopyError {
    CopyError::Disk(DiskError::new(format!("{verb} {path}"), error))
}

/// Removes a staging directory; what fails is a warning.
fn drop_staging(directory: &Utf8Path) -> Vec<String> {
    let removed = super::files::remove_directory(directory);
    removed
        .err()
        .map(|error| error.to_string())
        .into_iter()
        .collect()
}
