//! Defines the arguments of `git agentwt sync`.

use std::ffi::OsString;

use clap::Args;

use crate::arguments::output::{ListOutput, WaitOption};

/// Copy untracked files into a worktree again, or show their state
///
/// `[worktree.file_sync]` of the config, `.worktreeinclude` and the worktree's own `add --sync`
/// select the files in the main worktree: `.env` and the like. Excluded files are never copied, and
/// tracked files are never written. An unchanged copy is updated; a copy that was edited in the
/// worktree is refused (exit 4).
#[derive(Args, Debug)]
#[command(
    override_usage = "git agentwt sync [OPTIONS] [<name>... | --all]\n       \
        git agentwt sync --status [<name>... | --all]\n       \
        git agentwt sync [<name>] --pull <path>...\n       \
        git agentwt sync --clean [<name>... | --all]"
)]
pub struct Sync {
    /// The worktrees [default: the current worktree]
    #[arg(value_name = "name")]
    pub names: Vec<String>,
    /// Sync every worktree of this repository
    ///
    /// A refusal does not stop the other worktrees; the exit status is the status of the first
    /// refusal.
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// Print the state of every placed file, and copy nothing
    ///
    /// `same`, `source newer` (the main worktree has another content now), `edited here`, `missing`
    /// (deleted here) or `gone at source`; an edited file whose source changed too is
    /// `edited here, source newer`. Context files for the agent program are listed too.
    #[arg(long, conflicts_with_all = ["pull", "clean", "force", "dry_run"])]
    pub status: bool,
    /// Copy edited files back to the main worktree
    ///
    /// A path stands for itself and all paths below it; it is relative to the current directory
    /// inside the worktree, else to the worktree's root. Refused (exit 4) if the file in the main
    /// worktree has changed since the sync.
    #[arg(long, value_name = "path", num_args = 1.., conflicts_with_all = ["all", "clean"])]
    pub pull: Vec<OsString>,
    /// Remove the unchanged copies
    ///
    /// Edited copies are kept and listed, and so are context files for the agent program.
    #[arg(long, conflicts_with = "force")]
    pub clean: bool,
    /// Replace edited files, after saving them
    ///
    /// The replaced files, in the worktree or with --pull in the main worktree, are first committed
    /// under `refs/agentwt/rescue/<name>/<time>`, and the name of the ref is printed.
    #[arg(short, long)]
    pub force: bool,
    /// Print what would be done, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Whether to wait for another command on the same worktree.
    #[command(flatten)]
    pub waiting: WaitOption,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}
