//! Holds what the steps of a merge share, and what was asked for.

use crate::actions::follower::Follower;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// The work of one worktree that is merged, and what the steps share.
#[derive(Clone, Copy)]
pub struct WorkToMerge<'a> {
    /// The repository with the base branch.
    pub repository: &'a Repository,
    /// The worktree.
    pub worktree: &'a Worktree,
    /// What was asked for.
    pub request: &'a MergeRequest,
    /// Who follows.
    pub follower: Follower<'a>,
}

/// What was asked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MergeRequest {
    /// How to merge.
    pub wish: MergeWish,
    /// The message of the new commit; none for that of git.
    pub message: Option<String>,
    /// The remote that gets the work first; none where it is not pushed.
    pub remote: Option<String>,
    /// The command to type again.
    pub command: String,
}

/// Says how the user wants to merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeWish {
    /// As `git merge` does: by a fast-forward, else by a merge commit; `merge.ff` counts.
    AsConfigured,
    /// By a fast-forward or not at all.
    FastForwardOnly,
    /// As one commit.
    Squash,
    /// Each commit anew, on top of the base branch.
    Rebase,
}
