//! Reads what `restore` and `restore --undo` decide on.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use camino::Utf8Path;

use crate::actions::restore::plan::{PlacedSource, PlannedPath, RestoreFacts};
use crate::actions::restore::undo_plan::PathNow;
use crate::actions::saved::{SavedRestore, read_entry};
use crate::disk::drift::at_source;
use crate::disk::error::DiskError;
use crate::git::index::{IndexEntry, read_index};
use crate::inventory::placed::{PlacedFile, PlacedOrigin, SourceState};
use crate::judge::change::{Change, Kind, Place, Seen};
use crate::judge::compare::{Delta, entry_in};
use crate::judge::finding::{Finding, Level, Reason, VerifyOptions};
use crate::record::worktree::Record;
use crate::scope::rule::{Access, EntryKind};
use crate::truth::survey::Survey;
use crate::words::entry::{Entry, Mode};
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::operation::{read_operation, way_to_branch, ways_to_end};
use crate::worktree::repository::Repository;

/// Reads what `restore` decides on; with a restore that was `saved`, what its undo decides on.
pub fn read<'a>(
    repository: &Repository,
    worktree: &'a Worktree,
    survey: &Survey,
    saved: Option<&SavedRestore>,
) -> RestoreFacts<'a> {
    let mut facts = RestoreFacts {
        record: &worktree.record,
        busy: read_busy(&worktree.record, survey),
        violations: Vec::new(),
        permissions: Vec::new(),
        sparse: survey.changes.integrity.iter().any(is_sparse),
        others: BTreeSet::new(),
        others_on_disk: BTreeSet::new(),
        history: Vec::new(),
    };
    let report = worktree.judge(survey.changes.clone(), VerifyOptions::default());
    for finding in &report.findings {
        add_finding(repository, worktree, survey, finding, &mut facts);
    }
    facts.violations.sort_by(|a, b| a.path.cmp(&b.path));
    facts.permissions.sort_unstable();
    let taken: BTreeSet<&RepoPath> = match saved {
        Some(restore) => restore.paths.iter().map(|one| &one.path).collect(),
        None => facts
            .violations
            .iter()
            .map(|planned| &planned.path)
            .collect(),
    };
    facts.others_on_disk = others(survey, &taken, &[&survey.states.disk.delta]);
    facts.others = others(survey, &taken, &all_layers(survey));
    facts
}

/// Sorts a finding by what `restore` can do about it: put the path back, only set its write bits, or
/// name it, as it is in the history alone.
fn add_finding(
    repository: &Repository,
    worktree: &Worktree,
    survey: &Survey,
    finding: &Finding,
    facts: &mut RestoreFacts<'_>,
) {
    let Some(path) = finding.change.place.path() else {
        return;
    };
    if finding.change.kind == Kind::Leak {
        // the file may be the work itself: taking it away is for a person
        return;
    }
    match finding.reason {
        Reason::History => facts.history.push(path.clone()),
        Reason::ReadOnly | Reason::Excluded if finding.change.kind == Kind::Perm => {
            facts.permissions.push(path.clone());
        }
        Reason::ReadOnly | Reason::Excluded if finding.level == Level::Violation => {
            let violation = planned_path(repository, worktree, survey, finding, path);
            let is_only_in_commits = finding.change.seen.iter().all(is_commit);
            // those are commits of another branch: the change is not in this worktree
            let is_elsewhere = is_only_in_commits && !violation.committed;
            if !is_elsewhere {
                facts.violations.push(violation);
            }
        }
        _other => {}
    }
}

/// True if the sparse patterns, or the settings that they need, were changed.
fn is_sparse(change: &Change) -> bool {
    matches!(&change.place, Place::Admin(name)
        if *name == "info/sparse-checkout" || *name == "config.worktree")
}

