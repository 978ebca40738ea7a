//! Conversions that no file of the commit asks for: attributes of the user, attributes from
//! another tree, and objects that stand in the place of others.

use super::Case;
use crate::support::TestRepo;

/// A repository whose user has this in the attributes of all repositories, without a setting.
#[track_caller]
fn with_users(attributes: &str) -> TestRepo {
    let repo = TestRepo::project();
    write_users(&repo, attributes);
    repo
}

#[track_caller]
fn write_users(repo: &TestRepo, attributes: &str) {
    let directory = repo.home().join(".config/git");
    std::fs::create_dir_all(&directory).expect("it can be made");
    std::fs::write(directory.join("attributes"), attributes).expect("it can be written");
}

/// That nothing is found before the files are looked at anew, after, and when git has written
/// them again; and that an edit is.
#[track_caller]
fn only_edits_are_found(case: &Case) {
    assert_eq!(case.findings(), "");
    case.does("touch README.md docs/*");
    assert_eq!(case.findings(), "", "touched");
    case.does("rm -f README.md docs/*; git checkout -q -- .");
    assert_eq!(case.findings(), "", "written again");
    case.does("edit README.md");
    assert_eq!(case.findings(), "README.md modified read-only violation\n");
}

const HAS_CR: &str = "grep -q \"$(printf '\\r')\" README.md";

#[test]
fn the_users_attributes_of_all_repositories_count_without_a_setting() {
    let case = Case::of(with_users("*.md text eol=crlf\n"));
    case.does(HAS_CR);
    only_edits_are_found(&case);
}

#[test]
fn attributes_of_the_user_that_cannot_be_read_stop_nothing() {
    let repo = TestRepo::project();
    let file = repo.home().join(".config/git/attributes");
    std::fs::create_dir_all(file).expect("a directory stands in its place");
    // git passes over it
    let mut add = repo.command("git-agentwt", repo.main());
    let add = add.args(["add", "task", "--write", "src/**"]);
    let said = add.output();
    let _ = repo.said(&said.expect("it runs")).ok();
    let worktree = repo.worktree("task");
    only_edits_are_found(&Case { repo, worktree });
}

#[test]
fn attributes_from_another_tree_count() {
    let repo = TestRepo::project();
    repo.sh(
        repo.main(),
        "set -e; echo '*.md text eol=crlf' | git hash-object -w --stdin >.git/id
        printf '100644 blob %s\\t.gitattributes\\n' \"$(cat .git/id)\" | git mktree >.git/tree
        git update-ref refs/heads/zz \"$(git commit-tree -m zz \"$(cat .git/tree)\")\"
        git config attr.tree refs/heads/zz",
    )
    .ok();
    only_edits_are_found(&Case::of(repo));
}

#[test]
fn what_stood_in_the_place_of_an_object_is_as_it_was_however_it_is_looked_at() {
    let repo = TestRepo::project();
    repo.sh(
        repo.main(),
        "set -e; echo other | git hash-object -w --stdin >.git/id
        git replace \"$(git rev-parse HEAD:README.md)\" \"$(cat .git/id)\"",
    )
    .ok();
    let case = Case::of(repo);
    case.does("grep -q other README.md");
    let whole = |case: &Case| {
        let mut command = case.repo.command("git-agentwt", &case.worktree);
        let output = command
            .arg("verify")
            .env("GIT_AGENTWT_WALK", "full")
            .output();
        case.repo.said(&output.expect("it runs"))
    };
    let _ = whole(&case).ok();
    only_edits_are_found(&case);
}

#[test]
fn an_object_in_the_place_of_another_hides_no_edit() {
    let repo = TestRepo::project();
    repo.write(".gitattributes", "*.md text eol=crlf\n");
    repo.commit_all("attributes");
    let case = Case::of(repo);
    case.does(
        "echo evil | git hash-object -w --stdin >$MAIN/.git/id; chmod u+w README.md
        printf 'evil\\r\\n' >README.md
        git replace \"$(git rev-parse HEAD:README.md)\" \"$(cat $MAIN/.git/id)\"",
    );
    let found = case.findings();
    assert!(found.contains("README.md modified read-only"), "{found}");
    assert!(found.contains("@git/refs/replace"), "{found}");
}

/// What a checkout would write by what was planted is no proof that nobody edited the file.
#[test]
fn attributes_and_settings_of_later_hide_no_edit() {
    for plant in [
        "echo '*.md text eol=lf working-tree-encoding=UTF-16LE-BOM' >.git/info/attributes",
        "git config core.attributesFile \"$PWD/.git/planted\"
        echo '*.md text eol=lf working-tree-encoding=UTF-16LE-BOM' >.git/planted",
        "git config core.autocrlf false; git config core.eol lf
        echo '*.md -text -eol working-tree-encoding=UTF-16LE-BOM' >.git/info/attributes",
    ] {
        let repo = TestRepo::project();
        repo.sh(
            repo.main(),
            "echo '*.txt text eol=crlf' >.git/info/attributes",
        )
        .ok();
        repo.write("some.txt", "some\n");
        repo.commit_all("some");
        let case = Case::of(repo);
        assert_eq!(case.findings(), "");
        case.main_does(plant);
        case.does(
            "chmod u+w README.md; git show HEAD:README.md | iconv -f utf-8 -t utf-16 >README.md",
        );
        let found = case.findings();
        assert!(
            found.contains("README.md modified read-only"),
            "{plant}: {found}"
        );
    }
}
