//! Gives the files of a worktree the write bits that the scope says.

use camino::Utf8Path;

use crate::disk::DiskError;
use crate::disk::mode::{Applied, Doing, WriteBits, set_write_bits};
use crate::git::index::IndexEntry;
use crate::path::RepoPath;
use crate::placed::{PlacedFile, PlacedKind};
use crate::scope::{Access, EntryKind, Scope};

/// Sets (or only looks for) the write bits of the tracked files, as the scope says: none on
/// what is only to be read, the owner's on what may be edited. Directories, links and submodules
/// are left alone.
///
/// # Errors
/// Fails when the worktree cannot be opened.
pub fn apply(
    worktree: &Utf8Path,
    scope: &Scope,
    index: &[IndexEntry],
    doing: Doing,
) -> Result<Applied, DiskError> {
    let mut classifier = scope.classifier();
    let mut files: Vec<(RepoPath, WriteBits)> = Vec::with_capacity(index.len());
    for entry in index.iter().filter(|entry| entry.entry.mode.is_regular()) {
        if files.last().is_some_and(|(path, _)| *path == entry.path) {
            continue;
        }
        match classifier.verdict(&entry.path, EntryKind::File).access {
            Access::Excluded => {}
            Access::Read => files.push((entry.path.clone(), WriteBits::Cleared)),
            Access::Write => files.push((entry.path.clone(), WriteBits::Owner)),
        }
    }
    set_write_bits(worktree, &files, doing)
}

/// Clears (or only looks for) the write bits of placed files outside of the write scope. Those
/// inside keep what they were placed with.
///
/// # Errors
/// Fails when the worktree cannot be opened.
pub fn apply_to_placed<'f>(
    worktree: &Utf8Path,
    scope: &Scope,
    placed: impl Iterator<Item = &'f PlacedFile>,
    doing: Doing,
) -> Result<Applied, DiskError> {
    let mut classifier = scope.classifier();
    let placed = placed.filter(|file| file.kind == PlacedKind::File);
    let closed = placed.filter(|file| {
        let access = classifier.verdict(&file.path, EntryKind::File).access;
        access != Access::Write
    });
    let files: Vec<_> = closed
        .map(|file| (file.path.clone(), WriteBits::Cleared))
        .collect();
    if files.is_empty() {
        return Ok(Applied::default());
    }
    set_write_bits(worktree, &files, doing)
}
