//! Says what a claim on a name is, and what follows from one that stands on a server: pure.
//!
//! A claim is a commit that `refs/agentwt/claims/<name>` names on a git server: no tree to speak
//! of, no parent, all in its message. Whoever moves the ref by compare-and-swap holds the name.
//! The times in it are for people: hosts do not agree on them, so nothing is decided by them. What
//! counts is for how long the observer's own clock has seen the very same commit there
//! ([`decide`]; `docs/decisions/0016-claims.md`).
//!
//! What comes from a server is anybody's: its size is bounded, and every value is escaped before
//! it is shown.

mod failure;
mod lease;
mod state;
mod text;

use std::time::Duration;

pub use failure::ClaimFailure;
pub use lease::Lease;
pub use state::{ClaimState, Own, Reading, Seen};
pub use text::ClaimError;

use serde::{Deserialize, Serialize};

use crate::name::{CommitId, WorktreeName};

/// Where claims are on the server; they are never made in a local repository.
pub const REFS: &str = "refs/agentwt/claims/";

/// The full name of the ref that claims a name.
#[must_use]
pub fn ref_of(name: &WorktreeName) -> String {
    format!("{REFS}{name}")
}

/// Represents what a claim says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The name that is claimed.
    pub name: WorktreeName,
    /// Who holds it.
    pub who: Who,
    /// Since when, RFC 3339 in UTC by the holder's clock.
    pub since: String,
    /// When it was last renewed, by the holder's clock.
    pub renewed: String,
    /// When it ends unless it is renewed, by the holder's clock.
    pub expires: String,
    /// For how long it counts without a change.
    pub lease: Lease,
    /// What all claims have that one holder made in a row, and no other.
    pub holding: String,
    /// What only this one has.
    pub nonce: String,
}

/// Names who holds a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Who {
    /// The name it goes by.
    pub owner: String,
    /// The host.
    pub host: String,
    /// The process there.
    pub pid: u32,
    /// When that process started, in its system's own words; empty when it is not known.
    pub started: String,
}

/// Says what stands on the server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Standing {
    /// Nothing.
    Free,
    /// A claim, if it can be read.
    Claimed {
        /// The object that the ref names.
        commit: CommitId,
        /// What it says.
        claim: Result<Box<Claim>, ClaimError>,
    },
}

/// Says what a claimer does about what stands there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Nobody has it: take it.
    Take,
    /// It is our own: go on from this one.
    GoOn(CommitId, Box<Claim>),
    /// It has stood unchanged for its whole lease: take it over.
    TakeOver(CommitId, Box<Claim>),
    /// Somebody has it.
    Wait {
        /// Its commit.
        commit: CommitId,
        /// What it says.
        claim: Box<Claim>,
        /// How long it has to stay as it is until it may be taken over.
        left: Duration,
    },
    /// Something is there that we cannot read, so nobody can say when it ends.
    Leave(CommitId, ClaimError),
}

/// Decides what a claimer does.
///
/// `now` was read before the server was asked, and `seen` after it was asked the first time, so
/// that the time between them is never longer than the claim has really stood there.
#[must_use]
pub fn decide(
    standing: Standing,
    own: Option<&Own>,
    seen: Option<&Seen>,
    now: &Reading,
) -> Decision {
    let (commit, claim) = match standing {
        Standing::Free => return Decision::Take,
        Standing::Claimed { commit, claim } => (commit, claim),
    };
    let claim = match claim {
        Ok(claim) => claim,
        Err(error) => return Decision::Leave(commit, error),
    };
    if own.is_some_and(|own| own.made(&claim)) {
        return Decision::GoOn(commit, claim);
    }
    let stood = seen
        .filter(|seen| seen.commit == commit)
        .and_then(|seen| now.since(&seen.first))
        .unwrap_or_default();
    let left = claim.lease.duration().saturating_sub(stood);
    if left.is_zero() {
        Decision::TakeOver(commit, claim)
    } else {
        Decision::Wait {
            commit,
            claim,
            left,
        }
    }
}

#[cfg(test)]
mod tests;
