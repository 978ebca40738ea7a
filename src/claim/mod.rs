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
mod text;

use std::fmt;
use std::time::Duration;

pub use failure::ClaimFailure;
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

/// Represents a lease in whole seconds: at least one, at most [`Lease::LONGEST`].
///
/// ```
/// use git_agentwt::claim::Lease;
/// assert_eq!(Lease::parse("90s").map(|lease| lease.seconds()), Ok(90));
/// assert_eq!(Lease::parse("2h").map(|lease| lease.to_string()), Ok("2h".to_owned()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Lease(u64);

const WANTED: &str = "write whole seconds, minutes, hours or days, from 1s to 30d: 90s, 10m, 2h";

impl Lease {
    /// What `add --claim` takes where nobody says otherwise.
    pub const DEFAULT: Self = Self(600);
    /// The longest: thirty days.
    pub const LONGEST: Self = Self(30 * 24 * 3600);

    /// Takes a number of seconds.
    #[must_use]
    pub const fn of_seconds(seconds: u64) -> Option<Self> {
        match seconds {
            1..=2_592_000 => Some(Self(seconds)),
            0 | 2_592_001.. => None,
        }
    }

    /// Parses `90`, `90s`, `10m`, `2h` or `1d`.
    ///
    /// # Errors
    /// Says what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (number, unit) = match text.char_indices().last() {
            Some((at, 's')) => (&text[..at], 1),
            Some((at, 'm')) => (&text[..at], 60),
            Some((at, 'h')) => (&text[..at], 3600),
            Some((at, 'd')) => (&text[..at], 24 * 3600),
            Some(_) | None => (text, 1),
        };
        let is_plain = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let number = is_plain.then(|| number.parse::<u64>().ok()).flatten();
        number
            .and_then(|number| number.checked_mul(unit))
            .and_then(Self::of_seconds)
            .ok_or_else(|| WANTED.to_owned())
    }

    /// Its seconds.
    #[must_use]
    pub const fn seconds(self) -> u64 {
        self.0
    }

    /// It as a duration.
    #[must_use]
    pub const fn duration(self) -> Duration {
        Duration::from_secs(self.0)
    }
}

impl fmt::Display for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&in_words(self.0.into()))
    }
}

/// Seconds as `--lease` takes them: in the largest unit that they are whole in.
fn in_words(seconds: u128) -> String {
    let units = [(24 * 3600, 'd'), (3600, 'h'), (60, 'm')];
    let whole = units
        .iter()
        .find(|(unit, _)| seconds > 0 && seconds.is_multiple_of(*unit));
    match whole {
        Some((unit, letter)) => format!("{}{letter}", seconds / unit),
        None => format!("{seconds}s"),
    }
}

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

#[cfg(test)]
mod tests;
