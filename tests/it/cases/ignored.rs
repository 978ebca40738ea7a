//! Untracked and ignored files: the rules of the base count, not the agent's.

use insta::assert_snapshot;

use super::{Case, after};

#[test]
fn what_the_base_ignores_is_build_output_and_no_finding() {
    let case = Case::new();
    case.does("mkdir -p target/debug; echo x >target/debug/bin; echo x >trace.log");
    assert_snapshot!(case.findings(), @"");
    assert_snapshot!(case.changes(), @"");
    let said = case
        .repo
        .agentwt_in(&case.worktree, &["changed", "--ignored"]);
    assert_snapshot!(said, @"
    created  target/debug/bin  ignored
    created  trace.log         ignored
    --- status 0
    ");
}

#[test]
fn a_rule_that_the_agent_added_hides_nothing() {
    assert_snapshot!(after("chmod u+w .gitignore; echo '*.tmp' >>.gitignore; echo x >notes.tmp"), @"
    .gitignore modified read-only violation
    notes.tmp created read-only violation
    ");
}

#[test]
fn a_rule_that_the_agent_committed_hides_nothing() {
    assert_snapshot!(after("chmod u+w .gitignore; echo '*.tmp' >>.gitignore; commit; echo x >notes.tmp"), @"
    .gitignore modified read-only violation
    notes.tmp created read-only violation
    ");
}

#[test]
fn a_new_gitignore_below_hides_nothing() {
    assert_snapshot!(after("echo '*' >docs/.gitignore; echo x >docs/n"), @"
    docs/.gitignore created read-only violation
    docs/n created read-only violation
    ");
}

#[test]
fn a_rule_in_info_exclude_hides_nothing() {
    assert_snapshot!(after("echo '*.tmp' >>$MAIN/.git/info/exclude; echo x >notes.tmp"), @"
    notes.tmp created read-only violation
    @git/info/exclude config shared violation
    ");
}

#[test]
fn a_rule_in_the_worktrees_own_excludes_file_hides_nothing() {
    let script = "echo '*.tmp' >../rules; git config --worktree core.excludesFile $WT/../rules; echo x >notes.tmp";
    assert_snapshot!(after(script), @"
    notes.tmp created read-only violation
    @wt/config.worktree config integrity violation
    ");
}

#[test]
fn a_tracked_file_that_an_ignore_rule_matches_is_still_tracked() {
    let repo = crate::support::TestRepo::project();
    repo.write("docs/kept.log", "kept\n");
    repo.git(&["add", "-f", "docs/kept.log"]);
    repo.commit_all("kept");
    let case = Case::of(repo);
    case.does("edit docs/kept.log");
    assert_snapshot!(case.findings(), @"docs/kept.log modified read-only violation");
}

#[test]
fn an_ignored_file_that_is_forced_into_the_index_is_a_violation() {
    assert_snapshot!(after("echo x >trace.log; git add -f trace.log"), @"trace.log created read-only violation");
}

#[test]
fn an_ignored_file_that_is_committed_is_a_violation() {
    assert_snapshot!(after("echo x >trace.log; git add -f trace.log; git commit -q -m log"), @"trace.log created read-only violation");
}

#[test]
fn rules_that_upstream_brought_count_once_they_are_merged() {
    let case = Case::new();
    case.main_does("echo '*.tmp' >>.gitignore; git commit -q -a -m rules");
    case.does("git merge -q main; echo x >notes.tmp");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn the_users_own_excludes_file_counts_as_it_was() {
    let repo = crate::support::TestRepo::project();
    crate::support::write(&repo.home(), b".config/git/ignore", b".DS_Store\n");
    let case = Case::of(repo);
    case.does("echo x >.DS_Store");
    assert_snapshot!(case.findings(), @"");
}
