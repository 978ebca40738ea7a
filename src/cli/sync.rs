//! Defines `sync`: untracked files between the main worktree and an agent's.

use std::ffi::OsString;

use clap::Args;

use super::{ListOutput, WaitOption};

/// Copy untracked files into a worktree again, or say how they are
///
/// The files are those that `[worktree.file_sync]` of the config, `.worktreeinclude` and the
/// worktree's own `add --sync` select in the main worktree: `.env` and the like. What the scope
/// excludes is never copied, a tracked file is never written. A copy that was not touched is
/// brought up to date; one that was edited in the worktree is refused (exit 4).
#[derive(Args, Debug)]
#[command(
    after_long_help = SYNC_EXAMPLES,
    override_usage = "git agentwt sync [OPTIONS] [<name>... | --all]\n       \
        git agentwt sync --status [<name>... | --all]\n       \
        git agentwt sync [<name>] --pull <path>...\n       \
        git agentwt sync --clean [<name>... | --all]"
)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct Sync {
    /// The worktrees [default: the one you stand in]
    #[arg(value_name = "name")]
    pub names: Vec<String>,
    /// Take every worktree of this repository
    ///
    /// Each is synced for itself: one that is refused does not stop the others, and the exit
    /// status is that of the first refusal.
    #[arg(long, conflicts_with = "names")]
    pub all: bool,
    /// Say of every placed file whether it is as it was placed, and copy nothing
    ///
    /// `same`, `source newer` (the main worktree has another content by now), `edited here`,
    /// `missing` (it was deleted here) or `gone at source`; an edited file whose source changed
    /// as well is `edited here, source newer`. Context for the agent program is listed too.
    #[arg(long, conflicts_with_all = ["pull", "clean", "force", "dry_run"])]
    pub status: bool,
    /// Bring edited files back to the main worktree
    ///
    /// A path means itself and all below it; it is relative to the current directory inside the
    /// worktree, else to the worktree's root. Refused (exit 4) when the main worktree's own file
    /// is not the one that was synced any more.
    #[arg(long, value_name = "path", num_args = 1.., conflicts_with_all = ["all", "clean"])]
    pub pull: Vec<OsString>,
    /// Remove the copies that were not touched
    ///
    /// Those that were edited are kept and named, and so is context for the agent program.
    #[arg(long, conflicts_with = "force")]
    pub clean: bool,
    /// Replace what was edited, after saving it
    ///
    /// What is replaced, in the worktree or with --pull in the main worktree, is first committed
    /// under `refs/agentwt/rescue/<name>/<time>`, and that name is printed.
    #[arg(short, long)]
    pub force: bool,
    /// Print what would be done, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Whether to wait for another that works on the same worktree.
    #[command(flatten)]
    pub waiting: WaitOption,
    /// How to print the answer.
    #[command(flatten)]
    pub output: ListOutput,
}

const SYNC_EXAMPLES: &str = "\
Examples:
  The main worktree has a new .env: copy it into the worktree you stand in, or into all:
      git agentwt sync
      git agentwt sync --all

  What is not as it was placed:
      git agentwt sync task-5 --status

  The agent's edit of a local file is good; keep it:
      git agentwt sync task-5 --pull config/local.json

  The secrets are not needed any more, the worktree is:
      git agentwt sync task-5 --clean";
