//! Files of a synced directory that is read-only: an ordinary user updates them as well, and the
//! directory stays as it was.

use std::path::PathBuf;

use super::{read, with_patterns};
use crate::support::{Said, TestRepo, as_ordinary_user};

/// `ign/ro` is 0555, here and there, and its file is newer in the main worktree.
fn with_newer_source() -> (TestRepo, PathBuf) {
    let (repo, worktree) = with_patterns("'ign', 'ign/**'");
    repo.write("ign/ro/f", "old\n");
    repo.write("ign/ro/g", "same\n");
    repo.chmod("ign/ro", 0o555);
    repo.agentwt(&["sync", "task"]).ok();
    assert_eq!(
        mode(&repo, &worktree),
        "555",
        "it is read-only here as well"
    );
    repo.chmod("ign/ro", 0o755);
    repo.write("ign/ro/f", "new\n");
    repo.chmod("ign/ro", 0o555);
    (repo, worktree)
}

fn mode(repo: &TestRepo, worktree: &std::path::Path) -> String {
    repo.sh(worktree, "stat -c %a ign/ro").ok()
}

/// What an ordinary user is told; none where nobody can be become.
fn said(repo: &TestRepo, arguments: &[&str]) -> Option<Said> {
    let said = as_ordinary_user(repo, repo.main(), arguments);
    if said.is_none() {
        eprintln!("skipped: nobody else can be become");
    }
    said
}

#[test]
fn sync_updates_them_and_the_directory_keeps_its_mode() {
    let (repo, worktree) = with_newer_source();
    repo.chmod("ign/ro", 0o755);
    repo.write("ign/ro/more", "more\n");
    repo.chmod("ign/ro", 0o555);
    let Some(said) = self::said(&repo, &["sync", "task"]) else {
        return;
    };
    assert_eq!(said.status, 0, "{said}");
    assert_eq!(read(worktree.join("ign/ro/f")), "new\n");
    assert_eq!(read(worktree.join("ign/ro/more")), "more\n");
    assert_eq!(mode(&repo, &worktree), "555");
    let verified = self::said(&repo, &["verify", "task"]).expect("it ran before");
    assert_eq!(verified.status, 0, "{verified}");
}

#[test]
fn a_failure_takes_all_back_and_the_directory_keeps_its_mode() {
    let (repo, worktree) = with_newer_source();
    // after `ign/ro/f` was replaced this one cannot be placed
    repo.write("ign/zzz/f", "z\n");
    repo.sh(&worktree, "mkdir -p other; chmod 555 ign").ok();
    repo.sh(
        &worktree,
        "chmod u+w ign; mkdir ign/zzz; chmod 555 ign ign/zzz",
    )
    .ok();
    let Some(said) = said(&repo, &["sync", "task"]) else {
        return;
    };
    said.fails(6);
    assert!(said.stderr.contains("ign/zzz/f"), "{said}");
    assert_eq!(read(worktree.join("ign/ro/f")), "old\n");
    assert_eq!(mode(&repo, &worktree), "555");
    let theirs = repo.sh(&worktree, "stat -c %a ign/zzz").ok();
    assert_eq!(theirs, "555", "what we did not place is not opened");
}

#[test]
fn clean_removes_them_and_leaves_a_directory_with_other_files_as_it_was() {
    let (repo, worktree) = with_newer_source();
    repo.sh(
        &worktree,
        "chmod u+w ign/ro; echo own >ign/ro/own; chmod u-w ign/ro",
    )
    .ok();
    let Some(first) = said(&repo, &["sync", "task", "--clean"]) else {
        return;
    };
    assert_eq!(first.status, 0, "{first}");
    assert_eq!(repo.sh(&worktree, "ls ign/ro").ok(), "own");
    assert_eq!(mode(&repo, &worktree), "555");
}

#[test]
fn restore_puts_them_back_and_the_directory_keeps_its_mode() {
    let (repo, worktree) = with_newer_source();
    repo.sh(
        &worktree,
        "chmod u+w ign/ro ign/ro/g; echo edited >ign/ro/g; chmod u-w ign/ro",
    )
    .ok();
    let Some(first) = said(&repo, &["restore", "task", "ign/ro/g"]) else {
        return;
    };
    assert_eq!(first.status, 0, "{first}");
    assert_eq!(read(worktree.join("ign/ro/g")), "same\n");
    assert_eq!(mode(&repo, &worktree), "555");
    let undone = said(&repo, &["restore", "task", "--undo"]).expect("it ran before");
    assert_eq!(undone.status, 0, "{undone}");
    assert_eq!(read(worktree.join("ign/ro/g")), "edited\n");
    assert_eq!(mode(&repo, &worktree), "555");
    repo.sh(&worktree, "chmod u+w ign/ro; rm -rf ign/ro").ok();
    let _ = said(&repo, &["restore", "task", "ign/ro/g"])
        .expect("it ran before")
        .fails(1);
    assert_eq!(mode(&repo, &worktree), "555", "it is made again as it was");
}
