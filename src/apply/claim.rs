//! Takes, renews, asks after and gives back the claim on a name at a git server: [`Claims`].
//!
//! What decides is in [`crate::claim`], what is asked of git in `git/claim.rs`; here is the order:
//! what may become ours is written down before anything is pushed, and whatever a push says, only
//! what the server shows afterwards counts. Objects go into a directory that is thrown away, so
//! the repository gets neither refs nor objects of claims.

mod known;
mod renew;

use std::time::Duration;

use crate::claim::{
    Claim, ClaimFailure, ClaimState, Decision, Lease, Own, Seen, Standing, Who, decide, ref_of,
};
use crate::disk::files::{Lock, Temporary};
use crate::disk::lock::{LockFile, LockOf, Patience, Waiting};
use crate::error::Error;
use crate::facts::Repository;
use crate::git::claim::{ClaimRemote, Pushed};
use crate::git::quarantine::Quarantine;
use crate::git::{Git, GitError};
use crate::name::{CommitId, WorktreeName};
use crate::process;
use crate::worktree::{HeldClaim, VERSION};

pub use known::{limit, release_or_note, who};
pub use renew::Renewal;

/// How often a compare-and-swap is tried when others are in the way.
const TRIES: u32 = 6;
/// The longest commit that is read as a claim, in bytes.
const LONGEST: u64 = 32 * 1024;

/// Represents the claims on one name at one remote.
pub struct Claims {
    repository: Repository,
    name: WorktreeName,
    ref_name: String,
    remote: ClaimRemote,
    git: Git,
    _objects: Temporary,
}

/// Holds a claim that was taken.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Taken {
    /// What goes into the record.
    pub held: HeldClaim,
    /// How it became ours.
    pub how: How,
}

/// Says how a claim became ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    /// Nobody had it.
    New,
    /// It was ours.
    Again,
    /// Another's had stood for its whole lease.
    TakenOver(Box<Claim>),
}

/// Says whether a claim is still ours, as a probe of ownership.
#[derive(Debug)]
pub enum Answer {
    /// It is.
    Ours,
    /// It is not.
    Lost(Box<ClaimFailure>),
    /// Nobody can say.
    Unknown(String),
}

/// Says what became of a compare-and-swap.
enum Swapped {
    /// It is done.
    Done,
    /// Nothing has changed there.
    Not {
        words: String,
        /// Whether the server said so, and not the connection.
        refused: bool,
    },
    /// Something else is there now.
    Changed,
}

impl Claims {
    /// Takes a remote by its name, for calls that each may take so long.
    ///
    /// # Errors
    /// Fails when it cannot hold claims, or git or the disk fails.
    pub fn at(
        repository: &Repository,
        name: &WorktreeName,
        remote: &str,
        limit: Duration,
    ) -> Result<Self, Error> {
        let found = match repository.git.claim_remote(remote)? {
            Ok(found) => found,
            Err(fault) => {
                return Err(failure(ClaimFailure::BadRemote {
                    remote: remote.to_owned(),
                    why: fault.to_string(),
                    known: repository.git.remotes()?,
                }));
            }
        };
        let objects = Temporary::new()?;
        let quarantine = Quarantine::apart(&repository.common_dir.join("objects"), objects.path());
        Ok(Self {
            repository: repository.clone(),
            name: name.clone(),
            ref_name: ref_of(name),
            remote: found,
            git: repository
                .git
                .with_quarantine(&quarantine)
                .with_limit(limit),
            _objects: objects,
        })
    }

