//! Looking at a worktree that `remove` takes away in that moment: it is there or it is not, and
//! nothing is said to be damaged.

use std::process::Stdio;

use crate::support::{Shim, TestRepo, binary};

/// Everything that looks, and whether it must have an answer when the worktree is gone.
const LOOKS: &[(&[&str], bool)] = &[
    (&["verify", "task-5"], false),
    (&["status", "task-5"], false),
    (&["changed", "task-5"], false),
    (&["verify", "--all"], true),
    (&["list"], true),
];

#[test]
fn what_is_removed_while_it_is_looked_at_is_unknown_and_never_damaged() {
    let repo = TestRepo::project();
    repo.add("other");
    repo.add("task-5");
    repo.keep_as("pristine");
    // not by the shim's git, nor where that was told to work
    let act = format!(
        "(cd '{}' && unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE && \
        PATH=\"${{PATH#*:}}\" '{}' remove task-5 >/dev/null 2>&1)",
        repo.main().display(),
        binary().display()
    );
    let shim = Shim::new(repo.root(), &act);
    let mut removed = 0;
    // the moments are those in which git is started
    for (look, answers) in LOOKS {
        for at in (1..).step_by(3) {
            repo.bring_back("pristine");
            let (said, call) = shim.run(&repo, look, at);
            let Some(call) = call else { break };
            let expected = said.status == 0 || (said.status == 7 && !answers);
            assert!(expected, "{look:?}, removed before git {call}: {said}");
            if repo.worktree("task-5").exists() {
                // the git at which it was to be done stands in it
                continue;
            }
            removed += 1;
            assert!(!said.stderr.contains("damaged"), "{look:?} {call}: {said}");
            let left = repo.main().join(".git/agentwt/worktrees/task-5");
            assert!(!left.exists(), "{look:?} {call}: a record was made anew");
        }
    }
    assert!(removed > 0, "{removed}");
}

#[test]
fn what_looks_again_and_again_never_says_that_something_is_wrong() {
    let repo = TestRepo::project();
    repo.add("other");
    for _ in 0..3 {
        repo.add("task-5");
        let mut command = repo.command(binary(), repo.main());
        command.args(["remove", "task-5"]);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        // it is refused while a git that looks stands in it
        let mut remove = move || command.status().expect("it starts").success();
        let removing = std::thread::spawn(move || (0..50).any(|_| remove()));
        let mut gone = false;
        while !gone {
            gone = removing.is_finished();
            for (look, answers) in LOOKS {
                let said = repo.agentwt(look);
                let expected = said.status == 0 || (said.status == 7 && !answers);
                assert!(expected, "{look:?}: {said}");
            }
        }
        assert!(removing.join().expect("no panic"));
    }
}
