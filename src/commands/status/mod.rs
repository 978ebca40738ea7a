//! `git agentwt status`: one worktree in full.

mod answer;

pub use self::answer::StatusAnswer;
use self::answer::WorktreeStatus;
use super::{Outcome, Session};
use crate::answer::hooks::HooksField;
use crate::answer::shapes::Held;
use crate::answer::shapes::{ChangeField, PlacedField, ScopeField, VerificationField};
use crate::change::{Change, by_kind, by_seen};
use crate::disk::drift::drift;
use crate::disk::file_system::usage;
use crate::disk::files;
use crate::error::Error;
use crate::placed::PlacedKind;
use crate::truth::position::{Position, position};
use crate::truth::shared::main_changed;
use crate::truth::{Survey, collect};
use crate::worktree::Repository;
use crate::worktree::{MadeBy, Worktree};

/// Shows the named worktrees, or the one that we are in.
///
/// # Errors
/// Fails when the facts of one cannot be read.
pub fn run(
    session: &Session,
    options: &crate::cli::Status,
) -> Result<Outcome<StatusAnswer>, Error> {
    let repository = session.repository()?;
    let mut chosen: Vec<Worktree> = Vec::new();
    if options.names.is_empty() {
        chosen.push(Worktree::of(&repository, None)?);
    }
    for name in &options.names {
        let known = Worktree::of(&repository, Some(name))?;
        if !chosen.iter().any(|other| other.dir == known.dir) {
            chosen.push(known);
        }
    }
    let answers = chosen
        .into_iter()
        .map(|known| known.unless_gone(&repository, of(&repository, &known, options)));
    let worktrees = answers.collect::<Result<_, _>>()?;
    Ok(Outcome::done(StatusAnswer { worktrees }))
}

fn of(
    repository: &Repository,
    known: &Worktree,
    options: &crate::cli::Status,
) -> Result<WorktreeStatus, Error> {
    let home = repository;
    let repository = &known.readable_repository(repository);
    let survey = collect(repository, known)?;
    let record = &known.record;
    let hooks = known.hooks(repository);
    let hooks = hooks.and_then(|hooks| hooks.status()).ok();
    let uncommitted = survey.uncommitted(known).len();
    let ignored = survey.ignored();
    let placed = placed(repository, known, &survey)?;
    let set = survey.changes;
    let commits = repository
        .git
        .rev_list_count(&record.base.commit, &set.head)?;
    let size = options.size.then(|| {
        if files::is_directory(&record.path) {
            usage(&[&record.path]).pop().flatten()
        } else {
            None
        }
    });
    let changes = set.changes.into_iter().chain(set.integrity);
    let changes: Vec<Change> = changes.filter(|change| !change.is_ignored()).collect();
    let position = Position {
        head: Some(set.head),
        commits: Some(commits),
        ..position(home, known)?
    };
    Ok(WorktreeStatus {
        name: record.name.to_string(),
        path: record.path.clone(),
        branch: record.branch.to_string(),
        base: position.base(&record.base.commit, &record.base.revision),
        position,
        scope: ScopeField::whole(record.profile.as_deref(), &record.scope),
        created: record.created.clone(),
        held: Held::of(record),
        size,
        changed: ChangeField::all(&changes),
        kinds: by_kind(&changes),
        seen: by_seen(&changes),
        uncommitted,
        ignored,
        main_changed: main_changed(home, &[known]).ok().flatten(),
        hooks: hooks.as_ref().map(HooksField::from),
        placed,
        verification: known
            .last_verification()
            .as_ref()
            .map(VerificationField::from),
        is_foreign: record.made_by == MadeBy::Git,
    })
}

/// What was placed and is not tracked by now; none where the directory is gone.
fn placed(
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
) -> Result<Option<Vec<PlacedField>>, Error> {
    let (root, placed) = (&known.record.path, &survey.states.placed);
    if !files::is_directory(root) {
        return Ok(None);
    }
    let drifts = drift(root, Some(&repository.root), placed)?;
    let all = placed.files().iter().zip(drifts);
    let all = all.filter(|(file, drift)| file.kind != PlacedKind::Directory || !drift.is_same());
    let all = all.map(|(file, drift)| PlacedField::new(file, drift));
    Ok(Some(all.collect()))
}
