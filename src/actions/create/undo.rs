//! Undoes an `add`: its journal, and the intent beside it.

use camino::Utf8Path;

use crate::actions::dead_locks::{end_locks, lock_of};
use crate::actions::journal::directory::{CreatedEntry, remove_empty_entries};
use crate::actions::journal::{LastGit, Undoing, Undone};
use crate::actions::placing::staging;
use crate::config::value::Strategy;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::remains::{remove_dead_locks, sweep};
use crate::record::journal;
use crate::record::journal::{JournaledCommand, Now, Step};
use crate::record::worktree::Intent;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::worktree::error::WorktreeFault;
use crate::worktree::journal::{ReadJournal, StepJournal};
use crate::worktree::repository::{Repository, WORKTREES, intent_file};

/// Begins the journal of an `add`. The lock of the name is held, and the intent is written.
///
/// # Errors
/// Fails when the disk refuses.
pub fn begin_journal(
    repository: &Repository,
    name: &WorktreeName,
) -> Result<StepJournal, DiskError> {
    let directory = journal::directory(&repository.record_dir(name));
    StepJournal::begin(directory, JournaledCommand::Add)
}

/// Reads what an `add` has left that was killed. The lock of the name is held.
///
/// # Errors
/// Fails when its process lives, or the disk refuses.
pub fn read_journal(repository: &Repository, intent: &Intent) -> Result<StepJournal, Error> {
    let name = &intent.record.name;
    let directory = journal::directory(&repository.record_dir(name));
    match StepJournal::read(directory.clone())? {
        ReadJournal::Left(journal) => Ok(journal),
        ReadJournal::Nothing => {
            let steps = steps_of_intent(repository, intent);
            Ok(StepJournal::of_steps(
                directory,
                JournaledCommand::Add,
                steps,
            ))
        }
        ReadJournal::OfLiving(_) => {
            let name = name.to_string();
            Err(WorktreeFault::Incomplete { name }.into())
        }
    }
}

/// Undoes the steps of an `add`, and removes the record of the worktree, with the journal, where no
/// step failed. The shared lock is held.
pub fn undo_steps(
    repository: &Repository,
    name: &WorktreeName,
    journal: &StepJournal,
    last_git: LastGit,
) -> Undone {
    let since = intent_file(repository, name);
    let steps = journal.begun();
    let own_branch = steps.iter().find_map(Step::created_branch);
    if last_git == LastGit::Killed {
        end_locks(repository, own_branch, &since);
    }
    // temporary files of killed writes
    let common_dir = &repository.common_dir;
    let worktrees = repository.root.join(WORKTREES);
    for directory in [common_dir, &common_dir.join("info"), &worktrees] {
        sweep(directory, &[""]);
    }
    let mut undone = journal.undo(Undoing {
        repository,
        since: &since,
    });
    // a git that could not remove its own lock has only warned, and counts as successful
    if let Some(branch) = own_branch {
        remove_dead_locks(&[lock_of(repository, branch)], &since);
    }
    if undone.failed.is_empty()
        && undone.waits.is_empty()
        && let Err(error) = files::remove_directory(&repository.record_dir(name))
    {
        undone.failed.push(error.to_string());
    }
    files::remove_if_empty(&repository.records_dir());
    undone
}

/// Writes down that the last steps were not taken: the worktree, and the directories that it needs.
/// Called only after a `git worktree add` that failed by itself.
///
/// Git writes its entry before the directory. Where the entry is there, the steps stay, and the
/// undo reverts them; where it is not, what stands at the path is not ours to remove.
///
/// # Errors
/// Fails when the disk refuses.
pub fn withdraw_worktree_steps(
    repository: &Repository,
    path: &Utf8Path,
    since: &Utf8Path,
    journal: &mut StepJournal,
) -> Result<(), DiskError> {
    let entry = CreatedEntry {
        repository,
        path,
        since,
    };
    if entry.now() != Now::Nothing {
        return Ok(());
    }
    // they are the last steps: each `NotTaken` takes one of them back
    while let Some(last) = journal.begun().pop() {
        let is_of_worktree = matches!(
            last,
            Step::CreatedDirectory { .. } | Step::CreatedWorktree { .. }
        );
        if !is_of_worktree {
            break;
        }
        journal.add(Step::NotTaken)?;
    }
    remove_empty_entries(repository);
    Ok(())
}

/// Returns the steps of an `add` that wrote no journal: one of an older version, or one whose
/// journal was lost with the power.
fn steps_of_intent(repository: &Repository, intent: &Intent) -> Vec<Step> {
    let record = &intent.record;
    let mut steps = Vec::new();
    if let Some(at) = &intent.branch_at {
        steps.push(Step::CreatedBranch {
            name: record.branch.clone(),
            at: at.clone(),
        });
    }
    let path = record.path.clone();
    if !path.starts_with(repository.root.join(WORKTREES)) {
        return steps;
    }
    if record.strategy == Strategy::Worktree {
        steps.push(Step::CreatedWorktree { path: path.clone() });
    }
    steps.push(Step::CreatedDirectory { path: path.clone() });
    steps.push(Step::CreatedDirectory {
        path: staging(&path),
    });
    steps
}
