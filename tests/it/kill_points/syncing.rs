//! `sync`, killed anywhere: every file is the old one or the new one, and the next call goes on.

use super::{ADD, Act, Point, each_point, is_one_error, named, same, state, world};
use crate::support::TestRepo;

const SYNC: &[&str] = &["sync", "task"];

fn text(repo: &TestRepo, path: &str) -> Option<String> {
    std::fs::read_to_string(repo.worktree("task").join(path)).ok()
}

fn the_next_sync_goes_on(act: Act, points: &[Point]) {
    let repo = world();
    repo.agentwt(ADD).ok();
    let paths: Vec<String> = (0..6).map(|n| format!("deps/a/{n}")).collect();
    let old: Vec<Option<String>> = paths.iter().map(|path| text(&repo, path)).collect();
    for (n, path) in paths.iter().enumerate() {
        repo.write(path, &format!("new dependency {n}\n"));
    }
    repo.keep_as("pristine");
    repo.agentwt(SYNC).ok();
    let whole = repo.fingerprint();
    each_point(points, |point| {
        repo.bring_back("pristine");
        let hit = repo.hit(SYNC, act, point.0, point.1);
        let what = named(act, point, &hit);
        is_one_error(&hit, &what);
        assert_eq!(state(&repo, "task", &what), "ready", "{what}");
        for (n, path) in paths.iter().enumerate() {
            let now = text(&repo, path);
            let new = Some(format!("new dependency {n}\n"));
            assert!(now == old[n] || now == new, "{path}: {now:?}: {what}");
        }
        let again = repo.agentwt(SYNC);
        assert_eq!(again.status, 0, "{what}\n{again}");
        same(&repo.fingerprint(), &whole, &what);
        assert_eq!(repo.findings(&repo.worktree("task")), "", "{what}");
        hit
    });
}

#[test]
fn a_sync_killed_at_some_points_is_finished_by_the_next() {
    the_next_sync_goes_on(Act::Kill, &[("renameat2", 3), ("fsync", 2)]);
}

#[test]
fn a_sync_that_cannot_end_leaves_the_list_as_it_was() {
    let repo = world();
    repo.agentwt(ADD).ok();
    repo.write("deps/a/9", "new\n");
    repo.keep_as("pristine");
    let points: Vec<Point> = (1..12).map(|nth| ("unlink", nth)).collect();
    each_point(&points, |point| {
        repo.bring_back("pristine");
        let hit = repo.hit(SYNC, Act::Fail("EACCES"), point.0, point.1);
        let what = named(Act::Fail("EACCES"), point, &hit);
        assert_eq!(repo.findings(&repo.worktree("task")), "", "{what}");
        let listed = repo.agentwt(&["sync", "task", "--status"]).ok();
        let is_there = text(&repo, "deps/a/9").is_some();
        assert_eq!(listed.contains("deps/a/9"), is_there, "{what}");
        hit
    });
}

/// What is placed is always listed: killed where the list cannot be written, and all is taken back.
#[test]
fn a_sync_killed_while_it_takes_files_back_still_lists_them() {
    let repo = world();
    repo.agentwt(ADD).ok();
    repo.write("deps/a/9", "new\n");
    let list = repo.main().join(".git/worktrees/task/agentwt/exclude");
    std::fs::rename(&list, repo.root().join("list")).expect("it is there");
    std::fs::create_dir_all(list.join("in the way")).expect("it is ours");
    repo.keep_as("pristine");
    let points: Vec<Point> = (1..12).map(|nth| ("unlinkat", nth)).collect();
    each_point(&points, |point| {
        repo.bring_back("pristine");
        let hit = repo.hit(SYNC, Act::Kill, point.0, point.1);
        let what = named(Act::Kill, point, &hit);
        assert_ne!(hit.said.status, 0, "{what}");
        let listed = repo.agentwt(&["sync", "task", "--status"]).ok();
        let is_there = text(&repo, "deps/a/9").is_some();
        assert!(!is_there || listed.contains("deps/a/9"), "{what}\n{listed}");
        hit
    });
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_sync() {
    the_next_sync_goes_on(Act::Kill, &[]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_sync_where_the_disk_is_full() {
    the_next_sync_goes_on(Act::Fail("ENOSPC"), &[]);
}
