//! What `remove` does with placed files: unchanged ones go, edited ones are never lost.

use insta::assert_snapshot;

use super::World;

#[test]
fn unchanged_ones_go_with_the_worktree_and_are_not_counted() {
    let world = World::new();
    assert_snapshot!(world.agentwt(&["remove", "task"]), @"
    --- stderr
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was af82e40edf)
    --- status 0
    ");
    assert!(!world.worktree.exists(), "it is gone");
    assert!(world.repo.main().join(".env").exists(), "sources stay");
}

#[test]
fn a_deleted_one_is_no_loss() {
    let world = World::after("rm -f .env certs/a.log; rm src/local.json");
    world.agentwt(&["remove", "task"]).ok();
    assert!(!world.worktree.exists(), "it is gone");
}

#[test]
fn edited_ones_are_named_with_the_command_that_keeps_them() {
    let world = World::after(
        "chmod u+w certs/a.log; echo edited >certs/a.log; echo '{1}' >src/local.json
        echo more >>src/main.rs; echo new >src/new.rs",
    );
    world
        .repo
        .place_context("task", "src/AGENTS.md", "do this\n");
    world.sh("echo more >>src/AGENTS.md");
    let said = world.agentwt(&["remove", "task"]);
    assert_snapshot!(said, @"
    --- stderr
    error: cannot remove worktree `task`: 1 file has uncommitted changes, 1 file is untracked, 3 placed files are edited
      certs/a.log
      src/AGENTS.md
      src/local.json
      src/main.rs
      src/new.rs
    help: git agentwt sync task --pull certs/a.log src/local.json, to keep what was synced; commit and merge it, or keep it in the trash, without what the base ignores: git agentwt remove --force task
    --- status 4
    ");
    assert!(world.worktree.exists(), "it stays");
}

#[test]
fn force_saves_them_first_also_when_git_ignores_them() {
    let world = World::after("chmod u+w certs/a.log; echo edited >certs/a.log; chmod 644 run.sh");
    let said = world.agentwt(&["remove", "task", "--force"]);
    let kept = world.repo.main().join(said.ok());
    let text = std::fs::read_to_string(kept.join("certs/a.log")).expect("a file");
    assert_eq!(text, "edited\n");
    let mode = world.repo.sh(&kept, "stat -c %a run.sh").ok();
    assert_eq!(mode, "644");
    assert!(kept.join(".env").exists(), "and what is as it was placed");
    assert!(!world.worktree.exists(), "it is gone");
}

#[test]
fn what_stands_in_the_place_of_a_directory_is_kept_from_loss_as_well() {
    let world = World::after("mv certs ../moved; ln -s ../moved certs; ls certs/a.log");
    let said = world.agentwt(&["remove", "task"]);
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stderr.contains("\n  certs\n"), "{said}");
}
