//! Defines the arguments of `git agentwt completions`, `shell-init` and `schema`.

use clap::Args;
use clap_complete::Shell;

use crate::commands::env::ShellName;

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

/// Print a shell function that changes to worktrees
///
/// Add `eval "$(git agentwt shell-init bash)"` to ~/.bashrc, or likewise for zsh; for fish, `git
/// agentwt shell-init fish | source`. Then `awt task-5` changes to the worktree, `awt -` goes back,
/// `awt` goes to the main worktree, and Tab completes names.
#[derive(Args, Debug)]
pub struct ShellInit {
    /// The shell
    #[arg(value_name = "shell")]
    pub shell: ShellName,
}

/// Print the JSON Schema of an answer
///
/// Without a document, print the names of the documents. A document has the name of its command:
/// `git agentwt verify --json` prints the document `verify`, as `run --json` prints `exec`. The
/// document of an error is `error`.
#[derive(Args, Debug)]
pub struct Schema {
    /// The name of the document
    #[arg(value_name = "document")]
    pub document: Option<String>,
}
