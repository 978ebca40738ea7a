//! Creates the commits of a merge, in a directory of their own.

use crate::actions::merge::failure::MergeFailure;
use crate::actions::merge::landed::MergeMethod;
use crate::actions::merge::plan::{MergePlan, NewCommit};
use crate::actions::merge::work::WorkToMerge;
use crate::disk::files;
use crate::git::error::GitError;
use crate::git::landing::Authorship;
use crate::git::process::Git;
use crate::git::quarantined_objects::QuarantinedObjects;
use crate::words::error::Error;
use crate::words::name::CommitId;

impl WorkToMerge<'_> {
    /// Creates the commits of a plan, and returns the last one.
    ///
    /// # Errors
    /// Refuses where a hook of the user's does; fails when git or the disk does.
    pub fn create_commits(
        &self,
        plan: &MergePlan,
        scratch: &QuarantinedObjects,
    ) -> Result<CommitId, Error> {
        // where the base branch is checked out, for the hooks
        let user_git = match &plan.checkout {
            Some(checkout) => self.repository.git.at(checkout),
            None => self.repository.git.clone(),
        };
        let git = user_git.with_quarantine(&scratch.quarantine());
        let how = plan.landed.how;
        let mut tip = plan.landed.before.clone();
        for new in &plan.new {
            let mut authorship = self.authorship(plan, scratch, &git, new)?;
            // a rebase keeps the messages of its commits
            if how != MergeMethod::Rebase {
                let file = scratch.directory().join("MESSAGE");
                files::write(&file, &authorship.message)?;
                self.run_message_hooks(&user_git, file.as_str(), how)?;
                authorship.message = files::read(&file)?.unwrap_or_default();
            }
            let mut parents = vec![&tip];
            if how == MergeMethod::Merge {
                parents.push(&new.source);
            }
            tip = git.commit_as_user(&new.tree, &parents, &authorship)?;
        }
        Ok(tip)
    }

    /// The author and the message of a new commit.
    fn authorship(
        &self,
        plan: &MergePlan,
        scratch: &QuarantinedObjects,
        git: &Git,
        new: &NewCommit,
    ) -> Result<Authorship, Error> {
        match plan.landed.how {
            MergeMethod::Rebase => {
                let raw = scratch.objects().raw_commit(&new.source)?;
                Ok(Authorship::parse(&raw))
            }
            MergeMethod::Squash => self.authorship_of_all(plan, scratch, git),
            MergeMethod::Merge | MergeMethod::Already | MergeMethod::FastForward => {
                let given = self.request.message.as_deref();
                let branch = &self.worktree.record.branch;
                let into = &plan.landed.into;
                let message = git.fmt_merge_msg(branch, &new.source, into, given)?;
                Ok(Authorship::of_user(message))
            }
        }
    }

    /// The author and the message of all commits in one: those of the only commit, else the list.
    fn authorship_of_all(
        &self,
        plan: &MergePlan,
        scratch: &QuarantinedObjects,
        git: &Git,
    ) -> Result<Authorship, Error> {
        let objects = scratch.objects();
        let given = self.request.message.as_deref().map(str::trim_end);
        let commits = git.rev_list(&[&plan.landed.verified], &[&plan.landed.before])?;
        if let [only] = commits.as_slice() {
            let mut authorship = Authorship::parse(&objects.raw_commit(only)?);
            if let Some(given) = given {
                authorship.message = format!("{given}\n").into_bytes();
            }
            return Ok(authorship);
        }
        let branch = &self.worktree.record.branch;
        let title = format!("Squash {branch} ({} commits)", commits.len());
        let mut text = format!("{}\n\n", given.unwrap_or(&title));
        for id in commits.iter().rev() {
            text += &format!("* {}\n", objects.headline(id)?.subject);
        }
        Ok(Authorship::of_user(text.into_bytes()))
    }

    /// Runs the user's hooks on the file of a message, as `git merge` and `git commit` do
    /// (githooks(5)). Hooks that look at files do not run: no worktree has them yet.
    fn run_message_hooks(&self, git: &Git, file: &str, how: MergeMethod) -> Result<(), Error> {
        self.run_hook(git, "prepare-commit-msg", &[file, how.name()])?;
        self.run_hook(git, "commit-msg", &[file])
    }

    fn run_hook(&self, git: &Git, hook: &'static str, arguments: &[&str]) -> Result<(), Error> {
        match git.hook_run(hook, arguments) {
            Ok(()) => Ok(()),
            Err(GitError::Failed { words, .. }) => {
                Err(self.fail(&MergeFailure::Hook { hook, words }))
            }
            Err(error) => Err(error.into()),
        }
    }
}
