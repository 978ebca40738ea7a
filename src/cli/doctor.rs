//! Defines `doctor`.

use clap::Args;

use super::ListOutput;

/// Say what is wrong with the set-up, and how to put it right
///
/// Looks at git and this program, at settings that break worktrees, at the hooks, at the ignore
/// rules, at tools that would walk into the worktrees, at what was left behind, and at the file
/// system. Each line is `ok`, a `note`, a `warning` or a `problem`, and names what puts it right.
/// It ends with 1 when there is a warning or a problem, and changes nothing without --fix.
#[derive(Args, Debug)]
#[command(after_long_help = EXAMPLES)]
pub struct Doctor {
    /// Put right what is safe to put right
    ///
    /// The ignore rules are written, and hooks of worktrees that are gone, or start a program that
    /// is gone, are installed again. All else stays an instruction.
    #[arg(long)]
    pub fix: bool,
    /// Print what --fix would do, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

const EXAMPLES: &str = "\
Examples:
  What is wrong here, and how to put it right:
      git agentwt doctor

  Put right what is safe, and see first what that is:
      git agentwt doctor -n
      git agentwt doctor --fix

  Only what is wrong, for a script:
      git agentwt doctor --porcelain | grep -E '^(warning|problem)'";
