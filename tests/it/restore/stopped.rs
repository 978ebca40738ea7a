//! Whatever fails, whoever kills it, at whichever call of git: nothing is lost.

use super::world::{Everything, World};
use crate::support::{Said, Shim, calls};

const SCRIPT: &str = "
    rm README.md; echo staged >README.md; git add README.md; echo edited >README.md
    echo new >docs/new.md; git rm -q docs/guide.md; git commit -qm x docs/guide.md
";

/// Runs `restore` with a `git` that does something else at its n-th call; what it said, and the
/// call, none when there were fewer.
fn tampered(world: &World, at: usize, act: &str) -> (Said, Option<String>) {
    Shim::new(world.repo.root(), act).run(&world.repo, &["restore", "task"], at)
}

/// That all is there: as it was, or in a restore that can be undone.
#[track_caller]
fn nothing_is_lost(world: &World, before: &Everything, call: &str, said: &Said) {
    if world.everything(".") != *before {
        let undone = world.restore(&["--undo"]);
        assert_eq!(undone.status, 0, "git {call}: {said}\n{undone}");
        assert_eq!(
            world.everything("."),
            *before,
            "git {call}: {said}\n{undone}"
        );
    }
}

/// Calls of git, from an offset, fail or kill us.
fn at_each_call(offset: usize, act: &str) {
    let world = World::after(SCRIPT);
    let before = world.everything(".");
    let mut changed = 0;
    for at in calls(1 + offset) {
        let (said, call) = tampered(&world, at, act);
        let Some(call) = call else {
            assert_eq!(said.status, 0, "{said}");
            break;
        };
        if said.status != 0 && act.contains("kill") {
            changed += usize::from(world.everything(".") != before);
        } else if said.status != 0 {
            assert_eq!(world.everything("."), before, "git {call}: {said}");
            // what was saved first shows that a change was undone
            let rescues = world.repo.git(&["for-each-ref", "refs/agentwt/rescue"]);
            changed += rescues.lines().count();
        }
        nothing_is_lost(&world, &before, &call, &said);
    }
    assert!(changed > 0, "some calls come after the first change");
    world.restore(&[]).ok();
    assert!(
        !world.findings().contains(" violation"),
        "{}",
        world.findings()
    );
}

#[test]
fn whichever_call_of_git_fails_nothing_is_lost_1() {
    at_each_call(0, "echo 'fatal: the shim says no' >&2; exit 77");
}

#[test]
fn whichever_call_of_git_fails_nothing_is_lost_2() {
    at_each_call(1, "echo 'fatal: the shim says no' >&2; exit 77");
}

#[test]
fn killed_at_any_call_nothing_is_lost_1() {
    at_each_call(0, "kill -9 $PPID; exit 77");
}

#[test]
fn killed_at_any_call_nothing_is_lost_2() {
    at_each_call(1, "kill -9 $PPID; exit 77");
}

#[test]
fn a_restore_that_was_killed_can_be_run_again() {
    let world = World::after(SCRIPT);
    let shim = Shim::new(world.repo.root(), "kill -9 $PPID; exit 77");
    let said = shim.run_at_words(&world.repo, &["restore", "task"], "checkout-index");
    assert_eq!(said.status, 137, "{said}");
    let refs = world.repo.git(&["for-each-ref", "refs/agentwt/rescue"]);
    assert_eq!(refs.lines().count(), 1, "it was saved first");
    let scratch = "ls -a $MAIN/.git/objects | grep tmp || :";
    assert_eq!(world.sh(scratch), "tmp_objdir-agentwt-task");
    world.restore(&[]).ok();
    assert_eq!(world.sh(scratch), "", "nothing temporary is left");
    assert_eq!(
        world.sh("find $MAIN/.git -name '*-index*' ! -path '*/hooks/*'"),
        ""
    );
    assert!(
        !world.findings().contains(" violation"),
        "{}",
        world.findings()
    );
}

#[test]
fn an_undo_that_ends_while_it_writes_cuts_no_file_and_is_done_by_the_next() {
    let world = World::after("rm README.md; seq 40000 >README.md; echo new >docs/new.md");
    let before = world.everything(".");
    world.restore(&[]).ok();
    let restored = world.everything(".");
    let staging = world.worktree.with_file_name(".placing-task");
    // a signal ends it at that size, and a write fails where the signal is ignored
    for (signal, status) in [("", 153), ("trap '' XFSZ; ", 6)] {
        let line = format!("{signal}ulimit -f 64; exec git-agentwt restore --undo");
        let said = world.repo.sh(&world.worktree, &line);
        assert_eq!(said.status, status, "{said}");
        assert_eq!(world.everything("."), restored, "{said}");
        assert_eq!(staging.exists(), status == 153, "{said}");
    }
    world.sh("mkdir -p ../.placing-task/left");
    world.restore(&["--undo"]).ok();
    assert_eq!(world.everything("."), before);
    assert!(!staging.exists());
}

#[test]
fn a_restore_after_one_that_was_killed_is_undone_as_a_whole() {
    let world = World::after(SCRIPT);
    let before = world.everything(".");
    let shim = Shim::new(world.repo.root(), "kill -9 $PPID; exit 77");
    let said = shim.run_at_words(&world.repo, &["restore", "task"], "--refresh");
    assert_eq!(said.status, 137, "{said}");
    assert_ne!(world.everything("."), before);
    world.restore(&[]).ok();
    let said = world.restore(&["--undo"]);
    assert_eq!(said.status, 0, "{said}");
    assert_eq!(world.everything("."), before, "{said}");
}
