//! `git agentwt land`: verifies worktrees, merges their work into the base branch, and removes them.
//!
//! What is landed is the commit that was verified, by its id. The merge is made without a checkout;
//! then the base branch moves at once, with the worktree that has it checked out, if one has. Killed
//! at any point, the work is merged or not, and the same command goes on
//! (`docs/decisions/0035-land.md`).

mod apply;
mod facts;
mod plan;

use std::collections::BTreeSet;

use camino::Utf8PathBuf;
use schemars::JsonSchema;
use serde::Serialize;

use super::{Outcome, Session};
use crate::answer::{Answer, Text, VerdictField, would};
use crate::cli::{Land, Remove};
use crate::disk::files::Lock;
use crate::error::Error;
use crate::exit::ExitCode;
use crate::git::scratch::ScratchObjects;
use crate::name::{BranchName, CommitId};
use crate::truth::live::verify_now;
use crate::verify::VerifyOptions;
use crate::worktree::removal::Leaving;
use crate::worktree::removal::facts::Around;
use crate::worktree::removal::plan::{Merged, RemovePlan};
use crate::worktree::{Record, Repository, Worktree, trash};
use apply::Landing;
use facts::{Trial, base_branch};
use plan::{LandPlan, not_removable, refusal};

/// The answer of `land`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LandAnswer {
    /// The worktrees, as far as the command came.
    pub worktrees: Vec<LandedWorktree>,
    /// Whether the base branches were pushed; absent without `--push`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pushed: Option<bool>,
}

/// A worktree whose work was landed, or has violations.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LandedWorktree {
    /// The name.
    pub name: String,
    /// The directory.
    #[schemars(with = "String")]
    pub path: Utf8PathBuf,
    /// The branch.
    pub branch: String,
    /// Whether nothing was changed (`-n`).
    pub dry_run: bool,
    /// The verdict; absent if an interrupted removal was finished.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub verdict: Option<VerdictField>,
    /// How the work was landed; absent if it was not.
    #[serde(flatten)]
    pub landed: Option<LandedField>,
    /// The removal; absent with `--keep`, and if the worktree stays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub removal: Option<RemovePlan>,
}

/// How work was landed.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LandedField {
    /// The base branch.
    pub into: String,
    /// `fast-forward`, `merge`, `squash`, `rebase`, or `already` (the base branch had it).
    pub how: &'static str,
    /// The commit that was verified.
    pub verified: CommitId,
    /// The commit of the base branch before.
    pub before: CommitId,
    /// The commit of the base branch now; null with `-n`, where the commit would be new.
    pub commit: Option<CommitId>,
}

impl Answer for LandAnswer {
    const DOCUMENT: &'static str = "land";

    fn print(&self, text: &mut Text) {
        for one in &self.worktrees {
            if let Some(verdict) = &one.verdict {
                verdict.print(text, false);
            }
            if let Some(landed) = &one.landed {
                let (name, into) = (text.paint.name(&one.name), &landed.into);
                let short = |commit: &CommitId| commit.short().to_owned();
                let (from, to) = (landed.before.short(), landed.commit.as_ref().map(short));
                let to = to.unwrap_or_else(|| "a new commit".to_owned());
                text.line(match landed.how {
                    "already" => format!("{into} has the work of {name} already: {to}"),
                    how => {
                        let verb = would(one.dry_run, "landed", "would land");
                        format!("{verb} {name} in {into} by {how}: {from}..{to}")
                    }
                });
            }
            if let Some(removal) = &one.removal {
                removal.print(&one.name, &one.path, &one.branch, text);
            }
        }
    }

    fn verdicts(&self) -> Vec<&VerdictField> {
        let all = self.worktrees.iter();
        all.filter_map(|one| one.verdict.as_ref()).collect()
    }
}

