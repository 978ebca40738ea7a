//! Finds the private git directory of a worktree: [`PrivateGitDir`].

use camino::{Utf8Path, Utf8PathBuf};

use crate::config::value::Strategy;
use crate::disk::files;
use crate::disk::trash_bin::TRASH;
use crate::worktree::admin_dir::worktree_of;
use crate::worktree::gitdir::TRASHED_GIT_DIR;
use crate::worktree::loaded::Worktree;

/// Says where the private git directory of a worktree is.
pub enum PrivateGitDir {
    /// Among those of all worktrees, where git finds it.
    Registered(Utf8PathBuf),
    /// In the record.
    InRecord(Utf8PathBuf),
    /// In the worktree, as that is a clone.
    InWorktree,
    /// Nowhere.
    Gone,
}

impl PrivateGitDir {
    /// Finds it.
    pub fn find(worktree: &Worktree) -> Self {
        let record = &worktree.record;
        let in_record = worktree.dir.join(TRASHED_GIT_DIR);
        match record.strategy {
            Strategy::Clone => Self::InWorktree,
            Strategy::Worktree if files::is_directory(&in_record) => Self::InRecord(in_record),
            Strategy::Worktree if is_registered(worktree) => {
                Self::Registered(record.admin_dir.clone())
            }
            Strategy::Worktree => Self::Gone,
        }
    }
}

/// True if the private git directory that is recorded is there, and not of another worktree by now.
fn is_registered(worktree: &Worktree) -> bool {
    let record = &worktree.record;
    if !files::is_directory(&record.admin_dir) {
        return false;
    }
    match worktree_of(&record.admin_dir) {
        Some(path) if path != record.path => {
            !files::exists(&path.join(".git")) || is_in_trash(&path)
        }
        Some(_) | None => true,
    }
}

/// True for the directory of an entry of the trash: there an older version made it lead.
fn is_in_trash(path: &Utf8Path) -> bool {
    path.parent().is_some_and(|parent| parent.ends_with(TRASH))
}
