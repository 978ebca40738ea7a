//! Looks at and removes the directories and git's entries of worktrees that a command created.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::disk::remains::{is_newer, remove_busy_directory};
use crate::record::journal::Now;
use crate::words::error::Error;
use crate::worktree::gitdir::read_gitdir;
use crate::worktree::repository::{Repository, WORKTREES};

/// How long a git that lives may take until it has written the file that names its worktree.
const PAUSE: Duration = Duration::from_millis(200);

/// Looks whether a directory stands there.
pub fn now(path: &Utf8Path) -> Now {
    if files::exists(path) {
        return Now::Directory;
    }
    Now::Nothing
}

/// Removes a directory that a command created.
///
/// # Errors
/// Fails when the disk refuses.
pub fn remove(repository: &Repository, path: &Utf8Path) -> Result<(), Error> {
    // a journal names nothing else: this one is damaged
    if path.starts_with(repository.root.join(WORKTREES)) {
        remove_busy_directory(path)?;
    }
    Ok(())
}

/// Git's entry of a worktree, which is created at this path.
#[derive(Clone, Copy)]
pub struct CreatedEntry<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The directory of the worktree.
    pub path: &'a Utf8Path,
    /// A file that was written before git began.
    pub since: &'a Utf8Path,
}

impl CreatedEntry<'_> {
    /// Looks whether git has an entry.
    pub fn now(self) -> Now {
        if self.admin_dirs().is_empty() {
            return Now::Nothing;
        }
        Now::Directory
    }

    /// Removes the entry.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn remove(self) -> Result<(), Error> {
        for admin_dir in self.admin_dirs() {
            remove_busy_directory(&admin_dir)?;
        }
        Ok(())
    }

    /// Lists the private git directories that git has created for the path, or was half-way through
    /// creating: first the directory, then the file that names the path.
    fn admin_dirs(self) -> Vec<Utf8PathBuf> {
        let worktrees = self.repository.common_dir.join("worktrees");
        let dot_git = self.path.join(".git");
        let mut admin_dirs = Vec::new();
        for id in files::names(&worktrees).unwrap_or_default() {
            let admin_dir = worktrees.join(&id);
            let mut named = read_gitdir(&admin_dir).ok().flatten();
            if named.is_none()
                && may_be_entry_of(self.path, &id)
                && is_newer(&admin_dir, self.since)
            {
                // a living git writes it at once
                std::thread::sleep(PAUSE);
                let named_by_now = read_gitdir(&admin_dir).ok().flatten();
                named = Some(named_by_now.unwrap_or_else(|| dot_git.clone()));
            }
            if named.as_ref() == Some(&dot_git) && files::is_directory(&admin_dir) {
                admin_dirs.push(admin_dir);
            }
        }
        admin_dirs
    }
}

/// Removes the directory of git's entries, if there is none: git leaves it where it could not
/// create one.
pub fn remove_empty_entries(repository: &Repository) {
    files::remove_if_empty(&repository.common_dir.join("worktrees"));
}

/// True if git may have taken this name for the private git directory of a worktree: that of the
/// directory, and a number after it when that is taken.
fn may_be_entry_of(path: &Utf8Path, id: &str) -> bool {
    let number = id.strip_prefix(path.file_name().unwrap_or_default());
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}
