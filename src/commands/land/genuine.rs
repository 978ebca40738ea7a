//! Holds what git merges against what was verified, before the base branch moves.

use std::collections::BTreeSet;

use crate::commands::land::landing::Landing;
use crate::commands::land::plan::LandPlan;
use crate::git::genuine::object_of;
use crate::words::entry::{Mode, ObjectId};
use crate::words::error::Error;
use crate::words::name::CommitId;

impl Landing<'_> {
    /// Refuses where git reads another content of a commit, a tree or a new file than the one that
    /// has the id: then git merges what nobody has verified.
    ///
    /// # Errors
    /// As above; fails when git does.
    pub(super) fn require_genuine(&self, plan: &LandPlan, commit: &CommitId) -> Result<(), Error> {
        let git = self
            .repository
            .git
            .with_quarantine(&plan.scratch.quarantine());
        let read = self.read_by_the_merge(plan, commit)?;
        let Some(forged) = git.first_forged(plan.scratch.objects(), &read)? else {
            return Ok(());
        };
        let root = &self.repository.root;
        let reason = format!("git reads another content of the object {forged} than was verified");
        let help = format!(
            "nothing was merged; to see where: git -C {root} fsck --full; delete the file that \
                lies, then: {}",
            self.command()
        );
        Err(self.refused("forged", reason, help))
    }

    /// Collects what git reads: the commits that are new or merged, the trees in which they differ,
    /// and the files that the base branch gets.
    fn read_by_the_merge(
        &self,
        plan: &LandPlan,
        commit: &CommitId,
    ) -> Result<BTreeSet<ObjectId>, Error> {
        let git = self
            .repository
            .git
            .with_quarantine(&plan.scratch.quarantine());
        let objects = plan.scratch.objects();
        let landed = &plan.landed;
        let before = &landed.before;
        let verified = &landed.verified;
        let mut commits = git.rev_list(&[commit, verified], &[before])?;
        let bases = git.merge_base_all(before, std::slice::from_ref(verified))?;
        let mut pairs = vec![(before, commit)];
        for base in &bases {
            pairs.extend([(base, before), (base, verified)]);
        }
        let mut read = BTreeSet::new();
        for (from, to) in pairs {
            let from = objects.commit(from)?.tree;
            let to = objects.commit(to)?.tree;
            objects.compared_trees(&from, &to, &mut read)?;
        }
        for id in &commits {
            let picked = objects.commit(id)?;
            // a shallow clone has no parent of some
            for parent in picked.parents.iter().filter(|parent| objects.has(parent)) {
                let parent = objects.commit(parent)?.tree;
                objects.compared_trees(&parent, &picked.tree, &mut read)?;
            }
        }
        commits.extend(bases);
        commits.push(before.clone());
        read.extend(commits.iter().map(object_of));
        let tree_after = objects.commit(commit)?.tree;
        let tree_before = objects.commit(before)?.tree;
        let new = objects.difference(Some(&tree_before), Some(&tree_after))?;
        for entry in new.into_values().flatten() {
            if entry.mode != Mode::Gitlink {
                read.insert(entry.id);
            }
        }
        Ok(read)
    }
}
