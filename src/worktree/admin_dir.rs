//! Finds and deletes the private git directory of a worktree (gitrepository-layout(5),
//! `worktrees/<id>/`).

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::words::error::Error;
use crate::worktree::gitdir::read_gitdir;
use crate::worktree::repository::Repository;

/// Finds the private git directory of the worktree at a path, whether or not the worktree exists.
pub fn entry_of(repository: &Repository, path: &Utf8Path) -> Result<Option<Utf8PathBuf>, Error> {
    let linked = repository.common_dir.join("worktrees");
    for id in files::names(&linked)? {
        let admin_dir = linked.join(id);
        if worktree_of(&admin_dir).as_deref() == Some(path) {
            return Ok(Some(admin_dir));
        }
    }
    Ok(None)
}

/// The directory of the worktree that a private git directory belongs to.
pub fn worktree_of(admin_dir: &Utf8Path) -> Option<Utf8PathBuf> {
    let dot_git = read_gitdir(admin_dir).ok()??;
    Some(dot_git.parent()?.to_owned())
}

/// Finds the git directories below a directory `modules`, or `worktrees`; of submodules, those of
/// their submodules too (gitrepository-layout(5)). One of which HEAD or the objects are gone counts:
/// the rest of it can be work.
///
/// # Errors
/// Fails when a directory cannot be listed.
pub fn git_dirs_below(modules: &Utf8Path) -> Result<Vec<Utf8PathBuf>, DiskError> {
    let mut git_dirs = Vec::new();
    let mut unlisted = vec![modules.to_owned()];
    while let Some(directory) = unlisted.pop() {
        let is_git_dir = ["HEAD", "objects"]
            .iter()
            .any(|name| files::exists(&directory.join(name)));
        if is_git_dir {
            unlisted.push(directory.join("modules"));
            git_dirs.push(directory);
            continue;
        }
        // the name of a submodule can have slashes
        for name in files::names(&directory)? {
            let below = directory.join(&name);
            if files::is_directory(&below) {
                unlisted.push(below);
            }
        }
    }
    Ok(git_dirs)
}

/// Deletes the private git directory of a worktree that is gone, and returns whether it was
/// deleted: not if there is a worktree by now.
///
/// # Errors
/// Fails when the disk does.
pub fn delete_entry(repository: &Repository, admin_dir: &Utf8Path) -> Result<bool, Error> {
    let linked = repository.common_dir.join("worktrees");
    if admin_dir.parent() != Some(&linked) {
        return Ok(false);
    }
    let _shared = Lock::wait(&repository.shared_lock())?;
    if read_gitdir(admin_dir)?.is_some_and(|dot_git| files::exists(&dot_git)) {
        return Ok(false);
    }
    files::remove_directory(admin_dir)?;
    files::remove_if_empty(&linked);
    Ok(true)
}
