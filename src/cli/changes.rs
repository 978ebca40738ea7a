//! Defines the commands that say what happened: `changed` and `verify`.

use clap::Args;

use super::FindingsOutput;

/// List every path that changed since the base
///
/// The ground truth: commits, the index and the disk are compared with what was recorded when
/// the worktree was made. A rename is a deletion and a creation. Work of others that was merged
/// or rebased in is not counted. Paths are relative to the repository's root and sorted.
#[derive(Args, Debug)]
#[command(after_long_help = CHANGED_EXAMPLES)]
pub struct Changed {
    /// The worktree [default: the one you stand in]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// Print absolute paths
    #[arg(long)]
    pub absolute: bool,
    /// Print only the paths, as `git diff --name-only` does
    ///
    /// With -z they end with NUL and are printed byte for byte.
    #[arg(long)]
    pub name_only: bool,
    /// List ignored files as well
    ///
    /// Files that git ignores (build output, caches) and that were not there at `add`.
    #[arg(long)]
    pub ignored: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: FindingsOutput,
}

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
    /// Count notices as violations
    #[arg(long)]
    pub strict: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: FindingsOutput,
}

const CHANGED_EXAMPLES: &str = "\
Examples:
  What did the agent touch:
      git agentwt changed task-5

  Hand the files to a program, whatever their names:
      git agentwt changed task-5 --absolute --name-only -z | xargs -0 -n 1 echo";

const VERIFY_EXAMPLES: &str = "\
Examples:
  The worktree you stand in:
      git agentwt verify

  Merge only what stayed in scope:
      git agentwt verify task-5 && git merge agentwt/task-5

  All of them, for a program:
      git agentwt verify --all --json";
