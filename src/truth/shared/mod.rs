//! Looks at what a worktree shares with others: hooks, settings, refs and worktrees.
//!
//! What the worktree's own journal shows was done from there, and what makes git run a program or
//! hides something, is told apart from what nothing attributes ([`Cause`]).

mod hooks;
mod refs;
mod settings;

use crate::change::{Cause, SharedChange};
use crate::git::GitMode;
use crate::git::hooks::journal::Journal;
use crate::worktree::repository::Repository;
use crate::worktree::{Main, Shared, VERSION, Worktree, WorktreeError};

/// Records what a worktree shares with others now.
///
/// # Errors
/// Fails when git or the disk does.
pub fn take(repository: &Repository) -> Result<Shared, WorktreeError> {
    Ok(Shared {
        version: VERSION,
        hooks: hooks::all(repository)?,
        settings: settings::all(repository)?,
    })
}

/// Finds what is not as it was recorded, and by whom, as far as that can be told.
///
/// # Errors
/// Fails when git or the disk does, or the record is damaged.
pub fn changes(
    repository: &Repository,
    known: &Worktree,
    journal: &Journal,
    made_here: &refs::MadeHere<'_>,
) -> Result<Vec<SharedChange>, WorktreeError> {
    let recorded = known.shared()?;
    let mut all = hooks::changes(repository, &recorded.hooks)?;
    let now = settings::all(repository)?;
    all.extend(settings::changes(&now, &recorded.settings));
    let git = repository.git.with_mode(GitMode::Hardened);
    all.extend(refs::changes(&git, known, journal, made_here)?);
    all.extend(refs::worktrees(repository, known, journal)?);
    Ok(all)
}

/// Lists the remotes that lead elsewhere than at `add`, by name; an empty one stands for all.
///
/// # Errors
/// Fails when git does, or the record is damaged.
pub fn rewired_remotes(
    repository: &Repository,
    known: &Worktree,
) -> Result<Vec<String>, WorktreeError> {
    let recorded = known.shared()?;
    Ok(settings::rewired(
        &settings::all(repository)?,
        &recorded.settings,
    ))
}

/// Counts the files of the main worktree that are not as committed, by git's own status. None where
/// there is no main worktree, and where a setting that runs a program was changed since one of these
/// worktrees was created: git's status could start that program.
///
/// # Errors
/// Fails when git does, or a record is damaged.
pub fn main_changed(
    repository: &Repository,
    all: &[&Worktree],
) -> Result<Option<usize>, WorktreeError> {
    if all.is_empty() || repository.main == Main::Bare || repository.is_clone() {
        return Ok(None);
    }
    let now = settings::all(repository)?;
    for known in all {
        let recorded = known.shared()?.settings;
        if settings::changes(&now, &recorded)
            .iter()
            .any(|one| one.cause == Cause::RunsCode)
        {
            return Ok(None);
        }
    }
    Ok(Some(repository.git.status_paths()?.len()))
}

pub use refs::MadeHere;

/// Makes a change beside the worktree.
fn shared(change: crate::change::Change, cause: Cause) -> SharedChange {
    SharedChange { change, cause }
}
