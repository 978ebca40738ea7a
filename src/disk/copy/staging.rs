//! Says what is copied, and how far the copy is.

use camino::Utf8Path;

use crate::disk::files::remove_directory;
use crate::inventory::manifest::Stat;
use crate::inventory::placed::{Digest, PlacedKind};
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::words::progress::Progress;

/// Says what is to be placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CopyItem {
    /// The path, the same in source and destination.
    pub path: RepoPath,
    /// What it is made from.
    pub from: Source,
    /// The permission bits of the copy.
    pub bits: u32,
}

/// Says what an entry is made from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Source {
    /// What stands at the same path of the source, as it was seen.
    File(PlacedKind, Stat),
    /// A text of ours.
    Text(Vec<u8>),
}

impl Source {
    /// The kind of the entry.
    pub const fn kind(&self) -> PlacedKind {
        match self {
            Self::File(kind, _) => *kind,
            Self::Text(_) => PlacedKind::File,
        }
    }
}

/// Describes an entry that is staged, or placed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Staged {
    /// The path.
    pub path: RepoPath,
    /// Its kind.
    pub kind: PlacedKind,
    /// The digest of its content or link text; none for a directory and for a large clone.
    pub digest: Option<Digest>,
    /// Its stat data; until a directory is placed, those of its source.
    pub stat: Stat,
}

/// Says where to copy from and where to stage.
#[derive(Clone, Copy)]
pub struct Staging<'a> {
    /// The worktree that is copied from.
    pub source: &'a Utf8Path,
    /// The staging directory, which is not there yet.
    pub directory: &'a Utf8Path,
    /// Counts the bytes.
    pub progress: &'a Progress,
    /// Fails where the copy is to stop.
    pub stop: &'a (dyn Fn() -> Result<(), Error> + Sync),
}

/// Removes the staging directory. Returns why it could not be removed.
pub(super) fn drop_staging(directory: &Utf8Path) -> Vec<String> {
    match remove_directory(directory) {
        Ok(()) => Vec::new(),
        Err(error) => vec![error.to_string()],
    }
}
