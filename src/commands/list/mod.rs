//! `git agentwt list`: every worktree, with a verdict of this moment.

pub mod answer;
pub mod arguments;

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::scope_edit::Listing;
use crate::actions::trash::enter::in_trash;
use crate::actions::trash::entry::Trashed;
use crate::actions::trash::expiry::Expiry;
use crate::actions::trash::list::{directory_of, list, load};
use crate::answer::position::{BranchPosition, main_position, positions};
use crate::answer::shapes::ScopePatterns;
use crate::answer::waiting::WaitingRun;
use crate::answer::worktree::{DiskUsage, RecordedWorktree, hooks_silent};
use crate::commands::list::answer::{
    IncompleteList, ListAnswer, ListedDetails, ListedState, ListedTrash, ListedWorktree,
    PlacedCounts,
};
use crate::commands::list::arguments::List;
use crate::commands::{Outcome, Session};
use crate::config::settings::DEFAULT_BRANCH_PREFIX;
use crate::disk::drift::drift;
use crate::disk::file_system::usage;
use crate::disk::files;
use crate::git::index::read_index;
use crate::inventory::placed::{CopyState, DriftCounts};
use crate::record::worktree::Intent;
use crate::scope::overlap::{Overlap, overlaps_among};
use crate::truth::live::{LiveVerdict, verify_beside_main};
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::worktree::absence::Absence;
use crate::worktree::loaded::{RecordState, Worktree, names, worktree_scopes};
use crate::worktree::lost::lost_worktrees;
use crate::worktree::repository::Repository;
use crate::worktree::settings::load_config;

/// What draws an answer that is not complete yet.
pub type Watch<'w> = dyn FnMut(&IncompleteList) + Send + 'w;

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
        answer.overlaps = Some(overlaps(&repository)?);
    } else {
        answer = list_worktrees(session, &repository, options, watch)?;
    }
    Ok(Outcome::done(answer))
}

/// Lists what is in the trash, with its size and its term.
fn list_trash(repository: &Repository) -> Result<Vec<ListedTrash>, Error> {
    let expiry = Expiry::read(repository)?;
    let removals = list(repository)?;
    // two for each removal, in one call: directories are measured side by side; an empty path
    // stands for one that is not there, and has no size
    let mut directories: Vec<Utf8PathBuf> = Vec::new();
    for removal in &removals {
        directories.push(directory_of(repository, removal).unwrap_or_default());
        directories.push(submodules_of(repository, removal).unwrap_or_default());
    }
    let sizes = disk_usage(&directories);
    let mut rows = Vec::new();
    for (removal, pair) in removals.iter().zip(sizes.chunks(2)) {
        let has_directory = directory_of(repository, removal).is_some();
        // most have no submodules
        let submodules_size = pair[1].unwrap_or(0);
        let bytes = if has_directory {
            pair[0].map(|directory_size| directory_size + submodules_size)
        } else {
            Some(0)
        };
        rows.push(ListedTrash {
            name: removal.name.to_string(),
            kept: removal.shown().to_owned(),
            time: removal.time.clone(),
            bytes,
            expires: expiry_time(&expiry, removal),
        });
    }
    Ok(rows)
}

/// The repositories of the submodules of a removed worktree, in its private git directory.
fn submodules_of(repository: &Repository, removal: &Trashed) -> Option<Utf8PathBuf> {
    let worktree = load(repository, removal).ok().flatten()?;
    let trashed = in_trash(repository, &worktree, &removal.time);
    Some(trashed.record.admin_dir.join("modules"))
}

/// When `prune` may delete a removed worktree, RFC 3339 in UTC; `None` for never.
fn expiry_time(expiry: &Expiry, removal: &Trashed) -> Option<String> {
    // what was removed before this moment has expired
    let moment = expiry.of(removal);
    if moment <= 0 {
        return None;
    }
    let now = jiff::Timestamp::now().as_second();
    let kept_for = now.saturating_sub(moment);
    let expires = removal.removed()?.saturating_add(kept_for);
    Some(jiff::Timestamp::from_second(expires).ok()?.to_string())
}

/// The bytes on disk below each of these directories; `None` if something there cannot be read.
fn disk_usage(directories: &[Utf8PathBuf]) -> Vec<Option<u64>> {
    let directories: Vec<&Utf8Path> = directories.iter().map(Utf8PathBuf::as_path).collect();
    usage(&directories)
}

