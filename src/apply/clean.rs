//! Removes placed files that nobody touched from a worktree that stays.

use std::collections::BTreeSet;

use super::hide::hide;
use super::place::Destination;
use crate::disk::copy::{Expected, remove_placed};
use crate::disk::drift::drift;
use crate::disk::files;
use crate::disk::standing::standing;
use crate::error::Error;
use crate::path::RepoPath;
use crate::placed::{Here, Origin, Placed, PlacedFile, PlacedKind, There};
use crate::worktree::PLACED;

/// Holds what was removed, or would be, and what stays.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Cleaned {
    /// Files and links that were removed.
    pub removed: Vec<RepoPath>,
    /// Files that the main worktree does not have any more: these are the last copies.
    pub last: Vec<RepoPath>,
    /// Files that were edited in the worktree.
    pub edited: Vec<RepoPath>,
    /// What could not be removed, and why.
    pub stayed: Vec<(RepoPath, String)>,
}

/// Says whether it is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It is.
    Remove,
    /// It is only looked at.
    Look,
}

/// Removes the synced files that are as they were placed, and directories that we made and that
/// are empty then. Context stays: it is of no use elsewhere.
///
/// # Errors
/// Fails when git or the disk does.
pub fn clean(
    to: &Destination<'_>,
    placed: &Placed,
    doing: Doing,
) -> Result<(Cleaned, bool), Error> {
    let drift = drift(to.path, Some(&to.repository.root), placed)?;
    let synced = placed.files().iter().zip(&drift);
    let synced = synced.filter(|(file, _)| file.origin == Origin::Synced);
    let mut cleaned = Cleaned::default();
    let mut going: Vec<&PlacedFile> = Vec::new();
    let mut gone: Vec<&RepoPath> = Vec::new();
    for (file, drift) in synced {
        match (drift.here, file.kind) {
            (Here::Same, PlacedKind::File | PlacedKind::Link) if drift.there == There::Gone => {
                cleaned.last.push(file.path.clone());
            }
            (Here::Same, _) => going.push(file),
            (Here::Edited, PlacedKind::Directory) => {}
            (Here::Edited, PlacedKind::File | PlacedKind::Link) => {
                cleaned.edited.push(file.path.clone());
            }
            (Here::Missing, _) => gone.push(&file.path),
        }
    }
    if doing == Doing::Look {
        let files = going
            .iter()
            .filter(|file| file.kind != PlacedKind::Directory);
        cleaned.removed = files.map(|file| file.path.clone()).collect();
        return Ok((cleaned, false));
    }
    // touched since it was placed and with the same content, its stat data are others
    let stands = standing(to.path, going.iter().map(|file| &file.path))?;
    let expected: Vec<Expected<'_>> = going
        .iter()
        .filter_map(|file| {
            let stat = *stands.entries.get(&file.path)?;
            let (path, kind) = (&file.path, file.kind);
            Some(Expected { path, kind, stat })
        })
        .collect();
    let done = remove_placed(to.path, &expected)?;
    let gone: BTreeSet<&RepoPath> = gone.into_iter().chain(&done.removed).collect();
    let kept = placed.files().iter();
    let kept = kept.filter(|file| !gone.contains(&file.path));
    let kept: Vec<PlacedFile> = kept.cloned().collect();
    let left = placed.with_files(kept, Vec::new(), placed.settled());
    let hidden = hide(to.repository, to.admin_dir, &left)?;
    files::write(&to.record_dir.join(PLACED), &left.to_bytes())?;
    let is_file = |path: &RepoPath| {
        let file = placed.get(path);
        file.is_some_and(|file| file.kind != PlacedKind::Directory)
    };
    cleaned.removed = done.removed.into_iter().filter(is_file).collect();
    cleaned.removed.sort_unstable();
    // a directory that holds something else simply stays
    cleaned.stayed = done
        .stayed
        .into_iter()
        .filter(|(path, _)| is_file(path))
        .collect();
    Ok((cleaned, hidden.changed_config()))
}
