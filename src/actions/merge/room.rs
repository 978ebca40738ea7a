//! Looks whether the files of a commit have room in the worktree of the base branch: nothing of the
//! user's stands in the way, and the disk has space. Keeps what git will replace.

use std::collections::BTreeSet;
use std::path::Path;

use camino::Utf8Path;

use crate::actions::journal::brought_forward::ForwardedWorktree;
use crate::actions::merge::failure::MergeFailure;
use crate::actions::merge::measure::{WriteFailure, missing_room, write_failure};
use crate::actions::merge::refusal::quoted;
use crate::actions::merge::work::WorkToMerge;
use crate::disk::backup::{is_other_case, obstacle};
use crate::disk::files;
use crate::git::quarantined_objects::QuarantinedObjects;
use crate::record::journal::ForwardMove;
use crate::words::error::Error;
use crate::words::size::Size;

impl WorkToMerge<'_> {
    /// Refuses where files are in the way in the worktree of the base branch, or the disk has too
    /// little space for what git will write there.
    ///
    /// # Errors
    /// The refusal; fails when git or the disk does.
    pub fn require_room(
        &self,
        step: &ForwardMove,
        scratch: &QuarantinedObjects,
        directory: &Utf8Path,
    ) -> Result<(), Error> {
        self.require_free(step, scratch)?;
        let repository = self.repository;
        let measured = missing_room(repository, step, directory);
        // a signal ends the git that measures too: it is the signal that is told
        self.follower.check()?;
        let missing = measured.map_err(|failure| self.not_written(step, &failure))?;
        if missing > 0 {
            return Err(self.fail(&MergeFailure::NoRoom {
                checkout: step.checkout.clone(),
                why: format!("{} more are needed", Size(missing)),
            }));
        }
        Ok(())
    }

    /// Keeps what git will replace in the worktree of the base branch, in the directory of the
    /// journal.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn keep_replaced(&self, step: &ForwardMove, directory: &Utf8Path) -> Result<(), Error> {
        let repository = self.repository;
        let worktree = ForwardedWorktree {
            repository,
            directory,
            step,
        };
        worktree.keep().map_err(|error| {
            let failure = write_failure(repository, step, directory, error);
            self.not_written(step, &failure)
        })
    }

    /// Refuses where files in the worktree of the base branch are in the way of a commit.
    fn require_free(&self, step: &ForwardMove, scratch: &QuarantinedObjects) -> Result<(), Error> {
        let checkout = &step.checkout;
        let git = self.repository.git.at(checkout);
        // git itself does not look at ignored files, which are the user's as well
        let added = git.added_paths(&step.before, &step.commit)?;
        let removed = git.added_paths(&step.commit, &step.before)?;
        let paths = in_the_way(checkout, &added, &removed);
        if !paths.is_empty() {
            let checkout = checkout.clone();
            return Err(self.fail(&MergeFailure::InTheWay { checkout, paths }));
        }
        let index = scratch.index();
        files::link_or_copy(&git.absolute_git_dir()?.join("index"), &index)?;
        let tried = git.try_fast_forward(&index, &step.before, &step.commit);
        tried.map_err(|error| self.fail_to_forward(&step.into, error))
    }

    /// Says why the files could not be written once, or what they replace could not be kept.
    fn not_written(&self, step: &ForwardMove, failure: &WriteFailure) -> Error {
        let checkout = step.checkout.clone();
        self.fail(&match failure {
            WriteFailure::DiskFull(error) => MergeFailure::NoRoom {
                checkout,
                why: quoted(&error.to_string()),
            },
            WriteFailure::Other(error) => MergeFailure::NotWritten {
                checkout,
                why: quoted(&error.to_string()),
            },
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
