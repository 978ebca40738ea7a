//! Defines the arguments of `git agentwt remove`.

use camino::Utf8PathBuf;
use clap::ArgAction;
use clap::Args;

use crate::actions::remove::plan::RemoveOptions;
use crate::arguments::output::{AnswerOutput, WaitOption};

/// Remove worktrees, never losing work
///
/// Refuses (exit 4), with all reasons listed together, when there is uncommitted work, an untracked
/// file, an edited placed file, or a commit that no other ref has; and while the worktree is in
/// use. The branch is deleted only when it is merged: by its commits, or by their changes. A
/// worktree that `git agentwt add` did not create is never touched.
#[derive(Args, Debug, Default)]
pub struct Remove {
    /// The worktrees [default: the current worktree]
    ///
    /// Only without a name, and without --force, a worktree is removed from inside.
    #[arg(value_name = "name", required_if_eq("undo", "true"))]
    pub names: Vec<String>,
    /// Remove it with its work, which is kept in the trash; twice, also while it is in use
    ///
    /// The whole worktree is renamed to `.agentwt/worktrees/.trash/<name>-<time>`, and that
    /// directory is printed. `--undo` brings it back as it was, without the files that the base
    /// ignores: these are deleted, in the background; `-n` names them. Twice (`-ff`), a lock, a
    /// process that works inside and a live owner do not stop it either.
    #[arg(short, long, action = ArgAction::Count)]
    pub force: u8,
    /// Your owner id: your live process does not stop the removal
    #[arg(long, value_name = "id")]
    pub owner: Option<String>,
    /// Return only when all that goes at once is deleted
    ///
    /// Otherwise a background process deletes ignored files and large directories.
    #[arg(long)]
    pub wait: bool,
    /// Delete the branch even if it is not merged
    ///
    /// Its tip is kept under `refs/agentwt/trash/<name>/<time>`.
    #[arg(short = 'D', long, conflicts_with = "keep_branch")]
    pub delete_branch: bool,
    /// Keep the branch even if it is merged
    #[arg(long)]
    pub keep_branch: bool,
    /// Bring back what was removed with --force, or was clean and removed within the last hour
    ///
    /// Worktree, branch, index, and untracked and synced files come back as they were, and its
    /// path is printed. Refused (exit 4) when something of that name is there, or when its branch
    /// is somewhere else by now. With -n, what would come back is shown.
    #[arg(long, conflicts_with_all = ["force", "delete_branch", "keep_branch"])]
    pub undo: bool,
    /// With --undo, the removal to undo [default: the newest]
    ///
    /// It is named by its directory in the trash, by the time in its name, or by the ref or commit
    /// that keeps its commits.
    #[arg(long, value_name = "removal", requires = "undo")]
    pub from: Option<String>,
    /// Print what would be removed, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Whether to wait for another command on the same worktree.
    #[command(flatten)]
    pub waiting: WaitOption,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
    /// Whether a hook of the program that works there asks: the processes above it do not stop the
    /// removal.
    #[arg(skip)]
    pub by_hook: bool,
}

/// Delete what removals have left in the trash of a repository; called by `remove`, not by people
#[derive(Args, Debug)]
pub struct EmptyTrash {
    /// The directory that holds `.agentwt`
    #[arg(value_name = "root")]
    pub root: Utf8PathBuf,
}

impl Remove {
    /// What the removal may give up.
    pub fn removal(&self) -> RemoveOptions {
        RemoveOptions {
            force: self.force,
            owner: self.owner.clone(),
            delete_branch: self.delete_branch,
            keep_branch: self.keep_branch,
            dry_run: self.dry_run,
        }
    }
}
