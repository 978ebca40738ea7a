//! `git agentwt list`: every worktree, with what is known of it without looking inside.

use std::collections::HashSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::{Outcome, Session};
use crate::cli::Format;
use crate::disk::drift::drift;
use crate::disk::files;
use crate::disk::usage::{Usage, usage};
use crate::error::Error;
use crate::facts::Repository;
use crate::facts::add::Listing;
use crate::facts::held::Held;
use crate::facts::overlap::{tracked, worktree_scopes};
use crate::facts::position::{Position, positions};
use crate::facts::shared::main_changed;
use crate::git::index::read_index;
use crate::name::CommitId;
use crate::placed::{DriftCounts, Here};
use crate::scope::overlap::{Overlap, overlaps_among};
use crate::worktree::{Intent, LastVerification};
use crate::worktree::{RecordState, Worktree, lost, names};

/// Holds what was listed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Listed {
    /// The worktrees, sorted by name.
    Worktrees(Vec<Row>),
    /// What any two of them may both write (`--overlap`).
    Overlaps(Vec<Overlap>),
}

/// Holds one worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Row {
    /// Its name.
    pub name: String,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// Its branch.
    pub branch: String,
    /// How it is.
    pub state: State,
    /// What is recorded of it; none while it is incomplete or damaged.
    pub details: Option<Details>,
}

/// Says how a worktree is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum State {
    /// It is there.
    Ready,
    /// Its directory is gone.
    Missing,
    /// Its `add` is running, or was killed: since when, and the process.
    Incomplete {
        /// When it began, RFC 3339 in UTC.
        began: String,
        /// The number of its process.
        process: u32,
    },
    /// Its record cannot be read, for this reason.
    Damaged(String),
}

/// Holds what is recorded of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Details {
    /// The base commit.
    pub base: CommitId,
    /// The revision that named it.
    pub revision: String,
    /// The scope profile.
    pub profile: Option<String>,
    /// Where its branch stands.
    pub position: Position,
    /// Who has it.
    pub held: Held,
    /// How much of the disk it takes.
    pub size: Usage,
    /// The last verification.
    pub last: Option<LastVerification>,
    /// When it was made.
    pub created: String,
    /// Whether its branch is at a commit that was not there when it was made.
    pub committed: bool,
    /// How many files of the main worktree are not as committed; none where that is not known.
    pub main_changed: Option<usize>,
    /// What was placed, by its state; none where it cannot be told.
    pub placed: Option<DriftCounts>,
}

impl Details {
    /// Whether commits were made that no hook has verified.
    #[must_use]
    pub fn hooks_silent(&self) -> bool {
        self.committed && self.last.as_ref().map(|last| &last.head) != self.position.head.as_ref()
    }
}

/// Lists all worktrees of ours, sorted by name, or what they may both write.
///
/// # Errors
/// Fails when the records cannot be listed; a damaged one is a row.
pub fn run(session: &Session, options: &crate::cli::List) -> Result<Outcome<Listed>, Error> {
    let repository = session.repository()?;
    let listed = if options.overlap {
        Listed::Overlaps(overlaps(&repository)?)
    } else {
        Listed::Worktrees(rows(&repository, options)?)
    };
    Ok(Outcome::done(listed))
}

fn rows(repository: &Repository, options: &crate::cli::List) -> Result<Vec<Row>, Error> {
    let (mut rows, mut all) = (Vec::new(), Vec::new());
    for name in names(repository)? {
        match RecordState::read(repository, &name) {
            Ok(RecordState::Complete(known)) => all.push(*known),
            Ok(RecordState::Incomplete(intent)) => rows.push(incomplete(name.as_str(), &intent)),
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
    let is_json = options.output.format() == Format::Json;
    let main = is_json.then(|| main_changed(repository, &known).ok().flatten());
    for (known, position) in all.iter().zip(positions(repository, &known)?) {
        let mut row = whole(repository, known, position);
        if let Some(details) = &mut row.details {
            details.main_changed = main.flatten();
        }
        if row.state == State::Missing && known.is_gone(repository) {
            continue;
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
    let listing = head
        .map(|head| Listing::of(repository, &head))
        .transpose()?;
    let tracked = listing.map(|listing| tracked(&listing));
    Ok(overlaps_among(&live, &tracked.unwrap_or_default()))
}

/// Adds up what is on disk, of those whose directory is there.
fn measure(rows: &mut [Row]) {
    let there: Vec<&mut Row> = rows
        .iter_mut()
        .filter(|row| row.state == State::Ready)
        .collect();
    let paths: Vec<Utf8PathBuf> = there.iter().map(|row| row.path.clone()).collect();
    let paths: Vec<&Utf8Path> = paths.iter().map(Utf8PathBuf::as_path).collect();
    for (row, size) in there.into_iter().zip(usage(&paths)) {
        if let Some(details) = &mut row.details {
            details.size = size;
        }
    }
}

fn whole(repository: &Repository, known: &Worktree, position: Position) -> Row {
    let record = &known.record;
    let there = files::is_directory(&record.path);
    let is_new = |head: &CommitId| {
        *head != record.base.commit && !known.recorded_refs().is_ok_and(|refs| refs.contains(head))
    };
    let committed = position.head.as_ref().is_some_and(is_new);
    Row {
        name: record.name.to_string(),
        path: record.path.clone(),
        branch: record.branch.to_string(),
        state: if there { State::Ready } else { State::Missing },
        details: Some(Details {
            base: record.base.commit.clone(),
            revision: record.base.revision.clone(),
            profile: record.profile.clone(),
            position,
            held: Held::of(record),
            size: Usage::NotAsked,
            last: known.last_verification(),
            created: record.created.clone(),
            committed,
            main_changed: None,
            placed: there.then(|| placed(repository, known)).flatten(),
        }),
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

fn incomplete(name: &str, intent: &Intent) -> Row {
    Row {
        name: name.to_owned(),
        path: intent.path.clone(),
        branch: intent.branch.to_string(),
        state: State::Incomplete {
            began: intent.began.clone(),
            process: intent.process,
        },
        details: None,
    }
}

fn damaged(repository: &Repository, name: &crate::name::WorktreeName, detail: String) -> Row {
    Row {
        name: name.to_string(),
        path: repository.worktree_path(name),
        branch: String::new(),
        state: State::Damaged(detail),
        details: None,
    }
}
