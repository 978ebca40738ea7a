//! `git agentwt remove`: removes worktrees, never losing work.

use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::apply::rescue::{self, Rescue};
use crate::disk::files::{self, Lock};
use crate::error::Error;
use crate::facts::changes::Survey;
use crate::facts::worktree::Known;
use crate::facts::{Repository, remove as facts};
use crate::plan::remove::{BranchFate, RemoveOptions, RemovePlan, plan};

/// Holds what became of one worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Removed {
    /// Its name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// Its branch.
    pub branch: String,
    /// Whether it would only be removed (`-n`).
    pub dry_run: bool,
    /// The plan.
    pub plan: RemovePlan,
    /// Where what would have been lost was saved.
    pub rescue: Option<Rescue>,
    /// How many ignored files went with it.
    pub ignored: usize,
}

/// Removes the named worktrees. All are looked at before the first is touched: when one is
/// refused, none is removed.
///
/// # Errors
/// Fails when one is refused, or git or the disk fails.
pub fn run(
    session: &Session,
    options: &crate::cli::Remove,
) -> Result<Outcome<Vec<Removed>>, Error> {
    let repository = session.repository()?;
    let allowed = RemoveOptions {
        force: options.force,
        delete_branch: options.delete_branch,
        keep_branch: options.keep_branch,
    };
    let mut locks = Vec::new();
    let mut planned = Vec::new();
    for text in &options.names {
        let known = Known::of(&repository, Some(text))?;
        if planned
            .iter()
            .any(|(other, _, _): &(Known, _, _)| other.dir == known.dir)
        {
            continue;
        }
        locks.push(Lock::wait(&repository.name_lock(&known.record.name))?);
        let survey = facts::survey(&repository, &known)?;
        let facts = facts::read(&repository, &known, survey.as_ref())?;
        let plan = plan(&facts, allowed)?;
        planned.push((known, survey, plan));
    }
    let mut removed = Vec::new();
    for (known, survey, plan) in planned {
        session.check()?;
        let rescue = match &survey {
            Some(survey) if !options.dry_run => apply(&repository, &known, survey, &plan)?,
            Some(_) => None,
            None if options.dry_run => None,
            None => forget(&repository, &known, &plan)?,
        };
        removed.push(Removed {
            name: known.record.name.to_string(),
            path: known.record.path.clone(),
            branch: known.record.branch.to_string(),
            dry_run: options.dry_run,
            ignored: survey.as_ref().map_or(0, Survey::ignored),
            plan,
            rescue,
        });
    }
    Ok(Outcome::done(removed))
}

/// Saves, removes the directory, then the branch, and the record last: whatever is interrupted
/// can be removed again.
fn apply(
    repository: &Repository,
    known: &Known,
    survey: &Survey,
    plan: &RemovePlan,
) -> Result<Option<Rescue>, Error> {
    let time = Session::now().replace([':', '-'], "");
    let rescue = rescue::save(repository, known, survey, plan, &time)?;
    {
        let _shared = Lock::wait(&repository.shared_lock())?;
        // a directory that somebody made read-only would stop git in the middle
        crate::disk::mode::make_directories_writable(&known.record.path)?;
        repository.git.worktree_remove_force(&known.record.path)?;
    }
    finish(repository, known, plan)?;
    Ok(rescue)
}

/// Forgets a worktree whose directory is gone already.
fn forget(
    repository: &Repository,
    known: &Known,
    plan: &RemovePlan,
) -> Result<Option<Rescue>, Error> {
    {
        let _shared = Lock::wait(&repository.shared_lock())?;
        repository.git.worktree_prune()?;
    }
    finish(repository, known, plan)?;
    Ok(None)
}

fn finish(repository: &Repository, known: &Known, plan: &RemovePlan) -> Result<(), Error> {
    if let BranchFate::Deleted(tip) = &plan.branch {
        repository
            .git
            .delete_ref(&known.record.branch.full_ref(), tip)?;
    }
    Ok(files::remove_directory(&known.dir)?)
}
