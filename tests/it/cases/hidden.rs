//! What hides a change from git itself: flags in the index, settings of the worktree, attributes.
//! None of it hides anything here, and the means is a finding too where it is the worktree's own.

use insta::assert_snapshot;

use super::{Case, after};

#[test]
fn a_mode_that_file_mode_hides_is_found() {
    assert_snapshot!(after("git config --worktree core.fileMode false; chmod +x README.md"), @"
    README.md mode read-only violation
    @wt/config.worktree config integrity violation
    ");
}

#[test]
fn a_deletion_that_assume_unchanged_hides_is_found() {
    assert_snapshot!(after("git update-index --assume-unchanged README.md; rm -f README.md"), @"
    README.md deleted read-only violation
    @wt/index integrity integrity violation
    ");
}

#[test]
fn a_deletion_that_skip_worktree_hides_is_found() {
    assert_snapshot!(after("git update-index --skip-worktree README.md; rm -f README.md"), @"
    README.md deleted read-only violation
    @wt/index integrity integrity violation
    ");
}

#[test]
fn an_edit_that_skip_worktree_hides_without_sparse_checkout_is_found() {
    assert_snapshot!(after("git update-index --skip-worktree README.md; git config --worktree core.sparseCheckout false; edit README.md"), @"
    README.md modified read-only violation
    @wt/config.worktree config integrity violation
    @wt/index integrity integrity violation
    ");
}

#[test]
fn an_edit_that_expected_files_outside_of_patterns_hide_is_found() {
    let script = "git config --worktree sparse.expectFilesOutsideOfPatterns true
        git update-index --skip-worktree README.md; edit README.md; mkdir -p secrets; echo evil >secrets/key.pem";
    assert_snapshot!(after(script), @"
    README.md modified read-only violation
    secrets/key.pem modified excluded violation
    @wt/config.worktree config integrity violation
    @wt/index integrity integrity violation
    ");
}

#[test]
fn an_edit_that_ignored_stat_data_hide_is_found() {
    assert_snapshot!(after("git config --worktree core.ignoreStat true; git update-index --assume-unchanged README.md; edit README.md"), @"
    README.md modified read-only violation
    @wt/config.worktree config integrity violation
    @wt/index integrity integrity violation
    ");
}

#[test]
fn an_edit_of_the_same_size_and_time_is_found() {
    let same =
        "touch -d '2 hours ago' README.md; git update-index -q --refresh; chmod u+w README.md
        touch -r README.md ../time; printf 'READ ME\\n' >README.md; touch -r ../time README.md";
    assert_snapshot!(after(same), @"README.md modified read-only violation");
    assert_snapshot!(after(&format!("git config --worktree core.trustctime false; {same}")), @"
    README.md modified read-only violation
    @wt/config.worktree config integrity violation
    ");
    assert_snapshot!(after(&format!("git config --worktree core.trustctime false; git config --worktree core.checkStat minimal; {same}")), @"
    README.md modified read-only violation
    @wt/config.worktree config integrity violation
    ");
}

#[test]
fn a_file_that_a_setting_of_the_user_ignores_from_now_on_is_found() {
    assert_snapshot!(after("mkdir -p \"$XDG_CONFIG_HOME/git\"; echo 'docs/*' >\"$XDG_CONFIG_HOME/git/ignore\"; echo x >docs/new"), @"docs/new created read-only violation");
}

#[test]
fn a_file_that_was_untracked_in_a_commit_and_then_ignored_is_deleted() {
    let script = "git rm -q --cached docs/guide.md; git commit -q -m x; echo /docs/guide.md >>\"$MAIN/.git/info/exclude\"";
    assert_snapshot!(after(script), @"
    docs/guide.md deleted read-only violation
    @git/info/exclude config shared notice
    ");
}

#[test]
fn line_ends_that_an_attribute_hides_are_found() {
    let script = "echo '*.md text' >>\"$MAIN/.git/info/attributes\"; chmod u+w README.md; printf 'read me\\r\\n' >README.md; git status >/dev/null";
    assert_snapshot!(after(&format!("mkdir -p \"$MAIN/.git/info\"; {script}")), @"
    README.md modified read-only violation
    @git/info/attributes config shared violation
    ");
}

#[test]
fn line_ends_that_autocrlf_hides_are_found() {
    assert_snapshot!(after("git config --worktree core.autocrlf input; chmod u+w README.md; printf 'read me\\r\\n' >README.md"), @"
    README.md modified read-only violation
    @wt/config.worktree config integrity violation
    ");
}

#[test]
fn line_ends_that_own_attributes_hide_are_found() {
    assert_snapshot!(after("echo '*.md eol=crlf' >docs/.gitattributes; chmod u+w docs/api.md; printf 'api v1\\r\\n' >docs/api.md"), @"
    docs/.gitattributes created read-only violation
    docs/api.md modified read-only violation
    ");
}

#[test]
fn another_encoding_that_an_attribute_hides_is_found() {
    let script = "mkdir -p \"$MAIN/.git/info\"; echo 'README.md working-tree-encoding=UTF-16LE' >>\"$MAIN/.git/info/attributes\"
        chmod u+w README.md; printf 'r\\0e\\0a\\0d\\0 \\0m\\0e\\0\\n\\0' >README.md; git status >/dev/null";
    assert_snapshot!(after(script), @"
    README.md modified read-only violation
    @git/info/attributes config shared violation
    ");
}

#[test]
fn a_filter_of_the_worktree_that_writes_something_else_is_found() {
    let script = "git config --worktree filter.f.clean 'echo read me'; git config --worktree filter.f.smudge 'echo evil'
        echo 'README.md filter=f' >.gitattributes; rm -f README.md; git checkout -q -- README.md; grep -q evil README.md";
    assert_snapshot!(after(script), @"
    .gitattributes created read-only violation
    README.md modified read-only violation
    @wt/config.worktree config integrity violation
    ");
}

#[test]
fn an_edit_beside_a_clean_copy_that_git_is_pointed_at_is_found() {
    assert_snapshot!(after("cp -a . ../../../copy; edit README.md; git config --worktree core.worktree \"$MAIN/copy\""), @"
    README.md modified read-only violation
    @wt/config.worktree config integrity violation
    ");
}

#[test]
fn grafts_and_a_shallow_file_hide_no_commit() {
    assert_snapshot!(after("edit README.md; commit; mkdir -p \"$MAIN/.git/info\"; git rev-parse HEAD >\"$MAIN/.git/info/grafts\""), @"
    README.md modified read-only violation
    @git/info/grafts integrity shared violation
    ");
    let findings = after("edit README.md; commit; git rev-parse HEAD >\"$MAIN/.git/shallow\"");
    assert!(
        findings.starts_with("README.md modified read-only violation\n"),
        "{findings}"
    );
}

#[test]
fn a_rename_that_only_case_tells_apart_is_found_where_git_was_told_not_to_see_it() {
    assert_snapshot!(after("git config --worktree core.ignoreCase true; mv README.md readme.md"), @"
    README.md deleted read-only violation
    readme.md created read-only violation
    @wt/config.worktree config integrity violation
    ");
}

#[test]
fn a_harmless_setting_of_the_worktree_alone_is_a_notice_with_its_name() {
    let case = Case::new();
    case.does("git config --worktree user.email z@z; git config --worktree user.name Z");
    assert_snapshot!(case.findings(), @"@wt/config.worktree config integrity notice");
    assert_snapshot!(case.repo.agentwt(&["verify", "task"]), @"
    ok task: in scope, 0 paths changed, 1 notice
      -  config  @wt/config.worktree  disk  added since `add`: user.email=z@z, user.name=Z
    --- status 0
    ");
    // one that is not harmless beside it, and a changed one
    case.does("git config --worktree core.pager less");
    let said = case.repo.agentwt(&["verify", "task"]);
    assert!(said.stdout.contains("and says: core.pager=less,"), "{said}");
    said.fails(1);
    case.does("git config --worktree --unset core.pager");
    case.does("git config --worktree --unset-all include.path");
    assert!(
        case.findings()
            .contains("@wt/config.worktree config integrity violation")
    );
}
