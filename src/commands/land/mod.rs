//! `git agentwt land`: verifies worktrees, merges their work into the base branch, and removes them.
//!
//! What is landed is the commit that was verified, by its id. The merge is made without a checkout;
//! then the base branch moves at once, with the worktree that has it checked out, if one has. Killed
//! at any point, the work is merged or not, and the same command goes on
//! (`docs/decisions/0035-land.md`).

pub mod answer;
pub mod apply;
pub mod arguments;
pub mod forward;
pub mod genuine;
pub mod landing;
pub mod plan;
pub mod push;

use crate::commands::land::answer::{LandAnswer, LandedField, LandedWorktree};

use crate::actions::remove::Leaving;
use crate::actions::remove::facts::Around;
use crate::actions::remove::plan::{RemoveOptions, WorkKind};
use crate::actions::trash;
use crate::answer::verdict::VerdictField;
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

/// Lands the named worktrees in order. All are looked at before the first is landed, and the rest
/// again after each.
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
    let (all, locks) = Worktree::lock_all(repository, &options.names)?;
    let landings = all.iter().map(|known| Landing {
        session,
        repository,
        options,
        known,
    });
    let mut outcome = Outcome::done(LandAnswer::default());
    let worktrees = &mut outcome.answer.worktrees;
    let is_first_look = all.len() > 1 && !options.dry_run;
    for one in landings.clone().filter(|_| is_first_look) {
        drop(one.lock(&mut outcome.notes)?);
        let (looked, _) = one.look()?;
        worktrees.extend(Some(looked).filter(|one| !one.is_valid()));
    }
    if !worktrees.is_empty() {
        outcome.exit = ExitCode::Violations;
    }
    for one in landings {
        if outcome.exit != ExitCode::Success {
            break;
        }
        if let Err(error) = one.land(&mut outcome) {
            if outcome.answer.worktrees.is_empty() {
                return Err(error);
            }
            // what was landed by then is reported
            let help = miette::Diagnostic::help(&error);
            let help = help.map(|help| format!("; {help}")).unwrap_or_default();
            outcome.notes.push(format!("{error}{help}"));
            outcome.exit = error.exit_code();
        }
    }
    drop(locks);
    if !options.dry_run {
        let worktrees = outcome.answer.worktrees.iter();
        let mut removals = worktrees.filter_map(|one| one.removal.as_ref());
        let has_trash = removals.any(|removal| removal.term.is_some());
        let left = trash::empty_soon(repository, &session.binary, has_trash)?;
        outcome.notes.extend(left);
    }
    Ok(outcome)
}

impl Landing<'_> {
    /// Lands. Where only the removal fails, what was landed is in the answer.
    fn land(&self, outcome: &mut Outcome<LandAnswer>) -> Result<(), Error> {
        let one_at_a_time = self.lock(&mut outcome.notes)?;
        let (mut one, plan) = self.look()?;
        if !one.is_valid() {
            outcome.exit = ExitCode::Violations;
        }
        if let Some(plan) = plan.filter(|_| !self.options.dry_run) {
            let branch_lock = one_at_a_time.as_ref();
            let lock = branch_lock.expect("because a plan has a base branch, and that is locked");
            let commit = Some(self.apply(&plan, lock, &mut outcome.notes)?);
            outcome.answer.pushed = self.options.push.as_ref().map(|_| true);
            one.landed = one.landed.map(|landed| LandedField { commit, ..landed });
        }
        let landed = one.landed.clone().filter(|_| !self.options.keep);
        let is_removed = landed.is_some() || one.verdict.is_none();
        let worktrees = &mut outcome.answer.worktrees;
        worktrees.push(one);
        if is_removed && !self.options.dry_run {
            let steps = self.session.user_steps(self.repository);
            let state = self.session.state.as_deref();
            let (_, said) = steps.tear_down(self.known, landed.is_none(), state)?;
            outcome.notes.extend(said);
            // what came into the worktree meanwhile is not lost
            let mut leaving = self.leaving()?;
            landed.iter().for_each(|one| one.assume_in(&mut leaving));
            let mut plan = leaving.plan(&self.removal())?;
            let environment = &self.session.environment;
            let allowed = self.removal();
            let now = Session::now();
            leaving.apply(&mut plan, self.repository, environment, &allowed, &now)?;
            outcome.notes.append(&mut plan.notes);
            if let Some(one) = worktrees.last_mut() {
                one.removal = Some(plan);
            }
        }
        Ok(())
    }

    /// Reads the worktree, verifies and decides. Without a verdict an earlier removal is to be
    /// finished.
    fn look(&self) -> Result<(LandedWorktree, Option<LandPlan>), Error> {
        let record = &self.known.record;
        let mut one = LandedWorktree {
            name: record.name.to_string(),
            path: record.path.clone(),
            branch: record.branch.to_string(),
            dry_run: self.options.dry_run,
            verdict: None,
            landed: None,
            removal: None,
        };
        let mut leaving = self.leaving()?;
        if let Some(rest) = &leaving.rest {
            if rest
                .trash
                .as_ref()
                .is_some_and(|stamp| stamp.term == Term::Long)
            {
                let help = format!("git agentwt remove {} finishes it", record.name);
                return Err(self.refused("removal", "its removal was interrupted", help));
            }
            return Ok((one, None));
        }
        let net = VerifyOptions {
            net: true,
            ..VerifyOptions::default()
        };
        let live = verify_now(self.repository, self.known, net)?;
        let verdict = VerdictField::worktree(&one.name, one.path.clone(), &live.report);
        one.verdict = Some(verdict);
        if !one.is_valid() {
            return Ok((one, None));
        }
        let work = leaving.facts.uncommitted.iter();
        // with --keep an edited copy of a file of the user's stays where it is
        let work = work.filter(|(_, kind)| !matches!(kind, WorkKind::Placed(_)));
        let work = work.map(|(path, _)| path.to_string()).collect();
        let plan = self.plan(work, &live.head)?;
        if !self.options.keep {
            plan.landed.assume_in(&mut leaving);
            let removal = leaving.plan(&self.removal()).map_err(|mut refused| {
                let keep = "; or keep the worktree: git agentwt land --keep ";
                refused.help.extend([keep, record.name.as_str()]);
                refused
            });
            one.removal = Some(removal?).filter(|_| self.options.dry_run);
        }
        one.landed = Some(plan.landed.clone());
        Ok((one, Some(plan)))
    }

    /// Reads what keeps the worktree from being removed.
    fn leaving(&self) -> Result<Leaving, Error> {
        let around = Around::read(self.repository)?;
        Leaving::read(self.repository, self.known.clone(), &around, &[], false)
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
