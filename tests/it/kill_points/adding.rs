//! `add`, killed anywhere: the next one finishes or clears what is left.

use super::{ADD, ADD_CLONE, Act, Point, each_point, errors, named, same, state, world};
use crate::support::TestRepo;

/// Holds what the repository looks like before, and once the worktree was made undisturbed.
struct Wanted {
    before: String,
    whole: String,
}

fn wanted(repo: &TestRepo, add: &[&str]) -> Wanted {
    repo.keep_as("pristine");
    let before = repo.fingerprint();
    repo.agentwt(add).ok();
    let whole = repo.fingerprint();
    Wanted { before, whole }
}

fn killed_the_next_makes_it_whole(add: &[&str], points: &[Point]) {
    let repo = world();
    let wanted = wanted(&repo, add);
    each_point(points, |point| {
        repo.bring_back("pristine");
        let hit = repo.hit(add, Act::Kill, point.0, point.1);
        let what = named(Act::Kill, point, &hit);
        let state = state(&repo, "task", &what);
        let expected: &[&str] = if hit.killed_us() {
            &["absent", "incomplete", "ready"]
        } else if hit.said.status == 0 {
            &["ready"]
        } else {
            // incomplete where the git that undoes was killed as well
            &["absent", "incomplete"]
        };
        assert!(expected.contains(&state.as_str()), "{state}: {what}");
        if !hit.killed_us() && state == "absent" {
            same(&repo.fingerprint(), &wanted.before, &what);
            assert_eq!(errors(&hit.said), 1, "{what}");
        }
        let again = repo.agentwt(add);
        assert_eq!(again.status, 0, "{what}\n{again}");
        same(&repo.fingerprint(), &wanted.whole, &what);
        assert_eq!(repo.findings(&repo.worktree("task")), "", "{what}");
        hit
    });
}

/// Each once found something: a lock of the branch that was left, an intent that went before the
/// branch did, a temporary file, a lock of the shared configuration.
#[test]
fn an_add_killed_at_some_points_is_put_right_by_the_next() {
    killed_the_next_makes_it_whole(
        ADD,
        &[
            ("rename", 1),
            ("unlink", 2),
            // with the record and the intent there
            ("unlink", 5),
            ("unlink", 6),
            ("renameat", 1),
            ("fsync", 3),
            // in our own checkout: with some of the files there, and before the index is
            ("mkdirat", 2),
            ("symlinkat", 1),
            ("utimensat", 4),
        ],
    );
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_add() {
    killed_the_next_makes_it_whole(ADD, &[]);
}

#[test]
fn an_add_of_a_clone_killed_at_some_points_is_put_right_by_the_next() {
    killed_the_next_makes_it_whole(
        ADD_CLONE,
        &[("mkdir", 10), ("rename", 9), ("unlink", 3), ("clone", 4)],
    );
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_add_of_a_clone() {
    killed_the_next_makes_it_whole(ADD_CLONE, &[]);
}
