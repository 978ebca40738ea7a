//! Defines the arguments of `git agentwt run`.

use std::ffi::OsString;

use clap::Args;

use crate::commands::add::arguments::Add;
use crate::commands::exec::arguments::FenceOptions;

/// Create a worktree, and run a command in its fence
///
/// `git agentwt add`, then `git agentwt exec`. With --rm, the worktree is removed at the end if the
/// command ended with 0, everything is in scope, and nothing would be lost.
#[derive(Args, Debug)]
pub struct Run {
    /// The worktree.
    #[command(flatten)]
    pub add: Add,
    /// Remove the worktree at the end, if no work would be lost
    #[arg(long)]
    pub rm: bool,
    /// The fence.
    #[command(flatten)]
    pub fence: FenceOptions,
    /// The command and its arguments
    #[arg(value_name = "command", last = true)]
    pub command: Vec<OsString>,
}
