//! Takes back what `add` had git make: the directory, git's entry of it, and the branch.
//!
//! The intent of that `add` says what is ours, and is kept until all of it is gone. Git itself is
//! asked only for the branch: it never forgets an entry that it was killed in the middle of making,
//! and its `worktree prune` would forget those of the user's that are merely not mounted.

use std::time::Duration;

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use crate::config::Strategy;
use crate::disk::files;
use crate::disk::remains::{Suspect, is_newer, remove_busy_directory, remove_dead_locks, sweep};
use crate::facts::Repository;
use crate::name::{BranchName, CommitId};
use crate::worktree::placing::staging;
use crate::worktree::repository::WORKTREES;

/// How long a lock is watched that only a git for this very branch takes.
const OWN_LOCK: Duration = Duration::from_millis(200);
/// How long a lock is watched that any git takes, and holds for milliseconds.
const SHARED_LOCK: Duration = Duration::from_secs(2);

/// Holds what an `add` was about to make.
pub(super) struct Remains<'a> {
    pub repository: &'a Repository,
    /// The directory of the worktree.
    pub path: &'a Utf8Path,
    /// Its branch.
    pub branch: &'a BranchName,
    /// Where the branch was made; none when it was there before.
    pub branch_at: Option<&'a CommitId>,
    /// How it is separated from the main worktree.
    pub strategy: Strategy,
    /// The file of the intent: older than everything that is ours.
    pub intent: &'a Utf8Path,
    /// Whether a git of ours may have left locks behind.
    pub git_was_killed: bool,
}

impl Remains<'_> {
    /// Removes a worktree that nobody has worked in yet, and its branch if it is where we made it;
    /// what could not be removed. The shared lock is held.
    pub fn take_back(&self) -> Vec<String> {
        let mut left = Vec::new();
        if self.git_was_killed {
            self.end_locks();
        }
        let common_dir = &self.repository.common_dir;
        for shared in [common_dir.clone(), common_dir.join("info")] {
            sweep(&shared);
        }
        sweep(&self.repository.root.join(WORKTREES));
        if self.path.starts_with(self.repository.root.join(WORKTREES)) {
            let staging = staging(self.path);
            let admin_dirs = match self.strategy {
                Strategy::Worktree => self.admin_dirs(),
                Strategy::Clone => Vec::new(),
            };
            for directory in [staging.as_path(), self.path] {
                left.extend(
                    remove_busy_directory(directory)
                        .err()
                        .map(|e| e.to_string()),
                );
            }
            for admin_dir in &admin_dirs {
                left.extend(
                    remove_busy_directory(admin_dir)
                        .err()
                        .map(|e| e.to_string()),
                );
            }
            files::remove_if_empty(&common_dir.join("worktrees"));
        }
        left.extend(self.delete_branch());
        // a git that could not take its own lock away again has said so, and ended well
        let own = self
            .own_branch()
            .map(|branch| lock_of(self.repository, branch));
        remove_dead_locks(own.as_slice(), self.intent);
        left
    }

    /// Removes the locks of a git that was killed with us, or by somebody else.
    fn end_locks(&self) {
        end_locks(self.repository, self.own_branch(), self.intent);
    }

    /// The branch, if that is ours.
    fn own_branch(&self) -> Option<&BranchName> {
        self.branch_at.map(|_| self.branch)
    }

    /// The private git directories that git has made for this path, or was half-way through
    /// making. It makes the directory first, and then the file that names the path.
    fn admin_dirs(&self) -> Vec<Utf8PathBuf> {
        let all = self.repository.common_dir.join("worktrees");
        let dot_git = self.path.join(".git");
        let mut ours = Vec::new();
        for id in files::names(&all).unwrap_or_default() {
            let admin_dir = all.join(&id);
            let mut named = names_path(&admin_dir);
            if named.is_none() && self.may_be_id(&id) && is_newer(&admin_dir, self.intent) {
                // a living git writes it at once
                std::thread::sleep(OWN_LOCK);
                named = names_path(&admin_dir).or_else(|| Some(dot_git.clone()));
            }
            if named.as_ref() == Some(&dot_git) && files::is_directory(&admin_dir) {
                ours.push(admin_dir);
            }
        }
        ours
    }

    /// Whether git may have taken this id for the path: the name of the directory, and a number
    /// when that was taken.
    fn may_be_id(&self, id: &str) -> bool {
        let name = self.path.file_name().unwrap_or_default();
        let number = id.strip_prefix(name);
        number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
    }

    /// Deletes the branch where it is as we made it. One that moved has somebody's work.
    fn delete_branch(&self) -> Option<String> {
        let at = self.branch_at?;
        let (git, name) = (&self.repository.git, self.branch.full_ref());
        let is_at = || git.rev_parse_commit(&name).ok().flatten().as_ref() == Some(at);
        if is_at()
            && let Err(error) = git.delete_ref(&name, at)
        {
            if error.was_killed() {
                self.end_locks();
            }
            if is_at() {
                return Some(format!("branch {}: {error}", self.branch));
            }
        }
        // a lock that git could not write, or took for a branch that is not there, leaves them
        let file = Utf8PathBuf::from(name);
        let above = file.ancestors().skip(1);
        for directory in above.take_while(|directory| *directory != "refs/heads") {
            files::remove_if_empty(&self.repository.common_dir.join(directory));
        }
        None
    }
}

/// Removes the locks that a killed git of ours left on files that all worktrees share, and on this
/// branch: made after the file `since` was, and untouched for as long as each is watched.
pub(super) fn end_locks(repository: &Repository, own: Option<&BranchName>, since: &Utf8Path) {
    let shared = |file: &str| Suspect {
        file: repository.common_dir.join(format!("{file}.lock")),
        patience: SHARED_LOCK,
    };
    let mut suspects = vec![shared("config"), shared("packed-refs")];
    suspects.extend(own.map(|branch| lock_of(repository, branch)));
    remove_dead_locks(&suspects, since);
}

/// The lock of a branch of ours.
fn lock_of(repository: &Repository, branch: &BranchName) -> Suspect {
    let file = format!("{}.lock", branch.full_ref());
    Suspect {
        file: repository.common_dir.join(file),
        patience: OWN_LOCK,
    }
}

/// The `.git` file that a private git directory names (gitrepository-layout(5)), which newer gits
/// write relative to it; none when it names nothing yet.
fn names_path(admin_dir: &Utf8Path) -> Option<Utf8PathBuf> {
    let bytes = files::read(&admin_dir.join("gitdir")).ok()??;
    let text = String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned();
    if text.is_empty() {
        return None;
    }
    let mut path = Utf8PathBuf::new();
    for part in admin_dir.join(text).components() {
        match part {
            Utf8Component::ParentDir => drop(path.pop()),
            Utf8Component::CurDir => {}
            Utf8Component::Prefix(_) | Utf8Component::RootDir | Utf8Component::Normal(_) => {
                path.push(part);
            }
        }
    }
    Some(path)
}
