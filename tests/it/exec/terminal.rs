//! Signals, keys and the terminal of a command.

use std::io::Write as _;
use std::process::Stdio;

use crate::support::{allow_root, fenced_task, wait_for_end, wait_until};

#[test]
fn the_terminal_of_a_command_is_opened_by_its_names() {
    let Some(repo) = fenced_task() else { return };
    let root = allow_root();
    for fence in ["landlock", "mount"] {
        if repo.has_fence(&[&format!("--fence={fence}")]) {
            let script = "echo one >/dev/stderr && echo two >$(tty)";
            let line = format!("git-agentwt exec task --fence {fence} {root} -- sh -c '{script}'");
            let Some(said) = repo.on_a_terminal(&line) else {
                return;
            };
            assert_eq!(said, "one\r\ntwo\r\n", "{fence}");
            // and a file that the command is given
            let script = "echo one >/dev/stderr && echo two >/dev/stdout";
            let line = format!(
                "git-agentwt exec task --fence {fence} {root} -- sh -c '{script}' >log 2>errors"
            );
            repo.sh(repo.main(), &line).ok();
            let written =
                ["log", "errors"].map(|name| std::fs::read_to_string(repo.main().join(name)));
            assert_eq!(written.map(Result::unwrap), ["two\n", "one\n"], "{fence}");
            let line = format!(
                "echo kept >input; git-agentwt exec task --fence {fence} {root} -- sh -c 'echo lost >/dev/stdin' <input"
            );
            assert_eq!(repo.sh(repo.main(), &line).status, 2, "{fence}");
        }
    }
}

#[test]
fn one_key_is_one_signal_of_the_command() {
    let Some(repo) = fenced_task() else { return };
    if !repo.has_fence(&["--fence=landlock"]) {
        return;
    }
    let worktree = repo.worktree("task");
    let count = "import os, signal, time\nsignal.signal(2, lambda *_: open('src/log', 'a').write('x'))\n\
        open('src/ready', 'w').close()\nwhile not os.path.exists('src/stop'): time.sleep(0.01)\n";
    std::fs::write(worktree.join("src/count.py"), count).expect("it is ours");
    let allow = allow_root();
    let line = format!(
        "git agentwt -C {} exec task --fence=landlock {allow} -- python3 src/count.py",
        worktree.display()
    );
    let mut command = repo.command("script", repo.main());
    command
        .args(["-qec", &line, "/dev/null"])
        .env("SHELL", "/bin/sh");
    let command = command.stdin(Stdio::piped()).stdout(Stdio::null());
    let Ok(mut terminal) = command.spawn() else {
        return;
    };
    wait_until("the command runs", || worktree.join("src/ready").exists());
    let signals = || std::fs::read_to_string(worktree.join("src/log")).unwrap_or_default();
    // a second signal of the first key would be there before that of the second
    for expected in ["x", "xx"] {
        let keys = terminal.stdin.as_mut().expect("a pipe");
        keys.write_all(b"\x03")
            .and_then(|()| keys.flush())
            .expect("it reads");
        wait_until("a signal", || signals().len() >= expected.len());
    }
    std::fs::write(worktree.join("src/stop"), "").expect("it is writable");
    wait_for_end("the terminal", &mut terminal);
    assert_eq!(signals(), "xx");
}

#[test]
fn a_command_that_stops_itself_stops_the_whole_job() {
    let Some(repo) = fenced_task() else { return };
    let root = allow_root();
    let script = repo.worktree("task").join("src/stop.sh");
    std::fs::write(&script, "kill -TSTP $$; echo on\n").expect("it is ours");
    let exec = format!("git agentwt exec task {root} -- sh {}", script.display());
    let line =
        format!("timeout --foreground -k 2 20 bash --norc -ic '{exec}; echo shell; fg >/dev/null'");
    let Some(said) = repo.on_a_terminal(&line) else {
        return;
    };
    let lines: Vec<&str> = said.lines().map(str::trim).collect();
    assert!(lines.ends_with(&["shell", "on"]), "{said}");
}

#[test]
fn a_signal_reaches_the_commands_in_all_worktrees() {
    let Some(repo) = fenced_task() else { return };
    repo.add("second");
    let line = format!(
        "git-agentwt exec --all {} -- sh -c 'trap \"echo >src/ended; exit 3\" TERM; echo >src/began; while :; do sleep 0.05; done' >/dev/null 2>&1 & run=$!
        for n in $(seq 200); do test -e {1}/src/began && test -e {2}/src/began && break; sleep 0.05; done
        kill -TERM $run; wait $run; echo $?",
        allow_root(),
        repo.worktree("task").display(),
        repo.worktree("second").display()
    );
    let said = repo.sh(repo.main(), &line);
    assert_eq!(said.stdout.trim(), "143", "{said}");
    for name in ["task", "second"] {
        assert!(repo.worktree(name).join("src/ended").exists(), "{name}");
    }
}

#[test]
fn a_signal_at_any_moment_of_the_start_ends_the_command() {
    let Some(repo) = fenced_task() else { return };
    for fence in ["landlock", "mount"] {
        if !repo.has_fence(&[&format!("--fence={fence}")]) {
            continue;
        }
        let line = format!(
            "for ms in 00 04 08 12 16 20 24 28 32 36 40 50 60; do
                git-agentwt exec task --fence={fence} {} -- sleep 30 & run=$!; sleep 0.0$ms; kill -TERM $run; wait $run; echo $?
            done 2>/dev/null",
            allow_root()
        );
        let began = std::time::Instant::now();
        let said = repo.sh(repo.main(), &line);
        assert_eq!(said.stdout, "143\n".repeat(13), "{fence}: {said}");
        assert!(
            began.elapsed().as_secs() < 25,
            "{fence}: a command ran to its end"
        );
    }
}

#[test]
fn a_command_that_is_stopped_is_ended_too() {
    let Some(repo) = fenced_task() else { return };
    for fence in ["landlock", "mount"] {
        if !repo.has_fence(&[&format!("--fence={fence}")]) {
            continue;
        }
        let line = format!(
            "git-agentwt exec task --fence={fence} {} -- sh -c 'touch src/there; kill -STOP $$; sleep 20' & run=$!
            while ! test -e {}/src/there; do sleep 0.01; done; sleep 0.3; kill -TERM $run; wait $run; echo $?; rm {}/src/there",
            allow_root(),
            repo.worktree("task").display(),
            repo.worktree("task").display(),
        );
        let began = std::time::Instant::now();
        let said = repo.sh(repo.main(), &line);
        assert_eq!(said.stdout, "143\n", "{fence}: {said}");
        assert!(
            began.elapsed().as_secs() < 15,
            "{fence}: it was not continued"
        );
    }
}

#[test]
fn a_time_limit_ends_a_stopped_command_where_no_shell_waits() {
    let Some(repo) = fenced_task() else { return };
    let allow = allow_root();
    for fence in ["landlock", "mount"] {
        if !repo.has_fence(&[&format!("--fence={fence}")]) {
            continue;
        }
        // the leader of the session of a terminal, so that its process group is orphaned
        let line = format!(
            "timeout -s KILL 15 script -qec \"git-agentwt exec task --fence={fence} {allow} --timeout 1 -- sh -c 'kill -STOP \\$\\$; sleep 60'\" /dev/null </dev/null"
        );
        let said = repo.sh(repo.main(), &line);
        assert_eq!(said.status, 124, "{fence}: {said}");
    }
}
