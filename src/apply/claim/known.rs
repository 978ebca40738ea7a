//! Reads and keeps what is known of a claim between two calls, and who claims.

use std::time::Duration;

use camino::Utf8PathBuf;

use super::{Claims, How, LONGEST, failure};
use crate::claim::{Claim, ClaimError, ClaimFailure, ClaimState, Decision, Lease, Own, Who};
use crate::disk::files;
use crate::error::Error;
use crate::facts::{Environment, Repository};
use crate::git::GitError;
use crate::name::{CommitId, WorktreeName};
use crate::process;
use crate::worktree::{HeldClaim, from_text, to_text};

/// How long a server is given for one answer, unless `AGENTWT_CLAIM_TIMEOUT` says otherwise.
const LIMIT: Duration = Duration::from_secs(60);

/// How long a server is given for one answer.
///
/// # Errors
/// Refuses a variable that is no time.
pub fn limit(environment: &Environment) -> Result<Duration, Error> {
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
pub fn who(repository: &Repository, owner: Option<&str>, pid: Option<u32>) -> Result<Who, Error> {
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
    environment: &Environment,
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
    /// What is ours from now on: what was, or something new.
    pub(super) fn own(&self, before: Option<Own>, how: &How, who: &Who) -> Own {
        let before =
            before.filter(|own| matches!(how, How::Again) && own.remote == self.remote.name);
        match before {
            Some(own) => Own {
                who: who.clone(),
                ..own
            },
            None => Own {
                remote: self.remote.name.clone(),
                who: who.clone(),
                holding: process::nonce(),
                since: now(Duration::ZERO),
                commit: None,
            },
        }
    }

    /// Writes the commit that says so.
    pub(super) fn write(&self, own: &Own, lease: Lease) -> Result<CommitId, Error> {
        let claim = Claim {
            name: self.name.clone(),
            who: own.who.clone(),
            since: own.since.clone(),
            renewed: now(Duration::ZERO),
            expires: now(lease.duration()),
            lease,
            holding: own.holding.clone(),
            nonce: process::nonce(),
        };
        Ok(self.git.commit_nothing(&claim.to_message())?)
    }

    /// What a commit that was fetched says; none when it was not what was fetched.
    pub(super) fn read(
        &self,
        commit: &CommitId,
    ) -> Result<Option<Result<Box<Claim>, ClaimError>>, Error> {
        let raw = self.git.short_commit(commit, LONGEST)?;
        let claim = |raw: Vec<u8>| match Claim::from_commit(&raw) {
            Ok(claim) if claim.name == self.name => Ok(Box::new(claim)),
            Ok(claim) => Err(ClaimError::Damaged(format!("it is on `{}`", claim.name))),
            Err(error) => Err(error),
        };
        Ok(raw.map(claim))
    }

    /// Why a claim is not ours.
    pub(super) fn lost(&self, doing: &'static str, decision: Decision) -> Error {
        failure(self.failure_of(doing, decision))
    }

    pub(super) fn failure_of(&self, doing: &'static str, decision: Decision) -> ClaimFailure {
        let (name, remote) = (self.name.to_string(), self.remote.name.clone());
        match decision {
            Decision::Wait { claim, left, .. } => ClaimFailure::Held {
                doing,
                name,
                remote,
                claim,
                left,
            },
            Decision::TakeOver(_, claim) | Decision::GoOn(_, claim) => ClaimFailure::Held {
                doing,
                name,
                remote,
                claim,
                left: Duration::ZERO,
            },
            Decision::Leave(commit, why) => ClaimFailure::Unreadable {
                doing,
                name,
                remote,
                commit: commit.to_string(),
                why,
            },
            Decision::Take => self.gone(),
        }
    }

    pub(super) fn gone(&self) -> ClaimFailure {
        ClaimFailure::Gone {
            name: self.name.to_string(),
            remote: self.remote.name.clone(),
        }
    }

    /// Why it did not come about in the end: what the server or the connection said last.
    pub(super) fn failed(&self, doing: &'static str, last: Option<(String, bool)>) -> Error {
        let (name, remote) = (self.name.to_string(), self.remote.name.clone());
        let (words, refused) =
            last.unwrap_or_else(|| ("others were quicker each time".to_owned(), true));
        failure(if refused {
            ClaimFailure::Refused {
                doing,
                name,
                remote,
                words,
            }
        } else {
            ClaimFailure::Unreachable {
                doing,
                name,
                remote,
                words,
            }
        })
    }

    pub(super) fn unreachable(&self, doing: &'static str, error: &GitError) -> Error {
        let words = match error {
            GitError::Failed { words, .. } => words.lines().next().unwrap_or_default().to_owned(),
            GitError::Missing(_)
            | GitError::NoDirectory { .. }
            | GitError::TooOld { .. }
            | GitError::Output { .. }
            | GitError::Read { .. }
            | GitError::Write { .. }
            | GitError::Hook { .. }
            | GitError::TimedOut { .. }
            | GitError::NoRepository { .. } => error.to_string(),
        };
        failure(ClaimFailure::Unreachable {
            doing,
            name: self.name.to_string(),
            remote: self.remote.name.clone(),
            words,
        })
    }

    pub(super) fn directory(&self) -> Utf8PathBuf {
        self.repository.common_dir.join("agentwt/claims")
    }

    fn file(&self) -> Utf8PathBuf {
        self.directory().join(format!("{}.toml", self.name))
    }

    /// What is known; nothing where that cannot be read, which only costs time.
    pub(super) fn load(&self) -> ClaimState {
        let bytes = files::read(&self.file()).ok().flatten();
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        text.and_then(|text| from_text(&text).ok())
            .unwrap_or_default()
    }

    pub(super) fn store(&self, state: &ClaimState) -> Result<(), Error> {
        let file = self.file();
        if state.is_empty() {
            files::remove_file(&file)?;
            files::remove_if_empty(&self.directory());
            return Ok(());
        }
        Ok(files::write(&file, to_text(state).as_bytes())?)
    }
}

/// The present, so much later, RFC 3339 in UTC, in whole seconds: for people.
fn now(later: Duration) -> String {
    let now = jiff::Timestamp::now();
    let then = now.checked_add(later).unwrap_or(now);
    let whole = jiff::Timestamp::from_second(then.as_second()).unwrap_or(then);
    whole.to_string()
}
