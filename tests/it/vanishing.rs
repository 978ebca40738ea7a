//! Looking at a worktree that `remove` takes away in that moment: it is there or it is not, and
//! nothing is said to be damaged. What waits for its lock goes by what is recorded then.

use std::io::{BufRead as _, BufReader, Read as _};
use std::process::Stdio;

use crate::support::{Said, Shim, TestRepo, binary};

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

/// Starts a command that has to wait for the lock of `task`, does this meanwhile, and lets it go on.
#[track_caller]
fn while_it_waits(repo: &TestRepo, arguments: &[&str], script: &str) -> Said {
    let locks = repo.main().join(".git/agentwt/locks");
    std::fs::create_dir_all(&locks).expect("a directory");
    let lock = std::fs::File::create(locks.join("task")).expect("a lock");
    lock.lock().expect("no process has it");
    let mut command = repo.command(binary(), repo.main());
    command.args(arguments);
    command.stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut waits = command.spawn().expect("it starts");
    let mut stderr = BufReader::new(waits.stderr.take().expect("a pipe"));
    let mut line = String::new();
    stderr.read_line(&mut line).expect("it is UTF-8");
    assert!(line.contains("waiting for another git agentwt"), "{line}");
    repo.sh(repo.main(), &format!("set -e\n{script}")).ok();
    drop(lock);
    let mut rest = Vec::new();
    stderr.read_to_end(&mut rest).expect("it ends");
    let mut output = waits.wait_with_output().expect("it ends");
    output.stderr = rest;
    repo.said(&output)
}

#[test]
fn what_waits_writes_no_record_of_before() {
    let change = "cd .git/agentwt/worktrees/task; grep -q 'branch_made = true' record.toml
        sed -i 's/branch_made = true/branch_made = false/' record.toml";
    for arguments in [
        &["accept", "task", "--shared"][..],
        &["hooks", "install", "task"],
        &["hooks", "uninstall", "task"],
    ] {
        let repo = TestRepo::project();
        repo.add("task");
        repo.git(&["config", "alias.x", "y"]);
        while_it_waits(&repo, arguments, change).ok();
        repo.git(&["config", "alias.x", "z"]);
        let record = repo.main().join(".git/agentwt/worktrees/task/record.toml");
        let text = std::fs::read_to_string(&record).expect("it is there");
        assert!(text.contains("branch_made = false"), "{arguments:?}");
        let gone = "rm -r .git/agentwt/worktrees/task .agentwt/worktrees/task";
        let said = while_it_waits(&repo, arguments, gone);
        assert_eq!(said.status, 7, "{arguments:?}: {said}");
        assert!(!record.exists(), "{arguments:?}: {said}");
    }
}
