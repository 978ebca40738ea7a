//! Pushes what lands before anything moves here: what the remote rejects has changed nothing.

use crate::commands::land::landing::Landing;
use crate::commands::land::plan::LandPlan;
use crate::git::error::GitError;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::words::name::CommitId;

impl Landing<'_> {
    /// Pushes a commit that the base branch is to become, if that was asked for.
    ///
    /// # Errors
    /// Fails when the base branch moved meanwhile, or the remote does not take the commit.
    pub(super) fn push(&self, plan: &LandPlan, commit: &CommitId) -> Result<(), Error> {
        let Some(remote) = &self.options.push else {
            return Ok(());
        };
        let git = &self.repository.git;
        let landed = &plan.landed;
        let into = &landed.into;
        let now = git.rev_parse_commit(&into.full_ref())?;
        if now.as_ref() != Some(&landed.before) {
            return Err(self.moved(into));
        }
        let target = git.push_target(remote, into)?;
        let pushed = git.push_commit(remote, commit, &target);
        pushed.map_err(|error| self.not_pushed(plan, remote, &target, error))
    }

    /// The commit that an earlier call of the same command pushed, where it was stopped before the
    /// base branch moved here: one with the same trees and parents as those that are to be created.
    pub(super) fn pushed_before(&self, plan: &LandPlan) -> Result<Option<CommitId>, Error> {
        let Some(remote) = &self.options.push else {
            return Ok(None);
        };
        let landed = &plan.landed;
        let git = &self.repository.git;
        let target = git.push_target(remote, &landed.into)?;
        let short = target.strip_prefix("refs/heads/").unwrap_or(&target);
        let tracking = git.rev_parse_commit(&format!("refs/remotes/{remote}/{short}"))?;
        let Some(pushed) = tracking else {
            return Ok(None);
        };
        let objects = plan.scratch.objects();
        let mut at = pushed.clone();
        for (source, tree) in plan.new.iter().rev() {
            let commit = objects.commit(&at)?;
            let is_merge = landed.how == "merge";
            let merged = if is_merge { &[source.clone()][..] } else { &[] };
            let Some((first, others)) = commit.parents.split_first() else {
                return Ok(None);
            };
            if commit.tree != *tree || others != merged {
                return Ok(None);
            }
            at = first.clone();
        }
        Ok((at == landed.before).then_some(pushed))
    }

    /// Says that the remote does not take the commit, and what makes it take one.
    fn not_pushed(&self, plan: &LandPlan, remote: &str, target: &str, error: GitError) -> Error {
        let GitError::Failed { words, .. } = error else {
            return error.into();
        };
        let into = &plan.landed.into;
        let words = words.replace("error: ", "");
        let reason = format!("{remote} does not take {into}: {words}");
        let is_behind = words.contains("(fetch first)") || words.contains("(non-fast-forward)");
        let again = self.command();
        let help = if is_behind {
            let pull = self.pull(plan, remote, target);
            format!("nothing was changed; bring {into} up to date first: {pull} && {again}")
        } else {
            format!("nothing was changed; then: {again}")
        };
        self.ended(ExitCode::Git, "push", reason, help)
    }

    /// The command that brings the base branch to what the remote has.
    fn pull(&self, plan: &LandPlan, remote: &str, target: &str) -> String {
        let into = &plan.landed.into;
        let branch = target.strip_prefix("refs/heads/").unwrap_or(target);
        match &plan.checkout {
            Some(path) => format!("git -C {path} pull --no-rebase --no-edit {remote} {branch}"),
            None => format!(
                "git -C {} fetch {remote} {branch}:{into}",
                self.repository.root
            ),
        }
    }
}
