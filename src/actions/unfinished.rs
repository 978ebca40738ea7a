//! Removes what an `add` had git create and did not finish: the directory, git's entry of it, and
//! the branch.
//!
//! The intent of that `add` says what is ours, and is kept until all of it is gone. Git itself is
//! asked only for the branch: it never forgets an entry that it was killed in the middle of making,
//! and its `worktree prune` would forget those of the user's that are merely not mounted.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::leftover::incomplete::has_incomplete_work;
use crate::actions::placing::staging;
use crate::actions::trash::keep_incomplete;
use crate::config::value::Strategy;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::lock::Lock;
use crate::disk::remains::{is_newer, remove_busy_directory, remove_dead_locks, sweep};
use crate::record::worktree::Intent;
use crate::system::processes::wait_for_gits;
use crate::words::error::Error;
use crate::words::name::BranchName;
use crate::words::time::timestamp;
use crate::worktree::admin_dir::entry_of;
use crate::worktree::gitdir::read_gitdir;
use crate::worktree::repository::{Repository, WORKTREES, intent_file};

/// How long a git that lives may take until it has written the file that names its worktree.
const PAUSE: Duration = Duration::from_millis(200);

/// Removes what a killed `add` left: its intent says what is ours.
///
/// Returns where work that was done in it is kept.
///
/// # Errors
/// Fails when something of it cannot be removed; the intent then stays.
pub fn remove_unfinished(
    repository: &Repository,
    intent: &Intent,
) -> Result<Option<Utf8PathBuf>, Error> {
    let name = &intent.record.name;
    let path = &intent.record.path;
    // a git that we had started may go on for a moment after we were killed
    wait_for_gits(path);
    let shared = Lock::wait_to_undo(&repository.shared_lock())?;
    let kept = keep_work(repository, intent)?;
    let left = remove(repository, intent, true);
    drop(shared);
    if left.is_empty() {
        files::remove_directory(&repository.record_dir(name))?;
        return Ok(kept);
    }
    let attempt = format!("clear what a killed `add` of `{name}` left");
    Err(DiskError::new(attempt, std::io::Error::other(left.join("; "))).into())
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

/// Removes a worktree that has no work in it yet, and its branch if that is where we created it;
/// returns what could not be removed. The shared lock is held. `git_was_killed` says whether a git of
/// ours may have left locks behind.
pub fn remove(repository: &Repository, intent: &Intent, git_was_killed: bool) -> Vec<String> {
    let common_dir = &repository.common_dir;
    let path = &intent.record.path;
    let worktrees = repository.root.join(WORKTREES);
    let since = intent_file(repository, &intent.record.name);
    let own = intent.branch_at.as_ref().map(|_| &intent.record.branch);
    if git_was_killed {
        end_locks(repository, own, &since);
    }
    let mut left = Vec::new();
    let info = common_dir.join("info");
    let shared = [common_dir, &info, &worktrees];
    shared.into_iter().for_each(|one| sweep(one, &[""]));
    if path.starts_with(&worktrees) {
        let mut ours = vec![staging(path), path.clone()];
        ours.extend(admin_dirs(repository, intent));
        let failed = |one: &Utf8PathBuf| Some(remove_busy_directory(one).err()?.to_string());
        left.extend(ours.iter().filter_map(failed));
        files::remove_if_empty(&common_dir.join("worktrees"));
    }
    left.extend(delete_branch(repository, intent));
    // a git that could not take its own lock away again has said so, and ended well
    let own = own.map(|branch| lock_of(repository, branch));
    remove_dead_locks(own.as_slice(), &since);
    left
}

/// The private git directories that git has created for this path, or was half-way through
/// creating: first the directory, then the file that names the path.
fn admin_dirs(repository: &Repository, intent: &Intent) -> Vec<Utf8PathBuf> {
    let record = &intent.record;
    if record.strategy == Strategy::Clone {
        return Vec::new();
    }
    let all = repository.common_dir.join("worktrees");
    let since = intent_file(repository, &record.name);
    let dot_git = record.path.join(".git");
    let name = record.path.file_name().unwrap_or_default();
    // git takes the name of the directory, and a number after it when that is taken
    let may_be_id = |id: &str| {
        let number = id.strip_prefix(name);
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    };
    let mut ours = Vec::new();
    for id in files::names(&all).unwrap_or_default() {
        let admin_dir = all.join(&id);
        let gitdir = || read_gitdir(&admin_dir).ok().flatten();
        let mut named = gitdir();
        if named.is_none() && may_be_id(&id) && is_newer(&admin_dir, &since) {
            // a living git writes it at once
            std::thread::sleep(PAUSE);
            named = gitdir().or_else(|| Some(dot_git.clone()));
        }
        if named.as_ref() == Some(&dot_git) && files::is_directory(&admin_dir) {
            ours.push(admin_dir);
        }
    }
    ours
}

/// Deletes the branch where it is as we created it. A branch that moved has work.
fn delete_branch(repository: &Repository, intent: &Intent) -> Option<String> {
    let at = intent.branch_at.as_ref()?;
    let branch = &intent.record.branch;
    let git = &repository.git;
    let name = branch.full_ref();
    let is_at = || git.rev_parse_commit(&name).ok().flatten().as_ref() == Some(at);
    if is_at()
        && let Err(error) = git.delete_ref(&name, at)
    {
        if error.was_killed() {
            let since = intent_file(repository, &intent.record.name);
            end_locks(repository, Some(branch), &since);
        }
        if is_at() {
            return Some(format!("branch {branch}: {error}"));
        }
    }
    // a lock that git could not write, or took for a branch that is not there, leaves them
    let file = Utf8PathBuf::from(name);
    let above = file.ancestors().skip(1);
    for directory in above.take_while(|directory| *directory != "refs/heads") {
        files::remove_if_empty(&repository.common_dir.join(directory));
    }
    None
}

/// Removes the locks that a killed git of ours left on files that all worktrees share, and on this
/// branch: created after the file `since` was, and untouched for as long as each is watched.
pub fn end_locks(repository: &Repository, own: Option<&BranchName>, since: &Utf8Path) {
    let shared = |file: &str| repository.common_dir.join(format!("{file}.lock"));
    let mut suspects = vec![shared("config"), shared("packed-refs")];
    suspects.extend(own.map(|branch| lock_of(repository, branch)));
    remove_dead_locks(&suspects, since);
}

/// The lock of a branch of ours.
pub fn lock_of(repository: &Repository, branch: &BranchName) -> Utf8PathBuf {
    let file = format!("{}.lock", branch.full_ref());
    repository.common_dir.join(file)
}
