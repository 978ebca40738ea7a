//! Removes what an `add` left that was killed: its intent says what it was to create, and its
//! journal which steps it had begun.
//!
//! Git itself is asked only for the branch: it never forgets an entry that it was killed in the
//! middle of making, and its `worktree prune` would forget those of the user's that are merely not
//! mounted.

use std::time::Duration;

use camino::Utf8PathBuf;

use crate::actions::create::undo::{read_journal, undo_steps};
use crate::actions::journal::LastGit;
use crate::actions::leftover::incomplete::has_incomplete_work;
use crate::actions::trash::enter::keep_incomplete;
use crate::config::value::Strategy;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::record::worktree::Intent;
use crate::system::processes::wait_for_gits;
use crate::words::error::Error;
use crate::words::time::timestamp;
use crate::worktree::admin_dir::entry_of;
use crate::worktree::repository::Repository;

/// What became of an unfinished worktree.
#[derive(Debug)]
pub struct ClearedWorktree {
    /// Where the work is kept that was done in it; none where there was none.
    pub kept: Option<Utf8PathBuf>,
    /// What another process changed since, and stays.
    pub stays: Vec<String>,
}

/// Removes what a killed `add` left. The lock of the name is held.
///
/// # Errors
/// Fails when something of it cannot be removed; the intent and the journal then stay.
pub fn remove_unfinished(
    repository: &Repository,
    intent: &Intent,
) -> Result<ClearedWorktree, Error> {
    let name = &intent.record.name;
    // a git that we had started may go on for a moment after we were killed
    wait_for_gits(&intent.record.path);
    let shared = Lock::wait_to_undo(&repository.shared_lock())?;
    let journal = read_journal(repository, intent)?;
    let kept = keep_work(repository, intent)?;
    let undone = undo_steps(repository, name, &journal, LastGit::Killed);
    drop(shared);
    if undone.failed.is_empty() {
        let stays = undone.stays;
        return Ok(ClearedWorktree { kept, stays });
    }
    let attempt = format!("clear what a killed `add` of `{name}` left");
    Err(DiskError::new(attempt, std::io::Error::other(undone.failed.join("; "))).into())
}

/// Moves an incomplete worktree that has work in it into the trash; returns its place there.
fn keep_work(repository: &Repository, intent: &Intent) -> Result<Option<Utf8PathBuf>, Error> {
    let name = &intent.record.name;
    let path = &intent.record.path;
    if *path != repository.worktree_path(name) || !files::is_directory(path) {
        return Ok(None);
    }
    let admin = match intent.record.strategy {
        Strategy::Worktree => entry_of(repository, path)?,
        Strategy::Clone => None,
    };
    if !has_incomplete_work(repository, intent, admin.as_deref())? {
        return Ok(None);
    }
    let now = timestamp(Duration::ZERO);
    keep_incomplete(repository, name, admin.as_deref(), &now).map(Some)
}
