//! What the scope excludes: absent from the disk, and not to be touched anywhere.

use insta::assert_snapshot;

use super::{Case, after};

#[test]
fn an_excluded_file_that_is_created_again_as_it_was_is_present() {
    assert_snapshot!(after("mkdir -p secrets; git show HEAD:secrets/key.pem >secrets/key.pem"), @"secrets/key.pem present excluded violation");
}

#[test]
fn an_excluded_file_with_another_content_is_modified() {
    assert_snapshot!(after("mkdir -p secrets; echo mine >secrets/key.pem"), @"secrets/key.pem modified excluded violation");
}

#[test]
fn a_new_file_in_an_excluded_directory_is_created() {
    assert_snapshot!(after("mkdir -p secrets src/secrets; echo n >secrets/new; echo n >src/secrets/new"), @"
    secrets/new created excluded violation
    src/secrets/new created excluded violation
    ");
}

#[test]
fn a_sparse_checkout_that_was_switched_off_is_found_with_every_file_it_shows() {
    assert_snapshot!(after("git sparse-checkout disable"), @"
    app/secrets/token present excluded violation
    secrets/key.pem present excluded violation
    @wt/config.worktree config integrity violation
    ");
}

#[test]
fn other_sparse_patterns_are_found() {
    assert_snapshot!(after("git sparse-checkout add /secrets/"), @"@wt/info/sparse-checkout config integrity violation");
}

#[test]
fn narrower_sparse_patterns_delete_what_is_not_shown() {
    assert_snapshot!(after("git sparse-checkout set --no-cone /src /tests"), @"
    .gitignore deleted read-only violation
    README.md deleted read-only violation
    docs/api.md deleted read-only violation
    docs/guide.md deleted read-only violation
    link deleted read-only violation
    tools/run.sh deleted read-only violation
    @wt/index integrity integrity violation
    @wt/info/sparse-checkout config integrity violation
    ");
}

#[test]
fn an_excluded_file_that_was_checked_out_is_present() {
    assert_snapshot!(after("git checkout-index -a -f --ignore-skip-worktree-bits"), @"
    app/secrets/token present excluded violation
    secrets/key.pem present excluded violation
    ");
}

#[test]
fn an_excluded_file_changed_in_a_commit_only_is_a_violation() {
    let script = "b=$(echo x | git hash-object -w --stdin)
        git update-index --cacheinfo 100644,$b,secrets/key.pem; git commit -q -m x";
    assert_snapshot!(after(script), @"secrets/key.pem modified excluded violation");
}

#[test]
fn an_excluded_file_deleted_in_a_commit_is_a_violation() {
    assert_snapshot!(after("git rm -q --sparse --cached secrets/key.pem; git commit -q -m x"), @"secrets/key.pem deleted excluded violation");
}

#[test]
fn excluded_files_that_upstream_changed_stay_absent_and_are_no_finding() {
    let case = Case::new();
    case.main_does(
        "echo new >secrets/key.pem; echo more >secrets/more; git add -A; git commit -q -m secrets",
    );
    case.does("git merge -q main");
    assert_snapshot!(case.findings(), @"");
    case.does("test ! -e secrets");
}

#[test]
fn what_is_ignored_by_the_base_is_still_excluded() {
    assert_snapshot!(after("mkdir -p src/secrets; echo x >src/secrets/trace.log"), @"src/secrets/trace.log created excluded violation");
}
