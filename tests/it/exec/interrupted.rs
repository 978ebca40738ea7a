//! Runs and imports that were killed, refused or stopped go on later.

use std::path::Path;

use super::{private, runs, tip, with_git};
use crate::support::{allow_root, fenced_task};

#[test]
fn the_lock_of_an_import_that_was_killed_is_not_that_of_another() {
    let Some(repo) = fenced_task() else { return };
    let lock = repo.main().join(".git/worktrees/task/index.lock");
    std::fs::write(&lock, "git-agentwt").expect("it is ours");
    let commit = "echo 1 >>src/one.rs; git add src/one.rs; git commit -qm one";
    repo.fenced(&[], commit).ok();
    assert!(!lock.exists());
    // but that of a git is
    std::fs::write(&lock, "").expect("it is ours");
    let said = repo.fenced(&[], commit);
    let way = "git agentwt exec task -- true; that has to be over first";
    assert!(said.fails(120).stderr.contains(way), "{said}");
    let said = repo.fenced(&[], "true");
    let said = said.fails(125);
    assert!(said.stderr.contains("index.lock"), "{said}");
    std::fs::remove_file(&lock).expect("it is ours");
    repo.fenced(&[], "git stash list").ok();
    assert_eq!(repo.log_of_task(), "one\none");
}

#[test]
fn a_directory_that_is_gone_and_a_log_full_of_rubbish_stop_no_import() {
    let Some(repo) = fenced_task() else { return };
    let script = "echo 1 >../one.rs; git add -A ..; git commit -qm one
        i=0; while test $i -lt 30000; do i=$((i+1)); printf '%040d %040d a <a> 1 +0000\tx\n' 0 $i; done >>$AGENTWT_PRIVATE_GIT/logs/HEAD
        rmdir ../gone";
    let place = repo.worktree("task").join("src/gone");
    std::fs::create_dir(&place).expect("it is writable");
    let root = allow_root();
    let line = format!("git agentwt exec {root} -- sh -c \"$1\"");
    let began = std::time::Instant::now();
    let output = repo
        .command("sh", &place)
        .args(["-c", &line, "sh", script])
        .output();
    let output = output.expect("sh starts");
    assert!(output.status.success(), "{output:?}");
    assert_eq!(repo.log_of_task(), "one");
    assert!(began.elapsed().as_secs() < 60, "each entry was asked for");
}

#[test]
fn what_is_broken_in_the_repository_is_no_damage_of_a_run() {
    let Some(repo) = fenced_task() else { return };
    let broken = repo.main().join(".git/refs/heads/broken");
    std::fs::write(&broken, "").expect("it is ours");
    let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
    for script in [script, "true"] {
        let said = repo.fenced(&[], script);
        assert!(said.fails(5).stderr.contains("refs/heads/broken"), "{said}");
    }
    std::fs::remove_file(&broken).expect("it is ours");
    repo.fenced(&[], "true").ok();
    assert_eq!(repo.log_of_task(), "one");
}

#[test]
fn what_the_machine_refuses_to_git_is_no_damage_of_a_run() {
    for said in [
        "remote: fatal: Out of memory, malloc failed (tried to allocate 9 bytes)",
        "fatal: cannot create async thread: Resource temporarily unavailable",
        "error: mmap failed: Cannot allocate memory",
    ] {
        let Some(repo) = fenced_task() else { return };
        let lock = repo.main().join(".git/refs/heads/agentwt/task.lock");
        std::fs::write(&lock, "").expect("it is ours");
        let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
        repo.fenced(&[], script).fails(5);
        std::fs::remove_file(&lock).expect("it is ours");
        let git = format!(
            "case \" $* \" in *\" fetch \"*) echo '{said}' >&2; exit 128;; esac; exec git \"$@\""
        );
        let path = with_git(&repo, &git);
        let allow = allow_root();
        let line = format!("{path} git-agentwt exec task {allow} -- true");
        repo.sh(repo.main(), &line).fails(5);
        repo.fenced(&[], "true").ok();
        assert_eq!(repo.log_of_task(), "one", "{said}");
    }
}

#[test]
fn a_git_that_is_ended_in_the_import_is_started_again() {
    let Some(repo) = fenced_task() else { return };
    let lock = repo.main().join(".git/refs/heads/agentwt/task.lock");
    std::fs::write(&lock, "").expect("it is ours");
    let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
    repo.fenced(&[], script).fails(5);
    std::fs::remove_file(&lock).expect("it is ours");
    let git = "case \" $* \" in *\" fetch \"*) if mkdir ${0%/*}/once 2>/dev/null; then
        echo 'fatal: fetch-pack: invalid index-pack output' >&2; exit 128; fi;; esac; exec git \"$@\"";
    let path = with_git(&repo, git);
    let allow = allow_root();
    let line = format!("{path} git-agentwt exec task {allow} -- true");
    repo.sh(repo.main(), &line).ok();
    assert!(repo.root().join("bin/once").exists());
    assert_eq!(repo.log_of_task(), "one");
}

