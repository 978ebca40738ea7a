//! Pushes what is merged before anything moves here: what the remote rejects has changed nothing.

use std::time::Duration;

use crate::actions::merge::failure::MergeFailure;
use crate::actions::merge::landed::MergeMethod;
use crate::actions::merge::plan::MergePlan;
use crate::actions::merge::refusal::quoted;
use crate::actions::merge::work::WorkToMerge;
use crate::git::error::GitError;
use crate::git::objects::Objects;
use crate::git::remote::AskedRemote;
use crate::words::error::Error;
use crate::words::name::{CommitId, branch_of};
use crate::words::path::shell_word;

/// The status of a `git push` whose remote was reached and rejected a ref; 128 where git could not
/// reach it. Why it was rejected git says in words alone, also with `--porcelain`.
const REJECTED: i32 = 1;

/// How long a remote may take to say where its branch is.
const LONGEST_LISTING: Duration = Duration::from_secs(30);

impl WorkToMerge<'_> {
    /// Pushes a commit that the base branch is to become, if that was asked for.
    ///
    /// # Errors
    /// Fails when the base branch moved meanwhile, or the remote does not take the commit.
    pub fn push(&self, plan: &MergePlan, commit: &CommitId) -> Result<(), Error> {
        let Some(remote) = &self.request.remote else {
            return Ok(());
        };
        let git = &self.repository.git;
        let into = &plan.landed.into;
        let now = git.rev_parse_commit(&into.full_ref())?;
        if now.as_ref() != Some(&plan.landed.before) {
            return Err(self.fail(&MergeFailure::Moved(into.clone())));
        }
        let target = git.push_target(remote, into)?;
        let Err(error) = git.push_commit(remote, commit, &target) else {
            return Ok(());
        };
        let GitError::Failed { words, status, .. } = error else {
            return Err(error.into());
        };
        let was_rejected = status == Some(REJECTED);
        let is_behind = was_rejected && self.has_other_commits(remote, &target, commit);
        Err(self.fail(&MergeFailure::NotPushed {
            remote: remote.clone(),
            into: into.clone(),
            words: quoted(&words),
            pull: is_behind.then(|| self.pull(plan, remote, &target)),
        }))
    }

    /// The commit that an earlier call of the same command pushed before it was stopped: the base
    /// branch here gets that one instead of a new one with the same trees and parents.
    ///
    /// # Errors
    /// Fails when git does.
    pub fn pushed_before(
        &self,
        plan: &MergePlan,
        objects: &Objects,
    ) -> Result<Option<CommitId>, Error> {
        let Some(remote) = &self.request.remote else {
            return Ok(None);
        };
        let landed = &plan.landed;
        let git = &self.repository.git;
        let target = git.push_target(remote, &landed.into)?;
        let short = branch_of(&target);
        let tracking = git.rev_parse_commit(&format!("refs/remotes/{remote}/{short}"))?;
        let Some(pushed) = tracking else {
            return Ok(None);
        };
        let is_as_planned = is_as_planned(plan, objects, &pushed)?;
        Ok(is_as_planned.then_some(pushed))
    }

    /// True if the branch of a remote has a commit that this one does not have, so that a pull
    /// helps. The remote has just answered a push; where it does not answer again, false.
    fn has_other_commits(&self, remote: &str, target: &str, commit: &CommitId) -> bool {
        let git = self.repository.git.with_limit(LONGEST_LISTING);
        let remote = AskedRemote::to_read(remote.to_owned());
        match git.ls_remote(&remote, &[target]).as_deref() {
            // a commit that is not here is not among ours
            Ok([Some(theirs)]) => !git.is_ancestor(theirs, commit).unwrap_or(false),
            Ok(_) | Err(_) => false,
        }
    }

    /// The command that brings the base branch to what the remote has.
    fn pull(&self, plan: &MergePlan, remote: &str, target: &str) -> String {
        let into = &plan.landed.into;
        let branch = branch_of(target);
        match &plan.checkout {
            Some(checkout) => {
                let path = shell_word(checkout.as_str());
                format!("git -C {path} pull --no-rebase --no-edit {remote} {branch}")
            }
            None => {
                let root = shell_word(self.repository.root.as_str());
                format!("git -C {root} fetch {remote} {branch}:{into}")
            }
        }
    }
}

/// True if `tip` is what the plan would create: commits with the same trees and parents, on top of
/// the base branch.
fn is_as_planned(plan: &MergePlan, objects: &Objects, tip: &CommitId) -> Result<bool, Error> {
    let mut current = tip.clone();
    for planned in plan.new.iter().rev() {
        let commit = objects.commit(&current)?;
        let Some((first_parent, other_parents)) = commit.parents.split_first() else {
            return Ok(false);
        };
        let has_planned_parents = match plan.landed.how {
            MergeMethod::Merge => other_parents == std::slice::from_ref(&planned.source),
            _one_parent => other_parents.is_empty(),
        };
        if commit.tree != planned.tree || !has_planned_parents {
            return Ok(false);
        }
        current = first_parent.clone();
    }
    Ok(current == plan.landed.before)
}
