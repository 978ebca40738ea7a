//! Brings back what a restore saved, all of it or nothing.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BStr;
use camino::Utf8Path;

use crate::actions::placing::staging;
use crate::actions::restore::change::{BranchUpdate, change, put_directory, replace_files};
use crate::actions::restore::facts;
use crate::actions::restore::facts::require_unchanged;
use crate::actions::restore::plan::has_below;
use crate::actions::restore::refusal::RestoreRefusal;
use crate::actions::restore::undo_plan::{PathNow, UndoPlan, plan_undo};
use crate::actions::saved::{SavedPath, SavedRestore, find_restores};
use crate::disk::entries::NewEntry;
use crate::disk::{entries, files};
use crate::git::objects::Objects;
use crate::inventory::placed::PlacedKind;
use crate::record::journal;
use crate::record::journal::{JournaledCommand, Step};
use crate::truth::collect;
use crate::truth::survey::Survey;
use crate::words::entry::Mode;
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::journal::StepJournal;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Brings back all that a restore saved under a ref, or nothing where any of it was worked on since
/// (a refusal).
///
/// # Errors
/// Fails when it is refused, or git or the disk does: it may then be half undone, and what was
/// saved stays saved.
pub fn bring_back(repository: &Repository, worktree: &Worktree, rescue: &str) -> Result<(), Error> {
    let objects = repository.objects()?;
    let name = &worktree.record.name;
    let restores = find_restores(&repository.git, &objects, name, Some(rescue))?;
    let Some(saved) = restores.first() else {
        return Err(RestoreRefusal::nothing_to_undo(name, Some(rescue)).into());
    };
    let survey = collect(repository, worktree)?;
    let plan = plan(repository, worktree, &survey, saved)?;
    if plan.is_empty() {
        // a killed restore may have written files beside the worktree
        return Ok(files::remove_directory(&staging(&worktree.record.path))?);
    }
    write_back(repository, worktree, saved, &plan)
}

/// Brings all back as it was planned. A step in the journal names the restore: what is killed in
/// the middle, or fails, the next command brings to its end.
///
/// # Errors
/// Fails when git or the disk does: it may be half undone, and what was saved stays saved.
pub fn apply(
    repository: &Repository,
    worktree: &Worktree,
    saved: &SavedRestore,
    plan: &UndoPlan,
) -> Result<(), Error> {
    let directory = journal::directory(&worktree.dir);
    let mut journal = StepJournal::begin(directory, JournaledCommand::UndoRestore)?;
    journal.add(Step::RestoredPaths {
        worktree: worktree.record.name.clone(),
        rescue: saved.rescue.clone(),
    })?;
    write_back(repository, worktree, saved, plan)?;
    journal.end();
    Ok(())
}

/// Reads how the paths of a restore are now, and decides how it is undone.
///
/// # Errors
/// Fails when it is refused, or git or the disk does; nothing is changed.
pub fn plan(
    repository: &Repository,
    worktree: &Worktree,
    survey: &Survey,
    saved: &SavedRestore,
) -> Result<UndoPlan, Error> {
    let facts = facts::read(repository, worktree, survey, Some(saved));
    let now = facts::read_paths_now(repository, worktree, survey, saved)?;
    let branch = worktree.record.branch.full_ref();
    let tip = repository.git.rev_parse_commit(&branch)?;
    Ok(plan_undo(&facts, saved, now, tip.as_ref())?)
}

/// Brings all back. The raw bytes come back as they were, without any conversion.
fn write_back(
    repository: &Repository,
    worktree: &Worktree,
    saved: &SavedRestore,
    plan: &UndoPlan,
) -> Result<(), Error> {
    let branch = plan.branch.as_ref().map(|branch| BranchUpdate {
        from: &branch.from,
        to: &branch.to,
        reason: "agentwt restore: undo",
    });
    let targets: Vec<SavedPath> = plan.paths.iter().map(|now| now.saved.clone()).collect();
    let directories = &saved.directories;
    change(repository, worktree, branch, &targets, directories, || {
        write_saved(repository, worktree, saved, plan)
    })?;
    Ok(worktree.hardened_git(repository).update_index_refresh()?)
}

/// Writes the files and links that were saved, in place of what stands there. Directories are made
/// by [`take_away`].
fn write_saved(
    repository: &Repository,
    worktree: &Worktree,
    saved: &SavedRestore,
    plan: &UndoPlan,
) -> Result<(), Error> {
    let objects = repository.objects()?;
    let mut replaced = Vec::new();
    let mut wanted = Vec::new();
    let mut saved_files = BTreeMap::new();
    for now in &plan.paths {
        // a file with the same content may have other permissions
        let is_file = now.disk.is_some_and(|entry| entry.mode.is_regular());
        if now.disk == now.saved.disk && !is_file {
            continue;
        }
        replaced.push(now);
        if let Some(entry) = now.saved.disk
            && (entry.mode.is_regular() || entry.mode == Mode::Link)
        {
            wanted.push(&now.saved.path);
            saved_files.insert(&now.saved.path, &now.saved);
        }
    }
    replace_files(
        repository,
        worktree,
        &wanted,
        |directory, paths| {
            for path in paths {
                write_file(&objects, directory, saved_files[path])?;
            }
            Ok(())
        },
        || take_away(repository, worktree, saved, &replaced),
    )
}

/// Writes a file or a link as it was saved into a directory.
fn write_file(objects: &Objects, directory: &Utf8Path, saved: &SavedPath) -> Result<(), Error> {
    let Some(entry) = saved.disk else {
        return Ok(());
    };
    let content = objects.blob(&entry.id)?;
    let new = NewEntry {
        kind: entry.mode,
        bytes: &content,
        permissions: saved.permissions,
    };
    Ok(entries::put_entry(directory, &saved.path, new)?)
}

/// Removes what stands at these paths, if it is what was planned, and then makes the directories
/// that were there.
fn take_away(
    repository: &Repository,
    worktree: &Worktree,
    saved: &SavedRestore,
    replaced: &[&PathNow],
) -> Result<(), Error> {
    let root = &worktree.record.path;
    let paths: BTreeSet<&BStr> = replaced
        .iter()
        .map(|now| now.saved.path.as_bstr())
        .collect();
    // what is in a directory goes before the directory
    for file in worktree.placed()?.files().iter().rev() {
        let is_below_one = file.path.parents().any(|above| paths.contains(above));
        if file.kind == PlacedKind::Directory && is_below_one {
            // one that is not empty stays: `remove_entry` removes it after the last file in it, or
            // fails at a path where it is still in the way
            let _ = entries::remove_alone(root, &file.path);
        }
    }
    for now in replaced.iter().rev() {
        require_unchanged(repository, worktree, &now.saved.path, now.disk)?;
        entries::remove_entry(root, &now.saved.path)?;
    }
    let mut sorted: Vec<&RepoPath> = replaced.iter().map(|now| &now.saved.path).collect();
    sorted.sort_unstable();
    for (path, mode) in &saved.directories {
        if paths.contains(path.as_bstr()) || has_below(&sorted, path) {
            // open to us while files are moved in; `change` then sets its own mode
            put_directory(worktree, path, *mode | 0o700)?;
        }
    }
    Ok(())
}
