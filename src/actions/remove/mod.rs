//! Removes one worktree, as `remove`, `prune`, `land`, `run --rm` and the roll-back of `add` do.
//!
//! 1. [`RemovalCandidate::read`] reads what decides, and [`RemovalCandidate::plan`] decides. A
//!    refusal moves nothing, as an agent may be at work there.
//! 2. [`RemovalCandidate::apply`] writes down that the removal begins (the file `removing`), and
//!    moves the directory into the trash.
//! 3. It looks again there, where nobody finds the directory under its old path any more: what came
//!    meanwhile puts it back, with the reasons (`docs/decisions/0040-look-again-in-the-trash.md`).
//! 4. [`finish`](finish::finish) deletes the branch and moves the record, last. After a kill in
//!    between, another call finds how far the removal came.

pub mod decide;
pub mod facts;
pub mod finish;
pub mod gone;
pub mod merged;
pub mod plan;

use crate::actions::bring::bring;
use crate::actions::remove::decide::RemoveRefusal;
use crate::actions::remove::facts::{SharedFacts, Site, read_facts};
use crate::actions::remove::finish::finish;
use crate::actions::remove::plan::{
    BranchFate, IgnoredPlace, Merged, RemoveFacts, RemoveOptions, RemovePlan,
};
use crate::actions::trash::enter::{
    cannot_be_renamed, in_trash, is_partly_deleted, keep_commits, move_directory,
    move_private_git_dir, pending_move, write_removal,
};
use crate::actions::trash::entry::{Trashed, id, shown};
use crate::actions::trash::hold::Held;
use crate::actions::trash::list::free_time;
use crate::actions::trash::undo::{finish_undo, restore_from_trash};
use crate::config::value::Strategy;
use crate::disk::error::DiskError;
use crate::disk::lock::Lock;
use crate::git::error::GitError;
use crate::git::refs::Ref;
use crate::record::worktree::{Removal, Term, TrashStamp};
use crate::truth::collect;
use crate::truth::head::WorktreeHead;
use crate::truth::options::ReadPolicy;
use crate::truth::survey::Survey;
use crate::words::error::Error;
use crate::words::name::{BranchName, CommitId, WorktreeName};
use crate::words::path_text::paths;
use crate::worktree::claims;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;
use crate::worktree::settings::Environment;

/// Says what of a worktree is looked at before it is removed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Look {
    /// Everything: what is found decides.
    Everything,
    /// Not the files: the worktree goes into the trash whatever it holds.
    WithoutFiles,
}

/// A worktree that may be removed, and what was read of it.
pub struct RemovalCandidate {
    /// The worktree.
    pub worktree: Worktree,
    /// What is in it; none where that was not looked at, or an earlier removal has decided.
    pub survey: Option<Survey>,
    /// What decides; of no meaning where an earlier removal has decided.
    pub facts: RemoveFacts,
    /// What an interrupted removal has decided, if the directory is away already
    /// ([`pending_move`]); none where this call decides.
    pub pending_removal: Option<Removal>,
    /// True if an interrupted removal has begun to delete the files where they are.
    is_partly_deleted: bool,
    head: WorktreeHead,
    /// The branches that may go in the same command.
    leaving_branches: Vec<BranchName>,
    /// How the branch was merged, where the caller knows that.
    assumed_merge: Option<AssumedMerge>,
}

/// How a branch at this commit was merged: by its commits, or in this way.
#[derive(Clone)]
struct AssumedMerge {
    tip: CommitId,
    merged: Option<Merged>,
}

/// What a removal does and is done with.
struct Removing<'a> {
    repository: &'a Repository,
    /// What the plan was made with.
    options: &'a RemoveOptions,
    /// The second half of its names in the trash.
    time: String,
    /// RFC 3339 in UTC.
    now: &'a str,
}

/// A removal that has begun.
struct BegunRemoval {
    removal: Removal,
    /// The ref that keeps commits; none where there is none, or an earlier call made it.
    commits: Option<Ref>,
    /// What is held of its private git directory.
    held: Held,
}

