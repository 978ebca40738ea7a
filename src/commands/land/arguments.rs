//! Defines the arguments of `git agentwt land`.

use clap::Args;

use crate::actions::merge::apply::MergeIntent;
use crate::actions::merge::work::{MergeRequest, MergeWish};
use crate::arguments::output::{AnswerOutput, WaitOption};
use crate::words::name::WorktreeName;
use crate::words::path::shell_word;
use crate::words::text::when;

/// Verify worktrees, merge them into the base branch, and remove them
///
/// Lands the commits of the worktree's branch in the branch from which `git agentwt add` took the
/// base. Refused when the worktree has violations (exit 1, with the findings), or when something is
/// not committed, the base branch is checked out with uncommitted changes, or the merge has
/// conflicts (exit 4, with the next commands): then nothing was changed. What is landed is exactly
/// the commit that was verified.
///
/// Several worktrees are landed in order; the rest is verified again after each.
#[derive(Args, Debug)]
pub struct Land {
    /// The worktrees
    #[arg(value_name = "name", required = true)]
    pub names: Vec<String>,
    /// Only bring the base branch forward; refuse where it has other commits
    #[arg(long, conflicts_with_all = ["rebase", "squash", "message"])]
    pub ff_only: bool,
    /// Create each commit again on top of the base branch
    ///
    /// Author, date and message stay. Refused (exit 4) if there is a merge among the commits.
    #[arg(long, conflicts_with_all = ["squash", "message"])]
    pub rebase: bool,
    /// Create one commit of all, whose message lists them
    #[arg(long)]
    pub squash: bool,
    /// The message of the merge or squash commit
    #[arg(short, long, value_name = "message")]
    pub message: Option<String>,
    /// Keep the worktree and its branch
    #[arg(long)]
    pub keep: bool,
    /// Push what is landed to this remote first
    ///
    /// If the push fails, nothing has moved: the base branch, the worktree and its claim are as
    /// they were, the exit status is 5, and the same command can be repeated.
    #[arg(long, value_name = "remote")]
    pub push: Option<String>,
    /// Your owner id: your live process does not stop the removal
    #[arg(long, value_name = "id")]
    pub owner: Option<String>,
    /// Verify, try the merge, and change nothing
    #[arg(short = 'n', long)]
    pub dry_run: bool,
    /// Whether to wait for another command on the same worktree.
    #[command(flatten)]
    pub waiting: WaitOption,
    /// How to print the answer.
    #[command(flatten)]
    pub output: AnswerOutput,
}

impl Land {
    /// What is asked for, for one of the worktrees.
    pub fn request(&self, name: &WorktreeName) -> MergeRequest {
        let wish = match self {
            Self { ff_only: true, .. } => MergeWish::FastForwardOnly,
            Self { squash: true, .. } => MergeWish::Squash,
            Self { rebase: true, .. } => MergeWish::Rebase,
            _plain => MergeWish::AsConfigured,
        };
        MergeRequest {
            wish,
            message: self.message.clone(),
            remote: self.push.clone(),
            command: self.command(name),
        }
    }

    /// The command to type again, for one of the worktrees.
    fn command(&self, name: &WorktreeName) -> String {
        let mut command = "git agentwt land".to_owned();
        command += when(self.squash, " --squash");
        command += when(self.rebase, " --rebase");
        command += when(self.ff_only, " --ff-only");
        command += when(self.keep, " --keep");
        if let Some(message) = &self.message {
            command += &format!(" -m {}", shell_word(message));
        }
        if let Some(remote) = &self.push {
            command += &format!(" --push {}", shell_word(remote));
        }
        if let Some(owner) = &self.owner {
            command += &format!(" --owner {}", shell_word(owner));
        }
        format!("{command} {name}")
    }

    /// Whether anything is to be changed.
    pub const fn intent(&self) -> MergeIntent {
        if self.dry_run {
            MergeIntent::Look
        } else {
            MergeIntent::Merge
        }
    }
}