    /// Takes the claim, if nobody has it, it is our own, or another's has stood for its lease.
    ///
    /// # Errors
    /// Fails when somebody has it, the server cannot be asked or refuses, or the disk does.
    pub fn take(&self, who: &Who, lease: Lease) -> Result<Taken, Error> {
        let _alone = Lock::wait(&self.lock())?;
        let mut state = self.load();
        let before = state.own.clone();
        let mut last = None;
        for _ in 0..TRIES {
            let (expected, how) = match self.decision(&mut state, who)? {
                Decision::Take => (None, How::New),
                Decision::GoOn(commit, _) => (Some(commit), How::Again),
                Decision::TakeOver(commit, claim) => (Some(commit), How::TakenOver(claim)),
                no @ (Decision::Wait { .. } | Decision::Leave(..)) => {
                    state.own = before;
                    self.store(&state)?;
                    return Err(self.lost("claim", no));
                }
            };
            let own = self.own(state.own.take(), &how, who);
            // whoever is killed from here on knows the claim again
            state.own = Some(own.clone());
            self.store(&state)?;
            let commit = self.write(&own, lease)?;
            match self.swap("claim", Some(&commit), expected.as_ref())? {
                Swapped::Done => {
                    let held = self.keep(&mut state, own, commit, lease)?;
                    return Ok(Taken { held, how });
                }
                Swapped::Changed => last = None,
                Swapped::Not { words, refused } => last = Some((words, refused)),
            }
            pause();
        }
        state.own = before;
        self.store(&state)?;
        Err(self.failed("claim", last))
    }

    /// Looks what taking it would come to, and changes nothing on the server.
    ///
    /// # Errors
    /// As [`Claims::take`].
    pub fn look(&self, who: &Who) -> Result<(), Error> {
        match self.decision(&mut self.load(), who)? {
            Decision::Take | Decision::GoOn(..) | Decision::TakeOver(..) => Ok(()),
            no @ (Decision::Wait { .. } | Decision::Leave(..)) => Err(self.lost("claim", no)),
        }
    }

    /// Asks whether a claim is still ours.
    #[must_use]
    pub fn ask(&self, held: &HeldClaim) -> Answer {
        let own = self.load().own.filter(|own| own.remote == held.remote);
        let doing = "keep the claim on";
        let standing = match self.standing(doing) {
            Ok(standing) => standing,
            Err(error) => return Answer::Unknown(error.to_string()),
        };
        let now = process::reading();
        match decide(standing, own.as_ref(), None, &now) {
            Decision::GoOn(..) => Answer::Ours,
            Decision::Wait { commit, .. } if commit == held.commit => Answer::Ours,
            Decision::Take => Answer::Lost(Box::new(self.gone())),
            Decision::TakeOver(commit, claim) => {
                let left = Duration::ZERO;
                let held = Decision::Wait {
                    commit,
                    claim,
                    left,
                };
                Answer::Lost(Box::new(self.failure_of(doing, held)))
            }
            no @ (Decision::Wait { .. } | Decision::Leave(..)) => {
                Answer::Lost(Box::new(self.failure_of(doing, no)))
            }
        }
    }

    /// Gives the claim back; one that is not ours any more is left as it is.
    ///
    /// # Errors
    /// Fails when the server cannot be asked or refuses: the claim then expires by itself.
    pub fn release(&self, held: &HeldClaim) -> Result<(), Error> {
        let _alone = Lock::wait_to_undo(&self.lock())?;
        let mut state = self.load();
        let own = state.own.clone().filter(|own| own.remote == held.remote);
        let pushed = own.as_ref().and_then(|own| own.commit.clone());
        let mut expected = pushed.unwrap_or_else(|| held.commit.clone());
        let mut last = None;
        for _ in 0..TRIES {
            match self.swap("give back", None, Some(&expected))? {
                Swapped::Done => {
                    state.own = None;
                    return self.store(&state);
                }
                Swapped::Not { words, refused } => last = Some((words, refused)),
                Swapped::Changed => {
                    last = None;
                    match self.ours_now("give back", own.as_ref())? {
                        Some(commit) => expected = commit,
                        None => {
                            state.own = None;
                            return self.store(&state);
                        }
                    }
                }
            }
            pause();
        }
        Err(self.failed("give back", last))
    }

    /// The commit that stands there now, if it is one of ours.
    fn ours_now(&self, doing: &'static str, own: Option<&Own>) -> Result<Option<CommitId>, Error> {
        Ok(match self.standing(doing)? {
            Standing::Claimed {
                commit,
                claim: Ok(claim),
            } => own.is_some_and(|own| own.made(&claim)).then_some(commit),
            Standing::Claimed { claim: Err(_), .. } | Standing::Free => None,
        })
    }

