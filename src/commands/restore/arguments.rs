//! Defines the arguments of `git agentwt restore`.

use std::ffi::OsString;

use clap::Args;

use crate::arguments::output::{AnswerOutput, WaitOption};

/// Revert out-of-scope changes, after saving them
///
/// Every path that `git agentwt verify` reports gets the content of the base, with the upstream
/// work that was merged since: on disk, in the index and in the branch. Work in scope, staged or
/// not, is not touched. The replaced files are first saved as a commit under
/// `refs/agentwt/rescue/<name>/<time>`, from which `--undo` restores them.
///
/// A new commit reverts the commits that went out of scope. A path stands for itself and all paths
/// below it; it is relative to the current directory inside the worktree, else to the worktree's
/// root.
///
/// Inside a worktree its name may be left out. The first argument before `--` is a name if a
/// worktree of that name exists, else a path; an argument after `--` is always a path.
#[derive(Args, Debug)]
#[command(
    override_usage = "git agentwt restore [OPTIONS] [<name>] [--] [<path>...]\n       \
        git agentwt restore [OPTIONS] --undo[=<restore>] [<name>]"
)]
pub struct Restore {
    /// The worktree, then paths
    ///
    /// The first argument is a name if a worktree of that name exists, else a path of the
    /// current worktree.
    #[arg(value_name = "name|path")]
    pub args: Vec<OsString>,
    /// Paths, even if they look like options
    #[arg(value_name = "path", last = true)]
    pub paths: Vec<OsString>,
    /// Print what would be restored, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Whether to wait for another command on the same worktree.
    #[command(flatten)]
    pub waiting: WaitOption,
    /// Undo a restore [default: the newest]
    ///
    /// Name a restore by the last part of its ref (the time), by the ref, or by the commit. Files,
    /// staged changes and the branch come back; index flags, write bits, sparse patterns, FIFOs and
    /// sockets do not. Refused (exit 4) if one of the paths was changed since, or if the branch has
    /// newer commits. The ref stays.
    #[arg(
        long,
        value_name = "restore",
        num_args = 0..=1,
        require_equals = true
    )]
    pub undo: Option<Option<String>>,
    /// An option that was removed: the error names `land --squash`.
    #[arg(long, hide = true)]
    pub rewrite: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}
