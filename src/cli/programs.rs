//! Defines the commands that start programs in a worktree, or that programs call.

use std::ffi::OsString;

use clap::builder::PossibleValuesParser;
use clap::{Args, ValueEnum};

use super::ListOutput;
use crate::config::{Choice as _, Client};

/// Names a shell.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[expect(missing_docs, reason = "the names say it")]
pub enum ShellName {
    Bash,
    Zsh,
    Fish,
}

/// Print the environment of a worktree's programs, for a shell
///
/// `eval "$(git agentwt env task-5)"` sets `AGENTWT_NAME`, `AGENTWT_ROOT` (the worktree), `AGENTWT_MAIN`
/// (the main worktree), `AGENTWT_BASE` (the base commit), `AGENTWT_SCOPE_FILE` (the patterns of the
/// scope, as TOML), `AGENTWT_PORT` (the first of ten ports that no other worktree of this repository
/// has), and `GIT_CEILING_DIRECTORIES`, so that git never takes the main worktree for this one. `git
/// agentwt open` sets the same variables.
#[derive(Args, Debug)]
pub struct Env {
    /// The worktree [default: the current worktree]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// Print the lines for this shell [default: any POSIX shell]
    #[arg(long, value_name = "shell")]
    pub shell: Option<ShellName>,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

/// Start the agent program or the editor in a worktree
///
/// Starts the command of `git config --global agentwt.opener`, else the client of the worktree, else that of the
/// config, else your editor, if one is set, in the worktree and with the variables of `git agentwt env`. The program is not fenced: it
/// can read and write whatever you can. The exit status is that of the program.
#[derive(Args, Debug)]
pub struct Open {
    /// The worktree
    #[arg(value_name = "name")]
    pub name: String,
    /// Give the client this task
    ///
    /// The text is passed as the program takes it: `claude <text>`, `gemini -i <text>`.
    #[arg(long, value_name = "text")]
    pub prompt: Option<OsString>,
    /// The arguments of the program
    #[arg(value_name = "arg", last = true)]
    pub arguments: Vec<OsString>,
}

/// Print a shell function that changes to worktrees
///
/// Add `eval "$(git agentwt shell-init bash)"` to ~/.bashrc, or likewise for zsh; for fish, `git agentwt
/// shell-init fish | source`. Then `awt task-5` changes to the worktree, `awt -` goes back, `awt` goes to
/// the main worktree, and Tab completes names.
#[derive(Args, Debug)]
pub struct ShellInit {
    /// The shell
    #[arg(value_name = "shell")]
    pub shell: ShellName,
}

/// Print one short line on a worktree, for prompts and status lines
///
/// Prints the name, the stored verdict, and the number of commits since the base: `task-5 ok +2`. Prints
/// nothing outside of a worktree. No file of the worktree is read.
#[derive(Args, Debug)]
pub struct Statusline {
    /// The worktree [default: the current worktree]
    #[arg(value_name = "name")]
    pub name: Option<String>,
}

/// Decide on a tool call of an agent program, before it edits a file
///
/// Reads the call from stdin, the JSON that the program gives its hook, and decides by the scope of the
/// worktree. A call that edits a file out of scope, in the main worktree or in another worktree is answered
/// with a denial that the program understands: the rule that decided, and the path to use instead. Every
/// other call is answered with nothing, and the program goes on as usual. `git agentwt add --client` writes
/// the hook.
///
/// Links and `..` are followed; a file that does not exist yet is judged as a new file. Shell commands pass.
/// Input that is not a tool call passes with a warning on stderr.
#[derive(Args, Debug)]
pub struct Guard {
    /// Answer as this program expects it [default: detected from the call]
    #[arg(long, value_name = "name", value_parser = PossibleValuesParser::new(Client::words()))]
    pub client: Option<String>,
}
