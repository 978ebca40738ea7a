//! Copies files into a staging directory, from where they are moved to their place.
//!
//! [`stage`] makes below an own directory what is wanted, whole and with its final mode and time,
//! on the file system of the destination; [`settle`] then moves it in, whole directories at once
//! where the destination has none of that name. So whatever is killed leaves no half file: at
//! worst a staging directory, which is ours to remove.

mod clone;
mod content;

mod entry;
mod error;
mod parts;
mod queue;
mod remove;
mod rename;
mod settle;
mod stage;
#[cfg(test)]
mod tests;
mod tree;
mod undo;

use camino::Utf8Path;

pub use error::{Cause, CopyError};
pub use remove::{Expected, Removed, remove_placed};
pub use settle::settle;
pub use stage::stage;
pub use undo::Settled;

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
    pub from: From,
    /// Its permission bits once it is in place.
    pub bits: u32,
}

/// Says where the content of an item is from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum From {
    /// The source has it; these were its stat data when it was chosen.
    Source(PlacedKind, Stat),
    /// These bytes, for a file that the source does not have.
    Text(Vec<u8>),
}

/// Holds what was made of an item.
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
    /// The directory to stage in; it is made, and must not exist.
    pub directory: &'a Utf8Path,
    /// Who is told how far it is.
    pub progress: &'a Progress,
    /// Whether somebody asked to stop.
    pub stop: &'a (dyn Fn() -> bool + Sync),
}
