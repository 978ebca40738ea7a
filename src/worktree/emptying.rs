//! Deletes what removals have moved aside, and the ignored files of what is in the trash: a while
//! here, and the rest in the background.

use std::time::{Duration, Instant};

use camino::Utf8Path;

use super::trash;
use crate::disk::DiskError;
use crate::disk::trash_bin::{DELETED, Emptied, Patience, TrashBin};
use crate::error::Error;
use crate::process;
use crate::worktree::Repository;
use crate::worktree::repository::WORKTREES;

/// How long a command deletes itself before it leaves the rest to the background: long enough for
/// some thousand files, too short to be noticed.
const AT_ONCE: Duration = Duration::from_millis(50);

/// The command of ours that goes on in the background.
const COMMAND: &str = "empty-trash";

/// Deletes without keeping the caller waiting: what takes longer is done by our own program in the
/// background, or here where that cannot be started. `has_trash` says whether something new is in
/// the trash. Returns what cannot be deleted, a line each.
///
/// # Errors
/// Fails when the directory of worktrees, or one above it, is a link or cannot be opened.
pub fn empty_soon(
    repository: &Repository,
    program: &Utf8Path,
    has_trash: bool,
) -> Result<Vec<String>, Error> {
    let first = empty(repository, Patience::Until(Instant::now() + AT_ONCE))?;
    if !has_trash && first != Emptied::Working {
        return Ok(lines(repository, &first));
    }
    if process::start_detached(program, &[COMMAND, "--", repository.root.as_str()]) {
        return Ok(Vec::new());
    }
    empty_now(repository)
}

/// Deletes all of it, however long that takes; what cannot be deleted.
///
/// # Errors
/// As [`empty_soon`].
pub fn empty_now(repository: &Repository) -> Result<Vec<String>, Error> {
    let emptied = empty(repository, Patience::Endless)?;
    trash::trim(repository)?;
    Ok(lines(repository, &emptied))
}

fn empty(repository: &Repository, patience: Patience) -> Result<Emptied, DiskError> {
    match TrashBin::open(&repository.root)? {
        Some(bin) => bin.empty(patience),
        None => Ok(Emptied::Gone),
    }
}

fn lines(repository: &Repository, emptied: &Emptied) -> Vec<String> {
    match emptied {
        Emptied::Gone | Emptied::Working => Vec::new(),
        Emptied::Left(all) => {
            let place = repository.root.join(WORKTREES).join(DELETED);
            let line =
                |(path, why): &(String, String)| format!("cannot delete {place}/{path}: {why}");
            all.iter().map(line).collect()
        }
    }
}
