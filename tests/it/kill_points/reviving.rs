//! `remove --undo`, killed anywhere: what was saved stays, and the next one brings it back as it was.

use super::{
    ADD, Act, Point, each_point, is_one_error, named, same, state, takes_away, without_nothing,
    world,
};
use crate::support::TestRepo;

const UNDO: &[&str] = &["remove", "--undo", "task"];

/// Staged, unstaged, untracked, deleted, a commit, and a synced file that was edited.
const WORK: &str = "set -e
    echo committed >> src/mod/util.rs; git add src; git commit -q -m work
    echo staged >> src/main.rs; git add src/main.rs; echo unstaged >> src/main.rs
    echo untracked > src/new.rs; chmod u+w .env; echo A=edited > .env; git rm -q --cached docs/api.md";

/// What an agent has there, beside what the repository knows of it.
fn all(repo: &TestRepo) -> String {
    let script = "git status --porcelain=v2 --branch; git ls-files -s; git diff; git diff --cached
        git log --format='%H %s'; find . -path ./.git -prune -o -type f -print | sort | xargs md5sum";
    let inside = repo.sh(&repo.worktree("task"), script).ok();
    repo.fingerprint() + &inside
}

/// Without the files of a record that an undo removes first: the next one does without them.
fn without_notes(state: &str) -> String {
    let is_note = |line: &str| line.ends_with("/trimmed") || line.ends_with("/verification.toml");
    let lines = state.lines().filter(|line| !is_note(line));
    lines.collect::<Vec<_>>().join("\n")
}

fn the_next_brings_it_back(act: Act, points: &[Point]) {
    let repo = world();
    repo.agentwt(ADD).ok();
    repo.sh(&repo.worktree("task"), WORK).ok();
    // with the ignored files deleted, so that nothing in the background changes what is kept
    repo.agentwt(&["remove", "--force", "-D", "--wait", "task"])
        .ok();
    repo.keep_as("pristine");
    let before = without_nothing(&repo.fingerprint());
    repo.agentwt(UNDO).ok();
    let whole = all(&repo);
    assert!(whole.contains("staged"), "{whole}");
    each_point(points, |point| {
        repo.bring_back("pristine");
        let hit = repo.hit(UNDO, act, point.0, point.1);
        let what = named(act, point, &hit);
        let state = state(&repo, "task", &what);
        let expected: &[&str] = match (hit.killed_us(), hit.said.status) {
            (true, _) => &["absent", "missing", "ready"],
            (false, 0) => &["ready"],
            (false, _) => &["absent", "missing"],
        };
        assert!(expected.contains(&state.as_str()), "{state}: {what}");
        is_one_error(&hit, &what);
        let is_said = hit.said.stderr.contains("; left behind: ");
        if !hit.killed_us() && state == "absent" && !is_said && !takes_away(point) {
            let (now, before) = (without_notes(&repo.fingerprint()), &without_notes(&before));
            same(&without_nothing(&now), before, &what);
        }
        if matches!(act, Act::Fail(_)) && takes_away(point) {
            // git's own, where git cannot delete it: the error names it
            for lock in ["refs/heads/agentwt/task.lock", "packed-refs.lock"] {
                let _ = std::fs::remove_file(repo.main().join(".git").join(lock));
            }
        }
        if state != "ready"
            || repo
                .main()
                .join(".git/agentwt/worktrees/task/removing")
                .exists()
        {
            let again = repo.agentwt(UNDO);
            assert_eq!(again.status, 0, "{what}\n{again}");
        }
        // what is left beside what is whole goes with the next call of the name
        repo.agentwt(ADD).ok();
        if !takes_away(point) {
            same(&all(&repo), &whole, &what);
        }
        hit
    });
}

#[test]
fn an_undo_killed_at_some_points_is_finished_by_the_next() {
    let logs = ["rename", "renameat"].map(|call| [4, 5].map(|nth| (call, nth)));
    let points = [("rename", 3), ("renameat", 1)];
    the_next_brings_it_back(Act::Kill, &[&points[..], logs.as_flattened()].concat());
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_remove_undo() {
    the_next_brings_it_back(Act::Kill, &[]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_remove_undo_where_the_disk_is_full() {
    the_next_brings_it_back(Act::Fail("ENOSPC"), &[]);
}
