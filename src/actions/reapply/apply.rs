//! Gives a worktree the sparse patterns and write bits that its scope asks for.

use crate::actions::scope_edit::{set_bits, sparse_patterns};
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::disk::mode::{BitsChange, ChangedBits, remove_refused};
use crate::git::index::{IndexEntry, read_index};
use crate::inventory::placed::Placed;
use crate::words::entry::Mode;
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// What git writes in a private git directory when it changes sparse patterns or a branch, each
/// directory before what is in it.
const WRITTEN_BY_GIT: [&str; 6] = [
    "info",
    "info/sparse-checkout",
    "config.worktree",
    "index",
    "logs",
    "logs/HEAD",
];

/// Says what was set anew in a worktree, or would be.
#[derive(Clone, Debug, Default)]
pub struct Reapplied {
    /// Whether the sparse patterns were other ones, or switched off.
    pub patterns: bool,
    /// The excluded files that were on disk.
    pub present: Vec<RepoPath>,
    /// The excluded files that stay on disk, as they are changed.
    pub stays: Vec<RepoPath>,
    /// The write bits.
    pub bits: ChangedBits,
}

impl Reapplied {
    /// What a person should know of files that stay.
    pub fn notes(&self) -> Vec<String> {
        let mut notes = Vec::new();
        for path in &self.stays {
            notes.push(format!(
                "{path} is excluded and stays on disk, because it is changed: save or revert it"
            ));
        }
        notes
    }
}

impl Worktree {
    /// Sets sparse patterns and write bits as the scope says, or only looks for what differs. To
    /// set them, the caller holds the lock of the name.
    ///
    /// # Errors
    /// Fails when git or the disk does; to do the same again finishes it.
    pub fn apply_scope(
        &self,
        repository: &Repository,
        change: BitsChange,
    ) -> Result<Reapplied, Error> {
        let index_file = self.record.admin_dir.join("index");
        let index = read_index(&index_file, repository.format)?;
        let patterns = sparse_patterns(&self.scope, &index);
        let mut reapplied = Reapplied {
            patterns: !self.is_sparse_by(repository, &patterns)?,
            present: self.excluded_on_disk(&index),
            ..Reapplied::default()
        };
        // looked for before git runs: as soon as git has moved a file, our own hook sets the bits
        let placed = self.placed()?;
        let mut bits = self.set_bits_of(&index, &placed, BitsChange::Preview)?;
        if change == BitsChange::Apply {
            self.remove_verification()?;
            self.set_sparse(repository, &patterns)?;
            let index_now = read_index(&index_file, repository.format)?;
            let applied = self.set_bits_of(&index_now, &placed, BitsChange::Apply)?;
            // beside what differed before: the files that git has written by now
            bits.changed.extend(applied.changed);
            bits.refused = applied.refused;
            remove_refused(&mut bits.changed, &bits.refused);
            self.hardened_git(repository).update_index_refresh()?;
            reapplied.stays = self.excluded_on_disk(&index_now);
        }
        bits.changed.sort_unstable();
        bits.changed.dedup();
        reapplied.bits = bits;
        Ok(reapplied)
    }

    fn set_bits_of(
        &self,
        index: &[IndexEntry],
        placed: &Placed,
        change: BitsChange,
    ) -> Result<ChangedBits, DiskError> {
        let root = &self.record.path;
        set_bits(root, &self.scope, index, placed.files(), change)
    }

    /// True if sparse-checkout is on, with exactly these patterns.
    fn is_sparse_by(&self, repository: &Repository, patterns: &[u8]) -> Result<bool, Error> {
        let file = self.record.admin_dir.join("info/sparse-checkout");
        let git = self.hardened_git(repository);
        if git.config_get_bool("core.sparseCheckout")? != Some(true) || files::is_behind_link(&file)
        {
            return Ok(false);
        }
        Ok(files::read(&file)?.as_deref() == Some(patterns))
    }

    /// Lists the excluded tracked files that are on disk.
    fn excluded_on_disk(&self, index: &[IndexEntry]) -> Vec<RepoPath> {
        let mut classifier = self.scope.classifier();
        let root = self.record.path.as_std_path();
        let mut on_disk = Vec::new();
        for entry in index {
            let is_excluded =
                entry.entry.mode != Mode::Gitlink && classifier.excludes_file(&entry.path);
            if is_excluded
                && let Ok(path) = entry.path.to_os_path()
                && files::exists(&root.join(path))
            {
                on_disk.push(entry.path.clone());
            }
        }
        on_disk
    }

    /// Replaces links among the files of the private git directory by what they lead to: git writes
    /// there.
    ///
    /// # Errors
    /// Fails when the disk does.
    pub fn replace_links(&self) -> Result<(), Error> {
        for name in WRITTEN_BY_GIT {
            let file = self.record.admin_dir.join(name);
            if !files::is_link(&file) {
                continue;
            }
            let content = files::read(&file).ok().flatten();
            files::remove_file(&file)?;
            if let Some(content) = content {
                files::write(&file, &content)?;
            }
        }
        Ok(())
    }

    /// Sets the sparse patterns, and removes what else switches them off. Git removes excluded
    /// files without changes, and brings others back.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn set_sparse(&self, repository: &Repository, patterns: &[u8]) -> Result<(), Error> {
        let _shared = Lock::wait(&repository.shared_lock())?;
        self.replace_links()?;
        // hooks and file watchers could have been planted in the shared configuration
        let git = self.hardened_git(repository);
        git.sparse_checkout_set(patterns)?;
        // `git sparse-checkout disable` leaves it behind
        let unset = ["--unset-all", "index.sparse"];
        let config = self.record.admin_dir.join("config.worktree");
        Ok(git.config_file_unset(&config, &unset)?)
    }
}
