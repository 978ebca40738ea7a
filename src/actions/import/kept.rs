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

/// Keeps what the runs of a worktree made by refs of their own, before the next one begins anew.
///
/// # Errors
/// Fails when git does.
pub fn keep_all(repository: &Repository, worktree: &Worktree) -> Result<(), Error> {
    let git = repository.git.with_mode(GitMode::Hardened);
    for run_ref in read_run_refs(repository, worktree)? {
        keep(&git, worktree, &run_ref.id)?;
        git.delete_ref(&run_ref.name.to_str_lossy(), &run_ref.id)?;
    }
    Ok(())
}

/// Removes the refs that name what the runs of a worktree made; the reflog of HEAD then names what
/// the branch does not have. Where the user deleted the branch, other refs keep all of it. After a
/// kill in between, the next import does it again.
///
/// # Errors
/// Fails when git or the disk does.
pub fn release_all(repository: &Repository, worktree: &Worktree) -> Result<(), Error> {
    let git = repository.git.with_mode(GitMode::Hardened);
    let branch = worktree.record.branch.full_ref();
    let Some(branch_commit) = git.rev_parse_commit(&branch)? else {
        return keep_all(repository, worktree);
    };
    let refs = read_run_refs(repository, worktree)?;
    log_abandoned(repository, worktree, &branch_commit, &refs)?;
    for run_ref in refs {
        git.delete_ref(&run_ref.name.to_str_lossy(), &run_ref.id)?;
    }
    Ok(())
}

/// Keeps a commit by a ref of its own, and returns the ref if it is new.
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

/// Writes those commits of these refs that the branch does not have into the reflog of HEAD, as if
/// HEAD had gone there and back: git does so for a commit and a reset. Where there is no such log,
/// or a git has it locked, refs keep the commits.
fn log_abandoned(
    repository: &Repository,
    worktree: &Worktree,
    branch_commit: &CommitId,
    refs: &[Ref],
) -> Result<(), Error> {
    let git = repository.git.with_mode(GitMode::Hardened);
    let ids: Vec<&CommitId> = refs.iter().map(|run_ref| &run_ref.id).collect();
    let listed = git.rev_list(&ids, &[branch_commit])?;
    let unreachable: BTreeSet<CommitId> = listed.into_iter().collect();
    let mut abandoned = ids;
    abandoned.retain(|id| unreachable.contains(*id));
    if abandoned.is_empty() {
        return Ok(());
    }
    let who = format!("git-agentwt <> {} +0000", Timestamp::now().as_second());
    let mut lines = String::new();
    for id in &abandoned {
        lines.push_str(&format!(
            "{branch_commit} {id} {who}\tbranch: abandoned in git agentwt exec\n\
             {id} {branch_commit} {who}\tbranch: kept as {branch_commit}\n"
        ));
    }
    if append_to_head_log(worktree, &lines)? == Appended::Yes {
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
