//! Holds what this repository knows of a claim between two calls: [`ClaimState`].
//!
//! It is written before anything is pushed, so that whoever is killed in between knows its own
//! claim again.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{Claim, Who};
use crate::name::CommitId;

/// Holds what is known of the claim on one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimState {
    /// [`crate::versioned::VERSION`].
    pub version: u32,
    /// What is ours, or may be.
    #[serde(default)]
    pub own: Option<Own>,
    /// What was seen of another's.
    #[serde(default)]
    pub seen: Option<Seen>,
}

/// Holds by what a claim of ours is known again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Own {
    /// The remote.
    pub remote: String,
    /// Who took it.
    pub who: Who,
    /// What all its commits have, and no other's.
    pub holding: String,
    /// Since when, RFC 3339 in UTC.
    pub since: String,
    /// The commit that the server took last, once it has taken one.
    #[serde(default)]
    pub commit: Option<CommitId>,
}

/// Holds when something of another's was first seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Seen {
    /// The remote on which.
    pub remote: String,
    /// What was there.
    pub commit: CommitId,
    /// When.
    pub first: Reading,
}

/// Holds what a clock showed that only goes forward, and only this run of the system has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reading {
    /// Which run of the system.
    pub boot: String,
    /// Milliseconds.
    pub milliseconds: u64,
}

impl Default for ClaimState {
    fn default() -> Self {
        Self {
            version: crate::versioned::VERSION,
            own: None,
            seen: None,
        }
    }
}

impl ClaimState {
    /// Whether there is nothing in it.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.own.is_none() && self.seen.is_none()
    }
}

impl Own {
    /// Whether a claim is one of these.
    #[must_use]
    pub fn made(&self, claim: &Claim) -> bool {
        self.holding == claim.holding && self.who.owner == claim.who.owner
    }
}

impl Reading {
    /// How long ago another reading was; none when that was in another run of the system.
    #[must_use]
    pub fn since(&self, earlier: &Self) -> Option<Duration> {
        let passed = self.milliseconds.checked_sub(earlier.milliseconds)?;
        (self.boot == earlier.boot).then_some(Duration::from_millis(passed))
    }
}
