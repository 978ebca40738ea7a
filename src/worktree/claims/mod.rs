//! Takes, renews, asks after and gives back the claim on a name at a git server: [`Claims`].
//!
//! What decides is in [`crate::claim`], what is asked of git in `git/claim.rs`; here is the order:
//! what may become ours is written down before anything is pushed, and whatever a push says, only
//! what the server shows afterwards counts. Objects go into a directory that is thrown away, so
//! the repository gets neither refs nor objects of claims.

mod server;

use std::time::Duration;

use self::server::Swapped;
use crate::claim::{
    Claim, ClaimFailure, ClaimState, Decision, Lease, Own, Seen, Standing, Who, decide, ref_of,
};
use crate::disk::DiskError;
use crate::disk::files::{Lock, Temporary};
use crate::disk::lock::{LockError, LockFile, LockOf, Patience, Waiting};
use crate::git::claim::ClaimRemote;
use crate::git::quarantine::Quarantine;
use crate::git::{Git, GitError};
use crate::name::{CommitId, WorktreeName};
use crate::process;
use crate::versioned::VERSION;
use crate::worktree::{HeldClaim, Repository};

/// How often a compare-and-swap is tried when others are in the way.
const TRIES: u32 = 6;
/// The longest commit that is read as a claim, in bytes.
const LONGEST: u64 = 32 * 1024;

/// Says why a claim was not taken, renewed or given back.
#[derive(Debug, thiserror::Error)]
pub enum ClaimsError {
    /// It is not ours, or the server says no.
    #[error(transparent)]
    Failure(Box<ClaimFailure>),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The lock of the claim was not free.
    #[error(transparent)]
    Lock(#[from] LockError),
}

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
pub struct TakenClaim {
    /// What goes into the record.
    pub held: HeldClaim,
    /// How it became ours.
    pub how: ClaimOrigin,
}

/// Says how a claim became ours.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ClaimOrigin {
    /// Nobody had it.
    New,
    /// It was ours.
    Again,
    /// Another's had stood for its whole lease.
    TakenOver(Box<Claim>),
}

