//! Defines what claims a name on a git server: options of `add`, and `git agentwt renew`.

use clap::Args;

use super::AnswerOutput;
use crate::claim::Lease;

/// Holds the options of `add` that claim the name on a git server.
#[derive(Args, Clone, Debug, Default, PartialEq, Eq)]
#[command(next_help_heading = "Claim")]
pub struct ClaimOptions {
    /// Claim the name on this remote before anything is made
    ///
    /// `refs/agentwt/claims/<name>` is made there, if nobody has it: of all repositories that
    /// push to one server, one at a time has a worktree of this name. Where somebody has it,
    /// nothing is made (exit 8), and you are told who. A claim counts for its lease, unless `git
    /// agentwt renew` renews it, and `git agentwt remove` gives it back.
    #[arg(long, value_name = "remote", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub claim: Option<String>,
    /// Let the claim count so long without a renewal [default: 10m]
    ///
    /// Whole seconds, minutes, hours or days, from `1s` to `30d`. Renew it in less than half that
    /// time.
    #[arg(long, value_name = "duration", requires = "claim", value_parser = Lease::parse)]
    pub lease: Option<Lease>,
}

/// Renew the claim on a worktree, or say that its owner is alive
///
/// The claim that `git agentwt add --claim` took is renewed with one push, for another lease.
/// When somebody else has it by now, or nobody, this ends with 8 and says who: stop working
/// there. A scheduler calls it in a loop. Of a worktree without a claim, the owner in the record
/// is renewed.
#[derive(Args, Debug)]
#[command(after_long_help = RENEW_EXAMPLES)]
pub struct Renew {
    /// The worktree [default: the one you stand in]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// Let the claim count so long from now on [default: as before]
    #[arg(long, value_name = "duration", value_parser = Lease::parse)]
    pub lease: Option<Lease>,
    /// Renew it only if this is its owner
    ///
    /// Otherwise it ends with 8.
    #[arg(long, value_name = "id", value_parser = clap::builder::NonEmptyStringValueParser::new())]
    pub owner: Option<String>,
    /// Name another process as the owner's from now on
    #[arg(long, value_name = "pid")]
    pub owner_pid: Option<u32>,
    /// Look whether it could be renewed, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

const RENEW_EXAMPLES: &str = "\
Examples:
  Once, and for a longer time from now on:
      git agentwt renew task-5 --lease 1h

  As long as an agent works, stopping it when the claim is lost:
      while sleep 200; do
          git agentwt renew task-5 -q
          test $? -eq 8 && kill \"$agent\" && break
      done";
