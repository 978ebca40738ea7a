//! Split indexes (gitformat-index(5), "Split index").

use super::Case;
use crate::support::TestRepo;

#[test]
fn a_split_index_is_read_with_its_base() {
    let case = Case::new();
    case.does("git update-index --split-index; test -e \"$(git rev-parse --shared-index-path)\"");
    assert_eq!(case.findings(), "");
    case.does("edit README.md; git add README.md");
    let found = case.findings();
    assert!(found.contains("README.md modified read-only"), "{found}");
}

/// What git says of an index whose base has no name, and what is found.
#[track_caller]
fn without_a_name(case: &Case) -> Option<(String, String)> {
    let nameless = format!("sharedindex.{}", "0".repeat(40));
    let admin = case.repo.main().join(".git/worktrees/task");
    // a git that gives it a name, or does not know the setting, has none
    let there = admin.join(nameless).exists();
    let by_git = case
        .runs(&case.worktree, "git ls-files -s | cut -f2 | sort -u")
        .ok();
    there.then(|| (by_git, case.findings()))
}

/// What git had to write beside the base is there without its path; that is what it takes for racy, and
/// may be nothing on a busy machine.
#[track_caller]
fn assert_none(case: &Case) {
    if let Some((by_git, found)) = without_a_name(case) {
        let (what, expected) = match by_git.as_str() {
            "" => (
                "all is in the base",
                "README.md deleted read-only violation",
            ),
            _ => ("some is not", "@wt/index integrity integrity violation"),
        };
        assert!(matches!(by_git.as_str(), "" | "./"), "{by_git}");
        assert!(found.contains(expected), "{what}: {found}");
    }
}

#[test]
fn a_base_without_a_name_is_none_as_it_is_for_git() {
    let repo = TestRepo::project();
    repo.git(&["config", "index.skipHash", "true"]);
    let case = Case::of(repo);
    case.does("git update-index --split-index");
    assert_none(&case);
    let case = Case::new();
    case.does(
        "git config index.skipHash true; git update-index --force-write-index
        git update-index --split-index",
    );
    assert_none(&case);
}
