//! Reads what decides how work is merged.

use crate::actions::merge::plan::{
    BaseBranchState, BaseCheckout, BaseTip, FastForwardSetting, HistoryFacts, PlaceFacts, Relation,
    StartOfWork,
};
use crate::actions::merge::work::WorkToMerge;
use crate::disk::files;
use crate::git::process::Git;
use crate::record::worktree::Record;
use crate::truth::head::WorktreeHead;
use crate::words::error::Error;
use crate::words::name::{BranchName, CommitId, branch_of};
use crate::worktree::operation::{find_operation, find_worktree_at_work_on, read_operation};
use crate::worktree::private_git::PrivateGit;

/// Returns the branch that the base of a worktree was taken from: the one that was named, else the
/// only one that the base follows.
pub fn base_branch(record: &Record) -> Option<BranchName> {
    let revision = record.base.revision.as_str();
    let named = branch_of(revision);
    let mut branches = Vec::new();
    for tip in &record.base.tips {
        if let Some(branch) = tip.name.strip_prefix("refs/heads/")
            && branch != record.branch.as_str()
        {
            branches.push(branch);
        }
    }
    match branches.as_slice() {
        [only] => Some(BranchName::from_git(*only)),
        several if several.contains(&named) => Some(BranchName::from_git(named)),
        _several => None,
    }
}

impl WorkToMerge<'_> {
    /// Reads what stands in the worktree and at the base branch. `head` was verified.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn read_place(
        &self,
        head: &WorktreeHead,
        uncommitted: Vec<String>,
    ) -> Result<PlaceFacts, Error> {
        let record = &self.worktree.record;
        let run_lock = self.repository.run_lock(&record.name);
        let mut facts = PlaceFacts {
            has_running_command: run_lock.is_held(),
            operation: read_operation(record),
            operation_of_run: find_operation(&PrivateGit::new(self.worktree).git_dir()),
            verified: commit_on_own_branch(record, head),
            uncommitted,
            base: self.read_base()?,
            checkouts: Vec::new(),
            busy: None,
        };
        if let BaseBranchState::At(base) = &facts.base {
            facts.checkouts = self.read_checkouts(&base.name)?;
            facts.busy = find_worktree_at_work_on(&base.name, &self.repository.common_dir)?;
        }
        Ok(facts)
    }

    fn read_base(&self) -> Result<BaseBranchState, Error> {
        let Some(name) = base_branch(&self.worktree.record) else {
            return Ok(BaseBranchState::Unknown);
        };
        let at = self.repository.git.rev_parse_commit(&name.full_ref())?;
        Ok(match at {
            Some(at) => BaseBranchState::At(BaseTip { name, at }),
            None => BaseBranchState::Gone(name),
        })
    }

    /// Reads the worktrees that have the base branch checked out, and are there.
    fn read_checkouts(&self, into: &BranchName) -> Result<Vec<BaseCheckout>, Error> {
        let git = &self.repository.git;
        let full = into.full_ref();
        let mut checkouts = Vec::new();
        for entry in self.repository.worktree_list()? {
            if entry.branch.as_ref() == Some(&full) && files::is_directory(&entry.path) {
                let git_there = git.at(&entry.path);
                checkouts.push(BaseCheckout {
                    changed: git_there.changed_files()?,
                    operation: find_operation(&git_there.absolute_git_dir()?),
                    path: entry.path,
                });
            }
        }
        Ok(checkouts)
    }

    /// Reads how the work and the base branch stand to each other. `git` has the objects of both.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn read_history(
        &self,
        git: &Git,
        base: &CommitId,
        verified: &CommitId,
    ) -> Result<HistoryFacts, Error> {
        let relation = if git.is_ancestor(verified, base)? {
            Relation::Contained
        } else if git.is_ancestor(base, verified)? {
            Relation::Ahead
        } else {
            Relation::Diverged
        };
        let start = match relation {
            // nothing is merged, and the commit may be gone by now
            Relation::Contained => StartOfWork::InBaseBranch,
            Relation::Ahead | Relation::Diverged => self.read_start(git, base, verified)?,
        };
        Ok(HistoryFacts {
            relation,
            start,
            setting: read_fast_forward_setting(git)?,
        })
    }

    /// Reads who has the commit that the work began from.
    fn read_start(
        &self,
        git: &Git,
        base: &CommitId,
        verified: &CommitId,
    ) -> Result<StartOfWork, Error> {
        let start = &self.worktree.record.base.commit;
        let is_in_work = git.is_ancestor(start, verified)?;
        Ok(if is_in_work && !git.is_ancestor(start, base)? {
            StartOfWork::OnlyInWork
        } else {
            StartOfWork::InBaseBranch
        })
    }
}

fn read_fast_forward_setting(git: &Git) -> Result<FastForwardSetting, Error> {
    if git.config_get("merge.ff")?.as_deref() == Some("only") {
        return Ok(FastForwardSetting::Only);
    }
    Ok(match git.config_get_bool("merge.ff")? {
        Some(false) => FastForwardSetting::Never,
        Some(true) | None => FastForwardSetting::Allowed,
    })
}

/// Returns the verified commit of the worktree's branch; none where HEAD is not on it.
fn commit_on_own_branch(record: &Record, head: &WorktreeHead) -> Option<CommitId> {
    let is_on_branch = head.symbolic == Some(record.branch.full_ref()) && head.head == head.branch;
    head.branch.clone().filter(|_| is_on_branch)
}
