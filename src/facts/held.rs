//! Reads who works in a worktree, and what keeps it.

use super::owner::alive;
use crate::config::Strategy;
use crate::disk::files;
use crate::worktree::{Alive, HeldClaim, Owner, Record};

/// Holds what is known of who has a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Held {
    /// What its directory is.
    pub strategy: Strategy,
    /// Who works there, if anybody said, and whether that one is alive.
    pub owner: Option<(Owner, Alive)>,
    /// What is held of it on a server.
    pub claim: Option<HeldClaim>,
    /// Why it is locked, if it is (`git worktree lock`): perhaps nobody said why. A repository of
    /// its own cannot be.
    pub locked: Option<String>,
}

impl Held {
    /// Reads it.
    #[must_use]
    pub fn of(record: &Record) -> Self {
        let locked = match record.strategy {
            // gitrepository-layout(5), `worktrees/<id>/locked`
            Strategy::Worktree => files::read(&record.admin_dir.join("locked")).ok().flatten(),
            Strategy::Clone => None,
        };
        Self {
            strategy: record.strategy,
            owner: record.owner.clone().map(|owner| {
                let alive = alive(&owner);
                (owner, alive)
            }),
            claim: record.claim.clone(),
            locked: locked.map(|why| String::from_utf8_lossy(why.trim_ascii()).into_owned()),
        }
    }
}
