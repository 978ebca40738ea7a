//! Finds what a merge carries to other paths than those that were verified.

use std::collections::BTreeSet;

use crate::actions::merge::obstacle::MergeObstacle;
use crate::actions::merge::plan::MergePlan;
use crate::actions::merge::work::WorkToMerge;
use crate::git::quarantined_objects::QuarantinedObjects;
use crate::scope::rule::{Access, EntryKind};
use crate::words::entry::ObjectId;
use crate::words::error::Error;
use crate::words::path::RepoPath;

impl WorkToMerge<'_> {
    /// Refuses where the base branch would get a change at a path that the work did not change and the
    /// scope does not let it write: git carries a change along where the base branch has renamed the
    /// file, and only the old path was verified.
    ///
    /// # Errors
    /// As above; fails when git does.
    pub fn require_nothing_carried(
        &self,
        plan: &MergePlan,
        scratch: &QuarantinedObjects,
    ) -> Result<(), Error> {
        let objects = scratch.objects();
        let Some(tree_after) = tree_after(plan, scratch)? else {
            return Ok(());
        };
        let tree_before = objects.commit(&plan.landed.before)?.tree;
        let verified_paths = self.verified_paths(plan, scratch)?;
        let mut classifier = self.worktree.scope.classifier();
        let mut carried = Vec::new();
        for (path, _entry) in objects.difference(Some(&tree_before), Some(&tree_after))? {
            let access = classifier.verdict(&path, EntryKind::File).access;
            if access != Access::Write && !verified_paths.contains(&path) {
                carried.push(path.to_string());
            }
        }
        if carried.is_empty() {
            return Ok(());
        }
        Err(self.refuse(&MergeObstacle::Carried {
            into: plan.landed.into.clone(),
            paths: carried,
        }))
    }

    /// Lists the paths that the work changed since it and the base branch went different ways.
    fn verified_paths(
        &self,
        plan: &MergePlan,
        scratch: &QuarantinedObjects,
    ) -> Result<BTreeSet<RepoPath>, Error> {
        let git = self.repository.git.with_quarantine(&scratch.quarantine());
        let objects = scratch.objects();
        let before = &plan.landed.before;
        let verified = &plan.landed.verified;
        let tree_verified = objects.commit(verified)?.tree;
        let mut paths = BTreeSet::new();
        for base in git.merge_base_all(before, std::slice::from_ref(verified))? {
            let base_tree = objects.commit(&base)?.tree;
            let changed = objects.difference(Some(&base_tree), Some(&tree_verified))?;
            paths.extend(changed.into_keys());
        }
        Ok(paths)
    }
}

/// Returns the tree that the base branch gets; none where nothing is merged.
fn tree_after(plan: &MergePlan, scratch: &QuarantinedObjects) -> Result<Option<ObjectId>, Error> {
    if let Some(newest) = plan.new.last() {
        return Ok(Some(newest.tree));
    }
    match &plan.landed.commit {
        Some(commit) => Ok(Some(scratch.objects().commit(commit)?.tree)),
        None => Ok(None),
    }
}
