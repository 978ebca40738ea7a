//! Defines the commands by which a person agrees: `accept` with findings, `trust` with commands.

use std::ffi::OsString;

use clap::Args;

use super::{AnswerOutput, ListOutput};

/// Accept findings of a worktree as they are now
///
/// An accepted finding is neither a violation nor a notice any more. A path is accepted by its content,
/// a ref by its commit, a setting or hook by its value: a later change is reported again. Who accepted
/// what, and when, is in the record, and `git agentwt status` shows it. The base and the scope stay as
/// they are.
///
/// Only a person accepts: the command is refused (exit 4) inside a worktree. A path stands for itself
/// and all paths below it; it is relative to the current directory.
#[derive(Args, Debug)]
#[command(
    override_usage = "git agentwt accept [OPTIONS] <name> <path>...\n       \
        git agentwt accept [OPTIONS] <name> [--refs] [--shared] [--all]\n       \
        git agentwt accept [OPTIONS] <name> --undo"
)]
pub struct Accept {
    /// The worktree
    #[arg(value_name = "name")]
    pub name: String,
    /// The paths whose findings are accepted, but not what only the history has
    #[arg(value_name = "path")]
    pub paths: Vec<OsString>,
    /// Accept the refs that were moved, created or deleted
    #[arg(long)]
    pub refs: bool,
    /// Accept shared settings, hooks and rule files, for all worktrees at once
    ///
    /// All linked worktrees of a repository share them. What differs in another worktree only, as that
    /// worktree was created earlier, is not accepted. A clone has its own.
    #[arg(long)]
    pub shared: bool,
    /// Accept everything, history too
    ///
    /// What has no content that could be recorded, as damage of the worktree, cannot be accepted; if
    /// such violations remain, the exit status is 1.
    #[arg(long)]
    pub all: bool,
    /// Take the last acceptance back
    #[arg(long, conflicts_with_all = ["paths", "refs", "shared", "all"])]
    pub undo: bool,
    /// Print what would be accepted, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Trust the set-up commands of the config
///
/// Prints the commands of `[setup]` and `[teardown]` in `.agentwt/config.toml`, and records their
/// digest for this repository in your own state directory, never in the repository. From then on
/// `git agentwt add` runs the commands of `[setup]` in a new worktree, and `remove` and `land` run
/// those of `[teardown]`. A text that changed is not run until you trust it again.
///
/// Only a person trusts: the command is refused (exit 4) inside a worktree.
#[derive(Args, Debug)]
pub struct Trust {
    /// Print everything that you trust, in all repositories
    #[arg(long, conflicts_with_all = ["revoke", "dry_run"])]
    pub list: bool,
    /// Take the trust in all texts of this repository back
    #[arg(long)]
    pub revoke: bool,
    /// Print what would be trusted, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}