/// Lists the worktrees: what is recorded; unless with `--stored`, a verdict of this moment; with
/// `--size`, what is on disk.
fn list_worktrees(
    session: &Session,
    repository: &Repository,
    options: &List,
    watch: &mut Watch<'_>,
) -> Result<ListAnswer, Error> {
    let Recorded {
        mut rows,
        worktrees,
    } = read_records(repository)?;
    // a config that cannot be read is no reason to list nothing
    let prefix = match load_config(repository, &[], &session.environment) {
        Ok(loaded) => loaded.settings.branch_prefix.value,
        Err(_) => DEFAULT_BRANCH_PREFIX.to_owned(),
    };
    let positions = positions(repository, &worktrees)?;
    for (worktree, position) in worktrees.iter().zip(positions) {
        rows.push(recorded_row(repository, worktree, position, &prefix));
    }
    // `ListAnswer::set_verdict` searches the rows by name
    rows.sort_by(|a, b| a.name.cmp(&b.name));
    let main = main_position(repository).ok().flatten();
    let mut answer = ListAnswer {
        // the main worktree alone is no list
        main: main.filter(|_| !rows.is_empty()),
        worktrees: Some(rows),
        ..ListAnswer::default()
    };
    if !options.stored {
        answer = verify_rows(repository, &worktrees, answer, watch);
    }
    if options.size {
        measure(answer.worktrees.as_deref_mut().unwrap_or_default());
    }
    Ok(answer)
}

/// What the records say.
struct Recorded {
    /// The rows of the worktrees whose record is incomplete, damaged or removed.
    rows: Vec<ListedWorktree>,
    /// The worktrees with a complete record, which have no row yet.
    worktrees: Vec<Worktree>,
}

/// Reads every record. A worktree that was removed by hand is not listed.
fn read_records(repository: &Repository) -> Result<Recorded, Error> {
    let mut rows = Vec::new();
    let mut worktrees = Vec::new();
    for name in names(repository)? {
        match RecordState::read(repository, &name) {
            Ok(RecordState::Complete(worktree)) => worktrees.push(*worktree),
            Ok(RecordState::Incomplete(intent)) => rows.push(incomplete_row(*intent)),
            Ok(RecordState::Missing) => {}
            Err(error) => rows.push(damaged_row(repository, &name, error.to_string())),
        }
    }
    for lost in lost_worktrees(repository)? {
        let detail = "its record was removed".to_owned();
        rows.push(damaged_row(repository, &lost.name, detail));
    }
    worktrees.retain(|worktree| {
        files::is_directory(&worktree.record.path) || !worktree.is_gone(repository)
    });
    Ok(Recorded { rows, worktrees })
}

/// The row of a worktree whose `add` runs, or was killed.
fn incomplete_row(intent: Intent) -> ListedWorktree {
    let record = intent.record;
    let name = record.name.to_string();
    ListedWorktree {
        branch: Some(record.branch.to_string()),
        began: Some(record.created),
        process: Some(intent.process),
        ..ListedWorktree::new(name, record.path, ListedState::Incomplete)
    }
}

/// Verifies all worktrees, completes the row of each as soon as its verdict is there, and returns
/// the completed list.
fn verify_rows(
    repository: &Repository,
    worktrees: &[Worktree],
    answer: ListAnswer,
    watch: &mut Watch<'_>,
) -> ListAnswer {
    let names = worktrees.iter().map(|worktree| &worktree.record.name);
    let drawing = Mutex::new(Drawing {
        list: IncompleteList {
            answer,
            pending: names.map(ToString::to_string).collect(),
        },
        watch,
        drawn: Instant::now(),
    });
    let show = |worktree: &Worktree, live| {
        if let Ok(mut drawing) = drawing.lock() {
            drawing.complete(worktree.record.name.as_str(), live);
        }
    };
    let (_, main_changed) = verify_beside_main(repository, worktrees, show);
    let ended = drawing.into_inner().unwrap_or_else(PoisonError::into_inner);
    let mut completed = ended.list.answer;
    completed.set_main_changed(main_changed);
    completed
}

