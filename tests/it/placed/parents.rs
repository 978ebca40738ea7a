//! Directories of placed files: made again when something else stands there.

use std::path::PathBuf;

use insta::assert_snapshot;

use crate::support::TestRepo;

/// `ign/a` and `ign/sub/b`, synced by a pattern that names files: nobody named the directories.
fn synced() -> (TestRepo, PathBuf) {
    let repo = TestRepo::project();
    repo.write("ign/a", "A\n");
    repo.write("ign/sub/b", "B\n");
    repo.agentwt(&["add", "task", "--sync", "ign/**", "--write", "src/**"])
        .ok();
    let worktree = repo.worktree("task");
    repo.sh(
        &worktree,
        "mv ign ../../../../moved; ln -s ../../../../moved ign",
    )
    .ok();
    (repo, worktree)
}

fn outside(repo: &TestRepo) -> String {
    let find = "find moved -printf '%p %y %m %T@\\n' | sort";
    repo.sh(repo.root(), find).ok()
}

#[test]
fn a_link_in_the_place_of_one_is_saved_and_all_comes_back() {
    let (repo, worktree) = synced();
    let before = outside(&repo);
    let said = repo.agentwt(&["restore", "task"]);
    assert_snapshot!(said.stdout, @"
    typechange  ign
    deleted     ign/a
    deleted     ign/sub/b
    ");
    assert_eq!(said.status, 0, "{said}");
    assert_eq!(repo.findings(&worktree), "");
    let there = repo.sh(
        &worktree,
        "stat -c '%F %n' ign ign/sub; cat ign/a ign/sub/b",
    );
    assert_snapshot!(there.ok(), @"
    directory ign
    directory ign/sub
    A
    B
    ");
    assert_eq!(outside(&repo), before);
    let saved = repo.git(&["for-each-ref", "--format=%(refname)", "refs/agentwt/rescue"]);
    assert_eq!(saved.lines().count(), 1, "{saved}");
    let saved = saved.trim();
    assert_eq!(
        repo.git(&["show", &format!("{saved}:ign")]),
        "../../../../moved"
    );
    repo.agentwt(&["restore", "task", "--undo"]).ok();
    assert_eq!(repo.sh(&worktree, "readlink ign").ok(), "../../../../moved");
    assert_eq!(outside(&repo), before);
}

#[test]
fn once_the_rest_was_cleaned_away_the_directory_comes_back() {
    let (repo, worktree) = synced();
    let before = outside(&repo);
    let _ = repo.agentwt(&["sync", "task", "--clean"]);
    let said = repo.agentwt(&["restore", "task"]);
    assert_eq!(said.status, 0, "{said}");
    assert_eq!(said.stdout, "typechange  ign\n");
    assert!(!said.stderr.contains("context"), "{said}");
    assert_eq!(repo.sh(&worktree, "stat -c %F ign").ok(), "directory");
    assert_eq!(repo.findings(&worktree), "");
    assert_eq!(outside(&repo), before);
}

#[test]
fn an_empty_one_that_is_gone_is_no_change() {
    let world = super::World::after("rmdir certs/empty");
    assert_eq!(world.findings(), "");
    assert_eq!(world.changed(), "");
    world.agentwt(&["remove", "task"]).ok();
}

#[test]
fn what_stands_in_the_place_of_one_is_untracked_work_and_no_edited_file() {
    let world = super::World::after("mv certs ../moved; echo work >certs");
    assert_snapshot!(world.agentwt(&["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: 1 file is untracked
      certs
    help: commit and merge it, or keep it in the trash, without what the base ignores: git agentwt remove --force task
    --- status 4
    ");
    let kept = world.agentwt(&["remove", "task", "--force"]).ok();
    let kept = world.repo.main().join(kept).join("certs");
    assert_eq!(std::fs::read_to_string(kept).expect("a file"), "work\n");
}
