//! A sync that is stopped, killed or fails leaves the worktree as it was, or whole files.

use super::{read, with_patterns};
use crate::support::is_root;

#[test]
fn a_signal_takes_everything_back() {
    let (repo, worktree) = with_patterns("'many/**'");
    for n in 0..2000 {
        repo.write(&format!("many/{n}"), "x\n");
    }
    let before = repo.fingerprint();
    let mut child = repo
        .command(crate::support::binary(), repo.main())
        .args(["sync", "task"])
        .spawn()
        .expect("it starts");
    let staging = repo.main().join(".agentwt/worktrees/.placing-task");
    while !staging.exists() && child.try_wait().expect("it runs").is_none() {
        std::thread::yield_now();
    }
    let pid = rustix::process::Pid::from_child(&child);
    let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
    let status = child.wait().expect("it ends");
    assert!(!staging.exists(), "nothing is left beside the worktrees");
    if status.code() == Some(143) {
        assert!(!worktree.join("many").exists());
        assert_eq!(repo.fingerprint(), before);
    } else {
        assert_eq!(status.code(), Some(0), "it was done before the signal came");
    }
}

#[test]
fn a_killed_sync_is_finished_by_the_next() {
    let (repo, worktree) = with_patterns("'many/**'");
    for n in 0..500 {
        repo.write(&format!("many/{n}"), "content\n");
    }
    let staging = repo.main().join(".agentwt/worktrees/.placing-task");
    for delay in 0..12u64 {
        let mut child = repo
            .command(crate::support::binary(), repo.main())
            .args(["sync", "task"])
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("it starts");
        while !staging.exists() && child.try_wait().expect("it runs").is_none() {
            std::thread::yield_now();
        }
        std::thread::sleep(std::time::Duration::from_millis(delay * 2));
        let _ = child.kill();
        let _ = child.wait();
        // absent or whole
        for n in 0..500 {
            let copy = worktree.join(format!("many/{n}"));
            assert!(!copy.exists() || read(&copy) == "content\n", "{n}");
            assert_eq!(read(repo.main().join(format!("many/{n}"))), "content\n");
        }
        // what it had moved in is ours, whatever was written down by then
        repo.agentwt(&["verify", "task"]).ok();
        repo.agentwt(&["sync", "task"]).ok();
        assert!(!staging.exists());
        assert_eq!(read(worktree.join("many/499")), "content\n");
        assert_eq!(repo.sh(&worktree, "git status --porcelain").ok(), "");
        repo.agentwt(&["verify", "task"]).ok();
        repo.agentwt(&["sync", "task", "--clean"]).ok();
        assert!(!worktree.join("many").exists());
    }
}

#[test]
fn what_a_killed_sync_moved_in_stays_listed_where_the_next_one_fails() {
    let (repo, worktree) = with_patterns("'many/**'");
    repo.write("many/1", "content\n");
    repo.agentwt(&["sync", "task"]).ok();
    // as if it had been killed before it wrote the list
    let record = repo.main().join(".git/agentwt/worktrees/task");
    std::fs::rename(record.join("placed"), record.join("placing")).expect("a list");
    repo.agentwt(&["verify", "task"]).ok();
    repo.write("many/2", "content\n");
    let exclude = repo.main().join(".git/worktrees/task/agentwt/exclude");
    std::fs::remove_file(&exclude).expect("a file");
    std::fs::create_dir(&exclude).expect("a directory");
    assert_ne!(repo.agentwt(&["sync", "task"]).status, 0);
    assert!(!worktree.join("many/2").exists());
    std::fs::remove_dir(&exclude).expect("a directory");
    repo.agentwt(&["verify", "task"]).ok();
    repo.agentwt(&["sync", "task"]).ok();
    assert_eq!(read(worktree.join("many/2")), "content\n");
    repo.agentwt(&["verify", "task"]).ok();
}

#[test]
fn a_file_that_cannot_be_read_is_named_and_nothing_is_copied() {
    let (repo, worktree) = with_patterns("'.env', 'zzz'");
    repo.write(".env", "A=1\n");
    repo.write("zzz", "x\n");
    repo.chmod("zzz", 0o000);
    if is_root() {
        // root reads everything: only as an ordinary user can this be seen
        return;
    }
    let said = repo.agentwt(&["sync", "task"]);
    said.fails(6);
    assert!(said.stderr.contains("zzz"), "{said}");
    assert!(!worktree.join(".env").exists());
}

#[test]
fn a_verification_while_files_are_moved_in_says_nothing_of_them() {
    let (repo, worktree) = with_patterns("'many/**'");
    for n in 0..1500 {
        repo.write(&format!("many/{n}"), "one\n");
    }
    repo.agentwt(&["sync", "task"]).ok();
    for round in 0..3 {
        for n in 0..1500 {
            repo.write(&format!("many/{n}"), &format!("round {round}\n"));
        }
        let mut child = repo
            .command(crate::support::binary(), repo.main())
            .args(["sync", "task"])
            .stdout(std::process::Stdio::null())
            .spawn()
            .expect("it starts");
        let mut verdicts = 0;
        while child.try_wait().expect("it runs").is_none() {
            let said = repo.agentwt(&["verify", "task"]);
            assert_eq!(said.status, 0, "{:.300}", said.stdout);
            verdicts += 1;
        }
        assert!(verdicts > 0, "it was asked while files were copied");
        assert_eq!(read(worktree.join("many/7")), format!("round {round}\n"));
    }
}
