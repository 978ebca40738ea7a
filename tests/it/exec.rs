//! What a command in a fence commits comes back by an import, all or nothing.

use std::path::Path;

use crate::support::{Said, TestRepo, allow_root_words, fenced_task, is_root, wait_until};

mod granted;
mod hostile;
mod imports;
mod index;
mod interrupted;
mod kept;
mod next_run;
mod terminal;
mod user_meanwhile;
mod withhold;

/// Puts a script in the place of git, whose first line takes it out of PATH; the start of a line that has it there.
fn with_git(repo: &TestRepo, script: &str) -> String {
    let bin = repo.root().join("bin");
    std::fs::create_dir(&bin).expect("it is ours");
    let script = format!("#!/bin/sh\nPATH=${{PATH#*:}}\n{script}\n");
    std::fs::write(bin.join("git"), script).expect("it is ours");
    crate::support::chmod(&bin.join("git"), 0o755);
    format!("PATH={}:$PATH", bin.display())
}

fn tip(repo: &TestRepo) -> String {
    repo.git(&["rev-parse", "agentwt/task"])
}

fn runs(repo: &TestRepo) -> String {
    let below = [
        "refs/agentwt/run/",
        "refs/agentwt/incoming/",
        "refs/agentwt/kept/",
    ];
    repo.git(&[&["for-each-ref", "--format=%(refname)"], &below[..]].concat())
}

fn private(repo: &TestRepo) -> std::path::PathBuf {
    repo.main().join(".git/agentwt/worktrees/task/private")
}

/// Removes a file at the end, so that a command ends also where a test panics.
struct Removed<'a>(&'a Path);

impl Drop for Removed<'_> {
    fn drop(&mut self) {
        // it is gone where the directory is
        let _ = std::fs::remove_file(self.0);
    }
}

/// Runs a script in the fence while something else is done: that begins when the script has ended, and the
/// run ends after it.
fn meanwhile(repo: &TestRepo, script: &str, other: impl FnOnce()) -> Said {
    let done = repo.worktree("task").join("src/done");
    let script = format!("{script}; touch src/done; while test -e src/done; do sleep 0.01; done");
    std::thread::scope(|threads| {
        let run = threads.spawn(|| repo.fenced(&[], &script));
        while !done.exists() {
            std::thread::yield_now();
        }
        let removed = Removed(&done);
        other();
        drop(removed);
        run.join().expect("it ends")
    })
}

#[test]
fn commits_in_scope_come_back_and_git_works_inside() {
    let Some(repo) = fenced_task() else { return };
    let script = "set -e; echo 1 >src/one.rs; git add -A; git commit -qm one
        echo 2 >src/two.rs; git add -A; git commit -qm two; git commit -q --amend -m three
        echo 4 >src/one.rs; git stash -q; git stash pop -q; git commit -qam four
        git tag t; git tag -d t >/dev/null; git gc -q; git fsck --no-progress; git status --porcelain";
    repo.fenced(&[], script).ok();
    assert_eq!(repo.log_of_task(), "four\nthree\none");
    assert_eq!(runs(&repo), "", "nothing is left of the run");
    assert!(!private(&repo).join("git").exists());
    repo.agentwt(&["verify", "task"]).ok();
    let status = repo.git_in(&repo.worktree("task"), &["status", "--porcelain"]);
    assert_eq!(status, "", "the index came along");
}

#[test]
fn statuses_are_those_of_the_command() {
    let Some(repo) = fenced_task() else { return };
    for (script, status) in [
        ("exit 3", 3),
        ("kill -TERM $$", 143),
        ("no-such-program", 127),
    ] {
        assert_eq!(repo.fenced(&[], script).status, status, "{script}");
    }
    assert_eq!(repo.fenced(&["--timeout", "200ms"], "sleep 60").status, 124);
    let said = repo.fenced(&["--net", "lan"], "true");
    assert_eq!(said.status, 125, "{said}");
    let nested = "git-agentwt exec task -- true; echo $?";
    assert_eq!(repo.fenced(&[], nested).ok(), "125");
    if is_root() {
        let said = repo.agentwt(&["exec", "task", "--", "true"]);
        assert_eq!(said.status, 125, "{said}");
    }
}

#[test]
fn one_command_at_a_time_runs_in_a_worktree() {
    let Some(repo) = fenced_task() else { return };
    std::thread::scope(|threads| {
        let script = "touch src/started; while test -e src/started; do sleep 0.01; done";
        let long = threads.spawn(|| repo.fenced(&[], script));
        let started = repo.worktree("task").join("src/started");
        wait_until("the command runs", || started.exists());
        let ends = Removed(&started);
        let said = repo.fenced(&[], "true");
        assert_eq!(said.status, 125, "{said}");
        assert!(said.stderr.contains("a command runs in"), "{said}");
        drop(ends);
        long.join().expect("it ends").ok();
    });
}

#[test]
fn run_adds_executes_and_removes_what_is_clean() {
    let Some(repo) = fenced_task() else { return };
    let root = allow_root_words();
    let run = |options: &[&str], script: &str| {
        let words = [
            &["run", "other", "--write", "src/**"],
            root,
            options,
            &["--", "sh", "-c", script],
        ];
        repo.agentwt(&words.concat())
    };
    assert_eq!(run(&["--rm"], "echo hello").ok(), "hello");
    assert!(!repo.worktree("other").exists());
    let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
    let said = run(&["--rm"], script);
    said.ok();
    assert!(said.stderr.contains("the worktree stays"), "{said}");
    assert_eq!(run(&[], "exit 7").status, 7);
}

#[test]
fn all_worktrees_get_the_command_and_a_table() {
    let Some(repo) = fenced_task() else { return };
    repo.add("two");
    let root = allow_root_words();
    let script = "echo in $AGENTWT_NAME; test $AGENTWT_NAME = task";
    let words = [&["exec", "--all"], root, &["--", "sh", "-c", script]].concat();
    let said = repo.agentwt(&words);
    assert_eq!(said.status, 1, "{said}");
    assert!(said.stderr.contains("two | in two"), "{said}");
    assert!(said.stdout.contains("task  ok"), "{said}");
    // a path is that of the directory that `-C` names, and the words of the command are its own
    std::fs::create_dir(repo.main().join("docs/shared")).expect("it is ours");
    let options = ["-C", "docs", "exec", "--json", "--rw=shared", "--all"];
    let script = "test $1 = --all && touch ../../../docs/shared/$AGENTWT_NAME";
    let words = [&options, root, &["--", "sh", "-c", script, "sh", "--all"]].concat();
    let said = repo.agentwt(&words);
    assert!(said.ok().contains("\"outcome\""), "{said}");
    assert!(repo.main().join("docs/shared/two").exists());
    // a directory that is called like a form is none
    std::fs::create_dir(repo.main().join("json")).expect("it is ours");
    let options = ["-C", "json", "exec", "--all", "--format", "json"];
    let words = [&options, root, &["--", "true"]].concat();
    let said = repo.agentwt(&words).ok();
    assert!(said.contains("\"outcome\""), "{said}");
}
