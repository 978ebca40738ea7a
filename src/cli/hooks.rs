//! Defines `hooks`, the hidden `hook` that the installed scripts call, `doctor` and `completions`.

use std::ffi::OsString;

use clap::{Args, Subcommand};
use clap_complete::Shell;

use super::{AnswerOutput, ListOutput};

/// Install, remove or show the hooks of one worktree
///
/// The hooks verify the worktree after each commit and put write bits back after a checkout,
/// merge, rebase, reset or stash. They are of this worktree only: the main worktree's hooks and
/// your own are not changed and run as before. `git agentwt add` installs them by itself.
#[derive(Args, Debug)]
#[command(
    after_long_help = EXAMPLES,
    subcommand_required = true,
    arg_required_else_help = true,
    disable_help_subcommand = true,
    subcommand_value_name = "command"
)]
pub struct Hooks {
    /// What to do with them.
    #[command(subcommand)]
    pub command: HooksCommand,
}

/// Names what to do with the hooks of a worktree.
#[derive(Debug, Subcommand)]
pub enum HooksCommand {
    /// Install the hooks in a worktree, or bring them up to date
    Install(HooksInstall),
    /// Remove the hooks from a worktree, and leave all else as it was
    Uninstall(HooksInstall),
    /// Show which hooks are installed, how, and whether they work
    Status(HooksStatus),
}

/// Holds the arguments of `hooks install` and `hooks uninstall`.
#[derive(Args, Debug)]
pub struct HooksInstall {
    /// A worktree's name, or the path of any linked worktree [default: where you stand]
    ///
    /// A path may be that of a worktree made by plain `git worktree add`. What is no name of a
    /// worktree of ours is taken as a path.
    #[arg(value_name = "name|path")]
    pub worktree: Option<OsString>,
    /// Print what would be done, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// Holds the arguments of `hooks status`.
#[derive(Args, Debug)]
pub struct HooksStatus {
    /// A worktree's name, or the path of any linked worktree [default: where you stand]
    #[arg(value_name = "name|path")]
    pub worktree: Option<OsString>,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Act on a hook event; called by the installed hooks, not by people
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
/// They complete `git agentwt <TAB>` as well as `git-agentwt <TAB>`. `install.sh` puts them
/// where the shells find them.
#[derive(Args, Debug)]
#[command(after_long_help = COMPLETIONS_EXAMPLES)]
pub struct Completions {
    /// The shell
    #[arg(value_name = "shell")]
    pub shell: Shell,
}

const EXAMPLES: &str = "\
Examples:
  Are they there:
      git agentwt hooks status task-5

  The same service for a worktree made by plain git:
      git worktree add ../review
      git agentwt hooks install ../review

  Without them again:
      git agentwt hooks uninstall ../review";

const COMPLETIONS_EXAMPLES: &str = "\
Examples:
  For bash, until the shell ends:
      source <(git agentwt completions bash)

  For fish, for good:
      git agentwt completions fish > ~/.config/fish/completions/git-agentwt.fish";

/// Say what is wrong with the set-up, and how to put it right
///
/// Looks at git and this program, at settings that break worktrees, at the hooks, at the ignore
/// rules, at tools that would walk into the worktrees, at what was left behind, and at the file
/// system. Each line is `ok`, a `note`, a `warning` or a `problem`, and names what puts it right.
/// It ends with 1 when there is a warning or a problem, and changes nothing without --fix.
#[derive(Args, Debug)]
#[command(after_long_help = DOCTOR_EXAMPLES)]
pub struct Doctor {
    /// Put right what is safe to put right
    ///
    /// The ignore rules are written, and hooks of worktrees that are gone, or start a program that
    /// is gone, are installed again. All else stays an instruction.
    #[arg(long)]
    pub fix: bool,
    /// Print what --fix would do, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

const DOCTOR_EXAMPLES: &str = "\
Examples:
  What is wrong here, and how to put it right:
      git agentwt doctor

  Put right what is safe, and see first what that is:
      git agentwt doctor -n
      git agentwt doctor --fix

  Only what is wrong, for a script:
      git agentwt doctor --porcelain | grep -E '^(warning|problem)'";
