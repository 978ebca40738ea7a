//! Puts the sparse-checkout of a worktree back as the scope says, for `reapply` and `restore`.

use crate::disk::files::{self, Lock};
use crate::entry::Mode;
use crate::error::Error;
use crate::facts::{Repository, Worktree};
use crate::git::index::IndexEntry;
use crate::path::RepoPath;
use crate::scope::{Access, EntryKind};

/// The patterns that the scope says.
#[must_use]
pub fn patterns(known: &Worktree, index: &[IndexEntry]) -> Vec<u8> {
    let gitlinks = index
        .iter()
        .filter(|entry| entry.entry.mode == Mode::Gitlink);
    known
        .scope
        .sparse_patterns_with_gitlinks(gitlinks.map(|entry| &entry.path))
        .to_bytes()
}

/// Whether the sparse-checkout is on, with exactly these patterns.
///
/// # Errors
/// Fails when git or the disk does.
pub fn is_on(repository: &Repository, known: &Worktree, patterns: &[u8]) -> Result<bool, Error> {
    let file = known.record.admin_dir.join("info/sparse-checkout");
    let git = known.hardened_git(repository);
    let on = git.config_get_bool("core.sparseCheckout")? == Some(true);
    Ok(on && files::read(&file)?.as_deref() == Some(patterns))
}

/// Excluded tracked files that are on disk.
#[must_use]
pub fn present(known: &Worktree, index: &[IndexEntry]) -> Vec<RepoPath> {
    let mut classifier = known.scope.classifier();
    let root = known.record.path.as_std_path();
    let excluded = index.iter().filter(|entry| {
        entry.entry.mode != Mode::Gitlink
            && classifier.verdict(&entry.path, EntryKind::File).access == Access::Excluded
    });
    let there = excluded.filter(|entry| {
        entry
            .path
            .to_os_path()
            .is_ok_and(|path| files::stands(&root.join(path)))
    });
    there.map(|entry| entry.path.clone()).collect()
}

/// Sets the patterns, and takes away what else switches them off. Git removes excluded files
/// that hold no change, and brings others back.
///
/// # Errors
/// Fails when git or the disk does.
pub fn put_back(repository: &Repository, known: &Worktree, patterns: &[u8]) -> Result<(), Error> {
    // hooks and file watchers could have been planted in the shared configuration
    let git = known.hardened_git(repository);
    let _shared = Lock::wait(&repository.shared_lock())?;
    git.sparse_checkout_set(patterns)?;
    // `git sparse-checkout disable` leaves it behind
    let config = known.record.admin_dir.join("config.worktree");
    git.config_file_unset(&config, "index.sparse")?;
    Ok(())
}

/// Lets git apply the patterns that are set.
///
/// # Errors
/// Fails when git or the disk does.
pub fn reapply(repository: &Repository, known: &Worktree) -> Result<(), Error> {
    let git = known.hardened_git(repository);
    let _shared = Lock::wait(&repository.shared_lock())?;
    Ok(git.sparse_checkout_reapply()?)
}
