//! A branch that has no commit yet is a state like any other.

use super::world::World;
use crate::support::TestRepo;

const ORPHAN: &str = "git checkout -q --orphan orph; git rm -rqf . ; echo x >src2; git add src2";
const STATE: &str = "git symbolic-ref HEAD; git status --branch --porcelain=v2; git ls-files -s -v
    git for-each-ref refs/heads; cat src2; test ! -e src/main.rs; ! git rev-parse -q --verify HEAD";

#[test]
fn an_unborn_branch_comes_back_unborn() {
    for strategy in ["worktree", "clone"] {
        let world = World::with(TestRepo::project(), strategy);
        world.sh(ORPHAN);
        let before = world.sh(STATE);
        let findings = world.repo.findings(&world.worktree);
        world.remove(&[]);
        let said = world.agentwt(&["remove", "--undo", "task", "-n", "--json"]);
        let value: serde_json::Value = serde_json::from_str(&said.ok()).expect("it is JSON");
        assert_eq!(value["worktrees"][0]["head"], serde_json::Value::Null);
        let said = world.agentwt(&["remove", "--undo", "task"]);
        said.ok();
        let place = "brought back task on branch orph, which has no commit yet, from .agentwt/";
        assert!(said.stderr.contains(place), "{said}");
        assert_eq!(world.sh(STATE), before, "{strategy}");
        assert_eq!(world.repo.findings(&world.worktree), findings, "{strategy}");
        world.sh("git commit -qm first; test \"$(git rev-list --count HEAD)\" = 1");
    }
}

#[test]
fn a_branch_that_was_made_meanwhile_is_not_taken() {
    let world = World::after(ORPHAN);
    world.remove(&[]);
    world.repo.git(&["branch", "orph"]);
    let said = world.agentwt(&["remove", "--undo", "task"]);
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stderr.contains("and was at no commit"), "{said}");
    assert!(!world.worktree.exists());
}

#[test]
fn the_branch_that_is_named_is_the_one_that_head_is_on() {
    let world = World::after("git switch -qc side; echo n >src/new.rs");
    world.remove(&[]);
    let said = world.agentwt(&["remove", "--undo", "task"]);
    assert!(said.stderr.contains(", branch side, from"), "{said}");
    world.sh("git checkout -q --detach");
    world.remove(&[]);
    let said = world.agentwt(&["remove", "--undo", "task"]);
    assert!(said.stderr.contains(", on no branch, from"), "{said}");
}

#[test]
fn hooks_and_commands_know_an_unborn_branch() {
    let world = World::new();
    let said = world.repo.sh(&world.worktree, ORPHAN);
    said.ok();
    assert!(!said.stderr.contains("error:"), "{said}");
    for command in ["status", "verify", "changed", "restore"] {
        let said = world.agentwt(&[command, "task"]);
        assert!(!said.stderr.contains("error:"), "{command}: {said}");
    }
    for command in ["uninstall", "install", "status"] {
        world.agentwt(&["hooks", command, "task"]).ok();
    }
}

#[test]
fn a_commit_that_was_left_for_an_unborn_branch_is_not_lost() {
    let world = World::after(
        "git checkout -q --detach; git commit -q --allow-empty -m left-behind; git checkout -q --orphan orph; git rm -rqf .",
    );
    let said = world.agentwt(&["remove", "task"]);
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stderr.contains("left-behind"), "{said}");
}
