//! Reads what `restore` and `restore --undo` decide on.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice;

use super::plan::{PathNow, RestoreFacts, Violation};
use crate::change::{Change, Kind, Place, Seen};
use crate::compare::entry_in;
use crate::disk::drift::at_source;
use crate::disk::{DiskError, files};
use crate::entry::{Entry, ObjectId};
use crate::git::index::{IndexEntry, Stage, read_index};
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::placed::There;
use crate::truth::Survey;
use crate::verify::{Finding, Reason, VerifyOptions, verify};
use crate::worktree::saved::{self, SavedRestore};
use crate::worktree::{Repository, Worktree, WorktreeError};

/// The files that stand in the private git directory while git works (as `wt_status_get_state`
/// looks for them), and the command that does.
const OPERATIONS: [(&str, &str); 7] = [
    ("rebase-apply/applying", "am"),
    ("rebase-merge", "rebase"),
    ("rebase-apply", "rebase"),
    ("MERGE_HEAD", "merge"),
    ("REVERT_HEAD", "revert"),
    ("CHERRY_PICK_HEAD", "cherry-pick"),
    ("sequencer", "cherry-pick"),
];

/// Reads what `restore` decides on; with a restore, what undoing it does.
pub fn read(
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    saved: Option<&SavedRestore>,
) -> RestoreFacts {
    let record = &known.record;
    let report = verify(
        &known.scope,
        survey.changes.clone(),
        VerifyOptions::default(),
    );
    let mut violations = Vec::new();
    let mut permissions = Vec::new();
    let mut history = Vec::new();
    for finding in &report.findings {
        let is_of_scope = matches!(finding.reason, Reason::ReadOnly | Reason::Excluded);
        match (&finding.change.place, finding.change.kind) {
            // the file may be the work itself: taking it away is for a person
            (Place::Path(_), Kind::Leak) => {}
            (Place::Path(path), _) if finding.reason == Reason::History => {
                history.push(path.clone());
            }
            (Place::Path(path), Kind::Perm) if is_of_scope => permissions.push(path.clone()),
            (Place::Path(path), _) if is_of_scope && finding.reason != Reason::History => {
                violations.push(violation(repository, known, survey, finding, path));
            }
            _other => {}
        }
    }
    violations.sort_by(|a, b| a.path.cmp(&b.path));
    permissions.sort_unstable();
    let is_sparse = |change: &Change| {
        matches!(&change.place, Place::Admin(name)
            if *name == "info/sparse-checkout" || *name == "config.worktree")
    };
    let stands = |name: &str| files::exists(&record.admin_dir.join(name));
    let operation = OPERATIONS.into_iter().find(|(name, _)| stands(name));
    RestoreFacts {
        name: record.name.to_string(),
        path: record.path.clone(),
        admin_dir: record.admin_dir.clone(),
        branch: record.branch.to_string(),
        elsewhere: elsewhere(known, survey),
        operation: operation.map(|(_, command)| command),
        is_there: files::is_directory(&record.path),
        index_damaged: survey.states.index.damaged,
        others: match saved {
            Some(saved) => others(survey, saved.paths.iter().map(|saved| &saved.path), true),
            None => others(
                survey,
                violations.iter().map(|violation| &violation.path),
                false,
            ),
        },
        violations,
        permissions,
        sparse: survey.changes.integrity.iter().any(is_sparse),
        history,
    }
}

fn violation(
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    finding: &Finding,
    path: &RepoPath,
) -> Violation {
    let states = &survey.states;
    let excluded = finding.reason == Reason::Excluded;
    let committed = |seen: &Seen| matches!(seen, Seen::Commit(_) | Seen::Committed);
    let committed = finding.change.seen.iter().any(committed);
    let nearest = if committed {
        &states.reference
    } else {
        &states.head
    };
    let target = match states.arriving.get(path) {
        Some(arriving) => *arriving,
        None => entry_in(&states.manifest, nearest, path),
    };
    let is_same = |file| at_source(&known.source_of(repository, file), file) == There::Same;
    Violation {
        path: path.clone(),
        kind: finding.change.kind,
        excluded,
        committed,
        disk: on_disk(survey, path, excluded),
        target,
        source: states.placed.get(path).map(is_same),
    }
}

/// What stands on disk. What is excluded and absent is in no difference from the base.
fn on_disk(survey: &Survey, path: &RepoPath, excluded: bool) -> Option<Entry> {
    let states = &survey.states;
    if states.placed.get(path).is_some() {
        return survey.placed_entry(path);
    }
    if excluded {
        states.disk.get(path).copied().flatten()
    } else {
        entry_in(&states.manifest, &states.disk, path)
    }
}

