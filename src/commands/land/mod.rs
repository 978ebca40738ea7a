//! `git agentwt land`: verifies worktrees, merges their work into the base branch, and removes
//! them.
//!
//! What is landed is the commit that was verified, by its id. The merge is made without a checkout;
//! then the base branch moves at once, with the worktree that has it checked out, if one has.
//! Killed at any point, the work is merged or not, and the same command goes on
//! (`docs/decisions/0035-land.md`).

pub mod answer;
pub mod arguments;

use crate::actions::follower::Follower;
use crate::actions::merge::PreparedMerge;
use crate::actions::merge::landed::LandedWork;
use crate::actions::merge::refusal::cannot_land;
use crate::actions::merge::work::{MergeRequest, WorkToMerge};
use crate::actions::remove::facts::SharedFacts;
use crate::actions::remove::plan::{RemoveOptions, RemovePlan, WorkKind};
use crate::actions::remove::{Look, RemovalCandidate};
use crate::actions::setup::UserSteps;
use crate::actions::trash::empty::{TrashChange, empty_soon};
use crate::answer::verdict::VerdictReport;
use crate::commands::land::answer::{LandAnswer, LandedWorktree};
use crate::commands::land::arguments::Land;
use crate::commands::{Outcome, Session};
use crate::disk::lock::Lock;
use crate::judge::finding::VerifyOptions;
use crate::record::worktree::Term;
use crate::refusal::Refusal;
use crate::truth::live::verify_now;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// The landing of one worktree.
struct Landing<'a> {
    session: &'a Session,
    repository: &'a Repository,
    options: &'a Land,
    worktree: &'a Worktree,
    request: MergeRequest,
    /// Fails when a signal asked to stop.
    stop: &'a (dyn Fn() -> Result<(), Error> + Sync),
}

/// What is to be done with one worktree.
struct PlannedLanding {
    answer: LandedWorktree,
    step: LandingStep,
}

/// How the landing of a worktree goes on after it was verified.
enum LandingStep {
    /// It has violations, and stays as it is.
    Refuse,
    /// Its removal, which an earlier call began, is finished.
    FinishRemoval,
    /// It is merged, and removed unless with `--keep`.
    Merge(Box<PreparedMerge>),
}

/// Lands the named worktrees in order.
///
/// 1. Takes the locks of all names.
/// 2. With several names: verifies and plans each, so that the first is landed only if all can be.
/// 3. Lands each: verifies and plans it again, merges, and removes it.
/// 4. Empties the trash of what has had its term.
///
/// # Errors
/// Fails when the first is refused, or git or the disk fails. Later failures are notes.
pub fn run(session: &Session, options: &Land) -> Result<Outcome<LandAnswer>, Error> {
    let repository = &session.repository_to_change()?;
    if !options.dry_run {
        session.require_no_agent(repository, &session.command_line)?;
    }
    if let Some(remote) = options.push.clone()
        && !repository.git.remotes()?.contains(&remote)
    {
        return Err(Refusal::UnknownRemote { remote }.into());
    }
    // 1
    let (worktrees, locks) = Worktree::lock_all(repository, &options.names)?;
    let stop = || session.check();
    let mut landings = Vec::new();
    for worktree in &worktrees {
        landings.push(Landing {
            session,
            repository,
            options,
            worktree,
            request: options.request(&worktree.record.name),
            stop: &stop,
        });
    }
    // 2
    let mut outcome = Outcome::done(LandAnswer::default());
    if landings.len() > 1 && !options.dry_run {
        verify_all(&landings, &mut outcome)?;
    }
    // 3
    for landing in landings {
        if outcome.exit != ExitCode::Success {
            break;
        }
        if let Err(error) = landing.land(&mut outcome) {
            if outcome.answer.worktrees.is_empty() {
                return Err(error);
            }
            // what was landed by then is reported
            outcome.notes.push(error.with_help());
            outcome.exit = error.exit_code();
        }
    }
    // 4; the process that empties the trash takes the locks, one at a time
    drop(locks);
    if !options.dry_run {
        let landed = outcome.answer.worktrees.iter();
        let removals = landed.filter_map(|one| one.removal.as_ref());
        let change = TrashChange::of(removals.filter_map(|removal| removal.term));
        let rest = empty_soon(repository, &session.binary, change)?;
        outcome.notes.extend(rest);
    }
    Ok(outcome)
}

