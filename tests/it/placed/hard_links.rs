//! A hard link in the place of a placed file: what is written to it is written elsewhere as well.

use insta::assert_snapshot;

use super::World;
use crate::support::TestRepo;

const LINKED: &str = "rm -f .env run.sh; ln $MAIN/.env .env; ln $MAIN/run.sh run.sh";

fn main_modes(world: &World) -> String {
    world.sh("cd $MAIN; stat -c '%a %h %n' .env run.sh")
}

#[test]
fn one_to_the_main_worktrees_own_file_is_an_edit() {
    let world = World::new();
    let before = world.everything();
    let modes = main_modes(&world);
    world.sh(LINKED);
    assert_snapshot!(world.findings(), @"
    .env modified read-only violation
    run.sh modified read-only violation
    ");
    let json = world.agentwt(&["verify", "task", "--json"]).stdout;
    assert!(
        json.contains("it is a hard link to the main worktree's file"),
        "{json}"
    );
    let verify = world.agentwt(&["verify", "task"]).stdout;
    assert!(verify.contains("it is a hard link"), "{verify}");
    let status = world.agentwt(&["status", "task"]).stdout;
    assert!(status.contains("2 edited here: .env, run.sh"), "{status}");
    world.agentwt(&["restore", "task"]).ok();
    assert_eq!(world.everything(), before);
    assert_eq!(main_modes(&world), modes, "it is a file of its own again");
    assert_eq!(world.findings(), "");
}

#[test]
fn with_the_mode_of_the_copy_and_without_a_digest_as_well() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    repo.write("big.bin", "0123456789");
    repo.chmod("big.bin", 0o444);
    repo.place_with("task", &["big.bin"], crate::support::Digests::Unknown);
    repo.sh(&worktree, "ln -f ../../../big.bin big.bin").ok();
    let found = "big.bin modified read-only violation\n";
    assert_eq!(repo.findings(&worktree), found);
}

#[test]
fn another_name_in_the_worktree_is_none() {
    let world = World::after("mkdir ../names; ln .env ../names/env");
    assert_eq!(world.findings(), "");
}

#[test]
fn the_mode_of_a_file_with_other_names_is_left() {
    let world = World::after(LINKED);
    world.sh("ln docs/api.md ../api; chmod u+w docs/api.md");
    let modes = main_modes(&world);
    let main = world.sh("stat -c %a docs/api.md");
    for arguments in [&["reapply", "task", "-n"][..], &["reapply", "task"]] {
        let said = world.agentwt(arguments);
        assert_eq!(said.status, 6, "{said}");
        for path in [".env", "run.sh", "docs/api.md"] {
            assert!(
                said.stderr
                    .contains(&format!("write bits of {path}: it has other names")),
                "{said}"
            );
        }
        assert!(!said.stdout.contains("bits"), "{said}");
    }
    world.sh("git checkout -q --detach; git checkout -q agentwt/task");
    world.sh("git commit -q --allow-empty -m x");
    assert_eq!(main_modes(&world), modes);
    assert_eq!(world.sh("stat -c %a docs/api.md"), main);
}
