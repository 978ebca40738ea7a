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

#[test]
fn a_base_without_a_name_is_none_as_it_is_for_git() {
    let repo = TestRepo::project();
    repo.git(&["config", "index.skipHash", "true"]);
    let case = Case::of(repo);
    case.does("git update-index --split-index");
    if let Some((by_git, found)) = without_a_name(&case) {
        assert!(!by_git.contains("README.md"), "{by_git}");
        assert_eq!(
            found, "@wt/index integrity integrity violation\n",
            "{by_git}"
        );
    }
    let case = Case::new();
    case.does(
        "git config index.skipHash true; git update-index --force-write-index
        git update-index --split-index",
    );
    if let Some((by_git, found)) = without_a_name(&case) {
        // what git had to write beside the base is there without its path
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
fn whole_entries_beside_a_base_without_a_name_are_read_as_git_reads_them() {
    let repo = TestRepo::project();
    let case = Case::of(repo);
    // an extension of nothing but a name of zeros, and a file of that name with other entries
    let admin = case.repo.main().join(".git/worktrees/task");
    let mut bytes = std::fs::read(admin.join("index")).expect("it is there");
    std::fs::write(
        admin.join(format!("sharedindex.{}", "0".repeat(40))),
        &bytes,
    )
    .expect("written");
    bytes.truncate(bytes.len() - 20);
    bytes.extend_from_slice(b"link\0\0\0\x14");
    bytes.extend_from_slice(&[0; 40]);
    std::fs::write(admin.join("index"), bytes).expect("written");
    case.does("git ls-files --error-unmatch README.md");
    assert_eq!(case.findings(), "");
}
