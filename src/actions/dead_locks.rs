//! Removes the locks that a killed git of ours left on what all worktrees share.

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::remains::remove_dead_locks;
use crate::words::name::BranchName;
use crate::worktree::repository::Repository;

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

/// Returns the lock of a branch of ours.
pub fn lock_of(repository: &Repository, branch: &BranchName) -> Utf8PathBuf {
    let file = format!("{}.lock", branch.full_ref());
    repository.common_dir.join(file)
}
