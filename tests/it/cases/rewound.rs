//! States that the base branch had: before it was rewound, and since the worktree left it.

use insta::assert_snapshot;

use super::Case;
use crate::support::TestRepo;

/// The base has a second commit, which main can lose.
#[track_caller]
fn with_second() -> Case {
    let repo = TestRepo::project();
    repo.write("README.md", "second\n");
    repo.write("secrets/key.pem", "second\n");
    repo.commit_all("second");
    Case::of(repo)
}

#[test]
fn a_commit_that_main_had_is_upstreams_after_main_went_on() {
    let case = Case::new();
    case.does("edit src/main.rs; commit");
    case.main_does("echo one >>README.md; echo new >docs/new.md; git add -A; git commit -qm tip");
    case.does("git cherry-pick main >/dev/null");
    case.main_does("echo two >>README.md; git commit -qam more");
    assert_snapshot!(case.findings(), @"");
    case.does("edit README.md; git commit -qam mine");
    assert_snapshot!(case.findings(), @"README.md modified read-only violation");
}

#[test]
fn a_state_that_main_had_before_the_worktree_merged_it_is_a_change() {
    let case = Case::new();
    case.main_does(
        "echo one >>README.md; git commit -qam one; echo two >>README.md; git commit -qam two",
    );
    case.does("git merge -q main; git checkout -q main~1 -- README.md; git commit -qm back");
    assert_snapshot!(case.findings(), @"README.md modified read-only violation");
}

#[test]
fn a_commit_that_main_had_before_the_worktree_was_created_is_a_change() {
    let repo = TestRepo::project();
    repo.write("README.md", "given up\n");
    repo.commit_all("given up");
    // an `add` of a commit: main has a log, and is where it was
    repo.git(&["reset", "-q", "--hard", "HEAD~1"]);
    let case = Case::of(repo);
    case.does("git reset -q --hard main@{1}");
    assert_snapshot!(case.findings(), @"README.md modified read-only violation");
}

#[test]
fn a_rebase_onto_a_base_branch_that_was_reset_is_no_violation() {
    let case = with_second();
    case.does("edit src/main.rs; commit");
    case.main_does("git reset -q --hard HEAD~1");
    case.does("git rebase -q --onto main HEAD~1");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_worktree_that_drops_its_base_by_itself_is_told() {
    let case = with_second();
    case.does("git reset -q --hard HEAD~1");
    assert_snapshot!(case.findings(), @"@head ref integrity violation");
}

#[test]
fn an_excluded_file_in_conflict_during_a_merge_of_upstream_is_a_notice() {
    let case = with_second();
    case.main_does(
        "echo three >secrets/key.pem; echo three >README.md; git commit -qa --amend -m amended",
    );
    case.does("git merge -q main || true; grep -q '<<<' README.md");
    assert_snapshot!(case.findings(), @"
    README.md modified read-only notice
    secrets/key.pem modified excluded notice
    ");
    assert_snapshot!(case.changes(), @"
    modified  disk  README.md
    modified  disk  secrets/key.pem
    ");
    case.does("git checkout -q --theirs .; git add --sparse .; git commit -qm merge");
    // git leaves the file there
    assert_snapshot!(case.findings(), @"secrets/key.pem present excluded violation");
}

#[test]
fn a_base_branch_that_was_reset_to_where_another_remote_has_it_excuses_a_rebase_as_well() {
    let repo = TestRepo::project();
    repo.sh(
        repo.main(),
        "git clone -q --bare . ../a.git; git remote add a ../a.git; git fetch -q a
        echo second >>README.md; git commit -q -a -m second
        git clone -q --bare . ../b.git; git remote add b ../b.git; git fetch -q b",
    )
    .ok();
    let case = Case::of(repo);
    case.does("edit src/main.rs; commit");
    case.main_does("git -C ../b.git update-ref refs/heads/main main~1; git fetch -q b");
    case.does("git rebase -q --onto b/main HEAD~1");
    assert_snapshot!(case.findings(), @"");
}
