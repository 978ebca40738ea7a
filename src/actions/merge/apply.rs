//! Applies a planned merge: creates the commits, and brings the base branch forward.

use crate::actions::merge::facts::base_branch;
use crate::actions::merge::failure::MergeFailure;
use crate::actions::merge::plan::MergePlan;
use crate::actions::merge::undo::{LeftMerge, begin_journal, end_journal, read_left};
use crate::actions::merge::work::WorkToMerge;
use crate::disk::lock::{Holders, Lock};
use crate::git::error::GitError;
use crate::git::quarantined_objects::QuarantinedObjects;
use crate::record::journal::{ForwardMove, Step};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::journal::StepJournal;

/// For what the lock of the base branch is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MergeIntent {
    /// To merge.
    Merge,
    /// To look, and change nothing.
    Look,
}

impl WorkToMerge<'_> {
    /// Waits until nobody merges into the same base branch, and puts back what a merge that was
    /// killed left. None where the worktree has no base branch.
    ///
    /// # Errors
    /// Refuses where the worktree has changed since, and where something is to be put back and
    /// nothing is to be changed; fails when git or the disk does.
    pub fn lock(
        &self,
        intent: MergeIntent,
        notes: &mut Vec<String>,
    ) -> Result<Option<Lock>, Error> {
        let Some(into) = base_branch(&self.worktree.record) else {
            return Ok(None);
        };
        let lock = Lock::wait(&self.repository.branch_lock(&into))?;
        let Some(left) = read_left(self.repository, &into)? else {
            return Ok(Some(lock));
        };
        if intent == MergeIntent::Merge {
            self.undo(&left, &into)?;
        }
        if left.has_files() {
            match intent {
                MergeIntent::Merge => {
                    notes.push(format!("ended a landing in {into} that was killed"));
                }
                MergeIntent::Look => return Err(self.fail(&MergeFailure::Stopped(into))),
            }
        }
        Ok(Some(lock))
    }

    /// Brings the base branch to the commit that lands the work, and returns that commit. The
    /// caller holds the lock of the base branch.
    ///
    /// 1. Creates the commits, and looks whether git reads what was verified.
    /// 2. Looks whether the worktree's branch has moved, and moves the objects into the repository.
    /// 3. Makes room in the worktree that has the base branch checked out.
    /// 4. Pushes, if that was asked for.
    /// 5. Moves the base branch.
    ///
    /// # Errors
    /// Fails when a branch moved meanwhile, a hook of the user's or the remote refuses, or git
    /// fails: then the base branch is where it was.
    pub fn apply(
        &self,
        plan: &MergePlan,
        scratch: &QuarantinedObjects,
        lock: &Lock,
        notes: &mut Vec<String>,
    ) -> Result<CommitId, Error> {
        // 1
        let commit = match &plan.landed.commit {
            Some(commit) => commit.clone(),
            None => self.create_commits(plan, scratch)?,
        };
        self.require_genuine(plan, scratch, &commit)?;
        self.follower.check()?;
        if commit == plan.landed.before {
            // nothing moves here, but the remote may be behind
            self.push(plan, &commit)?;
            return Ok(commit);
        }
        // 2
        self.require_verified_tip(plan)?;
        scratch.migrate()?;
        // 3, 4
        let into = &plan.landed.into;
        let step = step_of(plan, &commit);
        let mut journal = begin_journal(self.repository, into)?;
        if let Err(error) = self.prepare_and_push(&step, plan, scratch, &commit, &mut journal) {
            // what cannot be forgotten now goes with the next merge into the branch
            let _ = end_journal(self.repository, into);
            return Err(error);
        }
        // 5
        let refusal = self.move_base_branch(&step, plan, &commit, lock)?;
        self.conclude(plan, &commit, refusal, &LeftMerge::new(journal), notes)?;
        Ok(commit)
    }

    /// Prepares the worktree of the base branch and pushes; then writes down that the base branch
    /// moves next.
    fn prepare_and_push(
        &self,
        step: &Step,
        plan: &MergePlan,
        scratch: &QuarantinedObjects,
        commit: &CommitId,
        journal: &mut StepJournal,
    ) -> Result<(), Error> {
        if let Step::BroughtForward(step) = step {
            self.require_room(step, scratch, journal.directory())?;
            self.keep_replaced(step, journal.directory())?;
        }
        self.push(plan, commit)?;
        Ok(journal.add(step.clone())?)
    }

    /// Refuses where the worktree's branch is not at the verified commit any more: what comes
    /// later, as its removal, is about that.
    fn require_verified_tip(&self, plan: &MergePlan) -> Result<(), Error> {
        let branch = &self.worktree.record.branch;
        let own = self.worktree.repository(self.repository);
        let tip = own.git.rev_parse_commit(&branch.full_ref())?;
        if tip.as_ref() == Some(&plan.landed.verified) {
            return Ok(());
        }
        Err(self.fail(&MergeFailure::Moved(branch.clone())))
    }

    /// Lets git move the base branch, with the files of the worktree that has it checked out;
    /// returns why it did not, as git says.
    ///
    /// If we are killed, a git that writes files goes on, and holds the lock of the branch until it
    /// ends.
    fn move_base_branch(
        &self,
        step: &Step,
        plan: &MergePlan,
        commit: &CommitId,
        lock: &Lock,
    ) -> Result<Option<GitError>, Error> {
        let git = &self.repository.git;
        if let Step::BroughtForward(step) = step {
            lock.hold(Holders::WithPrograms)?;
            let moved = git.at(&step.checkout).merge_ff_only(commit);
            lock.hold(Holders::OnlyUs)?;
            return Ok(moved.err());
        }
        let branch = &self.worktree.record.branch;
        let reason = format!("merge {branch}: landed by git-agentwt");
        // a base branch that is a symbolic ref stays one
        let name = match git.last_name(&plan.landed.into.full_ref()) {
            Ok(name) => name,
            Err(error) => return Ok(Some(error)),
        };
        let moved = git.update_ref(&name, commit, Some(&plan.landed.before), &reason);
        Ok(moved.err())
    }

    /// Ends the merge after git was asked to move the base branch: where the branch has the commit
    /// now, it moved; else the steps are undone, and the error says why. `refusal` is the error of
    /// git, if there was one.
    fn conclude(
        &self,
        plan: &MergePlan,
        commit: &CommitId,
        refusal: Option<GitError>,
        left: &LeftMerge,
        notes: &mut Vec<String>,
    ) -> Result<(), Error> {
        let into = &plan.landed.into;
        let git = &self.repository.git;
        let now = git.rev_parse_commit(&into.full_ref())?;
        if let Some(now) = &now
            && git.is_ancestor(commit, now)?
        {
            // it moved, whatever a hook that ran afterwards said, and whatever is left in the
            // journal
            let ended = left.end(self.repository, into);
            notes.extend(ended.err().map(|error| error.to_string()));
            return Ok(());
        }
        self.undo(left, into)?;
        let is_where_it_was = now.as_ref() == Some(&plan.landed.before);
        match refusal {
            Some(error) if is_where_it_was => Err(self.fail_to_forward(into, error)),
            Some(_) | None => Err(self.fail(&MergeFailure::Moved(into.clone()))),
        }
    }
}

/// The step by which the base branch moves.
fn step_of(plan: &MergePlan, commit: &CommitId) -> Step {
    let into = &plan.landed.into;
    match &plan.checkout {
        Some(checkout) => Step::BroughtForward(ForwardMove {
            into: into.clone(),
            checkout: checkout.clone(),
            before: plan.landed.before.clone(),
            commit: commit.clone(),
        }),
        None => Step::MovedBranch { name: into.clone() },
    }
}
