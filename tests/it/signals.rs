//! A signal at any moment: everything is undone, at once, and the status is 128 + n.

use std::process::Stdio;
use std::time::{Duration, Instant};

use crate::cases::Case;
use crate::support::{Said, Shim, TestRepo, binary, calls, wait_until};

const ADD: &[&str] = &["add", "task-5", "--write", "src/**"];

/// Starts `add`, and sends it alone a signal once the file `started` is there, or after a delay.
fn signalled(repo: &TestRepo, signal: rustix::process::Signal, delay: Option<Duration>) -> Said {
    let started = repo.root().join("started");
    let child = repo
        .command(binary(), repo.main())
        .args(ADD)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("it starts");
    match delay {
        Some(delay) => std::thread::sleep(delay),
        None => wait_until("the hook runs", || started.exists()),
    }
    let pid = rustix::process::Pid::from_child(&child);
    let _ = rustix::process::kill_process(pid, signal);
    repo.said(&child.wait_with_output().expect("it ends"))
}

#[test]
fn a_term_to_us_alone_ends_a_hook_that_hangs() {
    let repo = TestRepo::project();
    repo.hook(
        "post-checkout",
        "touch \"$HOME/../started\"; exec sleep 600",
    );
    let before = repo.fingerprint();
    let began = Instant::now();
    let said = signalled(&repo, rustix::process::Signal::TERM, None);
    assert_eq!(said.status, 143, "{said}");
    assert!(
        began.elapsed() < Duration::from_secs(300),
        "it did not wait for the hook"
    );
    assert!(said.stderr.contains("everything was undone"), "{said}");
    assert_eq!(repo.fingerprint(), before, "{said}");
}

#[test]
fn what_a_hook_has_started_is_not_waited_for() {
    let repo = TestRepo::project();
    // it keeps git's standard error open when the hook is gone
    repo.hook(
        "post-checkout",
        "sleep 600 & touch \"$HOME/../started\"; wait",
    );
    let before = repo.fingerprint();
    let began = Instant::now();
    let said = signalled(&repo, rustix::process::Signal::TERM, None);
    assert_eq!(said.status, 143, "{said}");
    assert!(
        began.elapsed() < Duration::from_secs(300),
        "it did not wait for it"
    );
    assert_eq!(repo.fingerprint(), before, "{said}");
}

/// The number that a hook has written down of a process that it has started.
fn survives(repo: &TestRepo, file: &str) -> bool {
    let pid = std::fs::read_to_string(repo.root().join(file)).expect("it was started");
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.trim()));
    // a zombie has ended
    stat.is_ok_and(|stat| !stat.contains(") Z "))
}

#[test]
fn what_a_hook_has_started_ends_with_it_even_what_hears_no_signal() {
    for (signal, status) in [
        (rustix::process::Signal::TERM, 143),
        (rustix::process::Signal::INT, 130),
    ] {
        let repo = TestRepo::project();
        repo.hook("post-checkout", "cd \"$HOME/..\"; sleep 300 & echo $! >one
            sh -c \"trap '' TERM INT; echo \\$\\$ >two; touch started; sleep 300; sleep 300\" & wait",
        );
        let before = repo.fingerprint();
        let said = signalled(&repo, signal, None);
        assert_eq!(said.status, status, "{said}");
        assert_eq!(repo.fingerprint(), before, "{said}");
        for file in ["one", "two"] {
            assert!(!survives(&repo, file), "{file}: {said}");
        }
    }
}

#[test]
fn a_hook_that_was_killed_undoes_everything() {
    let repo = TestRepo::project();
    repo.hook("post-checkout", "kill -9 $$");
    let before = repo.fingerprint();
    let said = repo.agentwt(ADD);
    said.fails(5);
    let errors = said
        .stderr
        .lines()
        .filter(|line| line.starts_with("error: "));
    assert_eq!(errors.count(), 1, "{said}");
    assert_eq!(repo.fingerprint(), before, "{said}");
}

#[test]
fn what_a_hook_wrote_before_it_failed_goes_with_the_worktree() {
    let repo = TestRepo::project();
    repo.hook(
        "post-checkout",
        "mkdir -p made/deep && echo x > made/deep/file && chmod a-w made/deep; exit 1",
    );
    let before = repo.fingerprint();
    repo.agentwt(ADD).fails(5);
    assert_eq!(repo.fingerprint(), before);
}

#[test]
fn a_signal_at_any_moment_undoes_everything() {
    let repo = TestRepo::project();
    let before = repo.fingerprint();
    let signals = [
        (rustix::process::Signal::TERM, 15),
        (rustix::process::Signal::INT, 2),
        (rustix::process::Signal::HUP, 1),
    ];
    repo.keep_as("pristine");
    for n in 0..12 {
        repo.bring_back("pristine");
        let (signal, number) = signals[n % 3];
        let delay = Duration::from_millis(n as u64 * 25);
        let said = signalled(&repo, signal, Some(delay));
        if said.status != 0 {
            assert_eq!(said.status, 128 + number, "after {delay:?}: {said}");
            assert_eq!(repo.fingerprint(), before, "after {delay:?}: {said}");
        }
    }
}

#[test]
fn a_decision_or_a_landing_ends_or_is_finished_by_the_same_command() {
    let case = Case::new();
    case.does("edit README.md; commit");
    case.repo.keep_as("accept");
    case.does("edit docs/api.md; git reset -q --hard HEAD~; edit src/main.rs; commit");
    case.repo.keep_as("land");
    // git does its work all the same
    let shim = Shim::new(case.repo.root(), "kill -INT $PPID");
    for (prepared, command) in [
        ("accept", &["accept", "task", "--all"][..]),
        ("accept", &["scope", "task", "--add-write", "/README.md"]),
        ("land", &["land", "task"]),
    ] {
        for at in calls(1) {
            case.repo.bring_back(prepared);
            let (said, call) = shim.run(&case.repo, command, at);
            let Some(call) = call else {
                said.ok();
                break;
            };
            let context = format!("{command:?}, call {at}, git {call}: {said}");
            if said.status != 0 {
                assert_eq!(said.status, 130, "{context}");
                assert!(said.stderr.contains("interrupted"), "{context}");
                assert_eq!(case.repo.agentwt(command).status, 0, "{context}");
            }
            if prepared == "accept" {
                assert_eq!(case.findings(), "", "{context}");
            } else {
                let merged = case.repo.git(&["show", "main:src/main.rs"]);
                assert!(merged.ends_with("more"), "{context}, then {merged}");
            }
        }
    }
}
