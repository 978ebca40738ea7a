//! Defines `verify`: the ground truth held against the scope.

use clap::Args;

use super::FindingsOutput;

/// Compare what changed with the scope
///
/// Every change since the base is held against the scope that was recorded when the worktree was
/// made, and the worktree, its hooks and its branch against what was recorded of them. Each
/// violation names the path, what happened, where it was seen, and the rule that forbids it.
///
/// A notice is worth knowing and does not change the exit status, unless --strict is given.
#[derive(Args, Debug)]
#[command(after_long_help = VERIFY_EXAMPLES)]
pub struct Verify {
    /// The worktrees [default: the one you stand in]
    #[arg(value_name = "name")]
    pub names: Vec<String>,
    /// Verify every worktree of this repository
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// Look only at what would be merged
    ///
    /// Leaves out the second layer, the history: what commits touched and put back.
    #[arg(long)]
    pub net: bool,
    /// Count notices as violations
    #[arg(long)]
    pub strict: bool,
    /// Take the shared hooks and settings as they are now for right
    ///
    /// Hooks, the repository's configuration and git's own files of rules are recorded as they
    /// are at `add`, and every later change is a violation, as nothing tells whose it was. This
    /// records them anew: after a change of your own, once you have looked at it.
    #[arg(long)]
    pub accept_shared: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: FindingsOutput,
}

const VERIFY_EXAMPLES: &str = "\
Examples:
  The worktree you stand in:
      git agentwt verify

  Merge only what stayed in scope:
      git agentwt verify task-5 && git merge agentwt/task-5

  All of them, for a program:
      git agentwt verify --all --json";
