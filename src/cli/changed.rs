//! Defines `changed`: the ground truth.

use std::path::PathBuf;

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
    /// Compare with this commit instead of the recorded base
    ///
    /// A branch, a tag or any other revision, as the main worktree reads it. Only what that
    /// commit has counts as work of others.
    #[arg(long, value_name = "ref")]
    pub base: Option<String>,
    /// List each commit with its paths, and then what is not committed
    ///
    /// The oldest first, without upstream's. A commit that was amended or reset away since is
    /// listed too, and marked. Of a merge, only what it has otherwise than every parent.
    #[arg(long, conflicts_with = "roots")]
    pub commits: bool,
    /// Print the full patch from the base to what is on disk
    ///
    /// Committed, staged, unstaged and untracked work in one, as `git diff` prints it and
    /// `git apply` takes it; with --commits a patch for each commit, and one for what is not
    /// committed. JSON has it beside the list, every other form in place of it.
    #[arg(long, conflicts_with_all = ["roots", "name_only"])]
    pub patch: bool,
    /// Print only what lies outside these directories, and end with 1 if anything does
    ///
    /// Relative ones start where you stand. One that does not exist yet is fine. Links in the
    /// parents of a path are resolved, the path itself is not, nor is a directory named here
    /// that lies in the worktree.
    #[arg(long, value_name = "dir", num_args = 1..)]
    pub roots: Vec<PathBuf>,
    /// Go on without what cannot be read, and end with 10 if anything is missing
    ///
    /// What is missing is said on stderr and in JSON (`incomplete`), in the words of the
    /// failure. Without it the first failure is an error and nothing is printed.
    #[arg(long)]
    pub best_effort: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: FindingsOutput,
}

const CHANGED_EXAMPLES: &str = "\
Examples:
  What did the agent touch:
      git agentwt changed task-5

  Hand the files to a program, whatever their names:
      git agentwt changed task-5 --absolute --name-only -z | xargs -0 -n 1 echo

  Try its work, committed or not, in the main worktree:
      git agentwt changed task-5 --patch | git apply --3way

  Hold it against what it was allowed to write:
      git agentwt changed task-5 --roots /srv/app/.agentwt/worktrees/task-5/src";