/// Verifies and plans each, before the first is landed; those with violations are in the answer.
fn verify_all(landings: &[Landing<'_>], outcome: &mut Outcome<LandAnswer>) -> Result<(), Error> {
    for landing in landings {
        // only to put back what a killed landing left: `land` takes the lock again
        drop(landing.lock(outcome)?);
        let planned = landing.verify_and_plan()?;
        if matches!(planned.step, LandingStep::Refuse) {
            outcome.answer.worktrees.push(planned.answer);
            outcome.exit = ExitCode::Violations;
        }
    }
    Ok(())
}

impl Landing<'_> {
    fn work(&self) -> WorkToMerge<'_> {
        WorkToMerge {
            repository: self.repository,
            worktree: self.worktree,
            request: &self.request,
            follower: Follower {
                progress: &self.session.progress,
                trace: &self.session.trace,
                stop: self.stop,
            },
        }
    }

    /// Takes the lock of the base branch, if the worktree has one, and puts back what a killed
    /// landing left.
    fn lock(&self, outcome: &mut Outcome<LandAnswer>) -> Result<Option<Lock>, Error> {
        let intent = self.options.intent();
        self.work().lock(intent, &mut outcome.notes)
    }

    /// Lands one worktree. If only its removal fails, the answer has what was landed.
    ///
    /// 1. Takes the lock of the base branch; puts back what a killed landing left.
    /// 2. Verifies the worktree, plans the merge and the removal.
    /// 3. Merges.
    /// 4. Removes the worktree, or with `--keep` leaves it.
    fn land(&self, outcome: &mut Outcome<LandAnswer>) -> Result<(), Error> {
        // 1
        let base_lock = self.lock(outcome)?;
        // 2
        let PlannedLanding { mut answer, step } = self.verify_and_plan()?;
        // 3
        let removal_is_due = match step {
            LandingStep::Refuse => {
                outcome.exit = ExitCode::Violations;
                false
            }
            LandingStep::FinishRemoval => true,
            LandingStep::Merge(merge) => {
                if !self.options.dry_run {
                    self.merge(&merge, base_lock.as_ref(), &mut answer, outcome)?;
                }
                !self.options.keep
            }
        };
        // 4; the answer goes first, so that it is there if the removal fails
        let landed = answer.landed.clone();
        outcome.answer.worktrees.push(answer);
        if removal_is_due && !self.options.dry_run {
            let removal = self.remove(landed.as_ref(), &mut outcome.notes)?;
            if let Some(last) = outcome.answer.worktrees.last_mut() {
                last.removal = Some(removal);
            }
        }
        Ok(())
    }

    /// Merges the work into the base branch, and completes the answers.
    fn merge(
        &self,
        merge: &PreparedMerge,
        base_lock: Option<&Lock>,
        answer: &mut LandedWorktree,
        outcome: &mut Outcome<LandAnswer>,
    ) -> Result<(), Error> {
        let lock = base_lock.expect("because a plan has a base branch, and that is locked");
        let work = self.work();
        let commit = work.apply(&merge.plan, &merge.scratch, lock, &mut outcome.notes)?;
        if self.options.push.is_some() {
            outcome.answer.pushed = Some(true);
        }
        if let Some(landed) = &mut answer.landed {
            landed.commit = Some(commit);
        }
        Ok(())
    }

    /// Runs the user's teardown and removes the worktree; refuses if work came into it after the
    /// merge. Without `landed`, finishes an earlier removal: the directory is away already, and there
    /// is nothing to tear down.
    fn remove(
        &self,
        landed: Option<&LandedWork>,
        notes: &mut Vec<String>,
    ) -> Result<RemovePlan, Error> {
        if landed.is_some() {
            let steps = UserSteps {
                repository: self.repository,
                environment: &self.session.environment,
                signal: &self.session.signal,
                log: &self.session.log,
            };
            let state = self.session.state.as_deref();
            notes.extend(steps.tear_down(self.worktree, state)?.notes);
        }
        // read anew: the teardown, or an agent meanwhile, may have left work
        let mut candidate = self.candidate()?;
        if let Some(landed) = landed {
            landed.assume_in(&mut candidate);
        }
        let allowed = self.removal();
        let mut removal = candidate.plan(&allowed)?;
        let environment = &self.session.environment;
        let now = Session::now();
        candidate.apply(&mut removal, self.repository, environment, &allowed, &now)?;
        notes.append(&mut removal.notes);
        Ok(removal)
    }

    /// Reads the worktree, verifies it, and plans the merge and the removal; changes nothing.
    fn verify_and_plan(&self) -> Result<PlannedLanding, Error> {
        let record = &self.worktree.record;
        let mut answer = LandedWorktree {
            name: record.name.to_string(),
            path: record.path.clone(),
            branch: record.branch.to_string(),
            dry_run: self.options.dry_run,
            verdict: None,
            landed: None,
            removal: None,
        };
        let mut candidate = self.candidate()?;
        if candidate.pending_removal.is_some() {
            self.require_short_term(&candidate)?;
            let step = LandingStep::FinishRemoval;
            return Ok(PlannedLanding { answer, step });
        }
        let net = VerifyOptions {
            net: true,
            ..VerifyOptions::default()
        };
        let live = verify_now(self.repository, self.worktree, net)?;
        let verdict = VerdictReport::worktree(&answer.name, answer.path.clone(), &live.report);
        let is_valid = verdict.valid;
        answer.verdict = Some(verdict);
        if !is_valid {
            let step = LandingStep::Refuse;
            return Ok(PlannedLanding { answer, step });
        }
        let uncommitted = self.uncommitted_paths(&candidate)?;
        let merge = self.work().prepare(&live.head, uncommitted)?;
        if !self.options.keep {
            // before the merge: where the removal is refused, nothing is merged
            let removal = self.plan_removal(&merge.plan.landed, &mut candidate)?;
            if self.options.dry_run {
                answer.removal = Some(removal);
            }
        }
        answer.landed = Some(merge.plan.landed.clone());
        let step = LandingStep::Merge(Box::new(merge));
        Ok(PlannedLanding { answer, step })
    }

    /// The paths with work that is not committed, without what git ignores there: a rule that the
    /// branch brings ignores it, so `git add -A` would leave it out, and the removal is refused for
    /// it. An edited copy of a file of the user's is none either: with `--keep` it stays where it is.
    fn uncommitted_paths(&self, candidate: &RemovalCandidate) -> Result<Vec<String>, Error> {
        let uncommitted = &candidate.facts.uncommitted;
        let mut untracked = Vec::new();
        for work in uncommitted {
            if work.kind == WorkKind::Untracked {
                untracked.push(&work.path);
            }
        }
        let git = self.worktree.git(self.repository);
        let ignored = git.check_ignore(&untracked)?;
        let mut paths = Vec::new();
        for work in uncommitted {
            let is_placed = matches!(work.kind, WorkKind::Placed(_));
            if !is_placed && !ignored.contains(&work.path) {
                paths.push(work.path.to_string());
            }
        }
        Ok(paths)
    }

    /// Plans the removal, as if the work were landed.
    fn plan_removal(
        &self,
        landed: &LandedWork,
        candidate: &mut RemovalCandidate,
    ) -> Result<RemovePlan, Error> {
        landed.assume_in(candidate);
        let plan = candidate.plan(&self.removal());
        Ok(plan.map_err(|mut refused| {
            let name = self.worktree.record.name.as_str();
            let keep = "; or keep the worktree: git agentwt land --keep ";
            refused.help.extend([keep, name]);
            refused
        })?)
    }

    /// Refuses where an interrupted removal moved work into the trash: that was no landing.
    fn require_short_term(&self, candidate: &RemovalCandidate) -> Result<(), Error> {
        let pending = candidate.pending_removal.as_ref();
        let stamp = pending.and_then(|removal| removal.trash.as_ref());
        if stamp.is_none_or(|stamp| stamp.term != Term::Long) {
            return Ok(());
        }
        let name = &self.worktree.record.name;
        let help = format!("git agentwt remove {name} finishes it");
        let reason = "its removal was interrupted".to_owned();
        Err(cannot_land(name, ExitCode::Refused, "removal", reason, help).into())
    }

    /// Reads what keeps the worktree from being removed.
    fn candidate(&self) -> Result<RemovalCandidate, Error> {
        let shared = SharedFacts::read(self.repository)?;
        let worktree = self.worktree.clone();
        RemovalCandidate::read(self.repository, worktree, &shared, &[], Look::Everything)
    }

    /// The options of the removal: none that gives anything up.
    fn removal(&self) -> RemoveOptions {
        RemoveOptions {
            owner: self.options.owner.clone(),
            dry_run: self.options.dry_run,
            ..RemoveOptions::default()
        }
    }
}
