//! Looks at what a worktree shares with others: hooks, settings, refs, worktrees, and the files of
//! the main worktree.
//!
//! What the worktree's own journal shows was done from there, and what makes git run a program or
//! hides something, is told apart from what nothing attributes ([`Cause`]).

mod hooks;
mod main_since;
mod main_worktree;
mod refs;
mod settings;

use crate::change::{Cause, SharedChange};
use crate::disk::scan::Walking;
use crate::git::GitMode;
use crate::git::hooks::journal::Journal;
use crate::worktree::Worktree;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;
use crate::worktree::{MainFile, MainSince, Shared, VERSION};
use main_since::{Conversions, Looked, Modes};

/// Records what is beside a worktree now.
///
/// # Errors
/// Fails when git or the disk does.
pub fn take(repository: &Repository) -> Result<Shared, WorktreeError> {
    take_beside(repository, main_worktree(repository)?)
}

/// Represents what was found in the main worktree.
pub struct MainWorktree {
    since: Option<MainSince>,
    files: Option<Vec<MainFile>>,
}

/// Looks at the main worktree: what changes there from now on counts.
///
/// # Errors
/// Fails when git or the disk does.
pub fn main_worktree(repository: &Repository) -> Result<MainWorktree, WorktreeError> {
    let (since, files) = main_worktree::take(repository)?;
    Ok(MainWorktree { since, files })
}

/// Records what is beside a worktree now, and what was found in the main one.
///
/// # Errors
/// Fails when git or the disk does.
pub fn take_beside(repository: &Repository, main: MainWorktree) -> Result<Shared, WorktreeError> {
    Ok(Shared {
        version: VERSION,
        hooks: hooks::all(repository)?,
        settings: settings::all(repository)?,
        since: main.since,
        main: main.files,
    })
}

/// Records hooks and settings anew, after a change of the user's own.
///
/// # Errors
/// Fails when git or the disk does.
pub fn accept(repository: &Repository, recorded: Shared) -> Result<Shared, WorktreeError> {
    Ok(Shared {
        hooks: hooks::all(repository)?,
        settings: settings::all(repository)?,
        ..recorded
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

/// Counts, for each of these worktrees, the files of the main worktree that changed since it began,
/// by whomever: nothing tells. Where stat data do not prove that nothing did, git's own status is
/// asked, once, which may start a filter: where a setting that runs a program was changed since,
/// nothing is asked and nothing said.
///
/// # Errors
/// Fails when git does, or a record is damaged.
pub fn main_changes(
    repository: &Repository,
    all: &[&Worktree],
) -> Result<Vec<Option<usize>>, WorktreeError> {
    let recorded: Result<Vec<Shared>, _> = all.iter().map(|known| known.shared()).collect();
    let recorded = recorded?;
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let settings = settings::all(repository)?;
    let changed = |cause: Cause| {
        let with_main = recorded.iter().filter(|shared| shared.main.is_some());
        let mut changes = with_main.flat_map(|one| settings::changes(&settings, &one.settings));
        changes.any(|one| one.cause == cause)
    };
    if changed(Cause::RunsCode) {
        return Ok(vec![None; all.len()]);
    }
    let by_stat = if changed(Cause::Hides) {
        None
    } else {
        main_since(repository, all, &recorded)?
    };
    let now = match by_stat {
        Some(now) => Some(now),
        None => main_worktree::files(repository)?,
    };
    let count = |shared: &Shared| {
        let (before, now) = (shared.main.as_ref()?, now.as_ref()?);
        Some(main_worktree::changed(repository, before, now))
    };
    Ok(recorded.iter().map(count).collect())
}

/// What is not as committed in the main worktree, as far as stat data tell it: none where they do
/// not.
fn main_since(
    repository: &Repository,
    known: &[&Worktree],
    recorded: &[Shared],
) -> Result<Option<Vec<MainFile>>, WorktreeError> {
    let with_main = || recorded.iter().filter(|shared| shared.main.is_some());
    let all: Option<Vec<&MainSince>> = with_main().map(|shared| shared.since.as_ref()).collect();
    let Some(all) = all.filter(|_| repository.walking != Walking::Full) else {
        return Ok(None);
    };
    let Some(since) = all.iter().map(|since| since.time).min() else {
        return Ok(None);
    };
    let looked = Looked {
        since,
        recorded: with_main()
            .filter_map(|shared| shared.main.as_deref())
            .collect(),
        directories: all
            .iter()
            .map(|since| since.directories.as_slice())
            .collect(),
        conversions: if known.iter().any(|known| known.record.conversions) {
            Conversions::Possible
        } else {
            Conversions::None
        },
        modes: if known.iter().all(|known| known.record.file_mode) {
            Modes::Count
        } else {
            Modes::Ignored
        },
    };
    main_since::files_since(repository, &looked)
}

pub use refs::MadeHere;

/// Makes a change beside the worktree.
fn shared(change: crate::change::Change, cause: Cause) -> SharedChange {
    SharedChange { change, cause }
}
