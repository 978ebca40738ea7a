//! Reads what `restore` and `restore --undo` decide on.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice;

use super::changes::Survey;
use crate::change::{Change, Kind, Place, Seen};
use crate::compare::entry_in;
use crate::disk::drift::at_source;
use crate::disk::files;
use crate::entry::{Entry, ObjectId};
use crate::git::index::{IndexEntry, Stage, read_index};
use crate::git::objects::Objects;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::placed::{Origin, PlacedFile, There};
use crate::plan::restore::saved::from_bytes;
use crate::plan::restore::undo::{Now, SavedRestore, UndoFacts};
use crate::plan::restore::{Operation, RestoreFacts, Standing, Violation};
use crate::verify::{Finding, Layer, Layers, Reason, Strictness, verify};
use crate::worktree::Worktree;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;

/// Begins the line of a rescue commit's message that says which worktree was restored.
pub const NAME: &str = "Agentwt-Restore: ";
/// Begins the line that says where HEAD was.
pub const PREVIOUS: &str = "Agentwt-Head: ";
/// Begins the line that says where the branch was moved.
pub const MADE: &str = "Agentwt-Made: ";
/// Names the blob in the last parent's tree that lists the paths.
pub const LIST: &str = "list";

/// Reads what `restore` decides on.
#[must_use]
pub fn read(repository: &Repository, known: &Worktree, survey: &Survey) -> RestoreFacts {
    let record = &known.record;
    let report = verify(
        &known.scope,
        survey.changes.clone(),
        Layers::All,
        Strictness::Normal,
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

/// What git is in the middle of (git's own `wt_status_get_state` looks for the same files).
fn operation(known: &Worktree) -> Option<Operation> {
    let there = |name: &str| files::exists(&known.record.admin_dir.join(name));
    let applying = there("rebase-apply/applying");
    if applying {
        Some(Operation::Am)
    } else if there("rebase-merge") || there("rebase-apply") {
        Some(Operation::Rebase)
    } else if there("MERGE_HEAD") {
        Some(Operation::Merge)
    } else if there("REVERT_HEAD") {
        Some(Operation::Revert)
    } else if there("CHERRY_PICK_HEAD") || there("sequencer") {
        Some(Operation::CherryPick)
    } else {
        None
    }
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

/// Finds a restore that was saved: the one that is named, by its ref, its time or its commit, or
/// the newest one; none when there is none.
///
/// # Errors
/// Fails when git does.
pub fn find_saved(
    repository: &Repository,
    known: &Worktree,
    named: Option<&str>,
) -> Result<Option<SavedRestore>, WorktreeError> {
    let name = known.record.name.to_string();
    let below = format!("refs/agentwt/rescue/{name}/");
    let objects = repository.objects()?;
    let mut found: Vec<((String, u32), SavedRestore)> = Vec::new();
    for rescue in repository.git.for_each_ref(&[&below])? {
        let full = rescue.name.to_str_lossy().into_owned();
        let time = full.strip_prefix(&below).unwrap_or(&full);
        let is_meant = named.is_none_or(|named| {
            let abbreviated = named.len() >= 7 && rescue.id.as_str().starts_with(named);
            full == named || time == named || abbreviated
        });
        let (second, number) = time.split_once('-').unwrap_or((time, "1"));
        let order = (second.to_owned(), number.parse().unwrap_or(1));
        if is_meant && let Some(saved) = read_saved(&objects, &name, full.clone(), &rescue.id)? {
            found.push((order, saved));
        }
    }
    let newest = found.into_iter().max_by(|a, b| a.0.cmp(&b.0));
    Ok(newest.map(|(_, saved)| saved))
}

/// Reads a rescue commit; none when it is not one of a restore.
fn read_saved(
    objects: &Objects,
    name: &str,
    rescue: String,
    commit: &CommitId,
) -> Result<Option<SavedRestore>, WorktreeError> {
    let raw = objects.raw_commit(commit)?;
    let line = |start: &str| {
        let text = raw
            .lines()
            .rev()
            .find_map(|l| l.strip_prefix(start.as_bytes()));
        text.map(|text| text.to_str_lossy().into_owned())
    };
    let (Some(of), Some(previous)) = (line(NAME), line(PREVIOUS)) else {
        return Ok(None);
    };
    let Ok(previous) = CommitId::parse(&previous) else {
        return Ok(None);
    };
    let Some(parent) = objects.commit(commit)?.parents.pop().filter(|_| of == name) else {
        return Ok(None);
    };
    let tree = objects.commit(&parent)?.tree;
    let list = objects.list(&tree)?;
    let list = list.iter().find(|(path, _)| *path.as_bstr() == LIST);
    let Some((_, list)) = list else {
        return Ok(None);
    };
    let paths = from_bytes(&objects.blob(&list.id)?);
    Ok(paths.map(|paths| SavedRestore {
        rescue,
        previous,
        made: line(MADE).and_then(|id| CommitId::parse(&id).ok()),
        paths,
    }))
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
        Now {
            disk: on_disk(survey, path, is_excluded(known, path))
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
    let relative = path.to_os_path().ok();
    let file = relative.map(|relative| known.record.path.as_std_path().join(relative));
    let opened = file.and_then(|file| files::open_entry(&file).ok());
    let Some(files::Opened::File {
        size, mut content, ..
    }) = opened
    else {
        return entry;
    };
    let id = repository.format.hash_blob(size, &mut content);
    Entry {
        id: id.unwrap_or(entry.id),
        ..entry
    }
}

fn is_on_disk(seen: &Seen) -> bool {
    match seen {
        Seen::Disk | Seen::Untracked | Seen::Ignored | Seen::Synced | Seen::Hidden(_) => true,
        Seen::Commit(_) | Seen::Committed | Seen::Index => false,
    }
}

/// Whether the scope excludes a file of this path.
#[must_use]
pub fn is_excluded(known: &Worktree, path: &RepoPath) -> bool {
    use crate::scope::{Access, EntryKind};
    known.scope.verdict(path, EntryKind::File).access == Access::Excluded
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
