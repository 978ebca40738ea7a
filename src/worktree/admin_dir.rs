//! Finds and deletes the private git directory of a worktree (gitrepository-layout(5),
//! `worktrees/<id>/`).

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::disk::lock::Lock;
use crate::words::error::Error;
use crate::worktree::gitdir::read_gitdir;
use crate::worktree::repository::Repository;

/// Returns the private git directory that belongs to a worktree's directory, there or not.
pub fn entry_of(repository: &Repository, path: &Utf8Path) -> Result<Option<Utf8PathBuf>, Error> {
    let all = repository.common_dir.join("worktrees");
    let mut entries = files::names(&all)?.into_iter().map(|id| all.join(id));
    Ok(entries.find(|admin| worktree_of(admin).is_some_and(|worktree| worktree == *path)))
}

/// The directory of the worktree that a private git directory belongs to.
pub fn worktree_of(admin: &Utf8Path) -> Option<Utf8PathBuf> {
    Some(read_gitdir(admin).ok()??.parent()?.to_owned())
}

/// Deletes a private git directory of ours that leads nowhere, unless it leads somewhere by now.
///
/// # Errors
/// Fails when the disk does.
pub fn delete_entry(repository: &Repository, admin: &Utf8Path) -> Result<bool, Error> {
    let all = repository.common_dir.join("worktrees");
    if admin.parent() != Some(&all) {
        return Ok(false);
    }
    let _shared = Lock::wait(&repository.shared_lock())?;
    if read_gitdir(admin)?.is_some_and(|dot_git| files::exists(&dot_git)) {
        return Ok(false);
    }
    files::remove_directory(admin)?;
    files::remove_if_empty(&all);
    Ok(true)
}
