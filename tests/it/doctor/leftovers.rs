//! What was left behind is named, and left.

use std::time::{Duration, SystemTime};

use insta::assert_snapshot;

use super::{doctor, lines_of, well, wrong};
use crate::support::binary;

#[test]
fn records_and_directories_that_miss_each_other_are_told() {
    let repo = well();
    let script = r"
        mkdir -p .agentwt/worktrees/stray .agentwt/worktrees/.placing-task
        git worktree add -q --detach .agentwt/worktrees/plain
        mkdir -p .git/agentwt/worktrees/broken && echo nonsense > .git/agentwt/worktrees/broken/record.toml
    ";
    repo.sh(repo.main(), script).ok();
    repo.add("gone");
    repo.add("lost");
    let script = "rm -rf .agentwt/worktrees/gone .git/agentwt/worktrees/lost";
    repo.sh(repo.main(), script).ok();
    let before = repo.fingerprint();
    let said = doctor(&repo, &["--fix"]);
    said.fails(1);
    assert_eq!(repo.fingerprint(), before, "nothing of it is removed");
    assert_snapshot!(lines_of(&said, "directory"), @r"
    warning leftovers: .agentwt/worktrees/lost: it is a worktree without a record | look at its work (git -C .agentwt/worktrees/lost status), then git worktree remove .agentwt/worktrees/lost; to verify it: git agentwt hooks install .agentwt/worktrees/lost
    warning leftovers: .agentwt/worktrees/plain: it is a worktree without a record | look at its work (git -C .agentwt/worktrees/plain status), then git worktree remove .agentwt/worktrees/plain; to verify it: git agentwt hooks install .agentwt/worktrees/plain
    warning leftovers: .agentwt/worktrees/stray: it is empty, and nothing is recorded of it | git agentwt prune
    ");
    assert_snapshot!(lines_of(&said, "worktree"), @"warning leftovers: gone: its directory is gone | git agentwt prune");
    assert!(
        lines_of(&said, "record").starts_with("warning leftovers: broken: "),
        "{said}"
    );
    assert_snapshot!(lines_of(&said, "copies"), @"warning leftovers: .agentwt/worktrees/.placing-task: the process that copied into it was killed | git agentwt prune");
    assert_eq!(
        lines_of(&said, "entry"),
        "",
        "the record that is told accounts for it"
    );
}

#[test]
fn what_is_advised_for_a_directory_that_is_gone_works() {
    let repo = well();
    repo.sh(repo.main(), "rm -rf .agentwt/worktrees/task").ok();
    doctor(&repo, &[]).fails(1);
    repo.agentwt(&["prune"]).ok();
    assert_eq!(wrong(&doctor(&repo, &[])), "");
}

#[test]
fn an_add_that_was_killed_is_told_from_one_that_runs() {
    let repo = well();
    repo.write_intent("half", "agentwt/half", u32::MAX - 1, "2026-01-02T03:04:05Z");
    let killed = doctor(&repo, &[]);
    killed.fails(1);
    assert_snapshot!(lines_of(&killed, "incomplete"), @"warning leftovers: half: `add` was killed; work in it is kept in the trash | git agentwt prune");
    let locks = repo.main().join(".git/agentwt/locks");
    std::fs::create_dir_all(&locks).expect("a directory");
    let lock = std::fs::File::create(locks.join("half")).expect("a lock");
    lock.lock().expect("it is held");
    let runs = doctor(&repo, &[]);
    runs.ok();
    assert_snapshot!(lines_of(&runs, "in-use"), @"note leftovers: a command works on half |");
}

#[test]
fn only_an_old_lock_is_to_be_removed() {
    let repo = well();
    let lock = repo.main().join(".git/refs/heads/topic.lock");
    let file = std::fs::File::create(&lock).expect("a lock");
    doctor(&repo, &[]).ok();
    let old = SystemTime::now() - Duration::from_secs(3 * 3600);
    file.set_modified(old).expect("a time");
    drop(file);
    let said = doctor(&repo, &["--fix"]);
    said.fails(1);
    let line = lines_of(&said, "git-lock");
    assert!(
        line.starts_with("warning leftovers: $TMP/repo/.git/refs/heads/topic.lock: it is 3 h old"),
        "{line}"
    );
    assert!(
        line.contains("rm $TMP/repo/.git/refs/heads/topic.lock"),
        "{line}"
    );
    assert!(lock.exists(), "it may be somebody's");
}

#[test]
fn the_git_that_starts_us_does_not_hold_an_old_lock() {
    let repo = well();
    let lock = repo.main().join(".git/refs/heads/topic.lock");
    let file = std::fs::File::create(&lock).expect("a lock");
    let old = SystemTime::now() - Duration::from_secs(3 * 3600);
    file.set_modified(old).expect("a time");
    drop(file);
    let bin = binary()
        .parent()
        .expect("a directory")
        .display()
        .to_string();
    let script = format!("PATH='{bin}':$PATH git agentwt doctor --porcelain");
    let said = repo.sh(repo.main(), &script);
    let line = lines_of(&said, "git-lock");
    assert!(line.contains("is 3 h old, and not only ours"), "{said}");
}

#[test]
fn a_worktree_add_of_git_that_was_killed_is_told() {
    let repo = well();
    let script =
        "mkdir -p .git/worktrees/x .git/worktrees/y && echo initializing > .git/worktrees/x/locked";
    repo.sh(repo.main(), script).ok();
    let said = doctor(&repo, &[]);
    let lines = lines_of(&said, "entry");
    assert!(
        lines.contains(".git/worktrees/x: `git worktree add` was killed"),
        "{lines}"
    );
    assert!(
        lines.contains(".git/worktrees/y: it names no worktree"),
        "{lines}"
    );
    repo.sh(
        repo.main(),
        "rm .git/worktrees/x/locked && git worktree prune",
    )
    .ok();
    assert_eq!(wrong(&doctor(&repo, &[])), "", "what is advised works");
}

#[test]
fn saved_work_is_a_note() {
    let repo = well();
    repo.sh(&repo.worktree("task"), "echo x >new.md").ok();
    repo.agentwt(&["restore", "task"]).ok();
    let said = doctor(&repo, &[]);
    said.ok();
    assert_snapshot!(lines_of(&said, "saved"), @"note leftovers: saved files under refs/agentwt/rescue/: 1 | to see them: git for-each-ref refs/agentwt/rescue/; one that is not needed: git update-ref -d <ref>");
}
