//! `git agentwt land`: verifies worktrees, merges their work into the base branch, and removes
//! them.
//!
//! What is landed is the commit that was verified, by its id. The merge is made without a checkout;
//! then the base branch moves at once, with the worktree that has it checked out, if one has.
//! Killed at any point, the work is merged or not, and the same command goes on
//! (`docs/decisions/0035-land.md`).

pub mod answer;
pub mod apply;
pub mod arguments;
pub mod forward;
pub mod genuine;
pub mod landing;
pub mod plan;
pub mod push;

use crate::commands::land::answer::{LandAnswer, LandedWork, LandedWorktree};

use crate::actions::remove::facts::SharedFacts;
use crate::actions::remove::plan::{RemoveOptions, RemovePlan, WorkKind};
use crate::actions::remove::{Look, RemovalCandidate};
use crate::actions::setup::UserSteps;
use crate::actions::trash::empty::{TrashChange, empty_soon};
use crate::answer::verdict::VerdictReport;
use crate::commands::land::arguments::Land;
use crate::commands::land::landing::Landing;
use crate::commands::land::plan::LandPlan;
use crate::commands::{Outcome, Session};
use crate::judge::finding::VerifyOptions;
use crate::record::worktree::Term;
use crate::refusal::Refusal;
use crate::truth::live::verify_now;
use crate::words::error::Error;
use crate::words::exit::ExitCode;
use crate::worktree::loaded::Worktree;

/// Lands the named worktrees in order.
///
/// 1. Takes the locks of all names.
/// 2. With several names: verifies and plans each, so that the first is landed only if all can be.
/// 3. Lands each: verifies and plans it again, merges, and removes it.
/// 4. Empties the trash of what has had its term.
///
/// # Errors
/// Fails when the first is refused, or git or the disk fails.
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
    let (worktrees, locks) = Worktree::lock_all(repository, &options.names)?;
    let mut landings = Vec::new();
    for worktree in &worktrees {
        landings.push(Landing {
            session,
            repository,
            options,
            worktree,
        });
    }
    let mut outcome = Outcome::done(LandAnswer::default());
    if landings.len() > 1 && !options.dry_run {
        look_at_all(&landings, &mut outcome)?;
    }
    for landing in landings {
        if outcome.exit != ExitCode::Success {
            break;
        }
        if let Err(error) = landing.land(&mut outcome) {
            if outcome.answer.worktrees.is_empty() {
                return Err(error);
            }
            // what was landed by then is reported
            outcome.notes.push(with_help(&error));
            outcome.exit = error.exit_code();
        }
    }
    drop(locks);
    if !options.dry_run {
        let worktrees = outcome.answer.worktrees.iter();
        let removals = worktrees.filter_map(|one| one.removal.as_ref());
        let change = TrashChange::of(removals.filter_map(|removal| removal.term));
        let rest = empty_soon(repository, &session.binary, change)?;
        outcome.notes.extend(rest);
    }
    Ok(outcome)
}

/// Verifies and plans each; those with violations are in the answer.
fn look_at_all(landings: &[Landing<'_>], outcome: &mut Outcome<LandAnswer>) -> Result<(), Error> {
    for landing in landings {
        drop(landing.lock(&mut outcome.notes)?);
        let (looked, _) = landing.look()?;
        if !looked.is_valid() {
            outcome.answer.worktrees.push(looked);
            outcome.exit = ExitCode::Violations;
        }
    }
    Ok(())
}

fn with_help(error: &Error) -> String {
    match miette::Diagnostic::help(error) {
        Some(help) => format!("{error}; {help}"),
        None => error.to_string(),
    }
}

impl Landing<'_> {
    /// Lands. Where only the removal fails, what was landed is in the answer.
    fn land(&self, outcome: &mut Outcome<LandAnswer>) -> Result<(), Error> {
        let one_at_a_time = self.lock(&mut outcome.notes)?;
        let (mut looked, plan) = self.look()?;
        if !looked.is_valid() {
            outcome.exit = ExitCode::Violations;
        }
        if let Some(plan) = plan.filter(|_| !self.options.dry_run) {
            let branch_lock = one_at_a_time.as_ref();
            let lock = branch_lock.expect("because a plan has a base branch, and that is locked");
            let commit = self.apply(&plan, lock, &mut outcome.notes)?;
            outcome.answer.pushed = self.options.push.as_ref().map(|_| true);
            if let Some(landed) = &mut looked.landed {
                landed.commit = Some(commit);
            }
        }
        let landed = looked.landed.clone().filter(|_| !self.options.keep);
        let is_removed = landed.is_some() || looked.verdict.is_none();
        let worktrees = &mut outcome.answer.worktrees;
        worktrees.push(looked);
        if is_removed && !self.options.dry_run {
            let removal = self.remove(landed.as_ref(), &mut outcome.notes)?;
            if let Some(last) = worktrees.last_mut() {
                last.removal = Some(removal);
            }
        }
        Ok(())
    }

    /// Tears down and removes the worktree. What came into it meanwhile is not lost.
    fn remove(
        &self,
        landed: Option<&LandedWork>,
        notes: &mut Vec<String>,
    ) -> Result<RemovePlan, Error> {
        // a removal that had begun before has run its teardown
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

    /// Reads the worktree, verifies and decides. Without a verdict an earlier removal is to be
    /// finished.
    fn look(&self) -> Result<(LandedWorktree, Option<LandPlan>), Error> {
        let record = &self.worktree.record;
        let mut landed = LandedWorktree {
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
            return Ok((landed, None));
        }
        let net = VerifyOptions {
            net: true,
            ..VerifyOptions::default()
        };
        let live = verify_now(self.repository, self.worktree, net)?;
        let verdict = VerdictReport::worktree(&landed.name, landed.path.clone(), &live.report);
        landed.verdict = Some(verdict);
        if !landed.is_valid() {
            return Ok((landed, None));
        }
        let mut uncommitted = Vec::new();
        for work in &candidate.facts.uncommitted {
            // with --keep an edited copy of a file of the user's stays where it is
            if !matches!(work.kind, WorkKind::Placed(_)) {
                uncommitted.push(work.path.to_string());
            }
        }
        let plan = self.plan(uncommitted, &live.head)?;
        if !self.options.keep {
            plan.landed.assume_in(&mut candidate);
            let removal = candidate.plan(&self.removal()).map_err(|mut refused| {
                let keep = "; or keep the worktree: git agentwt land --keep ";
                refused.help.extend([keep, record.name.as_str()]);
                refused
            });
            landed.removal = Some(removal?).filter(|_| self.options.dry_run);
        }
        landed.landed = Some(plan.landed.clone());
        Ok((landed, Some(plan)))
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
        Err(self.refused("removal", "its removal was interrupted", help))
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
