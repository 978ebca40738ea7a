//! Merges the verified work of a worktree into its base branch, all of it or nothing.
//!
//! What is merged is the commit that was verified, by its id. The merge is tried without a
//! checkout; then the base branch moves at once, with the worktree that has it checked out, if one
//! has (`docs/decisions/0035-land.md`). Killed at any point, the work is merged or not, and the
//! next merge into the same branch puts back what is half.

pub mod apply;
pub mod carried;
pub mod commits;
pub mod facts;
pub mod failure;
pub mod genuine;
pub mod landed;
pub mod locks;
pub mod measure;
pub mod obstacle;
pub mod plan;
pub mod push;
pub mod refusal;
pub mod room;
pub mod trial;
pub mod undo;
pub mod work;

use crate::actions::merge::plan::{MergePlan, choose_method, choose_place, plan};
use crate::actions::merge::trial::try_method;
use crate::actions::merge::work::WorkToMerge;
use crate::config::value::Strategy;
use crate::git::landing::FetchCheck;
use crate::git::quarantined_objects::QuarantinedObjects;
use crate::truth::head::WorktreeHead;
use crate::words::error::Error;

/// A merge that was tried.
pub struct PreparedMerge {
    /// How the work is merged.
    pub plan: MergePlan,
    /// Where the objects of the trial are.
    pub scratch: QuarantinedObjects,
}

impl WorkToMerge<'_> {
    /// Plans the merge of verified work, and changes nothing.
    ///
    /// 1. Reads the worktree and the base branch, and decides where the merge is made.
    /// 2. Reads how both histories stand to each other, and decides by which method.
    /// 3. Tries the method: the objects stay in a directory of their own.
    /// 4. Plans what the base branch gets: the commit that an earlier call has pushed, if that is
    ///    what this call would create. All that it changes was verified, or is in the scope.
    ///
    /// # Errors
    /// Refuses what would lose work, and what git would have to ask the user about; fails when git
    /// or the disk does.
    pub fn prepare(
        &self,
        head: &WorktreeHead,
        uncommitted: Vec<String>,
    ) -> Result<PreparedMerge, Error> {
        // 1
        let place_facts = self.read_place(head, uncommitted)?;
        let place = choose_place(&place_facts).map_err(|obstacle| self.refuse(&obstacle))?;
        // 2
        let home = self.repository.home();
        let name = self.worktree.record.name.as_str();
        let scratch = QuarantinedObjects::create(&home.common_dir, home.format, name)?;
        let git = self.repository.git.with_quarantine(&scratch.quarantine());
        if self.worktree.record.strategy == Strategy::Clone {
            // this repository does not have the commits of the clone
            let clone = self.worktree.record.admin_dir.as_str();
            let commit = place.verified.to_string();
            git.fetch_objects(clone, FetchCheck::Fsck, &[commit])?;
        }
        let history = self.read_history(&git, &place.base.at, &place.verified)?;
        let method = choose_method(&history, self.request.wish, &place.base.name)
            .map_err(|obstacle| self.refuse(&obstacle))?;
        // 3
        let trial = try_method(&git, &scratch, &place, method, self.request.wish)?;
        // 4
        let mut plan = plan(place, method, trial).map_err(|obstacle| self.refuse(&obstacle))?;
        if plan.landed.commit.is_none() {
            plan.landed.commit = self.pushed_before(&plan, scratch.objects())?;
        }
        self.require_nothing_carried(&plan, &scratch)?;
        Ok(PreparedMerge { plan, scratch })
    }
}
