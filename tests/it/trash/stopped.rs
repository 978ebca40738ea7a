//! Whatever fails, whoever kills it, whoever works meanwhile: nothing is lost.

use super::world::World;
use crate::support::{Said, Shim, calls};

const SCRIPT: &str =
    "echo s >>src/main.rs; git add src/main.rs; echo d >>src/main.rs; echo n >src/new.rs
    git commit -q --allow-empty -m x; rm tests/t.rs";

/// What is there of a removed worktree, but for directories of ours and of git's that are empty.
fn left(world: &World) -> String {
    let empty = [
        "./.git/agentwt",
        "./.git/agentwt/worktrees",
        "./.git/refs/heads/agentwt",
    ];
    let all = world.repo.fingerprint();
    // what the background deletes is no matter of time
    let lines = all
        .lines()
        .filter(|line| !empty.contains(line) && !line.ends_with("/trimmed"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Every call of git in an undo fails, or kills us; then it is done again.
fn undo_at_each_call(act: &str, leaves_nothing: bool) {
    let world = World::after(SCRIPT);
    let before = world.everything();
    world.remove(&["-D"]);
    let mut removed = left(&world);
    let shim = Shim::new(world.repo.root(), act);
    let mut stopped = 0;
    for at in calls(1) {
        let (said, call) = shim.run(&world.repo, &["remove", "--undo", "task"], at);
        let Some(call) = call else {
            assert_eq!(said.status, 0, "{said}");
            break;
        };
        if said.status == 0 {
            // what may fail: an index that cannot be refreshed
            world.is_as(&before, &call);
            world.remove(&["-D"]);
            removed = left(&world);
            continue;
        }
        stopped += 1;
        if leaves_nothing {
            assert_eq!(left(&world), removed, "{call}: {said}");
        }
    }
    assert!(stopped > 0, "{stopped}");
    world.is_as(&before, "at last");
}

#[test]
fn a_call_of_git_that_fails_leaves_nothing_of_an_undo() {
    undo_at_each_call("echo 'fatal: the shim says no' >&2; exit 77", true);
}

#[test]
fn a_killed_undo_is_done_by_the_next() {
    undo_at_each_call("kill -9 $PPID; exit 77", false);
}

#[test]
fn who_works_while_it_is_removed_loses_nothing() {
    let world = World::after(SCRIPT);
    let removed = world.repo.main().join(".agentwt/worktrees");
    let act = format!(
        "for dir in '{0}'/task '{0}'/.trash/task-*; do test ! -d $dir/src || echo later >>$dir/src/main.rs; done",
        removed.display()
    );
    let shim = Shim::new(world.repo.root(), &act);
    for at in calls(1) {
        let (said, call) = shim.run(&world.repo, &["remove", "task", "--force"], at);
        if said.status == 0 {
            world.agentwt(&["remove", "--undo", "task"]).ok();
        }
        let Some(call) = call else { break };
        let text = world.sh("tail -1 src/main.rs");
        assert_eq!(text, "later", "{call}: {said}");
        world.sh("echo s >src/main.rs");
    }
}

/// What an undo leaves that was killed when all was back but its own files.
fn undone_and_killed(script: &str) -> World {
    let world = World::after(script);
    world.remove(&[]);
    let main = world.repo.main();
    let keep = "set -e; cp -a .git/agentwt/trash/task-* ../kept";
    world.repo.sh(main, keep).ok();
    world.agentwt(&["remove", "--undo", "task"]).ok();
    let put = "set -e; cp -a ../kept/head-before ../kept/branch-log ../kept/removing .git/agentwt/worktrees/task/";
    world.repo.sh(main, put).ok();
    world
}

#[test]
fn work_after_an_undo_that_was_killed_stays() {
    for is_removed in [true, false] {
        let world = undone_and_killed(SCRIPT);
        world.sh("git switch -q -c other; echo o >>src/main.rs; git commit -qam other");
        if is_removed {
            let _ = world.goes_and_comes_back(&[]);
        } else {
            let before = world.everything();
            let said = world.agentwt(&["remove", "--undo", "task"]);
            assert_eq!(said.status, 0, "{said}");
            world.is_as(&before, "undone again");
        }
    }
}

#[test]
fn prune_leaves_what_an_undo_that_was_killed_has_brought_back() {
    let world = undone_and_killed("");
    let said = world.agentwt(&["prune"]);
    assert_eq!(said.status, 0, "{said}");
    assert!(world.worktree.join("src").exists(), "{said}");
    assert_eq!(said.stdout, "", "{said}");
    assert_eq!(world.repo.findings(&world.worktree), "");
}

/// With a file where the directory would go, a removal fails before anything has moved.
fn removal_that_fails(world: &World, options: &[&str]) -> Said {
    let main = world.repo.main();
    world.repo.sh(main, "echo >.agentwt/worktrees/.trash").ok();
    let said = world.agentwt(&[&["remove", "task"], options].concat());
    assert_eq!(said.status, 6, "{said}");
    world.repo.sh(main, "rm .agentwt/worktrees/.trash").ok();
    said
}

#[test]
fn a_worktree_whose_removal_failed_at_its_start_is_not_pruned() {
    for options in [&[][..], &["--force"]] {
        let world = World::after("echo l >agent.log");
        let said = removal_that_fails(&world, options);
        let listed = world.agentwt(&["list"]).ok();
        assert!(!listed.contains("locked"), "{said}{listed}");
        let said = world.agentwt(&["prune"]);
        assert_eq!(said.stdout, "", "{said}");
        assert!(world.worktree.join("agent.log").exists(), "{said}");
    }
}

#[test]
fn add_of_a_worktree_ends_its_removal_that_was_killed_at_its_start() {
    let world = World::new();
    let said = removal_that_fails(&world, &[]);
    let main = world.repo.main();
    let record = ".git/agentwt/worktrees/task";
    let left = format!(
        "test -f {record}/removing; mkdir {record}/admin
        echo 'git-agentwt: removed; git agentwt remove --undo brings it back' >.git/worktrees/task/locked"
    );
    world.repo.sh(main, &left).ok();
    let listed = world.agentwt(&["list"]).ok();
    assert!(!listed.contains("locked"), "{said}{listed}");
    let mut arguments = vec!["add", "task", "--exclude", "**/secrets/**"];
    for write in ["src/**", "tests/**", "/package.json"] {
        arguments.extend(["--write", write]);
    }
    world.agentwt(&arguments).ok();
    let left = format!("ls -d {record}/removing {record}/admin .git/worktrees/task/locked");
    let said = world.repo.sh(main, &left);
    assert_eq!(said.stdout, "", "{said}");
}

#[test]
fn what_was_made_in_the_place_of_an_interrupted_removal_is_not_it() {
    let world = World::after(SCRIPT);
    let before = world.everything();
    world.remove(&[]);
    // killed before its record went: somebody made a directory there
    let main = world.repo.main();
    let script = "set -e; mkdir -p .git/agentwt/worktrees; mv .git/agentwt/trash/task-* .git/agentwt/worktrees/task
        mkdir .agentwt/worktrees/task; echo mine >.agentwt/worktrees/task/mine";
    world.repo.sh(main, script).ok();
    let kept = |world: &World| world.repo.sh(main, "ls .agentwt/worktrees/.trash").ok();
    let trash = kept(&world);
    world.agentwt(&["remove", "--force", "task"]).ok();
    assert_eq!(kept(&world), trash);
    world
        .repo
        .sh(
            main,
            "mv .agentwt/worktrees/task mine; grep -q mine mine/mine",
        )
        .ok();
    world.agentwt(&["remove", "--undo", "task"]).ok();
    world.is_as(&before, "undone");
}