/// A list that is drawn while it becomes complete.
struct Drawing<'d, 'w> {
    list: IncompleteList,
    watch: &'d mut Watch<'w>,
    /// When the list was drawn last.
    drawn: Instant,
}

impl Drawing<'_, '_> {
    /// Completes the row of a worktree, and draws the list unless it was drawn a moment ago.
    fn complete(&mut self, name: &str, live: Result<LiveVerdict, Error>) {
        self.list.answer.set_verdict(name, live);
        self.list.pending.remove(name);
        if self.drawn.elapsed() > FRAME {
            (self.watch)(&self.list);
            self.drawn = Instant::now();
        }
    }
}

/// What any two worktrees may both write, of what the main worktree's HEAD has.
fn overlaps(repository: &Repository) -> Result<Vec<Overlap>, Error> {
    let scopes = worktree_scopes(repository, None)?;
    let tracked = match repository.git.rev_parse_commit("HEAD")? {
        Some(head) => Listing::read(repository, &head)?.kinds(),
        None => Vec::new(),
    };
    Ok(overlaps_among(&scopes, &tracked))
}

/// Adds up what is on disk of the worktrees that are there.
fn measure(rows: &mut [ListedWorktree]) {
    let mut measured = Vec::new();
    let mut directories = Vec::new();
    for row in rows {
        if let Some(details) = &mut row.details
            && row.state == ListedState::Ready
        {
            measured.push(details);
            directories.push(row.path.clone());
        }
    }
    for (details, size) in measured.into_iter().zip(disk_usage(&directories)) {
        details.recorded.usage = Some(DiskUsage { size });
    }
}

/// The row of a worktree whose record is complete; it has no verdict of this moment yet.
fn recorded_row(
    repository: &Repository,
    worktree: &Worktree,
    position: BranchPosition,
    branch_prefix: &str,
) -> ListedWorktree {
    let record = &worktree.record;
    let is_there = files::is_directory(&record.path);
    let profile = ScopePatterns::profile(record.profile.as_deref());
    let mut recorded = RecordedWorktree::new(worktree, position, profile);
    recorded.waiting = WaitingRun::find(repository, worktree).ok().flatten();
    let last_verification = recorded.verification.as_ref();
    let last_verified = last_verification.map(|verification| &verification.last.head);
    let name = record.name.to_string();
    let branch = record.branch.to_string();
    let mut state = ListedState::Ready;
    let mut detail = None;
    if !is_there {
        let Absence { what, remedy } = Absence::of(record);
        state = ListedState::Missing;
        detail = Some(format!("{what}; {remedy}"));
    }
    ListedWorktree {
        details: Some(ListedDetails {
            hooks_silent: hooks_silent(worktree, recorded.position.head.as_ref(), last_verified),
            usual_branch: branch == format!("{branch_prefix}{name}"),
            placed: is_there.then(|| PlacedCounts {
                placed: placed(repository, worktree),
            }),
            uncommitted: None,
            not_verified: None,
            recorded,
        }),
        branch: Some(branch),
        detail,
        ..ListedWorktree::new(name, record.path.clone(), state)
    }
}

/// Counts the placed files by state, by their stat data wherever these suffice. A file that git
/// tracks by now no longer counts. `None` if they cannot be read.
fn placed(repository: &Repository, worktree: &Worktree) -> Option<DriftCounts> {
    let record = &worktree.record;
    let placed = worktree.placed().ok()?;
    let drifts = drift(&record.path, Some(&repository.root), &placed).ok()?;
    let is_changed = drifts.iter().any(|drift| drift.copy != CopyState::Same);
    let files = placed.files().iter().zip(drifts);
    if !is_changed {
        return Some(DriftCounts::of(files));
    }
    let index = read_index(&record.admin_dir.join("index"), repository.format).ok()?;
    let tracked: HashSet<_> = index.into_iter().map(|entry| entry.path).collect();
    let untracked = files.filter(|(file, _)| !tracked.contains(&file.path));
    Some(DriftCounts::of(untracked))
}

/// The row of a worktree whose record cannot be read; `detail` says why.
fn damaged_row(repository: &Repository, name: &WorktreeName, detail: String) -> ListedWorktree {
    let path = repository.worktree_path(name);
    ListedWorktree {
        detail: Some(detail),
        ..ListedWorktree::new(name.to_string(), path, ListedState::Damaged)
    }
}
