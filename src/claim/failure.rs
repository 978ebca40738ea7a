//! Says why a claim was not taken, renewed or kept: [`ClaimFailure`].

use std::fmt;
use std::time::Duration;

use miette::Diagnostic;

use super::lease::in_words;
use super::{Claim, ClaimError, REFS};
use crate::exit::ExitCode;
use crate::path::escape_for_terminal;

/// Says why a claim is not ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(missing_docs, reason = "the fields are what the messages say")]
pub enum ClaimFailure {
    /// Somebody else has it.
    #[error("cannot {doing} `{name}` at {remote}: {} holds it", holder(claim))]
    Held {
        doing: &'static str,
        name: String,
        remote: String,
        claim: Box<Claim>,
        /// How long it has to stay as it is until it may be taken over.
        left: Duration,
    },
    /// Somebody has it, and nobody can say who.
    #[error(
        "cannot {doing} `{name}` at {remote}: somebody holds it, and the claim {commit} cannot be read: {why}"
    )]
    Unreadable {
        doing: &'static str,
        name: String,
        remote: String,
        commit: String,
        why: ClaimError,
    },
    /// It was ours, and nobody has it now.
    #[error("cannot renew the claim on `{name}` at {remote}: it is no longer there")]
    Gone { name: String, remote: String },
    /// The worktree was claimed elsewhere.
    #[error("cannot claim `{name}` at {remote}: it is claimed at {held_at}")]
    Elsewhere {
        name: String,
        remote: String,
        held_at: String,
    },
    /// Another owner of this repository has it.
    #[error("cannot renew `{name}` for `{}`: `{}` owns it", escape_for_terminal(asked.as_bytes()), escape_for_terminal(owner.as_bytes()))]
    AnotherOwner {
        name: String,
        asked: String,
        owner: String,
    },
    /// There is neither a claim nor an owner.
    #[error("cannot renew `{name}`: it has neither a claim nor an owner")]
    NothingToRenew { name: String },
    /// The remote cannot hold claims.
    #[error("cannot use `{}` for claims: {why}", escape_for_terminal(remote.as_bytes()))]
    BadRemote {
        remote: String,
        why: String,
        known: Vec<String>,
    },
    /// The time that a server is given is none.
    #[error("AGENTWT_CLAIM_TIMEOUT is `{}`, which is no time", escape_for_terminal(text.as_bytes()))]
    BadTimeout { text: String },
    /// The process that was named does not run.
    #[error("there is no process {pid} on this host")]
    NoSuchProcess { pid: u32 },
    /// The server did not answer, so nothing is known.
    #[error("cannot {doing} `{name}`: {remote} cannot be reached, or says nothing of use: {}", escape_for_terminal(words.as_bytes()))]
    Unreachable {
        doing: &'static str,
        name: String,
        remote: String,
        words: String,
    },
    /// The server answered, and takes no claim.
    #[error("cannot {doing} `{name}`: {remote} refuses it: {}", escape_for_terminal(words.as_bytes()))]
    Refused {
        doing: &'static str,
        name: String,
        remote: String,
        words: String,
    },
}

/// Who holds a claim, and how long, for people.
fn holder(claim: &Claim) -> String {
    let escape = |text: &str| escape_for_terminal(text.as_bytes());
    let who = &claim.who;
    format!(
        "`{}` (process {} on {}, since {}, renewed {}, for {})",
        escape(&who.owner),
        who.pid,
        escape(&who.host),
        escape(&claim.since),
        escape(&claim.renewed),
        claim.lease
    )
}

impl ClaimFailure {
    /// The status with which the program ends.
    #[must_use]
    pub const fn exit_code(&self) -> ExitCode {
        match self {
            Self::Held { .. }
            | Self::Unreadable { .. }
            | Self::Gone { .. }
            | Self::AnotherOwner { .. } => ExitCode::OwnershipLost,
            Self::Elsewhere { .. } | Self::NothingToRenew { .. } => ExitCode::Refused,
            Self::BadRemote { .. } | Self::BadTimeout { .. } | Self::NoSuchProcess { .. } => {
                ExitCode::Usage
            }
            Self::Unreachable { .. } | Self::Refused { .. } => ExitCode::Git,
        }
    }

    const fn code_name(&self) -> &'static str {
        match self {
            Self::Held { .. } => "agentwt::claim::held",
            Self::Unreadable { .. } => "agentwt::claim::unreadable",
            Self::Gone { .. } => "agentwt::claim::gone",
            Self::Elsewhere { .. } => "agentwt::claim::elsewhere",
            Self::AnotherOwner { .. } => "agentwt::claim::another_owner",
            Self::NothingToRenew { .. } => "agentwt::claim::nothing_to_renew",
            Self::BadRemote { .. } => "agentwt::claim::bad_remote",
            Self::BadTimeout { .. } => "agentwt::claim::bad_timeout",
            Self::NoSuchProcess { .. } => "agentwt::claim::no_such_process",
            Self::Unreachable { .. } => "agentwt::claim::unreachable",
            Self::Refused { .. } => "agentwt::claim::refused",
        }
    }

    fn advice(&self) -> String {
        match self {
            Self::Held {
                name, remote, left, ..
            } => {
                let left = in_words(left.as_millis().div_ceil(1000));
                format!(
                    "if it stays unchanged for {left} from now, by the clock of this host, it may be taken over: git agentwt add {name} --claim {remote}"
                )
            }
            Self::Unreadable {
                name,
                remote,
                commit,
                ..
            } => format!(
                "once you know that nobody works there: git push --force-with-lease={REFS}{name}:{commit} {remote} :{REFS}{name}"
            ),
            Self::Gone { name, remote } => {
                format!("to claim it again: git agentwt add {name} --claim {remote}")
            }
            Self::Elsewhere { name, held_at, .. } => {
                format!("git agentwt add {name} --claim {held_at}")
            }
            Self::AnotherOwner { name, owner, .. } => format!(
                "to renew it in its owner's name: git agentwt renew {name} --owner '{}'",
                escape_for_terminal(owner.as_bytes())
            ),
            Self::NothingToRenew { name } => {
                format!("to claim it: git agentwt add {name} --claim origin")
            }
            Self::BadRemote { known, .. } if known.is_empty() => {
                "there is no remote yet; to name one: git remote add origin <url>".to_owned()
            }
            Self::BadRemote { known, .. } => {
                format!("there are: {}; see git remote -v", known.join(", "))
            }
            Self::BadTimeout { .. } => "write for example: AGENTWT_CLAIM_TIMEOUT=30s".to_owned(),
            Self::NoSuchProcess { .. } => "see what runs: ps -e".to_owned(),
            Self::Unreachable { name, remote, .. } => {
                format!("nothing is known of the claim; see: git ls-remote {remote} {REFS}{name}")
            }
            Self::Refused { remote, .. } => {
                format!("the server must let {REFS}* be pushed; see: git remote show {remote}")
            }
        }
    }
}

impl Diagnostic for ClaimFailure {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code_name()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.advice()))
    }
}
