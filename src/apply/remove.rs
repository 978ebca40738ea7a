//! Takes a worktree away, step by step, so that whoever is killed in between can be followed by
//! another: what is left of it says that its removal has begun, and how far it was decided.

use crate::config::Strategy;
use crate::disk::DiskError;
use crate::disk::files::{self, Lock};
use crate::disk::trash_bin::{Put, TrashBin};
use crate::error::Error;
use crate::facts::remove::REMOVING;
use crate::facts::{Repository, Worktree};
use crate::plan::remove::BranchFate;
use crate::worktree::unfinished::end_locks;
use crate::worktree::{Removal, to_text};

/// Takes away the directory, git's entry, the branch, and the record last; what became of the
/// branch. All that would be lost is saved before.
///
/// # Errors
/// Fails when git or the disk does: it can then be gone on with.
pub fn take_away(
    repository: &Repository,
    known: &Worktree,
    removal: &Removal,
) -> Result<BranchFate, Error> {
    begin(known, removal)?;
    remove_directory(repository, known)?;
    let branch = match known.record.strategy {
        // of a clone nothing is known here but the record
        Strategy::Clone => BranchFate::Private,
        Strategy::Worktree => {
            forget_entry(repository, known)?;
            delete_branch(repository, known, removal)?
        }
    };
    // what says what the rest is goes last
    files::remove_directory_in_order(&known.dir, &["record.toml", REMOVING])?;
    Ok(branch)
}

/// Writes down that it begins, for whoever finds the remains.
fn begin(known: &Worktree, removal: &Removal) -> Result<(), DiskError> {
    files::write(&known.dir.join(REMOVING), to_text(removal).as_bytes())
}

/// Moves the directory aside, where it is deleted later; one that cannot be moved is deleted.
fn remove_directory(repository: &Repository, known: &Worktree) -> Result<(), DiskError> {
    let Some(bin) = TrashBin::open(&repository.root)? else {
        return Ok(());
    };
    let name = known.record.name.as_str();
    match bin.put(name)? {
        Put::Nothing | Put::Moved | Put::Unlinked => Ok(()),
        Put::Stands => bin.delete_in_place(name),
    }
}

/// Lets git forget the worktree, if it still knows it.
fn forget_entry(repository: &Repository, known: &Worktree) -> Result<(), Error> {
    let path = &known.record.path;
    let _shared = Lock::wait(&repository.shared_lock())?;
    let Err(error) = repository.git.worktree_remove_missing(path) else {
        return Ok(());
    };
    // one that it does not know is what we want
    let listed = repository.worktrees()?;
    if listed.iter().any(|entry| entry.path == *path) {
        return Err(error.into());
    }
    // what a git leaves that is killed at its last step
    files::remove_if_empty(&known.record.admin_dir);
    files::remove_if_empty(&repository.common_dir.join("worktrees"));
    Ok(())
}

/// Deletes the branch if that was decided and it is still where it was then.
fn delete_branch(
    repository: &Repository,
    known: &Worktree,
    removal: &Removal,
) -> Result<BranchFate, Error> {
    let name = known.record.branch.full_ref();
    let Some(tip) = &removal.branch_at else {
        return Ok(BranchFate::Stays);
    };
    let delete = || repository.git.delete_ref(&name, tip);
    let deleted = delete().or_else(|error| {
        if error.was_killed() || error.is_locked() {
            // by a git that was killed, now or with the removal that this one goes on with
            end_locks(
                repository,
                Some(&known.record.branch),
                &known.dir.join(REMOVING),
            );
        }
        if error.is_locked() {
            delete()
        } else {
            Err(error)
        }
    });
    let Err(error) = deleted else {
        return Ok(BranchFate::Deleted(tip.clone()));
    };
    match repository.git.rev_parse_commit(&name)? {
        None => Ok(BranchFate::Gone),
        // somebody committed to it meanwhile
        Some(now) if now != *tip => Ok(BranchFate::Stays),
        Some(_) => Err(error.into()),
    }
}
