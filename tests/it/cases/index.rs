//! Changes that the index shows or hides.

use insta::assert_snapshot;

use super::{Case, after};

#[test]
fn a_staged_edit_is_a_violation() {
    assert_snapshot!(after("edit README.md; git add README.md"), @"README.md modified read-only violation");
}

#[test]
fn a_staged_edit_with_the_file_put_back_is_a_violation_seen_in_the_index() {
    let case = Case::new();
    case.does("edit README.md; git add README.md; git show HEAD:README.md >README.md");
    assert_snapshot!(case.findings(), @"README.md modified read-only violation");
    assert_snapshot!(case.changes(), @"modified  index  README.md");
}

#[test]
fn what_was_staged_and_taken_back_is_no_finding() {
    assert_snapshot!(after("edit README.md; git add README.md; git reset -q --hard"), @"");
    assert_snapshot!(after("edit src/main.rs; git add -A; git restore --staged ."), @"");
}

#[test]
fn a_file_taken_out_of_the_index_is_deleted() {
    let case = Case::new();
    case.does("git rm -q --cached README.md");
    assert_snapshot!(case.findings(), @"README.md deleted read-only violation");
    assert_snapshot!(case.changes(), @"deleted  index  README.md");
}

#[test]
fn a_file_only_announced_is_found_once() {
    assert_snapshot!(after("echo n >docs/n.md; git add -N docs/n.md"), @"docs/n.md created read-only violation");
}

#[test]
fn an_entry_without_a_file_is_found() {
    let script = "b=$(echo x | git hash-object -w --stdin)
        git update-index --add --cacheinfo 100644,$b,docs/ghost.md";
    assert_snapshot!(after(script), @"docs/ghost.md created read-only violation");
}

#[test]
fn assume_unchanged_hides_nothing() {
    let case = Case::new();
    case.does("git update-index --assume-unchanged README.md docs/api.md; edit README.md; rm -f docs/api.md");
    assert_snapshot!(case.findings(), @"
    README.md modified read-only violation
    docs/api.md deleted read-only violation
    @wt/index integrity integrity violation
    ");
    assert_snapshot!(case.changes(), @"
    modified  hidden by assume-unchanged  README.md
    deleted  hidden by assume-unchanged  docs/api.md
    integrity  disk  @wt/index
    ");
}

#[test]
fn skip_worktree_hides_nothing() {
    let case = Case::new();
    case.does(
        "git update-index --skip-worktree README.md docs/api.md; edit README.md; rm -f docs/api.md",
    );
    assert_snapshot!(case.findings(), @"
    README.md modified read-only violation
    docs/api.md deleted read-only violation
    @wt/index integrity integrity violation
    ");
    assert_snapshot!(case.changes(), @"
    modified  hidden by skip-worktree  README.md
    deleted  hidden by skip-worktree  docs/api.md
    integrity  disk  @wt/index
    ");
}

#[test]
fn a_conflict_in_scope_is_no_finding() {
    let case = Case::new();
    case.does("echo ours >src/main.rs; commit");
    case.main_does("echo theirs >src/main.rs; git commit -q -a -m theirs");
    case.does("! git merge -q main");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_conflict_out_of_scope_is_found() {
    let case = Case::new();
    case.does("edit docs/api.md; commit");
    case.main_does("echo theirs >docs/api.md; git commit -q -a -m theirs");
    case.does("! git merge -q main");
    assert_snapshot!(case.findings(), @"docs/api.md modified read-only violation");
}

#[test]
fn a_conflict_of_an_excluded_path_is_found_while_it_is_on_disk() {
    let case = Case::new();
    case.does(
        "b=$(echo mine | git hash-object -w --stdin)
        git update-index --cacheinfo 100644,$b,secrets/key.pem; git commit -q -m mine",
    );
    case.main_does("echo theirs >secrets/key.pem; git commit -q -a -m theirs");
    case.does("! git merge -q main");
    assert_snapshot!(case.findings(), @"secrets/key.pem modified excluded violation");
}

#[test]
fn a_split_index_is_read() {
    assert_snapshot!(after("git update-index --split-index; edit README.md; git add README.md"), @"README.md modified read-only violation");
}

#[test]
fn the_untracked_cache_and_fsmonitor_are_not_believed() {
    let script = "git update-index --untracked-cache; git status -s >/dev/null
        git config --worktree core.fsmonitor true 2>/dev/null || true
        git update-index --fsmonitor-valid README.md 2>/dev/null || true; edit README.md; echo n >docs/n";
    assert_snapshot!(after(script), @"
    README.md modified read-only violation
    docs/n created read-only violation
    @wt/config.worktree config integrity violation
    ");
}
