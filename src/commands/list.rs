//! `git agentwt list`: every worktree, with what is known of it without looking inside.

use std::collections::{HashMap, HashSet};

use bstr::ByteSlice;
use camino::Utf8PathBuf;

use super::{Outcome, Session};
use crate::cli::Format;
use crate::disk::drift::drift;
use crate::disk::files;
use crate::error::Error;
use crate::facts::Repository;
use crate::facts::shared::main_changes;
use crate::facts::worktree::{Known, Recorded, lost, names};
use crate::git::index::read_index;
use crate::name::CommitId;
use crate::placed::{DriftCounts, Here};
use crate::record::{Intent, LastVerification};

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
    /// Its `add` is running, or was killed.
    Incomplete,
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
    /// The commit that its branch is at; none when the branch is gone.
    pub head: Option<CommitId>,
    /// The last verification.
    pub last: Option<LastVerification>,
    /// When it was made.
    pub created: String,
    /// Whether its branch is at a commit that was not there when it was made.
    pub committed: bool,
    /// How many files of the main worktree changed since, by whomever; none where that is not
    /// known.
    pub main_changed: Option<usize>,
    /// What was placed, by its state; none where nobody asked or it cannot be told.
    pub placed: Option<DriftCounts>,
}

impl Details {
    /// Whether commits were made that no hook has verified.
    #[must_use]
    pub fn hooks_silent(&self) -> bool {
        self.committed && self.last.as_ref().map(|last| &last.head) != self.head.as_ref()
    }
}

/// Lists all worktrees of ours, sorted by name.
///
/// # Errors
/// Fails when the records cannot be listed; a damaged one is a row.
pub fn run(session: &Session, options: &crate::cli::List) -> Result<Outcome<Vec<Row>>, Error> {
    // only there they are shown
    let counts_placed = options.output.format() == Format::Json;
    let repository = session.repository()?;
    let heads = repository.git.for_each_ref(&["refs/heads/"])?;
    let heads: HashMap<_, _> = heads.into_iter().map(|head| (head.name, head.id)).collect();
    let head_of = |known: &Known| {
        let name = known.record.branch.full_ref();
        let own = known.repository(&repository);
        if own.is_clone() {
            return own.git.rev_parse_commit(&name).ok().flatten();
        }
        heads.get(name.as_bytes().as_bstr()).cloned()
    };
    let mut rows = Vec::new();
    let mut all = Vec::new();
    for name in names(&repository)? {
        let row = match Recorded::read(&repository, &name) {
            Ok(Recorded::Whole(known)) => {
                let mut row = whole(&known, head_of(&known));
                if let Some(details) = row.details.as_mut().filter(|_| counts_placed) {
                    details.placed = placed(&repository, &known);
                }
                all.push(*known);
                Some(row)
            }
            Ok(Recorded::Incomplete(intent)) => Some(incomplete(name.as_str(), &intent)),
            Ok(Recorded::Nothing) => None,
            Err(error) => Some(damaged(&repository, &name, error.to_string())),
        };
        rows.extend(row);
    }
    for lost in lost(&repository)? {
        let why = "its record was removed".to_owned();
        rows.push(damaged(&repository, &lost.name, why));
    }
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    // a remark: that it cannot be told is no reason to list nothing
    let main = main_changes(&repository, &all.iter().collect::<Vec<_>>()).unwrap_or_default();
    let details = rows.iter_mut().filter_map(|row| row.details.as_mut());
    details
        .zip(main)
        .for_each(|(details, count)| details.main_changed = count);
    Ok(Outcome::done(rows))
}

fn whole(known: &Known, head: Option<CommitId>) -> Row {
    let record = &known.record;
    let there = files::is_directory(&record.path);
    let is_new = |head: &CommitId| {
        *head != record.base.commit && !known.recorded_refs().is_ok_and(|refs| refs.contains(head))
    };
    let committed = head.as_ref().is_some_and(is_new);
    Row {
        name: record.name.to_string(),
        path: record.path.clone(),
        branch: record.branch.to_string(),
        state: if there { State::Ready } else { State::Missing },
        details: Some(Details {
            base: record.base.commit.clone(),
            revision: record.base.revision.clone(),
            profile: record.profile.clone(),
            head,
            last: known.last_verification(),
            created: record.created.clone(),
            committed,
            main_changed: None,
            placed: None,
        }),
    }
}

/// Counts placed files, by their stat data wherever these suffice. What git tracks by now is a
/// file like any other.
fn placed(repository: &Repository, known: &Known) -> Option<DriftCounts> {
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
        state: State::Incomplete,
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
