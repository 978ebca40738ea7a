//! `verify` and `changed`: what they say, in every form, from everywhere, and what they do when
//! something cannot be read.

use std::path::Path;

use insta::assert_snapshot;

use crate::support::{Said, TestRepo, binary, chmod, is_root};

/// A repository with the worktree `task`.
#[track_caller]
fn with_worktree() -> (TestRepo, std::path::PathBuf) {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    (repo, worktree)
}

/// The same after an edit in scope, one out of it, a new file, and a notice.
#[track_caller]
fn with_violations() -> (TestRepo, std::path::PathBuf) {
    let (repo, worktree) = with_worktree();
    let script = "echo more >>src/main.rs; chmod u+w README.md; echo more >>README.md
        git commit -q -a -m work; echo n >docs/new.md; mkdir -p secrets; echo k >secrets/k
        chmod u+w docs/api.md";
    assert_eq!(repo.sh(&worktree, script).status, 0);
    (repo, worktree)
}

#[track_caller]
fn sh(repo: &TestRepo, dir: &Path, script: &str) {
    repo.sh(dir, &format!("set -e\n{script}")).ok();
}

/// Runs the program as an ordinary user, which root must become for it; none when that cannot be.
pub fn as_ordinary_user(repo: &TestRepo, dir: &Path, arguments: &[&str]) -> Option<Said> {
    if !is_root() {
        return Some(repo.agentwt_in(dir, arguments));
    }
    let everybody = format!("chown -R 65534:65534 '{}'", repo.root().display());
    repo.sh(repo.root(), &everybody).ok();
    // the program itself may stand where only root can go
    let copy = repo.root().join("git-agentwt");
    std::fs::copy(binary(), &copy).expect("it can be copied");
    let output = repo
        .command("setpriv", dir)
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&copy)
        .args(arguments)
        .output()
        .ok()?;
    Some(repo.said(&output))
}

// ---- the shape -------------------------------------------------------------------------------

