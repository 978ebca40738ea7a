//! Does the single steps of `prune`: each takes one thing of ours away, and nothing beside it.

use camino::Utf8Path;

use crate::disk::error::DiskError;
use crate::disk::files::{self, Lock};
use crate::disk::lock::LockFile;
use crate::error::Error;
use crate::facts::{Repository, WorktreeError};
use crate::name::WorktreeName;
use crate::plan::prune::OLD;
use crate::plan::trash::Trashed;
use crate::worktree::Intent;
use crate::worktree::unfinished::remove_unfinished;

/// Clears what a killed `add` left, as the next `add` of the name does.
///
/// # Errors
/// Fails when something of it is still there.
pub fn clear(repository: &Repository, name: &WorktreeName, intent: &Intent) -> Result<(), Error> {
    remove_unfinished(repository, intent)?;
    if files::exists(&repository.record_dir(name)) {
        let name = name.to_string();
        return Err(WorktreeError::Incomplete { name }.into());
    }
    files::remove_if_empty(&repository.records_dir());
    Ok(())
}

/// Removes a record and nothing else.
///
/// # Errors
/// Fails when the disk refuses.
pub fn forget(repository: &Repository, name: &WorktreeName) -> Result<(), DiskError> {
    files::remove_directory(&repository.record_dir(name))?;
    files::remove_if_empty(&repository.records_dir());
    Ok(())
}

/// Removes a directory that is empty; whether it was.
#[must_use]
pub fn unmake(directory: &Utf8Path) -> bool {
    files::remove_if_empty(directory);
    !files::exists(directory)
}

/// Deletes files that waited to be moved in; `path` is below the root.
///
/// # Errors
/// Fails when the disk refuses.
pub fn delete_copies(repository: &Repository, path: &str) -> Result<(), DiskError> {
    let path = repository.root.join(path);
    let is_reached = files::canonical(&path).is_ok_and(|real| real == path);
    if is_reached && files::is_directory(&path) {
        // what is in a directory that was copied without its write bit cannot be removed
        crate::disk::mode::make_directories_writable(&path)?;
        return files::remove_directory(&path);
    }
    files::remove_file(&path)
}

/// Removes a private git directory of ours that leads nowhere, unless it leads somewhere by now.
///
/// # Errors
/// Fails when the disk refuses, or a signal ends the waiting.
pub fn delete_entry(repository: &Repository, admin: &Utf8Path) -> Result<bool, Error> {
    let all = repository.common_dir.join("worktrees");
    if admin.parent() != Some(&all) {
        return Ok(false);
    }
    let _shared = Lock::wait(&repository.shared_lock())?;
    let text = files::read(&admin.join("gitdir"))?.unwrap_or_default();
    let text = String::from_utf8_lossy(text.trim_ascii_end()).into_owned();
    if !text.is_empty() && files::exists(&admin.join(text)) {
        return Ok(false);
    }
    files::remove_directory(admin)?;
    files::remove_if_empty(&all);
    Ok(true)
}

/// Removes a lock file of git's, unless it is another one by now; whether it was removed.
///
/// # Errors
/// Fails when the disk refuses.
pub fn unlock(path: &Utf8Path, now: i64) -> Result<bool, DiskError> {
    let is_old = |at: i64| crate::facts::prune::age(now, at) >= OLD;
    if !files::modified(path).is_some_and(is_old) {
        return Ok(false);
    }
    files::remove_file(path)?;
    Ok(true)
}

/// Removes a lock file of ours that nobody holds; whether nobody did.
///
/// # Errors
/// Fails when the disk refuses.
pub fn let_go(lock: &LockFile) -> Result<bool, DiskError> {
    // its file goes with the lock
    Ok(Lock::if_free(lock)?.is_some())
}

/// Removes what was saved of a removed worktree; git collects the objects later.
///
/// # Errors
/// Fails when git does, also when the ref names something else by now.
pub fn expire(repository: &Repository, one: &Trashed) -> Result<(), Error> {
    Ok(repository.git.delete_ref(&one.reference, &one.commit)?)
}

/// Removes what is known of a claim, and its directory with the last.
///
/// # Errors
/// Fails when the disk refuses.
pub fn unclaim(repository: &Repository, name: &WorktreeName) -> Result<(), DiskError> {
    let directory = crate::facts::prune::claims(repository);
    files::remove_file(&directory.join(format!("{name}.toml")))?;
    files::remove_if_empty(&directory);
    Ok(())
}
