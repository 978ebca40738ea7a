//! `git agentwt list`: every worktree, with what is known of it without looking inside.

mod answer;

use std::collections::HashSet;

use camino::{Utf8Path, Utf8PathBuf};

pub use self::answer::ListAnswer;
use self::answer::{ListedDetails, ListedTrash, ListedWorktree};
use super::{Outcome, Session};
use crate::answer::shapes::ScopeField;
use crate::answer::worktree::{RecordedField, hooks_silent};
use crate::cli::Format;
use crate::disk::drift::drift;
use crate::disk::file_system::usage;
use crate::disk::files;
use crate::error::Error;
use crate::git::index::read_index;
use crate::name::WorktreeName;
use crate::placed::{DriftCounts, Here};
use crate::scope::overlap::{Overlap, overlaps_among};
use crate::truth::position::{Position, positions};
use crate::truth::sealed::main_changed;
use crate::worktree::scope_edit::Listing;
use crate::worktree::trash::{self, Trashed};
use crate::worktree::{RecordState, Repository, Worktree, lost, names, worktree_scopes};

/// Lists all worktrees of ours, sorted by name, or what they may both write.
///
/// # Errors
/// Fails when the records cannot be listed; a damaged one is a row.
pub fn run(session: &Session, options: &crate::cli::List) -> Result<Outcome<ListAnswer>, Error> {
    let repository = session.repository()?;
    let mut answer = ListAnswer::default();
    if options.trash {
        answer.trash = Some(list_trash(&repository)?);
    } else if options.overlap {
        answer = ListAnswer::overlaps(overlaps(&repository)?);
    } else {
        answer.worktrees = Some(rows(&repository, options)?);
    }
    Ok(Outcome::done(answer))
}

fn list_trash(repository: &Repository) -> Result<Vec<ListedTrash>, Error> {
    let all = trash::list(repository)?;
    let moment = trash::expiry(repository)?;
    let kept = jiff::Timestamp::now().as_second().saturating_sub(moment);
    let paths = all.iter().map(|one| one.path(repository));
    let paths: Vec<Utf8PathBuf> = paths.map(Option::unwrap_or_default).collect();
    let paths: Vec<&Utf8Path> = paths.iter().map(Utf8PathBuf::as_path).collect();
    let row = |(one, bytes): (&Trashed, Option<u64>)| {
        let removed = one.removed().filter(|_| moment > 0);
        let at = removed.map(|removed| jiff::Timestamp::from_second(removed.saturating_add(kept)));
        ListedTrash {
            name: one.name.to_string(),
            kept: one.shown().to_owned(),
            time: one.time.clone(),
            bytes,
            expires: at.and_then(Result::ok).map(|at| at.to_string()),
        }
    };
    Ok(all.iter().zip(usage(&paths)).map(row).collect())
}

fn rows(repository: &Repository, options: &crate::cli::List) -> Result<Vec<ListedWorktree>, Error> {
    let (mut rows, mut all) = (Vec::new(), Vec::new());
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
    let known: Vec<&Worktree> = all.iter().collect();
    // a failure of git's status is not a reason to list nothing
    let is_json = options.output.form().0 == Format::Json;
    let main = is_json.then(|| main_changed(repository, &all).ok().flatten());
    for (known, position) in all.iter().zip(positions(repository, &known)?) {
        let mut row = whole(repository, known, position);
        if row.state == "missing" && known.is_gone(repository) {
            continue;
        }
        if let Some(details) = &mut row.details {
            details.recorded.main_changed = main.flatten();
        }
        rows.push(row);
    }
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    if options.size {
        measure(&mut rows);
    }
    Ok(rows)
}

/// What any two worktrees may both write, of what the main worktree's HEAD has.
fn overlaps(repository: &Repository) -> Result<Vec<Overlap>, Error> {
    let live = worktree_scopes(repository, None)?;
    let head = repository.git.rev_parse_commit("HEAD")?;
    let listing = head.map(|head| Listing::read(repository, &head));
    let tracked = listing.transpose()?.map(|listing| listing.kinds());
    Ok(overlaps_among(&live, &tracked.unwrap_or_default()))
}

/// Adds up what is on disk, of those whose directory is there.
fn measure(rows: &mut [ListedWorktree]) {
    let there: Vec<&mut ListedWorktree> =
        rows.iter_mut().filter(|row| row.state == "ready").collect();
    let paths: Vec<Utf8PathBuf> = there.iter().map(|row| row.path.clone()).collect();
    let paths: Vec<&Utf8Path> = paths.iter().map(Utf8PathBuf::as_path).collect();
    for (row, size) in there.into_iter().zip(usage(&paths)) {
        if let Some(details) = &mut row.details {
            details.recorded.size = Some(size);
        }
    }
}

fn whole(repository: &Repository, known: &Worktree, position: Position) -> ListedWorktree {
    let record = &known.record;
    let there = files::is_directory(&record.path);
    let profile = ScopeField::profile(record.profile.as_deref());
    let recorded = RecordedField::new(known, position, profile);
    let last = recorded.verification.as_ref().map(|one| &one.last.head);
    ListedWorktree {
        name: record.name.to_string(),
        path: record.path.clone(),
        state: if there { "ready" } else { "missing" },
        branch: Some(record.branch.to_string()),
        details: Some(ListedDetails {
            hooks_silent: hooks_silent(known, recorded.position.head.as_ref(), last),
            placed: there.then(|| placed(repository, known)),
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
    if drifts.iter().any(|drift| drift.here != Here::Same) {
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
