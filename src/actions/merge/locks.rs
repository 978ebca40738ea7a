//! Finds the lock files that a git left which was killed during a merge.

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::dead_locks::lock_of;
use crate::disk::files;
use crate::system::processes;
use crate::words::error::Error;
use crate::words::name::BranchName;
use crate::worktree::repository::Repository;

/// Returns the lock files of a git that moves a branch, among those that all worktrees share.
pub fn locks_of_branch(repository: &Repository, branch: &BranchName) -> Vec<Utf8PathBuf> {
    let home = repository.home();
    vec![
        lock_of(home, branch),
        home.common_dir.join("packed-refs.lock"),
        home.common_dir.join("reftable/tables.list.lock"),
    ]
}

/// Returns the lock files in the git directory of a worktree that no living git may hold; none
/// where the worktree is gone.
///
/// # Errors
/// Fails when git or the disk does.
pub fn locks_of_worktree(
    repository: &Repository,
    checkout: &Utf8Path,
) -> Result<Vec<Utf8PathBuf>, Error> {
    if !files::is_directory(checkout) {
        return Ok(Vec::new());
    }
    let git_dir = repository.git.at(checkout).absolute_git_dir()?;
    let mut locks = Vec::new();
    for name in files::names(&git_dir)? {
        let file = git_dir.join(&name);
        let is_lock = file.extension() == Some("lock") && !name.starts_with("config");
        if is_lock && !may_be_held(&file, checkout) {
            locks.push(file);
        }
    }
    Ok(locks)
}

/// True for the lock of an index that is written while a git works there: one that waits for the
/// user's editor has written it.
fn may_be_held(lock: &Utf8Path, checkout: &Utf8Path) -> bool {
    let is_written = files::stat(lock).is_some_and(|stat| stat.size > 0);
    lock.ends_with("index.lock")
        && is_written
        && processes::count_named("git", checkout).unwrap_or(0) > 0
}
