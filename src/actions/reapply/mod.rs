//! Applies the scope of a worktree anew, or another scope.
//!
//! The journal has one step, `Step::AppliedScope`. After a failure of a change, or a kill, the
//! record gets its former scope, and the worktree what that says.

pub mod apply;
pub mod plan;

use crate::actions::journal::Undoing;
use crate::actions::reapply::apply::Reapplied;
use crate::actions::scope_edit::sparse_patterns;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::mode::BitsChange;
use crate::git::index::read_index;
use crate::record::journal;
use crate::record::journal::{JournaledCommand, Step};
use crate::record::worktree::WatchedFile;
use crate::words::error::Error;
use crate::worktree::journal::{APPLYING, StepJournal};
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

impl Worktree {
    /// Sets sparse patterns and write bits as the scope says. The lock of the worktree is held.
    ///
    /// # Errors
    /// Fails when git or the disk does; the next command on the worktree finishes it.
    pub fn reapply(&self, repository: &Repository) -> Result<Reapplied, Error> {
        let mut journal = self.begin_journal(JournaledCommand::Reapply)?;
        journal.add(Step::AppliedScope {
            worktree: self.record.name.clone(),
            record: None,
        })?;
        let reapplied = self.apply_scope(repository, BitsChange::Apply)?;
        // of an older version that was killed
        files::remove_file(&self.dir.join(APPLYING))?;
        journal.end();
        Ok(reapplied)
    }

    /// Gives the worktree the scope that this value has, or, when a step fails, leaves the former
    /// one. The lock of the worktree is held.
    ///
    /// # Errors
    /// Fails when git or the disk does; what could not be undone is named.
    pub fn change_scope(self, repository: &Repository) -> Result<Reapplied, Error> {
        let mut journal = self.begin_journal(JournaledCommand::Scope)?;
        let changed = self.take_steps(repository, &mut journal);
        if changed.is_ok() {
            journal.end();
            return changed;
        }
        changed.map_err(|error| {
            let mut undone = journal.undo(Undoing {
                repository: repository.home(),
                since: &journal.file(),
            });
            undone.failed.append(&mut undone.stays);
            undone.failed.append(&mut undone.waits);
            error.leaving(undone.failed)
        })
    }

    fn begin_journal(&self, command: JournaledCommand) -> Result<StepJournal, DiskError> {
        StepJournal::begin(journal::directory(&self.dir), command)
    }

    /// Writes the record, with the digest that the sparse patterns will have, and applies its
    /// scope.
    fn take_steps(
        mut self,
        repository: &Repository,
        journal: &mut StepJournal,
    ) -> Result<Reapplied, Error> {
        let is_recorded = self.config_is_as_recorded(repository)?;
        let index = read_index(&self.record.admin_dir.join("index"), repository.format)?;
        let patterns = sparse_patterns(&self.scope, &index);
        for print in &mut self.record.integrity {
            if print.file == WatchedFile::SparseCheckout {
                print.digest = Some(repository.format.blob_id(&patterns).to_string());
            }
        }
        journal.add(Step::AppliedScope {
            worktree: self.record.name.clone(),
            record: journal.keep(&self.record_file())?,
        })?;
        self.write_record(&self.record)?;
        let reapplied = self.apply_scope(repository, BitsChange::Apply)?;
        self.renew_digests(repository, |file| {
            is_recorded && file == WatchedFile::ConfigWorktree
        })?;
        Ok(reapplied)
    }
}
