//! Holds what a removal has decided, once all that would be lost is saved.

use serde::{Deserialize, Serialize};

use crate::name::CommitId;

/// Says that a worktree is being removed: whoever finds it without its directory finishes that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Removal {
    /// [`VERSION`](super::record::VERSION).
    pub version: u32,
    /// When it began, RFC 3339 in UTC.
    pub began: String,
    /// When the worktree was made that it is about: a later one of the same name is another.
    pub created: String,
    /// Where the branch is that is deleted; none when it stays.
    pub branch_at: Option<CommitId>,
    /// The ref under which work was saved, if any was.
    pub saved: Option<String>,
}
