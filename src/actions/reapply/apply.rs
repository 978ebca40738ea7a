//! Gives a worktree the sparse patterns and write bits that its scope asks for.

use crate::actions::scope_edit::{set_bits, sparse_patterns};
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::disk::mode::{BitsChange, ChangedBits};
use crate::git::index::{IndexEntry, read_index};
use crate::scope::rule::{Access, EntryKind};
use crate::words::entry::Mode;
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

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
        let note = |path: &RepoPath| {
            format!(
                "{path} is excluded and stays on disk, because it is changed: save or revert it"
            )
        };
        self.stays.iter().map(note).collect()
    }
}

impl Worktree {
    /// Sets sparse patterns and write bits as the scope says, or only looks for what differs.
    ///
    /// # Errors
    /// Fails when git or the disk does; to do the same again finishes it.
    pub fn apply_scope(
        &self,
        repository: &Repository,
        change: BitsChange,
    ) -> Result<Reapplied, Error> {
        let record = &self.record;
        let index_file = record.admin_dir.join("index");
        let index = read_index(&index_file, repository.format)?;
        let patterns = sparse_patterns(&self.scope, &index);
        let mut reapplied = Reapplied {
            patterns: !self.is_sparse_by(repository, &patterns)?,
            present: self.excluded_on_disk(&index),
            ..Reapplied::default()
        };
        // looked for first: our own hook puts them back as soon as git has moved a file
        let placed = self.placed()?;
        let placed = placed.files();
        let mut bits = set_bits(
            &record.path,
            &self.scope,
            &index,
            placed,
            BitsChange::Preview,
        )?;
        if change == BitsChange::Apply {
            self.remove_verification()?;
            self.set_sparse(repository, &patterns)?;
            let index_now = read_index(&index_file, repository.format)?;
            let set = set_bits(
                &record.path,
                &self.scope,
                &index_now,
                placed,
                BitsChange::Apply,
            )?;
            bits.changed.extend(set.changed);
            bits.refused = set.refused;
            self.hardened_git(repository).update_index_refresh()?;
            reapplied.stays = self.excluded_on_disk(&index_now);
        }
        bits.changed.sort_unstable();
        bits.changed.dedup();
        reapplied.bits = bits;
        Ok(reapplied)
    }

    /// Whether sparse-checkout is on, with exactly these patterns.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn is_sparse_by(&self, repository: &Repository, patterns: &[u8]) -> Result<bool, Error> {
        let file = self.record.admin_dir.join("info/sparse-checkout");
        let git = self.hardened_git(repository);
        let on = git.config_get_bool("core.sparseCheckout")? == Some(true);
        Ok(on && !files::is_behind_link(&file) && files::read(&file)?.as_deref() == Some(patterns))
    }

    /// Lists the excluded tracked files that are on disk.
    pub fn excluded_on_disk(&self, index: &[IndexEntry]) -> Vec<RepoPath> {
        let mut classifier = self.scope.classifier();
        let root = self.record.path.as_std_path();
        let mut stands = |entry: &&IndexEntry| {
            let is_excluded = entry.entry.mode != Mode::Gitlink
                && classifier.verdict(&entry.path, EntryKind::File).access == Access::Excluded;
            let path = entry.path.to_os_path();
            is_excluded && path.is_ok_and(|path| files::exists(&root.join(path)))
        };
        let there = index.iter().filter(&mut stands);
        there.map(|entry| entry.path.clone()).collect()
    }

    /// Replaces links among the files of the private git directory by what they lead to: git writes
    /// there.
    ///
    /// # Errors
    /// Fails when the disk does.
    pub fn replace_links(&self) -> Result<(), Error> {
        let admin_dir = &self.record.admin_dir;
        let names = "info info/sparse-checkout config.worktree index logs logs/HEAD";
        let files = names.split(' ').map(|name| admin_dir.join(name));
        for link in files.filter(|file| files::is_link(file)) {
            let text = files::read(&link).ok().flatten();
            files::remove_file(&link)?;
            text.map_or(Ok(()), |text| files::write(&link, &text))?;
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
