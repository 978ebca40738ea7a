//! A placed file whose path git tracks by now is a path like any other.

use insta::assert_snapshot;

use super::World;
use crate::support::TestRepo;

/// Upstream commits what the script makes, and the worktree merges it.
#[track_caller]
fn merged(world: &World, upstream: &str, before: &str) {
    let script = format!("set -e; {upstream}; git commit -qm upstream");
    world.repo.sh(world.repo.main(), &script).ok();
    world.sh(before);
    world.sh("git merge -q --no-edit main");
}

#[test]
fn a_commit_of_it_is_a_change_as_ever() {
    let world = World::after("git add -f .env certs/a.log; git commit -qm mine");
    assert_snapshot!(world.findings(), @r"
    .env created read-only violation
    certs/a.log created read-only violation
    ");
    let seen = world.seen(".env");
    assert!(
        seen.contains("commit") && !seen.contains("synced"),
        "{seen}"
    );
    world.sh("git reset -q --soft HEAD~1");
    assert_snapshot!(world.findings(), @r"
    .env created read-only violation
    certs/a.log created read-only violation
    ");
    world.sh("git reset -q");
    assert_eq!(world.changed(), "", "it is a placed file again");
}

#[test]
fn upstream_adds_the_same_content_and_it_is_merged() {
    let world = World::new();
    // git does not write over what is untracked, so somebody takes it away first
    merged(&world, "git add -f .env certs/a.log", "rm -f .env");
    assert_eq!(world.findings(), "");
    assert_eq!(world.changed(), "");
    world.sh("chmod u+w .env; echo A=9 >.env");
    assert_eq!(world.findings(), ".env modified read-only violation\n");
    assert_eq!(world.seen(".env"), "modified [disk]");
}

#[test]
fn upstream_adds_other_content_and_it_is_merged() {
    let world = World::new();
    merged(&world, "echo A=7 >.env; git add .env", "rm -f .env");
    assert_eq!(world.findings(), "");
    assert_eq!(world.changed(), "");
    world.sh("rm -f .env");
    assert_eq!(world.findings(), ".env deleted read-only violation\n");
}

#[test]
fn what_stands_there_untracked_while_upstream_tracks_it_is_read() {
    let world = World::new();
    world
        .repo
        .sh(
            world.repo.main(),
            "git add -f .env; git commit -qm upstream",
        )
        .ok();
    // merged without the files, which stay as they were placed: nothing of them is gone
    world.sh("git read-tree main; git update-ref HEAD main; git read-tree -mu HEAD || :");
    assert_eq!(world.changed(), "");
}

#[test]
fn upstream_work_that_was_not_merged_says_nothing_of_it() {
    let world = World::new();
    world
        .repo
        .sh(
            world.repo.main(),
            "git add -f .env; git commit -qm upstream",
        )
        .ok();
    assert_eq!(world.findings(), "");
    world.sh("chmod u+w .env; echo A=9 >.env");
    assert_eq!(world.seen(".env"), "modified [synced]");
}

#[test]
fn what_a_hook_left_untracked_and_upstream_tracks_now_is_not_gone() {
    let repo = TestRepo::project();
    let hook = repo.main().join(".git/hooks/post-checkout");
    std::fs::create_dir_all(hook.parent().expect("a parent")).expect("a directory");
    std::fs::write(&hook, "#!/bin/sh\n[ -e gen.txt ] || echo made >gen.txt\n").expect("a hook");
    crate::support::chmod(&hook, 0o755);
    let worktree = repo.add("task");
    assert!(worktree.join("gen.txt").exists(), "the hook ran");
    repo.write("gen.txt", "made\n");
    repo.commit_all("upstream");
    repo.sh(&worktree, "git read-tree main && git update-ref HEAD main")
        .ok();
    let changed = repo.agentwt(&["changed", "task", "--format", "tsv"]).ok();
    assert_eq!(changed, "");
}
