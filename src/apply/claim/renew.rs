//! Renews a claim: with one push, as long as nothing has come between.

use super::{Claims, Swapped, TRIES, failure, pause};
use crate::claim::{ClaimFailure, Decision, Lease, Own, Standing, Who, decide};
use crate::disk::files::Lock;
use crate::error::Error;
use crate::name::CommitId;
use crate::process;
use crate::worktree::HeldClaim;

/// Says what a renewal changes besides the time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Renewal {
    /// In whose name it is renewed, if anybody said: it must be the owner's.
    pub owner: Option<String>,
    /// The owner's process from now on.
    pub pid: Option<u32>,
    /// For how long from now on.
    pub lease: Option<Lease>,
}

impl Claims {
    /// Renews a claim of ours.
    ///
    /// # Errors
    /// Fails when it is not ours any more, is another owner's, or the server cannot be asked or
    /// refuses.
    pub fn renew(&self, held: &HeldClaim, renewal: &Renewal) -> Result<(HeldClaim, Who), Error> {
        let _alone = Lock::wait(&self.lock())?;
        let mut state = self.load();
        let known = state.own.clone().filter(|own| own.remote == held.remote);
        let own = match known {
            Some(own) => own,
            None => self.as_it_stands(held)?,
        };
        let own = self.renewed(own, renewal)?;
        let lease = renewal.lease.or(Lease::of_seconds(held.lease));
        let lease = lease.unwrap_or(Lease::DEFAULT);
        let mut expected = own.commit.clone().unwrap_or_else(|| held.commit.clone());
        let mut last = None;
        for _ in 0..TRIES {
            let commit = self.write(&own, lease)?;
            match self.swap("renew the claim on", Some(&commit), Some(&expected))? {
                Swapped::Done => {
                    let who = own.who.clone();
                    return Ok((self.keep(&mut state, own, commit, lease)?, who));
                }
                Swapped::Not { words, refused } => last = Some((words, refused)),
                Swapped::Changed => {
                    last = None;
                    expected = self.still_ours(&own)?;
                }
            }
            pause();
        }
        Err(self.failed("renew the claim on", last))
    }

    /// Looks whether it could be renewed, and changes nothing.
    ///
    /// # Errors
    /// As [`Claims::renew`].
    pub fn look_to_renew(&self, held: &HeldClaim, renewal: &Renewal) -> Result<Who, Error> {
        let known = self.load().own.filter(|own| own.remote == held.remote);
        let own = match known {
            Some(own) => own,
            None => self.as_it_stands(held)?,
        };
        let own = self.renewed(own, renewal)?;
        self.still_ours(&own)?;
        Ok(own.who)
    }

    /// The owner's, and what it changes.
    fn renewed(&self, own: Own, renewal: &Renewal) -> Result<Own, Error> {
        if let Some(asked) = renewal.owner.as_ref().filter(|o| **o != own.who.owner) {
            return Err(failure(ClaimFailure::AnotherOwner {
                name: self.name.to_string(),
                asked: asked.clone(),
                owner: own.who.owner,
            }));
        }
        let Some(pid) = renewal.pid else {
            return Ok(own);
        };
        let started = process::started(pid);
        let started = started.ok_or_else(|| failure(ClaimFailure::NoSuchProcess { pid }))?;
        let who = Who {
            host: process::host(),
            pid,
            started,
            ..own.who
        };
        Ok(Own { who, ..own })
    }

    /// Its commit, where a renewal was killed before it could be kept.
    fn still_ours(&self, own: &Own) -> Result<CommitId, Error> {
        let doing = "renew the claim on";
        let standing = self.standing(doing)?;
        match decide(standing, Some(own), None, &process::reading()) {
            Decision::GoOn(commit, _) => Ok(commit),
            no @ (Decision::Take
            | Decision::TakeOver(..)
            | Decision::Wait { .. }
            | Decision::Leave(..)) => Err(self.lost(doing, no)),
        }
    }

    /// By the record alone, where what was known besides is gone: ours is what it names.
    fn as_it_stands(&self, held: &HeldClaim) -> Result<Own, Error> {
        let doing = "renew the claim on";
        match self.standing(doing)? {
            Standing::Claimed {
                commit,
                claim: Ok(claim),
            } if commit == held.commit => Ok(Own {
                remote: held.remote.clone(),
                who: claim.who,
                holding: claim.holding,
                since: claim.since,
                commit: Some(commit),
            }),
            other @ (Standing::Claimed { .. } | Standing::Free) => {
                let decision = decide(other, None, None, &process::reading());
                Err(self.lost(doing, decision))
            }
        }
    }
}
