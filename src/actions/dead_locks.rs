//! Removes the locks that a killed git of ours left on what all worktrees share.

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::remains::remove_dead_locks;
use crate::judge::change::{INDEX_LOCK, SPARSE_LOCK};
use crate::record::worktree::Record;
use crate::words::name::BranchName;
use crate::worktree::repository::Repository;

/// The locks that a git takes in a private git directory, whose files we change.
const LOCKS_OF_WORKTREE: [&str; 4] = [INDEX_LOCK, SPARSE_LOCK, "HEAD.lock", "config.worktree.lock"];

/// Removes the locks that a killed git of ours left on files that all worktrees share, and on this
/// branch: created after the file `since` was, and untouched for as long as each is watched.
pub fn end_locks(repository: &Repository, own: Option<&BranchName>, since: &Utf8Path) {
    let mut suspects = Vec::new();
    for file in ["config", "packed-refs"] {
        suspects.push(repository.common_dir.join(format!("{file}.lock")));
    }
    if let Some(branch) = own {
        suspects.push(lock_of(repository, branch));
    }
    remove_dead_locks(&suspects, since);
}

/// Removes the locks that a killed git left in the private git directory of a worktree, and on its
/// branch: created after the file `since` was, and untouched for as long as each is watched.
pub fn end_locks_of_worktree(repository: &Repository, record: &Record, since: &Utf8Path) {
    let mut suspects = vec![lock_of(repository, &record.branch)];
    for file in LOCKS_OF_WORKTREE {
        suspects.push(record.admin_dir.join(file));
    }
    remove_dead_locks(&suspects, since);
}

/// Returns the lock of a branch of ours.
pub fn lock_of(repository: &Repository, branch: &BranchName) -> Utf8PathBuf {
    let file = format!("{}.lock", branch.full_ref());
    repository.common_dir.join(file)
}
