//! Says what a claim on a name is, and what follows from a claim on a server: pure.
//!
//! A claim is a commit that `refs/agentwt/claims/<name>` names on a git server: an empty tree, no
//! parent, and a message in TOML. The repository that moves the ref by compare-and-swap holds the
//! name. The times in the message are for people: the clocks of hosts differ, so no decision uses
//! them. A lease ends when the observer's own clock has seen the same commit for that long
//! ([`decide`]; `docs/decisions/0016-claims.md`).
//!
//! The message is untrusted: its size is bounded, and every value is escaped before it is shown.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::system::boot::ClockReading;
use crate::words::name::{CommitId, WorktreeName};
use crate::words::path::escape_for_terminal;
use crate::words::time::parse_whole_duration;
use crate::words::toml_file::{TomlFileError, from_text, to_text};

/// The claims on the server; never in a local repository.
pub const REFS: &str = "refs/agentwt/claims/";
/// The longest commit that is read as a claim, in bytes.
pub const LONGEST: u64 = 16 * 1024;

/// The message of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Claim {
    /// The name that is claimed.
    pub name: WorktreeName,
    /// The time of the first claim, RFC 3339 in UTC by the holder's clock.
    pub since: String,
    /// The time of the last renewal, by the holder's clock.
    pub renewed: String,
    /// The end without a renewal, by the holder's clock.
    pub expires: String,
    /// How long the claim counts without a change.
    pub lease: Lease,
    /// A random word, the same in all claims that one holder makes in a row.
    pub holding: String,
    /// A random word that makes every commit different.
    pub nonce: String,
    /// The holder.
    pub who: Who,
}

/// The holder of a claim.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Who {
    /// The name of the owner.
    pub owner: String,
    /// The host.
    pub host: String,
    /// The process on that host.
    pub pid: u32,
    /// The start of that process, in its system's own words; empty when unknown.
    pub started: String,
}

impl Claim {
    /// The message of the commit.
    pub fn to_message(&self) -> String {
        format!("agentwt claim on {}\n\n{}", self.name, to_text(self))
    }

    /// Reads the raw bytes of a commit.
    ///
    /// # Errors
    /// Fails when the commit is not a claim of this version.
    pub fn from_commit(raw: &[u8]) -> Result<Self, TomlFileError> {
        let damaged = |why: &str| TomlFileError::Damaged(why.to_owned());
        let text = std::str::from_utf8(raw).map_err(|_| damaged("not UTF-8"))?;
        let message = text.splitn(3, "\n\n").nth(2);
        from_text(message.ok_or_else(|| damaged("no message"))?)
    }
}

impl fmt::Display for Claim {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "`{}` (process {} on {}, since {}, renewed {}, for {})",
            escape_for_terminal(self.who.owner.as_bytes()),
            self.who.pid,
            escape_for_terminal(self.who.host.as_bytes()),
            escape_for_terminal(self.since.as_bytes()),
            escape_for_terminal(self.renewed.as_bytes()),
            self.lease
        )
    }
}

/// The claim on the server, and the clock before the server was asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CurrentClaim {
    /// The clock.
    pub asked: ClockReading,
    /// The commit and its message; none when the name is free.
    pub claim: Option<(CommitId, Claim)>,
}

impl CurrentClaim {
    /// The commit of the claim; none when the name is free.
    pub fn commit(&self) -> Option<&CommitId> {
        let (commit, _claim) = self.claim.as_ref()?;
        Some(commit)
    }
}

/// What a claimer may do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The name is free.
    Free,
    /// The claim is our own.
    Ours(Claim),
    /// The claim did not change for its whole lease.
    Lapsed(Claim),
    /// Another holds the name, and may be replaced after this time without a change.
    Held(Claim, Duration),
}

