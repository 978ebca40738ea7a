//! Nothing that is there is replaced; and what was saved can be chosen.

use insta::assert_snapshot;

use super::world::World;

/// That nothing was changed, and what was said; the time is left out.
#[track_caller]
fn refused(world: &World, arguments: &[&str]) -> String {
    world.wait_for_the_background();
    let before = world.repo.fingerprint();
    let said = world.agentwt(&[&["remove", "--undo"], arguments].concat());
    assert_eq!(said.status, 4, "{said}");
    assert_eq!(
        world.repo.fingerprint(),
        before,
        "a refusal touches nothing"
    );
    said.without_times(&[
        "refs/agentwt/trash/task/",
        ".agentwt/worktrees/.trash/task-",
    ])
}

#[test]
fn what_was_never_removed() {
    let world = World::new();
    assert_snapshot!(refused(&world, &["task"]), @"
    --- stderr
    error: the worktree `task` is there already
    help: to see what can come back: git agentwt list --trash
    --- status 4
    ");
}

#[test]
fn a_worktree_of_that_name() {
    let world = World::after("echo n >src/new.rs");
    world.remove(&[]);
    world.repo.add("task");
    let said = refused(&world, &["task"]);
    assert!(said.contains("a worktree of this name is there"), "{said}");
    // what is advised brings back that one, and not the one that is in its place now
    let (_, advice) = said
        .split_once("remove that one first: ")
        .expect("it says how");
    let advice = advice.lines().next().expect("a line");
    world.repo.sh(world.repo.main(), advice).ok();
    assert!(world.worktree.join("src/new.rs").exists());
}

#[test]
fn something_in_its_place() {
    let world = World::after("echo n >src/new.rs");
    world.remove(&[]);
    crate::support::write(&world.worktree, b"mine", b"mine\n");
    assert_snapshot!(refused(&world, &["task"]), @"
    --- stderr
    error: cannot bring `task` back: $TMP/repo/.agentwt/worktrees/task is there
    help: move it away: mv $TMP/repo/.agentwt/worktrees/task <elsewhere>
    --- status 4
    ");
}

/// The record is back, as where an undo was killed right after that.
#[test]
fn something_in_its_place_since_an_undo_was_killed() {
    let world = World::after("echo n >src/new.rs");
    world.remove(&[]);
    let kill = "mv .git/agentwt/trash/task-* .git/agentwt/worktrees/task";
    let begin = "mkdir -p .git/agentwt/worktrees";
    world
        .repo
        .sh(world.repo.main(), &format!("{begin}; {kill}"))
        .ok();
    crate::support::write(&world.worktree, b"mine", b"mine\n");
    for arguments in [&["task", "-n"][..], &["task"]] {
        let said = refused(&world, arguments);
        assert!(said.contains("/task is there"), "{said}");
    }
    std::fs::remove_file(world.worktree.join("mine")).expect("it is ours");
    world.agentwt(&["remove", "--undo", "task"]).ok();
    assert!(world.worktree.join("src/new.rs").exists());
}

#[test]
fn a_branch_that_went_on_or_is_checked_out() {
    let world = World::after("echo n >src/new.rs; git add -A; git commit -qm new");
    world.remove(&[]);
    world.repo.git(&["switch", "-q", "agentwt/task"]);
    assert_snapshot!(refused(&world, &["task"]), @"
    --- stderr
    error: cannot bring `task` back: the branch `agentwt/task` is checked out at $TMP/repo
    help: switch that worktree away from it: git -C $TMP/repo switch <branch>
    --- status 4
    ");
    world
        .repo
        .git(&["commit", "-q", "--allow-empty", "-m", "on"]);
    world.repo.git(&["switch", "-q", "main"]);
    let said = refused(&world, &["task"]);
    assert!(
        said.contains("help: rename that branch first: git branch -m agentwt/task <new>"),
        "{said}"
    );
    world.repo.git(&["branch", "-m", "agentwt/task", "went-on"]);
    world.agentwt(&["remove", "--undo", "task"]).ok();
}

#[test]
fn only_commits() {
    let world = World::after("git commit -q --allow-empty -m x");
    world.agentwt(&["remove", "task", "-D", "--wait"]).ok();
    world
        .repo
        .git(&["config", "agentwt.trashExpireClean", "now"]);
    world.agentwt(&["prune"]).ok();
    let said = refused(&world, &["task"]);
    assert_snapshot!(said, @"
    --- stderr
    error: of the removed worktree `task` only commits are kept
    help: to have them on a branch again: git branch agentwt/task refs/agentwt/trash/task/TIME
    --- status 4
    ");
}

#[test]
fn an_older_one_is_named() {
    let world = World::after("echo first >src/new.rs");
    let first = world.remove(&[]);
    world.repo.add("task");
    world.sh("echo second >src/new.rs");
    let second = world.remove(&[]);
    let said = world.agentwt(&["remove", "--undo", "task", "-n"]);
    assert!(said.stderr.contains(&format!("from {second}\n")), "{said}");
    assert!(!world.worktree.exists(), "it was only shown");
    let said = refused(&world, &["task", "--from", "nonsense"]);
    assert!(
        said.contains("`nonsense` names no removal of worktree `task`"),
        "{said}"
    );
    world
        .agentwt(&["remove", "--undo", "task", "--from", &first])
        .ok();
    assert_eq!(world.sh("cat src/new.rs"), "first");
    world.remove(&[]);
    let time = second.rsplit('/').next().expect("a name");
    let said = world.agentwt(&["remove", "--undo", "task", "--from", time, "--json"]);
    let value: serde_json::Value = serde_json::from_str(&said.ok()).expect("it is JSON");
    assert_eq!(value["worktrees"][0]["undone"], second.as_str());
    assert_eq!(world.sh("cat src/new.rs"), "second");
}

#[test]
fn its_private_directory_has_another_name_when_that_is_taken() {
    let world = World::after("echo n >src/new.rs; git add src/new.rs");
    let before = world.everything();
    world.remove(&[]);
    world
        .repo
        .git(&["worktree", "add", "-q", "--detach", "../elsewhere/task"]);
    world.agentwt(&["remove", "--undo", "task"]).ok();
    let now = world.everything();
    assert_eq!(now.findings, before.findings);
    assert_eq!(world.sh("git status --porcelain"), "A  src/new.rs");
    let status = world.agentwt(&["hooks", "status", "task"]).ok();
    assert!(status.contains("installed, "), "{status}");
    // a hook of ours runs, and knows the worktree
    world.sh("chmod u+w README.md; echo x >>README.md; git add README.md; git commit -qm out 2>../said; grep -q README.md ../said");
}

#[test]
fn a_large_synced_file_comes_back_whatever_the_main_worktree_has() {
    let repo = crate::support::TestRepo::project();
    repo.sh(repo.main(), "head -c 3000000 /dev/zero >big.log")
        .ok();
    repo.agentwt(&["add", "task", "--write", "src/**", "--sync", "big.log"])
        .ok();
    let worktree = repo.worktree("task");
    let world = World { repo, worktree };
    let _ = world.goes_and_comes_back(&[]);
    world.remove(&[]);
    world.repo.write("big.log", "other\n");
    world.agentwt(&["remove", "--undo", "task"]).ok();
    let size = std::fs::metadata(world.worktree.join("big.log")).expect("it is back");
    assert_eq!(size.len(), 3_000_000);
}

#[test]
fn what_version_0_1_kept_comes_back_on_a_branch() {
    let world = World::new();
    let script = "id=$(git commit-tree -m x HEAD^{tree})
        blob=$(echo 'version = 2' | git hash-object -w --stdin)
        state=$(git commit-tree -m s $(printf '100644 blob %s\\ttrash.toml\\n' $blob | git mktree))
        git update-ref refs/agentwt/trash/old/20261101T000000Z $(git commit-tree -m t -p $id -p $state HEAD^{tree})";
    world.repo.sh(world.repo.main(), script).ok();
    let said = world.agentwt(&["remove", "--undo", "old"]);
    assert_eq!(said.status, 4, "{said}");
    let back = "git branch agentwt/old refs/agentwt/trash/old/20261101T000000Z";
    assert!(said.stderr.contains(back), "{said}");
    let files = "git diff --exit-code main agentwt/old";
    let script = format!("{back}; {files}");
    world.repo.sh(world.repo.main(), &script).ok();
}

#[test]
fn what_is_there_already() {
    let world = World::after("git checkout -q --detach; git commit -q --allow-empty -m x");
    world.agentwt(&["remove", "task", "-f"]).ok();
    world.agentwt(&["remove", "--undo", "task"]).ok();
    assert_snapshot!(refused(&world, &["task"]), @"
    --- stderr
    error: the worktree `task` is there already
    help: commits of an earlier removal are kept: git log refs/agentwt/trash/task/TIME
    --- status 4
    ");
}
