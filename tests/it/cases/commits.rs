//! Changes that were committed, and where HEAD and the branch were taken.

use insta::assert_snapshot;

use super::{Case, after};

#[test]
fn a_commit_in_scope_is_no_finding() {
    let case = Case::new();
    case.does("edit src/main.rs; commit");
    assert_snapshot!(case.findings(), @"");
    assert_snapshot!(case.changes(), @"modified  commit 691043535c,index,disk  src/main.rs");
}

#[test]
fn a_committed_edit_is_a_violation() {
    assert_snapshot!(after("edit README.md; commit"), @"README.md modified read-only violation");
}

#[test]
fn no_verify_hides_nothing() {
    assert_snapshot!(after("edit README.md; git commit -q -a --no-verify -m quiet"), @"README.md modified read-only violation");
}

#[test]
fn a_commit_without_any_hook_hides_nothing() {
    assert_snapshot!(after("edit README.md; git -c core.hooksPath=/dev/null commit -q -a -m quiet"), @"
    README.md modified read-only violation
    @head integrity integrity violation
    ");
}

#[test]
fn a_commit_with_the_worktree_clean_again_is_a_violation() {
    assert_snapshot!(after("edit README.md; commit; git rm -q --cached docs/guide.md; git commit -q -m two"), @"
    README.md modified read-only violation
    docs/guide.md deleted read-only violation
    ");
}

#[test]
fn an_amended_commit_counts_as_it_is_now() {
    assert_snapshot!(after("edit src/main.rs; commit; edit README.md; git commit -q -a --amend -m other"), @"README.md modified read-only violation");
}

#[test]
fn what_was_amended_away_is_a_notice() {
    let script = "edit README.md; edit src/main.rs; commit; git checkout -q HEAD~ -- README.md; git commit -q --amend -m less";
    assert_snapshot!(after(script), @"README.md modified history notice");
}

#[test]
fn the_base_amended_is_a_violation_of_its_files_and_of_head() {
    assert_snapshot!(after("edit README.md; git commit -q -a --amend -m base"), @"
    README.md modified read-only violation
    @head ref integrity violation
    ");
}

#[test]
fn the_base_amended_without_a_change_is_a_finding_of_head() {
    assert_snapshot!(after("git commit -q --amend -m 'another message'"), @"@head ref integrity violation");
}

#[test]
fn a_commit_that_was_reverted_is_a_notice() {
    assert_snapshot!(after("edit README.md; commit; git revert --no-edit HEAD >/dev/null"), @"README.md modified history notice");
}

#[test]
fn a_commit_that_was_reset_away_is_a_notice() {
    assert_snapshot!(after("edit README.md; commit; git reset -q --hard HEAD~"), @"README.md modified history notice");
}

#[test]
fn a_soft_reset_leaves_the_index_to_be_found() {
    let case = Case::new();
    case.does("edit README.md; commit; git reset -q --soft HEAD~");
    assert_snapshot!(case.findings(), @"README.md modified read-only violation");
}

#[test]
fn a_reset_behind_the_base_is_found() {
    let repo = crate::support::TestRepo::project();
    repo.write("docs/two.md", "two\n");
    repo.commit_all("two");
    let case = Case::of(repo);
    case.does("git reset -q --hard HEAD~");
    assert_snapshot!(case.findings(), @"@head ref integrity violation");
}

#[test]
fn an_orphan_branch_is_found() {
    assert_snapshot!(after("git checkout -q --orphan fresh; commit"), @"
    @head ref integrity violation
    @git/refs/heads/fresh ref shared notice
    ");
}

#[test]
fn an_orphan_branch_without_a_commit_is_found() {
    assert_snapshot!(after("git checkout -q --orphan fresh; edit README.md"), @"
    README.md modified read-only violation
    @head ref integrity violation
    ");
}

#[test]
fn another_branch_is_a_notice_even_without_a_change() {
    assert_snapshot!(after("git switch -q -c other"), @"
    @git/refs/heads/other ref shared notice
    @head ref integrity notice
    ");
}

#[test]
fn what_the_own_branch_has_is_found_from_another_branch() {
    assert_snapshot!(after("edit README.md; commit; git switch -q -c clean HEAD~"), @"
    README.md modified read-only violation
    @git/refs/heads/clean ref shared notice
    @head ref integrity notice
    ");
}

#[test]
fn commits_on_another_branch_are_found() {
    assert_snapshot!(after("git switch -q -c other; edit README.md; commit"), @"
    README.md modified read-only violation
    @git/refs/heads/other ref shared notice
    @head ref integrity notice
    ");
}

#[test]
fn a_branch_that_was_there_before_is_a_foreign_branch_and_no_change_of_its_files() {
    let repo = crate::support::TestRepo::project();
    repo.git(&["switch", "-q", "-c", "topic"]);
    repo.write("docs/topic.md", "topic\n");
    repo.commit_all("topic");
    repo.git(&["switch", "-q", "main"]);
    let case = Case::of(repo);
    case.does("git switch -q topic");
    assert_snapshot!(case.findings(), @"@head ref integrity violation");
    case.does("edit docs/topic.md");
    assert_snapshot!(case.findings(), @"
    docs/topic.md modified read-only violation
    @head ref integrity violation
    ");
}

#[test]
fn commits_on_a_detached_head_are_found() {
    assert_snapshot!(after("git checkout -q --detach; edit README.md; commit"), @"
    README.md modified read-only violation
    @head ref integrity notice
    ");
}

#[test]
fn commits_left_behind_on_a_detached_head_are_a_notice() {
    let script = "git checkout -q --detach; edit README.md; commit; git switch -q agentwt/task";
    assert_snapshot!(after(script), @"README.md modified history notice");
}

#[test]
fn a_branch_moved_by_plumbing_is_found() {
    let script = "edit README.md; git add -A; c=$(git commit-tree -p HEAD -m x $(git write-tree))
        git reset -q --hard; git update-ref refs/heads/agentwt/task $c";
    assert_snapshot!(after(script), @"README.md modified read-only violation");
}

#[test]
fn a_file_committed_through_another_index_is_found() {
    let script = "export GIT_INDEX_FILE=$WT/../other; git read-tree HEAD
        b=$(echo x | git hash-object -w --stdin); git update-index --add --cacheinfo 100644,$b,docs/x.md
        c=$(git commit-tree -p HEAD -m x $(git write-tree)); rm $GIT_INDEX_FILE; unset GIT_INDEX_FILE
        git update-ref HEAD $c";
    assert_snapshot!(after(script), @"docs/x.md created read-only violation");
}

#[test]
fn each_of_several_commits_is_named_by_the_newest_that_touched_the_path() {
    let case = Case::new();
    case.does(
        "edit README.md; commit one; edit docs/api.md; commit two; edit README.md; commit three",
    );
    assert_snapshot!(case.changes(), @"
    modified  commit 6a58f1e989,index,disk  README.md
    modified  commit 383c2958aa,index,disk  docs/api.md
    ");
}

#[test]
fn a_change_seen_in_several_places_is_one_change() {
    let case = Case::new();
    case.does("edit README.md; commit; edit README.md; git add README.md; edit README.md");
    assert_snapshot!(case.changes(), @"modified  commit a79582bc1d,index,disk  README.md");
}

#[test]
fn a_mode_change_that_was_committed_is_found() {
    assert_snapshot!(after("git update-index --chmod=+x docs/api.md; git commit -q -m mode"), @"docs/api.md mode read-only violation");
}

#[test]
fn the_empty_tree_needs_no_object() {
    let case = Case::new();
    case.does(
        "empty=$(git hash-object -t tree /dev/null); git reset -q --hard $(git commit-tree -p HEAD -m empty $empty)
        [ ! -e $MAIN/.git/objects/4b/825dc642cb6eb9a060e54bf8d69288fbee4904 ]",
    );
    let findings = case.findings();
    let expected = "README.md deleted read-only violation";
    assert!(findings.contains(expected), "{findings}");
}
