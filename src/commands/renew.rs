//! `git agentwt renew`: renews the claim on a worktree, or its owner.

use clap::Args;
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::Answer;
use crate::answer::text::Text;
use crate::answer::worktree::OwnerState;
use crate::arguments::output::AnswerOutput;
use crate::commands::{Outcome, Session};
use crate::disk::lock::Lock;
use crate::record::claim::{Lease, Who};
use crate::record::worktree::{Alive, HeldClaim, Owner, OwnerProcess};
use crate::system::users;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::words::path::escape_for_terminal;
use crate::words::text::would;
use crate::worktree::claims::{Claims, Renewal, started};
use crate::worktree::error::ClaimError;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Renew the claim on a worktree, or record that its owner is alive
///
/// Renews the claim of `git agentwt add --claim` for another lease. If the claim is
/// lost, the command exits with 8 and names the new owner: stop the work there. A scheduler calls
/// this command in a loop. In a worktree without a claim, it renews the owner in the record.
#[derive(Args, Debug, Default)]
pub struct Renew {
    /// The worktree [default: the current worktree]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// How long the claim lasts from now on [default: as before]
    #[arg(long, value_name = "duration", value_parser = Lease::parse)]
    pub lease: Option<Lease>,
    /// Renew only for this owner
    ///
    /// If the claim has another owner, the command exits with 8. In a worktree without a claim, this
    /// owner is recorded, unless another one is recorded that may be alive (exit 8).
    #[arg(long, value_name = "id", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub owner: Option<String>,
    /// Record another process as the owner's process
    #[arg(long, value_name = "pid")]
    pub owner_pid: Option<u32>,
    /// Print whether a renewal would succeed, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

impl Renew {
    fn renewal(&self) -> Renewal {
        Renewal {
            lease: self.lease,
            owner: self.owner.clone(),
            owner_pid: self.owner_pid,
            dry_run: self.dry_run,
        }
    }
}

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
    pub owner: Option<OwnerState>,
}

/// A claim and its holder.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RenewedClaim {
    /// The claim.
    #[serde(flatten)]
    pub claim: HeldClaim,
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
        let done = would(self.dry_run, "renewed", "would renew");
        let name = text.paint.name(&self.name);
        if let Some(RenewedClaim { claim, owner, .. }) = &self.claim {
            let holder = escape_for_terminal(owner.as_bytes());
            let HeldClaim { remote, lease, .. } = claim;
            text.tell(format!(
                "{done} the claim of `{holder}` on {name} at {remote} for {lease}"
            ));
        } else if let Some(owner) = &self.owner {
            let id = escape_for_terminal(owner.id.as_bytes());
            text.tell(format!("{done} `{id}` as the owner of {name}"));
        }
    }
}

/// Renews the claim of a worktree; without a claim, its owner.
///
/// # Errors
/// Fails when another owner has it, there is nothing to renew, or the server or the disk fails.
pub fn run(session: &Session, options: &Renew) -> Result<Outcome<RenewAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let worktree = Worktree::of(&repository, options.name.as_deref())?;
    if !options.dry_run {
        session.require_own(&repository, &worktree.record.name)?;
    }
    let mut renewed_claim = None;
    let owner = match &worktree.record.claim {
        None => Some(renew_owner(&repository, &worktree.record.name, options)?),
        Some(held) => {
            let (claim, owner) = renew_claim(session, &repository, &worktree, held, options)?;
            renewed_claim = Some(claim);
            owner
        }
    };
    Ok(Outcome::done(RenewAnswer {
        name: worktree.record.name.to_string(),
        dry_run: options.dry_run,
        claim: renewed_claim,
        owner: owner.map(|owner| OwnerState::new(&owner)),
    }))
}

/// Renews a claim on its server, then in the record. Returns it with the owner that is recorded.
fn renew_claim(
    session: &Session,
    repository: &Repository,
    worktree: &Worktree,
    held: &HeldClaim,
    options: &Renew,
) -> Result<(RenewedClaim, Option<Owner>), Error> {
    let name = &worktree.record.name;
    let claims = Claims::at(repository, name, &held.remote, &session.environment)?;
    let (claim, who) = claims.renew(held, &options.renewal())?;
    let renewed = RenewedClaim {
        claim: claim.clone(),
        owner: who.owner.clone(),
        host: who.host.clone(),
        pid: who.pid,
    };
    let recorded_owner = if options.dry_run {
        worktree.record.owner.clone()
    } else {
        record_claim(repository, worktree, claim, who)?
    };
    Ok((renewed, recorded_owner))
}

/// Writes a claim that its server has renewed into the record, unless another command works on the
/// worktree. It does not wait for that command: a lease must not end because a long `sync` has the
/// lock. Where nothing is written, the next renewal recognizes the claim without the record.
/// Returns the owner that is recorded.
fn record_claim(
    repository: &Repository,
    worktree: &Worktree,
    claim: HeldClaim,
    who: Who,
) -> Result<Option<Owner>, Error> {
    let name = &worktree.record.name;
    let Some(_lock) = Lock::if_free(&repository.name_lock(name))? else {
        return Ok(worktree.record.owner.clone());
    };
    let locked = Worktree::load(repository, name)?;
    if locked.unfinished_command().is_some() {
        // that command was killed, and its undo may write the former record back
        return Ok(worktree.record.owner.clone());
    }
    let mut record = locked.record;
    record.claim = Some(claim);
    if let Some(owner) = &mut record.owner
        && owner.id == who.owner
    {
        owner.host = who.host;
        owner.process = Some(OwnerProcess {
            pid: who.pid,
            started: who.started,
        });
    }
    worktree.write_record(&record)?;
    Ok(record.owner)
}

/// Renews the owner in the record, under the lock of the name.
fn renew_owner(
    repository: &Repository,
    name: &WorktreeName,
    options: &Renew,
) -> Result<Owner, Error> {
    let (_lock, mut worktree) = Worktree::lock(repository, name)?;
    let recorded = worktree.record.owner.take();
    let mut renewed = next_owner(name, options.owner.as_ref(), recorded)?;
    if let Some(pid) = options.owner_pid {
        renewed.host = users::host();
        renewed.process = Some(OwnerProcess {
            pid,
            started: started(pid)?,
        });
    }
    worktree.record.owner = Some(renewed.clone());
    if !options.dry_run {
        worktree.write_record(&worktree.record)?;
    }
    Ok(renewed)
}

/// The owner to renew: the recorded one if no other was asked for; else the one that was asked for.
///
/// # Errors
/// Fails when none is asked for and none is recorded, or when another one is recorded that may be
/// alive.
fn next_owner(
    name: &WorktreeName,
    asked: Option<&String>,
    recorded: Option<Owner>,
) -> Result<Owner, Error> {
    let name = name.clone();
    let Some(asked) = asked else {
        return recorded.ok_or_else(|| ClaimError::NothingToRenew { name }.into());
    };
    if let Some(recorded) = recorded {
        if recorded.id == *asked {
            return Ok(recorded);
        }
        if recorded.alive() != Alive::No {
            return Err(Error::from(ClaimError::AnotherOwner {
                name,
                asked: asked.clone(),
                owner: recorded.id,
            }));
        }
    }
    Ok(Owner {
        id: asked.clone(),
        host: users::host(),
        process: None,
        since: Session::now(),
    })
}
