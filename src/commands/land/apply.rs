//! Lands work: creates the commits, and brings the base branch forward.

use super::facts::Trial;
use super::plan::{LandPlan, refusal};
use crate::cli::Land;
use crate::commands::Session;
use crate::disk::files;
use crate::error::Error;
use crate::git::landing::Authorship;
use crate::git::scratch::ScratchObjects;
use crate::git::{Git, GitError};
use crate::name::CommitId;
use crate::worktree::{Repository, Worktree};

/// Performs one landing.
pub(super) struct Landing<'a> {
    /// The run.
    pub session: &'a Session,
    /// The repository that has the base branch.
    pub repository: &'a Repository,
    /// The worktree.
    pub known: &'a Worktree,
    /// What was decided.
    pub plan: &'a LandPlan,
    /// Where the trees of the trial are.
    pub scratch: &'a ScratchObjects,
    /// The options of the command.
    pub options: &'a Land,
}

impl Landing<'_> {
    /// Brings the base branch to the commit that lands the work, and returns that.
    ///
    /// # Errors
    /// Fails when a branch moved meanwhile, a hook of the user's refuses, or git fails: then the base
    /// branch is where it was.
    pub fn apply(&self) -> Result<CommitId, Error> {
        let (repository, plan) = (self.repository, self.plan);
        if plan.trial == Trial::Landed {
            return Ok(plan.before.clone());
        }
        let commit = self.commit()?;
        self.session.check()?;
        // the rest is of what was verified, whatever the branch names by now
        let own = self.known.repository(repository);
        let branch = self.known.record.branch.full_ref();
        if own.git.rev_parse_commit(&branch)?.as_ref() != Some(&plan.verified) {
            return Err(self.moved(&self.known.record.branch.to_string()));
        }
        self.scratch.migrate()?;
        let full = plan.into.full_ref();
        let advanced = match &plan.checkout {
            Some(path) => repository.git.at(path).merge_ff_only(&commit),
            None => {
                let reason = format!("merge {}: landed by git-agentwt", self.known.record.branch);
                let git = &repository.git;
                git.update_ref(&full, &commit, Some(&plan.before), &reason)
            }
        };
        match (advanced, repository.git.rev_parse_commit(&full)?) {
            // a hook that ran afterwards has no say
            (_, Some(now)) if now == commit => Ok(commit),
            (_, now) if now.as_ref() != Some(&plan.before) => {
                Err(self.moved(&plan.into.to_string()))
            }
            (Err(GitError::Failed { words, .. }), _) => {
                let words = words.replace("error: ", "");
                let reason = format!("git cannot bring {} forward: {words}", plan.into);
                Err(self.refused("base_in_use", reason, "make room for it, then"))
            }
            (Err(error), _) => Err(error.into()),
            (Ok(()), _) => Err(self.moved(&plan.into.to_string())),
        }
    }

    /// Creates the commit, or all of them, in the scratch directory.
    fn commit(&self) -> Result<CommitId, Error> {
        let plan = self.plan;
        let git = self.git().with_quarantine(&self.scratch.quarantine());
        match &plan.trial {
            Trial::Picked(picked) => {
                let mut tip = plan.before.clone();
                for (id, tree) in picked {
                    let raw = self.scratch.objects().raw_commit(id)?;
                    tip = git.commit_as_user(tree, &[&tip], &Authorship::parse(&raw))?;
                }
                Ok(tip)
            }
            Trial::Tree(tree) => {
                let (mut authorship, source, parents) = if self.options.squash {
                    (self.squashed()?, "squash", vec![&plan.before])
                } else {
                    let branch = &self.known.record.branch;
                    let message = self.options.message.as_deref();
                    let proposed =
                        git.fmt_merge_msg(branch, &plan.verified, &plan.into, message)?;
                    let parents = vec![&plan.before, &plan.verified];
                    (Authorship::of_user(proposed), "merge", parents)
                };
                authorship.message = self.hooked(&authorship.message, source)?;
                Ok(git.commit_as_user(tree, &parents, &authorship)?)
            }
            Trial::Landed
            | Trial::FastForward
            | Trial::Diverged
            | Trial::Conflict(_)
            | Trial::HasMerges(_)
            | Trial::Rewound
            | Trial::Unrelated => Ok(plan.verified.clone()),
        }
    }

    /// The author and the message of all commits in one: those of the only commit, else the list.
    fn squashed(&self) -> Result<Authorship, Error> {
        let (plan, objects) = (self.plan, self.scratch.objects());
        let given = self.options.message.as_deref().map(str::trim_end);
        let git = self.git().with_quarantine(&self.scratch.quarantine());
        let own = git.rev_list(&[&plan.verified], &[&plan.before])?;
        if let [only] = own.as_slice() {
            let mut authorship = Authorship::parse(&objects.raw_commit(only)?);
            if let Some(given) = given {
                authorship.message = format!("{given}\n").into_bytes();
            }
            return Ok(authorship);
        }
        let title = format!(
            "Squash {} ({} commits)",
            self.known.record.branch,
            own.len()
        );
        let mut text = format!("{}\n\n", given.unwrap_or(&title));
        for id in own.iter().rev() {
            text += &format!("* {}\n", objects.headline(id)?.subject);
        }
        Ok(Authorship::of_user(text.into_bytes()))
    }

    /// Git where the base branch is checked out, else in the repository.
    fn git(&self) -> Git {
        let git = &self.repository.git;
        let checkout = self.plan.checkout.as_ref();
        checkout.map_or_else(|| git.clone(), |path| git.at(path))
    }

    /// What the user's hooks make of a message, as for `git merge` and `git commit`
    /// (githooks(5)). Hooks that look at files do not run: no worktree has them yet.
    fn hooked(&self, message: &[u8], source: &str) -> Result<Vec<u8>, Error> {
        let file = self.scratch.directory().join("MESSAGE");
        files::write(&file, message)?;
        let git = self.git();
        let hooks = [
            ("prepare-commit-msg", &[file.as_str(), source][..]),
            ("commit-msg", &[file.as_str()]),
        ];
        for (hook, arguments) in hooks {
            match git.hook_run(hook, arguments) {
                Err(GitError::Failed { words, .. }) => {
                    let reason = format!("your hook {hook} refuses: {words}");
                    return Err(self.refused(
                        "hook",
                        reason,
                        "follow the hook, or another message",
                    ));
                }
                ran => ran?,
            }
        }
        Ok(files::read(&file)?.unwrap_or_default())
    }

    fn moved(&self, branch: &str) -> Error {
        let reason = format!("{branch} moved meanwhile");
        self.refused(
            "moved",
            reason,
            "nothing was merged; verify and land it again",
        )
    }

    fn refused(&self, code: &'static str, reason: String, advice: &str) -> Error {
        let record = &self.known.record;
        let help = format!("{advice}: git agentwt land {}", record.name);
        refusal(code, record, reason, help).into()
    }
}
