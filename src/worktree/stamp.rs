//! Holds what a removal has decided: [`Removal`], the file `removing` of a record.

use serde::{Deserialize, Serialize};

use crate::name::CommitId;

/// Says that a worktree is being removed, so that another call can finish the removal; in the trash,
/// what the worktree was.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Removal {
    /// [`VERSION`](super::VERSION).
    pub version: u32,
    /// When it began, RFC 3339 in UTC.
    pub began: String,
    /// When the worktree was made: a later worktree of the same name is another.
    pub created: String,
    /// Where the branch is that is deleted; none when the branch stays.
    pub branch_at: Option<CommitId>,
    /// The ref that keeps commits, if one does.
    pub saved: Option<String>,
    /// How the worktree goes into the trash; none when it is deleted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trash: Option<TrashStamp>,
}

/// Says when a worktree went into the trash, and what its HEAD and branch were.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TrashStamp {
    /// The second half of the names in the trash: `20261122T083457Z`, or `…Z-2`.
    pub time: String,
    /// The commit of HEAD; none while its branch had no commit.
    pub head: Option<CommitId>,
    /// The ref that HEAD named; none when HEAD named a commit.
    pub on: Option<String>,
    /// The commit of the worktree's branch; none when the branch was gone.
    pub tip: Option<CommitId>,
}
