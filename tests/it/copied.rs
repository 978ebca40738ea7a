//! A repository that was copied, moved, or reached by a second path: its records name absolute
//! paths, and a copy must never write into the original.

use std::path::PathBuf;

use insta::assert_snapshot;

use crate::support::TestRepo;

/// A repository with the worktrees `a` (with a change out of scope), `c` (a clone), `g` (by plain
/// git) and `b` (in the trash), and the place of a second one.
fn world() -> (TestRepo, PathBuf) {
    let repo = TestRepo::project();
    repo.write(".env", "A=1\n");
    let config = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"src/**\"]\n";
    repo.write(".agentwt/config.toml", config);
    repo.agentwt(&["add", "a", "--write", "src/**", "--sync", ".env"])
        .ok();
    repo.agentwt(&["add", "c", "--write", "src/**", "--strategy", "clone"])
        .ok();
    repo.add("b");
    let script = "set -e
        for name in a c; do
            (cd .agentwt/worktrees/$name; chmod u+w docs/guide.md; echo OUT >docs/guide.md; echo n >src/new.rs)
        done
        echo B >.agentwt/worktrees/b/src/new.rs
        git worktree add -q -b g ../g";
    repo.sh(repo.main(), script).ok();
    repo.agentwt(&["hooks", "install", "../g"]).ok();
    repo.agentwt(&["remove", "--force", "--wait", "b"]).ok();
    let second = repo.root().join("repo2");
    (repo, second)
}

/// Everything of the original and of the worktree beside it.
fn original(repo: &TestRepo) -> String {
    let script = "find repo g -type f -not -path '*/.git/index' | sort | xargs sha1sum
        find repo g -printf '%p %M %l\\n' | sort";
    repo.sh(repo.root(), script).ok()
}

