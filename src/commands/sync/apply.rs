//! Brings edited files back to the main worktree, and removes copies that nobody edited.

use std::collections::{BTreeMap, BTreeSet};

use super::plan::CleanPlan;
use super::{CleanedFiles, StayedFile};
use crate::answer::shapes::{PathField, paths};
use crate::disk::copy::{Item, Source, Staged, Staging, remove_placed, settle, stage};
use crate::disk::standing::standing;
use crate::disk::{DiskError, files};
use crate::error::Error;
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::{Placed, PlacedFile, PlacedKind};
use crate::worktree::excluding::write_exclude;
use crate::worktree::placing::{Destination, PLACED, staging};

/// Copies these files over those of the main worktree, which keep their permissions, and writes
/// down that both sides are the same again. Returns what could not be tidied up.
///
/// # Errors
/// Fails when a file changed meanwhile, the disk refuses, or a signal asked to stop; then the main
/// worktree is as it was.
pub fn apply_pull(
    from: &Destination<'_>,
    placed: &Placed,
    paths: &[RepoPath],
) -> Result<Vec<String>, Error> {
    let here = standing(from.path, paths.iter())?.entries;
    let there = standing(from.main, paths.iter())?.entries;
    let items: Vec<Item> = paths
        .iter()
        .filter_map(|path| Some((path, placed.get(path)?, here.get(path)?)))
        .map(|(path, file, stat)| Item {
            path: path.clone(),
            from: Source::File(PlacedKind::of(stat), *stat),
            bits: permissions(file, there.get(path), stat),
        })
        .collect();
    // on the file system of the main worktree, where the worktree stands beside too, if it does
    let name = from.path.file_name().unwrap_or("worktree");
    let worktrees = from.main.join(".agentwt/worktrees");
    let directory = if files::is_directory(&worktrees) {
        staging(&worktrees.join(name))
    } else {
        staging(&from.main.join(name))
    };
    files::remove_directory(&directory)?;
    let copying = Staging {
        source: from.path,
        directory: &directory,
        progress: from.progress,
        stop: from.stop,
    };
    let staged = stage(&copying, &items);
    from.progress.end();
    let staged = staged?;
    // in the main worktree nothing is ours
    let settled = settle(&copying, from.main, staged, &there, &Placed::default())?;
    match write_down(from, placed, &here, &settled.staged) {
        Ok(()) => Ok(settled.done()),
        Err(error) => Err(Error::from(error).leaving(settled.take_back())),
    }
}

/// Those that the main worktree's file has, or had, with the execute bits that were changed since
/// it was placed: who else may read or write it is the user's to say.
fn permissions(file: &PlacedFile, there: Option<&Stat>, here: &Stat) -> u32 {
    let Some(before) = there.or(file.source.as_ref()) else {
        return here.permissions() & 0o777 | 0o200;
    };
    let changed = (here.permissions() ^ file.stat.permissions()) & 0o111;
    before.permissions() & !changed | here.permissions() & changed
}

fn write_down(
    from: &Destination<'_>,
    placed: &Placed,
    here: &BTreeMap<RepoPath, Stat>,
    staged: &[Staged],
) -> Result<(), DiskError> {
    let now = |staged: &Staged| {
        Some(PlacedFile {
            kind: staged.kind,
            digest: staged.digest,
            stat: *here.get(&staged.path)?,
            source: Some(staged.stat),
            ..placed.get(&staged.path)?.clone()
        })
    };
    let new: Vec<PlacedFile> = staged.iter().filter_map(now).collect();
    let newest = new.iter().map(|file| file.stat.ctime).max().unwrap_or(0);
    let time = files::settled_time(from.path, newest)?;
    let list = placed.replaced_by(new, time);
    files::write(&from.record_dir.join(PLACED), &list.to_bytes())
}

/// Removes what the plan says from a worktree that stays, and directories that we created and that
/// are empty then. Returns whether the worktree's configuration is another now, too.
///
/// # Errors
/// Fails when git or the disk does.
pub fn apply_clean(
    to: &Destination<'_>,
    placed: &Placed,
    plan: CleanPlan<'_>,
) -> Result<(CleanedFiles, bool), Error> {
    // touched since it was placed and with the same content, its stat data are others
    let stands = standing(to.path, plan.remove.iter().map(|file| &file.path))?;
    let expected = plan.remove.iter().filter_map(|file| {
        Some(Staged {
            path: file.path.clone(),
            kind: file.kind,
            digest: file.digest,
            stat: *stands.entries.get(&file.path)?,
        })
    });
    let expected: Vec<Staged> = expected.collect();
    let done = remove_placed(to.path, &expected)?;
    let gone: BTreeSet<&RepoPath> = plan.missing.into_iter().chain(&done.removed).collect();
    let kept = placed.files().iter();
    let kept = kept.filter(|file| !gone.contains(&file.path));
    let left = placed.with_files(kept.cloned().collect(), Vec::new(), placed.settled());
    let excluded = write_exclude(to.git, to.admin_dir, &left)?;
    files::write(&to.record_dir.join(PLACED), &left.to_bytes())?;
    let is_file = |path: &RepoPath| {
        let file = placed.get(path);
        file.is_some_and(|file| file.kind != PlacedKind::Directory)
    };
    let mut removed = done.removed;
    removed.retain(is_file);
    removed.sort_unstable();
    // a directory that holds something else simply stays
    let mut stayed = done.stayed;
    stayed.retain(|(path, _)| is_file(path));
    let stayed = stayed.into_iter().map(|(path, detail)| StayedFile {
        path: PathField::from(path),
        detail,
    });
    let cleaned = CleanedFiles {
        removed: paths(removed),
        stayed: stayed.collect(),
        last: paths(plan.last),
        edited: paths(plan.edited),
    };
    Ok((cleaned, excluded.changed_config()))
}