/// Says whether a claim is still ours, as a probe of ownership.
#[derive(Debug)]
pub enum ClaimAnswer {
    /// It is.
    Ours,
    /// It is not.
    Lost(Box<ClaimFailure>),
    /// Nobody can say.
    Unknown(String),
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
    ) -> Result<Self, ClaimsError> {
        let found = match repository.git.claim_remote(remote)? {
            Ok(found) => found,
            Err(fault) => {
                return Err(failure(ClaimFailure::BadRemote {
                    remote: remote.to_owned(),
                    why: fault.to_string(),
                    advice: match repository.git.remotes()?.as_slice() {
                        [] => "there is no remote yet; to name one: git remote add origin <url>"
                            .to_owned(),
                        known => format!("there are: {}; see git remote -v", known.join(", ")),
                    },
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
    pub fn take(&self, who: &Who, lease: Lease) -> Result<TakenClaim, ClaimsError> {
        let _alone = Lock::wait(&self.lock())?;
        let mut state = self.load();
        let before = state.own.clone();
        let mut last = None;
        for _ in 0..TRIES {
            let (expected, how) = match self.decision(&mut state, who)? {
                Decision::Take => (None, ClaimOrigin::New),
                Decision::GoOn(commit, _) => (Some(commit), ClaimOrigin::Again),
                Decision::TakeOver(commit, claim) => (Some(commit), ClaimOrigin::TakenOver(claim)),
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
                    return Ok(TakenClaim { held, how });
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
    pub fn look(&self, who: &Who) -> Result<(), ClaimsError> {
        match self.decision(&mut self.load(), who)? {
            Decision::Take | Decision::GoOn(..) | Decision::TakeOver(..) => Ok(()),
            no @ (Decision::Wait { .. } | Decision::Leave(..)) => Err(self.lost("claim", no)),
        }
    }

    /// Asks whether a claim is still ours.
    #[must_use]
    pub fn ask(&self, held: &HeldClaim) -> ClaimAnswer {
        let own = self.load().own.filter(|own| own.remote == held.remote);
        let doing = "keep the claim on";
        let standing = match self.standing(doing) {
            Ok(standing) => standing,
            Err(error) => return ClaimAnswer::Unknown(error.to_string()),
        };
        let now = process::reading();
        match decide(standing, own.as_ref(), None, &now) {
            Decision::GoOn(..) => ClaimAnswer::Ours,
            Decision::Wait { commit, .. } if commit == held.commit => ClaimAnswer::Ours,
            Decision::Take => ClaimAnswer::Lost(Box::new(self.gone())),
            no @ (Decision::TakeOver(..) | Decision::Wait { .. } | Decision::Leave(..)) => {
                ClaimAnswer::Lost(Box::new(self.failure_of(doing, no)))
            }
        }
    }

    /// Gives the claim back; one that is not ours any more is left as it is.
    ///
    /// # Errors
    /// Fails when the server cannot be asked or refuses: the claim then expires by itself.
    pub fn release(&self, held: &HeldClaim) -> Result<(), ClaimsError> {
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
    fn ours_now(
        &self,
        doing: &'static str,
        own: Option<&Own>,
    ) -> Result<Option<CommitId>, ClaimsError> {
        Ok(match self.standing(doing)? {
            Standing::Claimed {
                commit,
                claim: Ok(claim),
            } => own.is_some_and(|own| own.made(&claim)).then_some(commit),
            Standing::Claimed { claim: Err(_), .. } | Standing::Free => None,
        })
    }

    /// What to do about what stands there; what is another's is noted with the time.
    fn decision(&self, state: &mut ClaimState, who: &Who) -> Result<Decision, ClaimsError> {
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

    /// Keeps what the server has taken.
    fn keep(
        &self,
        state: &mut ClaimState,
        own: Own,
        commit: CommitId,
        lease: Lease,
    ) -> Result<HeldClaim, ClaimsError> {
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

fn failure(failure: ClaimFailure) -> ClaimsError {
    ClaimsError::Failure(Box::new(failure))
}

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

/// How long a server is given for one answer, unless `AGENTWT_CLAIM_TIMEOUT` says otherwise.
const LIMIT: Duration = Duration::from_secs(60);

/// How long a server is given for one answer.
///
/// # Errors
/// Refuses a variable that is no time.
pub fn limit(environment: &[(String, String)]) -> Result<Duration, ClaimsError> {
    let set = environment
        .iter()
        .find(|(name, _)| name == "AGENTWT_CLAIM_TIMEOUT");
    match set {
        None => Ok(LIMIT),
        Some((_, text)) => match Lease::parse(text) {
            Ok(time) => Ok(time.duration()),
            Err(_) => Err(failure(ClaimFailure::BadTimeout { text: text.clone() })),
        },
    }
}

/// Who claims: this owner, or the repository itself (`<host>:<directory>`), so that every call from
/// here is the same one; with the process that was named, or our own.
///
/// # Errors
/// Refuses a process that does not run.
pub fn who(
    repository: &Repository,
    owner: Option<&str>,
    pid: Option<u32>,
) -> Result<Who, ClaimsError> {
    let host = process::host();
    let started = match pid {
        Some(pid) => {
            process::started(pid).ok_or_else(|| failure(ClaimFailure::NoSuchProcess { pid }))?
        }
        None => process::started(std::process::id()).unwrap_or_default(),
    };
    Ok(Who {
        owner: owner.map_or_else(|| format!("{host}:{}", repository.root), ToOwned::to_owned),
        host,
        pid: pid.unwrap_or_else(std::process::id),
        started,
    })
}

/// Gives back the claim of a worktree that is gone; what to tell when that does not work.
#[must_use]
pub fn release_or_note(
    repository: &Repository,
    name: &WorktreeName,
    held: &HeldClaim,
    environment: &[(String, String)],
) -> Option<String> {
    let release = || {
        let limit = limit(environment)?;
        Claims::at(repository, name, &held.remote, limit)?.release(held)
    };
    let error = release().err()?;
    let lease = Lease::of_seconds(held.lease).unwrap_or(Lease::DEFAULT);
    Some(format!(
        "{error}; others may take the claim over once it has stood for {lease}"
    ))
}

impl Claims {
    /// Renews a claim of ours.
    ///
    /// # Errors
    /// Fails when it is not ours any more, is another owner's, or the server cannot be asked or
    /// refuses.
    pub fn renew(
        &self,
        held: &HeldClaim,
        renewal: &Renewal,
    ) -> Result<(HeldClaim, Who), ClaimsError> {
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
    pub fn look_to_renew(&self, held: &HeldClaim, renewal: &Renewal) -> Result<Who, ClaimsError> {
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
    fn renewed(&self, own: Own, renewal: &Renewal) -> Result<Own, ClaimsError> {
        if let Some(asked) = renewal.owner.as_ref().filter(|o| **o != own.who.owner) {
            let refusal = ClaimFailure::another_owner(self.name.as_str(), asked, &own.who.owner);
            return Err(failure(refusal));
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
    fn still_ours(&self, own: &Own) -> Result<CommitId, ClaimsError> {
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
    fn as_it_stands(&self, held: &HeldClaim) -> Result<Own, ClaimsError> {
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
