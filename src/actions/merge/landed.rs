//! Says what was merged, and how.

use schemars::JsonSchema;
use serde::Serialize;

use crate::actions::remove::RemovalCandidate;
use crate::actions::remove::plan::{Merged, MergedHow};
use crate::words::name::{BranchName, CommitId};

/// How work was landed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LandedWork {
    /// The base branch.
    #[schemars(with = "String")]
    pub into: BranchName,
    /// `fast-forward`, `merge`, `squash`, `rebase`, or `already` (the base branch had it).
    #[schemars(with = "String")]
    pub how: MergeMethod,
    /// The commit that was verified.
    pub verified: CommitId,
    /// The commit of the base branch before.
    pub before: CommitId,
    /// The commit of the base branch now; null with `-n`, where the commit would be new.
    pub commit: Option<CommitId>,
}

/// Says how the base branch gets the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum MergeMethod {
    /// The base branch has the work already.
    Already,
    /// The base branch goes forward to the commit of the work.
    FastForward,
    /// By a commit with two parents.
    Merge,
    /// By one commit with all of the work.
    Squash,
    /// Each commit is created again on top of the base branch.
    Rebase,
}

impl MergeMethod {
    /// Its name in the answer, and for hooks.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Already => "already",
            Self::FastForward => "fast-forward",
            Self::Merge => "merge",
            Self::Squash => "squash",
            Self::Rebase => "rebase",
        }
    }
}

impl LandedWork {
    /// Takes the branch as merged, for its removal.
    pub fn assume_in(&self, candidate: &mut RemovalCandidate) {
        let merged = match self.how {
            MergeMethod::FastForward | MergeMethod::Merge => None,
            // the base branch has the content, and not these commits
            MergeMethod::Already | MergeMethod::Squash | MergeMethod::Rebase => Some(Merged {
                how: MergedHow::Contained,
                commit: None,
                reference: Some(self.into.full_ref()),
            }),
        };
        candidate.assume_merged(&self.verified, merged);
    }
}