    /// What to do about what stands there; what is another's is noted with the time.
    fn decision(&self, state: &mut ClaimState, who: &Who) -> Result<Decision, Error> {
        let now = process::reading();
        let standing = self.standing("claim")?;
        let own = state
            .own
            .as_ref()
            .filter(|own| own.remote == self.remote.name && own.who.owner == who.owner);
        let seen = state.seen.as_ref();
        let seen = seen.filter(|seen| seen.remote == self.remote.name);
        let decision = decide(standing, own, seen, &now);
        if let Decision::Wait { commit, .. } = &decision {
            let is_known =
                seen.is_some_and(|seen| seen.commit == *commit && now.since(&seen.first).is_some());
            if !is_known {
                state.seen = Some(Seen {
                    remote: self.remote.name.clone(),
                    commit: commit.clone(),
                    first: process::reading(),
                });
            }
        }
        Ok(decision)
    }

    /// What stands on the server.
    fn standing(&self, doing: &'static str) -> Result<Standing, Error> {
        let unreachable = |error: GitError| self.unreachable(doing, &error);
        // between two questions a claim may be renewed or given back: then it is asked anew
        for _ in 0..TRIES {
            let found = self.git.ls_remote(&self.remote, &self.ref_name);
            let Some(commit) = found.map_err(unreachable)? else {
                return Ok(Standing::Free);
            };
            let fetched = self.git.fetch_claim(&self.remote, &self.ref_name);
            if let Err(error @ GitError::TimedOut { .. }) = fetched {
                return Err(unreachable(error));
            }
            if let Some(claim) = self.read(&commit)? {
                return Ok(Standing::Claimed { commit, claim });
            }
        }
        let found = self.git.ls_remote(&self.remote, &self.ref_name);
        let Some(commit) = found.map_err(unreachable)? else {
            return Ok(Standing::Free);
        };
        let fetched = self.git.fetch_claim(&self.remote, &self.ref_name);
        fetched.map_err(unreachable)?;
        let claim = self.read(&commit)?.unwrap_or_else(|| {
            let why = "it changes faster than it can be read, or is no short commit";
            Err(crate::claim::ClaimError::Damaged(why.to_owned()))
        });
        Ok(Standing::Claimed { commit, claim })
    }

    /// Moves the ref, and finds out what became of that when git does not say that it is done.
    fn swap(
        &self,
        doing: &'static str,
        new: Option<&CommitId>,
        expected: Option<&CommitId>,
    ) -> Result<Swapped, Error> {
        let pushed = self
            .git
            .push_claim(&self.remote, &self.ref_name, new, expected)?;
        let (words, refused) = match pushed {
            Pushed::Done => return Ok(Swapped::Done),
            Pushed::Rejected(words) => (words, true),
            Pushed::Unknown(words) => (words, false),
        };
        // a connection may have ended after the server had done it
        let found = self.git.ls_remote(&self.remote, &self.ref_name);
        let found = found.map_err(|error| self.unreachable(doing, &error))?;
        Ok(if found.as_ref() == new {
            Swapped::Done
        } else if found.as_ref() == expected {
            Swapped::Not { words, refused }
        } else {
            Swapped::Changed
        })
    }

    /// Keeps what the server has taken.
    fn keep(
        &self,
        state: &mut ClaimState,
        own: Own,
        commit: CommitId,
        lease: Lease,
    ) -> Result<HeldClaim, Error> {
        state.own = Some(Own {
            commit: Some(commit.clone()),
            ..own
        });
        state.seen = None;
        state.version = VERSION;
        self.store(state)?;
        Ok(HeldClaim {
            remote: self.remote.name.clone(),
            commit,
            lease: lease.seconds(),
        })
    }

    fn lock(&self) -> LockFile {
        LockFile {
            path: self.directory().join(format!("{}.lock", self.name)),
            of: LockOf::Name(self.name.to_string()),
            waiting: Waiting {
                patience: Patience::Wait,
                ..self.repository.waiting.clone()
            },
        }
    }
}

/// Before another try: others are at it too, so not all at the same moment.
fn pause() {
    let nonce = process::nonce();
    let spread = nonce.bytes().map(u64::from).sum::<u64>() % 60;
    std::thread::sleep(Duration::from_millis(20 + spread));
}

fn failure(failure: ClaimFailure) -> Error {
    Error::Claim(Box::new(failure))
}
