//! Undoes the steps of a [`StepJournal`]: after an error or a signal, or for the next command after
//! a kill.
//!
//! What undoes a step is decided in `record/journal.rs`. Here is one file for each kind of step: it
//! looks at what stands where the step works, and reverts the step. What reverts a step does not
//! import this file, so that the commands that take the step can.

pub mod applied_scope;
pub mod branch;
pub mod brought_forward;
pub mod directory;
pub mod file_change;
pub mod restored;
pub mod touched;

use camino::Utf8Path;

use crate::actions::journal::brought_forward::ForwardedWorktree;
use crate::actions::journal::directory::CreatedEntry;
use crate::record::journal::{ForwardMove, Now, Step, Undo};
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::worktree::error::WorktreeFault;
use crate::worktree::ignore_rules::is_needed;
use crate::worktree::journal::StepJournal;
use crate::worktree::repository::Repository;

/// What the steps of a journal are undone in.
#[derive(Clone, Copy)]
pub struct Undoing<'a> {
    /// The repository that keeps the records.
    pub repository: &'a Repository,
    /// A file that was written before any git that the command was killed with: what is older is
    /// not of that git.
    pub since: &'a Utf8Path,
}

/// What an undo leaves.
#[derive(Debug, Default)]
pub struct Undone {
    /// What stays because another process changed it, and what harms no worktree.
    pub stays: Vec<String>,
    /// What can be undone once a person has looked at it; the journal stays until then.
    pub waits: Vec<String>,
    /// What could not be undone; while there is something, the journal stays.
    pub failed: Vec<String>,
    /// The status of the first that failed.
    pub exit: Option<ExitCode>,
}

impl Undone {
    fn fail(&mut self, error: &Error, message: String) {
        self.failed.push(message);
        self.exit.get_or_insert(error.exit_code());
    }
}

/// How the last git that a command started has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastGit {
    /// By itself: it has removed its locks.
    Ended,
    /// It was killed, and may have left locks behind.
    Killed,
}

impl StepJournal {
    /// Undoes all steps, the last one first, and removes the journal where nothing is left to undo.
    /// What another process changed since stays. The lock of the journal's directory is held; for
    /// steps on what all worktrees share, the shared lock is.
    pub fn undo(&self, undoing: Undoing<'_>) -> Undone {
        let mut undone = Undone::default();
        for step in self.begun().iter().rev() {
            self.undo_step(step, undoing, &mut undone);
        }
        if undone.failed.is_empty() && undone.waits.is_empty() {
            self.end();
        }
        undone
    }

    fn undo_step(&self, step: &Step, undoing: Undoing<'_>, undone: &mut Undone) {
        let undo = match self.now(step, undoing) {
            Ok(now) => step.undo(&now),
            Err(error) => return undone.fail(&error, format!("{step}: {error}")),
        };
        let result = match undo {
            Undo::Nothing => Ok(()),
            Undo::Keep(why) => return undone.stays.push(format!("{step}: {why}")),
            Undo::Wait(why) => return undone.waits.push(format!("{step}: {why}")),
            Undo::Revert => self.revert(step, undoing),
        };
        match result {
            Ok(()) => {}
            // git would run what was planted: a person removes or accepts that first
            Err(error) if is_planted(&error) => undone.waits.push(error.with_help()),
            // it has looked before it touched anything
            Err(error) if error.exit_code() == ExitCode::Refused => {
                undone.stays.push(error.with_help());
            }
            // it is not part of a worktree, and harms none
            Err(error) if step.file_change().is_some() => undone.stays.push(error.to_string()),
            Err(error) => undone.fail(&error, error.to_string()),
        }
        remove_what_git_left(step, undoing.repository);
    }

    /// Reverts what a step did.
    fn revert(&self, step: &Step, undoing: Undoing<'_>) -> Result<(), Error> {
        let repository = undoing.repository;
        match step {
            Step::CreatedDirectory { path } => directory::remove(repository, path),
            Step::CreatedWorktree { path } => created_entry(path, undoing).remove(),
            Step::CreatedBranch { name, at } => branch::delete(repository, name, at, undoing.since),
            Step::ChangedSharedFile(change) | Step::AddedIgnoreRule(change) => {
                Ok(self.write_back(change)?)
            }
            Step::AppliedScope { worktree, record } => {
                let before = record.as_ref();
                applied_scope::revert(repository, self, worktree, before, undoing.since)
            }
            Step::RestoredPaths { worktree, rescue } => {
                restored::revert(repository, worktree, rescue, undoing.since)
            }
            Step::BroughtForward(step) => self.forwarded(step, undoing).revert(),
            Step::MovedBranch { .. } | Step::NotTaken => Ok(()),
        }
    }

    /// Looks at what stands where a step works.
    fn now(&self, step: &Step, undoing: Undoing<'_>) -> Result<Now, Error> {
        let repository = undoing.repository;
        match step {
            Step::CreatedDirectory { path } => Ok(directory::now(path)),
            Step::CreatedWorktree { path } => Ok(created_entry(path, undoing).now()),
            Step::CreatedBranch { name, .. } => Ok(branch::now(repository, name)?),
            Step::AddedIgnoreRule(_) if is_needed(repository) => Ok(Now::Needed),
            Step::ChangedSharedFile(change) | Step::AddedIgnoreRule(change) => {
                Ok(file_change::now(change)?)
            }
            Step::BroughtForward(step) => {
                Ok(Now::HalfWritten(self.forwarded(step, undoing).now()?))
            }
            Step::AppliedScope { worktree, .. } => applied_scope::now(repository, worktree),
            Step::RestoredPaths { worktree, rescue } => restored::now(repository, worktree, rescue),
            Step::MovedBranch { .. } | Step::NotTaken => Ok(Now::Nothing),
        }
    }

    fn forwarded<'a>(
        &'a self,
        step: &'a ForwardMove,
        undoing: Undoing<'a>,
    ) -> ForwardedWorktree<'a> {
        ForwardedWorktree {
            repository: undoing.repository,
            directory: self.directory(),
            step,
        }
    }
}

/// Removes the empty directories that git leaves where it could not take a step.
fn remove_what_git_left(step: &Step, repository: &Repository) {
    if let Some(branch) = step.created_branch() {
        branch::remove_empty_directories(repository, branch);
    }
    if matches!(step, Step::CreatedWorktree { .. }) {
        directory::remove_empty_entries(repository);
    }
}

fn created_entry<'a>(path: &'a Utf8Path, undoing: Undoing<'a>) -> CreatedEntry<'a> {
    CreatedEntry {
        repository: undoing.repository,
        path,
        since: undoing.since,
    }
}

/// True if a worktree was left alone because of settings that were planted there.
fn is_planted(error: &Error) -> bool {
    matches!(error.find(), Some(WorktreeFault::Planted { .. }))
}
