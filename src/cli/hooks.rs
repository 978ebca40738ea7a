//! Defines `hooks`, the hidden `hook` that the installed scripts call, `doctor` and `completions`.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use clap_complete::Shell;

use super::{AnswerOutput, ListOutput};

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
}

/// Holds the arguments of `hooks install` and `hooks uninstall`.
#[derive(Args, Debug)]
pub struct HooksInstall {
    /// A worktree's name, or the path of any linked worktree [default: the current worktree]
    ///
    /// A path may be that of a worktree of plain `git worktree add`. An argument that is not the name
    /// of a git-agentwt worktree is a path.
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

/// Handle a hook event; called by the installed hooks, not by users
#[derive(Args, Debug)]
pub struct Hook {
    /// The event, as githooks(5) names it
    #[arg(value_name = "event")]
    pub event: String,
    /// The event's own arguments, after `--` so that none is taken for an option
    #[arg(
        value_name = "arg",
        trailing_var_arg = true,
        allow_hyphen_values = true
    )]
    pub args: Vec<OsString>,
}

/// Print the completions of a shell
///
/// They complete both `git agentwt <TAB>` and `git-agentwt <TAB>`. `install.sh` installs them
/// where the shells find them.
#[derive(Args, Debug)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "shell")]
    pub shell: Shell,
}

/// Report problems of the set-up, and how to fix them
///
/// Checks git and git-agentwt, settings that break worktrees, the hooks, the ignore rules, tools
/// that would walk into the worktrees, leftovers of killed commands, and the file system. Each line
/// is `ok`, a `note`, a `warning` or a `problem`, and names the remedy. The command exits with 1 if
/// there is a warning or a problem, and changes nothing without --fix.
#[derive(Args, Debug)]
pub struct Doctor {
    /// Fix the problems that are safe to fix
    ///
    /// Writes the ignore rules, and installs hooks again that are missing or that start a missing
    /// program. All other remedies stay instructions.
    #[arg(long)]
    pub fix: bool,
    /// Print what --fix would do, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}
