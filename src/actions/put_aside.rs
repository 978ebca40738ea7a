//! Finds the commits that a private git directory names in git's own files, and that may be in no
//! ref and in no reflog: what an operation in progress has put aside, and what a command left in
//! passing.

use std::collections::BTreeSet;

use bstr::ByteSlice;
use camino::Utf8Path;

use crate::disk::error::DiskError;
use crate::disk::files;
use crate::git::environment::GitMode;
use crate::git::error::GitError;
use crate::git::process::Git;
use crate::git::refs::OWN_REFS;
use crate::truth::head::WorktreeHead;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// The files that name the commits which an operation in progress works with or has put aside
/// (`--autostash`): each line begins with one (gitrevisions(7), git-rebase(1), git-merge(1),
/// git-am(1), git-bisect(1)).
const IN_PROGRESS: [&str; 14] = [
    "rebase-merge/autostash",
    "rebase-apply/autostash",
    "MERGE_AUTOSTASH",
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "sequencer/head",
    "rebase-merge/onto",
    "rebase-merge/orig-head",
    "rebase-apply/onto",
    "rebase-apply/orig-head",
    "rebase-apply/original-commit",
    "BISECT_HEAD",
    "BISECT_EXPECTED_REV",
];
/// The files that list what an operation has still to do: a command and a commit in each line.
const TO_DO: [&str; 2] = ["sequencer/todo", "rebase-merge/git-rebase-todo"];
/// How many abbreviated ids are given to one git.
const IDS_AT_ONCE: usize = 1000;
/// The files that git overwrites unasked: what they name stops nothing.
const PASSING: [&str; 2] = ["ORIG_HEAD", "FETCH_HEAD"];

/// True if the private git directory of a worktree is there, and git works with it.
fn has_git_dir(repository: &Repository, worktree: &Worktree) -> bool {
    files::is_directory(&worktree.record.admin_dir) && !worktree.has_lost_repository(repository)
}

/// The commits that the private git directory of a worktree names in passing, and that were not
/// made there: what a fetch brought, or a reset left. None twice.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read_passing(
    repository: &Repository,
    worktree: &Worktree,
    heads: &WorktreeHead,
) -> Result<Vec<CommitId>, Error> {
    if !has_git_dir(repository, worktree) {
        return Ok(Vec::new());
    }
    let git = worktree.hardened_git(repository);
    let mut commits = commits_in_files(&git, &worktree.record.admin_dir, &PASSING)?;
    // git lets go what was replaced here, as it does with reflogs
    let made_here = heads.made_here();
    commits.retain(|commit| !made_here.contains(commit));
    Ok(commits.into_iter().collect())
}

/// The commits that the lines of these files of a private git directory begin with.
fn commits_in_files(
    git: &Git,
    admin: &Utf8Path,
    names: &[&str],
) -> Result<BTreeSet<CommitId>, Error> {
    let mut commits = BTreeSet::new();
    for name in names {
        for line in lines_of(admin, name)? {
            if let Some(id) = line.split_ascii_whitespace().next() {
                commits.extend(commit_at(git, id)?);
            }
        }
    }
    Ok(commits)
}

/// The lines of a file of a private git directory; none where it is not there.
fn lines_of(admin: &Utf8Path, name: &str) -> Result<Vec<String>, DiskError> {
    let bytes = files::read(&admin.join(name))?.unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    Ok(text.lines().map(ToOwned::to_owned).collect())
}

/// The commit that a whole id leads to; none where it is no id, or no commit of this repository.
fn commit_at(git: &Git, id: &str) -> Result<Option<CommitId>, GitError> {
    match CommitId::parse(id) {
        Ok(id) => git.rev_parse_commit(id.as_str()),
        Err(_) => Ok(None),
    }
}

/// The id in a line that says what is to be done: `pick <commit> …`, `fixup -C <commit> …`.
fn id_to_do(line: &str) -> Option<&str> {
    let mut arguments = line.split_ascii_whitespace().skip(1);
    let id = arguments.find(|argument| !argument.starts_with('-'))?;
    let is_id = id.len() >= 4 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_id.then_some(id)
}

/// The commits of these lines. Git writes whole ids, for which no process is needed; what the
/// abbreviations among them may be of is asked for together.
fn commits_to_do(git: &Git, lines: &[String]) -> Result<Vec<CommitId>, GitError> {
    let mut commits = Vec::new();
    let mut short = Vec::new();
    for id in lines.iter().filter_map(|line| id_to_do(line)) {
        if CommitId::parse(id).is_ok() {
            commits.extend(commit_at(git, id)?);
        } else {
            short.push(format!("--disambiguate={id}"));
        }
    }
    for chunk in short.chunks(IDS_AT_ONCE) {
        let arguments: Vec<&str> = chunk.iter().map(String::as_str).collect();
        let what = "find the commits that are still to do";
        let ids = git.perform(what, "rev-parse", &arguments)?;
        for id in ids.lines() {
            // an abbreviation may be of another object
            commits.extend(commit_at(git, &id.to_str_lossy())?);
        }
    }
    Ok(commits)
}

/// The commits that an operation in progress in a worktree has put aside or works with, and those
/// of the refs that a worktree has for itself; none twice.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read_put_aside(
    repository: &Repository,
    worktree: &Worktree,
) -> Result<Vec<CommitId>, Error> {
    if !has_git_dir(repository, worktree) {
        return Ok(Vec::new());
    }
    read_put_aside_in(&worktree.git(repository), &worktree.record.admin_dir)
}

/// The same of any private git directory, which this git works on.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read_put_aside_in(git: &Git, admin: &Utf8Path) -> Result<Vec<CommitId>, Error> {
    let git = git.with_mode(GitMode::Hardened);
    let mut commits = commits_in_files(&git, admin, &IN_PROGRESS)?;
    for reference in git.for_each_ref(&OWN_REFS)? {
        // what a tag leads to; a blob or a tree has no commit to lose
        commits.extend(git.rev_parse_commit(reference.id.as_str())?);
    }
    for name in TO_DO {
        commits.extend(commits_to_do(&git, &lines_of(admin, name)?)?);
    }
    Ok(commits.into_iter().collect())
}
