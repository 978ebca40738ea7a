//! Looks whether the files of a commit have room in the worktree of the base branch: nothing of the
//! user's stands in the way, and the disk has space.

use std::collections::BTreeSet;
use std::path::Path;

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::merge::failure::MergeFailure;
use crate::actions::merge::forward::{Begun, Forward};
use crate::actions::merge::plan::MergePlan;
use crate::actions::merge::work::WorkToMerge;
use crate::disk::backup::{is_other_case, obstacle};
use crate::disk::files;
use crate::git::quarantined_objects::QuarantinedObjects;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::size::Size;

/// The words by which the system and git say that a disk is full; git does not say why a write
/// failed.
const DISK_IS_FULL: [&str; 3] = [
    "No space left on device",
    "Disk quota exceeded",
    "unable to write",
];

impl WorkToMerge<'_> {
    /// Looks for room in the worktree of the base branch, if one has it, and keeps what git will
    /// replace there.
    ///
    /// # Errors
    /// Refuses where there is none; fails when git or the disk does.
    pub fn make_room(
        &self,
        plan: &MergePlan,
        scratch: &QuarantinedObjects,
        commit: &CommitId,
    ) -> Result<Option<Forward<'_>>, Error> {
        let Some(checkout) = &plan.checkout else {
            return Ok(None);
        };
        self.require_free(plan, scratch, checkout, commit)?;
        let begun = Begun {
            into: plan.landed.into.clone(),
            checkout: checkout.clone(),
            before: plan.landed.before.clone(),
            commit: commit.clone(),
        };
        let forward = Forward::new(self.repository, begun);
        let measured = forward.missing_room();
        self.follower.check()?;
        let missing = measured.map_err(|error| self.not_written(checkout, &error))?;
        if missing > 0 {
            let why = format!("{} more are needed", Size(missing));
            let checkout = checkout.clone();
            return Err(self.fail(&MergeFailure::NoRoom { checkout, why }));
        }
        let begun = forward.begin();
        begun.map_err(|error| self.not_written(checkout, &error))?;
        Ok(Some(forward))
    }

    /// Refuses where files in the worktree of the base branch are in the way of a commit.
    fn require_free(
        &self,
        plan: &MergePlan,
        scratch: &QuarantinedObjects,
        checkout: &Utf8Path,
        commit: &CommitId,
    ) -> Result<(), Error> {
        let git = self.repository.git.at(checkout);
        let before = &plan.landed.before;
        // git itself does not look at ignored files, which are the user's as well
        let added = git.added_paths(before, commit)?;
        let removed = git.added_paths(commit, before)?;
        let paths = in_the_way(checkout, &added, &removed);
        if !paths.is_empty() {
            return Err(self.fail_in_the_way(checkout, paths));
        }
        let index = scratch.index();
        files::link_or_copy(&git.absolute_git_dir()?.join("index"), &index)?;
        let tried = git.try_fast_forward(&index, before, commit);
        tried.map_err(|error| self.fail_to_forward(&plan.landed.into, error))
    }

    /// Says why the files could not be written once, or what they replace could not be kept.
    fn not_written(&self, checkout: &Utf8PathBuf, error: &Error) -> Error {
        let why = error.to_string().replace("error: ", "");
        let checkout = checkout.clone();
        self.fail(&if DISK_IS_FULL.iter().any(|words| why.contains(words)) {
            MergeFailure::NoRoom { checkout, why }
        } else {
            MergeFailure::NotWritten { checkout, why }
        })
    }
}

/// The files and links of the user's that stand where a commit adds paths, or a directory above
/// them; what it removes is not the user's.
fn in_the_way(checkout: &Utf8Path, added: &[String], removed: &[String]) -> Vec<String> {
    let mut obstacles = BTreeSet::new();
    for path in added {
        let Some(obstacle) = obstacle(checkout, Path::new(path)) else {
            continue;
        };
        let there = obstacle.to_string_lossy().into_owned();
        let is_removed = |old: &String| *old == there || is_other_case(checkout, old, &there);
        if !removed.iter().any(is_removed) {
            obstacles.insert(there);
        }
    }
    obstacles.into_iter().collect()
}
