//! Clears leftovers: each call takes one thing of ours away, and nothing beside it.

use camino::Utf8Path;

use super::{Leftover, LeftoverKind, OLD, Remedy, age};
use crate::disk::error::DiskError;
use crate::disk::files::{self, Lock};
use crate::disk::mode::make_directories_writable;
use crate::error::Error;
use crate::name::WorktreeName;
use crate::worktree::Intent;
use crate::worktree::trash;
use crate::worktree::unfinished::remove_unfinished;
use crate::worktree::{Repository, WorktreeFault};

/// Clears one, unless it is something else by now; whether anything was cleared. Of a name, its
/// lock is ours. A worktree is the caller's to remove.
///
/// # Errors
/// Fails when git or the disk does.
pub fn clear(
    repository: &Repository,
    leftover: &Leftover,
    name: Option<&WorktreeName>,
    intent: Option<&Intent>,
) -> Result<bool, Error> {
    let path = leftover.path.as_path();
    let now = jiff::Timestamp::now().as_second();
    match (leftover.remedy, leftover.kind) {
        (None | Some(Remedy::RemoveWorktree), _) => return Ok(false),
        (Some(Remedy::ClearIncomplete), _) => match (name, intent) {
            (Some(name), Some(intent)) => clear_incomplete(repository, name, intent)?,
            (None, _) | (_, None) => return Ok(false),
        },
        (Some(Remedy::ForgetRecord), _) => {
            let record = name.map(|name| repository.record_dir(name));
            record.map_or(Ok(()), |record| files::remove_directory(&record))?;
            files::remove_if_empty(&repository.records_dir());
        }
        (Some(Remedy::RemoveEmpty), _) => {
            let directory = repository.root.join(path);
            files::remove_if_empty(&directory);
            return Ok(!files::exists(&directory));
        }
        (Some(Remedy::Delete), LeftoverKind::Entry) => return delete_entry(repository, path),
        (Some(Remedy::Delete), _) => delete_copies(&repository.root.join(path))?,
        (Some(Remedy::Unlink), LeftoverKind::Trash) => return expire(repository, leftover),
        (Some(Remedy::Unlink), LeftoverKind::Claim) => {
            let claims = repository.common_dir.join("agentwt/claims");
            let files = name.map(|name| claims.join(format!("{name}.toml")));
            files.map_or(Ok(()), |file| files::remove_file(&file))?;
            files::remove_if_empty(&claims);
        }
        (Some(Remedy::Unlink), LeftoverKind::GitLock) => {
            if files::modified(path).is_none_or(|at| age(now, at) < OLD) {
                return Ok(false);
            }
            files::remove_file(path)?;
        }
        (Some(Remedy::Unlink), _) => files::remove_file(path)?,
    }
    Ok(true)
}

/// As the next `add` of the name does.
fn clear_incomplete(
    repository: &Repository,
    name: &WorktreeName,
    intent: &Intent,
) -> Result<(), Error> {
    remove_unfinished(repository, intent)?;
    if files::exists(&repository.record_dir(name)) {
        let name = name.to_string();
        return Err(WorktreeFault::Incomplete { name }.into());
    }
    files::remove_if_empty(&repository.records_dir());
    Ok(())
}

/// Deletes files that waited to be moved in.
fn delete_copies(path: &Utf8Path) -> Result<(), DiskError> {
    let is_reached = files::canonical(path).is_ok_and(|real| real == path);
    if is_reached && files::is_directory(path) {
        // what is in a directory that was copied without its write bit cannot be removed
        make_directories_writable(path)?;
        return files::remove_directory(path);
    }
    files::remove_file(path)
}

/// Deletes a private git directory of ours that leads nowhere, unless it leads somewhere by now.
fn delete_entry(repository: &Repository, admin: &Utf8Path) -> Result<bool, Error> {
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

/// Expires what is in the trash, unless it is back by now or in use.
fn expire(repository: &Repository, leftover: &Leftover) -> Result<bool, Error> {
    let all = trash::list(repository)?;
    let Some(one) = all.iter().find(|one| one.shown() == leftover.what) else {
        return Ok(false);
    };
    match Lock::if_free(&repository.name_lock(&one.name))? {
        Some(_held) => trash::expire(repository, one).map(|()| true),
        None => Ok(false),
    }
}
