//! Measures how much room the files of a commit need, by writing them once beside the repository.

use std::path::Path;

use camino::Utf8Path;

use crate::actions::journal::touched::{TouchedPath, touched_paths};
use crate::disk::error::DiskError;
use crate::disk::file_system::{free_space, is_disk_full, is_full_for};
use crate::disk::files;
use crate::git::error::GitError;
use crate::record::journal::ForwardMove;
use crate::words::error::Error;
use crate::worktree::repository::Repository;

/// What file systems and git need beside the files: blocks that are not full, a reflog, a lock.
const SLACK: u64 = 64 * 1024;
/// How many bytes a block has on most file systems.
const BLOCK: u64 = 4096;

/// Why files could not be written or kept.
pub enum WriteFailure {
    /// The disk is full, or a quota used up.
    DiskFull(Error),
    /// Anything else.
    Other(Error),
}

/// Returns how many bytes are missing in a worktree for all files of a move. They are written once
/// into `directory`, with the user's filters, and removed again.
///
/// # Errors
/// Fails when git does, or the disk is full.
pub fn missing_room(
    repository: &Repository,
    step: &ForwardMove,
    directory: &Utf8Path,
) -> Result<u64, WriteFailure> {
    let new = directory.join("new");
    let index = directory.join("new-index");
    let written = write_once(repository, step, &new, &index)
        // while what git wrote is still there
        .map_err(|error| write_failure(repository, step, directory, error));
    let removed = files::remove_directory(&new).and_then(|()| files::remove_file(&index));
    let needed = written?;
    removed.map_err(|error| WriteFailure::Other(error.into()))?;
    let free = free_space(&step.checkout).unwrap_or(u64::MAX);
    Ok(needed.saturating_sub(free))
}

/// Writes all files of a move; returns how many bytes git needs for them in the worktree.
fn write_once(
    repository: &Repository,
    step: &ForwardMove,
    new: &Utf8Path,
    index: &Utf8Path,
) -> Result<u64, Error> {
    let git = repository.git.at(&step.checkout);
    files::create_directories(new)?;
    files::link_or_copy(&git.absolute_git_dir()?.join("index"), index)?;
    let touched = touched_paths(repository, step)?;
    let mut paths = Vec::new();
    for path in &touched {
        if path.new_file().is_some() {
            paths.push(&path.path);
        }
    }
    git.write_out(index, [&step.before, &step.commit], &paths, new)?;
    let mut needed = size_on_disk(index.as_std_path()) + SLACK;
    for path in &touched {
        needed += size_on_disk(&new.as_std_path().join(&path.file));
    }
    Ok(needed)
}

/// Says why files could not be written into `directory`, while what was written is still there.
/// What git says of it is for people: the system is asked whether there is room.
pub fn write_failure(
    repository: &Repository,
    step: &ForwardMove,
    directory: &Utf8Path,
    error: Error,
) -> WriteFailure {
    let is_full = if let Some(refused) = error.find::<DiskError>() {
        is_disk_full(refused.source.kind())
    } else if let Some(GitError::Failed { .. }) = error.find() {
        is_full_for(directory, largest_file(repository, step).max(SLACK))
    } else {
        false
    };
    if is_full {
        WriteFailure::DiskFull(error)
    } else {
        WriteFailure::Other(error)
    }
}

/// The size of the largest file of a move: git removes what it could not write of a large one.
fn largest_file(repository: &Repository, step: &ForwardMove) -> u64 {
    let touched: Vec<TouchedPath> = touched_paths(repository, step).unwrap_or_default();
    let home = repository.home();
    let Ok(objects) = home.git.objects(&home.common_dir, home.format) else {
        return 0;
    };
    let mut largest = 0;
    for path in &touched {
        if let Some(new) = path.new_file() {
            largest = largest.max(objects.size(&new.id).unwrap_or_default());
        }
    }
    largest
}

/// How many bytes a file takes, in whole blocks; with another one for its directory.
fn size_on_disk(file: &Path) -> u64 {
    let size = files::stat(file).map_or(0, |stat| stat.size);
    size.next_multiple_of(BLOCK) + BLOCK
}
