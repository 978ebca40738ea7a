//! `land`, killed anywhere: the base branch has none or all of the work, and the next call ends it.
//!
//! The base branch is not checked out: a `git merge` that is killed itself leaves in its worktree
//! what it leaves there whoever started it.

use super::world;
use super::{ADD, Act, Point, each_point, is_one_error, named, state};
use crate::support::TestRepo;

fn work(repo: &TestRepo) {
    let line = "cd .agentwt/worktrees/task; echo 1 >src/one; git add -A; git commit -qm one
        echo 2 >src/two; git add -A; git commit -qm two; cd ../../..
        echo more >docs/more; git add docs; git commit -qm more; git switch -q --detach";
    repo.sh(repo.main(), line).ok();
}

fn merged_or_not(act: Act, arguments: &[&str], points: &[Point]) {
    let repo = world();
    repo.agentwt(ADD).ok();
    work(&repo);
    repo.keep_as("pristine");
    let before = repo.git(&["rev-parse", "main"]);
    let files = |repo: &TestRepo| repo.git(&["ls-tree", "-r", "main", "src"]);
    let without = files(&repo);
    repo.agentwt(arguments).ok();
    let wanted = files(&repo);
    each_point(points, |point| {
        repo.bring_back("pristine");
        let hit = repo.hit(arguments, act, point.0, point.1);
        let what = named(act, point, &hit);
        if hit.said.stdout.is_empty() {
            // else it is landed, and a note says what stopped the removal
            is_one_error(&hit, &what);
        }
        state(&repo, "task", &what);
        let has = files(&repo);
        assert!(has == without || has == wanted, "{what}: {has}");
        assert!(
            has == wanted || repo.git(&["rev-parse", "main"]) == before,
            "{what}"
        );
        let again = repo.agentwt(arguments);
        // 7 where the first one came to its end
        assert!(matches!(again.status, 0 | 7), "{what}\n{again}");
        assert_eq!(files(&repo), wanted, "{what}");
        assert!(!repo.worktree("task").exists(), "{what}");
        if matches!(act, Act::Fail(_)) {
            // of a directory of temporary objects that cannot be removed, git gc removes the rest
            repo.git(&["prune", "--expire=now"]);
        }
        let left = repo.sh(
            repo.main(),
            "git fsck --no-dangling; find .git -name 'tmp_objdir*'",
        );
        assert_eq!(left.stdout, "", "{what}");
        hit
    });
}

#[test]
fn a_landing_killed_at_some_points_is_merged_or_not() {
    let points = [("rename", 3), ("unlink", 6), ("mkdir", 4)];
    merged_or_not(Act::Kill, &["land", "task"], &points);
}

#[test]
fn a_landing_that_fails_at_some_points_is_merged_or_not() {
    let points = [("rename", 3), ("mkdir", 4), ("unlinkat", 14), ("write", 40)];
    merged_or_not(Act::Fail("ENOSPC"), &["land", "--squash", "task"], &points);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_land() {
    merged_or_not(Act::Kill, &["land", "task"], &[]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_land_by_squash_where_the_disk_is_full() {
    merged_or_not(Act::Fail("ENOSPC"), &["land", "--squash", "task"], &[]);
}
