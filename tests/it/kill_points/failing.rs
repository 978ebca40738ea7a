//! `add`, of which one system call fails: everything is undone, or what could not be is said, with
//! one error.

use super::{ADD, ADD_CLONE, Act, Point, each_point, is_one_error, named, same, state};
use super::{takes_away, world};
use crate::support::TestRepo;

/// The words before what could not be undone.
const LEFT: &str = "; what is left: ";

fn is_made_or_undone(add: &[&str], error: &'static str, points: &[Point]) {
    let repo = world();
    repo.keep_as("pristine");
    let before = repo.fingerprint();
    repo.agentwt(add).ok();
    let whole = without_cache(&repo);
    each_point(points, |point| {
        repo.bring_back("pristine");
        let hit = repo.hit(add, Act::Fail(error), point.0, point.1);
        let what = named(Act::Fail(error), point, &hit);
        is_one_error(&hit, &what);
        let state = state(&repo, "task", &what);
        // only the answer is lost where standard output cannot be written
        let is_said = !hit.said.stderr.contains("standard output");
        let is_undone = hit.said.status != 0 && is_said;
        let expected: &[&str] = match is_undone {
            true if hit.said.stderr.contains(LEFT) => &["absent", "incomplete"],
            true => &["absent"],
            false => &["ready"],
        };
        assert!(expected.contains(&state.as_str()), "{state}: {what}");
        if is_undone && !takes_away(point) && !hit.said.stderr.contains(LEFT) {
            same(&repo.fingerprint(), &before, &what);
        }
        let again = repo.agentwt(add);
        assert_eq!(again.status, 0, "{what}\n{again}");
        // `prune` deletes what a note says could not be
        let is_noted = hit.said.stderr.contains("note: cannot remove ");
        if !takes_away(point) && !is_noted {
            same(&without_cache(&repo), &whole, &what);
        }
        hit
    });
}

/// The state without the file that saves the hooks a start of git: where the settings could not be
/// read, it is not written, and the hooks ask git.
fn without_cache(repo: &TestRepo) -> String {
    let state = repo.fingerprint();
    let lines = state
        .lines()
        .filter(|line| !line.ends_with("/agentwt/users"));
    lines.collect::<Vec<_>>().join("\n")
}

/// Each once left an empty directory behind, or a rule of which nobody was told.
#[test]
fn an_add_that_meets_a_full_disk_is_undone() {
    let points = [("write", 4), ("mkdir", 3), ("renameat", 3)];
    let read = [("openat", 8), ("openat", 71)];
    is_made_or_undone(ADD, "ENOSPC", &[&points[..], &read].concat());
}

#[test]
fn an_add_that_has_no_quota_left_is_undone() {
    is_made_or_undone(ADD, "EDQUOT", &[("renameat", 4)]);
}

#[test]
fn an_add_that_may_not_go_on_or_may_not_take_away_is_known() {
    is_made_or_undone(ADD, "EACCES", &[("mkdir", 7), ("unlink", 2), ("rmdir", 1)]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_where_the_disk_is_full() {
    is_made_or_undone(ADD, "ENOSPC", &[]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_where_no_quota_is_left() {
    is_made_or_undone(ADD, "EDQUOT", &[]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_where_the_file_system_is_read_only() {
    is_made_or_undone(ADD, "EROFS", &[]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_where_something_is_not_allowed() {
    is_made_or_undone(ADD, "EACCES", &[]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_a_clone_where_the_disk_is_full() {
    is_made_or_undone(ADD_CLONE, "ENOSPC", &[]);
}
