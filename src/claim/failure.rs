//! Says why a claim was not taken, renewed or kept: [`ClaimFailure`].
#![allow(
    unused_assignments,
    reason = "zkat/miette#458: its derive reads fields in a way that rustc warns about"
)]

use std::time::Duration;

use super::{Claim, ClaimError, in_words};
use crate::exit::ExitCode;
use crate::path::escape_for_terminal;

/// Says why a claim is not ours.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[expect(missing_docs, reason = "the fields are what the messages say")]
pub enum ClaimFailure {
    /// Somebody else has it.
    #[error("cannot {doing} `{name}` at {remote}: {} holds it", holder(claim))]
    #[diagnostic(
        code(agentwt::claim::held),
        help(
            "if it stays unchanged for {left} from now, by the clock of this host, it may be taken over: git agentwt add {name} --claim {remote}"
        )
    )]
    Held {
        doing: &'static str,
        name: String,
        remote: String,
        claim: Box<Claim>,
        /// How long it has to stay as it is until it may be taken over, in words.
        left: String,
    },
    /// Somebody has it, and nobody can say who.
    #[error(
        "cannot {doing} `{name}` at {remote}: somebody holds it, and the claim {commit} cannot be read: {why}"
    )]
    #[diagnostic(
        code(agentwt::claim::unreadable),
        help(
            "once you know that nobody works there: git push --force-with-lease=refs/agentwt/claims/{name}:{commit} {remote} :refs/agentwt/claims/{name}"
        )
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
    #[diagnostic(
        code(agentwt::claim::gone),
        help("to claim it again: git agentwt add {name} --claim {remote}")
    )]
    Gone { name: String, remote: String },
    /// The worktree was claimed elsewhere.
    #[error("cannot claim `{name}` at {remote}: it is claimed at {held_at}")]
    #[diagnostic(
        code(agentwt::claim::elsewhere),
        help("git agentwt add {name} --claim {held_at}")
    )]
    Elsewhere {
        name: String,
        remote: String,
        held_at: String,
    },
    /// Another owner of this repository has it.
    #[error("cannot renew `{name}` for `{asked}`: `{owner}` owns it")]
    #[diagnostic(
        code(agentwt::claim::another_owner),
        help("to renew it in its owner's name: git agentwt renew {name} --owner '{owner}'")
    )]
    AnotherOwner {
        name: String,
        asked: String,
        owner: String,
    },
    /// There is neither a claim nor an owner.
    #[error("cannot renew `{name}`: it has neither a claim nor an owner")]
    #[diagnostic(
        code(agentwt::claim::nothing_to_renew),
        help("to claim it: git agentwt add {name} --claim origin")
    )]
    NothingToRenew { name: String },
    /// The remote cannot hold claims.
    #[error("cannot use `{}` for claims: {why}", escape_for_terminal(remote.as_bytes()))]
    #[diagnostic(code(agentwt::claim::bad_remote), help("{advice}"))]
    BadRemote {
        remote: String,
        why: String,
        advice: String,
    },
    /// The time that a server is given is none.
    #[error("AGENTWT_CLAIM_TIMEOUT is `{}`, which is no time", escape_for_terminal(text.as_bytes()))]
    #[diagnostic(
        code(agentwt::claim::bad_timeout),
        help("write for example: AGENTWT_CLAIM_TIMEOUT=30s")
    )]
    BadTimeout { text: String },
    /// The process that was named does not run.
    #[error("there is no process {pid} on this host")]
    #[diagnostic(code(agentwt::claim::no_such_process), help("see what runs: ps -e"))]
    NoSuchProcess { pid: u32 },
    /// The server did not answer, so nothing is known.
    #[error("cannot {doing} `{name}`: {remote} cannot be reached, or says nothing of use: {}", escape_for_terminal(words.as_bytes()))]
    #[diagnostic(
        code(agentwt::claim::unreachable),
        help(
            "nothing is known of the claim; see: git ls-remote {remote} refs/agentwt/claims/{name}"
        )
    )]
    Unreachable {
        doing: &'static str,
        name: String,
        remote: String,
        words: String,
    },
    /// The server answered, and takes no claim.
    #[error("cannot {doing} `{name}`: {remote} refuses it: {}", escape_for_terminal(words.as_bytes()))]
    #[diagnostic(
        code(agentwt::claim::refused),
        help("the server must let refs/agentwt/claims/* be pushed; see: git remote show {remote}")
    )]
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
}

impl ClaimFailure {
    /// Another owner of this repository has the worktree.
    #[must_use]
    pub fn another_owner(name: &str, asked: &str, owner: &str) -> Self {
        let escape = |text: &str| escape_for_terminal(text.as_bytes());
        Self::AnotherOwner {
            name: name.to_owned(),
            asked: escape(asked),
            owner: escape(owner),
        }
    }

    /// Another holds the claim, and has it for so long at least.
    #[must_use]
    pub fn held(
        doing: &'static str,
        name: String,
        remote: String,
        claim: Box<Claim>,
        left: Duration,
    ) -> Self {
        Self::Held {
            doing,
            name,
            remote,
            claim,
            left: in_words(left.as_millis().div_ceil(1000)),
        }
    }
}
