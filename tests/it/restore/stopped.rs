//! Whatever fails, whoever kills it, at whichever call of git: nothing is lost.

use super::world::{Everything, World};
use crate::support::{Said, binary, chmod};

const SCRIPT: &str = "
    rm README.md; echo staged >README.md; git add README.md; echo edited >README.md
    echo new >docs/new.md; git rm -q docs/guide.md; git commit -qm x docs/guide.md
";

/// Runs `restore` with a `git` that does something else at its n-th call; what it said, and the
/// call, none when there were fewer.
fn tampered(world: &World, at: usize, act: &str) -> (Said, Option<String>) {
    let dir = world.repo.root().join("shim");
    std::fs::create_dir_all(&dir).expect("a directory");
    let path = std::env::var("PATH").expect("a search path");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >> '{dir}/calls'\n\
         if [ \"$(wc -l < '{dir}/calls')\" -eq {at} ]; then {act}; fi\n\
         PATH='{path}' exec git \"$@\"\n",
        dir = dir.display()
    );
    std::fs::write(dir.join("git"), script).expect("a script");
    chmod(&dir.join("git"), 0o755);
    let _ = std::fs::remove_file(dir.join("calls"));
    let output = world
        .repo
        .command(binary(), world.repo.main())
        .args(["restore", "task"])
        .env("PATH", format!("{}:{path}", dir.display()))
        .output()
        .expect("it starts");
    let calls = std::fs::read_to_string(dir.join("calls")).expect("there were calls");
    let call = calls.lines().nth(at - 1).map(ToOwned::to_owned);
    (world.repo.said(&output), call)
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

/// Every second call of git, from an offset, fails or kills us.
fn at_each_call(offset: usize, act: &str) {
    let world = World::after(SCRIPT);
    let before = world.everything(".");
    let mut changed = 0;
    for at in (1 + offset..).step_by(2) {
        let (said, call) = tampered(&world, at, act);
        let Some(call) = call else {
            assert_eq!(said.status, 0, "{said}");
            break;
        };
        if said.status != 0 && world.everything(".") != before {
            changed += 1;
            let kills = act.contains("kill");
            assert!(
                kills || said.stderr.contains("--undo=refs/agentwt"),
                "{call}: {said}"
            );
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
    let (said, _) = tampered(&world, 1, "case \"$*\" in *checkout-index*) ;; esac");
    said.ok();
    let world = World::after(SCRIPT);
    let kill = "exit 0; fi; case \"$*\" in *checkout-index*) kill -9 $PPID; exit 77;; esac; if false; then :";
    let (said, _) = tampered(&world, usize::MAX, kill);
    assert_eq!(said.status, 137, "{said}");
    let refs = world.repo.git(&["for-each-ref", "refs/agentwt/rescue"]);
    assert_eq!(refs.lines().count(), 1, "it was saved first");
    world.restore(&[]).ok();
    assert!(
        !world.findings().contains(" violation"),
        "{}",
        world.findings()
    );
}