#[test]
fn a_copy_never_writes_into_the_original() {
    let (repo, copy) = world();
    repo.sh(repo.root(), "cp -a repo repo2").ok();
    let before = original(&repo);
    let calls: &[&[&str]] = &[
        &["restore", "a"],
        &["restore", "--undo", "a"],
        &["restore", "c"],
        &["sync", "--force", "a"],
        &["sync", "--all"],
        &["reapply", "a"],
        &["path", "a"],
        &["path", "c"],
        &["path", "g"],
        &["add", "a"],
        &["add", "a", "--owner", "x"],
        &["status", "a"],
        &["changed", "a"],
        &["verify", "a"],
        &["verify", "--all"],
        &["accept", "a", "--all"],
        &["hooks", "install", "a"],
        &["hooks", "uninstall", "g"],
        &["remove", "--force", "--force", "a"],
        &["remove", "--force", "--force", "c"],
        &["remove", "--undo", "b"],
    ];
    for call in calls {
        let said = repo.agentwt_in(&copy, call);
        assert_eq!(said.status, 6, "{call:?}: {said}");
        assert_eq!(said.stdout, "", "{call:?}: {said}");
        let words = &said.stderr;
        for place in ["$TMP/repo,", "$TMP/repo2"] {
            assert!(words.contains(place), "{call:?}: {said}");
        }
        assert!(words.contains("cd $TMP/repo"), "{call:?}: {said}");
        assert_eq!(original(&repo), before, "{call:?}");
    }
    let said = repo.agentwt_in(&copy.join(".agentwt/worktrees/a"), &["restore"]);
    assert_eq!(said.status, 6, "{said}");
    let said = repo.agentwt_in(&copy, &["hooks", "install", "../g"]);
    assert_ne!(said.status, 0, "{said}");
    assert_snapshot!(repo.agentwt_in(&copy, &["path", "a"]), @"
    --- stderr
    error: worktree `a` belongs to the repository $TMP/repo, and this is $TMP/repo2
    help: if this is a copy, run the command in the original: cd $TMP/repo; if the repository was moved, move it back to $TMP/repo
    --- status 6
    ");
    for call in [
        &["list"][..],
        &["prune"],
        &["prune", "--merged", "--force"],
        &["doctor"],
        &["list", "--trash"],
    ] {
        let said = repo.agentwt_in(&copy, call);
        assert!(said.status < 2, "{call:?}: {said}");
        assert!(
            said.stdout.contains(" a") || call.contains(&"--trash"),
            "{said}"
        );
    }
    assert_eq!(original(&repo), before);
    // a new one there, beside the others, is like any
    repo.agentwt_in(&copy, &["add", "new", "--write", "src/**"])
        .ok();
    repo.agentwt_in(&copy, &["verify", "new"]).ok();
    let listed = repo.agentwt_in(&copy, &["list"]).ok();
    assert!(
        listed.contains("new ") && listed.contains("worktree `a` belongs to"),
        "{listed}"
    );
    repo.agentwt_in(&copy, &["remove", "new"]).ok();
    assert_eq!(original(&repo), before);
    // the original is as it was
    repo.agentwt(&["restore", "a"]).ok();
    repo.agentwt(&["restore", "c"]).ok();
    repo.agentwt(&["remove", "--undo", "b"]).ok();
}

#[test]
fn a_moved_repository_keeps_what_git_knows_of_its_worktrees() {
    let (repo, moved) = world();
    repo.sh(repo.root(), "mv repo repo2").ok();
    let private = "find repo2/.git/worktrees -type f | sort | xargs sha1sum";
    let before = repo.sh(repo.root(), private).ok();
    let pruned = repo.agentwt_in(&moved, &["prune"]);
    assert_eq!(repo.sh(repo.root(), private).ok(), before, "{pruned}");
    assert_snapshot!(pruned, @"
    kept
      record a: worktree `a` belongs to the repository $TMP/repo, and this is $TMP/repo2
        to go on: if this is a copy, run the command in the original: cd $TMP/repo; if the repository was moved, move it back to $TMP/repo
      record c: worktree `c` belongs to the repository $TMP/repo, and this is $TMP/repo2
        to go on: if this is a copy, run the command in the original: cd $TMP/repo; if the repository was moved, move it back to $TMP/repo
      record g: worktree `g` belongs to the repository $TMP/repo, and this is $TMP/repo2
        to go on: if this is a copy, run the command in the original: cd $TMP/repo; if the repository was moved, move it back to $TMP/repo
    --- status 0
    ");
    let undone = repo.agentwt_in(&moved, &["remove", "--undo", "b"]);
    assert_eq!(undone.status, 6, "{undone}");
    let listed = repo.agentwt_in(&moved, &["list", "--porcelain"]).ok();
    let names: Vec<_> = listed
        .lines()
        .filter_map(|line| line.split('\t').next())
        .collect();
    assert_eq!(names, ["a", "c", "g"], "{listed}");
    assert_eq!(listed.matches("damaged").count(), 3, "{listed}");
    assert_eq!(repo.sh(repo.root(), private).ok(), before);
    repo.sh(repo.root(), "mv repo2 repo").ok();
    repo.agentwt(&["restore", "a"]).ok();
    repo.agentwt(&["remove", "--undo", "b"]).ok();
    repo.agentwt(&["restore", "c"]).ok();
    repo.agentwt(&["verify", "--all"]).ok();
}

#[test]
fn a_second_path_to_the_same_repository_works() {
    let (repo, second) = world();
    // the repository stands elsewhere now, and a link leads to it
    repo.sh(repo.root(), "ln -s repo link").ok();
    let link = repo.root().join("link");
    assert_eq!(
        repo.agentwt_in(&link, &["path", "a"]).ok(),
        repo.agentwt(&["path", "a"]).ok()
    );
    repo.sh(repo.root(), "mv repo repo2; ln -s repo2 repo").ok();
    for name in ["a", "c", "g"] {
        repo.agentwt_in(&second, &["path", name]).ok();
    }
    // git's own links still name the old path: that violation is left
    let _ = repo.agentwt_in(&second, &["restore", "a"]).fails(1);
    repo.agentwt_in(&second, &["list"]).ok();
}

#[test]
fn without_its_private_git_directory_nothing_comes_back() {
    let (repo, _) = world();
    repo.sh(repo.main(), "rm -r .git/agentwt/trash/b-*/git")
        .ok();
    let said = repo.agentwt(&["remove", "--undo", "b"]);
    assert_eq!(said.status, 4, "{said}");
    assert_eq!(said.stdout, "", "{said}");
    let gone = "its private git directory $TMP/repo/.git/worktrees/b is gone";
    assert!(said.stderr.contains(gone), "{said}");
    let place = said.stderr.rsplit_once(" from $TMP/").expect("a place").1;
    let file = repo.root().join(place.trim()).join("src/new.rs");
    assert_eq!(std::fs::read(file).ok().as_deref(), Some(&b"B\n"[..]));
    assert!(!repo.worktree("b").exists());
}
