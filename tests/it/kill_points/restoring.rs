//! `restore`, killed anywhere: the next command undoes it, and an undo is brought to its end.

use super::{ADD, Act, Point, each_point, is_one_error, named, same, state, world};
use crate::support::TestRepo;

const RESTORE: &[&str] = &["restore", "task"];
const UNDO: &[&str] = &["restore", "task", "--undo"];

/// In scope: committed, staged and edited. Out of scope: committed, staged, edited, deleted, new, and a
/// copied file that was edited.
const WORK: &str = "set -e
    echo committed >> src/mod/util.rs; rm docs/api.md; echo out > docs/api.md
    git add src docs; git commit -q -m work
    echo staged >> src/main.rs; git add src/main.rs; echo edited >> src/main.rs
    rm README.md; echo staged > README.md; git add README.md; echo edited > README.md
    rm -f tools/run.sh; echo new > docs/new.md; rm .env; echo A=edited > .env";

/// What is in the worktree, without what git calls its commits.
fn inside(repo: &TestRepo) -> String {
    let script = "git status --porcelain=v2; git ls-files -s; git diff; git log --format='%T %s'
        find . -path ./.git -prune -o -type f -print | sort | xargs md5sum";
    repo.sh(&repo.worktree("task"), script).ok()
}

fn locks(repo: &TestRepo) -> String {
    repo.sh(repo.main(), "find .git -name '*.lock'").ok()
}

fn nothing_is_lost(command: &[&str], act: Act, points: &[Point]) {
    let repo = world();
    repo.agentwt(ADD).ok();
    repo.sh(&repo.worktree("task"), WORK).ok();
    let mut before = inside(&repo);
    let is_undo = command == UNDO;
    if is_undo {
        repo.agentwt(RESTORE).ok();
        before = inside(&repo);
    }
    repo.keep_as("pristine");
    repo.agentwt(command).ok();
    let whole = inside(&repo);
    assert_ne!(before, whole);
    each_point(points, |point| {
        repo.bring_back("pristine");
        let hit = repo.hit(command, act, point.0, point.1);
        let what = named(act, point, &hit);
        // 1: a directory that could not be read then is a violation that is left
        if hit.said.status != 1 {
            is_one_error(&hit, &what);
        }
        assert_eq!(state(&repo, "task", &what), "ready", "{what}");
        if !locks(&repo).is_empty() {
            // of a git that was killed, or could not delete its own: it goes once it is old
            let age = "find .git -name '*.lock' -exec touch -d '1 hour ago' {} +";
            repo.sh(repo.main(), age).ok();
            repo.agentwt(&["prune"]).ok();
            assert_eq!(locks(&repo), "", "{what}");
        }
        let now = inside(&repo);
        if hit.killed_us() && now != before && now != whole {
            repo.keep_as("half");
            let next = repo.agentwt(&["sync", "task", "--status"]);
            assert_eq!(next.status, 0, "{what}\n{next}");
            // a killed undo is brought to its end
            let wanted = if is_undo { &whole } else { &before };
            same(&inside(&repo), wanted, &format!("{what}{next}"));
            repo.bring_back("half");
        }
        if !is_undo && now != before {
            repo.keep_as("half");
            let undone = repo.agentwt(UNDO);
            assert_eq!(undone.status, 0, "{what}\n{undone}");
            same(&inside(&repo), &before, &what);
            repo.bring_back("half");
        }
        if now != whole {
            let again = repo.agentwt(command);
            assert_eq!(again.status, 0, "{what}\n{again}");
            same(&inside(&repo), &whole, &what);
            let temporary = repo.sh(repo.main(), "ls .git/objects | grep tmp_objdir || :");
            assert_eq!(temporary.ok(), "", "{what}");
        }
        assert_eq!(locks(&repo), "", "{what}");
        hit
    });
}

#[test]
fn a_restore_killed_at_some_points_is_undone_by_the_next_command() {
    // the last: with files taken away, and with all of them there again
    let points = [
        ("rename", 1),
        ("unlinkat", 2),
        ("unlinkat", 5),
        ("renameat2", 1),
    ];
    nothing_is_lost(RESTORE, Act::Kill, &points);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_restore() {
    nothing_is_lost(RESTORE, Act::Kill, &[]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_restore_undo() {
    nothing_is_lost(UNDO, Act::Kill, &[]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_restore_where_the_disk_is_full() {
    nothing_is_lost(RESTORE, Act::Fail("ENOSPC"), &[]);
}
