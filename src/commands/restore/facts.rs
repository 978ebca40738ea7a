//! Reads what `restore` and `restore --undo` decide on.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice;

use super::plan::{Operation, RestoreFacts, Standing, Violation};
use super::undo::{PathNow, UndoFacts};
use crate::change::{Change, Kind, Place, Seen};
use crate::compare::entry_in;
use crate::disk::drift::at_source;
use crate::disk::{DiskError, files};
use crate::entry::{Entry, ObjectId};
use crate::git::index::{IndexEntry, Stage, read_index};
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::placed::{Origin, PlacedFile, There};
use crate::truth::Survey;
use crate::verify::{Finding, Layer, Reason, VerifyOptions, verify};
use crate::worktree::saved::{self, SavedRestore};
use crate::worktree::{Repository, Worktree, WorktreeError};

/// Reads what `restore` decides on.
#[must_use]
pub fn read(repository: &Repository, known: &Worktree, survey: &Survey) -> RestoreFacts {
    let record = &known.record;
    let report = verify(
        &known.scope,
        survey.changes.clone(),
        VerifyOptions::default(),
    );
    let mut violations = Vec::new();
    let mut permissions = Vec::new();
    let mut history = Vec::new();
    let source = |file: &PlacedFile| {
        let there = at_source(&known.source_of(repository, file), file);
        match file.origin {
            Origin::Context if there != There::Same => There::None,
            Origin::Context | Origin::Synced => there,
        }
    };
    for finding in &report.findings {
        let Place::Path(path) = &finding.change.place else {
            continue;
        };
        match (finding.reason, finding.change.kind) {
            // the file may be the work itself: taking it away is for a person
            (_, Kind::Leak) => {}
            (Reason::History, _) => history.push(path.clone()),
            (Reason::ReadOnly | Reason::Excluded, Kind::Perm) => permissions.push(path.clone()),
            (Reason::ReadOnly | Reason::Excluded, _) if finding.layer() == Layer::Net => {
                violations.push(violation(&source, survey, finding, path));
            }
            (
                Reason::ReadOnly
                | Reason::Excluded
                | Reason::Outside
                | Reason::Integrity
                | Reason::Shared,
                _,
            ) => {}
        }
    }
    violations.sort_by(|a, b| a.path.cmp(&b.path));
    permissions.sort_unstable();
    let is_sparse = |change: &Change| match &change.place {
        Place::Admin(name) => *name == "info/sparse-checkout" || *name == "config.worktree",
        Place::Path(_)
        | Place::Git(_)
        | Place::Head
        | Place::Worktree
        | Place::Main(_)
        | Place::Outside(_) => false,
    };
    RestoreFacts {
        name: record.name.to_string(),
        path: record.path.clone(),
        admin_dir: record.admin_dir.clone(),
        standing: standing(known, survey),
        is_there: files::is_directory(&record.path),
        index_damaged: survey.states.index.damaged,
        others: others(survey, &violations),
        violations,
        permissions,
        sparse: survey.changes.integrity.iter().any(is_sparse),
        history,
    }
}

