//! Looks at what a restore saved, and brings that back.

use camino::Utf8Path;

use crate::actions::dead_locks::end_locks_of_worktree;
use crate::actions::restore::bring_back::bring_back;
use crate::disk::files;
use crate::record::journal::Now;
use crate::truth::planted;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Looks whether the worktree stands, and what was saved of it.
///
/// # Errors
/// Fails when the record cannot be read, or git fails.
pub fn now(repository: &Repository, name: &WorktreeName, rescue: &str) -> Result<Now, Error> {
    let worktree = Worktree::load(repository, name)?;
    if !files::is_directory(&worktree.record.path) {
        return Ok(Now::Nothing);
    }
    let own = worktree.repository(repository);
    match own.git.rev_parse_commit(rescue)? {
        Some(_) => Ok(Now::Saved),
        None => Ok(Now::NotSaved),
    }
}

/// Brings back what was saved. Locks of git that are newer than the file `since` are of the git
/// that was killed.
///
/// # Errors
/// Fails when it is refused, as somebody worked there since, or git or the disk fails.
pub fn revert(
    repository: &Repository,
    name: &WorktreeName,
    rescue: &str,
    since: &Utf8Path,
) -> Result<(), Error> {
    let worktree = Worktree::load(repository, name)?;
    let own = worktree.repository(repository);
    planted::refuse(&own, &worktree, "undo the restore of")?;
    end_locks_of_worktree(&own, &worktree.record, since);
    bring_back(&own, &worktree, rescue)
}
