//! `remove`: refuses what would lose work, saves what is given up, and takes the rest away.

use std::path::{Path, PathBuf};

use crate::support::{Said, TestRepo};

mod deleted;
mod expiry;
mod faults;
mod gone;
mod hidden;
mod in_use;
mod meanwhile;
mod merged;
mod operations;
mod private_refs;
mod refusals;
mod saved;
mod soak;

/// A repository with the worktree `task`.
#[track_caller]
fn with_worktree() -> (TestRepo, PathBuf) {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    (repo, worktree)
}

/// A repository with the worktree `task` in which this was done.
#[track_caller]
fn after(script: &str) -> (TestRepo, PathBuf) {
    let (repo, worktree) = with_worktree();
    sh(&repo, &worktree, script);
    (repo, worktree)
}

#[track_caller]
fn sh(repo: &TestRepo, dir: &Path, script: &str) {
    repo.sh(
        dir,
        &format!("set -e\nMAIN='{}'\n{script}", repo.main().display()),
    )
    .ok();
}

/// That a refused `remove` has touched nothing.
#[track_caller]
fn refused(repo: &TestRepo, arguments: &[&str]) -> Said {
    let before = repo.fingerprint();
    let said = repo.agentwt(arguments);
    assert_eq!(said.status, 4, "{said}");
    assert_eq!(said.stdout, "", "{said}");
    assert_eq!(repo.fingerprint(), before, "a refusal touches nothing");
    said
}

/// The trash ref that a `remove` printed.
#[track_caller]
fn trash(said: &Said) -> String {
    let name = said.ok();
    assert!(name.starts_with("refs/agentwt/trash/"), "{said}");
    assert!(!name.contains('\n'), "{said}");
    name
}

/// The directory in the trash that a `remove` printed.
#[track_caller]
fn kept(repo: &TestRepo, said: &Said) -> PathBuf {
    let name = said.ok();
    assert!(name.starts_with(".agentwt/worktrees/.trash/"), "{said}");
    assert!(!name.contains('\n'), "{said}");
    repo.main().join(name)
}

/// That nothing of a worktree is left but what its branch and trash refs keep.
#[track_caller]
fn assert_gone(repo: &TestRepo, name: &str) {
    assert!(!repo.worktree(name).exists(), "the directory is gone");
    let record = repo.main().join(".git/agentwt/worktrees").join(name);
    assert!(!record.exists(), "the record is gone");
    assert!(
        !repo
            .git(&["worktree", "list", "--porcelain"])
            .contains(&format!("worktrees/{name}\n"))
    );
    let _ = repo.agentwt(&["path", name]).fails(7);
}

/// Hides the time in a trash ref.
fn without_time(said: &Said, name: &str) -> String {
    let text = said.to_string();
    let start = format!("refs/agentwt/trash/{name}/");
    let mut out = String::new();
    let mut rest = text.as_str();
    while let Some(at) = rest.find(&start) {
        let (head, tail) = rest.split_at(at + start.len());
        out.push_str(head);
        let time = tail
            .find(|c: char| !c.is_ascii_alphanumeric())
            .unwrap_or(tail.len());
        out.push_str(if time > 0 { "TIME" } else { "" });
        rest = &tail[time..];
    }
    out + rest
}

#[track_caller]
pub fn with_submodule() -> (TestRepo, PathBuf) {
    let repo = TestRepo::project();
    let script = "git init -q ../lib; echo lib >../lib/lib.c; git -C ../lib add .
        git -C ../lib commit -q -m lib; git submodule --quiet add ../lib vendor/lib; git commit -q -m lib";
    sh(&repo, repo.main(), script);
    let worktree = repo.add("task");
    sh(&repo, &worktree, "git submodule --quiet update --init");
    (repo, worktree)
}
