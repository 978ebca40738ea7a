//! `verify` by name and from every directory.

use crate::support::TestRepo;
use insta::assert_snapshot;

#[test]
fn it_needs_no_name_inside_a_worktree_and_its_folders() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, "echo n >docs/n");
    for place in [
        worktree.clone(),
        worktree.join("src/mod"),
        worktree.join("docs"),
    ] {
        let said = repo.agentwt_in(&place, &["verify", "--format=tsv"]);
        assert_eq!(
            said.stdout,
            "docs/n\tcreated\tread-only\tviolation\n",
            "{}",
            place.display()
        );
    }
}

#[test]
fn it_is_found_by_name_from_everywhere() {
    let (repo, worktree) = TestRepo::with_task();
    let other = repo.add("other");
    repo.script(&worktree, "echo n >docs/n");
    for place in [
        repo.main().to_owned(),
        repo.main().join("src"),
        other,
        repo.main().join(".git"),
    ] {
        let said = repo.agentwt_in(&place, &["verify", "task", "--format=tsv"]);
        assert_eq!(
            said.stdout,
            "docs/n\tcreated\tread-only\tviolation\n",
            "{}: {said}",
            place.display()
        );
    }
}

#[test]
fn outside_a_worktree_a_name_is_needed() {
    let (repo, _) = TestRepo::with_task();
    assert_snapshot!(repo.agentwt(&["verify"]), @"
    --- stderr
    error: not inside a worktree of git-agentwt, so a name is needed
    help: there are: task; `git agentwt list` shows them
    --- status 2
    ");
    assert_snapshot!(repo.agentwt(&["changed"]), @"
    --- stderr
    error: not inside a worktree of git-agentwt, so a name is needed
    help: there are: task; `git agentwt list` shows them
    --- status 2
    ");
}

#[test]
fn an_unknown_name_is_exit_7_and_the_known_ones_are_told() {
    let (repo, _) = TestRepo::with_task();
    assert_snapshot!(repo.agentwt(&["verify", "tusk"]), @"
    --- stderr
    error: there is no worktree named `tusk`
    help: there are: task; `git agentwt list` shows them
    --- status 7
    ");
    assert_snapshot!(repo.agentwt(&["changed", "../x"]), @"
    --- stderr
    error: there is no worktree named `../x`
    help: there are: task; `git agentwt list` shows them
    --- status 7
    ");
}
