//! Whatever fails, whoever kills it, whoever works meanwhile: nothing is lost.

use super::world::World;
use crate::support::{Shim, calls};

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
    let lines = all.lines().filter(|line| !empty.contains(line));
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
    assert!(stopped > 1, "{stopped}");
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
fn who_works_while_it_is_saved_loses_nothing() {
    let world = World::after(SCRIPT);
    for (file, first) in [("src/main.rs", 1), ("src/other/later.rs", 2)] {
        let path = world.worktree.join(file);
        let act = format!(
            "mkdir -p '{0}/src/other'; echo later >>'{1}'",
            world.worktree.display(),
            path.display()
        );
        let shim = Shim::new(world.repo.root(), &act);
        let mut refused = 0;
        for at in (first..60).step_by(4) {
            let (said, call) = shim.run(&world.repo, &["remove", "task", "--force"], at);
            let Some(call) = call else {
                world.agentwt(&["remove", "--undo", "task"]).ok();
                break;
            };
            if said.status == 0 {
                let show = format!("{}:{file}", said.ok());
                let saved = world.repo.git(&["show", &show]);
                let late = call.starts_with("worktree ") || call.contains(" worktree ");
                assert!(late || saved.contains("later"), "{call}: {saved}");
                world.agentwt(&["remove", "--undo", "task"]).ok();
                if late && refused > 0 {
                    break;
                }
                continue;
            }
            if call.contains("worktree remove") {
                // it was saved and moved away already: what is made in its place is saved by the next
                assert!(path.exists(), "{call}: it stays");
                let again = world.agentwt(&["remove", "task", "--force"]).ok();
                let saved = world.repo.git(&["show", &format!("{again}:{file}")]);
                assert!(saved.contains("later"), "{call}: {saved}");
                world.repo.git(&["update-ref", "-d", &again]);
                world.agentwt(&["remove", "--undo", "task"]).ok();
                continue;
            }
            assert_eq!(said.status, 4, "{call}: {said}");
            assert!(
                said.stderr.contains("it was changed while it was saved"),
                "{said}"
            );
            assert!(path.exists(), "{call}: it stays");
            refused += 1;
        }
        assert!(refused > 0, "{file}: {refused}");
        world.sh(&format!(
            "git checkout -q HEAD -- src/main.rs; rm -rf src/other; echo {file} >>src/main.rs"
        ));
    }
}
