//! `git agentwt remove`: removes worktrees, never losing work.

use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::apply::bring::{self, Brought};
use crate::apply::rescue::{self, Rescue};
use crate::disk::files::{self, Lock};
use crate::error::Error;
use crate::facts::changes::Survey;
use crate::facts::worktree::Known;
use crate::facts::{Repository, remove as facts};
use crate::name::WorktreeName;
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
    let (asked, _locks) = asked(&repository, &options.names)?;
    let may_go = |known: &&Known| known.record.branch_made || options.delete_branch;
    let may_go = asked.iter().filter(|_| !options.keep_branch).filter(may_go);
    let leaving: Vec<_> = may_go.map(|known| known.record.branch.clone()).collect();
    let mut planned = Vec::new();
    for known in asked {
        let survey = facts::survey(&repository, &known)?;
        let facts = facts::read(&repository, &known, &survey, &leaving)?;
        let plan = plan(&facts, allowed)?;
        planned.push((known, survey, plan));
    }
    let mut removed = Vec::new();
    let mut notes = Vec::new();
    for (known, survey, plan) in planned {
        session.check()?;
        let rescue = if options.dry_run {
            None
        } else {
            apply(&repository, &known, &survey, &plan, &mut notes)?
        };
        removed.push(Removed {
            name: known.record.name.to_string(),
            path: known.record.path.clone(),
            branch: known.record.branch.to_string(),
            dry_run: options.dry_run,
            ignored: survey.ignored(),
            plan,
            rescue,
        });
    }
    Ok(Outcome {
        notes,
        ..Outcome::done(removed)
    })
}

/// Loads the named worktrees, each once, and takes their locks: in the order of the names, so
/// that two commands for the same ones never wait for each other.
fn asked(repository: &Repository, names: &[String]) -> Result<(Vec<Known>, Vec<Lock>), Error> {
    let mut order: Vec<WorktreeName> = Vec::new();
    for text in names {
        let name = Known::of(repository, Some(text))?.record.name;
        if !order.contains(&name) {
            order.push(name);
        }
    }
    let mut sorted = order.clone();
    sorted.sort_unstable();
    let mut locks = Vec::new();
    for name in &sorted {
        locks.push(Lock::wait(&repository.name_lock(name))?);
    }
    // what they were may have changed while we waited
    let known: Result<_, _> = order
        .iter()
        .map(|name| Known::load(repository, name))
        .collect();
    Ok((known?, locks))
}

/// Saves, removes the directory, then the branch, and the record last: whatever is interrupted
/// can be removed again.
fn apply(
    repository: &Repository,
    known: &Known,
    survey: &Survey,
    plan: &RemovePlan,
    notes: &mut Vec<String>,
) -> Result<Option<Rescue>, Error> {
    let time = Session::now().replace([':', '-'], "");
    let own = known.readable_repository(repository);
    let rescue = rescue::save(&own, known, survey, plan, &time)?;
    notes.extend(come_in(known, &bring::bring(repository, known)?));
    if own.is_clone() {
        remove_clone(known)?;
    } else {
        let _shared = Lock::wait(&repository.shared_lock())?;
        remove_directory(repository, known)?;
    }
    if let BranchFate::Deleted(tip) = &plan.branch {
        repository
            .git
            .delete_ref(&known.record.branch.full_ref(), tip)?;
    }
    files::remove_directory(&known.dir)?;
    Ok(rescue)
}

/// What the user should hear of the commits that a clone had for itself.
fn come_in(known: &Known, brought: &Brought) -> Vec<String> {
    let name = &known.record.name;
    let mut notes = Vec::new();
    if let Some((incoming, tip)) = &brought.incoming {
        let tip = tip.short();
        notes.push(format!(
            "the commits of `{name}` are in {incoming} ({tip}); to take them over: git merge {incoming}"
        ));
    }
    if let [first, others @ ..] = brought.kept.as_slice() {
        let more = match others.len() {
            0 => String::new(),
            more => format!(" and {more} more beside it"),
        };
        notes.push(format!(
            "what else only the clone had is in {first}{more}; to see it: git log {first}"
        ));
    }
    notes
}

/// Removes a clone, of which its home knows nothing but the record.
fn remove_clone(known: &Known) -> Result<(), Error> {
    let path = &known.record.path;
    if files::is_directory(path) {
        crate::disk::mode::make_directories_writable(path)?;
    }
    Ok(files::remove_directory(path)?)
}

/// Lets git remove the worktree. It refuses one whose `.git` file is not its own, so that is put
/// back; of one that it no longer knows only the directory is left.
fn remove_directory(repository: &Repository, known: &Known) -> Result<(), Error> {
    let record = &known.record;
    let listed = repository.worktrees()?;
    let is_listed = listed.iter().any(|entry| entry.path == record.path);
    if files::is_directory(&record.path) {
        // a directory that somebody made read-only would stop git in the middle
        crate::disk::mode::make_directories_writable(&record.path)?;
        let dot_git = record.path.join(".git");
        if is_listed
            && files::read(&dot_git).ok().flatten().as_deref() != Some(record.dot_git.as_bytes())
        {
            files::remove_if_empty(&dot_git);
            files::write(&dot_git, record.dot_git.as_bytes())?;
        }
    }
    if is_listed {
        repository.git.worktree_remove_force(&record.path)?;
    }
    Ok(files::remove_directory(&record.path)?)
}
