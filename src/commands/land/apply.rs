//! Lands work: creates the commits, and brings the base branch forward.

use super::Landing;
use super::plan::LandPlan;
use crate::disk::files;
use crate::error::Error;
use crate::git::landing::Authorship;
use crate::git::{Git, GitError};
use crate::name::CommitId;

impl Landing<'_> {
    /// Brings the base branch to the commit that lands the work, and returns that. The remote has it
    /// first, with `--push`.
    ///
    /// # Errors
    /// Fails when a branch moved meanwhile, a hook of the user's or the remote refuses, or git fails:
    /// then the base branch is where it was.
    pub(super) fn apply(&self, plan: &LandPlan) -> Result<CommitId, Error> {
        let (record, git, landed) = (&self.known.record, &self.repository.git, &plan.landed);
        let commit = match &landed.commit {
            Some(commit) => commit.clone(),
            None => self.create_commits(plan)?,
        };
        self.session.check()?;
        if commit == landed.before {
            self.push(plan, &commit)?;
            return Ok(commit);
        }
        // the rest is of what was verified, whatever the branch names by now
        let own = self.known.repository(self.repository);
        let tip = own.git.rev_parse_commit(&record.branch.full_ref())?;
        if tip.as_ref() != Some(&landed.verified) {
            return Err(self.moved(&record.branch));
        }
        plan.scratch.migrate()?;
        self.push(plan, &commit)?;
        let full = landed.into.full_ref();
        let advanced = match &plan.checkout {
            Some(path) => git.at(path).merge_ff_only(&commit),
            None => {
                let reason = format!("merge {}: landed by git-agentwt", record.branch);
                git.update_ref(&full, &commit, Some(&landed.before), &reason)
            }
        };
        let now = git.rev_parse_commit(&full)?;
        match advanced {
            // a hook that ran afterwards has no say
            _ if now.as_ref() == Some(&commit) => Ok(commit),
            Err(error @ GitError::Failed { .. }) if now.as_ref() == Some(&landed.before) => {
                Err(self.not_forward(&landed.into, error))
            }
            Ok(()) | Err(_) => Err(self.moved(&landed.into)),
        }
    }

    /// Creates the commits in the scratch directory, and returns the last one.
    fn create_commits(&self, plan: &LandPlan) -> Result<CommitId, Error> {
        let landed = &plan.landed;
        // where the base branch is checked out, for the hooks
        let git = &self.repository.git;
        let checkout = plan.checkout.as_ref();
        let here = checkout.map_or_else(|| git.clone(), |path| git.at(path));
        let git = here.with_quarantine(&plan.scratch.quarantine());
        let mut tip = landed.before.clone();
        for (source, tree) in &plan.new {
            let mut parents = vec![&tip];
            let mut authorship = match landed.how {
                "rebase" => Authorship::parse(&plan.scratch.objects().raw_commit(source)?),
                "squash" => self.squashed(plan, &git)?,
                _merge => {
                    parents.push(source);
                    let message = self.options.message.as_deref();
                    let branch = &self.known.record.branch;
                    let message = git.fmt_merge_msg(branch, source, &landed.into, message)?;
                    Authorship::of_user(message)
                }
            };
            if landed.how != "rebase" {
                let file = plan.scratch.directory().join("MESSAGE");
                files::write(&file, &authorship.message)?;
                self.run_hooks(&here, file.as_str(), landed.how)?;
                authorship.message = files::read(&file)?.unwrap_or_default();
            }
            tip = git.commit_as_user(tree, &parents, &authorship)?;
        }
        Ok(tip)
    }

    /// The author and the message of all commits in one: those of the only commit, else the list.
    fn squashed(&self, plan: &LandPlan, git: &Git) -> Result<Authorship, Error> {
        let (landed, objects) = (&plan.landed, plan.scratch.objects());
        let given = self.options.message.as_deref().map(str::trim_end);
        let own = git.rev_list(&[&landed.verified], &[&landed.before])?;
        if let [only] = own.as_slice() {
            let mut authorship = Authorship::parse(&objects.raw_commit(only)?);
            if let Some(given) = given {
                authorship.message = format!("{given}\n").into_bytes();
            }
            return Ok(authorship);
        }
        let branch = &self.known.record.branch;
        let title = format!("Squash {branch} ({} commits)", own.len());
        let mut text = format!("{}\n\n", given.unwrap_or(&title));
        for id in own.iter().rev() {
            text += &format!("* {}\n", objects.headline(id)?.subject);
        }
        Ok(Authorship::of_user(text.into_bytes()))
    }

    /// Runs the user's hooks on the file of a message, as `git merge` and `git commit` do
    /// (githooks(5)). Hooks that look at files do not run: no worktree has them yet.
    fn run_hooks(&self, git: &Git, file: &str, source: &str) -> Result<(), Error> {
        let hooks = [
            ("prepare-commit-msg", &[file, source][..]),
            ("commit-msg", &[file]),
        ];
        for (hook, arguments) in hooks {
            match git.hook_run(hook, arguments) {
                Err(GitError::Failed { words, .. }) => {
                    let reason = format!("your hook {hook} refuses: {words}");
                    let advice = "follow the hook, or another message";
                    return Err(self.again("hook", reason, advice));
                }
                ran => ran?,
            }
        }
        Ok(())
    }

    pub(super) fn again(&self, code: &str, reason: String, advice: &str) -> Error {
        let help = format!("{advice}: {}", self.command());
        self.refused(code, reason, help)
    }
}
