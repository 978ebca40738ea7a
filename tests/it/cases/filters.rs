//! Repositories in which files on disk differ from what git stores.

use insta::assert_snapshot;

use super::Case;
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

#[test]
fn the_very_bytes_that_git_stores_are_no_change() {
    let case = converted();
    case.does("chmod u+w README.md; echo 'read me' >README.md; chmod u+w docs/shout.up; echo shout >docs/shout.up");
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