impl RemovalCandidate {
    /// Reads a worktree whose lock is ours. `leaving_branches` are those that may go in the same
    /// command.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn read(
        repository: &Repository,
        worktree: Worktree,
        shared: &SharedFacts,
        leaving_branches: &[BranchName],
        look: Look,
    ) -> Result<Self, Error> {
        let mut candidate = Self {
            pending_removal: pending_move(repository, &worktree),
            is_partly_deleted: is_partly_deleted(&worktree),
            worktree,
            survey: None,
            facts: RemoveFacts::default(),
            head: WorktreeHead::default(),
            leaving_branches: leaving_branches.to_vec(),
            assumed_merge: None,
        };
        if candidate.pending_removal.is_some() {
            // the earlier removal has decided: there is nothing to read
            return Ok(candidate);
        }
        match look {
            Look::WithoutFiles => {
                let own = candidate.worktree.readable_repository(repository);
                let policy = ReadPolicy::best();
                candidate.head = WorktreeHead::read(&own, &candidate.worktree, &policy)?;
            }
            Look::Everything => {
                let survey = collect(repository, &candidate.worktree)?;
                candidate.head = survey.head.clone();
                candidate.survey = Some(survey);
            }
        }
        let site = Site {
            recorded: &candidate.worktree,
            current: &candidate.worktree,
        };
        candidate.facts = candidate.read_facts(repository, shared, &site)?;
        Ok(candidate)
    }

    /// Reads the facts that the decision rests on.
    fn read_facts(
        &self,
        repository: &Repository,
        shared: &SharedFacts,
        site: &Site<'_>,
    ) -> Result<RemoveFacts, Error> {
        read_facts(
            repository,
            shared,
            site,
            self.survey.as_ref(),
            &self.head,
            &self.leaving_branches,
        )
    }

    /// Takes the branch as merged if it is at `tip`: in the way that `merged` says, or, without
    /// that, by its commits.
    pub fn assume_merged(&mut self, tip: &CommitId, merged: Option<Merged>) {
        let assumed = AssumedMerge {
            tip: tip.clone(),
            merged,
        };
        assumed.set_in(&mut self.facts);
        self.assumed_merge = Some(assumed);
    }

    /// Decides whether it may be removed, and what is kept.
    ///
    /// # Errors
    /// Refuses what `remove` refuses.
    pub fn plan(&self, options: &RemoveOptions) -> Result<RemovePlan, RemoveRefusal> {
        if let Some(removal) = &self.pending_removal {
            return Ok(plan_rest(removal, options));
        }
        let mut plan = decide::plan(&self.worktree.record, &self.facts, options)?;
        if let Some(survey) = &self.survey {
            let uncommitted = &self.facts.uncommitted;
            plan.saved = Some(paths(uncommitted.iter().map(|work| work.path.as_bstr())));
            plan.ignored = Some(survey.build_output().count());
            plan.ignored_places = survey
                .build_places()
                .iter()
                .map(IgnoredPlace::new)
                .collect();
        }
        Ok(plan)
    }

    /// Removes the worktree, and writes into the plan what became of it. `options` is what the plan
    /// was made with, and `now` is RFC 3339 in UTC.
    ///
    /// # Errors
    /// Refuses when something came meanwhile that `remove` refuses: then the worktree is where it
    /// was. Fails when something cannot be kept or deleted: the next call goes on.
    pub fn apply(
        &self,
        plan: &mut RemovePlan,
        repository: &Repository,
        environment: &Environment,
        options: &RemoveOptions,
        now: &str,
    ) -> Result<(), Error> {
        let record = &self.worktree.record;
        // two removals at once would each count the branch of the other as what keeps commits: the
        // second look comes when the other has ended
        let _one_at_a_time = Lock::wait(&repository.removal_lock())?;
        let mut begun = match &self.pending_removal {
            Some(removal) => self.resume(plan, removal),
            None => {
                // before the move, as the clone's repository goes with its directory
                plan.notes.extend(bring(repository, &self.worktree)?);
                let removing = Removing {
                    repository,
                    options,
                    time: free_time(repository, &record.name, now)?,
                    now,
                };
                self.move_away(plan, &removing)?
            }
        };
        if let Some(claim) = &record.claim {
            // before the record goes: after a kill the next call finds the claim in it
            let note = claims::release_or_note(repository, &record.name, claim, environment);
            plan.notes.extend(note);
        }
        let branch = self
            .finish(repository, &begun.removal, &mut begun.held)
            .inspect_err(|_| self.cancel_unless_moved(repository, &begun.removal))?;
        if begun.removal.branch_at.is_some() {
            // it was to be deleted; the plan says already why any other branch stays or is gone
            plan.branch = branch;
        }
        plan.trash = begun.into_trashed(&record.name);
        Ok(())
    }

    /// Does what is left of the removal: [`finish()`] on the worktree as it is recorded by now.
    fn finish(
        &self,
        repository: &Repository,
        removal: &Removal,
        held: &mut Held,
    ) -> Result<BranchFate, Error> {
        // an undo that failed may have given its private git directory another name
        let name = &self.worktree.record.name;
        let worktree = Worktree::load(repository, name)?;
        finish(repository, &worktree, removal, held)
    }

    /// Goes on with a removal that was interrupted, and notes that.
    fn resume(&self, plan: &mut RemovePlan, removal: &Removal) -> BegunRemoval {
        let name = &self.worktree.record.name;
        let mut note = format!("{name}: finished a removal that was interrupted");
        if let Some(reference) = &removal.saved {
            note.push_str(&format!("; its commits are in {reference}"));
        }
        plan.notes.push(note);
        BegunRemoval {
            removal: removal.clone(),
            commits: None,
            held: Held::default(),
        }
    }

    /// Begins the removal and moves the worktree into the trash. What goes for the short term only
    /// is looked at again there.
    fn move_away(
        &self,
        plan: &mut RemovePlan,
        removing: &Removing<'_>,
    ) -> Result<BegunRemoval, Error> {
        let mut begun = self.begin(plan, removing, None)?;
        let Some(stamp) = begun.removal.trash.clone() else {
            // nothing of the worktree is left to move
            return Ok(begun);
        };
        let current = self.move_to_trash(removing.repository, &mut begun, &stamp)?;
        if stamp.term == Term::Long {
            // all of it is kept, whatever came meanwhile
            return Ok(begun);
        }
        match self.look_again(plan, removing, &current) {
            Ok(second) => follow_second_look(plan, removing, begun, second),
            Err(error) => self.put_back(plan, removing.repository, begun, &stamp, error),
        }
    }

    /// Moves directory and private git directory into the trash, and returns the worktree as it
    /// stands there. Where the directory cannot be renamed, or an earlier call has deleted files in
    /// it, what was to go for the short term stays in its place, where [`finish()`] deletes it.
    fn move_to_trash(
        &self,
        repository: &Repository,
        begun: &mut BegunRemoval,
        stamp: &TrashStamp,
    ) -> Result<Worktree, Error> {
        if stamp.term == Term::Short && self.is_partly_deleted {
            return Ok(self.leave_in_place(begun)?);
        }
        let Err(error) = move_directory(repository, &self.worktree, stamp) else {
            move_private_git_dir(repository, &self.worktree, stamp, &mut begun.held)?;
            return Ok(in_trash(repository, &self.worktree, &stamp.time));
        };
        if stamp.term == Term::Short && cannot_be_renamed(&error) {
            return Ok(self.leave_in_place(begun)?);
        }
        self.cancel_unless_moved(repository, &begun.removal);
        Err(error.into())
    }

    /// Decides that the worktree is deleted in its place, and returns it. That is written down: for
    /// the next call, what is missing then was deleted by this one.
    fn leave_in_place(&self, begun: &mut BegunRemoval) -> Result<Worktree, DiskError> {
        begun.removal.trash = None;
        write_removal(&self.worktree, &begun.removal)?;
        Ok(self.worktree.clone())
    }

    /// Reads the worktree as it stands now, in the trash or in its place, and decides again.
    ///
    /// # Errors
    /// Refuses what `remove` refuses, and fails when it cannot be read.
    fn look_again(
        &self,
        plan: &RemovePlan,
        removing: &Removing<'_>,
        current: &Worktree,
    ) -> Result<SecondLook, Error> {
        let repository = removing.repository;
        let mut notes = plan.notes.clone();
        if current.record.strategy == Strategy::Clone {
            notes.extend(bring(repository, current)?);
        }
        let candidate = self.read_again(repository, current)?;
        let mut second_plan = candidate.plan(removing.options)?;
        second_plan.notes = notes;
        if current.record.path == self.worktree.record.path {
            // it could not be renamed, so it does not go into the trash
            second_plan.term = None;
        }
        Ok(SecondLook {
            candidate,
            plan: second_plan,
        })
    }

    /// Reads the same worktree anew, where it stands by now.
    fn read_again(&self, repository: &Repository, current: &Worktree) -> Result<Self, Error> {
        let shared = SharedFacts::read(repository)?;
        let survey = collect(repository, current)?;
        let mut candidate = Self {
            worktree: self.worktree.clone(),
            head: survey.head.clone(),
            survey: Some(survey),
            facts: RemoveFacts::default(),
            pending_removal: None,
            is_partly_deleted: self.is_partly_deleted,
            leaving_branches: self.leaving_branches.clone(),
            assumed_merge: self.assumed_merge.clone(),
        };
        let site = Site {
            recorded: &self.worktree,
            current,
        };
        candidate.facts = candidate.read_facts(repository, &shared, &site)?;
        // the first look has judged where the command was started
        candidate.facts.start.clone_from(&repository.root);
        if let Some(assumed) = &self.assumed_merge {
            assumed.set_in(&mut candidate.facts);
        }
        Ok(candidate)
    }

    /// Moves the worktree back to its place and fails with `error`, for which the second look does
    /// not let it go. Where something else stands in its place by now, it stays in the trash.
    fn put_back(
        &self,
        plan: &mut RemovePlan,
        repository: &Repository,
        begun: BegunRemoval,
        stamp: &TrashStamp,
        error: Error,
    ) -> Result<BegunRemoval, Error> {
        if let Err(why) = restore_from_trash(repository, &self.worktree, stamp) {
            let name = &self.worktree.record.name;
            plan.notes.push(format!(
                "{name}: {error}, and it cannot be put back ({why}): it is kept in the trash"
            ));
            return Ok(self.keep_in_trash(plan, begun, stamp)?);
        }
        begun.forget_commits(repository)?;
        Err(error)
    }

    /// Decides that the worktree stays in the trash for the long term, and that the branch stays.
    fn keep_in_trash(
        &self,
        plan: &mut RemovePlan,
        mut begun: BegunRemoval,
        stamp: &TrashStamp,
    ) -> Result<BegunRemoval, DiskError> {
        plan.term = Some(Term::Long);
        plan.branch = BranchFate::Stays;
        begun.removal.branch_at = None;
        begun.removal.trash = Some(TrashStamp {
            term: Term::Long,
            ..stamp.clone()
        });
        write_removal(&self.worktree, &begun.removal)?;
        Ok(begun)
    }

    /// Takes back that the removal has begun, if the directory is still in its place.
    fn cancel_unless_moved(&self, repository: &Repository, removal: &Removal) {
        if removal.trash.is_some() && pending_move(repository, &self.worktree).is_none() {
            let _ = finish_undo(repository, &self.worktree);
        }
    }

    /// Begins the removal again, as the second look decided otherwise. Whatever ends this call in
    /// between, the branch stays until the ref has the commits that are to be kept.
    fn begin_anew(
        &self,
        plan: &RemovePlan,
        removing: &Removing<'_>,
        first: &BegunRemoval,
    ) -> Result<BegunRemoval, Error> {
        let mut between = first.removal.clone();
        between.branch_at = None;
        between.trash = self.stamp(plan, &removing.time);
        write_removal(&self.worktree, &between)?;
        let before = first.commits.as_ref().map(|kept| &kept.id);
        let again = self.begin(plan, removing, before)?;
        if again.commits.is_none() {
            first.forget_commits(removing.repository)?;
        }
        Ok(again)
    }

    /// Keeps commits that nothing else holds, and writes down that the removal begins. `before` is
    /// the commit that the ref has from a first look.
    fn begin(
        &self,
        plan: &RemovePlan,
        removing: &Removing<'_>,
        before: Option<&CommitId>,
    ) -> Result<BegunRemoval, Error> {
        let record = &self.worktree.record;
        let commits = keep_commits(
            removing.repository,
            &record.name,
            &removing.time,
            &plan.keep,
            before,
        )?;
        let removal = Removal {
            began: removing.now.to_owned(),
            created: record.created.clone(),
            branch_at: plan.tip.clone(),
            saved: commits.as_ref().map(|kept| kept.name.to_string()),
            trash: self.stamp(plan, &removing.time),
        };
        write_removal(&self.worktree, &removal)?;
        Ok(BegunRemoval {
            removal,
            commits,
            held: Held::default(),
        })
    }

    /// How it goes into the trash; none where nothing of it is left.
    fn stamp(&self, plan: &RemovePlan, time: &str) -> Option<TrashStamp> {
        let head = &self.head;
        plan.term.map(|term| TrashStamp {
            time: time.to_owned(),
            head: head.head.clone(),
            on: head.symbolic.clone(),
            tip: head.branch.clone(),
            term,
        })
    }
}

