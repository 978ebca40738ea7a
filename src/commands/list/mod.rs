//! `git agentwt list`: every worktree, with a verdict of this moment.

pub mod answer;
pub mod arguments;

use std::collections::HashSet;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::scope_edit::Listing;
use crate::actions::trash;
use crate::actions::trash::{Expiry, Trashed};
use crate::answer::position::{Position, main_position, positions};
use crate::answer::shapes::ScopeField;
use crate::answer::waiting::WaitingField;
use crate::answer::worktree::{RecordedField, hooks_silent};
use crate::commands::list::answer::{ListAnswer, ListedDetails, ListedTrash, ListedWorktree};
use crate::commands::list::arguments::List;
use crate::commands::{Outcome, Session};
use crate::config::settings::DEFAULT_BRANCH_PREFIX;
use crate::disk::drift::drift;
use crate::disk::file_system::usage;
use crate::disk::files;
use crate::git::index::read_index;
use crate::inventory::placed::{CopyState, DriftCounts};
use crate::scope::overlap::{Overlap, overlaps_among};
use crate::truth::live::verify_beside_main;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::worktree::loaded::{RecordState, Worktree, lost, names, worktree_scopes};
use crate::worktree::repository::Repository;
use crate::worktree::settings::load_config;

/// What draws an answer that is not complete yet.
pub type Watch<'w> = dyn FnMut(&ListAnswer) + Send + 'w;

/// The time between two drawings.
const FRAME: Duration = Duration::from_millis(100);

/// Lists all worktrees of ours, sorted by name, or what they may both write.
///
/// # Errors
/// Fails when the records cannot be listed; a damaged one is a row.
pub fn run(
    session: &Session,
    options: &List,
    watch: &mut Watch<'_>,
) -> Result<Outcome<ListAnswer>, Error> {
    let repository = session.repository()?;
    let mut answer = ListAnswer::default();
    if options.trash {
        answer.trash = Some(list_trash(&repository)?);
    } else if options.overlap {
        answer = ListAnswer::overlaps(overlaps(&repository)?);
    } else {
        answer = list_worktrees(session, &repository, options, watch)?;
    }
    Ok(Outcome::done(answer))
}

fn list_trash(repository: &Repository) -> Result<Vec<ListedTrash>, Error> {
    let all = trash::list(repository)?;
    let expiry = Expiry::read(repository)?;
    let now = jiff::Timestamp::now().as_second();
    // the directory, and the repositories of submodules in the private git directory
    let places = |one: &Trashed| {
        let known = trash::load(repository, one).ok().flatten();
        let modules = known.map(|known| known.record.admin_dir.join("modules"));
        [one.path(repository), modules].map(Option::unwrap_or_default)
    };
    let paths: Vec<Utf8PathBuf> = all.iter().flat_map(places).collect();
    let paths: Vec<&Utf8Path> = paths.iter().map(Utf8PathBuf::as_path).collect();
    let row = |(one, bytes): (&Trashed, &[Option<u64>])| {
        let moment = expiry.of(one);
        let kept = now.saturating_sub(moment);
        let removed = one.removed().filter(|_| moment > 0);
        let at = removed.map(|removed| jiff::Timestamp::from_second(removed.saturating_add(kept)));
        ListedTrash {
            name: one.name.to_string(),
            kept: one.shown().to_owned(),
            time: one.time.clone(),
            bytes: match one.path(repository) {
                Some(_) => bytes[0].map(|directory| directory + bytes[1].unwrap_or(0)),
                None => Some(0),
            },
            expires: at.and_then(Result::ok).map(|at| at.to_string()),
        }
    };
    Ok(all.iter().zip(usage(&paths).chunks(2)).map(row).collect())
}

fn list_worktrees(
    session: &Session,
    repository: &Repository,
    options: &List,
    watch: &mut Watch<'_>,
) -> Result<ListAnswer, Error> {
    let (mut rows, all) = unusual_rows(repository)?;
    let known: Vec<&Worktree> = all.iter().collect();
    // a config that cannot be read is no reason to list nothing
    let loaded = load_config(repository, &[], &session.environment);
    let prefix = loaded.map_or(DEFAULT_BRANCH_PREFIX.to_owned(), |loaded| {
        loaded.settings.branch_prefix.value
    });
    for (known, position) in all.iter().zip(positions(repository, &known)?) {
        let mut row = whole(repository, known, position);
        row.has_usual_branch = row.branch == Some(format!("{prefix}{}", row.name));
        row.is_pending = !options.stored;
        rows.push(row);
    }
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let main = main_position(repository).ok().flatten();
    let mut answer = ListAnswer {
        main: main.filter(|_| !rows.is_empty()),
        worktrees: Some(rows),
        ..ListAnswer::default()
    };
    if !options.stored {
        verify_rows(repository, &all, &mut answer, watch);
    }
    let rows = answer.worktrees.iter_mut().flatten();
    let rows = rows.filter(|row| row.state == "ready" && options.size);
    measure(rows.collect());
    Ok(answer)
}

