//! Takes the lock of a worktree, and undoes first what a killed command left there.

use std::collections::BTreeSet;

use crate::actions::journal::{Undoing, Undone};
use crate::actions::placing::staging;
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::record::journal;
use crate::record::journal::JournaledCommand;
use crate::system::processes::wait_for_gits;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::name::WorktreeName;
use crate::worktree::error::WorktreeFault;
use crate::worktree::journal::{ReadJournal, StepJournal};
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

impl Worktree {
    /// Waits for the lock of a name, undoes what a killed command left, and loads the worktree,
    /// which may have changed meanwhile.
    ///
    /// # Errors
    /// As [`Lock::wait`] and [`Worktree::load`]; also when what was left cannot be undone.
    pub fn lock(repository: &Repository, name: &WorktreeName) -> Result<(Lock, Self), Error> {
        let lock = Lock::wait(&repository.name_lock(name))?;
        let worktree = Self::load(repository, name)?;
        if undo_killed(repository, &worktree)? == Killed::Nothing {
            return Ok((lock, worktree));
        }
        Ok((lock, Self::load(repository, name)?))
    }

    /// Loads the named worktrees, each once, or the current one, and takes their locks: in the
    /// order of the names, so that two commands for the same ones never wait for each other.
    ///
    /// # Errors
    /// As [`Worktree::lock`] and [`Worktree::of`].
    pub fn lock_all(
        repository: &Repository,
        names: &[String],
    ) -> Result<(Vec<Self>, Vec<Lock>), Error> {
        let mut order = Vec::new();
        for worktree in Self::named(repository, names) {
            order.push(worktree?.record.name);
        }
        let mut locks = Vec::new();
        for name in order.iter().collect::<BTreeSet<_>>() {
            locks.push(Self::lock(repository, name)?.0);
        }
        // what they were may have changed while we waited
        let mut worktrees = Vec::new();
        for name in &order {
            worktrees.push(Self::load(repository, name)?);
        }
        Ok((worktrees, locks))
    }
}

/// Whether a killed command left something to undo.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Killed {
    /// Nothing.
    Nothing,
    /// Something: it is undone, or stays, which is then said.
    Something,
}

/// Undoes what a killed command left in a worktree, and says so. The lock of its name is held.
///
/// # Errors
/// Fails when the process of the journal lives, or something cannot be undone.
pub fn undo_killed(repository: &Repository, worktree: &Worktree) -> Result<Killed, Error> {
    let Some(journal) = read_left(worktree)? else {
        return Ok(Killed::Nothing);
    };
    // a git that the command had started may go on for a moment
    wait_for_gits(&worktree.record.path);
    wait_for_gits(&staging(&worktree.record.path));
    let undone = journal.undo(Undoing {
        repository: repository.home(),
        since: &journal.file(),
    });
    let name = worktree.record.name.to_string();
    let command = journal.command;
    if !undone.failed.is_empty() {
        return Err(WorktreeFault::NotUndone {
            name,
            command: command.as_str(),
            why: undone.failed.join("; "),
            exit: undone.exit.unwrap_or(ExitCode::Refused),
            journal: journal.directory().to_owned(),
        }
        .into());
    }
    let killed = format!(
        "the last `{}` of worktree `{name}` was killed",
        command.as_str()
    );
    repository.waiting.log.tell(&match first_left(&undone) {
        None => format!("{killed}: {}", command.undone()),
        Some(why) => format!("{killed}, and what it changed stays: {why}"),
    });
    Ok(Killed::Something)
}

/// Reads the journal of a command that was killed in a worktree; none where there is nothing to
/// undo.
fn read_left(worktree: &Worktree) -> Result<Option<StepJournal>, Error> {
    let directory = journal::directory(&worktree.dir);
    match StepJournal::read(directory.clone())? {
        ReadJournal::Nothing => {
            // killed while it began the journal, or removed it
            files::remove_directory(&directory)?;
            Ok(None)
        }
        ReadJournal::OfLiving(process) => {
            let name = worktree.record.name.to_string();
            Err(WorktreeFault::AtWork { name, process }.into())
        }
        ReadJournal::Left(journal) if journal.command == JournaledCommand::Add => {
            // the record is whole: the `add` was killed after its last step
            journal.end();
            Ok(None)
        }
        ReadJournal::Left(journal) => Ok(Some(journal)),
    }
}

/// Returns why something is not undone, if anything is not.
fn first_left(undone: &Undone) -> Option<&String> {
    undone.stays.first().or(undone.waits.first())
}
