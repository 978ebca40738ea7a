//! Brings edited files of a worktree back to the main worktree.

use std::collections::BTreeMap;

use super::place::{Destination, Hand, staging};
use crate::disk::copy::{From, Item, Staging, settle, stage};
use crate::disk::files;
use crate::disk::standing::standing;
use crate::error::Error;
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::{Placed, PlacedFile, PlacedKind};
use crate::worktree::PLACED;
use crate::worktree::repository::WORKTREES;

/// Copies these files over those of the main worktree, which keep their permissions, and writes
/// down that both sides are the same again. Returns what could not be tidied up.
///
/// # Errors
/// Fails when a file changed meanwhile, the disk refuses, or somebody asked to stop; then the main
/// worktree is as it was.
pub fn pull(
    from: &Destination<'_>,
    placed: &Placed,
    paths: &[RepoPath],
    hand: &Hand<'_>,
) -> Result<Vec<String>, Error> {
    let root = &from.repository.root;
    let here = standing(from.path, paths.iter())?.entries;
    let there = standing(root, paths.iter())?.entries;
    let items: Vec<Item> = paths
        .iter()
        .filter_map(|path| Some((path, placed.get(path)?, here.get(path)?)))
        .map(|(path, file, stat)| Item {
            path: path.clone(),
            from: From::Source(PlacedKind::of(stat), *stat),
            bits: permissions(file, there.get(path), stat),
        })
        .collect();
    // on the file system of the main worktree
    let name = from.path.file_name().unwrap_or("worktree");
    let beside = root.join(WORKTREES).join(name);
    let directory = if files::is_directory(&root.join(WORKTREES)) {
        staging(&beside)
    } else {
        root.join(format!(".placing-{name}"))
    };
    files::remove_directory(&directory)?;
    let staging = Staging {
        source: from.path,
        directory: &directory,
        progress: hand.progress,
        stop: hand.stop,
    };
    let bytes = items.iter().filter_map(|item| here.get(&item.path));
    let bytes = bytes.map(|stat| stat.size).sum();
    hand.progress.begin(items.len() as u64, bytes);
    let staged = stage(&staging, &items);
    hand.progress.end();
    // in the main worktree nothing is ours
    let settled = settle(&directory, root, staged?, &there, &Placed::default())?;
    match write_down(from, placed, &here, &settled.staged) {
        Ok(()) => Ok(settled.done()),
        Err(error) => Err(error.leaving(settled.take_back())),
    }
}

/// Those that the main worktree's file has, or had, with the execute bits that were changed since it
/// was placed: who else may read or write it is the user's to say.
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
    staged: &[crate::disk::copy::Staged],
) -> Result<(), Error> {
    let now = |staged: &crate::disk::copy::Staged| {
        let before = placed.get(&staged.path)?;
        Some(PlacedFile {
            kind: staged.kind,
            digest: staged.digest,
            stat: *here.get(&staged.path)?,
            source: Some(staged.stat),
            ..before.clone()
        })
    };
    let new: Vec<PlacedFile> = staged.iter().filter_map(now).collect();
    let newest = new.iter().map(|file| file.stat.ctime).max().unwrap_or(0);
    let settled = files::settled_time(from.path, newest)?;
    let list = placed.replaced_by(new, settled);
    Ok(files::write(
        &from.record_dir.join(PLACED),
        &list.to_bytes(),
    )?)
}