#[test]
fn an_import_that_was_stopped_goes_on() {
    let Some(repo) = fenced_task() else { return };
    let lock = repo.main().join(".git/refs/heads/agentwt/task.lock");
    std::fs::write(&lock, "").expect("it is ours");
    let said = repo.fenced(&[], "echo 1 >src/one.rs; git add -A; git commit -qm one");
    assert_eq!(said.status, 5, "{said}");
    std::fs::remove_file(&lock).expect("it is ours");
    repo.fenced(&[], "true").ok();
    assert_eq!(repo.log_of_task(), "one");
    assert_eq!(runs(&repo), "");
}

#[test]
fn a_killed_run_is_imported_by_the_next() {
    let Some(repo) = fenced_task() else { return };
    let before = tip(&repo);
    let line = format!(
        "git-agentwt exec task {} -- sh -c 'echo 1 >src/one.rs; git add -A; git commit -qm one; sleep 60' & run=$!
        for n in $(seq 200); do test -e {}/git/refs/heads/agentwt/task && break; sleep 0.05; done; kill -9 $run; wait $run",
        allow_root(),
        private(&repo).display()
    );
    let _ = repo.sh(repo.main(), &line);
    assert_eq!(tip(&repo), before, "the branch is where it was");
    // a commit of the files would part from that commit
    let refused = repo.agentwt(&["land", "task"]);
    let words = "help: git agentwt exec task -- true; then, if something is left: ";
    assert!(refused.fails(4).stderr.contains(words), "{refused}");
    let said = repo.fenced(&[], "git log -1 --format=%s").ok();
    assert_eq!((said.as_str(), repo.log_of_task().as_str()), ("one", "one"));
}

#[test]
fn what_a_killed_exec_left_running_ends_before_the_next_run() {
    let Some(repo) = fenced_task() else { return };
    let pid = repo.worktree("task").join("src/pid");
    let line = format!(
        "git-agentwt exec task --fence=landlock {} -- sh -c 'echo 1 >src/one.rs; git add -A; git commit -qm one
        (setsid sh -c \"echo \\$\\$ >src/new; mv src/new src/pid; exec sleep 1000\" &); sleep 1000' >/dev/null 2>&1 & run=$!
        for n in $(seq 200); do test -e {} && break; sleep 0.05; done; kill -9 $run; wait $run",
        allow_root(),
        pid.display()
    );
    let _ = repo.sh(repo.main(), &line);
    let number = std::fs::read_to_string(&pid).expect("the command ran");
    let line = Path::new("/proc").join(number.trim()).join("cmdline");
    // a process that has ended has none
    let runs = || std::fs::read(&line).is_ok_and(|line| !line.is_empty());
    assert!(runs(), "nothing is left to be ended");
    repo.fenced(&[], "rm src/pid").ok();
    assert!(!runs(), "it goes on");
    assert_eq!(repo.log_of_task(), "one");
}

#[test]
fn killed_at_any_moment_a_run_loses_nothing() {
    let Some(repo) = fenced_task() else { return };
    let root = allow_root();
    for number in 0..16 {
        let before = tip(&repo);
        let script =
            format!("echo {number} >src/k{number}.rs; git add -A; git commit -qm k{number}");
        // a start takes some ten milliseconds, and so does the import; bubblewrap that is ended as it begins can
        // leave a process that waits, until the next run
        let line = format!(
            "git-agentwt exec task {root} -- sh -c '{script}' >/dev/null 2>&1 & run=$!
            sleep 0.{:03}; kill -9 $run 2>/dev/null; wait $run",
            number * 6
        );
        let _ = repo.sh(repo.main(), &line);
        let now = tip(&repo);
        let made = repo.git(&["log", "-1", "--format=%s", "agentwt/task"]);
        assert!(
            now == before || made == format!("k{number}"),
            "{number}: {made}"
        );
        repo.fenced(
            &[],
            "git add -A; git commit -qm rest || true; git status --porcelain",
        )
        .ok();
        let there = repo
            .worktree("task")
            .join(format!("src/k{number}.rs"))
            .exists();
        let file = format!("agentwt/task:src/k{number}.rs");
        let is_committed = repo.try_git(repo.main(), &["cat-file", "-e", &file]).status == 0;
        assert_eq!(there, is_committed, "{number}");
        repo.agentwt(&["verify", "task"]).ok();
    }
    repo.git(&["fsck", "--no-progress", "--connectivity-only"]);
}
