//! Claims a name on a server for `add`, before anything is created, and gives the claim back when
//! `add` fails.

use std::cell::RefCell;

use super::super::Session;
use crate::claim::Lease;
use crate::disk::files;
use crate::error::Error;
use crate::facts::{Repository, Worktree};
use crate::name::WorktreeName;
use crate::path::escape_for_terminal;
use crate::worktree::claims::{Claims, TakenClaim, holder};
use crate::worktree::error::ClaimError;
use crate::worktree::{HeldClaim, to_text};

/// The claim for all attempts; none without `--claim`.
pub(super) struct Claiming<'a> {
    session: &'a Session,
    name: &'a WorktreeName,
    options: &'a crate::cli::Add,
    taken: RefCell<Option<(Claims, TakenClaim)>>,
}

impl<'a> Claiming<'a> {
    /// Starts without a claim.
    pub fn new(session: &'a Session, name: &'a WorktreeName, options: &'a crate::cli::Add) -> Self {
        Self {
            session,
            name,
            options,
            taken: RefCell::new(None),
        }
    }

    /// Takes the claim, unless an earlier attempt has; `-n` only checks.
    pub fn take(&self, repository: &Repository) -> Result<(), Error> {
        let (options, is_taken) = (self.options, self.taken.borrow().is_some());
        let Some(remote) = options.claims.claim.as_ref().filter(|_| !is_taken) else {
            return Ok(());
        };
        let claims = Claims::at(repository, self.name, remote, &self.session.environment)?;
        let programs = &options.programs;
        let who = holder(repository, programs.owner.as_deref(), programs.owner_pid)?;
        if options.dry_run {
            return Ok(claims.check_free(&who)?);
        }
        let taken = claims.take(&who, options.claims.lease.unwrap_or(Lease::DEFAULT))?;
        self.taken.replace(Some((claims, taken)));
        self.session.check()
    }

    /// Takes the claim for a worktree that exists, or renews it, and writes the record: from then on
    /// the claim stays whatever fails. A note about the claim.
    pub fn take_for(
        &self,
        repository: &Repository,
        known: &Worktree,
    ) -> Result<Option<String>, Error> {
        let (asked, recorded) = (&self.options.claims.claim, known.record.claim.as_ref());
        if let (Some(remote), Some(held)) = (asked, recorded)
            && held.remote != *remote
        {
            return Err(Error::from(ClaimError::Elsewhere {
                name: known.record.name.clone(),
                remote: remote.clone(),
                held_at: held.remote.clone(),
            }));
        }
        self.take(repository)?;
        let (note, Some((_, taken))) = (self.note(), self.taken.take()) else {
            return Ok(None);
        };
        let mut record = known.record.clone();
        record.claim = Some(taken.held);
        files::write(&known.dir.join("record.toml"), to_text(&record).as_bytes())?;
        Ok(note)
    }

    /// The claim for the record.
    pub fn held(&self) -> Option<HeldClaim> {
        let taken = self.taken.borrow();
        taken.as_ref().map(|(_, taken)| taken.held.clone())
    }

    /// Checks whether the claim is still ours, before a retry.
    pub fn check(&self) -> Result<(), ClaimError> {
        let taken = self.taken.borrow();
        taken
            .as_ref()
            .map_or(Ok(()), |(claims, taken)| claims.check_ours(&taken.held))
    }

    /// A note about the claim.
    pub fn note(&self) -> Option<String> {
        let taken = self.taken.borrow();
        let TakenClaim { held, taken_from } = &taken.as_ref()?.1;
        let from = taken_from.as_ref().map_or_else(String::new, |who| {
            format!(
                "; it was taken over from `{}`, whose claim had not changed for its lease",
                escape_for_terminal(who.owner.as_bytes())
            )
        });
        let (remote, lease, name) = (&held.remote, held.lease, self.name);
        Some(format!(
            "claimed at {remote} for {lease}{from}; renew it in time: git agentwt renew {name}"
        ))
    }

    /// Gives the claim back when all attempts have failed.
    pub fn or_back<T>(self, made: Result<T, Error>) -> Result<T, Error> {
        made.map_err(|error| {
            let left = self.taken.into_inner().and_then(|(claims, taken)| {
                let TakenClaim { held, .. } = taken;
                let why = claims.release(&held).err()?;
                let (remote, lease) = (held.remote, held.lease);
                Some(format!(
                    "the claim at {remote}, which ends after {lease} ({why})"
                ))
            });
            error.leaving(left.into_iter().collect())
        })
    }
}
