//! Defines `init`, `reapply` and `remove`: the commands that set up, put right and take away.

use camino::Utf8PathBuf;
use clap::{ArgAction, Args};

use super::{AnswerOutput, WaitOption};

/// Write .agentwt/config.toml, and ignore .agentwt/worktrees/
///
/// The config gets a default scope, proposed from what the repository has, and comments that
/// explain every key. A file that exists is kept as it is. Commit the config: it is meant to be
/// shared.
#[derive(Args, Debug)]
#[command(after_long_help = INIT_EXAMPLES)]
pub struct Init {
    /// Print what would be written, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// Put back what is present and what is writable, as the scope says
///
/// The sparse-checkout patterns and the write bits of the files are set as the recorded scope
/// says. The hooks do this by themselves after a checkout, merge, rebase, reset or stash; this
/// is for when they could not. Contents are never changed.
#[derive(Args, Debug)]
#[command(after_long_help = REAPPLY_EXAMPLES)]
pub struct Reapply {
    /// The worktree [default: the one you stand in]
    #[arg(value_name = "name")]
    pub name: Option<String>,
    /// Print what would be put back, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// Remove worktrees, never losing work
///
/// Refused (exit 4), with all reasons at once, when there is uncommitted work, an untracked file, an
/// edited placed file, or a commit that is nowhere else; and while the worktree is in use. The
/// branch is deleted only when it is merged: by its commits, or by what they change. A worktree that
/// `git agentwt add` did not make is never touched.
#[derive(Args, Debug, Default)]
#[command(after_long_help = REMOVE_EXAMPLES)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a flag of its own on the command line"
)]
pub struct Remove {
    /// The worktrees
    #[arg(value_name = "name", required = true)]
    pub names: Vec<String>,
    /// Remove it with its work, after saving that; twice, also while it is in use
    ///
    /// The whole worktree, untracked and edited synced files included, is first committed under
    /// `refs/agentwt/trash/<name>/<time>`, and that name is printed. `--undo` brings it back. Twice (`-ff`), a lock, a
    /// process that works inside and a live owner do not stop it either.
    #[arg(short, long, action = ArgAction::Count)]
    pub force: u8,
    /// Who asks: a worktree whose live owner this is goes
    #[arg(long, value_name = "id")]
    pub owner: Option<String>,
    /// Return only when everything is deleted
    ///
    /// Otherwise what takes long is left to a process that goes on in the background.
    #[arg(long)]
    pub wait: bool,
    /// Delete the branch even when it is not merged
    ///
    /// Its tip is kept under `refs/agentwt/trash/<name>/<time>`.
    #[arg(short = 'D', long, conflicts_with = "keep_branch")]
    pub delete_branch: bool,
    /// Keep the branch even when it is merged
    #[arg(long)]
    pub keep_branch: bool,
    /// Bring back what was removed with --force
    ///
    /// Worktree, branch, index, and untracked and synced files come back as they were, and its
    /// path is printed. Refused (exit 4) when something of that name is there, or when its branch
    /// is somewhere else by now. The ref stays. With -n, what would come back is shown.
    #[arg(long, conflicts_with_all = ["force", "delete_branch", "keep_branch"])]
    pub undo: bool,
    /// With --undo, the removal to undo [default: the newest]
    ///
    /// It is named by the last part of its ref (the time), by the ref, or by the commit.
    #[arg(long, value_name = "removal", requires = "undo")]
    pub from: Option<String>,
    /// Print what would be removed, and do nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Whether to wait for another that works on the same worktree.
    #[command(flatten)]
    pub waiting: WaitOption,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

/// Delete what removals have left in the trash of a repository; called by `remove`, not by people
#[derive(Args, Debug)]
pub struct EmptyTrash {
    /// The directory that holds `.agentwt`
    #[arg(value_name = "root")]
    pub root: Utf8PathBuf,
}

const INIT_EXAMPLES: &str = "\
Examples:
  Write the config, look at it, and commit it:
      git agentwt init
      git add .agentwt/config.toml

  See first what would be written:
      git agentwt init -n";

const REAPPLY_EXAMPLES: &str = "\
Examples:
  After a tool has made every file writable:
      git agentwt reapply task-5

  Is anything not as it should be:
      git agentwt reapply task-5 -n";

const REMOVE_EXAMPLES: &str = "\
Examples:
  The work is merged:
      git agentwt remove task-5

  The work is not wanted, branch included:
      git agentwt remove task-6 --force --delete-branch

  That was wrong:
      cd \"$(git agentwt remove --undo task-6)\"

  What can be brought back:
      git for-each-ref refs/agentwt/trash";