/// Changed paths that stand on disk, in HEAD or in the index, without these.
fn others<'p>(
    survey: &'p Survey,
    taken: impl Iterator<Item = &'p RepoPath>,
    on_disk: bool,
) -> BTreeSet<RepoPath> {
    let (states, taken) = (&survey.states, taken.collect::<BTreeSet<_>>());
    let elsewhere = [&states.head].into_iter().chain(&states.index.deltas);
    let elsewhere = elsewhere.filter(|_| !on_disk);
    let stands = [&states.disk].into_iter().chain(elsewhere).flatten();
    let stands: BTreeSet<&RepoPath> = stands
        .filter_map(|(path, entry)| entry.map(|_| path))
        .collect();
    let changed = survey.changes.changes.iter();
    let changed = changed.filter_map(|change| change.place.path());
    changed
        .filter(|path| stands.contains(path) && !taken.contains(path))
        .cloned()
        .collect()
}

/// What HEAD names, for people; none when that is the recorded branch.
fn elsewhere(known: &Worktree, survey: &Survey) -> Option<String> {
    let heads = &survey.heads;
    let ours = known.record.branch.full_ref();
    match (&heads.symbolic, &heads.head) {
        (Some(name), Some(_)) if *name == ours => None,
        (Some(name), _) => Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
        (None, Some(commit)) => Some(format!("commit {}", commit.short())),
        (None, None) => Some("nothing".to_owned()),
    }
}

/// Reads the index of a worktree.
///
/// # Errors
/// Fails when it cannot be read.
pub fn read_own_index(
    repository: &Repository,
    known: &Worktree,
) -> Result<Vec<IndexEntry>, WorktreeError> {
    let file = known.record.admin_dir.join("index");
    Ok(read_index(&file, repository.format)?)
}

/// The entries of every path, with the number that git has for their stage.
pub fn stages(index: &[IndexEntry]) -> BTreeMap<&RepoPath, Vec<(u8, Entry)>> {
    let mut stages: BTreeMap<&RepoPath, Vec<(u8, Entry)>> = BTreeMap::new();
    for entry in index {
        let stage = match entry.stage {
            Stage::Normal => 0,
            Stage::Ancestor => 1,
            Stage::Ours => 2,
            Stage::Theirs => 3,
        };
        let all = stages.entry(&entry.path).or_default();
        all.push((stage, entry.entry));
    }
    stages
}

/// Reads how the paths of a restore are now.
///
/// # Errors
/// Fails when the index cannot be read.
pub fn read_paths_now(
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    saved: &SavedRestore,
) -> Result<Vec<PathNow>, WorktreeError> {
    let index = read_own_index(repository, known)?;
    let stages = stages(&index);
    let all = survey.changes.changes.iter();
    let all = all.filter(|change| change.kind != Kind::Perm);
    let changed: BTreeMap<&RepoPath, &Change> = all
        .filter_map(|change| Some((change.place.path()?, change)))
        .collect();
    let is_on_disk = |seen: &Seen| !matches!(seen, Seen::Commit(_) | Seen::Committed | Seen::Index);
    let now = saved.paths.iter().map(|saved| {
        let path = &saved.path;
        let change = changed.get(path);
        let disk = on_disk(survey, path, known.scope.excludes_file(path));
        PathNow {
            disk: disk.map(|entry| with_raw_id(repository, known, path, entry)),
            index: stages.get(path).cloned().unwrap_or_default(),
            disk_changed: change.is_some_and(|change| change.seen.iter().any(is_on_disk)),
            index_changed: change.is_some_and(|change| change.seen.contains(&Seen::Index)),
            saved: saved.clone(),
        }
    });
    Ok(now.collect())
}

/// The entry of a file with the id of its raw bytes, as it was saved: where git converts files,
/// it otherwise has that of the blob it was written from, or none.
fn with_raw_id(repository: &Repository, known: &Worktree, path: &RepoPath, entry: Entry) -> Entry {
    let is_raw = !known.record.conversions && entry.id != ObjectId::none();
    if is_raw || !entry.mode.is_regular() {
        return entry;
    }
    let read = read_raw(repository, known, path).ok().flatten();
    let id = read.map_or(entry.id, |read| read.id);
    Entry { id, ..entry }
}

/// Reads what stands at a path, with the id of its raw bytes.
///
/// # Errors
/// Fails when it cannot be read.
pub fn read_raw(
    repository: &Repository,
    known: &Worktree,
    path: &RepoPath,
) -> Result<Option<Entry>, WorktreeError> {
    saved::read_entry(&known.record.path, path, |size, content| {
        let failed = |error| DiskError::new(format!("read {path}"), error);
        Ok(repository.format.hash_blob(size, content).map_err(failed)?)
    })
}

/// Names the others that have a commit: remote-tracking branches, and a worktree by its directory.
///
/// # Errors
/// Fails when git does.
pub fn read_holders(
    repository: &Repository,
    known: &Worktree,
    commit: &CommitId,
) -> Result<Vec<String>, WorktreeError> {
    let refs = repository.git.refs_containing(commit, &["refs/remotes/"])?;
    let names = refs.iter().map(|name| name.to_str_lossy());
    let mut holders: Vec<String> = names
        .map(|name| name.trim_start_matches("refs/remotes/").to_owned())
        .collect();
    for other in repository.worktrees()? {
        let head = other.head.filter(|_| other.path != known.record.path);
        if let Some(head) = head
            && repository.git.is_ancestor(commit, &head)?
        {
            holders.push(other.path.to_string());
        }
    }
    Ok(holders)
}
