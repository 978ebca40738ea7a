//! Plans the import of a run from facts: what becomes of the branch, the index, what is staged and
//! the private git directory; pure.

use crate::actions::import::left_behind::{LeftBehind, RunIndex, index_of, leftovers};
use crate::record::run::{ImportConflict, KeptReason, Leftover};
use crate::words::name::CommitId;

/// What decides how a run is imported.
#[derive(Clone, Debug)]
pub struct ImportFacts {
    /// What the verification of the worktree with the commits of the run says.
    pub verdict: ImportVerdict,
    /// The commit of the branch when the run began, or since its import.
    pub began: Option<CommitId>,
    /// The commit of the branch before the import.
    pub before: Option<CommitId>,
    /// The commit of the branch once the lock of the index is held.
    pub now: Option<CommitId>,
    /// The commit that the run made of the branch; none where it made none, or the user merged it.
    pub tip: Option<CommitId>,
    /// Where the HEAD of the worktree is.
    pub head: UserHead,
    /// The command of git that the user has in progress in the worktree.
    pub operation: Option<&'static str>,
    /// Who holds the lock of the index of the worktree.
    pub lock: IndexLockHolder,
    /// The index of the worktree.
    pub user_index: UserIndex,
    /// What the run left beside commits on its branch.
    pub left: Vec<LeftBehind>,
}

/// Says whether all is in scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportVerdict {
    /// All is in scope.
    InScope,
    /// There are violations.
    Violations,
}

/// Says where the HEAD of the worktree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserHead {
    /// On the branch of the worktree.
    OnBranch,
    /// On another branch, or detached.
    Elsewhere,
}

/// Says who holds the lock of the index of the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexLockHolder {
    /// The import.
    Import,
    /// A git, which works or was killed.
    Git,
}

/// Says whether the index of the worktree is as the run knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UserIndex {
    /// As the run began, or as the run made it.
    AsInRun,
    /// The user staged something, or switched.
    Restaged,
}

/// How a run is imported.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImportPlan {
    /// What becomes of the branch.
    pub branch: BranchStep,
    /// What becomes of the index of the worktree.
    pub index: IndexStep,
    /// What becomes of what the run staged and did not commit.
    pub staged: StagedStep,
    /// What becomes of the private git directory.
    pub git_directory: GitDirectoryStep,
}

/// Says what becomes of the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchStep {
    /// It stays: the run has no commits for it.
    Stays,
    /// It moves, by compare-and-swap.
    Moves {
        /// The commit where it must be.
        from: CommitId,
        /// The commit of the run.
        to: CommitId,
    },
    /// It stays without the commits of the run, if there are any, and nothing else is imported.
    Kept(KeptReason),
}

/// Says what becomes of the index of the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IndexStep {
    /// It stays as it is.
    Stays,
    /// It becomes that of the run.
    TakenFromRun,
    /// It is moved to the commits of the run, with what the user staged.
    MovedToCommits,
}

/// Says what becomes of what the run staged and did not commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StagedStep {
    /// It comes with the index, stays in the run, or there is nothing.
    WithIndex,
    /// A ref keeps it, as the index of the run does not come.
    KeptByRef,
}

/// Says what becomes of the private git directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GitDirectoryStep {
    /// It is removed, with the refs that runs leave for a time.
    Removed,
    /// It stays for the next command, for this.
    Stays(Vec<Leftover>),
}

impl ImportFacts {
    /// Returns what the user did meanwhile with which the commits of a run do not fit.
    pub fn conflict(&self) -> Option<ImportConflict> {
        if self.began != self.now {
            return Some(ImportConflict::BranchMoved);
        }
        if self.head == UserHead::Elsewhere {
            return Some(ImportConflict::SwitchedAway);
        }
        if self.operation.is_some() {
            return Some(ImportConflict::OperationBegun);
        }
        match self.lock {
            IndexLockHolder::Git => Some(ImportConflict::IndexLocked),
            IndexLockHolder::Import => None,
        }
    }

    /// Returns why nothing is imported; none where it is. A conflict without commits of the run is
    /// none.
    fn kept_reason(&self) -> Option<KeptReason> {
        if self.verdict == ImportVerdict::Violations {
            return Some(KeptReason::Violations);
        }
        let conflict = self.conflict()?;
        let is_in_the_way = self.tip.is_some() || self.head == UserHead::Elsewhere;
        is_in_the_way.then_some(KeptReason::Conflict(conflict))
    }

    /// True if the index of the run cannot become that of the worktree for what the user did.
    fn is_index_in_the_way(&self) -> bool {
        self.user_index == UserIndex::Restaged || self.conflict().is_some()
    }

    fn staged_step(&self) -> StagedStep {
        if index_of(&self.left) != RunIndex::Unusable && self.is_index_in_the_way() {
            StagedStep::KeptByRef
        } else {
            StagedStep::WithIndex
        }
    }

    /// Returns what becomes of the branch where nothing keeps the commits of the run away.
    fn branch_step(&self) -> BranchStep {
        if let Some(before) = &self.before
            && let Some(tip) = &self.tip
        {
            return BranchStep::Moves {
                from: before.clone(),
                to: tip.clone(),
            };
        }
        BranchStep::Stays
    }

    fn index_step(&self, branch: &BranchStep) -> IndexStep {
        if index_of(&self.left) == RunIndex::Comes && !self.is_index_in_the_way() {
            return IndexStep::TakenFromRun;
        }
        match branch {
            // to git, an index of the old commit would undo the new ones
            BranchStep::Moves { .. } => IndexStep::MovedToCommits,
            BranchStep::Stays | BranchStep::Kept(_) => IndexStep::Stays,
        }
    }

    /// Returns what the private git directory stays for, if it does.
    pub fn leftovers(&self) -> Vec<Leftover> {
        let mut leftovers = leftovers(&self.left);
        if self.lock == IndexLockHolder::Git {
            leftovers.push(Leftover::LockedIndex);
        }
        leftovers
    }
}

/// Plans the import of a run.
pub fn plan(facts: &ImportFacts) -> ImportPlan {
    let leftovers = facts.leftovers();
    if let Some(why) = facts.kept_reason() {
        return ImportPlan {
            branch: BranchStep::Kept(why),
            index: IndexStep::Stays,
            staged: facts.staged_step(),
            git_directory: GitDirectoryStep::Stays(leftovers),
        };
    }
    let branch = facts.branch_step();
    ImportPlan {
        index: facts.index_step(&branch),
        branch,
        staged: facts.staged_step(),
        git_directory: if leftovers.is_empty() {
            GitDirectoryStep::Removed
        } else {
            GitDirectoryStep::Stays(leftovers)
        },
    }
}

#[cfg(test)]
mod tests;
