//! Keeps what a run made and its branch does not have: by refs, and by the reflog of HEAD.

use std::collections::BTreeSet;
use std::time::Duration;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};
use jiff::Timestamp;

use crate::actions::bring::kept_ref;
use crate::disk::files;
use crate::disk::locked_file::MarkedLock;
use crate::git::environment::GitMode;
use crate::git::process::Git;
use crate::git::refs::Ref;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::read_run_refs;
use crate::worktree::repository::Repository;

/// Has refs of their own keep what the runs of a worktree made, before the next one begins anew.
///
/// # Errors
/// Fails when git does.
pub fn keep_all(repository: &Repository, worktree: &Worktree) -> Result<(), Error> {
    let git = repository.git.with_mode(GitMode::Hardened);
    for one in read_run_refs(repository, worktree)? {
        keep(&git, worktree, &one.id)?;
        git.delete_ref(&one.name.to_str_lossy(), &one.id)?;
    }
    Ok(())
}

/// Has the reflog of HEAD name what the runs of a worktree made and the branch does not have, and
/// removes the refs that did. Killed here, the next import does it again.
///
/// # Errors
/// Fails when git or the disk does.
pub fn release_all(repository: &Repository, worktree: &Worktree) -> Result<(), Error> {
    let refs = read_run_refs(repository, worktree)?;
    log_abandoned(repository, worktree, &refs)?;
    let git = repository.git.with_mode(GitMode::Hardened);
    for one in refs {
        git.delete_ref(&one.name.to_str_lossy(), &one.id)?;
    }
    Ok(())
}

/// Has a ref of its own keep a commit, and returns the ref if it is new.
///
/// # Errors
/// Fails when git does.
pub fn keep(git: &Git, worktree: &Worktree, id: &CommitId) -> Result<Option<String>, Error> {
    let kept = kept_ref(worktree, id);
    if !git.for_each_ref(&[&kept])?.is_empty() {
        return Ok(None);
    }
    git.update_ref(&kept, id, None, "agentwt exec: kept")?;
    Ok(Some(kept))
}

/// What our own lock of a file of git's says.
const OUR_LOCK: &[u8] = b"git-agentwt";
/// The file of a record of which our own lock is a second name.
const LOCK_MARK: &str = "lock-mark";
/// How long we wait for a lock: a git that only looks has it for milliseconds, and one that a
/// killed command of ours has left for a second.
const LOCK_PATIENCE: Duration = Duration::from_millis(1500);

/// Takes the lock of a file of git's, also the one that an import left which was killed; none where
/// a git keeps the lock for longer than a moment. The lock of the worktree's name is held.
///
/// # Errors
/// Fails when the disk refuses.
pub fn take_own_lock(worktree: &Worktree, file: &Utf8Path) -> Result<Option<MarkedLock>, Error> {
    let lock = Utf8PathBuf::from(format!("{file}.lock"));
    if files::read(&lock)?.as_deref() == Some(OUR_LOCK) {
        files::remove_file(&lock)?;
    }
    // written each time: the lock is as old as its mark
    let mark = worktree.dir.join(LOCK_MARK);
    files::write_beside(&mark, OUR_LOCK)?;
    Ok(MarkedLock::take(file, &mark, LOCK_PATIENCE)?)
}

/// Has the reflog of HEAD name what the branch does not have, as after a reset without a fence:
/// there and back. Where there is no such log, or a git writes it, a ref keeps it.
fn log_abandoned(repository: &Repository, worktree: &Worktree, refs: &[Ref]) -> Result<(), Error> {
    let git = repository.git.with_mode(GitMode::Hardened);
    let branch = worktree.record.branch.full_ref();
    let Some(head) = git.rev_parse_commit(&branch)? else {
        return Ok(());
    };
    let ids: Vec<&CommitId> = refs.iter().map(|one| &one.id).collect();
    let listed = git.rev_list(&ids, &[&head])?;
    let unreachable: BTreeSet<CommitId> = listed.into_iter().collect();
    let mut lines = String::new();
    let mut abandoned = Vec::new();
    let who = format!("git-agentwt <> {} +0000", Timestamp::now().as_second());
    for id in ids {
        if unreachable.contains(id) {
            abandoned.push(id);
            lines.push_str(&format!(
                "{head} {id} {who}\tbranch: abandoned in git agentwt exec\n\
                 {id} {head} {who}\tbranch: kept as {head}\n"
            ));
        }
    }
    if abandoned.is_empty() || append_to_head_log(worktree, &lines)? == Appended::Yes {
        return Ok(());
    }
    for id in abandoned {
        keep(&git, worktree, id)?;
    }
    Ok(())
}

/// Says whether lines were appended to a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Appended {
    Yes,
    /// There is no log, or a git keeps its lock.
    No,
}

/// Appends lines to the reflog of HEAD under the lock of HEAD, which git has while it writes that
/// log, and while it writes it anew (git-reflog(1), `expire`).
fn append_to_head_log(worktree: &Worktree, lines: &str) -> Result<Appended, Error> {
    let admin_dir = &worktree.record.admin_dir;
    let log = admin_dir.join("logs/HEAD");
    let Some(_lock) = take_own_lock(worktree, &admin_dir.join("HEAD"))? else {
        return Ok(Appended::No);
    };
    if !files::exists(&log) {
        return Ok(Appended::No);
    }
    files::append(&log, lines.as_bytes())?;
    Ok(Appended::Yes)
}
