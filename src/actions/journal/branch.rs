//! Looks at and deletes branches that a command created.

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::dead_locks::end_locks;
use crate::disk::files;
use crate::git::error::GitError;
use crate::git::reflog::ReflogEntry;
use crate::record::journal::{LogEntry, Now};
use crate::words::error::Error;
use crate::words::name::{BranchName, CommitId};
use crate::worktree::repository::Repository;

/// Looks where a branch is, and where it has been.
///
/// # Errors
/// Fails when git does.
pub fn now(repository: &Repository, name: &BranchName) -> Result<Now, GitError> {
    let git = &repository.git;
    let full = name.full_ref();
    let Some(at) = git.rev_parse_commit(&full)? else {
        return Ok(Now::Nothing);
    };
    let mut log = None;
    if let Some(entries) = git.log(&full)? {
        let mut entries: Vec<LogEntry> = entries.into_iter().map(log_entry).collect();
        entries.retain(|entry| !entry.at.as_str().trim_matches('0').is_empty());
        log = Some(entries);
    }
    Ok(Now::Branch { at, log })
}

/// Deletes a branch that is where it was created. Where git was killed meanwhile, its locks go that
/// are newer than the file `since`.
///
/// # Errors
/// Fails when git does, and the branch is still there.
pub fn delete(
    repository: &Repository,
    branch: &BranchName,
    at: &CommitId,
    since: &Utf8Path,
) -> Result<(), Error> {
    let git = &repository.git;
    let name = branch.full_ref();
    let Err(error) = git.delete_ref(&name, at) else {
        return Ok(());
    };
    if error.was_killed() {
        end_locks(repository, Some(branch), since);
    }
    if git.rev_parse_commit(&name).ok().flatten().as_ref() != Some(at) {
        return Ok(());
    }
    Err(error.into())
}

/// Removes the directories above the file of a branch: a lock that git could not write, or took for
/// a branch that is not there, leaves them.
pub fn remove_empty_directories(repository: &Repository, branch: &BranchName) {
    let file = Utf8PathBuf::from(branch.full_ref());
    for directory in file.ancestors().skip(1) {
        if directory == "refs/heads" {
            return;
        }
        files::remove_if_empty(&repository.common_dir.join(directory));
    }
}

fn log_entry(entry: ReflogEntry) -> LogEntry {
    LogEntry {
        at: entry.id,
        reason: entry.reason,
    }
}
