//! `path`: where a worktree is.

use insta::assert_snapshot;

use crate::support::TestRepo;

#[test]
fn it_prints_the_absolute_path_and_only_that() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    assert_snapshot!(repo.agentwt(&["path", "task"]), @"
    $TMP/repo/.agentwt/worktrees/task
    --- status 0
    ");
    for place in [
        repo.main().join("src"),
        worktree.join("src"),
        repo.main().join(".git"),
    ] {
        assert_eq!(
            repo.agentwt_in(&place, &["path", "task"]),
            repo.agentwt(&["path", "task"])
        );
    }
    assert_snapshot!(repo.agentwt(&["path", "task", "--json"]), @r#"
    {
      "path": "$TMP/repo/.agentwt/worktrees/task",
      "schema": "agentwt.path/1"
    }
    --- status 0
    "#);
    assert_eq!(
        repo.agentwt(&["path", "task", "-z"]).ok(),
        "$TMP/repo/.agentwt/worktrees/task\0"
    );
}

#[test]
fn an_unknown_name_is_exit_7_with_nothing_on_stdout() {
    let repo = TestRepo::project();
    assert_snapshot!(repo.agentwt(&["path", "task"]), @"
    --- stderr
    error: there is no worktree named `task`
    help: there is none yet; to create a worktree: git agentwt add task-1
    --- status 7
    ");
    assert_snapshot!(repo.agentwt(&["path"]).fails(2).stdout, @"");
}

#[test]
fn a_directory_that_is_not_where_add_created_it_is_exit_6() {
    let repo = TestRepo::project();
    repo.add("task");
    let moved = repo.root().join("moved");
    std::fs::rename(repo.main(), &moved).expect("it is renamed");
    assert_snapshot!(repo.agentwt_in(&moved, &["path", "task"]), @"
    --- stderr
    error: worktree `task` belongs to the repository $TMP/repo, and this is $TMP/moved
    help: if this is a copy, run the command in the original: cd $TMP/repo; if the repository was moved, move it back to $TMP/repo
    --- status 6
    ");
}