/// The one fixed test that holds the shape of verification: what git itself can be made to
/// believe is not what we believe.
#[test]
fn forged_stat_data_assume_unchanged_an_amended_base_and_a_replaced_base_are_each_reported() {
    // same size, mtime put back: git compares whole seconds, and with core.trustctime=false no
    // change time at all
    for trust in ["true", "false"] {
        let (repo, worktree) = with_worktree();
        let script = format!(
            "git config core.trustctime {trust}; git status >/dev/null
            touch -r README.md ../stamp; chmod u+w README.md; printf 'READ ME\\n' >README.md
            touch -r ../stamp README.md; chmod a-w README.md; git status >/dev/null"
        );
        sh(&repo, &worktree, &script);
        assert_eq!(
            repo.findings(&worktree),
            "README.md modified read-only violation\n@git/config config shared violation\n",
            "core.trustctime={trust}"
        );
    }
    let (repo, worktree) = with_worktree();
    let script = "git update-index --assume-unchanged README.md
        chmod u+w README.md; echo more >>README.md; test -z \"$(git status --porcelain)\"";
    sh(&repo, &worktree, script);
    assert_snapshot!(repo.findings(&worktree), @"
    README.md modified read-only violation
    @wt/index integrity integrity violation
    ");

    let (repo, worktree) = with_worktree();
    let script = "chmod u+w README.md; echo more >>README.md; git commit -q -a --amend --no-edit
        test \"$(git rev-list --count HEAD)\" = 1";
    sh(&repo, &worktree, script);
    assert_snapshot!(repo.findings(&worktree), @"
    README.md modified read-only violation
    @head ref integrity violation
    ");

    // git now shows the agent's commit wherever the base is named
    let (repo, worktree) = with_worktree();
    let script =
        "base=$(git rev-parse HEAD); chmod u+w README.md; echo more >>README.md; git add -A
        git replace $base $(git commit-tree -m base $(git write-tree))
        test -z \"$(git diff $base)\"";
    sh(&repo, &worktree, script);
    assert_snapshot!(repo.findings(&worktree), @"
    README.md modified read-only violation
    @git/refs/replace ref shared violation
    ");
    sh(
        &repo,
        &worktree,
        "GIT_NO_REPLACE_OBJECTS=1 git commit -q -m work; test -z \"$(git diff HEAD~)\"",
    );
    assert_snapshot!(repo.findings(&worktree), @"
    README.md modified read-only violation
    @git/refs/replace ref shared violation
    ");
}

// ---- what is said ----------------------------------------------------------------------------

#[test]
fn a_worktree_in_scope_is_ok() {
    let (repo, worktree) = with_worktree();
    sh(&repo, &worktree, "echo more >>src/main.rs");
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
    sh(&repo, &worktree, script);
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
    let (repo, worktree) = with_worktree();
    sh(&repo, &worktree, "echo x >\"$(printf 'docs/caf\\351')\"");
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
    let (repo, worktree) = with_worktree();
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
    let (repo, worktree) = with_worktree();
    repo.add("clean");
    sh(&repo, &worktree, "echo n >docs/new.md");
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
    let (repo, worktree) = with_worktree();
    sh(&repo, &worktree, "echo n >docs/new.md");
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
    let (repo, worktree) = with_worktree();
    let script = "for i in $(seq 1 200); do echo x >docs/f$i; done; chmod u+w docs/api.md; echo x >>docs/api.md; git add -A
        git commit -q -m x; echo y >>docs/f7; git add -A; echo z >>docs/f7; rm docs/f9";
    sh(&repo, &worktree, script);
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

// ---- changed ---------------------------------------------------------------------------------

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
    let (repo, _) = with_worktree();
    assert_snapshot!(repo.agentwt(&["changed", "task"]), @"
    --- stderr
    task: nothing changed since the base
    --- status 0
    ");
    assert_snapshot!(repo.agentwt(&["changed", "task", "-z"]), @"--- status 0");
}

#[test]
fn changed_gives_absolute_paths_in_every_form() {
    let (repo, worktree) = with_worktree();
    sh(&repo, &worktree, "echo more >>src/main.rs; echo n >docs/n");
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
    let (repo, worktree) = with_worktree();
    sh(
        &repo,
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
    let (repo, worktree) = with_worktree();
    sh(
        &repo,
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

// ---- from where ------------------------------------------------------------------------------

#[test]
fn it_needs_no_name_inside_a_worktree_and_its_folders() {
    let (repo, worktree) = with_worktree();
    sh(&repo, &worktree, "echo n >docs/n");
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
    let (repo, worktree) = with_worktree();
    let other = repo.add("other");
    sh(&repo, &worktree, "echo n >docs/n");
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
    let (repo, _) = with_worktree();
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
    let (repo, _) = with_worktree();
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

// ---- what cannot be read ---------------------------------------------------------------------

#[test]
fn a_removed_git_file_is_a_finding_and_hides_nothing() {
    let (repo, worktree) = with_worktree();
    sh(&repo, &worktree, "echo n >docs/n; rm .git");
    assert_snapshot!(repo.findings(&worktree), @"
    docs/n created read-only violation
    @worktree integrity integrity violation
    ");
    assert_snapshot!(repo.findings(&worktree.join("src")), @"
    docs/n created read-only violation
    @worktree integrity integrity violation
    ");
}

#[test]
fn a_redirected_git_file_is_a_finding_and_hides_nothing() {
    let (repo, worktree) = with_worktree();
    let script =
        "echo n >docs/n; git init -q ../elsewhere; git -C ../elsewhere commit -q --allow-empty -m x
        echo \"gitdir: $PWD/../elsewhere/.git\" >.git";
    sh(&repo, &worktree, script);
    assert_snapshot!(repo.findings(&worktree), @"
    docs/n created read-only violation
    @worktree integrity integrity violation
    ");
}

#[test]
fn a_git_directory_in_place_of_the_file_is_a_finding_and_hides_nothing() {
    let (repo, worktree) = with_worktree();
    sh(
        &repo,
        &worktree,
        "echo n >docs/n; rm .git; git init -q .; git add -A; git commit -q -m mine",
    );
    assert_snapshot!(repo.findings(&worktree), @"
    docs/n created read-only violation
    @worktree integrity integrity violation
    ");
}

#[test]
fn a_removed_private_git_directory_is_a_finding() {
    let (repo, worktree) = with_worktree();
    sh(&repo, &worktree, "echo n >docs/n");
    std::fs::remove_dir_all(repo.main().join(".git/worktrees/task")).expect("it is there");
    assert_snapshot!(repo.findings(&worktree), @"
    docs/n created read-only violation
    @wt/agentwt integrity integrity violation
    @wt/config.worktree config integrity violation
    @wt/index integrity integrity violation
    @wt/info/sparse-checkout config integrity violation
    @head ref integrity violation
    @worktree integrity integrity violation
    ");
}

#[test]
fn a_damaged_or_missing_index_is_a_finding() {
    let (repo, worktree) = with_worktree();
    let index = repo.main().join(".git/worktrees/task/index");
    let mut bytes = std::fs::read(&index).expect("it is there");
    let at = bytes.len() / 2;
    bytes[at] ^= 1;
    std::fs::write(&index, &bytes).expect("it can be written");
    assert!(
        repo.findings(&worktree)
            .contains("@wt/index integrity integrity violation\n")
    );
    std::fs::write(&index, "DIRC and then nothing").expect("it can be written");
    assert_snapshot!(repo.findings(&worktree), @"@wt/index integrity integrity violation");
    std::fs::remove_file(&index).expect("it is there");
    assert_snapshot!(repo.findings(&worktree), @"@wt/index integrity integrity violation");
}

#[test]
fn a_deletion_of_a_file_that_is_announced_again_is_a_finding() {
    let repo = TestRepo::project();
    let script = ">docs/empty; git add docs; git commit -q -m empty";
    sh(&repo, repo.main(), script);
    let worktree = repo.add("task");
    // an announced entry has the id of an empty file, and no commit has it
    let script = "git rm -q --cached docs/empty README.md; git add -N docs/empty README.md";
    sh(&repo, &worktree, script);
    assert_snapshot!(repo.findings(&worktree), @"
    README.md deleted read-only violation
    docs/empty deleted read-only violation
    ");
}

#[test]
fn an_index_with_two_entries_for_a_path_is_a_finding() {
    let (repo, worktree) = with_worktree();
    let index = repo.main().join(".git/worktrees/task/index");
    let mut bytes = std::fs::read(&index).expect("it is there");
    let name_at = |name: &[u8]| bytes.windows(name.len()).position(|at| at == name);
    let name = name_at(b"README.md\0").expect("an entry");
    let other = name_at(b"src/main.rs\0").expect("an entry");
    // git sees the second, which has another content
    let mut second = bytes[name - 62..name + 10].to_vec();
    second[40..60].copy_from_slice(&bytes[other - 22..other - 2]);
    bytes.splice(name + 10..name + 10, second);
    bytes[11] += 1;
    // there is no checksum (`index.skipHash`)
    let end = bytes.len() - 20;
    bytes[end..].fill(0);
    std::fs::write(&index, &bytes).expect("it can be written");
    assert_snapshot!(repo.findings(&worktree), @"@wt/index integrity integrity violation");
}

#[test]
fn a_worktree_whose_directory_is_gone_is_a_finding() {
    let (repo, worktree) = with_worktree();
    std::fs::remove_dir_all(&worktree).expect("it is there");
    let said = repo.agentwt(&["verify", "task", "--format=tsv"]);
    assert_eq!(said.status, 1, "{said}");
    assert!(
        said.stdout
            .contains("@worktree\tintegrity\tintegrity\tviolation\n"),
        "{said}"
    );
}

#[test]
fn a_file_that_cannot_be_read_is_a_finding() {
    let (repo, worktree) = with_worktree();
    sh(
        &repo,
        &worktree,
        "chmod u+w README.md; echo more >>README.md; chmod 000 README.md; mkdir docs/closed; chmod 000 docs/closed",
    );
    let Some(said) = as_ordinary_user(&repo, repo.main(), &["verify", "task", "--format=tsv"])
    else {
        return;
    };
    chmod(&worktree.join("docs/closed"), 0o755);
    assert_snapshot!(said, @"
    README.md	integrity	integrity	violation
    docs/closed	integrity	integrity	violation
    --- status 1
    ");
}

#[test]
fn a_damaged_record_or_manifest_is_exit_6_without_a_verdict() {
    let (repo, _) = with_worktree();
    let dir = repo.main().join(".git/agentwt/worktrees/task");
    let manifest = std::fs::read(dir.join("manifest")).expect("it is there");
    std::fs::write(dir.join("manifest"), &manifest[..manifest.len() / 2]).expect("written");
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    --- stderr
    error: cannot read the manifest of worktree `task`: it is damaged
    help: see what is there with `git worktree list`; to save its work: git -C .agentwt/worktrees/task stash -u
    --- status 6
    ");
    std::fs::remove_file(dir.join("manifest")).expect("it is there");
    assert_snapshot!(repo.agentwt(&["changed", "task"]), @"
    --- stderr
    error: cannot read the manifest of worktree `task`: it is missing
    help: see what is there with `git worktree list`; to save its work: git -C .agentwt/worktrees/task stash -u
    --- status 6
    ");
    std::fs::write(dir.join("record.toml"), "version = 4\nname = \"task\"\n").expect("written");
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    --- stderr
    error: cannot read the record of worktree `task`: it is damaged: missing field `created`
    help: see what is there with `git worktree list`; to save its work: git -C .agentwt/worktrees/task stash -u
    --- status 6
    ");
    repo.agentwt(&["verify", "--all"]).fails(6);
}

#[test]
fn a_missing_base_object_is_exit_5_without_a_verdict() {
    let (repo, worktree) = with_worktree();
    sh(
        &repo,
        &worktree,
        "echo more >>src/main.rs; git commit -q -a -m x",
    );
    let base = repo.git(&["rev-parse", "main"]);
    let object = format!(".git/objects/{}/{}", &base[..2], &base[2..]);
    std::fs::remove_file(repo.main().join(object)).expect("it is there");
    let said = repo.agentwt(&["verify", "task"]);
    assert_eq!((said.status, said.stdout.as_str()), (5, ""), "{said}");
    repo.agentwt(&["changed", "task"]).fails(5);
    repo.agentwt(&["verify", "--all"]).fails(5);
}

#[test]
fn a_missing_tree_of_a_commit_is_exit_5_without_a_verdict() {
    let (repo, worktree) = with_worktree();
    sh(
        &repo,
        &worktree,
        "echo more >>src/main.rs; git commit -q -a -m x",
    );
    let tree = repo.git_in(&worktree, &["rev-parse", "HEAD:src"]);
    let object = format!(".git/objects/{}/{}", &tree[..2], &tree[2..]);
    std::fs::remove_file(repo.main().join(object)).expect("it is there");
    let said = repo.agentwt(&["verify", "task"]);
    assert_eq!((said.status, said.stdout.as_str()), (5, ""), "{said}");
}

#[test]
fn outside_a_repository_is_exit_2() {
    let repo = TestRepo::empty();
    assert_snapshot!(repo.agentwt_in(&repo.home(), &["verify", "task"]), @"
    --- stderr
    error: not in a git repository: $TMP/home
    help: run it inside a repository, or name one with `git agentwt -C <dir> …`
    --- status 2
    ");
}

#[test]
fn the_outcome_is_kept_for_list() {
    let (repo, worktree) = with_worktree();
    assert!(
        repo.agentwt(&["list", "--stored"])
            .stdout
            .contains("not verified")
    );
    sh(&repo, &worktree, "echo n >docs/n");
    repo.agentwt(&["verify", "task"]).fails(1);
    let list = repo.agentwt(&["list", "--stored"]).stdout;
    assert!(list.contains("1 violation just now"), "{list}");
}

#[test]
fn a_directory_that_is_gone_is_one_violation_that_names_prune() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    repo.sh(&worktree, "echo n >docs/n; git add -A; git commit -q -m n")
        .ok();
    std::fs::remove_dir_all(&worktree).expect("it is there");
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    NO task: 2 violations, 1 path changed
      !  created    docs/n     commit 39ec2266e6, index  read-only: read ** (default)
      !  integrity  @worktree  disk                      its directory is gone; to remove its record:
                                                         git agentwt prune
    --- stderr
    to restore these paths: git agentwt restore task
    to accept these paths as they are: git agentwt accept task docs/n
    to let the agent edit these paths: git agentwt scope task --add-write /docs/n
    --- status 1
    ");
}