/// Why the branch cannot be moved now, and what to do; none where it can.
fn read_busy(record: &Record, survey: &Survey) -> Option<(String, String)> {
    let name = &record.name;
    if let Some(operation) = read_operation(record) {
        let help = format!(
            "{}; changes that are not committed can be named: git agentwt restore {name} <path>",
            ways_to_end(operation, &record.path)
        );
        return Some((format!("a {operation} is in progress"), help));
    }
    let help = format!("go back to it first: {}", way_to_branch(record));
    Some((survey.head.head_problem(record)?, help))
}

/// Says of a path out of scope what stands there, and what it gets back.
fn planned_path(
    repository: &Repository,
    worktree: &Worktree,
    survey: &Survey,
    finding: &Finding,
    path: &RepoPath,
) -> PlannedPath {
    let states = &survey.states;
    let references = &states.references;
    let in_head = entry_in(&states.manifest, &references.head, path);
    let in_reference = entry_in(&states.manifest, references.reference(), path);
    // a commit that only another branch has is not undone on this one
    let committed = finding.change.seen.iter().any(is_commit) && in_head != in_reference;
    let target = match references.arriving.get(path) {
        // a merge in progress brings this, or brings that it is gone
        Some(arriving) => *arriving,
        None if committed => in_reference,
        None => in_head,
    };
    let excluded = finding.reason == Reason::Excluded;
    let access = if excluded {
        Access::Excluded
    } else {
        Access::Read
    };
    let disk = on_disk(survey, path, access);
    PlannedPath {
        path: path.clone(),
        kind: finding.change.kind.as_str(),
        committed,
        can_be_saved: disk.is_none_or(|entry| entry.mode != Mode::Special),
        excluded,
        disk,
        target,
        source: placed_source(repository, worktree, states.placed.get(path), access),
    }
}

fn placed_source(
    repository: &Repository,
    worktree: &Worktree,
    placed: Option<&PlacedFile>,
    access: Access,
) -> PlacedSource {
    let Some(file) = placed else {
        return PlacedSource::NotPlaced;
    };
    if access == Access::Excluded && file.origin == PlacedOrigin::Synced {
        // it was copied before the scope excluded it, and is not copied again
        return PlacedSource::NotPlaced;
    }
    match at_source(&worktree.source_of(repository, file), file) {
        SourceState::Same => PlacedSource::Same,
        SourceState::Newer | SourceState::Gone | SourceState::None => PlacedSource::Changed,
    }
}

const fn is_commit(seen: &Seen) -> bool {
    matches!(seen, Seen::Commit(_) | Seen::Committed)
}

/// What stands on disk; of a clean submodule, the commit that it is on. What is excluded and absent is
/// in no difference from the base.
fn on_disk(survey: &Survey, path: &RepoPath, access: Access) -> Option<Entry> {
    let states = &survey.states;
    if let Some(id) = states.disk.clean_submodules.get(path) {
        let mode = Mode::Gitlink;
        return Some(Entry { mode, id: *id });
    }
    if states.placed.get(path).is_some() {
        return survey.placed_entry(path);
    }
    match access {
        Access::Excluded => states.disk.delta.get(path).copied().flatten(),
        Access::Read | Access::Write => entry_in(&states.manifest, &states.disk.delta, path),
    }
}

/// Returns how the disk, HEAD and the index differ from the base.
fn all_layers(survey: &Survey) -> Vec<&Delta> {
    let states = &survey.states;
    let mut layers = vec![&states.disk.delta, &states.references.head];
    layers.extend(&states.index.deltas);
    layers
}

/// Returns the changed paths, without those that are `taken`, that stand in any of these layers.
fn others(survey: &Survey, taken: &BTreeSet<&RepoPath>, layers: &[&Delta]) -> BTreeSet<RepoPath> {
    let mut others = BTreeSet::new();
    for change in &survey.changes.changes {
        let Some(path) = change.place.path() else {
            continue;
        };
        let stands = layers
            .iter()
            .any(|layer| matches!(layer.get(path), Some(Some(_))));
        if stands && !taken.contains(path) {
            others.insert(path.clone());
        }
    }
    others
}

