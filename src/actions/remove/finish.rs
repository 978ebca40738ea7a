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
/// decided; and moves the record, last, as it says how to go on. A step that is done already is
/// left out. `held` is what this call has held of the private git directory so far. Returns what
/// became of the branch.
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

/// Deletes the branch if that was decided and it is still where it was then; returns what became
/// of it.
fn delete_branch(
    repository: &Repository,
    worktree: &Worktree,
    removal: &Removal,
) -> Result<BranchFate, Error> {
    let Some(tip) = &removal.branch_at else {
        return Ok(BranchFate::Stays);
    };
    let branch = &worktree.record.branch;
    let since = worktree.dir.join(REMOVING);
    let Err(error) = delete_ref_despite_dead_locks(repository, worktree, tip) else {
        // on a full disk git can leave its lock although it has deleted the branch
        remove_dead_locks(&[lock_of(repository, branch)], &since);
        return Ok(BranchFate::Deleted);
    };
    let Some(current) = repository.git.rev_parse_commit(&branch.full_ref())? else {
        // a git that was killed before this call may have deleted the branch and left its locks
        end_locks(repository, Some(branch), &since);
        return Ok(BranchFate::Gone);
    };
    if current == *tip {
        return Err(error.into());
    }
    // a process committed to it meanwhile
    Ok(BranchFate::Stays)
}

/// Deletes the branch at `tip`. Where that fails, the locks are removed that a killed git left
/// since the removal began, and it is tried once more.
fn delete_ref_despite_dead_locks(
    repository: &Repository,
    worktree: &Worktree,
    tip: &CommitId,
) -> Result<(), GitError> {
    let branch = &worktree.record.branch;
    let name = branch.full_ref();
    let git = planted::git_without_hooks(repository, worktree);
    if git.delete_ref(&name, tip).is_ok() {
        return Ok(());
    }
    end_locks(repository, Some(branch), &worktree.dir.join(REMOVING));
    git.delete_ref(&name, tip)
}
