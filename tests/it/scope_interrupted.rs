//! A command that applies a scope is killed: the agent is not blamed, and the cause is named.

use std::path::PathBuf;

use insta::assert_snapshot;

use crate::cases::Case;
use crate::support::{Shim, TestRepo, calls};

/// What `verify` says while a scope is not applied.
const CAUSE: &str =
    "the scope of worktree `task` is not applied: a command is at it, or was killed";

/// Kills the program that started this git.
const KILL: &str = "kill -9 $PPID; exit 1";

/// The lock of the sparse patterns of the worktree.
fn sparse_lock(case: &Case) -> PathBuf {
    let admin = case.repo.main().join(".git/worktrees/task");
    admin.join("info/sparse-checkout.lock")
}

/// The journal of the worktree.
fn journal(case: &Case) -> PathBuf {
    let record = case.repo.main().join(".git/agentwt/worktrees/task");
    record.join("journal")
}

/// Which files there are, and which may be edited.
fn write_bits(case: &Case) -> String {
    let list = "find . -path ./.git -prune -o -type f -printf '%m %p\n' | sort -k 2";
    case.repo.sh(&case.repo.worktree("task"), list).ok()
}

/// A worktree with a change of the scope that can be taken back.
fn widened() -> Case {
    let case = Case::new();
    let arguments = [
        "scope",
        "task",
        "--add-write",
        "docs",
        "--add-exclude",
        "tools",
    ];
    case.repo.agentwt(&arguments).ok();
    case
}

/// Takes the change of the scope back, with this act in the place of the git that sets the patterns.
#[track_caller]
fn kill_while_patterns_are_set(case: &Case, act: &str) {
    let shim = Shim::new(case.repo.root(), act);
    let arguments = ["scope", "task", "--undo"];
    let said = shim.run_at_words(&case.repo, &arguments, "sparse-checkout set");
    assert_eq!(said.status, 137, "{said}");
}

#[test]
fn a_killed_change_of_the_scope_is_named_and_undone_and_the_agent_is_not_blamed() {
    for arguments in [
        &["scope", "task", "--undo"][..],
        &["scope", "task", "--add-exclude", "docs"],
        &["reapply", "task"],
    ] {
        for at in calls(1) {
            let case = widened();
            let scope = case.repo.agentwt(&["scope", "task"]);
            let bits = write_bits(&case);
            let shim = Shim::new(case.repo.root(), KILL);
            let (said, call) = shim.run(&case.repo, arguments, at);
            let Some(call) = call else { break };
            let what = format!("{arguments:?} killed at `{call}`: {said}");
            let verified = case.repo.agentwt(&["verify", "task"]);
            let is_named = verified.status == 4 && verified.stderr.contains(CAUSE);
            assert!(verified.status == 0 || is_named, "{what}\n{verified}");
            // any command that takes the lock
            let next = case.repo.agentwt(&["sync", "task", "--status"]);
            assert_eq!(next.status, 0, "{what}\n{next}");
            assert_eq!(case.findings(), "", "{what}\n{next}");
            assert_eq!(case.repo.agentwt(&["scope", "task"]), scope, "{what}");
            assert_eq!(write_bits(&case), bits, "{what}");
            assert!(!journal(&case).exists(), "{what}");
        }
    }
}

#[test]
fn the_cause_is_named_with_the_command_that_undoes_it() {
    let case = widened();
    kill_while_patterns_are_set(&case, KILL);
    assert_snapshot!(case.repo.agentwt(&["verify", "task"]), @"
    --- stderr
    error: the scope of worktree `task` is not applied: a command is at it, or was killed
    help: if no command is at it: git agentwt reapply task
    --- status 4
    ");
    assert_snapshot!(case.repo.agentwt(&["reapply", "task"]), @"
    --- stderr
    note: the last `scope` of worktree `task` was killed: the scope is the former one
    task: everything is as the scope says
    --- status 0
    ");
    assert_eq!(case.findings(), "");
}

#[test]
fn the_lock_of_a_git_that_was_killed_with_the_change_is_removed() {
    let case = widened();
    let lock = sparse_lock(&case);
    // as a git leaves it that is killed while it writes the patterns
    let act = format!("touch '{}'; {KILL}", lock.display());
    kill_while_patterns_are_set(&case, &act);
    assert!(lock.exists(), "the git left its lock");
    case.repo.agentwt(&["reapply", "task"]).ok();
    assert!(!lock.exists());
    assert_eq!(case.findings(), "");
}

#[test]
fn a_lock_of_the_sparse_patterns_is_named() {
    let case = Case::new();
    let lock = sparse_lock(&case);
    std::fs::write(&lock, "").expect("a lock");
    assert_snapshot!(case.repo.agentwt(&["verify", "task"]), @"
    ok task: in scope, 0 paths changed, 1 notice
      -  integrity  @wt/info/sparse-checkout.lock  disk  it keeps git from changing the sparse patterns;
                                                         if no git runs there, remove it
    --- status 0
    ");
}

#[test]
fn what_was_planted_beside_an_unfinished_change_is_reported() {
    let case = widened();
    kill_while_patterns_are_set(&case, KILL);
    case.main_does("git config core.fsmonitor /tmp/x");
    let said = case.repo.agentwt(&["verify", "task"]);
    assert_eq!(said.status, 1, "{said}");
    assert!(said.stdout.contains("core.fsmonitor"), "{said}");
    case.main_does("git config --unset core.fsmonitor");
    case.repo.agentwt(&["reapply", "task"]).ok();
    assert_eq!(case.findings(), "");
}

#[test]
fn a_change_of_the_scope_of_a_clone_is_no_finding() {
    let repo = TestRepo::project();
    let add = ["add", "task", "--write", "src/**", "--strategy", "clone"];
    repo.agentwt(&add).ok();
    let change = [
        "scope",
        "task",
        "--add-write",
        "docs",
        "--add-exclude",
        "tools",
    ];
    repo.agentwt(&change).ok();
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    ok task: in scope, 0 paths changed
    --- status 0
    ");
}

#[test]
fn a_change_of_the_scope_that_fails_leaves_the_former_scope() {
    let case = widened();
    let scope = case.repo.agentwt(&["scope", "task"]);
    let bits = write_bits(&case);
    let shim = Shim::new(case.repo.root(), "echo 'fatal: no' >&2; exit 77");
    let change = ["scope", "task", "--undo"];
    // the last call of a change: the patterns and the bits are set
    let said = shim.run_at_words(&case.repo, &change, "update-index");
    assert_eq!(said.status, 5, "{said}");
    case.repo.agentwt(&["reapply", "task"]).ok();
    assert_eq!(case.repo.agentwt(&["scope", "task"]), scope);
    assert_eq!(write_bits(&case), bits);
    assert_eq!(case.findings(), "");
    case.repo.agentwt(&change).ok();
    assert_eq!(case.findings(), "");
}

#[test]
fn what_an_older_version_left_is_finished_by_reapply() {
    let case = widened();
    let note = case
        .repo
        .main()
        .join(".git/agentwt/worktrees/task/applying-scope");
    std::fs::write(&note, "").expect("a file");
    let said = case.repo.agentwt(&["verify", "task"]);
    assert!(said.stderr.contains(CAUSE), "{said}");
    case.repo.agentwt(&["reapply", "task"]).ok();
    assert!(!note.exists());
    assert_eq!(case.findings(), "");
}
