//! Defines the arguments of `git agentwt doctor`.

use clap::Args;

use crate::arguments::output::ListOutput;

/// Report problems of the set-up, and how to fix them
///
/// Checks git and git-agentwt, the fences of `exec`, settings that break worktrees, the hooks, the
/// ignore rules, tools that would walk into the worktrees, leftovers of killed commands, and the
/// file system. Each line is `ok`, a `note`, a `warning` or a `problem`, and names the remedy. The
/// command exits with 1 if there is a warning or a problem, and changes nothing without --fix.
#[derive(Args, Debug)]
pub struct Doctor {
    /// Fix the problems that are safe to fix
    ///
    /// Writes the ignore rules, and installs hooks again that are missing or that start a missing
    /// program. All other remedies stay instructions.
    #[arg(long)]
    pub fix: bool,
    /// Print what --fix would do, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}
