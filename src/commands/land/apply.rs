//! Lands work: creates the commits, and brings the base branch forward.

use std::collections::BTreeSet;
use std::path::Path;

use camino::Utf8Path;

use crate::commands::land::forward::{Begun, Forward, PutBack, begin_move, end_move};
use crate::commands::land::landing::Landing;
use crate::commands::land::plan::{LandPlan, base_branch, listed};
use crate::disk::backup::{is_other_case, obstacle};
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::git::error::GitError;
use crate::git::landing::Authorship;
use crate::git::process::Git;
use crate::words::error::Error;
use crate::words::name::{BranchName, CommitId};
use crate::words::size::Size;

/// The words by which the system and git say that a disk is full; git does not say why a write
/// failed.
const DISK_IS_FULL: [&str; 3] = [
    "No space left on device",
    "Disk quota exceeded",
    "unable to write",
];

impl Landing<'_> {
    /// Brings the base branch to the commit that lands the work, and returns that. The remote has
    /// it first, with `--push`.
    ///
    /// # Errors
    /// Fails when a branch moved meanwhile, a hook of the user's or the remote refuses, or git
    /// fails: then the base branch is where it was.
    pub(super) fn apply(
        &self,
        plan: &LandPlan,
        lock: &Lock,
        notes: &mut Vec<String>,
    ) -> Result<CommitId, Error> {
        let record = &self.worktree.record;
        let landed = &plan.landed;
        let commit = match &landed.commit {
            Some(commit) => commit.clone(),
            None => self.create_commits(plan)?,
        };
        self.require_genuine(plan, &commit)?;
        self.session.check()?;
        if commit == landed.before {
            self.push(plan, &commit)?;
            return Ok(commit);
        }
        // the rest is of what was verified, whatever the branch names by now
        let own = self.worktree.repository(self.repository);
        let tip = own.git.rev_parse_commit(&record.branch.full_ref())?;
        if tip.as_ref() != Some(&landed.verified) {
            return Err(self.moved(&record.branch));
        }
        plan.scratch.migrate()?;
        let forward = self.forward(plan, &commit)?;
        if let Err(rejected) = self.push(plan, &commit) {
            // what is kept then goes with the next landing
            let _ = forward.as_ref().map(Forward::end);
            return Err(rejected);
        }
        self.advance(plan, &commit, forward.as_ref(), lock, notes)?;
        Ok(commit)
    }

    /// Moves the base branch, with the files of the worktree that has it checked out. Where it does
    /// not move, the files are put back.
    fn advance(
        &self,
        plan: &LandPlan,
        commit: &CommitId,
        forward: Option<&Forward<'_>>,
        lock: &Lock,
        notes: &mut Vec<String>,
    ) -> Result<(), Error> {
        let git = &self.repository.git;
        let landed = &plan.landed;
        let full = landed.into.full_ref();
        let advanced = match forward {
            Some(forward) => forward.go(lock)?,
            None => {
                let branch = &self.worktree.record.branch;
                let reason = format!("merge {branch}: landed by git-agentwt");
                begin_move(self.repository, &landed.into)?;
                git.update_ref(&full, commit, Some(&landed.before), &reason)
            }
        };
        let now = git.rev_parse_commit(&full)?;
        let ended = match forward {
            Some(forward) => self.put_back(forward),
            None => end_move(self.repository, &landed.into),
        };
        if now.as_ref() == Some(commit) {
            // a hook that ran afterwards has no say, nor has what is left of a landing that is done
            notes.extend(ended.err().map(|error| error.to_string()));
            return Ok(());
        }
        ended?;
        match advanced {
            Err(error @ GitError::Failed { .. }) if now.as_ref() == Some(&landed.before) => {
                Err(self.not_forward(&landed.into, error))
            }
            Ok(()) | Err(_) => Err(self.moved(&landed.into)),
        }
    }

    /// Looks for room in the worktree of the base branch, if one has it, and keeps what git will
    /// replace there.
    fn forward(&self, plan: &LandPlan, commit: &CommitId) -> Result<Option<Forward<'_>>, Error> {
        let Some(checkout) = &plan.checkout else {
            return Ok(None);
        };
        let landed = &plan.landed;
        self.require_free(plan, checkout, commit)?;
        let begun = Begun {
            into: landed.into.clone(),
            checkout: checkout.clone(),
            before: landed.before.clone(),
            commit: commit.clone(),
        };
        let forward = Forward::new(self.repository, begun);
        let measured = forward.missing_room();
        self.session.check()?;
        let missing = measured.map_err(|error| self.not_written(checkout, &error))?;
        if missing > 0 {
            let needs = format!("{} more are needed", Size(missing));
            return Err(self.no_room(checkout, &needs));
        }
        forward
            .begin()
            .map_err(|error| self.not_written(checkout, &error))?;
        Ok(Some(forward))
    }

    /// Refuses where files in the worktree of the base branch are in the way of a commit.
    fn require_free(
        &self,
        plan: &LandPlan,
        checkout: &Utf8Path,
        commit: &CommitId,
    ) -> Result<(), Error> {
        let git = self.repository.git.at(checkout);
        let landed = &plan.landed;
        // git itself does not look at ignored files, which are the user's as well
        let added = git.added_paths(&landed.before, commit)?;
        let removed = git.added_paths(commit, &landed.before)?;
        let in_the_way = in_the_way(checkout, &added, &removed);
        if !in_the_way.is_empty() {
            let items = listed(in_the_way);
            let reason = format!("untracked files would be overwritten in {checkout}:{items}");
            return Err(self.again("base_in_use", reason, "make room for it, then"));
        }
        let index = plan.scratch.index();
        files::link_or_copy(&git.absolute_git_dir()?.join("index"), &index)?;
        let tried = git.try_fast_forward(&index, &landed.before, commit);
        tried.map_err(|error| self.not_forward(&landed.into, error))
    }

    fn no_room(&self, checkout: &Utf8Path, why: &str) -> Error {
        let reason = format!("its files have no room in {checkout}: {why}");
        let advice = format!("nothing was changed; to see the room: df -h {checkout}; then");
        self.again("no_room", reason, &advice)
    }

    /// Says why the files could not be written once, or what they replace could not be kept.
    fn not_written(&self, checkout: &Utf8Path, error: &Error) -> Error {
        let why = error.to_string().replace("error: ", "");
        if DISK_IS_FULL.iter().any(|words| why.contains(words)) {
            return self.no_room(checkout, &why);
        }
        let reason = format!("its files cannot be written in {checkout}: {why}");
        self.again(
            "not_written",
            reason,
            "nothing was changed; mend that, then",
        )
    }

    /// Puts the worktree of the base branch back where git did not bring it forward.
    fn put_back(&self, forward: &Forward<'_>) -> Result<(), Error> {
        let checkout = &forward.begun.checkout;
        let stopped = format!("git was stopped while it wrote {checkout}");
        match forward.put_back()? {
            PutBack::Done => Ok(()),
            PutBack::Changed(changed) => {
                let items = listed(changed);
                let reason = format!("{stopped}, and these files changed since:{items}");
                Err(self.again("stopped", reason, "move them elsewhere, then"))
            }
            PutBack::Staged => {
                let reason = format!("{stopped}, and its index changed since");
                let advice = format!("git -C {checkout} reset -q, then");
                Err(self.again("stopped", reason, &advice))
            }
        }
    }

    /// Waits until nobody lands work in the same base branch, and puts back what a landing that was
    /// killed left.
    ///
    /// # Errors
    /// Refuses where the worktree has changed since, and with `-n`; fails when git or the disk
    /// does.
    pub(super) fn lock(&self, notes: &mut Vec<String>) -> Result<Option<Lock>, Error> {
        let Some(base) = base_branch(&self.worktree.record) else {
            return Ok(None);
        };
        let lock = Lock::wait(&self.repository.branch_lock(&base))?;
        if self.options.dry_run {
            if !Forward::has_begun(self.repository, &base) {
                return Ok(Some(lock));
            }
            let reason = format!("a landing was stopped while git wrote the files of {base}");
            return Err(self.again("stopped", reason, "to put them back and land"));
        }
        if let Some(forward) = Forward::read(self.repository, &base)? {
            self.put_back(&forward)?;
            notes.push(format!("ended a landing in {base} that was killed"));
        }
        Ok(Some(lock))
    }

    /// Creates the commits in the scratch directory, and returns the last one.
    fn create_commits(&self, plan: &LandPlan) -> Result<CommitId, Error> {
        let landed = &plan.landed;
        // where the base branch is checked out, for the hooks
        let here = match &plan.checkout {
            Some(checkout) => self.repository.git.at(checkout),
            None => self.repository.git.clone(),
        };
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
                    let branch = &self.worktree.record.branch;
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
        let landed = &plan.landed;
        let objects = plan.scratch.objects();
        let given = self.options.message.as_deref().map(str::trim_end);
        let own = git.rev_list(&[&landed.verified], &[&landed.before])?;
        if let [only] = own.as_slice() {
            let mut authorship = Authorship::parse(&objects.raw_commit(only)?);
            if let Some(given) = given {
                authorship.message = format!("{given}\n").into_bytes();
            }
            return Ok(authorship);
        }
        let branch = &self.worktree.record.branch;
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

    /// Says that the base branch moved while its work was landed.
    pub(super) fn moved(&self, branch: &BranchName) -> Error {
        let advice = "nothing was merged; verify and land it again";
        self.again("moved", format!("{branch} moved meanwhile"), advice)
    }

    /// Says that git cannot bring the base branch forward.
    pub(super) fn not_forward(&self, into: &BranchName, error: GitError) -> Error {
        let GitError::Failed { words, .. } = error else {
            return error.into();
        };
        let words = words.replace("error: ", "");
        let reason = format!("git cannot bring {into} forward: {words}");
        self.again("base_in_use", reason, "make room for it, then")
    }

    pub(super) fn again(&self, code: &str, reason: String, advice: &str) -> Error {
        let help = format!("{advice}: {}", self.command());
        self.refused(code, reason, help)
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
