//! Worktrees that are in use, and what `--force` and `--force --force` give up.

use std::process::{Child, Command, Stdio};

use insta::assert_snapshot;

use super::{assert_gone, refused};
use crate::support::{Said, TestRepo};

/// A process that is ended with the test.
struct Running(Child);

impl Running {
    fn start(mut command: Command) -> Self {
        command.stdin(Stdio::piped()).stdout(Stdio::null());
        Self(command.spawn().expect("it starts"))
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
#[cfg(target_os = "linux")]
fn a_process_that_works_inside_is_named_and_needs_force_twice() {
    let (repo, worktree) = TestRepo::with_task();
    let running = Running::start(repo.command("cat", &worktree.join("src")));
    let pid = running.0.id().to_string();
    let said = refused(&repo, &["remove", "task"]);
    assert_snapshot!(said.to_string().replace(&pid, "PID"), @"
    --- stderr
    error: cannot remove worktree `task`: process PID (cat) works in it
    help: end it or wait for it (ps -f -p PID), or remove it all the same with `git agentwt remove -ff task`
    --- status 4
    ");
    let _ = refused(&repo, &["remove", "task", "-f"]);
    repo.agentwt(&["remove", "task", "-ff"]).ok();
    assert_gone(&repo, "task");
}

#[test]
#[cfg(target_os = "linux")]
fn an_executable_inside_that_runs_counts_too() {
    let (repo, worktree) =
        TestRepo::task_after("mkdir target; cp \"$(command -v cat)\" target/server");
    let running = Running::start(repo.command(worktree.join("target/server"), repo.main()));
    let said = refused(&repo, &["remove", "task"]);
    let words = format!("process {} (server) works in it", running.0.id());
    assert!(said.stderr.contains(&words), "{said}");
    drop(running);
    repo.agentwt(&["remove", "task"]).ok();
}

#[test]
fn a_lock_needs_force_twice() {
    let (repo, worktree) = TestRepo::task_after("echo n >notes");
    repo.git(&["worktree", "lock", &worktree.display().to_string()]);
    let _ = refused(&repo, &["remove", "task", "-f"]);
    let said = repo.agentwt(&["remove", "task", "-ff"]);
    assert!(super::kept(&repo, &said).join("notes").exists());
    assert_gone(&repo, "task");
}

#[test]
fn all_reasons_are_told_at_once() {
    let (repo, worktree) = TestRepo::task_after(
        "echo n >notes; echo x >>src/main.rs; git commit -qm x src/main.rs; git init -q src/inner",
    );
    repo.git(&["worktree", "lock", &worktree.display().to_string()]);
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: a repository is inside it: src/inner, 1 file is untracked, 1 commit is on no other branch, it is locked
      notes
      7d790cc5ac x
    help: move it out of $TMP/repo/.agentwt/worktrees/task; commit and merge it, or keep it in the trash, without what the base ignores: git agentwt remove --force task; git worktree unlock $TMP/repo/.agentwt/worktrees/task
    --- status 4
    ");
}

#[test]
fn a_live_owner_is_named_and_may_ask_itself() {
    let (repo, _) = TestRepo::with_task();
    let record = repo.main().join(".git/agentwt/worktrees/task/record.toml");
    let text = std::fs::read_to_string(&record).expect("a record");
    let host = git_agentwt::system::users::host();
    let pid = std::process::id();
    let started = git_agentwt::system::processes::start_time(pid).expect("we run");
    let owner = |host: &str| {
        format!(
            "\n[owner]\nid = \"ci-7\"\nhost = \"{host}\"\nsince = \"2026-11-22T10:00:00Z\"\n[owner.process]\npid = {pid}\nstarted = \"{started}\"\n"
        )
    };
    std::fs::write(&record, text.clone() + &owner(&host)).expect("a record");
    let said = refused(&repo, &["remove", "task"]);
    let words = format!("its owner `ci-7` is alive (process {pid})");
    assert!(said.stderr.contains(&words), "{said}");
    let _ = refused(&repo, &["remove", "task", "-f"]);
    let _ = refused(&repo, &["remove", "task", "--owner", "ci-8"]);
    repo.agentwt(&["remove", "task", "--owner", "ci-7", "-n"])
        .ok();
    repo.agentwt(&["remove", "task", "-ff", "-n"]).ok();
    std::fs::write(&record, text + &owner("another-host")).expect("a record");
    let said = repo.agentwt(&["remove", "task"]);
    assert_eq!(said.status, 0, "{said}");
    assert!(
        said.stderr.contains("cannot be determined from here"),
        "{said}"
    );
}

#[test]
fn stashes_stay_and_are_named() {
    let (repo, _) = TestRepo::task_after(
        "echo x >>src/main.rs; git stash -q; echo y >>src/main.rs; git stash -q -m mine",
    );
    repo.script(repo.main(), "echo z >>src/main.rs; git stash -q");
    let said = repo.agentwt(&["remove", "task"]);
    assert_eq!(said.status, 0, "{said}");
    let words = "note: task: stashes that were made on its branch stay: stash@{1}, stash@{2}\n";
    assert!(said.stderr.contains(words), "{said}");
    assert_eq!(repo.git(&["stash", "list"]).lines().count(), 3);
}

/// Runs a script that may mount, as any user: it ends with 77 where it cannot.
fn with_mounts(repo: &TestRepo, script: &str) -> Option<Said> {
    let mut command = repo.command("unshare", repo.main());
    let output = command.args(["-rm", "sh", "-c", script]).output();
    let said = output.ok().map(|output| repo.said(&output));
    let said = said.filter(|said| said.status != 77 && !said.stderr.contains("unshare"));
    if said.is_none() {
        eprintln!("skipped: mounting is not allowed here");
    }
    said
}

#[test]
fn a_file_system_that_is_mounted_inside_is_refused() {
    let (repo, _) = TestRepo::task_after("mkdir target");
    let script = format!(
        "mount -t tmpfs none .agentwt/worktrees/task/target && echo x >.agentwt/worktrees/task/target/f || exit 77
        '{}' remove -ff task", crate::support::binary().display()
    );
    let Some(said) = with_mounts(&repo, &script) else {
        return;
    };
    assert_eq!(said.status, 4, "{said}");
    assert!(
        said.stderr
            .contains("a file system is mounted inside it: target"),
        "{said}"
    );
}

#[test]
fn a_removal_that_failed_while_it_deleted_a_mount_point_in_place_is_finished() {
    // deeper than what is deleted in one round
    let deep = "d/".repeat(150);
    let (repo, worktree) = TestRepo::task_after(&format!("mkdir -p {deep}"));
    let script = format!(
        "mount --bind .agentwt/worktrees/task .agentwt/worktrees/task || exit 77
        '{}' remove task",
        crate::support::binary().display()
    );
    let Some(said) = with_mounts(&repo, &script) else {
        return;
    };
    assert_ne!(said.status, 0, "a mount point cannot go: {said}");
    let left = std::fs::read_dir(&worktree).expect("it is there").count();
    assert_eq!(left, 0, "it is emptied: {said}");
    // with the mount gone
    repo.agentwt(&["remove", "task"]).ok();
    assert!(!worktree.exists());
}
