//! What `changed` lists, in every form.

use insta::assert_snapshot;

use super::with_violations;
use crate::support::{TestRepo, binary};

#[test]
fn changed_lists_every_path_in_scope_or_not() {
    let (repo, _) = with_violations();
    assert_snapshot!(repo.agentwt(&["changed", "task"]), @"
    modified  README.md    commit 5d8c0b6e99, index, disk
    perm      docs/api.md  disk
    created   docs/new.md  untracked
    created   secrets/k    untracked
    modified  src/main.rs  commit 5d8c0b6e99, index, disk
    --- status 0
    ");
}

#[test]
fn changed_without_a_change_says_so_beside_the_answer() {
    let (repo, _) = TestRepo::with_task();
    assert_snapshot!(repo.agentwt(&["changed", "task"]), @"
    --- stderr
    task: nothing changed since the base
    --- status 0
    ");
    assert_snapshot!(repo.agentwt(&["changed", "task", "-z"]), @"--- status 0");
}

#[test]
fn changed_gives_absolute_paths_in_every_form() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, "echo more >>src/main.rs; echo n >docs/n");
    assert_snapshot!(repo.agentwt(&["changed", "task", "--absolute"]), @"
    created   $TMP/repo/.agentwt/worktrees/task/docs/n       untracked
    modified  $TMP/repo/.agentwt/worktrees/task/src/main.rs  disk
    --- status 0
    ");
    assert_snapshot!(repo.agentwt(&["changed", "task", "--absolute", "--porcelain"]), @"
    created	untracked	$TMP/repo/.agentwt/worktrees/task/docs/n
    modified	disk	$TMP/repo/.agentwt/worktrees/task/src/main.rs
    --- status 0
    ");
    assert_snapshot!(repo.agentwt(&["changed", "task", "--absolute", "--format=tsv"]), @"
    $TMP/repo/.agentwt/worktrees/task/docs/n	created
    $TMP/repo/.agentwt/worktrees/task/src/main.rs	modified
    --- status 0
    ");
    assert_snapshot!(repo.agentwt(&["changed", "task", "--absolute", "--json"]), @r#"
    {
      "base": {
        "commit": "af82e40edf386d673bb6f4292ab3a4faea3c91e5"
      },
      "changed": [
        {
          "kind": "created",
          "path": "$TMP/repo/.agentwt/worktrees/task/docs/n",
          "seen": [
            "untracked"
          ]
        },
        {
          "kind": "modified",
          "path": "$TMP/repo/.agentwt/worktrees/task/src/main.rs",
          "seen": [
            "disk"
          ]
        }
      ],
      "head": "af82e40edf386d673bb6f4292ab3a4faea3c91e5",
      "name": "task",
      "path": "$TMP/repo/.agentwt/worktrees/task",
      "schema": "agentwt.changed/1"
    }
    --- status 0
    "#);
}

#[test]
fn changed_with_nul_gives_names_byte_for_byte() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(
        &worktree,
        "echo x >\"$(printf 'src/a\\n\\tb\\351')\"; rm src/main.rs",
    );
    let mut command = repo.command(binary(), repo.main());
    let output = command
        .args(["changed", "task", "-z"])
        .output()
        .expect("it starts");
    let expected = b"created\tuntracked\tsrc/a\n\tb\xe9\0deleted\tdisk\tsrc/main.rs\0";
    assert_eq!(output.stdout, expected);
    assert!(output.status.success());
}

#[test]
fn changed_and_verify_agree_with_what_git_says_of_a_plain_edit() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(
        &worktree,
        "echo more >>src/main.rs; git rm -q tests/t.rs; git commit -q -m t",
    );
    let base = repo.git(&["rev-parse", "main"]);
    let ours = repo.agentwt(&["changed", "task", "--format=tsv"]).ok();
    let ours: Vec<&str> = ours
        .lines()
        .filter_map(|line| line.split('\t').next())
        .collect();
    let gits = repo.git_in(&worktree, &["diff", "--name-only", &base]);
    assert_eq!(ours, gits.lines().collect::<Vec<_>>());
}
