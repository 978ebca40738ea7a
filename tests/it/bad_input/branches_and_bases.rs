//! Branches and bases that are refused.

use super::{SRC, refused};
use crate::support::TestRepo;

#[test]
fn a_branch_that_is_a_directory_of_another_and_the_other_way_round() {
    let repo = TestRepo::project();
    repo.git(&["branch", "agentwt"]);
    insta::assert_snapshot!(refused(&repo, SRC), @"
    --- stderr
    error: cannot make the branch `agentwt/task-5`: the branch `agentwt` is in its way
    help: rename one (git branch -m agentwt <new>), or set another `branch_prefix` in the config
    --- status 4
    ");
    let repo = TestRepo::project();
    repo.git(&["branch", "agentwt/task-5/sub"]);
    insta::assert_snapshot!(refused(&repo, SRC), @"
    --- stderr
    error: cannot make the branch `agentwt/task-5`: the branch `agentwt/task-5/sub` is in its way
    help: rename one (git branch -m agentwt/task-5/sub <new>), or set another `branch_prefix` in the config
    --- status 4
    ");
}

#[test]
fn a_branch_that_git_does_not_accept() {
    let repo = TestRepo::project();
    for branch in [
        "a..b",
        "-x",
        "a b",
        "x.lock",
        "HEAD",
        "a//b",
        "/a",
        "a/",
        "",
        "refs/heads/",
    ] {
        let said = refused(
            &repo,
            &["add", "t", "--write", "", &format!("--branch={branch}")],
        );
        assert_eq!(said.status, 2, "{branch:?}: {said}");
    }
    insta::assert_snapshot!(refused(&repo, &["add", "t", "--write", "", "-b", "a..b"]), @"
    --- stderr
    error: git does not accept `a..b` as the name of a branch
    help: see git-check-ref-format(1); the prefix is `branch_prefix` in the config
    --- status 2
    ");
}

#[test]
fn a_branch_that_is_checked_out() {
    let repo = TestRepo::project();
    insta::assert_snapshot!(refused(&repo, &["add", "t", "--write", "", "-b", "main"]), @"
    --- stderr
    error: the branch `main` is checked out at $TMP/repo
    help: switch that worktree away from it: git -C $TMP/repo switch <branch>
    --- status 4
    ");
}

#[test]
fn a_branch_that_is_being_rebased_elsewhere() {
    let repo = TestRepo::project();
    repo.git(&["worktree", "add", "-q", "../plain", "-b", "topic"]);
    let plain = repo.root().join("plain");
    repo.commit_all_in(&plain, "two");
    let line = "GIT_SEQUENCE_EDITOR='sed -i 1iedit' git rebase -i HEAD~1; \
        GIT_SEQUENCE_EDITOR='sed -i s/^pick/edit/' git rebase -q -i HEAD~1";
    let _ = repo.sh(&plain, line);
    let said = refused(&repo, &["add", "t", "--write", "", "-b", "topic"]);
    assert!([4, 5].contains(&said.status), "{said}");
}

#[test]
fn a_base_that_does_not_exist() {
    let repo = TestRepo::project();
    insta::assert_snapshot!(refused(&repo, &[SRC, &["--base", "no/such"]].concat()), @"
    --- stderr
    error: cannot add `task-5`: there is no commit `no/such` (--base)
    help: see what there is: git branch -a; to get what a remote has: git fetch
    --- status 2
    ");
    for base in [
        "-x",
        "HEAD:README.md",
        "HEAD^{tree}",
        "main..main",
        "^main",
        "a b",
        "@{99}",
    ] {
        let said = refused(&repo, &[SRC, &[&format!("--base={base}")]].concat());
        assert_eq!(said.status, 2, "{base:?}: {said}");
    }
}

#[test]
fn a_base_in_the_config_that_does_not_exist() {
    let repo = TestRepo::project();
    let config = "schema_version = \"1.0\"\n[worktree]\nbase = \"trunk\"\n";
    repo.write(".agentwt/config.toml", config);
    insta::assert_snapshot!(refused(&repo, SRC), @"
    --- stderr
    error: cannot add `task-5`: there is no commit `trunk` (.agentwt/config.toml:3)
    help: see what there is: git branch -a; to get what a remote has: git fetch
    --- status 2
    ");
}

#[test]
fn a_base_that_is_no_ancestor_of_the_branch() {
    let repo = TestRepo::project();
    repo.git(&["branch", "fix"]);
    repo.commit_all("two");
    let arguments = [SRC, &["-b", "fix", "--base", "main"]].concat();
    insta::assert_snapshot!(refused(&repo, &arguments), @"
    --- stderr
    error: the base 9c8c2ce2e6 is not an ancestor of the branch `fix`
    help: leave --base out to count from the branch's tip, or take: git merge-base HEAD fix
    --- status 4
    ");
}

#[test]
fn a_detached_main_worktree_has_no_default_base() {
    let repo = TestRepo::project();
    repo.git(&["switch", "-q", "--detach"]);
    insta::assert_snapshot!(refused(&repo, SRC), @"
    --- stderr
    error: cannot add `task-5`: the main worktree is on no branch, so there is no default base
    help: name one: git agentwt add task-5 --base HEAD
    --- status 2
    ");
    repo.agentwt(&[SRC, &["--base", "HEAD"]].concat()).ok();
}

#[test]
fn a_detached_main_worktree_with_an_existing_branch_needs_no_base() {
    let repo = TestRepo::project();
    repo.git(&["branch", "fix"]);
    repo.git(&["switch", "-q", "--detach"]);
    repo.agentwt(&[SRC, &["-b", "fix"]].concat()).ok();
}

#[test]
fn an_unborn_branch() {
    let repo = TestRepo::empty();
    insta::assert_snapshot!(refused(&repo, SRC), @"
    --- stderr
    error: cannot add `task-5`: the repository has no commit yet
    help: make a first commit: git add -A && git commit -m 'first commit'
    --- status 4
    ");
}

#[test]
fn an_orphan_branch_in_a_repository_with_commits() {
    let repo = TestRepo::project();
    repo.git(&["switch", "-q", "--orphan", "fresh"]);
    let said = refused(&repo, SRC);
    assert_eq!(said.status, 4, "{said}");
    repo.agentwt(&[SRC, &["--base", "main"]].concat()).ok();
}

#[test]
fn a_base_whose_objects_are_missing() {
    let repo = TestRepo::project();
    let blob = repo.git(&["rev-parse", "HEAD:docs/api.md"]);
    let (directory, file) = blob.split_at(2);
    let object = repo.main().join(".git/objects").join(directory).join(file);
    std::fs::remove_file(object).expect("it was there");
    let said = refused(&repo, SRC);
    assert_eq!(said.status, 5, "{said}");
    let tree = repo.git(&["rev-parse", "HEAD:src"]);
    let (directory, file) = tree.split_at(2);
    let object = repo.main().join(".git/objects").join(directory).join(file);
    std::fs::remove_file(object).expect("it was there");
    let said = refused(&repo, SRC);
    assert_eq!(said.status, 5, "{said}");
}
