//! `git agentwt remove`: removes worktrees, never losing work; `--undo` brings them back.

pub mod undo;

use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::disk::files::Lock;
use crate::error::Error;
use crate::facts::{Repository, Worktree, joined};
use crate::name::{BranchName, WorktreeName};
use crate::path::RepoPath;
use crate::plan::refusal::Refusal;
use crate::worktree::emptying;
use crate::worktree::removal::Leaving;
use crate::worktree::removal::facts::Around;
use crate::worktree::removal::plan::{BranchFate, Merged, RemoveOptions, RemovePlan, notes};
use crate::worktree::trash::Trashed;

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
    /// What became of the branch.
    pub branch_fate: BranchFate,
    /// How it was merged, if only by content.
    pub merged: Option<Merged>,
    /// Uncommitted work; none where that was not looked at.
    pub uncommitted: Option<Vec<RepoPath>>,
    /// Whether the worktree is kept in the trash, or would be.
    pub is_kept: bool,
    /// How many commits are kept by a ref, or would be.
    pub commits: usize,
    /// Where it, or commits of it, are kept.
    pub trash: Option<Trashed>,
    /// How many ignored files go with it; none where that was not looked at.
    pub ignored: Option<usize>,
    /// Where they are, with their sizes, the largest first.
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
    let (known, locks) = load(&repository, &options.names)?;
    let (planned, mut notes) = plan_all(&repository, known, options)?;
    let mut removed = Vec::new();
    for (leaving, plan) in planned {
        session.check()?;
        let mut answer = answer(&leaving, plan.clone());
        answer.dry_run = options.dry_run;
        if !options.dry_run {
            let environment = &session.environment;
            let left = leaving.apply(&plan, &repository, environment, &Session::now())?;
            notes.extend(left.notes);
            answer.branch_fate = left.branch;
            answer.trash = left.trash;
        }
        removed.push(answer);
    }
    // whoever deletes ignored files in the trash takes them, one at a time
    drop(locks);
    if !options.dry_run {
        let has_trash = removed.iter().any(|one| one.is_kept);
        notes.extend(if options.wait {
            session.waiting(|| emptying::empty_now(&repository))?
        } else {
            emptying::empty_soon(&repository, &session.binary, has_trash)?
        });
    }
    Ok(Outcome {
        notes,
        ..Outcome::done(removed)
    })
}

/// The worktrees that go, each with its plan.
type Planned = Vec<(Leaving, RemovePlan)>;

/// Looks at all of them, and decides about each.
fn plan_all(
    repository: &Repository,
    known: Vec<Worktree>,
    options: &crate::cli::Remove,
) -> Result<(Planned, Vec<String>), Error> {
    let allowed = RemoveOptions {
        force: options.force,
        delete_branch: options.delete_branch,
        keep_branch: options.keep_branch,
        owner: options.owner.clone(),
    };
    let may_go = |known: &&Worktree| known.record.branch_made || options.delete_branch;
    let may_go = known.iter().filter(|_| !options.keep_branch).filter(may_go);
    let going: Vec<BranchName> = may_go.map(|known| known.record.branch.clone()).collect();
    let whole = options.force > 0 && !options.dry_run;
    let (around, read) = std::thread::scope(|scope| {
        let around = scope.spawn(|| Around::read(repository));
        let all = known.into_iter();
        let read: Result<Vec<_>, Error> = all
            .map(|known| Leaving::read(repository, known, whole))
            .collect();
        (joined(around), read)
    });
    let around = around?;
    let (mut planned, mut told) = (Vec::new(), Vec::new());
    for mut leaving in read? {
        leaving.read_facts(repository, &around, &going)?;
        told.extend(
            leaving
                .facts
                .iter()
                .flat_map(|facts| notes(facts, &allowed)),
        );
        let plan = leaving.plan(&allowed).map_err(Refusal::from)?;
        planned.push((leaving, plan));
    }
    Ok((planned, told))
}

/// Loads the named worktrees, each once, and takes their locks: in the order of the names, so
/// that two commands for the same ones never wait for each other.
fn load(repository: &Repository, names: &[String]) -> Result<(Vec<Worktree>, Vec<Lock>), Error> {
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

fn answer(leaving: &Leaving, plan: RemovePlan) -> Removed {
    let record = &leaving.known.record;
    let survey = leaving.survey.as_ref();
    Removed {
        name: record.name.to_string(),
        path: record.path.clone(),
        branch: record.branch.to_string(),
        dry_run: true,
        branch_fate: plan.branch,
        merged: plan.merged,
        uncommitted: survey.map(|_| plan.uncommitted),
        is_kept: plan.trash,
        commits: plan.keep.len(),
        trash: None,
        ignored: survey.map(crate::truth::Survey::ignored),
        ignored_places: survey.map_or_else(Vec::new, crate::truth::Survey::ignored_by_place),
    }
}
