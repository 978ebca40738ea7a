//! `prune` of what a killed `add` left, killed anywhere: the next one ends it, and nothing else goes.

use super::{ADD, Act, Point, each_point, is_one_error, named, same, state, takes_away};
use super::{without_nothing, world};

const PRUNE: &[&str] = &["prune"];

fn the_next_prune_ends_it(act: Act, points: &[Point]) {
    let repo = world();
    repo.agentwt(&["add", "other"]).ok();
    let before = without_nothing(&repo.fingerprint());
    repo.keep_as("pristine");
    let half = (3..40).find(|nth| {
        repo.bring_back("pristine");
        repo.hit(ADD, Act::Kill, "renameat", *nth);
        state(&repo, "task", "made") == "incomplete" && repo.worktree("task").exists()
    });
    assert!(half.is_some(), "it was killed in the middle");
    repo.keep_as("pristine");
    each_point(points, |point| {
        repo.bring_back("pristine");
        let hit = repo.hit(PRUNE, act, point.0, point.1);
        let what = named(act, point, &hit);
        is_one_error(&hit, &what);
        let state_now = state(&repo, "task", &what);
        let expected = ["absent", "incomplete"].contains(&state_now.as_str());
        assert!(expected, "{state_now}: {what}");
        let again = repo.agentwt(PRUNE);
        assert_eq!(again.status, 0, "{what}\n{again}");
        assert_eq!(state(&repo, "task", &what), "absent", "{what}");
        assert_eq!(state(&repo, "other", &what), "ready", "{what}");
        if !takes_away(point) || matches!(act, Act::Kill) {
            same(&without_nothing(&repo.fingerprint()), &before, &what);
        }
        hit
    });
}

#[test]
fn a_prune_killed_at_some_points_is_finished_by_the_next() {
    the_next_prune_ends_it(Act::Kill, &[("unlink", 2), ("rmdir", 1)]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_prune() {
    the_next_prune_ends_it(Act::Kill, &[]);
}
