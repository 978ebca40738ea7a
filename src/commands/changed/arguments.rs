//! Defines the arguments of `git agentwt changed`.

use std::path::PathBuf;

use clap::Args;

use crate::arguments::output::{ListOutput, with_tsv};

/// List every path that changed since the base
///
/// Compares commits, the index and the disk with the record that `git agentwt add` wrote. A rename
/// is a deletion and a creation. Upstream work that was merged or rebased in is not listed. Paths
/// are relative to the repository's root and sorted.
#[derive(Args, Debug)]
#[command(mut_arg("format", |format| with_tsv(format)))]
pub struct Changed {
    /// The worktree [default: the current worktree]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// Print absolute paths
    #[arg(long)]
    pub absolute: bool,
    /// Print only the paths, as `git diff --name-only` does
    ///
    /// With -z the paths end with NUL and are printed byte for byte.
    #[arg(long)]
    pub name_only: bool,
    /// List ignored files as well
    ///
    /// Files that git ignores (build output, caches) and that did not exist at `add`.
    #[arg(long)]
    pub ignored: bool,
    /// Compare with this commit instead of the recorded base
    ///
    /// A branch, a tag or any other revision of the main worktree. Only changes that this commit
    /// has count as upstream work.
    #[arg(long, value_name = "ref")]
    pub base: Option<String>,
    /// List each commit with its paths, and then the uncommitted changes
    ///
    /// The oldest commit comes first; upstream commits are left out. A commit that was amended or
    /// reset away since is listed too, and marked. For a merge commit, only the paths that differ
    /// from every parent are listed.
    #[arg(long, conflicts_with = "roots")]
    pub commits: bool,
    /// Print the full patch from the base to what is on disk
    ///
    /// Committed, staged, unstaged and untracked work in one patch for `git apply`; with --commits
    /// one patch for each commit, and one for the uncommitted changes. JSON has the patch beside
    /// the list; the other forms print it in place of the list. On a terminal the patch is coloured
    /// and shown in the pager of the user's own git settings; the repository's settings name no
    /// pager here.
    #[arg(short, long, conflicts_with_all = ["roots", "name_only"])]
    pub patch: bool,
    /// Print only paths outside these directories, and exit with 1 if there are any
    ///
    /// A directory is relative to the current directory, and need not exist. Symbolic links in the
    /// parents of a path are resolved; the path itself is not, and neither is a given directory in
    /// the worktree.
    #[arg(long, value_name = "dir", num_args = 1..)]
    pub roots: Vec<PathBuf>,
    /// Go on after a read error, and exit with 10 if anything is missing
    ///
    /// Each error is printed on stderr and in JSON (`incomplete`). Without this option the first
    /// error ends the command, and no list is printed.
    #[arg(long)]
    pub best_effort: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}
