//! Defines the arguments of `git agentwt prune`.

use clap::ArgAction;
use clap::Args;

use crate::arguments::output::ListOutput;
use crate::words::time::parse_whole_duration;

/// Remove leftovers, and finished worktrees, without losing work
///
/// Without a selecting option, only leftovers are removed: remains of killed commands, records and
/// private git directories without a worktree, stale locks, directories that wait for deletion, and
/// expired trash. A worktree that `git agentwt remove` would refuse is kept, with the reason; so
/// is every file whose origin is unknown.
#[derive(Args, Debug, Default)]
pub struct Prune {
    /// Also worktrees whose commits are all merged or pushed
    ///
    /// Merged by their commits or by their changes, as `git agentwt remove` decides, into anything
    /// but the branch of another worktree. A worktree without commits of its own is not removed.
    #[arg(long)]
    pub merged: bool,
    /// Also worktrees whose owner has ended
    ///
    /// The process of the owner ran on this host and has ended. A worktree whose owner named no
    /// process, or is on another host, is kept.
    #[arg(long)]
    pub dead_owners: bool,
    /// Only worktrees without activity for this time: 90m, 12h, 7d, 2w
    ///
    /// Activity is the creation of the worktree, a write of git to its index, HEAD or branch, and a
    /// sync. Alone, the option selects worktrees; with --merged or --dead-owners it narrows their
    /// selection.
    #[arg(long, value_name = "age", value_parser = age)]
    pub older_than: Option<u64>,
    /// Remove selected worktrees with their work, which is kept in the trash; twice, even while in
    /// use
    ///
    /// As `git agentwt remove --force`: `git agentwt remove --undo <name>` brings one back.
    #[arg(short, long, action = ArgAction::Count)]
    pub force: u8,
    /// Print what would be removed, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Parses an age into seconds.
fn age(text: &str) -> Result<u64, String> {
    const WANTED: &str = "write a whole number and its unit: s, m, h, d or w (90m, 12h, 7d, 2w)";
    let age = parse_whole_duration(text, "smhdw").map(|age| age.as_secs());
    age.ok_or_else(|| WANTED.to_owned())
}