/// What was found in the trash, and is decided there.
struct SecondLook {
    candidate: RemovalCandidate,
    plan: RemovePlan,
}

/// Takes over the plan of the second look, and begins again if that differs from the first.
fn follow_second_look(
    plan: &mut RemovePlan,
    removing: &Removing<'_>,
    begun: BegunRemoval,
    second: SecondLook,
) -> Result<BegunRemoval, Error> {
    let first_plan = std::mem::replace(plan, second.plan);
    let is_as_before = first_plan.keep == plan.keep
        && begun.removal.branch_at == plan.tip
        && begun.removal.trash == second.candidate.stamp(plan, &removing.time);
    if is_as_before {
        return Ok(begun);
    }
    second.candidate.begin_anew(plan, removing, &begun)
}

/// The plan of what is left of an interrupted removal.
fn plan_rest(removal: &Removal, options: &RemoveOptions) -> RemovePlan {
    RemovePlan {
        branch: match &removal.branch_at {
            Some(_) => BranchFate::Deleted,
            None => BranchFate::Stays,
        },
        tip: removal.branch_at.clone(),
        term: removal.trash.as_ref().map(|stamp| stamp.term),
        dry_run: options.dry_run,
        ..RemovePlan::default()
    }
}

impl AssumedMerge {
    fn set_in(&self, facts: &mut RemoveFacts) {
        if facts.branch_tip.as_ref() == Some(&self.tip) && !facts.unmerged.is_empty() {
            facts.unmerged.clear();
            facts.merged.clone_from(&self.merged);
        }
    }
}

impl BegunRemoval {
    /// Deletes the ref that keeps commits.
    fn forget_commits(&self, repository: &Repository) -> Result<(), GitError> {
        match &self.commits {
            Some(kept) => repository.git.delete_ref(&kept.name.to_string(), &kept.id),
            None => Ok(()),
        }
    }

    /// What is kept, a directory or a ref; none where nothing is.
    fn into_trashed(self, name: &WorktreeName) -> Option<Trashed> {
        let reference = self.commits.as_ref().map(|kept| kept.name.to_string());
        let stamp = self.removal.trash.as_ref();
        let time = match stamp {
            Some(stamp) => stamp.time.clone(),
            // the last part of the name of the ref is its time
            None => reference.as_deref()?.rsplit('/').next()?.to_owned(),
        };
        Some(Trashed {
            directory: stamp.map(|stamp| shown(&id(name, &stamp.time))),
            time,
            reference,
            commit: self.commits.map(|kept| kept.id),
            name: name.clone(),
            removal: Some(self.removal),
        })
    }
}
