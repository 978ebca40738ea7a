//! Applies a planned merge: creates the commits, and brings the base branch forward.

use crate::actions::merge::facts::base_branch;
use crate::actions::merge::failure::MergeFailure;
use crate::actions::merge::forward::{Forward, PutBack, begin_move, end_move};
use crate::actions::merge::plan::MergePlan;
use crate::actions::merge::work::WorkToMerge;
use crate::disk::lock::Lock;
use crate::git::error::GitError;
use crate::git::quarantined_objects::QuarantinedObjects;
use crate::words::error::Error;
use crate::words::name::CommitId;

/// What is asked of the lock of the base branch.
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
        match intent {
            MergeIntent::Look if Forward::has_begun(self.repository, &into) => {
                return Err(self.fail(&MergeFailure::Stopped(into)));
            }
            MergeIntent::Look => {}
            MergeIntent::Merge => {
                if let Some(forward) = Forward::read(self.repository, &into)? {
                    self.put_back(&forward)?;
                    notes.push(format!("ended a landing in {into} that was killed"));
                }
            }
        }
        Ok(Some(lock))
    }

    /// Brings the base branch to the commit that lands the work, and returns that. The caller holds
    /// the lock of the base branch.
    ///
    /// 1. Creates the commits, and looks whether git reads what was verified.
    /// 2. Moves the objects into the repository.
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
            self.push(plan, &commit)?;
            return Ok(commit);
        }
        // 2
        self.require_verified_tip(plan)?;
        scratch.migrate()?;
        // 3
        let forward = self.make_room(plan, scratch, &commit)?;
        // 4
        if let Err(rejected) = self.push(plan, &commit) {
            // what is kept then goes with the next landing
            let _ = forward.as_ref().map(Forward::end);
            return Err(rejected);
        }
        // 5
        match &forward {
            Some(forward) => self.bring_forward(plan, &commit, forward, lock, notes)?,
            None => self.move_branch(plan, &commit, notes)?,
        }
        Ok(commit)
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

    /// Moves the base branch with the files of the worktree that has it checked out. Where it does
    /// not move, the files are put back.
    fn bring_forward(
        &self,
        plan: &MergePlan,
        commit: &CommitId,
        forward: &Forward<'_>,
        lock: &Lock,
        notes: &mut Vec<String>,
    ) -> Result<(), Error> {
        let into = &plan.landed.into;
        let merged = forward.go(lock)?;
        let now = self.repository.git.rev_parse_commit(&into.full_ref())?;
        let ended = self.put_back(forward);
        self.judge_move(plan, commit, now.as_ref(), merged, ended, notes)
    }

    /// Moves a base branch that no worktree has checked out.
    fn move_branch(
        &self,
        plan: &MergePlan,
        commit: &CommitId,
        notes: &mut Vec<String>,
    ) -> Result<(), Error> {
        let git = &self.repository.git;
        let into = &plan.landed.into;
        let full = into.full_ref();
        let branch = &self.worktree.record.branch;
        let reason = format!("merge {branch}: landed by git-agentwt");
        begin_move(self.repository, into)?;
        let moved = git.update_ref(&full, commit, Some(&plan.landed.before), &reason);
        let now = git.rev_parse_commit(&full)?;
        let ended = end_move(self.repository, into);
        self.judge_move(plan, commit, now.as_ref(), moved, ended, notes)
    }

    /// Decides by where the base branch is now whether it moved. `moved` is what git said, `ended`
    /// what became of putting back or forgetting.
    fn judge_move(
        &self,
        plan: &MergePlan,
        commit: &CommitId,
        now: Option<&CommitId>,
        moved: Result<(), GitError>,
        ended: Result<(), Error>,
        notes: &mut Vec<String>,
    ) -> Result<(), Error> {
        let into = &plan.landed.into;
        if now == Some(commit) {
            // a hook that ran afterwards has no say, nor has what is left of a landing that is done
            notes.extend(ended.err().map(|error| error.to_string()));
            return Ok(());
        }
        ended?;
        match moved {
            Err(error @ GitError::Failed { .. }) if now == Some(&plan.landed.before) => {
                Err(self.fail_to_forward(into, error))
            }
            Ok(()) | Err(_) => Err(self.fail(&MergeFailure::Moved(into.clone()))),
        }
    }

    /// Puts the worktree of the base branch back where git did not bring it forward.
    fn put_back(&self, forward: &Forward<'_>) -> Result<(), Error> {
        let checkout = forward.begun.checkout.clone();
        match forward.put_back()? {
            PutBack::Done => Ok(()),
            PutBack::Changed(paths) => {
                Err(self.fail(&MergeFailure::StoppedAndChanged { checkout, paths }))
            }
            PutBack::Staged => Err(self.fail(&MergeFailure::StoppedAndStaged { checkout })),
        }
    }
}
