//! Defines the option of every command that works on a worktree which another may work on.

use clap::Args;

/// Holds the option that says whether to wait.
#[derive(Args, Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WaitOption {
    /// Do not wait for another git agentwt that works on the same worktree
    ///
    /// One name, one operation at a time: a second command waits, and after a second says for
    /// which process. With this option it is refused at once (exit 4).
    #[arg(long)]
    pub no_wait: bool,
}
