//! Finds out whether an owner is alive, and who asks to be one.

use crate::cli::ProgramOptions;
use crate::plan::owner::{Other, OwnerFacts};
use crate::plan::refusal::Refusal;
use crate::process;
use crate::worktree::Worktree;
use crate::worktree::{Alive, Owner, OwnerProcess};

/// Whether an owner is alive: only a process on this host can be looked at.
#[must_use]
pub fn alive(owner: &Owner) -> Alive {
    match &owner.process {
        Some(known) if owner.host == process::host() => {
            if process::is_alive(known.pid, &known.started) {
                Alive::Yes
            } else {
                Alive::No
            }
        }
        Some(_) | None => Alive::Unknown,
    }
}

/// The owner of this id from now on, with the process that it named; none when that process does
/// not run.
#[must_use]
pub fn owner(id: &str, pid: Option<u32>, since: String) -> Option<Owner> {
    let process = match pid {
        Some(pid) => Some(OwnerProcess {
            pid,
            started: process::started(pid)?,
        }),
        None => None,
    };
    Some(Owner {
        id: id.to_owned(),
        host: process::host(),
        process,
        since,
    })
}

/// Reads who owns a worktree, if it is there, and who asks for it; `now` is RFC 3339 in UTC.
///
/// # Errors
/// Refuses an owner whose process does not run.
pub fn read(
    options: &ProgramOptions,
    known: Option<&Worktree>,
    now: String,
) -> Result<OwnerFacts, Refusal> {
    let asked = match (&options.owner, options.owner_pid) {
        (None, _) => None,
        (Some(id), pid) => match (owner(id, pid, now), pid) {
            (None, Some(pid)) => return Err(Refusal::NoSuchProcess { pid }),
            (asked, _) => asked,
        },
    };
    let recorded = known.and_then(|known| known.record.owner.clone());
    let recorded = recorded.map(|owner| {
        let alive = alive(&owner);
        (owner, alive)
    });
    Ok(OwnerFacts {
        inside: known
            .filter(|_| asked.is_some())
            .map_or_else(Vec::new, |known| inside(known, options)),
        asked,
        other: if options.take_over {
            Other::GivesWay
        } else {
            Other::Stays
        },
        recorded,
    })
}

/// The processes that work in a worktree: without those that started us, and the one that asks.
fn inside(known: &Worktree, options: &ProgramOptions) -> Vec<u32> {
    let ours = process::ancestors();
    let found = process::inside(&known.record.path).unwrap_or_default();
    let pids = found.into_iter().map(|one| one.pid);
    pids.filter(|pid| options.owner_pid != Some(*pid) && !ours.contains(pid))
        .collect()
}
