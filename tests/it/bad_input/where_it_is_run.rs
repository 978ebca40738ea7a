//! Directories and repositories where nothing can be done.

use super::{SRC, is_one_error, refused};
use crate::support::TestRepo;

#[test]
fn no_repository() {
    let repo = TestRepo::project();
    for arguments in [SRC, &["init"]] {
        let said = repo.agentwt_in(&repo.home(), arguments);
        is_one_error(&said);
        insta::allow_duplicates! { insta::assert_snapshot!(said, @"
        --- stderr
        error: not in a git repository: $TMP/home
        help: run it inside a repository, or name one with `git agentwt -C <dir> …`
        --- status 2
        "); }
    }
    let names = std::fs::read_dir(repo.home()).expect("it is there").count();
    assert_eq!(names, 1, "only .gitconfig is there");
}

#[test]
fn a_directory_that_does_not_exist() {
    let repo = TestRepo::project();
    insta::assert_snapshot!(refused(&repo, &["-C", "nowhere", "init"]), @"
    --- stderr
    error: there is no directory $TMP/repo/nowhere
    help: create the directory first: mkdir -p $TMP/repo/nowhere
    --- status 2
    ");
}

#[test]
fn inside_the_git_directory() {
    let repo = TestRepo::project();
    let path = repo.agentwt_in(&repo.main().join(".git"), SRC).ok();
    assert_eq!(path, "$TMP/repo/.agentwt/worktrees/task-5");
}

#[test]
fn a_bare_repository_without_a_worktree() {
    let repo = TestRepo::project();
    repo.git_in(repo.root(), &["clone", "-q", "--bare", "repo", "bare.git"]);
    let bare = repo.root().join("bare.git");
    let before = repo
        .sh(&bare, "find . | sort; cat config info/exclude")
        .ok();
    for arguments in [SRC, &["init"]] {
        let said = repo.agentwt_in(&bare, arguments);
        is_one_error(&said);
        insta::allow_duplicates! { insta::assert_snapshot!(said, @"
        --- stderr
        error: this is a bare repository: there is no worktree to take the config from
        help: make a worktree and go there: git worktree add $TMP/main main && cd $TMP/main
        --- status 2
        "); }
    }
    let after = repo
        .sh(&bare, "find . | sort; cat config info/exclude")
        .ok();
    assert_eq!(after, before);
    // what is advised works, and is not advised again
    let place = repo.root().join("main");
    let make = format!("git worktree add -q {} main", place.display());
    repo.sh(&bare, &make).ok();
    let said = repo.agentwt_in(&bare, SRC);
    let help = "help: go to one of its worktrees: cd $TMP/main";
    assert!(said.stderr.contains(help), "{said}");
    repo.agentwt_in(&place, SRC).ok();
}

#[test]
fn a_repository_that_is_damaged() {
    let repo = TestRepo::project();
    std::fs::write(repo.main().join(".git/HEAD"), "garbage\n").expect("a file");
    let said = repo.agentwt(SRC);
    is_one_error(&said);
}

#[test]
fn a_repository_of_a_format_that_git_does_not_know() {
    let repo = TestRepo::project();
    repo.git(&["config", "core.repositoryFormatVersion", "9"]);
    let said = repo.agentwt(SRC);
    is_one_error(&said);
    assert_eq!(said.status, 5, "{said}");
}

#[test]
fn git_configuration_that_git_cannot_parse() {
    let repo = TestRepo::project();
    std::fs::write(repo.home().join(".gitconfig"), "[broken\n").expect("a file");
    let said = repo.agentwt(SRC);
    is_one_error(&said);
    assert_eq!(said.status, 5, "{said}");
}
