//! Finds git's lock files.

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::dead_locks::lock_of;
use crate::actions::leftover::{Leftover, LockFacts, judge_lock};
use crate::disk::files;
use crate::disk::locked_file::{LockDepth, lock_files};
use crate::system::processes;
use crate::words::error::Error;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Finds git's lock files in this repository and in its clones, with what may be done about each.
pub(super) fn find_git_locks(
    repository: &Repository,
    worktrees: &[Worktree],
) -> Result<Vec<Leftover>, Error> {
    let common = &repository.common_dir;
    let mut locks = locks_of_repository(common);
    locks.extend(lock_files(&common.join("reftable"), LockDepth::Here));
    for id in files::names(&common.join("worktrees"))? {
        locks.extend(locks_of_git_dir(&common.join("worktrees").join(id)));
    }
    for worktree in worktrees {
        if worktree.has_own_repository() {
            locks.extend(locks_of_repository(&worktree.record.path.join(".git")));
        }
    }
    if locks.is_empty() {
        return Ok(Vec::new());
    }
    Ok(judge_locks(repository, worktrees, &locks))
}

/// Judges lock files, of which the age in seconds is known.
fn judge_locks(
    repository: &Repository,
    worktrees: &[Worktree],
    locks: &[(Utf8PathBuf, u64)],
) -> Vec<Leftover> {
    let gits = count_gits(repository);
    let paths: Vec<&Utf8Path> = locks.iter().map(|(path, _age)| path.as_path()).collect();
    let open_files = processes::open_files(&paths);
    let mut leftovers = Vec::new();
    for (path, age) in locks {
        let is_open = open_files
            .as_ref()
            .map(|open_files| open_files.contains(path.as_path()));
        leftovers.push(judge_lock(&LockFacts {
            path: path.clone(),
            age: *age,
            ours: is_ours(repository, worktrees, path),
            gits,
            open: is_open,
        }));
    }
    leftovers
}

/// The locks in the git directory of a repository and on its refs, with their age in seconds.
fn locks_of_repository(git_dir: &Utf8Path) -> Vec<(Utf8PathBuf, u64)> {
    let mut locks = locks_of_git_dir(git_dir);
    locks.extend(lock_files(&git_dir.join("refs"), LockDepth::Below));
    locks
}

/// The locks in a git directory, a private one too, with their age in seconds.
fn locks_of_git_dir(git_dir: &Utf8Path) -> Vec<(Utf8PathBuf, u64)> {
    let mut locks = lock_files(git_dir, LockDepth::Here);
    locks.extend(lock_files(&git_dir.join("info"), LockDepth::Here));
    locks
}

/// Counts the gits that run in the root or in the git directory; none where that cannot be told.
fn count_gits(repository: &Repository) -> Option<usize> {
    let in_root = processes::count_named("git", &repository.root)?;
    let in_git_dir = processes::count_named("git", &repository.common_dir)?;
    Some(in_root.max(in_git_dir))
}

/// True if a lock is for one of our worktrees, its branch, or a ref of ours alone.
fn is_ours(repository: &Repository, worktrees: &[Worktree], path: &Utf8Path) -> bool {
    if path.starts_with(repository.common_dir.join("refs/agentwt")) {
        return true;
    }
    worktrees.iter().any(|worktree| {
        let record = &worktree.record;
        path.starts_with(&record.admin_dir) || *path == lock_of(repository, &record.branch)
    })
}
