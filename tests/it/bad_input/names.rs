//! Names that are refused.

use super::{SRC, is_one_error, refused};
use crate::support::{TestRepo, binary};

#[test]
fn a_name_that_is_no_ref_or_path_part_is_refused() {
    let repo = TestRepo::project();
    let long = "x".repeat(300);
    for name in [
        "..",
        ".",
        "a..b",
        "a b",
        "a/b",
        "/abs",
        ".hidden",
        "a.lock",
        "a.",
        "täsk",
        "a\nb",
        "a\tb",
        "a~b",
        "a:b",
        "a*",
        "@{u}",
        "",
        "a\\b",
        "\u{202e}x",
        &long,
    ] {
        let said = refused(&repo, &["add", name, "--write", ""]);
        assert_eq!(said.status, 2, "{name:?}: {said}");
    }
}

#[test]
fn the_error_shows_the_name_and_the_rule() {
    let repo = TestRepo::project();
    insta::assert_snapshot!(refused(&repo, &["add", "a b", "--write", ""]), @"
    --- stderr
    error: cannot use `a b` as a name: a name has 1 to 100 of the letters A-Z and a-z, digits, `.`, `_` and `-`, does not start with `-` or `.`, and has no `..` and no `.` or `.lock` at its end
    help: for example: git agentwt add task-1
    --- status 2
    ");
    insta::assert_snapshot!(refused(&repo, &["add", "a\x1b[31mb", "--write", ""]), @r"
    --- stderr
    error: cannot use `a\033[31mb` as a name: a name has 1 to 100 of the letters A-Z and a-z, digits, `.`, `_` and `-`, does not start with `-` or `.`, and has no `..` and no `.` or `.lock` at its end
    help: for example: git agentwt add task-1
    --- status 2
    ");
}

#[test]
fn a_name_with_a_leading_dash_is_wrong_usage() {
    let repo = TestRepo::project();
    let before = repo.fingerprint();
    repo.agentwt(&["add", "-x", "--write", ""]).fails(2);
    repo.agentwt(&["add", "--write", "", "--", "-x"]).fails(2);
    assert_eq!(repo.fingerprint(), before);
}

#[test]
fn a_name_that_is_not_utf_8_is_wrong_usage() {
    use std::os::unix::ffi::OsStrExt;
    let repo = TestRepo::project();
    let before = repo.fingerprint();
    let mut command = repo.command(binary(), repo.main());
    command
        .arg("add")
        .arg(std::ffi::OsStr::from_bytes(b"t\xff"));
    let said = repo.said(&command.output().expect("it starts"));
    assert_eq!(said.status, 2, "{said}");
    assert_eq!(repo.fingerprint(), before);
}

#[test]
fn a_name_that_a_plain_worktree_has() {
    let repo = TestRepo::project();
    let path = ".agentwt/worktrees/task-5";
    repo.git(&["worktree", "add", "-q", path, "-b", "mine"]);
    insta::assert_snapshot!(refused(&repo, SRC), @"
    --- stderr
    error: cannot add `task-5`: $TMP/repo/.agentwt/worktrees/task-5 is a worktree that git-agentwt did not make
    help: take another name, or remove it with git: git worktree remove $TMP/repo/.agentwt/worktrees/task-5
    --- status 4
    ");
}

#[test]
fn a_name_that_a_file_or_a_directory_or_a_link_has() {
    let repo = TestRepo::project();
    repo.write(".agentwt/worktrees/task-5", "mine\n");
    insta::assert_snapshot!(refused(&repo, SRC), @"
    --- stderr
    error: cannot add `task-5`: $TMP/repo/.agentwt/worktrees/task-5 is there, and git-agentwt did not make it
    help: take another name, or move it away: mv $TMP/repo/.agentwt/worktrees/task-5 <elsewhere>
    --- status 4
    ");
    repo.write(".agentwt/worktrees/task-6/mine", "mine\n");
    refused(&repo, &["add", "task-6", "--write", ""]).fails(4);
    let link = repo.worktree("task-7");
    std::os::unix::fs::symlink("nowhere", link).expect("a link");
    refused(&repo, &["add", "task-7", "--write", ""]).fails(4);
}

#[test]
fn worktrees_that_are_a_link_elsewhere() {
    let repo = TestRepo::project();
    std::fs::create_dir(repo.root().join("elsewhere")).expect("a directory");
    std::fs::create_dir(repo.main().join(".agentwt")).expect("a directory");
    let link = repo.main().join(".agentwt/worktrees");
    std::os::unix::fs::symlink(repo.root().join("elsewhere"), link).expect("a link");
    let said = repo.agentwt(SRC);
    if said.status == 0 {
        assert_eq!(
            repo.findings(&repo.worktree("task-5")),
            "",
            "it works there: {said}"
        );
        repo.agentwt(SRC).ok();
    } else {
        is_one_error(&said);
    }
}

#[test]
fn agentwt_that_is_a_file() {
    let repo = TestRepo::project();
    repo.write(".agentwt", "a file\n");
    insta::assert_snapshot!(refused(&repo, SRC), @"
    --- stderr
    error: cannot write $TMP/repo/.agentwt/worktrees/.gitignore: Not a directory (os error 20)
    help: look at it with `ls -ld`, fix it, then try again
    --- status 6
    ");
    refused(&repo, &["init"]).fails(6);
}

#[test]
fn a_name_that_differs_only_in_case() {
    let repo = TestRepo::project();
    repo.agentwt(SRC).ok();
    insta::assert_snapshot!(refused(&repo, &["add", "Task-5", "--write", "src/**"]), @"
    --- stderr
    error: cannot add `Task-5`: there is `task-5`, and some file systems cannot tell them apart
    help: take a name that differs in more than case
    --- status 4
    ");
}

#[test]
fn a_name_whose_branch_is_there() {
    let repo = TestRepo::project();
    repo.git(&["branch", "agentwt/task-5"]);
    insta::assert_snapshot!(refused(&repo, SRC), @"
    --- stderr
    error: cannot add `task-5`: the branch `agentwt/task-5` exists
    help: to work on it: git agentwt add task-5 -b agentwt/task-5; to see what it has: git log agentwt/task-5
    --- status 4
    ");
}

#[test]
fn a_worktree_whose_directory_is_gone() {
    let repo = TestRepo::project();
    repo.agentwt(SRC).ok();
    std::fs::remove_dir_all(repo.worktree("task-5")).expect("it was there");
    insta::assert_snapshot!(refused(&repo, SRC), @"
    --- stderr
    error: the directory of worktree `task-5` does not exist: $TMP/repo/.agentwt/worktrees/task-5
    help: if a removal was interrupted: git agentwt remove --undo task-5; if the directory was deleted: git agentwt remove task-5
    --- status 6
    ");
}