fn violation(
    source: &dyn Fn(&PlacedFile) -> There,
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
    Violation {
        path: path.clone(),
        kind: finding.change.kind,
        excluded,
        committed,
        disk: on_disk(survey, path, excluded),
        target,
        source: states.placed.get(path).map(source),
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

/// Changed paths that stand somewhere and are no violations.
fn others(survey: &Survey, violations: &[Violation]) -> BTreeSet<RepoPath> {
    let states = &survey.states;
    let taken: BTreeSet<&RepoPath> = violations.iter().map(|v| &v.path).collect();
    let deltas = [&states.disk, &states.head].into_iter();
    let there = deltas
        .chain(&states.index.deltas)
        .flatten()
        .filter(|(_, entry)| entry.is_some());
    let changed: BTreeSet<&RepoPath> = survey
        .changes
        .changes
        .iter()
        .filter_map(|change| change.place.path())
        .collect();
    there
        .map(|(path, _)| path)
        .filter(|path| changed.contains(path) && !taken.contains(path))
        .cloned()
        .collect()
}

fn standing(known: &Worktree, survey: &Survey) -> Standing {
    let record = &known.record;
    let heads = &survey.heads;
    let ours = record.branch.full_ref();
    let elsewhere = match (&heads.symbolic, &heads.head) {
        (Some(name), Some(_)) if *name == ours => None,
        (Some(name), _) => Some(name.strip_prefix("refs/heads/").unwrap_or(name).to_owned()),
        (None, Some(commit)) => Some(format!("commit {}", commit.short())),
        (None, None) => Some("nothing".to_owned()),
    };
    Standing {
        branch: record.branch.to_string(),
        elsewhere,
        operation: operation(known),
    }
}

/// The operation in progress (git's own `wt_status_get_state` looks for the same files).
fn operation(known: &Worktree) -> Option<Operation> {
    let signs = [
        ("rebase-apply/applying", "am"),
        ("rebase-merge", "rebase"),
        ("rebase-apply", "rebase"),
        ("MERGE_HEAD", "merge"),
        ("REVERT_HEAD", "revert"),
        ("CHERRY_PICK_HEAD", "cherry-pick"),
        ("sequencer", "cherry-pick"),
    ];
    let stands = |name: &str| files::exists(&known.record.admin_dir.join(name));
    let found = signs.into_iter().find(|(name, _)| stands(name));
    found.map(|(_, command)| command)
}

/// Reads the index of a worktree.
///
/// # Errors
/// Fails when it cannot be read.
pub fn index(repository: &Repository, known: &Worktree) -> Result<Vec<IndexEntry>, WorktreeError> {
    let file = known.record.admin_dir.join("index");
    Ok(read_index(&file, repository.format)?)
}

/// The entries of every path, with the number that git has for their stage.
#[must_use]
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

/// Reads what `restore --undo` decides on.
///
/// # Errors
/// Fails when git does, or the index cannot be read.
pub fn read_undo(
    repository: &Repository,
    known: &Worktree,
    survey: &Survey,
    saved: SavedRestore,
) -> Result<UndoFacts, WorktreeError> {
    let facts = read(repository, known, survey);
    let index = index(repository, known)?;
    let stages = stages(&index);
    let mut changed: BTreeMap<&RepoPath, &Change> = BTreeMap::new();
    for change in &survey.changes.changes {
        if let Some(path) = change.place.path().filter(|_| change.kind != Kind::Perm) {
            changed.insert(path, change);
        }
    }
    let names: BTreeSet<&RepoPath> = saved.paths.iter().map(|s| &s.path).collect();
    let now = saved.paths.iter().map(|saved| {
        let path = &saved.path;
        let seen = |at: fn(&Seen) -> bool| {
            let change = changed.get(path);
            change.is_some_and(|change| change.seen.iter().any(at))
        };
        PathNow {
            disk: on_disk(survey, path, known.scope.excludes_file(path))
                .map(|entry| with_raw_id(repository, known, path, entry)),
            index: stages.get(path).cloned().unwrap_or_default(),
            disk_changed: seen(is_on_disk),
            index_changed: seen(|seen| *seen == Seen::Index),
            saved: saved.clone(),
        }
    });
    let stands = |path: &&RepoPath| matches!(survey.states.disk.get(*path), Some(Some(_)));
    let others = changed.keys().copied().filter(stands);
    let others = others.filter(|path| !names.contains(path)).cloned();
    let tip = repository
        .git
        .rev_parse_commit(&known.record.branch.full_ref())?;
    let is_ancestor = match &saved.made {
        Some(made) => repository.git.is_ancestor(&saved.previous, made)?,
        None => true,
    };
    Ok(UndoFacts {
        name: facts.name,
        path: facts.path,
        standing: facts.standing,
        tip,
        is_ancestor,
        now: now.collect(),
        others: others.collect(),
        saved,
    })
}

/// The entry of a file with the id of its raw bytes, as it was saved: where git converts files,
/// it otherwise has that of the blob it was written from, or none.
fn with_raw_id(repository: &Repository, known: &Worktree, path: &RepoPath, entry: Entry) -> Entry {
    let is_raw = !known.record.conversions && entry.id != ObjectId::none();
    if is_raw || !entry.mode.is_regular() {
        return entry;
    }
    let read = saved::read_entry(&known.record.path, path, |size, content| {
        let failed = |error| DiskError::new(format!("read {path}"), error);
        Ok(repository.format.hash_blob(size, content).map_err(failed)?)
    });
    let id = read.ok().flatten().map_or(entry.id, |read| read.id);
    Entry { id, ..entry }
}

fn is_on_disk(seen: &Seen) -> bool {
    match seen {
        Seen::Disk | Seen::Untracked | Seen::Ignored | Seen::Synced | Seen::Hidden(_) => true,
        Seen::Commit(_) | Seen::Committed | Seen::Index => false,
    }
}

/// Says who else has a commit: remote-tracking branches by name, and another worktree by its
/// directory.
///
/// # Errors
/// Fails when git does.
pub fn held_by(
    repository: &Repository,
    known: &Worktree,
    commit: &CommitId,
) -> Result<(Vec<String>, Option<camino::Utf8PathBuf>), WorktreeError> {
    let refs = repository.git.refs_containing(commit, &["refs/remotes/"])?;
    let refs = refs.iter().map(|name| {
        let name = name.to_str_lossy();
        name.strip_prefix("refs/remotes/")
            .unwrap_or(&name)
            .to_owned()
    });
    let refs = refs.collect();
    for other in repository.worktrees()? {
        let Some(head) = other.head.filter(|_| other.path != known.record.path) else {
            continue;
        };
        if repository.git.is_ancestor(commit, &head)? {
            return Ok((refs, Some(other.path)));
        }
    }
    Ok((refs, None))
}
