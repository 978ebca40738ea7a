//! What `verify` answers, in every form.

use insta::assert_snapshot;

use super::with_violations;
use crate::support::{TestRepo, chmod};

#[test]
fn a_worktree_in_scope_is_ok() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, "echo more >>src/main.rs");
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    ok task: in scope, 1 path changed
    --- status 0
    ");
}

#[test]
fn each_violation_names_path_what_where_and_the_rule() {
    let (repo, _) = with_violations();
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    NO task: 3 violations, 1 notice, 5 paths changed
      !  modified  README.md    commit 5d8c0b6e99, index, disk  read-only: read ** (default)
      !  created   docs/new.md  untracked                       read-only: read ** (default)
      !  created   secrets/k    untracked                       excluded: exclude **/secrets/**
                                                                (--exclude)
      -  perm      docs/api.md  disk                            read-only: read ** (default)
    --- stderr
    to restore these paths: git agentwt restore task
    to accept these paths as they are: git agentwt accept task README.md docs/new.md secrets/k
    to let the agent edit these paths: git agentwt scope task --add-write /README.md --add-write /docs/new.md
    --- status 1
    ");
}

#[test]
fn a_rule_of_the_config_is_named_by_file_and_line() {
    let repo = TestRepo::project();
    let config = "schema_version = \"1.0\"\n\n[scope.default]\nread = [\n  \"docs/**\",\n  \"src/**\",\n]\n\
        write = [\"src/**\"]\nexclude = [\n  \"secrets/**\",\n  \"*.pem\",\n]\n";
    repo.write(".agentwt/config.toml", config);
    repo.commit_all("config");
    repo.agentwt(&["add", "task"]).ok();
    let worktree = repo.worktree("task");
    let script = "chmod u+w docs/api.md; echo x >>docs/api.md; echo x >new.pem; echo x >nowhere; mkdir secrets; echo x >secrets/x";
    repo.script(&worktree, script);
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    NO task: 4 violations, 4 paths changed
      !  modified  docs/api.md  disk       read-only: read docs/** (.agentwt/config.toml:5)
      !  created   new.pem      untracked  excluded: exclude *.pem (.agentwt/config.toml:11)
      !  created   nowhere      untracked  not in scope: no read or write pattern matches
      !  created   secrets/x    untracked  excluded: exclude secrets/** (.agentwt/config.toml:10)
    --- stderr
    to restore these paths: git agentwt restore task
    to accept these paths as they are: git agentwt accept task <path>...
    to let the agent edit these paths: git agentwt scope task --add-write /docs/api.md --add-write /nowhere
    --- status 1
    ");
}

#[test]
fn tsv_is_a_finding_a_line() {
    let (repo, _) = with_violations();
    assert_snapshot!(repo.agentwt(&["verify", "task", "--format", "tsv"]), @"
    README.md	modified	read-only	violation
    docs/new.md	created	read-only	violation
    secrets/k	created	excluded	violation
    docs/api.md	perm	read-only	notice
    --- status 1
    ");
}

#[test]
fn porcelain_is_a_finding_a_line_with_its_rule() {
    let (repo, _) = with_violations();
    assert_snapshot!(repo.agentwt(&["verify", "task", "--porcelain"]), @"
    task	violation	modified	read-only	net	commit 5d8c0b6e99,index,disk	default	**	README.md
    task	violation	created	read-only	net	untracked	default	**	docs/new.md
    task	violation	created	excluded	net	untracked	--exclude	**/secrets/**	secrets/k
    task	notice	perm	read-only	net	disk	default	**	docs/api.md
    --- status 1
    ");
}

#[test]
#[expect(clippy::too_many_lines, reason = "the whole document is the test")]
fn json_has_an_envelope_and_facts() {
    let (repo, _) = with_violations();
    assert_snapshot!(repo.agentwt(&["verify", "task", "--json"]), @r#"
    {
      "schema": "agentwt.verify/1",
      "valid": false,
      "worktrees": [
        {
          "accepted": [],
          "base": {
            "commit": "af82e40edf386d673bb6f4292ab3a4faea3c91e5"
          },
          "changed": [
            {
              "commits": [
                "5d8c0b6e99675dcbf031a0d801151743cc975304"
              ],
              "kind": "modified",
              "path": "README.md",
              "seen": [
                "commit",
                "index",
                "disk"
              ]
            },
            {
              "kind": "perm",
              "path": "docs/api.md",
              "seen": [
                "disk"
              ]
            },
            {
              "kind": "created",
              "path": "docs/new.md",
              "seen": [
                "untracked"
              ]
            },
            {
              "kind": "created",
              "path": "secrets/k",
              "seen": [
                "untracked"
              ]
            },
            {
              "commits": [
                "5d8c0b6e99675dcbf031a0d801151743cc975304"
              ],
              "kind": "modified",
              "path": "src/main.rs",
              "seen": [
                "commit",
                "index",
                "disk"
              ]
            }
          ],
          "head": "5d8c0b6e99675dcbf031a0d801151743cc975304",
          "name": "task",
          "notices": [
            {
              "kind": "perm",
              "layer": "net",
              "level": "notice",
              "path": "docs/api.md",
              "reason": "read-only",
              "rule": {
                "list": "read",
                "origin": "default",
                "pattern": "**"
              },
              "seen": [
                "disk"
              ]
            }
          ],
          "path": "$TMP/repo/.agentwt/worktrees/task",
          "valid": false,
          "violations": [
            {
              "commits": [
                "5d8c0b6e99675dcbf031a0d801151743cc975304"
              ],
              "kind": "modified",
              "layer": "net",
              "level": "violation",
              "path": "README.md",
              "reason": "read-only",
              "rule": {
                "list": "read",
                "origin": "default",
                "pattern": "**"
              },
              "seen": [
                "commit",
                "index",
                "disk"
              ]
            },
            {
              "kind": "created",
              "layer": "net",
              "level": "violation",
              "path": "docs/new.md",
              "reason": "read-only",
              "rule": {
                "list": "read",
                "origin": "default",
                "pattern": "**"
              },
              "seen": [
                "untracked"
              ]
            },
            {
              "kind": "created",
              "layer": "net",
              "level": "violation",
              "path": "secrets/k",
              "reason": "excluded",
              "rule": {
                "list": "exclude",
                "origin": "--exclude",
                "pattern": "**/secrets/**"
              },
              "seen": [
                "untracked"
              ]
            }
          ]
        }
      ]
    }
    --- status 1
    "#);
}

#[test]
fn json_gives_the_bytes_of_a_name_that_is_no_text() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, "echo x >\"$(printf 'docs/caf\\351')\"");
    let said = repo.agentwt(&["verify", "task", "--json"]);
    assert_eq!(said.status, 1);
    let value: serde_json::Value = serde_json::from_str(&said.stdout).expect("it is JSON");
    let violation = &value["worktrees"][0]["violations"][0];
    assert_eq!(violation["path"], "docs/caf\\351");
    let bytes: Vec<u8> = b"docs/caf\xe9".to_vec();
    assert_eq!(violation["path_bytes"], serde_json::json!(bytes));
}

#[test]
fn strict_counts_notices() {
    let (repo, worktree) = TestRepo::with_task();
    chmod(&worktree.join("README.md"), 0o644);
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    ok task: in scope, 1 path changed, 1 notice
      -  perm  README.md  disk  read-only: read ** (default)
    --- status 0
    ");
    assert_snapshot!(repo.agentwt(&["verify", "task", "--strict"]), @"
    NO task: 1 violation, 1 path changed
      !  perm  README.md  disk  read-only: read ** (default)
    --- stderr
    to restore these paths: git agentwt restore task
    --- status 1
    ");
}

#[test]
fn several_worktrees_are_told_apart_and_one_violation_is_enough() {
    let (repo, worktree) = TestRepo::with_task();
    repo.add("clean");
    repo.script(&worktree, "echo n >docs/new.md");
    assert_snapshot!(repo.agentwt(&["verify", "clean", "task"]), @"
    ok clean: in scope, 0 paths changed
    NO task: 1 violation, 1 path changed
      !  created  docs/new.md  untracked  read-only: read ** (default)
    --- stderr
    to restore these paths: git agentwt restore task
    to accept these paths as they are: git agentwt accept task docs/new.md
    to let the agent edit these paths: git agentwt scope task --add-write /docs/new.md
    --- status 1
    ");
    assert_snapshot!(repo.agentwt(&["verify", "--all"]), @"
    ok clean: in scope, 0 paths changed
    NO task: 1 violation, 1 path changed
      !  created  docs/new.md  untracked  read-only: read ** (default)
    --- stderr
    to restore these paths: git agentwt restore task
    to accept these paths as they are: git agentwt accept task docs/new.md
    to let the agent edit these paths: git agentwt scope task --add-write /docs/new.md
    --- status 1
    ");
    repo.agentwt(&["verify", "clean"]).ok();
}

#[test]
fn a_worktree_that_is_named_twice_is_verified_once() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, "echo n >docs/new.md");
    let said = repo.agentwt(&["verify", "task", "task", "--format=tsv"]);
    assert_snapshot!(said, @"
    docs/new.md	created	read-only	violation
    --- status 1
    ");
}

#[test]
fn all_without_any_worktree_is_no_violation() {
    assert_snapshot!(TestRepo::project().agentwt(&["verify", "--all"]), @"--- status 0");
}

#[test]
fn the_order_is_stable_and_nothing_stands_twice() {
    let (repo, worktree) = TestRepo::with_task();
    let script = "for i in $(seq 1 200); do echo x >docs/f$i; done; chmod u+w docs/api.md; echo x >>docs/api.md; git add -A
        git commit -q -m x; echo y >>docs/f7; git add -A; echo z >>docs/f7; rm docs/f9";
    repo.script(&worktree, script);
    let first = repo.findings(&worktree);
    for _ in 0..3 {
        assert_eq!(repo.findings(&worktree), first);
    }
    let paths: Vec<&str> = first
        .lines()
        .map(|line| line.split(' ').next().unwrap_or(""))
        .collect();
    let mut sorted = paths.clone();
    sorted.sort_unstable();
    sorted.dedup();
    assert_eq!(paths, sorted, "sorted, and each once");
    assert_eq!(paths.len(), 201);
}
