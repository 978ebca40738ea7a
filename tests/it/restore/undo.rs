//! `--undo`: brings back, and never over newer work.

use insta::assert_snapshot;

use super::world::{World, without_time};
use crate::support::text;

#[test]
fn there_is_nothing_to_undo() {
    let world = World::new();
    assert_snapshot!(world.refuses(4, &["--undo"]), @"
    --- stderr
    error: there is no restore of worktree `task` to undo
    help: see what was saved: git for-each-ref refs/agentwt/rescue/task/
    --- status 4
    ");
    let said = world.refuses(2, &["--undo=20200101T000000Z"]);
    assert!(
        said.stderr.contains("names no restore of worktree `task`"),
        "{said}"
    );
    let _ = world.refuses(2, &["--undo", "docs"]);
}

#[test]
fn a_path_that_was_changed_since_is_not_overwritten() {
    let world = World::after("rm README.md; echo x >README.md; echo n >docs/new.md");
    world.restore(&[]).ok();
    world.sh("rm README.md; echo newer >README.md");
    let said = world.refuses(4, &["--undo"]);
    assert_snapshot!(without_time(&said), @"
    --- stderr
    error: cannot undo the restore of worktree `task`: changed since:
      README.md
    help: see what was saved: git -C $TMP/repo/.agentwt/worktrees/task diff refs/agentwt/rescue/task/TIME -- README.md
    --- status 4
    ");
    world.restore(&["README.md"]).ok();
    let all = world
        .repo
        .git(&["for-each-ref", "--format=%(refname)", "refs/agentwt"]);
    let first = all.lines().next().expect("there is one").to_owned();
    world.restore(&[&format!("--undo={first}")]).ok();
    assert_eq!(text(&world.worktree.join("README.md")), "x\n");
    assert_eq!(
        world
            .repo
            .git(&["for-each-ref", "--format=%(refname)", "refs/agentwt"]),
        all
    );
}

#[test]
fn something_in_the_way_is_not_overwritten() {
    let world = World::after("rm -r docs; echo file >docs");
    world.restore(&[]).ok();
    world.sh("echo x >docs/newer.md");
    let said = world.refuses(4, &["--undo"]);
    assert!(said.stderr.contains("docs/newer.md"), "{said}");
}

#[test]
fn a_branch_that_went_on_is_refused_with_the_command() {
    let world = World::after("rm README.md; echo x >README.md; git commit -qm x README.md");
    world.restore(&[]).ok();
    world.sh("git commit -qm more package.json");
    let said = world.refuses(4, &["--undo"]);
    assert!(said.stderr.contains(" rebase --onto "), "{said}");
}

#[test]
fn an_undo_can_be_repeated_and_does_nothing_then() {
    let world = World::after("rm README.md; echo x >README.md");
    world.restore(&[]).ok();
    let said = world.restore(&["--undo"]);
    assert_snapshot!(without_time(&said), @"
    README.md
    --- stderr
    task: brought back 1 path from refs/agentwt/rescue/task/TIME
    --- status 0
    ");
    let again = world.refuses(0, &["--undo"]);
    assert_snapshot!(without_time(&again), @"
    --- stderr
    task: all is as it was before refs/agentwt/rescue/task/TIME
    --- status 0
    ");
}

#[test]
fn work_that_went_on_in_scope_does_not_hinder_it() {
    let world = World::after("rm README.md; echo x >README.md; git add README.md");
    world.restore(&[]).ok();
    world.sh("git commit -qm more package.json; echo z >>src/new.rs");
    world.restore(&["--undo"]).ok();
    assert_eq!(text(&world.worktree.join("README.md")), "x\n");
    assert_eq!(
        world.git(&["diff", "--cached", "--name-only", "--", "*.md"]),
        "README.md"
    );
}

#[test]
fn an_expired_reflog_does_not_hinder_it() {
    let world = World::after("rm README.md; echo x >README.md; git commit -qm x README.md");
    world.restore(&[]).ok();
    world.sh("git reflog expire --expire=now --all; git gc -q --prune=now");
    world.restore(&["--undo"]).ok();
    assert_eq!(text(&world.worktree.join("README.md")), "x\n");
    assert_eq!(world.git(&["log", "-1", "--format=%s"]), "x");
}

#[test]
fn a_file_that_was_only_announced_is_so_again() {
    let world = World::after(
        "echo x >docs/new; git add -N docs/new; echo s >docs/staged
        git add docs/staged; echo n >'docs/*'; git add -N ':(literal)docs/*'",
    );
    let status = "git status --porcelain -- docs; git diff --cached --name-only -- docs";
    let before = world.sh(status);
    assert!(before.contains(" A docs/new"), "{before}");
    world.restore(&[]).ok();
    assert_eq!(world.sh(status), "");
    world.restore(&["--undo"]).ok();
    assert_eq!(world.sh(status), before);
}
