//! Deletes what removals have moved aside: a while here, and the rest in the background.

use std::time::{Duration, Instant};

use camino::Utf8Path;

use crate::disk::DiskError;
use crate::disk::trash_bin::{Emptied, Patience, TRASH, TrashBin};
use crate::process;
use crate::worktree::repository::WORKTREES;

/// How long a command deletes itself before it leaves the rest to the background: long enough for
/// some thousand files, too short to be noticed.
const AT_ONCE: Duration = Duration::from_millis(50);

/// The command of ours that goes on with it.
const COMMAND: &str = "empty-trash";

/// Deletes what is in the trash of a root, `.agentwt/worktrees/.trash`, and the trash itself.
///
/// # Errors
/// Fails when it, or a directory above it, is a link or cannot be opened.
pub fn empty(root: &Utf8Path, patience: Patience) -> Result<Emptied, DiskError> {
    match TrashBin::open(root)? {
        Some(bin) => bin.empty(patience),
        None => Ok(Emptied::Gone),
    }
}

/// Deletes what is in the trash without keeping the caller waiting: what takes longer is done by
/// our own program in the background, or here where that cannot be started. What cannot be deleted
/// is in the answer, a line each.
///
/// # Errors
/// As [`empty`].
pub fn empty_soon(root: &Utf8Path, program: &Utf8Path) -> Result<Vec<String>, DiskError> {
    let first = empty(root, Patience::Until(Instant::now() + AT_ONCE))?;
    let goes_on = |emptied: &Emptied| *emptied == Emptied::Working;
    if goes_on(&first) && process::start_detached(program, &[COMMAND, "--", root.as_str()]) {
        return Ok(Vec::new());
    }
    let last = if goes_on(&first) {
        empty(root, Patience::Endless)?
    } else {
        first
    };
    Ok(left(root, &last))
}

/// Deletes what is in the trash, however long that takes; what cannot be deleted.
///
/// # Errors
/// As [`empty`].
pub fn empty_now(root: &Utf8Path) -> Result<Vec<String>, DiskError> {
    Ok(left(root, &empty(root, Patience::Endless)?))
}

fn left(root: &Utf8Path, emptied: &Emptied) -> Vec<String> {
    match emptied {
        Emptied::Gone | Emptied::Working => Vec::new(),
        Emptied::Left(all) => {
            let trash = root.join(WORKTREES).join(TRASH);
            all.iter()
                .map(|(path, why)| format!("cannot delete {trash}/{path}: {why}"))
                .collect()
        }
    }
}
