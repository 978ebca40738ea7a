//! Defines `changed`: the ground truth.

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

const CHANGED_EXAMPLES: &str = "\
Examples:
  What did the agent touch:
      git agentwt changed task-5

  Hand the files to a program, whatever their names:
      git agentwt changed task-5 --absolute --name-only -z | xargs -0 -n 1 echo";