/// Lands the named worktrees in order. All are looked at before the first is landed, and the rest
/// again after each.
///
/// # Errors
/// Fails when the first is refused, or git or the disk fails.
pub fn run(session: &Session, options: &Land) -> Result<Outcome<LandAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let (all, locks) = Worktree::lock_all(&repository, &options.names)?;
    let run = Run {
        session,
        repository: &repository,
        options,
    };
    let mut outcome = Outcome::done(LandAnswer {
        worktrees: Vec::new(),
        pushed: None,
    });
    let is_first_look = all.len() > 1 && !options.dry_run;
    for known in all.iter().filter(|_| is_first_look) {
        let (one, _) = run.look(known)?;
        let invalid = (!one.is_valid()).then_some(one);
        outcome.answer.worktrees.extend(invalid);
    }
    if !outcome.answer.worktrees.is_empty() {
        outcome.exit = ExitCode::Violations;
        return Ok(outcome);
    }
    run.land_all(&all, &mut outcome)?;
    drop(locks);
    run.push(&mut outcome);
    if !options.dry_run {
        let worktrees = outcome.answer.worktrees.iter();
        let mut removals = worktrees.filter_map(|one| one.removal.as_ref());
        let has_trash = removals.any(|removal| removal.is_kept);
        let left = trash::empty_soon(&repository, &session.binary, has_trash)?;
        outcome.notes.extend(left);
    }
    Ok(outcome)
}

/// Holds what the worktrees of a run share.
struct Run<'a> {
    session: &'a Session,
    repository: &'a Repository,
    options: &'a Land,
}

/// What was found of one worktree, and what to merge, with the objects that have its trees. Without a
/// verdict an earlier removal is to be finished.
type Looked = (LandedWorktree, Option<(LandPlan, ScratchObjects)>);

impl Run<'_> {
    /// Lands one after another, until one is refused: what was landed by then is reported.
    fn land_all(&self, all: &[Worktree], outcome: &mut Outcome<LandAnswer>) -> Result<(), Error> {
        for known in all {
            match self.land(known, outcome) {
                Ok(()) if outcome.exit == ExitCode::Success => {}
                Ok(()) => break,
                Err(error) if outcome.answer.worktrees.is_empty() => return Err(error),
                Err(error) => {
                    let help = miette::Diagnostic::help(&error);
                    let help = help.map(|help| format!("; {help}")).unwrap_or_default();
                    outcome.notes.push(format!("{error}{help}"));
                    outcome.exit = error.exit_code();
                    break;
                }
            }
        }
        Ok(())
    }

    /// Lands one. Where only the removal fails, what was landed is in the answer.
    fn land(&self, known: &Worktree, outcome: &mut Outcome<LandAnswer>) -> Result<(), Error> {
        let base = base_branch(&known.record);
        let lock = base.map(|base| Lock::wait(&self.repository.branch_lock(&base)));
        let _one_at_a_time = lock.transpose()?;
        let (mut one, todo) = self.look(known)?;
        if !one.is_valid() {
            outcome.exit = ExitCode::Violations;
        }
        if let Some((plan, scratch)) = todo.filter(|_| !self.options.dry_run) {
            let landing = Landing {
                session: self.session,
                repository: self.repository,
                known,
                plan: &plan,
                scratch: &scratch,
                options: self.options,
            };
            let commit = Some(landing.apply()?);
            one.landed = one.landed.map(|landed| LandedField { commit, ..landed });
        }
        let is_landed = one.landed.is_some() && !self.options.keep;
        let is_removed = is_landed || one.verdict.is_none();
        let landed = one.landed.clone();
        let worktrees = &mut outcome.answer.worktrees;
        worktrees.push(one);
        if is_removed && !self.options.dry_run {
            // what came into the worktree meanwhile is not lost
            let leaving = self.leaving(known, landed.as_ref())?;
            let mut plan = leaving.plan(&self.removal())?;
            let environment = &self.session.environment;
            leaving.apply(&mut plan, self.repository, environment, &Session::now())?;
            outcome.notes.append(&mut plan.notes);
            if let Some(one) = worktrees.last_mut() {
                one.removal = Some(plan);
            }
        }
        Ok(())
    }

    /// Reads a worktree, verifies it and decides.
    fn look(&self, known: &Worktree) -> Result<Looked, Error> {
        let (repository, record) = (self.repository, &known.record);
        let mut one = LandedWorktree::new(record, self.options.dry_run);
        let mut leaving = self.leaving(known, None)?;
        if let Some(rest) = &leaving.rest {
            if rest.trash.is_some() {
                let reason = "its removal was interrupted".to_owned();
                let help = format!("git agentwt remove {} finishes it", record.name);
                return Err(refusal("removal", record, reason, help).into());
            }
            return Ok((one, None));
        }
        let net = VerifyOptions {
            net: true,
            ..VerifyOptions::default()
        };
        let live = verify_now(repository, known, net)?;
        let verdict = VerdictField::worktree(&one.name, one.path.clone(), &live.report);
        one.verdict = Some(verdict);
        if !one.is_valid() {
            return Ok((one, None));
        }
        let own = repository.home();
        let scratch = ScratchObjects::create(&own.common_dir, own.format, record.name.as_str())?;
        let facts = facts::read(repository, &leaving, &live.heads, &scratch, self.options)?;
        let plan = plan::plan(record, &facts, self.options)?;
        let landed = LandedField::new(&plan, self.options);
        if !self.options.keep {
            leaving.assume_merged(&plan.verified, landed.as_merged());
            let removal = leaving.plan(&self.removal());
            let removal = removal.map_err(|refused| not_removable(record, &refused))?;
            one.removal = Some(removal).filter(|_| self.options.dry_run);
        }
        one.landed = Some(landed);
        Ok((one, Some((plan, scratch))))
    }

    /// Reads what keeps a worktree from being removed, whose work is landed in this way, if it is.
    fn leaving(&self, known: &Worktree, landed: Option<&LandedField>) -> Result<Leaving, Error> {
        let around = Around::read(self.repository)?;
        let mut leaving = Leaving::read(self.repository, known.clone(), &around, &[], false)?;
        if let Some(landed) = landed {
            leaving.assume_merged(&landed.verified, landed.as_merged());
        }
        Ok(leaving)
    }

    /// The options of the removal: none that gives anything up.
    fn removal(&self) -> Remove {
        Remove {
            owner: self.options.owner.clone(),
            dry_run: self.options.dry_run,
            ..Remove::default()
        }
    }

    /// Pushes each base branch once. A failure leaves what was landed.
    fn push(&self, outcome: &mut Outcome<LandAnswer>) {
        let Some(remote) = self.options.push.as_ref().filter(|_| !self.options.dry_run) else {
            return;
        };
        let landed = outcome.answer.worktrees.iter();
        let landed = landed.filter_map(|one| one.landed.as_ref());
        let branches: BTreeSet<&str> = landed.map(|landed| landed.into.as_str()).collect();
        for branch in branches {
            let git = &self.repository.git;
            let pushed = git.push_branch(remote, &BranchName::from_git(branch));
            if let Err(error) = &pushed {
                let again = format!("to push it: git push {remote} {branch}");
                let note = format!("the work is landed, and not pushed: {error}; {again}");
                outcome.notes.push(note);
                outcome.exit = ExitCode::Git;
            }
            let before = outcome.answer.pushed.unwrap_or(true);
            outcome.answer.pushed = Some(before && pushed.is_ok());
        }
    }
}

