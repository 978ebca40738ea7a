//! Repositories in which files on disk differ from what git stores.

use insta::assert_snapshot;

use super::{Case, with_crlf};
use crate::support::TestRepo;

/// Line endings on disk are CRLF, `*.up` goes through a filter of the user's.
#[track_caller]
fn converted() -> Case {
    let repo = TestRepo::empty();
    let sed = "[filter \"case\"]\n\tclean = tr A-Z a-z\n\tsmudge = tr a-z A-Z\n";
    let config = std::fs::read_to_string(repo.home().join(".gitconfig")).expect("it is there");
    std::fs::write(repo.home().join(".gitconfig"), config + sed).expect("it can be written");
    repo.write(".gitattributes", "*.md text eol=crlf\n*.up filter=case\n*.id ident\n*.u16 text working-tree-encoding=UTF-16LE eol=lf\n");
    repo.write("docs/shout.up", "shout\n");
    repo.write("docs/v.id", "$Id$\n");
    repo.git(&["add", ".gitattributes"]);
    repo.git(&["commit", "-q", "-m", "attributes"]);
    std::fs::write(repo.main().join("docs/wide.u16"), b"w\0i\0\n\0").expect("it can be written");
    repo.fill();
    Case::of(repo)
}

#[test]
fn conversions_alone_are_no_change() {
    let case = converted();
    case.does("grep -q SHOUT docs/shout.up; grep -q \"$(printf '\\r')\" README.md");
    assert_snapshot!(case.findings(), @"");
    assert_snapshot!(case.changes(), @"");
}

#[test]
fn a_touched_file_is_no_change_where_filters_are_at_work() {
    let case = converted();
    case.does("touch README.md docs/shout.up docs/v.id docs/wide.u16");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn files_that_git_writes_again_are_no_change_where_filters_are_at_work() {
    let case = converted();
    case.does("rm -f README.md docs/*; git checkout -q -- .");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn upstreams_changes_of_filtered_files_are_no_change() {
    let case = converted();
    case.main_does("printf 'LOUD\\r\\n' >README.md; echo LOUDER >docs/shout.up; echo NEW >docs/new.up
        printf 'x\\0\\n\\0' >docs/wide.u16; echo '$Id$ two' >docs/v.id; git add -A; git commit -q -m up");
    case.does("git merge -q main");
    assert_snapshot!(case.findings(), @"");
    assert_snapshot!(case.changes(), @"");
}

#[test]
fn an_edit_that_a_filter_hides_from_git_is_found() {
    let case = converted();
    case.does("chmod u+w docs/shout.up README.md; echo Shout >docs/shout.up; printf 'read me\\r\\nmore' >README.md
        git status --porcelain | grep -v README.md || true");
    assert_snapshot!(case.findings(), @"
    README.md modified read-only violation
    docs/shout.up modified read-only violation
    ");
}

/// Puts what git stores in place of what a checkout writes.
const AS_STORED: &str = "chmod u+w README.md docs/shout.up
    for f in README.md docs/shout.up; do git cat-file blob HEAD:$f >$f; done";

#[test]
fn the_very_bytes_that_git_stores_are_a_change_where_a_checkout_writes_others() {
    let case = converted();
    case.does(AS_STORED);
    let both = "
    README.md modified read-only violation
    docs/shout.up modified read-only violation
    ";
    assert_eq!(case.findings(), both.replace("\n    ", "\n").trim_start());
    // nor does a filter run to say otherwise that was planted meanwhile
    case.main_does("git config filter.case.smudge \"touch '$MAIN/ran'; cat\"");
    let found = case.findings();
    assert!(
        found.contains(both.trim().replace("\n    ", "\n").as_str()),
        "{found}"
    );
    assert!(!case.repo.main().join("ran").exists());
}

#[test]
fn what_git_stores_is_put_back_and_brought_back() {
    let case = converted();
    case.does(AS_STORED);
    let again = |arguments: &[&str]| case.repo.agentwt(arguments).ok();
    again(&["restore", "task"]);
    assert_snapshot!(case.findings(), @"");
    case.does("grep -q SHOUT docs/shout.up; grep -q \"$(printf '\\r')\" README.md");
    again(&["restore", "task", "--undo"]);
    case.does("grep -q shout docs/shout.up; ! grep -q \"$(printf '\\r')\" README.md");
    again(&["restore", "task", "--undo"]);
}

#[test]
fn attributes_that_upstream_took_away_are_followed() {
    let case = converted();
    case.main_does(
        "sed -i '/md\\|up/d' .gitattributes; git add -A --renormalize; git commit -qm plain",
    );
    case.does(
        "git merge -q main; rm -f README.md docs/shout.up; git checkout -q .
        cmp $MAIN/README.md README.md; git cat-file blob HEAD:docs/shout.up | cmp - docs/shout.up",
    );
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn attributes_that_only_the_worktree_has_merged_are_followed() {
    let repo = TestRepo::project();
    repo.write(".gitattributes", "*.md text eol=crlf\n");
    repo.commit_all("attributes");
    repo.sh(
        repo.root(),
        "git clone -q --bare repo up.git; git -C repo remote add origin \"$PWD/up.git\"; git -C repo fetch -q
        git -C repo branch -q -u origin/main; git clone -q up.git other; cd other
        echo '*.nothing text' >.gitattributes; echo v2 >docs/api.md
        git -c user.name=u -c user.email=u@e commit -qm plain .gitattributes docs/api.md; git push -q origin HEAD:main",
    )
    .ok();
    let case = Case::of(repo);
    case.does("grep -q \"$(printf '\\r')\" README.md; git fetch -q origin; git merge -q origin/main
        rm -f README.md; git checkout -q README.md; ! grep -q \"$(printf '\\r')\" README.md docs/api.md");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn what_upstream_normalizes_again_is_no_change() {
    let case = Case::of(with_crlf());
    case.main_does(
        "echo '*.txt text' >.gitattributes; git add --renormalize .; git add -A; git commit -qm lf",
    );
    case.does("git merge -q main; rm -f docs/crlf.txt; git checkout -q docs/crlf.txt");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn attributes_that_upstream_brought_are_followed() {
    let case = Case::new();
    case.main_does(
        "echo '*.md text eol=crlf' >.gitattributes; git add -A; git commit -q -m attributes
        printf 'two\\r\\n' >docs/api.md; git commit -q -a -m api",
    );
    case.does("git merge -q main; grep -q \"$(printf '\\r')\" docs/api.md");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn the_same_bytes_of_another_blob_are_no_change() {
    let repo = TestRepo::project();
    repo.sh(
        repo.main(),
        "printf 'a\\r\\nb\\r\\n' >docs/crlf.txt; git add -A; git commit -qm crlf",
    )
    .ok();
    let case = Case::of(repo);
    case.main_does("echo '*.txt text eol=crlf' >.gitattributes; git add --renormalize .; git add -A; git commit -qm lf");
    case.does("git merge -q main; grep -q \"$(printf '\\r')\" docs/crlf.txt");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn autocrlf_is_followed() {
    let repo = TestRepo::project();
    repo.git(&["config", "core.autocrlf", "true"]);
    let case = Case::of(repo);
    case.does("grep -q \"$(printf '\\r')\" README.md; touch README.md");
    assert_snapshot!(case.findings(), @"");
    case.main_does("printf 'v2\\r\\n' >docs/api.md; git commit -q -a -m up");
    case.does("git merge -q main");
    assert_snapshot!(case.findings(), @"");
}