/// Makes rows of all that has no record, or half a record, and loads the other worktrees.
fn unusual_rows(repository: &Repository) -> Result<(Vec<ListedWorktree>, Vec<Worktree>), Error> {
    let mut rows = Vec::new();
    let mut all = Vec::new();
    for name in names(repository)? {
        match RecordState::read(repository, &name) {
            Ok(RecordState::Complete(known)) => all.push(*known),
            Ok(RecordState::Incomplete(intent)) => rows.push(ListedWorktree {
                name: name.to_string(),
                path: intent.record.path,
                state: "incomplete",
                branch: Some(intent.record.branch.to_string()),
                began: Some(intent.record.created),
                process: Some(intent.process),
                ..ListedWorktree::default()
            }),
            Ok(RecordState::Missing) => {}
            Err(error) => rows.push(damaged(repository, &name, error.to_string())),
        }
    }
    for lost in lost(repository)? {
        let why = "its record was removed".to_owned();
        rows.push(damaged(repository, &lost.name, why));
    }
    all.retain(|known| files::is_directory(&known.record.path) || !known.is_gone(repository));
    Ok((rows, all))
}

/// Verifies all worktrees, and completes the row of each as soon as its verdict is there.
fn verify_rows(
    repository: &Repository,
    all: &[Worktree],
    answer: &mut ListAnswer,
    watch: &mut Watch<'_>,
) {
    let shared = Mutex::new((&mut *answer, watch, Instant::now()));
    let show = |known: &Worktree, live| {
        if let Ok(mut shared) = shared.lock() {
            let (answer, watch, drawn) = &mut *shared;
            answer.set_verdict(known.record.name.as_str(), live);
            if drawn.elapsed() > FRAME {
                watch(answer);
                *drawn = Instant::now();
            }
        }
    };
    let (_, changed) = verify_beside_main(repository, all, show);
    answer.set_main_changed(changed);
}

/// What any two worktrees may both write, of what the main worktree's HEAD has.
fn overlaps(repository: &Repository) -> Result<Vec<Overlap>, Error> {
    let live = worktree_scopes(repository, None)?;
    let head = repository.git.rev_parse_commit("HEAD")?;
    let listing = head.map(|head| Listing::read(repository, &head));
    let tracked = listing.transpose()?.map(|listing| listing.kinds());
    Ok(overlaps_among(&live, &tracked.unwrap_or_default()))
}

/// Adds up what is on disk.
fn measure(rows: Vec<&mut ListedWorktree>) {
    let paths: Vec<Utf8PathBuf> = rows.iter().map(|row| row.path.clone()).collect();
    let paths: Vec<&Utf8Path> = paths.iter().map(Utf8PathBuf::as_path).collect();
    for (row, size) in rows.into_iter().zip(usage(&paths)) {
        if let Some(details) = &mut row.details {
            details.recorded.size = Some(size);
        }
    }
}

fn whole(repository: &Repository, known: &Worktree, position: Position) -> ListedWorktree {
    let record = &known.record;
    let there = files::is_directory(&record.path);
    let profile = ScopeField::profile(record.profile.as_deref());
    let mut recorded = RecordedField::new(known, position, profile);
    recorded.waiting = WaitingField::find(repository, known).ok().flatten();
    let last = recorded.verification.as_ref().map(|one| &one.last.head);
    ListedWorktree {
        name: record.name.to_string(),
        path: record.path.clone(),
        state: if there { "ready" } else { "missing" },
        branch: Some(record.branch.to_string()),
        details: Some(ListedDetails {
            hooks_silent: hooks_silent(known, recorded.position.head.as_ref(), last),
            placed: there.then(|| placed(repository, known)),
            uncommitted: None,
            not_verified: None,
            recorded,
        }),
        ..ListedWorktree::default()
    }
}

/// Counts placed files, by their stat data wherever these suffice. What git tracks by now is a
/// file like any other.
fn placed(repository: &Repository, known: &Worktree) -> Option<DriftCounts> {
    let record = &known.record;
    let placed = known.placed().ok()?;
    let drifts = drift(&record.path, Some(&repository.root), &placed).ok()?;
    if drifts.iter().any(|drift| drift.here != CopyState::Same) {
        let index = read_index(&record.admin_dir.join("index"), repository.format).ok()?;
        let tracked: HashSet<_> = index.into_iter().map(|entry| entry.path).collect();
        let both = placed.files().iter().zip(drifts);
        let both = both.filter(|(file, _)| !tracked.contains(&file.path));
        return Some(DriftCounts::of(both));
    }
    Some(DriftCounts::of(placed.files().iter().zip(drifts)))
}

fn damaged(repository: &Repository, name: &WorktreeName, detail: String) -> ListedWorktree {
    ListedWorktree {
        name: name.to_string(),
        path: repository.worktree_path(name),
        state: "damaged",
        detail: Some(detail),
        ..ListedWorktree::default()
    }
}
