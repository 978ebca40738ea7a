//! `git agentwt remove`: removes worktrees, never losing work; `--undo` brings them back.

mod answer;
mod refusal;
pub mod undo;

use super::{Outcome, Session};
use crate::answer::shapes::{TrashField, paths};
use crate::disk::files::Lock;
use crate::error::Error;
use crate::name::{BranchName, WorktreeName};
use crate::path::RepoPath;
use crate::truth::Survey;
use crate::worktree::emptying;
use crate::worktree::removal::facts::Around;
use crate::worktree::removal::plan::{RemoveOptions, RemovePlan, notes};
use crate::worktree::removal::{Leaving, Left};
use crate::worktree::{Repository, Worktree, joined};
use answer::{IgnoredPlace, MergedField, RemovalField};
pub use answer::{RemoveAnswer, RemovedWorktree};

/// Removes the named worktrees. All are looked at before the first is touched: when one is
/// refused, none is removed.
///
/// # Errors
/// Fails when one is refused, or git or the disk fails.
pub fn run(
    session: &Session,
    options: &crate::cli::Remove,
) -> Result<Outcome<RemoveAnswer>, Error> {
    let repository = session.repository_to_change()?;
    let (known, locks) = load(&repository, &options.names)?;
    let (planned, mut notes) = plan_all(&repository, known, options)?;
    let (mut worktrees, mut has_trash) = (Vec::new(), false);
    for (leaving, plan) in planned {
        session.check()?;
        let mut left = None;
        if !options.dry_run {
            let environment = &session.environment;
            let done = leaving.apply(&plan, &repository, environment, &Session::now())?;
            notes.extend_from_slice(&done.notes);
            left = Some(done);
        }
        has_trash |= plan.trash;
        worktrees.push(removed(&leaving, &plan, left.as_ref()));
    }
    // whoever deletes ignored files in the trash takes them, one at a time
    drop(locks);
    if !options.dry_run {
        notes.extend(if options.wait {
            session.waiting(|| emptying::empty_now(&repository))?
        } else {
            emptying::empty_soon(&repository, &session.binary, has_trash)?
        });
    }
    Ok(Outcome {
        notes,
        ..Outcome::done(RemoveAnswer { worktrees })
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
        let plan = leaving.plan(&allowed)?;
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

fn removed(leaving: &Leaving, plan: &RemovePlan, left: Option<&Left>) -> RemovedWorktree {
    let record = &leaving.known.record;
    let survey = leaving.survey.as_ref();
    let fate = left.map_or(&plan.branch, |left| &left.branch);
    let places = survey.map_or_else(Vec::new, Survey::ignored_by_place);
    let place = |(path, bytes)| IgnoredPlace { path, bytes };
    let trash = left.and_then(|left| left.trash.as_ref());
    RemovedWorktree {
        name: record.name.to_string(),
        path: record.path.clone(),
        branch: record.branch.to_string(),
        dry_run: left.is_none(),
        removal: Some(RemovalField {
            branch_fate: fate.as_str(),
            branch_words: fate.words(&record.branch, plan.merged.as_ref()),
            merged: plan.merged.as_ref().map(MergedField::from),
            saved: survey.map(|_| paths(plan.uncommitted.iter().map(RepoPath::as_bstr))),
            trash: trash.map(TrashField::from),
            ignored: survey.map(Survey::ignored),
            ignored_places: places.into_iter().map(place).collect(),
            is_kept: plan.trash,
            commits: plan.keep.len(),
        }),
        undo: None,
    }
}
