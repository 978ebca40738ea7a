//! Reads and writes a claim at the server and what this repository knows of one.

use std::time::Duration;

use camino::Utf8PathBuf;

use super::{ClaimOrigin, Claims, ClaimsError, LONGEST, TRIES, failure};
use crate::claim::{
    Claim, ClaimError, ClaimFailure, ClaimState, Decision, Lease, Own, Standing, Who,
};
use crate::disk::files;
use crate::git::GitError;
use crate::git::claim::Pushed;
use crate::name::CommitId;
use crate::process;
use crate::versioned::{from_text, to_text};

/// Says what became of a compare-and-swap.
pub(super) enum Swapped {
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
    /// What stands on the server.
    pub(super) fn standing(&self, doing: &'static str) -> Result<Standing, ClaimsError> {
        let unreachable = |error: GitError| self.unreachable(doing, &error);
        let mut last = None;
        // between two questions a claim may be renewed or given back: then it is asked anew
        for _ in 0..=TRIES {
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
            last = Some((commit, fetched));
        }
        let Some((commit, fetched)) = last else {
            return Ok(Standing::Free);
        };
        fetched.map_err(unreachable)?;
        let why = "it changes faster than it can be read, or is no short commit";
        let claim = Err(ClaimError::Damaged(why.to_owned()));
        Ok(Standing::Claimed { commit, claim })
    }

    /// Moves the ref, and finds out what became of that when git does not say that it is done.
    pub(super) fn swap(
        &self,
        doing: &'static str,
        new: Option<&CommitId>,
        expected: Option<&CommitId>,
    ) -> Result<Swapped, ClaimsError> {
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

    /// What is ours from now on: what was, or something new.
    pub(super) fn own(&self, before: Option<Own>, how: &ClaimOrigin, who: &Who) -> Own {
        let before = before
            .filter(|own| matches!(how, ClaimOrigin::Again) && own.remote == self.remote.name);
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
    pub(super) fn write(&self, own: &Own, lease: Lease) -> Result<CommitId, ClaimsError> {
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
    ) -> Result<Option<Result<Box<Claim>, ClaimError>>, ClaimsError> {
        let raw = self.git.short_commit(commit, LONGEST)?;
        let claim = |raw: Vec<u8>| match Claim::from_commit(&raw) {
            Ok(claim) if claim.name == self.name => Ok(Box::new(claim)),
            Ok(claim) => Err(ClaimError::Damaged(format!("it is on `{}`", claim.name))),
            Err(error) => Err(error),
        };
        Ok(raw.map(claim))
    }

    /// Why a claim is not ours.
    pub(super) fn lost(&self, doing: &'static str, decision: Decision) -> ClaimsError {
        failure(self.failure_of(doing, decision))
    }

    pub(super) fn failure_of(&self, doing: &'static str, decision: Decision) -> ClaimFailure {
        let (name, remote) = (self.name.to_string(), self.remote.name.clone());
        match decision {
            Decision::Wait { claim, left, .. } => {
                ClaimFailure::held(doing, name, remote, claim, left)
            }
            Decision::TakeOver(_, claim) | Decision::GoOn(_, claim) => {
                ClaimFailure::held(doing, name, remote, claim, Duration::ZERO)
            }
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
    pub(super) fn failed(&self, doing: &'static str, last: Option<(String, bool)>) -> ClaimsError {
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

    pub(super) fn unreachable(&self, doing: &'static str, error: &GitError) -> ClaimsError {
        let words = match error {
            GitError::Failed { words, .. } => words.lines().next().unwrap_or_default().to_owned(),
            error => error.to_string(),
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

    pub(super) fn file(&self) -> Utf8PathBuf {
        self.directory().join(format!("{}.toml", self.name))
    }

    /// What is known; nothing where that cannot be read, which only costs time.
    pub(super) fn load(&self) -> ClaimState {
        let bytes = files::read(&self.file()).ok().flatten();
        let text = bytes.and_then(|bytes| String::from_utf8(bytes).ok());
        text.and_then(|text| from_text(&text).ok())
            .unwrap_or_default()
    }

    pub(super) fn store(&self, state: &ClaimState) -> Result<(), ClaimsError> {
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
