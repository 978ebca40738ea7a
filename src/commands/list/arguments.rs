//! Defines the arguments of `git agentwt list`.

use clap::Args;

use crate::arguments::output::ListOutput;

/// List the worktrees and their verdicts
///
/// Verifies each worktree that `git agentwt add` created in this repository, as `git agentwt
/// verify` does, and prints a line for each. Unusual states follow below the line of their
/// worktree. On a terminal, a line is completed as soon as its worktree is verified, and the
/// columns that do not fit are left out.
#[derive(Args, Debug)]
pub struct List {
    /// Show the stored verdicts with their age, and read no worktree
    ///
    /// A stored verdict is that of the last `verify`, `list`, `status` or hook, and may be out of
    /// date.
    #[arg(long)]
    pub stored: bool,
    /// Show the disk usage of each worktree
    ///
    /// Counts the blocks on disk as du(1) does: a file with several hard links counts once, and
    /// blocks that are shared by copy-on-write count in full. This reads every directory, and takes
    /// a while.
    #[arg(long)]
    pub size: bool,
    /// List the worktrees that may write the same files, and the files
    ///
    /// The write scopes are compared over the files of the commit in the main worktree, and over
    /// the patterns, which could let two worktrees create the same new file.
    #[arg(long, conflicts_with_all = ["size", "stored"])]
    pub overlap: bool,
    /// List removed worktrees that can come back, with their size and when they go
    ///
    /// `git agentwt remove --undo <name>` brings one back; `git agentwt prune` deletes work that is
    /// older than `agentwt.trashExpire`, by default 30 days, and what was clean and is older than
    /// `agentwt.trashExpireClean`, by default an hour.
    #[arg(long, conflicts_with_all = ["size", "overlap", "stored"])]
    pub trash: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}
