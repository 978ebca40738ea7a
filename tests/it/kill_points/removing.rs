//! `remove`, killed anywhere: nothing is lost that was not saved, and the next call ends it.

use super::{ADD, Act, Point, cannot, each_point, named, state, world};
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

/// Whether a content is in the worktree, in what waits to be deleted, or in a commit of a ref.
fn is_kept(repo: &TestRepo, path: &str, content: &str) -> bool {
    let here = repo.worktree("task").join(path);
    if std::fs::read_to_string(here).is_ok_and(|text| text == content) {
        return true;
    }
    let waiting = repo.main().join(".agentwt/worktrees/.trash");
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

fn killed_nothing_is_lost(arguments: &[&str], dirty: &[(&str, &str)], points: &[Point]) {
    if cannot() {
        return;
    }
    let repo = world();
    repo.agentwt(ADD).ok();
    if !dirty.is_empty() {
        make_dirty(&repo);
    }
    repo.keep_as("pristine");
    each_point(points, Act::Kill, |point| {
        repo.bring_back("pristine");
        let hit = repo.hit(arguments, Act::Kill, point.0, point.1);
        let what = named(Act::Kill, point, &hit);
        for (path, content) in dirty {
            assert!(is_kept(&repo, path, content), "{path} is lost: {what}");
        }
        state(&repo, "task", &what);
        let again = repo.agentwt(arguments);
        // 7 where the first one came to its end
        assert!(matches!(again.status, 0 | 7), "{what}\n{again}");
        for (path, content) in dirty {
            assert!(is_kept(&repo, path, content), "{path} is lost: {what}");
        }
        assert_eq!(state(&repo, "task", &what), "absent", "{what}");
        assert!(!repo.worktree("task").exists(), "{what}");
        let branches = repo.git(&["branch", "--list", "agentwt/*"]);
        assert_eq!(branches, "", "{what}");
        let listed = repo.git(&["worktree", "list"]);
        assert_eq!(listed.lines().count(), 1, "{listed}: {what}");
        let locks = repo.sh(repo.main(), "find .git -name '*.lock'").ok();
        assert_eq!(locks, "", "{what}");
        let made = repo.agentwt(ADD);
        assert_eq!(made.status, 0, "the name is free again: {what}\n{made}");
        hit
    });
}

#[test]
fn a_remove_killed_at_some_points_is_finished_by_the_next() {
    killed_nothing_is_lost(REMOVE, &[], &[("unlink", 3), ("rmdir", 2)]);
}

#[test]
fn a_remove_by_force_killed_at_some_points_loses_nothing() {
    killed_nothing_is_lost(FORCE, DIRTY, &[("unlink", 4)]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_remove() {
    killed_nothing_is_lost(REMOVE, &[], &[]);
}

#[test]
#[ignore = "it takes minutes: see CONTRIBUTING.md"]
fn kill_points_of_remove_by_force() {
    killed_nothing_is_lost(FORCE, DIRTY, &[]);
}
