//! Claims a name on a server for `add`: before anything is made, and gives it back when making
//! fails.

use std::cell::RefCell;

use super::super::Session;
use crate::claim::{ClaimFailure, Lease, Who};
use crate::cli::ClaimOptions;
use crate::disk::files;
use crate::error::Error;
use crate::facts::{Repository, Worktree};
use crate::name::WorktreeName;
use crate::path::escape_for_terminal;
use crate::worktree::claims::{self, ClaimAnswer, ClaimOrigin, Claims, ClaimsError, TakenClaim};
use crate::worktree::{HeldClaim, to_text};

/// Holds the claim that was taken, if one was asked for: one for all attempts.
pub(super) struct Claiming<'a> {
    session: &'a Session,
    name: &'a WorktreeName,
    options: &'a crate::cli::Add,
    taken: RefCell<Option<(Claims, TakenClaim)>>,
}

impl<'a> Claiming<'a> {
    /// Starts with nothing.
    pub fn nothing(
        session: &'a Session,
        name: &'a WorktreeName,
        options: &'a crate::cli::Add,
    ) -> Self {
        Self {
            session,
            name,
            options,
            taken: RefCell::new(None),
        }
    }

    /// Takes the claim that was asked for, unless an earlier attempt has; for `-n` it is only
    /// looked.
    pub fn take(&self, repository: &Repository) -> Result<(), Error> {
        let options = self.options;
        let Some(remote) = &options.claims.claim else {
            return Ok(());
        };
        if self.taken.borrow().is_some() {
            return Ok(());
        }
        let limit = claims::limit(&self.session.environment)?;
        let claims = Claims::at(repository, self.name, remote, limit)?;
        let who = who(repository, options)?;
        if options.dry_run {
            return Ok(claims.look(&who)?);
        }
        let taken = claims.take(&who, lease(&options.claims))?;
        self.taken.replace(Some((claims, taken)));
        self.session.check()
    }

    /// What goes into the record.
    pub fn held(&self) -> Option<HeldClaim> {
        let taken = self.taken.borrow();
        taken.as_ref().map(|(_, taken)| taken.held.clone())
    }

    /// Asks whether it is still ours: as the owner's probe, before a retry.
    pub fn ask(&self) -> Option<ClaimAnswer> {
        let taken = self.taken.borrow();
        let (claims, taken) = taken.as_ref()?;
        Some(claims.ask(&taken.held))
    }

    /// What the user should know of it.
    pub fn note(&self) -> Option<String> {
        let taken = self.taken.borrow();
        taken.as_ref().map(|(_, taken)| note(self.name, taken))
    }

    /// Gives the claim back when all attempts have failed.
    pub fn or_back<T>(self, made: Result<T, Error>) -> Result<T, Error> {
        made.map_err(|error| match self.taken.into_inner() {
            None => error,
            Some((claims, taken)) => {
                let left = claims.release(&taken.held).err();
                error.leaving(
                    left.map(|why| left_there(&taken.held, &why))
                        .into_iter()
                        .collect(),
                )
            }
        })
    }
}

fn left_there(held: &HeldClaim, why: &ClaimsError) -> String {
    let (remote, lease) = (&held.remote, held.lease);
    format!("the claim at {remote}, which ends after {lease} s ({why})")
}

/// In whose name is claimed: `--owner` and `--owner-pid`.
fn who(repository: &Repository, options: &crate::cli::Add) -> Result<Who, Error> {
    let programs = &options.programs;
    let (owner, pid) = (programs.owner.as_deref(), programs.owner_pid);
    Ok(claims::who(repository, owner, pid)?)
}

/// Claims what is there already, or renews the claim, and writes the record; what to tell.
pub(super) fn of_kept(
    session: &Session,
    repository: &Repository,
    known: &Worktree,
    options: &crate::cli::Add,
) -> Result<Option<String>, Error> {
    let name = &known.record.name;
    let Some(remote) = &options.claims.claim else {
        return Ok(None);
    };
    let elsewhere = known.record.claim.as_ref();
    if let Some(held) = elsewhere.filter(|held| held.remote != *remote) {
        return Err(Error::Claim(Box::new(ClaimFailure::Elsewhere {
            name: name.to_string(),
            remote: remote.clone(),
            held_at: held.remote.clone(),
        })));
    }
    let limit = claims::limit(&session.environment)?;
    let claims = Claims::at(repository, name, remote, limit)?;
    let who = who(repository, options)?;
    if options.dry_run {
        claims.look(&who)?;
        return Ok(None);
    }
    let taken = claims.take(&who, lease(&options.claims))?;
    let mut record = known.record.clone();
    record.claim = Some(taken.held.clone());
    files::write(&known.dir.join("record.toml"), to_text(&record).as_bytes())?;
    Ok(Some(note(name, &taken)))
}

fn lease(options: &ClaimOptions) -> Lease {
    options.lease.unwrap_or(Lease::DEFAULT)
}

fn note(name: &WorktreeName, taken: &TakenClaim) -> String {
    let held = &taken.held;
    let lease = Lease::of_seconds(held.lease).unwrap_or(Lease::DEFAULT);
    let how = match &taken.how {
        ClaimOrigin::New | ClaimOrigin::Again => String::new(),
        ClaimOrigin::TakenOver(claim) => format!(
            "; it was taken over from `{}`, whose claim had not changed for its lease",
            escape_for_terminal(claim.who.owner.as_bytes())
        ),
    };
    format!(
        "claimed at {} for {lease}{how}; renew it in time: git agentwt renew {name}",
        held.remote
    )
}