impl LandedWorktree {
    fn new(record: &Record, dry_run: bool) -> Self {
        Self {
            name: record.name.to_string(),
            path: record.path.clone(),
            branch: record.branch.to_string(),
            dry_run,
            verdict: None,
            landed: None,
            removal: None,
        }
    }

    fn is_valid(&self) -> bool {
        self.verdict.as_ref().is_none_or(|verdict| verdict.valid)
    }
}

impl LandedField {
    fn new(plan: &LandPlan, options: &Land) -> Self {
        let (how, commit) = match &plan.trial {
            Trial::Landed => ("already", Some(&plan.before)),
            Trial::Picked(_) => ("rebase", None),
            Trial::Tree(_) if options.squash => ("squash", None),
            Trial::Tree(_) => ("merge", None),
            Trial::FastForward
            | Trial::Diverged
            | Trial::Conflict(_)
            | Trial::HasMerges(_)
            | Trial::Rewound
            | Trial::Unrelated => ("fast-forward", Some(&plan.verified)),
        };
        Self {
            into: plan.into.to_string(),
            how,
            verified: plan.verified.clone(),
            before: plan.before.clone(),
            commit: commit.cloned(),
        }
    }

    /// How the branch is merged where the base branch does not have its commits, for the removal.
    fn as_merged(&self) -> Option<Merged> {
        matches!(self.how, "squash" | "rebase" | "already").then(|| Merged {
            how: "contained",
            commit: None,
            reference: Some(format!("refs/heads/{}", self.into)),
        })
    }
}
