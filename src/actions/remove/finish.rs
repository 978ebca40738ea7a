//! Does what a removal has decided, or the rest of it.

use crate::actions::dead_locks::{end_locks, lock_of};
use crate::actions::remove::plan::BranchFate;
use crate::actions::trash::enter::{
    copy_branch_log, in_trash, move_directory, move_private_git_dir, move_record,
};
use crate::actions::trash::entry::REMOVING;
use crate::actions::trash::hold::Held;
use crate::actions::trash::private_git_dir::detach_head;
use crate::config::value::Strategy;
use crate::disk::files;
use crate::disk::remains::remove_dead_locks;
use crate::disk::trash_bin::TrashBin;
use crate::git::error::GitError;
use crate::record::worktree::{Removal, TrashStamp};
use crate::truth::planted;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::admin_dir::{delete_entry, worktree_of};
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Moves a worktree into the trash, or deletes what is left of it; deletes the branch if that was
/// decided; and moves the record. What is done already stays so; `held` is what this call has held
/// of the private git directory so far. Returns what became of the branch.
///
/// # Errors
/// Fails when git or the disk does: the next call goes on.
pub fn finish(
    repository: &Repository,
    worktree: &Worktree,
    removal: &Removal,
    held: &mut Held,
) -> Result<BranchFate, Error> {
    let branch = match &removal.trash {
        Some(stamp) => {
            let branch = finish_move(repository, worktree, removal, stamp, held)?;
            // what says what the rest is goes last
            move_record(repository, worktree, &stamp.time)?;
            branch
        }
        None => {
            let branch = finish_deletion(repository, worktree, removal)?;
            files::remove_directory_in_order(&worktree.dir, &["record.toml", REMOVING])?;
            branch
        }
    };
    files::remove_if_empty(&repository.records_dir());
    Ok(branch)
}

fn finish_move(
    repository: &Repository,
    worktree: &Worktree,
    removal: &Removal,
    stamp: &TrashStamp,
    held: &mut Held,
) -> Result<BranchFate, Error> {
    move_directory(repository, worktree, stamp)?;
    move_private_git_dir(repository, worktree, stamp, held)?;
    if worktree.record.strategy == Strategy::Clone {
        // of a clone nothing is here but the record
        return Ok(BranchFate::Private);
    }
    detach_head(repository, worktree, stamp)?;
    copy_branch_log(repository, worktree)?;
    let moved = in_trash(repository, worktree, &stamp.time);
    delete_branch(repository, &moved, removal)
}

fn finish_deletion(
    repository: &Repository,
    worktree: &Worktree,
    removal: &Removal,
) -> Result<BranchFate, Error> {
    let record = &worktree.record;
    if let Some(bin) = TrashBin::open(&repository.root)? {
        bin.delete_in_place(record.name.as_str())?;
    }
    if record.strategy == Strategy::Clone {
        return Ok(BranchFate::Private);
    }
    // an entry that names another place is another worktree's, there or not
    if worktree_of(&record.admin_dir).is_none_or(|path| path == record.path) {
        delete_entry(repository, &record.admin_dir)?;
    }
    delete_branch(repository, worktree, removal)
}

/// Deletes the branch if that was decided and it is still where it was then.
fn delete_branch(
    repository: &Repository,
    worktree: &Worktree,
    removal: &Removal,
) -> Result<BranchFate, Error> {
    let Some(tip) = &removal.branch_at else {
        return Ok(BranchFate::Stays);
    };
    let branch = &worktree.record.branch;
    let name = branch.full_ref();
    let since = worktree.dir.join(REMOVING);
    match delete_ref_despite_dead_locks(repository, worktree, tip) {
        Ok(()) => {
            // a git that could not delete its own lock, on a full disk, ends well all the same
            remove_dead_locks(&[lock_of(repository, branch)], &since);
            Ok(BranchFate::Deleted)
        }
        Err(error) => match repository.git.rev_parse_commit(&name)? {
            None => {
                // of a git that was killed when the branch was gone, before this call
                end_locks(repository, Some(branch), &since);
                Ok(BranchFate::Gone)
            }
            // a process committed to it meanwhile
            Some(now) if now != *tip => Ok(BranchFate::Stays),
            Some(_) => Err(error.into()),
        },
    }
}

/// Deletes the branch at `tip`. Where that fails, the lock of a git is removed that was killed, now
/// or with the removal that this one goes on with, and it is tried once more.
fn delete_ref_despite_dead_locks(
    repository: &Repository,
    worktree: &Worktree,
    tip: &CommitId,
) -> Result<(), GitError> {
    let branch = &worktree.record.branch;
    let name = branch.full_ref();
    let git = planted::git_without_hooks(repository, worktree);
    match git.delete_ref(&name, tip) {
        Err(_) => {
            end_locks(repository, Some(branch), &worktree.dir.join(REMOVING));
            git.delete_ref(&name, tip)
        }
        Ok(()) => Ok(()),
    }
}
