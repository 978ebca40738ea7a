//! Finds out whether an owner is alive, and writes down a new one.

use crate::process;
use crate::record::{Alive, Owner, OwnerProcess};

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
