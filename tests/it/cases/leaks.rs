//! Contents of excluded files in other places: of the base, of what upstream has now, of what upstream
//! had before.

use insta::assert_snapshot;

use super::Case;
use crate::support::TestRepo;

#[test]
fn a_copy_of_what_upstream_has_now_is_a_leak() {
    let case = Case::new();
    case.main_does(
        "echo rotated >secrets/key.pem; echo new >secrets/new; git add -A; git commit -qm rotated",
    );
    case.does("git show main:secrets/key.pem >src/leak; git show main:secrets/new >src/leak2");
    assert_snapshot!(case.findings(), @"
    src/leak leak excluded violation
    src/leak2 leak excluded violation
    ");
    case.does("git add -A; git commit -qm x; git rm -q src/leak src/leak2; git commit -qm y");
    assert_snapshot!(case.findings(), @"
    src/leak leak history notice
    src/leak2 leak history notice
    ");
}

/// A repository in which an excluded file had another content before.
fn with_history() -> Case {
    let repo = TestRepo::project();
    repo.write("secrets/key.pem", "former\n");
    repo.commit_all("former");
    repo.write("secrets/key.pem", "latter\n");
    repo.write("src/old.rs", "fn old() {}\n");
    repo.commit_all("latter");
    repo.write("src/old.rs", "fn new() {}\n");
    repo.commit_all("new");
    Case::of(repo)
}

#[test]
fn a_copy_of_a_former_version_is_a_leak_wherever_its_object_is() {
    for pack in ["true", "git repack -qad; git prune-packed"] {
        let case = with_history();
        case.main_does(pack);
        case.does("git show HEAD~2:secrets/key.pem >src/leak");
        assert_eq!(
            case.findings().trim_end(),
            "src/leak leak excluded violation",
            "{pack}"
        );
        case.does("git add -A; git commit -qm leak");
        assert_eq!(
            case.findings().trim_end(),
            "src/leak leak excluded violation",
            "{pack}"
        );
    }
}

#[test]
fn a_former_version_of_a_file_that_is_not_excluded_is_no_leak() {
    let case = with_history();
    case.does("git show HEAD~1:src/old.rs >src/old.rs; cp src/main.rs src/copy.rs; : >src/empty");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_copy_in_a_repository_below_is_a_leak() {
    let case = Case::new();
    case.does("git init -q src/n; cd src/n; git -C $MAIN show main:secrets/key.pem >leak");
    assert_snapshot!(case.findings(), @"src/n/leak leak excluded violation");
}
