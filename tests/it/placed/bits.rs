//! Write bits of placed files: none outside of the write scope, and untouched inside.

use insta::assert_snapshot;

use super::World;

fn modes(world: &World) -> String {
    world.sh("stat -c '%a %n' .env certs/a.log run.sh src/local.json")
}

#[test]
fn reapply_puts_them_back_and_leaves_those_in_scope() {
    let world = World::new();
    let before = modes(&world);
    assert_snapshot!(before, @r"
    444 .env
    444 certs/a.log
    555 run.sh
    644 src/local.json
    ");
    world.sh("chmod u+w .env certs/a.log run.sh; chmod a-w src/local.json");
    assert_snapshot!(world.agentwt(&["reapply", "task", "-n"]), @"
    bits      .env
    bits      certs/a.log
    bits      run.sh
    --- stderr
    task: would restore the write bits of 3 files, 0 excluded files
    --- status 0
    ");
    assert_snapshot!(world.agentwt(&["reapply", "task"]), @"
    bits      .env
    bits      certs/a.log
    bits      run.sh
    --- stderr
    task: restored the write bits of 3 files, 0 excluded files
    --- status 0
    ");
    world.sh("test ! -w src/local.json || test \"$(id -u)\" = 0; chmod u+w src/local.json");
    assert_eq!(modes(&world), before);
    assert_eq!(world.findings(), "");
}

#[test]
fn a_checkout_puts_them_back() {
    let world = World::after("chmod u+w .env certs/a.log; git checkout -q --detach");
    assert!(modes(&world).starts_with("444 .env\n444 certs/a.log\n"));
    world.sh(
        "chmod u+w .env; git checkout -q agentwt/task; chmod u+w run.sh; git checkout -q --detach",
    );
    assert!(modes(&world).starts_with("444 .env\n444 certs/a.log\n555 run.sh\n"));
}

#[test]
fn nothing_behind_a_link_is_touched() {
    let world = World::after("mv certs ../moved; chmod u+w ../moved/a.log; ln -s ../moved certs");
    world.agentwt(&["reapply", "task"]).ok();
    assert_eq!(world.sh("stat -c %a ../moved/a.log"), "644");
}
