//! Finds what only a worktree's private git directory names, and git keeps for it: the refs that
//! each worktree has for itself (git-worktree(1), "REFS"), and what an operation in progress has
//! put aside (`--autostash`, git-rebase(1) and git-merge(1)).
//!
//! `ORIG_HEAD` and the like are not among them: git overwrites them unasked, and lets what they
//! name go as it does with reflogs.

use camino::Utf8Path;

use crate::disk::files;
use crate::error::Error;
use crate::git::{Git, GitMode};
use crate::name::CommitId;
use crate::worktree::{Repository, Worktree};

/// Where these refs are.
const REFS: [&str; 3] = ["refs/bisect/", "refs/rewritten/", "refs/worktree/"];
/// The files in which git writes down what it has put aside.
const ASIDE: [&str; 3] = [
    "rebase-merge/autostash",
    "rebase-apply/autostash",
    "MERGE_AUTOSTASH",
];

/// The commits that the private git directory of a worktree names in this way, none twice.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read_put_aside(repository: &Repository, known: &Worktree) -> Result<Vec<CommitId>, Error> {
    let admin = &known.record.admin_dir;
    if !files::is_directory(admin) || known.is_without(repository) {
        return Ok(Vec::new());
    }
    read_put_aside_in(&known.git(repository), admin)
}

/// The same of whatever private git directory this is, which this git is on.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read_put_aside_in(git: &Git, admin: &Utf8Path) -> Result<Vec<CommitId>, Error> {
    let git = git.with_mode(GitMode::Hardened);
    let mut commits = Vec::new();
    for one in git.for_each_ref(&REFS)? {
        // what a tag leads to; a blob or a tree has no commit to lose
        commits.extend(git.rev_parse_commit(one.id.as_str())?);
    }
    for name in ASIDE {
        let bytes = files::read(&admin.join(name))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        if let Ok(id) = CommitId::parse(text.trim()) {
            commits.extend(git.rev_parse_commit(id.as_str())?);
        }
    }
    commits.sort_unstable();
    commits.dedup();
    Ok(commits)
}
