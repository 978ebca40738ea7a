//! `add`, of which one system call fails: everything is undone, with one error.

use super::{ADD, Act, Point, cannot, each_point, errors, named, same, world};

fn an_add_is_made_or_undone(error: &'static str, points: &[Point]) {
    if cannot() {
        return;
    }
    let repo = world();
    repo.keep_as("pristine");
    let before = repo.fingerprint();
    repo.agentwt(ADD).ok();
    let whole = repo.fingerprint();
    each_point(points, Act::Fail(error), |point| {
        repo.bring_back("pristine");
        let hit = repo.hit(ADD, Act::Fail(error), point.0, point.1);
        let what = named(Act::Fail(error), point, &hit);
        let expected = match hit.said.status {
            0 => &whole,
            5 | 6 => {
                assert_eq!(errors(&hit.said), 1, "{what}");
                &before
            }
            other => panic!("status {other}: {what}"),
        };
        same(&repo.fingerprint(), expected, &what);
        hit
    });
}

#[test]
fn an_add_that_meets_a_full_disk_is_undone() {
    an_add_is_made_or_undone("ENOSPC", &[("write", 4), ("mkdir", 9), ("renameat", 4)]);
}

#[test]
fn an_add_that_may_not_go_on_is_undone() {
    an_add_is_made_or_undone("EACCES", &[("mkdir", 7)]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_where_the_disk_is_full() {
    an_add_is_made_or_undone("ENOSPC", &[]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_where_the_file_system_is_read_only() {
    an_add_is_made_or_undone("EROFS", &[]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_where_something_is_not_allowed() {
    an_add_is_made_or_undone("EACCES", &[]);
}