/// Decides what a claimer may do.
///
/// The clock was read before the server was asked, and for `seen` after the server was asked the
/// first time, so the time between them is never longer than the claim was really there.
pub fn decide(current: CurrentClaim, own: Option<&Own>, seen: Option<&SeenClaim>) -> Decision {
    let Some((commit, claim)) = current.claim else {
        return Decision::Free;
    };
    if own.is_some_and(|own| own.made(&claim)) {
        return Decision::Ours(claim);
    }
    let unchanged_for = seen
        .filter(|seen| seen.commit == commit)
        .and_then(|seen| current.asked.since(&seen.first))
        .unwrap_or_default();
    let left = claim.lease.duration().saturating_sub(unchanged_for);
    if left.is_zero() {
        Decision::Lapsed(claim)
    } else {
        Decision::Held(claim, left)
    }
}

/// A lease in whole seconds: at least one, at most thirty days.
///
/// ```
/// use git_agentwt::record::claim::Lease;
/// assert_eq!(Lease::parse("90s").map(|lease| lease.seconds()), Ok(90));
/// assert_eq!(Lease::parse("2h").map(|lease| lease.to_string()), Ok("2h".to_owned()));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "u64", into = "u64")]
pub struct Lease(u64);

const WANTED: &str = "write whole seconds, minutes, hours or days, from 1s to 30d: 90s, 10m, 2h";

impl Lease {
    /// The lease of `add --claim` without `--lease`.
    pub const DEFAULT: Self = Self(600);

    /// Takes a number of seconds.
    pub fn of_seconds(seconds: u64) -> Option<Self> {
        (1..=2_592_000).contains(&seconds).then_some(Self(seconds))
    }

    /// Parses `90`, `90s`, `10m`, `2h` or `1d`.
    ///
    /// # Errors
    /// Says what is allowed.
    pub fn parse(text: &str) -> Result<Self, String> {
        let is_plain = text.bytes().all(|byte| byte.is_ascii_digit());
        let plain = text.parse().ok().filter(|_| is_plain);
        let whole = || Some(parse_whole_duration(text, "smhd")?.as_secs());
        let seconds: Option<u64> = plain.or_else(whole);
        let lease = seconds.and_then(Self::of_seconds);
        lease.ok_or_else(|| WANTED.to_owned())
    }

    /// The seconds.
    pub const fn seconds(self) -> u64 {
        self.0
    }

    /// The lease as a duration.
    pub const fn duration(self) -> Duration {
        Duration::from_secs(self.0)
    }
}

impl TryFrom<u64> for Lease {
    type Error = &'static str;

    fn try_from(seconds: u64) -> Result<Self, Self::Error> {
        Self::of_seconds(seconds).ok_or("not a lease")
    }
}

impl From<Lease> for u64 {
    fn from(lease: Lease) -> Self {
        lease.0
    }
}

impl fmt::Display for Lease {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = [(24 * 3600, 'd'), (3600, 'h'), (60, 'm')];
        let whole = units.iter().find(|(unit, _)| self.0.is_multiple_of(*unit));
        let (unit, letter) = whole.unwrap_or(&(1, 's'));
        write!(f, "{}{letter}", self.0 / unit)
    }
}

/// What this repository knows of the claim on one name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClaimState {
    /// Our own claim, written before the first push.
    pub own: Option<Own>,
    /// The claim of another.
    pub seen: Option<SeenClaim>,
}

/// How a claim of ours is recognized.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Own {
    /// The remote.
    pub remote: String,
    /// The owner.
    pub owner: String,
    /// The word in all its commits.
    pub holding: String,
}

/// When the claim of another was first seen.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SeenClaim {
    /// The remote.
    pub remote: String,
    /// The commit.
    pub commit: CommitId,
    /// The clock.
    pub first: ClockReading,
}

impl Own {
    /// True if a claim is ours.
    pub fn made(&self, claim: &Claim) -> bool {
        self.holding == claim.holding && self.owner == claim.who.owner
    }
}

impl ClockReading {
    /// The time since an earlier reading; none when that was in another run of the system.
    pub fn since(&self, earlier: &Self) -> Option<Duration> {
        let passed = self.milliseconds.checked_sub(earlier.milliseconds)?;
        (self.boot == earlier.boot).then_some(Duration::from_millis(passed))
    }
}

#[cfg(test)]
mod tests;
