//! Defines the arguments of `git agentwt hooks`.

use std::ffi::OsString;

use clap::Args;
use clap::Subcommand;
use clap::ValueEnum;

use crate::arguments::output::{AnswerOutput, ListOutput};

/// Install, remove or show the hooks of one worktree
///
/// The hooks verify the worktree after each commit and restore the write bits after a checkout,
/// merge, rebase, reset or stash. They apply to this worktree only: the hooks of the main worktree
/// and your own hooks do not change and run as before. `git agentwt add` installs the hooks.
#[derive(Args, Debug)]
#[command(
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    subcommand_value_name = "command"
)]
pub struct Hooks {
    /// What to do with the hooks.
    #[command(subcommand)]
    pub command: HooksCommand,
}

/// Names what to do with the hooks of a worktree.
#[derive(Debug, Subcommand)]
pub enum HooksCommand {
    /// Install the hooks in a worktree, or bring them up to date
    Install(HooksInstall),
    /// Remove the hooks from a worktree, and change nothing else
    Uninstall(HooksInstall),
    /// Show which hooks are installed, and whether they work
    Status(HooksStatus),
    /// Let Claude Code make its worktrees by git-agentwt
    Claude(HooksClaude),
}

/// Holds the arguments of `hooks claude`.
#[derive(Args, Debug)]
pub struct HooksClaude {
    /// Write the two hooks to the settings of Claude Code, remove them, or show them
    #[arg(value_name = "action")]
    pub action: ClaudeAction,
    /// Print what would be done, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Names what to do with the worktree hooks of Claude Code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum ClaudeAction {
    /// `claude --worktree` and isolated subagents get a scoped worktree.
    Install,
    /// Claude Code makes worktrees itself again.
    Uninstall,
    /// Exit 1 if a hook is missing, or calls a program that does not exist.
    Status,
}

/// Holds the arguments of `hooks install` and `hooks uninstall`.
#[derive(Args, Debug)]
pub struct HooksInstall {
    /// A worktree's name, or the path of any linked worktree [default: the current worktree]
    ///
    /// A path may be that of a worktree of plain `git worktree add`. An argument that is not the
    /// name of a git-agentwt worktree is a path.
    #[arg(value_name = "name|path")]
    pub worktree: Option<OsString>,
    /// Print what would be done, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// Holds the arguments of `hooks status`.
#[derive(Args, Debug)]
pub struct HooksStatus {
    /// A worktree's name, or the path of any linked worktree [default: the current worktree]
    #[arg(value_name = "name|path")]
    pub worktree: Option<OsString>,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}
