//! Holds who works in a worktree, and what is held of it on a server.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::claim::Lease;
use crate::name::CommitId;
use crate::process;

/// Names who works in a worktree: what `add --owner` said.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Owner {
    /// The name it goes by: the scheduler's own word.
    pub id: String,
    /// The host it runs on.
    pub host: String,
    /// Its process there, if it named one: what tells whether it is alive.
    pub process: Option<OwnerProcess>,
    /// Since when, RFC 3339 in UTC.
    pub since: String,
}

/// Names one process for ever: its number, which the system gives out again, with what only this
/// one has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OwnerProcess {
    /// Its number.
    pub pid: u32,
    /// When it started, in the system's own words: equal for the same process only.
    pub started: String,
}

/// Holds what a claim on a server was when we last wrote it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct HeldClaim {
    /// The remote, as the user named it.
    pub remote: String,
    /// The commit that `refs/agentwt/claims/<name>` named there.
    pub commit: CommitId,
    /// How long it counts without a change.
    pub lease: Lease,
}

/// Says whether an owner is alive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alive {
    /// Its process runs on this host.
    Yes,
    /// Its process has ended.
    No,
    /// It named no process, or is on another host.
    Unknown,
}

/// For people: `` `scheduler-3` (process 4711 on host-1, since 2026-11-21T10:00:00Z) ``.
impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let escape = |text: &str| crate::path::escape_for_terminal(text.as_bytes());
        write!(f, "`{}` (", escape(&self.id))?;
        if let Some(process) = &self.process {
            write!(f, "process {} ", process.pid)?;
        }
        write!(f, "on {}, since {})", escape(&self.host), self.since)
    }
}

impl Owner {
    /// Creates an owner with the process that was named; none when that process does not run.
    pub fn new(id: &str, pid: Option<u32>, since: String) -> Option<Self> {
        let process = match pid {
            Some(pid) => {
                let started = process::started(pid)?;
                Some(OwnerProcess { pid, started })
            }
            None => None,
        };
        Some(Self {
            id: id.to_owned(),
            host: process::host(),
            process,
            since,
        })
    }

    /// Whether the owner is alive: only a process of this host can be looked at.
    pub fn alive(&self) -> Alive {
        match &self.process {
            Some(known) if self.host == process::host() => {
                if process::is_alive(known.pid, &known.started) {
                    Alive::Yes
                } else {
                    Alive::No
                }
            }
            Some(_) | None => Alive::Unknown,
        }
    }
}
