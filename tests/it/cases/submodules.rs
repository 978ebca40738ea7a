//! Submodules, which are a commit to the repository and a directory on disk.

use insta::assert_snapshot;

use super::Case;
use crate::support::TestRepo;

/// A project with a submodule at `vendor/lib`.
#[track_caller]
fn with_submodule() -> Case {
    let repo = TestRepo::project();
    let script = "git init -q ../lib; echo lib >../lib/lib.c; git -C ../lib add .
        git -C ../lib commit -q -m lib; git submodule --quiet add ../lib vendor/lib; git commit -q -m lib";
    repo.sh(repo.main(), script).ok();
    Case::of(repo)
}

#[test]
fn a_submodule_that_was_never_filled_is_no_finding() {
    assert_snapshot!(with_submodule().findings(), @"");
}

#[test]
fn a_submodule_that_was_filled_is_no_finding() {
    let case = with_submodule();
    case.does("git submodule --quiet update --init");
    assert_snapshot!(case.findings(), @"");
    assert_snapshot!(case.changes(), @"");
}

#[test]
fn a_commit_in_a_submodule_is_found() {
    let case = with_submodule();
    case.does(
        "git submodule --quiet update --init; cd vendor/lib; echo x >lib.c; git commit -q -a -m x",
    );
    assert_snapshot!(case.findings(), @"vendor/lib modified read-only violation");
}

#[test]
fn a_committed_move_of_a_submodule_is_found() {
    let case = with_submodule();
    case.does("git submodule --quiet update --init; (cd vendor/lib; git commit -q --allow-empty -m x); git add -A; git commit -q -m moved");
    assert_snapshot!(case.findings(), @"vendor/lib modified read-only violation");
}

#[test]
fn upstreams_move_of_a_submodule_is_no_change() {
    let case = with_submodule();
    case.does("git submodule --quiet update --init");
    case.main_does("git -C ../lib commit -q --allow-empty -m two; git -C vendor/lib pull -q; git commit -q -a -m moved");
    case.does("git merge -q main; git submodule --quiet update");
    assert_snapshot!(case.findings(), @"");
    assert_snapshot!(case.changes(), @"");
}

#[test]
fn a_file_in_the_directory_of_an_unfilled_submodule_is_found() {
    let case = with_submodule();
    case.does("echo x >vendor/lib/x");
    assert_snapshot!(case.findings(), @"
    vendor/lib deleted read-only violation
    vendor/lib/x created read-only violation
    ");
}

#[test]
fn a_file_in_place_of_a_submodule_is_found() {
    let case = with_submodule();
    case.does("rmdir vendor/lib; echo x >vendor/lib");
    assert_snapshot!(case.findings(), @"vendor/lib typechange read-only violation");
}

#[test]
fn a_submodule_that_was_removed_is_found() {
    let case = with_submodule();
    case.does("rm -rf vendor");
    assert_snapshot!(case.findings(), @"vendor/lib deleted read-only violation");
}

#[test]
fn an_edit_in_a_submodule_is_found() {
    let case = with_submodule();
    case.does(
        "git submodule --quiet update --init; echo x >vendor/lib/lib.c; echo n >vendor/lib/n",
    );
    assert_snapshot!(case.findings(), @"vendor/lib modified read-only violation");
}
