//! Locks the worktrees of git inside a worktree that goes into the trash (git-worktree(1), `lock`):
//! until that is deleted, `git worktree prune` and `git gc` keep what they name.

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::trash::entry::shown;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::worktree::admin_dir::worktree_of;
use crate::worktree::repository::Repository;

/// How the reason of a lock of ours begins.
const REASON: &str = "git-agentwt: its directory is in the trash";

/// Locks every worktree inside of a directory, for the entry of this id. What the user locked stays
/// as it is.
///
/// # Errors
/// Fails when the disk does.
pub(super) fn lock_inside(
    repository: &Repository,
    directory: &Utf8Path,
    id: &str,
) -> Result<(), DiskError> {
    for admin_dir in admin_dirs(repository)? {
        let Some(worktree) = worktree_of(&admin_dir) else {
            continue;
        };
        let is_inside = worktree != directory && worktree.starts_with(directory);
        if !is_inside || !files::exists(&worktree.join(".git")) {
            continue;
        }
        let lock = admin_dir.join("locked");
        let may_be_written = match files::read(&lock)? {
            // a removal that was killed has locked it for another entry
            Some(reason) => reason.starts_with(REASON.as_bytes()),
            None => true,
        };
        if may_be_written {
            files::write(&lock, reason_for(id).as_bytes())?;
        }
    }
    Ok(())
}

/// Unlocks every worktree that is locked for the entry of this id.
///
/// # Errors
/// Fails when the disk does.
pub(super) fn unlock(repository: &Repository, id: &str) -> Result<(), DiskError> {
    for admin_dir in admin_dirs(repository)? {
        let lock = admin_dir.join("locked");
        // one that cannot be read is none of ours
        let reason = files::read(&lock).unwrap_or_default();
        if reason.as_deref() == Some(reason_for(id).as_bytes()) {
            files::remove_file(&lock)?;
        }
    }
    Ok(())
}

/// The private git directories of all linked worktrees.
fn admin_dirs(repository: &Repository) -> Result<Vec<Utf8PathBuf>, DiskError> {
    let linked = repository.common_dir.join("worktrees");
    let names = files::names(&linked)?;
    Ok(names.iter().map(|name| linked.join(name)).collect())
}

/// The reason of a lock for the entry of this id.
fn reason_for(id: &str) -> String {
    let directory = shown(id);
    format!("{REASON} ({directory}); git agentwt remove --undo brings it back\n")
}
