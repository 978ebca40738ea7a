//! `git agentwt remove`: removes worktrees, never losing work.

use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::apply::leaving::{Gone, Leaving, Looked};
use crate::apply::trash_bin;
use crate::disk::files::Lock;
use crate::error::Error;
use crate::facts::remove::Around;
use crate::facts::{Repository, joined};
use crate::name::{BranchName, WorktreeName};
use crate::plan::refusal::Refusal;
use crate::plan::remove::{RemoveOptions, RemovePlan, notes};
use crate::worktree::Worktree;
use crate::worktree::saved::Rescue;

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
    pub trash: Option<Rescue>,
    /// How many ignored files went with it.
    pub ignored: usize,
    /// Where they were, with their sizes, the largest first.
    pub ignored_places: Vec<(String, u64)>,
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
    let repository = session.repository_to_change()?;
    let (asked, _locks) = asked(&repository, &options.names)?;
    let (planned, mut notes) = decide(&repository, asked, options)?;
    let mut removed = Vec::new();
    for leaving in planned {
        session.check()?;
        let gone = if options.dry_run {
            None
        } else {
            let now = Session::now();
            Some(leaving.remove(&repository, &session.environment, &now)?)
        };
        notes.extend(gone.iter().flat_map(|gone| gone.notes.iter().cloned()));
        removed.push(answer(leaving, gone));
    }
    if !options.dry_run {
        let root = &repository.root;
        notes.extend(if options.wait {
            session.waiting(|| trash_bin::empty_now(root))?
        } else {
            trash_bin::empty_soon(root, &session.binary)?
        });
    }
    Ok(Outcome {
        notes,
        ..Outcome::done(removed)
    })
}

/// Looks at all of them, and decides about each.
fn decide(
    repository: &Repository,
    asked: Vec<Worktree>,
    options: &crate::cli::Remove,
) -> Result<(Vec<Leaving>, Vec<String>), Error> {
    let allowed = RemoveOptions {
        force: options.force,
        delete_branch: options.delete_branch,
        keep_branch: options.keep_branch,
        owner: options.owner.clone(),
    };
    let may_go = |known: &&Worktree| known.record.branch_made || options.delete_branch;
    let may_go = asked.iter().filter(|_| !options.keep_branch).filter(may_go);
    let leaving: Vec<BranchName> = may_go.map(|known| known.record.branch.clone()).collect();
    let is_saved = options.force > 0 && !options.dry_run;
    let look = |known: Worktree| Looked::at(repository, known, is_saved);
    let (around, looked) = std::thread::scope(|scope| {
        let around = scope.spawn(|| Around::read(repository));
        let looked: Result<Vec<_>, Error> = asked.into_iter().map(look).collect();
        (joined(around), looked)
    });
    let around = around?;
    let (mut planned, mut told) = (Vec::new(), Vec::new());
    for looked in looked? {
        let seen = looked.read(repository, &around, &leaving)?;
        told.extend(seen.facts.iter().flat_map(|facts| notes(facts, &allowed)));
        planned.push(seen.decide(&allowed).map_err(Refusal::from)?);
    }
    Ok((planned, told))
}

/// Loads the named worktrees, each once, and takes their locks: in the order of the names, so
/// that two commands for the same ones never wait for each other.
fn asked(repository: &Repository, names: &[String]) -> Result<(Vec<Worktree>, Vec<Lock>), Error> {
    let mut order: Vec<WorktreeName> = Vec::new();
    for text in names {
        let name = Worktree::of(repository, Some(text))?.record.name;
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
        .map(|name| Worktree::load(repository, name))
        .collect();
    Ok((known?, locks))
}

/// What is answered of one.
fn answer(leaving: Leaving, gone: Option<Gone>) -> Removed {
    let (ignored, ignored_places) = leaving.ignored();
    let record = leaving.known.record;
    let dry_run = gone.is_none();
    let (plan, trash) = match gone {
        Some(gone) => (gone.plan, gone.trash),
        None => (leaving.plan, None),
    };
    Removed {
        name: record.name.to_string(),
        path: record.path,
        branch: record.branch.to_string(),
        dry_run,
        plan,
        trash,
        ignored,
        ignored_places,
    }
}
