//! `remove`, killed anywhere: nothing is lost that was not saved, and the next call ends it.

use super::world;
use super::{ADD, Act, Point, each_point, is_one_error, named, same, state, without_nothing};
use crate::support::{TestRepo, write};

const REMOVE: &[&str] = &["remove", "task"];
const FORCE: &[&str] = &["remove", "--force", "task"];

/// What nobody else has: staged, unstaged, untracked, and a synced file that was edited.
const DIRTY: &[(&str, &str)] = &[
    ("src/main.rs", "unstaged\n"),
    ("src/mod/util.rs", "staged\n"),
    ("src/new.rs", "untracked\n"),
    (".env", "A=edited\n"),
];

fn make_dirty(repo: &TestRepo) {
    let worktree = repo.worktree("task");
    for (path, content) in DIRTY {
        let file = worktree.join(path);
        let _ = std::fs::remove_file(&file);
        write(&worktree, path.as_bytes(), content.as_bytes());
    }
    repo.git_in(&worktree, &["add", "src/mod/util.rs"]);
}

/// What is there, but for what was saved under names that have the time.
fn without_saved(repo: &TestRepo) -> String {
    let all = repo.fingerprint();
    let is_timed = |line: &str| {
        ["refs/agentwt", ".agentwt/worktrees/.", ".git/agentwt/trash"]
            .iter()
            .any(|part| line.contains(part))
    };
    let lines = all.lines().filter(|line| !is_timed(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// What is left of it once it is removed.
fn rest(repo: &TestRepo) -> String {
    without_nothing(&without_saved(repo))
}

/// Whether a content is in the worktree, in what waits to be deleted, or in a commit of a ref.
fn is_kept(repo: &TestRepo, path: &str, content: &str) -> bool {
    let here = repo.worktree("task").join(path);
    if std::fs::read_to_string(here).is_ok_and(|text| text == content) {
        return true;
    }
    let waiting = repo.main().join(".agentwt/worktrees");
    let line = format!(
        "grep -rqxF '{}' '{}' 2>/dev/null",
        content.trim_end(),
        waiting.display()
    );
    if repo.sh(repo.main(), &line).status == 0 {
        return true;
    }
    let line = format!(
        "id=$(printf '%s\\n' '{}' | git hash-object --stdin) && \
        git rev-list --objects --all | grep -q \"^$id\" && git cat-file -e $id",
        content.trim_end()
    );
    repo.sh(repo.main(), &line).status == 0
}

fn nothing_is_lost(act: Act, arguments: &[&str], dirty: &[(&str, &str)], points: &[Point]) {
    let repo = world();
    repo.agentwt(ADD).ok();
    if !dirty.is_empty() {
        make_dirty(&repo);
    }
    repo.keep_as("pristine");
    repo.agentwt(arguments).ok();
    let wanted = rest(&repo);
    repo.agentwt(ADD).ok();
    let anew = without_saved(&repo);
    each_point(points, |point| {
        repo.bring_back("pristine");
        let hit = repo.hit(arguments, act, point.0, point.1);
        let what = named(act, point, &hit);
        for (path, content) in dirty {
            assert!(is_kept(&repo, path, content), "{path} is lost: {what}");
        }
        is_one_error(&hit, &what);
        state(&repo, "task", &what);
        let again = repo.agentwt(arguments);
        // 7 where the first one came to its end
        assert!(matches!(again.status, 0 | 7), "{what}\n{again}");
        for (path, content) in dirty {
            assert!(is_kept(&repo, path, content), "{path} is lost: {what}");
        }
        if matches!(act, Act::Fail(_)) {
            // git's own and not only ours, which it leaves where it cannot delete it: `doctor` names it
            let _ = std::fs::remove_file(repo.main().join(".git/packed-refs.lock"));
        }
        assert_eq!(state(&repo, "task", &what), "absent", "{what}");
        assert!(!repo.worktree("task").exists(), "{what}");
        let last = ".git/agentwt/worktrees/task/removing";
        if hit.killed_us() && repo.main().join(last).exists() {
            // the last file of the record, which the next `add` of the name deletes too
            repo.agentwt(&["prune"]).ok();
        }
        same(&rest(&repo), &wanted, &what);
        let branches = repo.git(&["branch", "--list", "agentwt/*"]);
        assert_eq!(branches, "", "{what}");
        let listed = repo.git(&["worktree", "list"]);
        let listed = listed.lines().filter(|line| !line.contains("/.trash/"));
        assert_eq!(listed.count(), 1, "{what}");
        let locks = repo.sh(repo.main(), "find .git -name '*.lock'").ok();
        assert_eq!(locks, "", "{what}");
        let made = repo.agentwt(ADD);
        assert_eq!(made.status, 0, "the name is free again: {what}\n{made}");
        same(&without_saved(&repo), &anew, &what);
        hit
    });
}

#[test]
fn a_remove_killed_at_some_points_is_finished_by_the_next() {
    nothing_is_lost(Act::Kill, REMOVE, &[], &[("unlink", 3), ("rmdir", 2)]);
}

#[test]
fn a_remove_by_force_killed_at_some_points_loses_nothing() {
    nothing_is_lost(Act::Kill, FORCE, DIRTY, &[("unlink", 4)]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_remove() {
    nothing_is_lost(Act::Kill, REMOVE, &[], &[]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_remove_by_force() {
    nothing_is_lost(Act::Kill, FORCE, DIRTY, &[]);
}

#[test]
fn a_remove_by_force_of_which_something_fails_loses_nothing() {
    // the last one is git's own lock of the branch
    let points = [("renameat2", 1), ("unlink", 2), ("unlink", 3)];
    nothing_is_lost(Act::Fail("ENOSPC"), FORCE, DIRTY, &points);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_remove_by_force_where_the_disk_is_full() {
    nothing_is_lost(Act::Fail("ENOSPC"), FORCE, DIRTY, &[]);
}
