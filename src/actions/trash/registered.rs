//! Brings back what an older version changed in the private git directory of a removed worktree.
//!
//! It left that directory where it was, locked, with a detached HEAD. The files that it changed
//! wait in `admin/` of the record.

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::trash::private_git_dir::put_head_back;
use crate::disk::files;
use crate::disk::remains::sweep;
use crate::record::worktree::TrashStamp;
use crate::words::error::Error;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// The directory of a record with these files.
pub(super) const ADMIN: &str = "admin";
/// What makes git count a branch as checked out (git-worktree(1)), beside HEAD.
const OPERATIONS: [&str; 3] = ["rebase-merge", "rebase-apply", "BISECT_LOG"];

/// Puts the files from `admin/` back into the registered private git directory; what is back
/// already stays. Does nothing where there are none, as for what this version removed. The caller
/// holds the lock of the worktree.
///
/// # Errors
/// Fails when the disk or git does: the next call goes on.
pub(super) fn put_files_back(
    repository: &Repository,
    worktree: &Worktree,
    git_dir: &Utf8Path,
    stamp: &TrashStamp,
) -> Result<(), Error> {
    let aside = worktree.dir.join(ADMIN);
    if !files::exists(&aside.join("gitdir")) {
        return Ok(());
    }
    // the temporary files of a write that was killed
    sweep(git_dir, &[""]);
    for operation in OPERATIONS {
        let from = aside.join(operation);
        if files::exists(&from) {
            files::rename(&from, &git_dir.join(operation))?;
        }
    }
    let git = worktree.git(repository);
    put_head_back(&git, git_dir, &aside.join("HEAD"), stamp)?;
    let head_log = git_dir.join("logs/HEAD");
    let has_log = files::exists(&aside.join("head-log"));
    // where the removal left no log, git is told to write none (git-config(1), core.logAllRefUpdates)
    if has_log && files::exists(&head_log) {
        // by a rename: git takes a temporary file among the logs for the log of a ref
        files::rename(&aside.join("head-log"), &head_log)?;
    }
    // it goes last, as it says that the others are to be put back
    Ok(files::rename(
        &aside.join("gitdir"),
        &git_dir.join("gitdir"),
    )?)
}

/// The log of the branch that an older version kept.
pub(super) fn branch_log(worktree: &Worktree) -> Utf8PathBuf {
    worktree.dir.join(ADMIN).join("branch-log")
}
