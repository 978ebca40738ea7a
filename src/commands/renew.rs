//! `git agentwt renew`: renews the claim on a worktree, or its owner.

use schemars::JsonSchema;
use serde::Serialize;

use super::{Outcome, Session};
use crate::answer::shapes::{ClaimField, OwnerField};
use crate::answer::{Answer, Text};
use crate::claim::{ClaimFailure, Lease, Who};
use crate::disk::files::{self, Lock};
use crate::disk::lock::{LockError, LockFile, Patience};
use crate::error::Error;
use crate::facts::{Repository, Worktree, owner};
use crate::path::escape_for_terminal;
use crate::worktree::claims::{self, Claims, Renewal};
use crate::worktree::{Alive, HeldClaim, Owner, OwnerProcess, to_text};

/// The answer of `renew`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RenewAnswer {
    /// The name of the worktree.
    pub name: String,
    /// Whether nothing was renewed (`-n`).
    pub dry_run: bool,
    /// The claim; absent if the worktree has none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claim: Option<RenewedClaim>,
    /// The owner in the record, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub owner: Option<OwnerField>,
}

/// A claim and its holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RenewedClaim {
    /// The claim.
    #[serde(flatten)]
    pub claim: ClaimField,
    /// The owner of the claim.
    pub owner: String,
    /// The host of the owner.
    pub host: String,
    /// The number of the owner's process.
    pub pid: u32,
}

impl Answer for RenewAnswer {
    const DOCUMENT: &'static str = "renew";

    fn print(&self, text: &mut Text) {
        let would = if self.dry_run {
            "would renew"
        } else {
            "renewed"
        };
        let name = text.paint.name(&self.name);
        let escape = |text: &str| escape_for_terminal(text.as_bytes());
        if let Some(RenewedClaim { claim, owner, .. }) = &self.claim {
            let lease = Lease::of_seconds(claim.lease).unwrap_or(Lease::DEFAULT);
            let (owner, remote) = (escape(owner), &claim.remote);
            text.tell(format!(
                "{would} the claim of `{owner}` on {name} at {remote} for {lease}"
            ));
        } else if let Some(owner) = &self.owner {
            text.tell(format!(
                "{would} `{}` as the owner of {name}",
                escape(&owner.id)
            ));
        }
    }
}

/// Renews the claim of a worktree, or where it has none, its owner.
///
/// # Errors
/// Fails when another has it, there is nothing to renew, or the server or the disk fails.
pub fn run(session: &Session, options: &crate::cli::Renew) -> Result<Outcome<RenewAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let known = Worktree::of(&repository, options.name.as_deref())?;
    let Some(held) = known.record.claim.clone() else {
        return owner_only(&repository, &known, options);
    };
    let name = &known.record.name;
    let limit = claims::limit(&session.environment)?;
    let claims = Claims::at(&repository, name, &held.remote, limit)?;
    let renewal = Renewal {
        owner: options.owner.clone(),
        pid: options.owner_pid,
        lease: options.lease,
    };
    let (held, who) = if options.dry_run {
        let who = claims.look_to_renew(&held, &renewal)?;
        (held, who)
    } else {
        claims.renew(&held, &renewal)?
    };
    let owner = if options.dry_run {
        known.record.owner.clone()
    } else {
        keep(&repository, &known, &held, &who)?
    };
    let owner = owner.map(|owner| OwnerField::new(&owner, owner::alive(&owner)));
    Ok(Outcome::done(RenewAnswer {
        name: name.to_string(),
        dry_run: options.dry_run,
        claim: Some(RenewedClaim {
            claim: ClaimField::from(&held),
            owner: who.owner,
            host: who.host,
            pid: who.pid,
        }),
        owner,
    }))
}

/// Writes the record, unless somebody works on the worktree: a lease must not end because a
/// long `sync` is waited for, and the next renewal knows the claim again without it.
fn keep(
    repository: &Repository,
    known: &Worktree,
    held: &HeldClaim,
    who: &Who,
) -> Result<Option<Owner>, Error> {
    let mut lock: LockFile = repository.name_lock(&known.record.name);
    lock.waiting.patience = Patience::Refuse;
    let _name = match Lock::wait(&lock) {
        Ok(lock) => lock,
        Err(LockError::Held { .. }) => return Ok(known.record.owner.clone()),
        Err(error @ (LockError::Disk(_) | LockError::Interrupted(_))) => return Err(error.into()),
    };
    // what it is may have changed since it was read
    let mut record = Worktree::load(repository, &known.record.name)?.record;
    record.claim = Some(held.clone());
    if let Some(owner) = record.owner.as_mut().filter(|owner| owner.id == who.owner) {
        owner.host.clone_from(&who.host);
        owner.process = Some(OwnerProcess {
            pid: who.pid,
            started: who.started.clone(),
        });
    }
    files::write(&known.dir.join("record.toml"), to_text(&record).as_bytes())?;
    Ok(record.owner)
}

/// Renews the owner in the record, under the lock of the name.
fn owner_only(
    repository: &Repository,
    known: &Worktree,
    options: &crate::cli::Renew,
) -> Result<Outcome<RenewAnswer>, Error> {
    let name = known.record.name.to_string();
    let refuse = |failure| Err(Error::Claim(Box::new(failure)));
    let _name = Lock::wait(&repository.name_lock(&known.record.name))?;
    let mut record = Worktree::load(repository, &known.record.name)?.record;
    let id = match (&options.owner, &record.owner) {
        (None, None) => return refuse(ClaimFailure::NothingToRenew { name }),
        (Some(asked), Some(there)) if *asked != there.id && owner::alive(there) != Alive::No => {
            return refuse(ClaimFailure::another_owner(&name, asked, &there.id));
        }
        (Some(asked), _) => asked.clone(),
        (None, Some(there)) => there.id.clone(),
    };
    let before = record.owner.take().filter(|there| there.id == id);
    let renewed = match (before, options.owner_pid) {
        // the same process as before, or none: since when stays
        (Some(there), None) => there,
        (before, pid) => {
            let since = before.map_or_else(Session::now, |there| there.since);
            match owner::owner(&id, pid, since) {
                Some(owner) => owner,
                None => {
                    let pid = pid.unwrap_or_default();
                    return refuse(ClaimFailure::NoSuchProcess { pid });
                }
            }
        }
    };
    record.owner = Some(renewed.clone());
    if !options.dry_run {
        files::write(&known.dir.join("record.toml"), to_text(&record).as_bytes())?;
    }
    Ok(Outcome::done(RenewAnswer {
        name,
        dry_run: options.dry_run,
        claim: None,
        owner: Some(OwnerField::new(&renewed, owner::alive(&renewed))),
    }))
}
