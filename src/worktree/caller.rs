//! Finds out whether a command was called from inside a worktree of ours, where an agent works.
//!
//! An agent changes its own worktree and nothing else (`docs/decisions/0052-who-calls.md`). This
//! keeps ordinary commands from harm, not a hostile process: against that, only a fence helps.

use camino::Utf8Path;

use crate::disk::trash_bin::TRASH;
use crate::system::processes;
use crate::system::processes::Ancestor;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::words::path::shell_word;
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::{Worktree, whole_records};
use crate::worktree::repository::{Main, Repository, WORKTREES};

/// A worktree from which a command was called.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerWorktree {
    /// Its name; the name of its directory if it has no record.
    pub name: String,
    /// The process that works there; none if the command itself was started there.
    pub process: Option<Ancestor>,
}

/// Lists the worktrees from which a command was called: the one in which the command was started,
/// and those of the processes that started the command, where the system tells.
///
/// # Errors
/// Fails when the records cannot be listed.
pub fn caller_worktrees(repository: &Repository) -> Result<Vec<CallerWorktree>, Error> {
    let records: Vec<Worktree> = whole_records(repository)?.collect();
    let mut callers = Vec::new();
    let started_in = match &repository.inside {
        Some(name) => Some(name.to_string()),
        None => worktree_of(repository, &records, &repository.start),
    };
    if let Some(name) = started_in {
        callers.push(CallerWorktree {
            name,
            process: None,
        });
    }
    // the outermost first: a shell says more to its user than the git that it started
    for process in processes::ancestor_places().into_iter().rev() {
        for place in &process.places {
            if let Some(name) = worktree_of(repository, &records, place) {
                let process = Some(process.clone());
                callers.push(CallerWorktree { name, process });
            }
        }
    }
    Ok(callers)
}

/// The name of the worktree in which a path is.
fn worktree_of(repository: &Repository, records: &[Worktree], path: &Utf8Path) -> Option<String> {
    let worktrees = repository.home().root.join(WORKTREES);
    if let Ok(below) = path.strip_prefix(&worktrees) {
        let mut parts = below.iter();
        let first = parts.next()?;
        // a shell can stand in a worktree that was removed
        let name = if first == TRASH { parts.next()? } else { first };
        return Some(name.to_owned());
    }
    records
        .iter()
        .find(|worktree| path.starts_with(&worktree.record.path))
        .map(|worktree| worktree.record.name.to_string())
}

/// Checks that a command was called from no worktree. `command` is the command line for the user.
///
/// # Errors
/// Fails inside a worktree, and when the records cannot be listed.
pub fn require_no_agent(repository: &Repository, command: &str) -> Result<(), Error> {
    match caller_worktrees(repository)?.first() {
        None => Ok(()),
        Some(caller) => Err(not_for_agents(repository, caller, command)),
    }
}

/// Checks that a command was called from no worktree but the only one that it changes. `command` is
/// the command line for the user.
///
/// # Errors
/// Fails inside another worktree, and when the records cannot be listed.
pub fn require_own(
    repository: &Repository,
    changed: &WorktreeName,
    command: &str,
) -> Result<(), Error> {
    let callers = caller_worktrees(repository)?;
    let mut others = callers
        .iter()
        .filter(|caller| caller.name != changed.as_str());
    match others.next() {
        None => Ok(()),
        Some(caller) => Err(not_for_agents(repository, caller, command)),
    }
}

fn not_for_agents(repository: &Repository, caller: &CallerWorktree, command: &str) -> Error {
    WorktreeFault::NotForAgents {
        name: caller.name.clone(),
        by: works_there(caller),
        place: place_for_user(caller),
        root: directory_for_user(repository),
        command: command.to_owned(),
    }
    .into()
}

/// Names the process that works in a worktree, as the end of a message.
pub(super) fn works_there(caller: &CallerWorktree) -> String {
    match &caller.process {
        Some(process) => format!(
            ": the process {} ({}) works there",
            process.pid, process.name
        ),
        None => String::new(),
    }
}

/// The directory in which the user can run the command that was refused, as a shell reads it: the
/// main worktree. A bare repository has none, but often a worktree of plain git, and `add` wants a
/// checkout.
pub(super) fn directory_for_user(repository: &Repository) -> String {
    if repository.main == Main::Worktree {
        return shell_word(repository.root.as_str());
    }
    let ours = repository.root.join(WORKTREES);
    let listed = repository.worktree_list().unwrap_or_default();
    let mut plain = listed
        .iter()
        .map(|entry| &entry.path)
        .filter(|path| **path != repository.common_dir && !path.starts_with(&ours));
    shell_word(plain.next().unwrap_or(&repository.common_dir).as_str())
}

/// Where the user can run the command that was refused.
pub(super) fn place_for_user(caller: &CallerWorktree) -> &'static str {
    match caller.process {
        None => "outside the worktree",
        Some(_) => "in a terminal that was not opened in the worktree",
    }
}