/// Reads the index of a worktree.
///
/// # Errors
/// Fails when it cannot be read.
pub fn read_own_index(
    repository: &Repository,
    worktree: &Worktree,
) -> Result<Vec<IndexEntry>, Error> {
    let file = worktree.record.admin_dir.join("index");
    Ok(read_index(&file, repository.format)?)
}

/// The entries of every path, with the number that git has for their stage.
pub fn stages(index: &[IndexEntry]) -> BTreeMap<&RepoPath, Vec<(u8, Entry)>> {
    let mut stages: BTreeMap<&RepoPath, Vec<(u8, Entry)>> = BTreeMap::new();
    for entry in index {
        let entries = stages.entry(&entry.path).or_default();
        entries.push((entry.stage as u8, entry.entry));
    }
    stages
}

/// The paths of which the index only says that they will be added.
pub fn announced(index: &[IndexEntry]) -> BTreeSet<&RepoPath> {
    let mut announced = BTreeSet::new();
    for entry in index {
        if entry.intent_to_add {
            announced.insert(&entry.path);
        }
    }
    announced
}

/// Reads how the paths of a restore are now.
///
/// # Errors
/// Fails when the index cannot be read.
pub fn read_paths_now(
    repository: &Repository,
    worktree: &Worktree,
    survey: &Survey,
    saved: &SavedRestore,
) -> Result<Vec<PathNow>, Error> {
    let index = read_own_index(repository, worktree)?;
    let stages = stages(&index);
    let mut changed = BTreeMap::new();
    for change in &survey.changes.changes {
        // a file that is only writable holds no work
        if change.kind != Kind::Perm {
            changed.insert(&change.place, &change.seen);
        }
    }
    let is_on_disk = |seen: &Seen| !matches!(seen, Seen::Commit(_) | Seen::Committed | Seen::Index);
    let mut now = Vec::new();
    for saved_path in &saved.paths {
        let path = &saved_path.path;
        let change = changed.get(&Place::Path(path.clone()));
        let access = worktree.scope.verdict(path, EntryKind::File).access;
        let without_content =
            on_disk(survey, path, access).filter(|entry| entry.mode.git_octal().is_none());
        now.push(PathNow {
            disk: read_raw(repository, &worktree.record.path, path)?.or(without_content),
            index: stages.get(path).cloned().unwrap_or_default(),
            disk_changed: change.is_some_and(|seen| seen.iter().any(is_on_disk)),
            index_changed: change.is_some_and(|seen| seen.contains(&Seen::Index)),
            saved: saved_path.clone(),
        });
    }
    Ok(now)
}

/// Reads what stands at a path below a directory, with the id of its raw bytes; none where nothing
/// with content does.
///
/// # Errors
/// Fails when it cannot be read.
pub fn read_raw(
    repository: &Repository,
    root: &Utf8Path,
    path: &RepoPath,
) -> Result<Option<Entry>, Error> {
    read_entry(root, path, |size, content| {
        let failed = |error| DiskError::new(format!("read {path}"), error);
        Ok(repository.format.hash_blob(size, content).map_err(failed)?)
    })
}

/// Fails when what stands at a path is not what stood there when that was saved or planned: a
/// process works there.
///
/// # Errors
/// As above; also when it cannot be read.
pub fn require_unchanged(
    repository: &Repository,
    worktree: &Worktree,
    path: &RepoPath,
    before: Option<Entry>,
) -> Result<(), Error> {
    let content_before = before.filter(|entry| entry.mode.git_octal().is_some());
    if read_raw(repository, &worktree.record.path, path)? == content_before {
        return Ok(());
    }
    Err(changed_meanwhile(path).into())
}

/// Says that a process wrote at a path that is put back.
pub fn changed_meanwhile(path: &RepoPath) -> DiskError {
    let why = io::Error::other("it was changed while it was put away");
    DiskError::new(format!("put back {path}"), why)
}
