//! What `restore` does with placed files: back to what was placed, if the source still is that.

use insta::assert_snapshot;

use super::World;

const EDITED: &str = "
    chmod u+w .env; echo A=2 >.env; rm certs/a.log; rmdir certs/empty; echo no >certs/empty
    rm run.sh; ln -s /etc run.sh; echo '{1}' >src/local.json";

#[test]
fn edited_and_deleted_ones_are_saved_and_put_back_and_the_undo_brings_them_back() {
    let world = World::new();
    world.sh("chmod 700 certs");
    let before = world.everything();
    let times = "find .env certs/a.log run.sh -newermt 2000-01-01 -printf '%p %T@\\n'";
    let at_first = world.sh(times);
    world.sh(EDITED);
    world.sh("git checkout -q -- . ");
    let edited = world.everything();
    let dry = world.agentwt(&["restore", "task", "-n"]);
    assert_eq!(world.everything(), edited, "{dry}");
    let said = world.agentwt(&["restore", "task"]);
    assert_eq!(said.status, 0, "{said}");
    assert_eq!(dry.stdout, said.stdout);
    assert_snapshot!(said.stdout, @"
    modified    .env
    deleted     certs/a.log
    typechange  certs/empty
    typechange  run.sh
    ");
    assert_eq!(world.findings(), "");
    let in_scope = "./src/local.json f 644  {1}";
    let expected = before.replace("./src/local.json f 644  {}", in_scope);
    assert_eq!(world.everything(), expected, "work in scope stays");
    assert_eq!(world.sh(times), at_first, "times are those of the source");
    let undone = world.agentwt(&["restore", "task", "--undo"]);
    assert_eq!(undone.status, 0, "{undone}");
    assert_eq!(world.everything(), edited);
}

#[test]
fn a_whole_directory_comes_back_with_its_permissions() {
    let world = World::new();
    world.sh("rm -rf certs; ln -s /etc certs");
    let said = world.agentwt(&["restore", "task", "certs"]);
    assert_eq!(said.status, 0, "{said}");
    assert_eq!(world.findings(), "");
    assert_eq!(
        world.sh("cat certs/link; ls certs"),
        "CERT\na.log\nempty\nlink"
    );
    world.agentwt(&["restore", "task", "--undo"]).ok();
    assert_eq!(world.sh("readlink certs"), "/etc");
}

#[test]
fn what_nobody_has_any_more_stays_and_the_next_command_is_named() {
    let world = World::after(
        "chmod u+w .env certs/a.log run.sh; echo A=2 >.env; echo edited >certs/a.log; rm run.sh
        echo A=9 >$MAIN/.env; rm $MAIN/certs/a.log $MAIN/run.sh; echo more >>docs/api.md || :",
    );
    world.repo.place_context("task", "AGENTS.md", "do this\n");
    world.sh(
        "chmod u+w AGENTS.md; echo more >>AGENTS.md; chmod u+w docs/api.md; echo x >docs/api.md",
    );
    let before = world.sh("cat .env certs/a.log AGENTS.md");
    let said = world.agentwt(&["restore", "task"]);
    assert_snapshot!(said.stdout, @"
    modified  docs/api.md
    ");
    let notes: Vec<_> = said
        .stderr
        .lines()
        .filter(|line| line.starts_with("note"))
        .collect();
    assert_snapshot!(notes.join("\n"), @"
    note: a violation is left: .env modified: read-only: read ** (default)
    note: a violation is left: AGENTS.md modified: read-only: read ** (default)
    note: a violation is left: certs/a.log modified: read-only: read ** (default)
    note: a violation is left: run.sh deleted: read-only: read ** (default)
    note: to restore these paths: git agentwt restore task
    note: to accept these paths as they are: git agentwt accept task <path>...
    note: to let the agent edit these paths: git agentwt scope task --add-write '<pattern>'
    note: .env stays as it is: its source is not what was placed; see: git agentwt sync task --status
    note: AGENTS.md stays as it is: its source is not what was placed; see: git agentwt sync task --status
    note: certs/a.log stays as it is: its source is not what was placed; see: git agentwt sync task --status
    note: run.sh stays as it is: its source is not what was placed; see: git agentwt sync task --status
    ");
    assert_eq!(said.status, 1, "{said}");
    assert_eq!(world.sh("cat .env certs/a.log AGENTS.md"), before);
    let again = world.agentwt(&["restore", "task"]);
    let nothing = again.stderr.lines().find(|line| !line.starts_with("note"));
    assert_eq!(nothing, Some("task: nothing can be put back"));
    let json = world.agentwt(&["restore", "task", "-n", "--json"]).stdout;
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(json["stays"].as_array().map(Vec::len), Some(4), "{json}");
}

#[test]
fn one_that_was_only_made_writable_loses_its_write_bits() {
    let world = World::after("chmod u+w .env");
    let said = world.agentwt(&["restore", "task"]);
    assert_eq!(said.stdout, "perm  .env\n", "{said}");
    assert_eq!(world.findings(), "");
    assert_eq!(world.sh("stat -c %a .env"), "444");
}

#[test]
fn a_large_clone_comes_back_and_is_known_again() {
    let repo = crate::support::TestRepo::project();
    let worktree = repo.add("task");
    repo.write("big.bin", "0123456789");
    repo.place_with("task", &["big.bin"], crate::support::Digests::Unknown);
    repo.sh(&worktree, "rm -f big.bin").ok();
    repo.agentwt(&["restore", "task"]).ok();
    repo.write("big.bin", "other");
    assert_eq!(
        repo.findings(&worktree),
        "",
        "its stat data prove it, whatever the source is"
    );
}

#[test]
fn the_source_is_never_written() {
    let world = World::after(EDITED);
    let before = world.repo.sh(world.repo.main(), "find . -path ./.git -prune -o -path ./.agentwt -prune -o -printf '%p %m %T@\\n' | sort").ok();
    world.agentwt(&["restore", "task"]).ok();
    let after = world.repo.sh(world.repo.main(), "find . -path ./.git -prune -o -path ./.agentwt -prune -o -printf '%p %m %T@\\n' | sort").ok();
    assert_eq!(after, before);
}
