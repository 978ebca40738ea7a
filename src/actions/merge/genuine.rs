//! Holds what git merges against what was verified, before the base branch moves.

use std::collections::BTreeSet;

use crate::actions::merge::failure::MergeFailure;
use crate::actions::merge::plan::MergePlan;
use crate::actions::merge::work::WorkToMerge;
use crate::git::genuine::object_of;
use crate::git::quarantined_objects::QuarantinedObjects;
use crate::words::entry::{Mode, ObjectId};
use crate::words::error::Error;
use crate::words::name::CommitId;

impl WorkToMerge<'_> {
    /// Refuses where git reads another content of a commit, a tree or a new file than the one that
    /// has the id: then git merges what nobody has verified.
    ///
    /// # Errors
    /// As above; fails when git does.
    pub fn require_genuine(
        &self,
        plan: &MergePlan,
        scratch: &QuarantinedObjects,
        commit: &CommitId,
    ) -> Result<(), Error> {
        let read = self.objects_to_prove(plan, scratch, commit)?;
        let git = self.repository.git.with_quarantine(&scratch.quarantine());
        match git.first_forged(scratch.objects(), &read)? {
            Some(forged) => Err(self.fail(&MergeFailure::Forged(forged))),
            None => Ok(()),
        }
    }

    /// Collects the commits that are new or merged, the trees in which they differ, and the files that
    /// the base branch gets by its move to `landed`; not the files of which git merges the content.
    fn objects_to_prove(
        &self,
        plan: &MergePlan,
        scratch: &QuarantinedObjects,
        landed: &CommitId,
    ) -> Result<BTreeSet<ObjectId>, Error> {
        let git = self.repository.git.with_quarantine(&scratch.quarantine());
        let objects = scratch.objects();
        let before = &plan.landed.before;
        let verified = &plan.landed.verified;
        let new_commits = git.rev_list(&[landed, verified], &[before])?;
        let bases = git.merge_base_all(before, std::slice::from_ref(verified))?;
        let tree_before = objects.commit(before)?.tree;
        let tree_after = objects.commit(landed)?.tree;
        let tree_verified = objects.commit(verified)?.tree;

        let mut read: BTreeSet<ObjectId> = new_commits.iter().map(object_of).collect();
        read.extend(bases.iter().map(object_of));
        read.insert(object_of(before));
        // a checkout compares these two, and a merge each of its sides with each base
        objects.compared_trees(&tree_before, &tree_after, &mut read)?;
        for base in &bases {
            let base_tree = objects.commit(base)?.tree;
            objects.compared_trees(&base_tree, &tree_before, &mut read)?;
            objects.compared_trees(&base_tree, &tree_verified, &mut read)?;
        }
        for id in &new_commits {
            let new = objects.commit(id)?;
            // in a shallow clone, some parents are not there
            for parent in new.parents.iter().filter(|parent| objects.has(parent)) {
                let parent_tree = objects.commit(parent)?.tree;
                objects.compared_trees(&parent_tree, &new.tree, &mut read)?;
            }
        }
        let changed = objects.difference(Some(&tree_before), Some(&tree_after))?;
        for entry in changed.into_values().flatten() {
            if entry.mode != Mode::Gitlink {
                read.insert(entry.id);
            }
        }
        Ok(read)
    }
}
