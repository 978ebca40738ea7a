//! Mistakes in the configuration.

use super::SRC;
use crate::support::{Said, TestRepo, binary};

const HEAD: &str = "schema_version = \"1.0\"\n";

#[test]
fn each_kind_of_mistake_is_status_3_and_named() {
    let repo = TestRepo::project();
    for (message, text) in [
        ("not TOML", "schema_version = \n"),
        ("not TOML", "schema_version = \"1.0\"\n[scope\n"),
        (
            "is set twice",
            "schema_version = \"1.0\"\nschema_version = \"1.0\"\n",
        ),
        (
            "`schema_version` is missing",
            "[scope.default]\nwrite = [\"src/**\"]\n",
        ),
        ("`schema_version` is `2.0`", "schema_version = \"2.0\"\n"),
        (
            "unknown key `wirte`",
            "schema_version = \"1.0\"\n[scope.default]\nwirte = []\n",
        ),
        (
            "`write` in [scope.default]: invalid type",
            "schema_version = \"1.0\"\n[scope.default]\nwrite = \"src/**\"\n",
        ),
        (
            "`schema_version` at the top level: invalid type",
            "schema_version = 1.0\n",
        ),
        (
            "unknown strategy `copy`",
            "schema_version = \"1.0\"\n[worktree]\nstrategy = \"copy\"\n",
        ),
        (
            "empty base",
            "schema_version = \"1.0\"\n[worktree]\nbase = \"\"\n",
        ),
        (
            "0 is not a number of megabytes",
            "schema_version = \"1.0\"\n[worktree.file_sync]\nmax_file_size_mb = 0\n",
        ),
        (
            "bad sync pattern `../x`",
            "schema_version = \"1.0\"\n[worktree.file_sync]\npatterns = [\"../x\"]\n",
        ),
        (
            "bad profile name ``",
            "schema_version = \"1.0\"\n[scope.\"\"]\nwrite = []\n",
        ),
        (
            "bad branch prefix `a..b/`",
            "schema_version = \"1.0\"\n[worktree]\nbranch_prefix = \"a..b/\"\n",
        ),
    ] {
        repo.write(".agentwt/config.toml", text);
        let before = repo.fingerprint();
        let said = repo.agentwt(&["add", "task-5"]);
        assert_eq!(repo.fingerprint(), before, "{text}");
        assert_eq!(said.status, 3, "{text}: {said}");
        assert_eq!(said.stdout, "", "{text}");
        // the line of a terminal may end in between
        let words = said.stderr.replace("\n  │", "");
        assert!(words.contains(message), "{message}: {text}{said}");
    }
}

#[test]
fn a_config_that_is_not_utf_8_is_a_mistake_with_a_place() {
    let repo = TestRepo::project();
    let file = repo.main().join(".agentwt/config.toml");
    std::fs::create_dir(file.parent().expect("a parent")).expect("a directory");
    std::fs::write(
        file,
        b"schema_version = \"1.0\"\n[worktree]\nbase = \"\xff\"\n",
    )
    .expect("a file");
    insta::assert_snapshot!(refused_without_help(&repo, SRC), @r#"
    --- stderr
    error: cannot read .agentwt/config.toml: not TOML: it is not UTF-8
     --> .agentwt/config.toml:3:9
      |
    2 | [worktree]
    3 | base = "�"
      |         ^
    help: save the file as UTF-8
    --- status 3
    "#);
}

#[test]
fn a_config_that_is_a_directory_is_a_fault_of_the_disk() {
    let repo = TestRepo::project();
    repo.write(".agentwt/config.toml/x", "");
    refused_without_help(&repo, SRC).fails(6);
}

#[track_caller]
fn refused_without_help(repo: &TestRepo, arguments: &[&str]) -> Said {
    let before = repo.fingerprint();
    let said = repo.agentwt(arguments);
    assert_eq!(repo.fingerprint(), before, "{said}");
    said
}

#[test]
fn all_mistakes_come_in_one_run() {
    let repo = TestRepo::project();
    let text = format!("{HEAD}[worktree]\nstratgy = \"clone\"\n[scope.default]\nwrite = 1\n");
    repo.write(".agentwt/config.toml", &text);
    insta::assert_snapshot!(repo.agentwt(&["add", "task-5"]), @r#"
    --- stderr
    error: cannot read .agentwt/config.toml: 2 mistakes

    error: unknown key `stratgy` in [worktree]
     --> .agentwt/config.toml:3:1
      |
    2 | [worktree]
    3 | stratgy = "clone"
      | ^^^^^^^
    help: did you mean `strategy`? the keys in [worktree] are `base`, `branch_prefix`, `strategy`, `client`, `on_violation` and `file_sync`

    error: `write` in [scope.default]: invalid type: integer `1`, expected a list of strings
     --> .agentwt/config.toml:5:9
      |
    4 | [scope.default]
    5 | write = 1
      |         ^
    help: see git-agentwt-config(5) for an example
    --- status 3
    "#);
}

#[test]
fn a_profile_that_does_not_exist() {
    let repo = TestRepo::project();
    repo.write(
        ".agentwt/config.toml",
        &format!("{HEAD}[scope.docs]\nwrite = [\"docs/**\"]\n"),
    );
    insta::assert_snapshot!(repo.agentwt(&["add", "task-5", "--scope", "doc"]), @"
    --- stderr
    error: cannot use the settings: unknown scope profile `doc` in --scope
    help: did you mean `docs`? write `docs`, or add a [scope.<profile>] of this name to .agentwt/config.toml
    --- status 3
    ");
}

#[test]
fn a_setting_of_git_config_that_is_wrong() {
    let repo = TestRepo::project();
    repo.git(&["config", "agentwt.strategy", "copy"]);
    let said = refused_without_help(&repo, SRC);
    insta::assert_snapshot!(said, @"
    --- stderr
    error: cannot use the settings: unknown strategy `copy` in git config agentwt.strategy
    help: write `worktree` or `clone`
    --- status 3
    ");
}

#[test]
fn a_variable_that_is_wrong() {
    let repo = TestRepo::project();
    let mut command = repo.command(binary(), repo.main());
    command.args(SRC).env("AGENTWT_ON_VIOLATION", "panic");
    insta::assert_snapshot!(repo.said(&command.output().expect("it starts")), @"
    --- stderr
    error: cannot use the settings: unknown on_violation `panic` in AGENTWT_ON_VIOLATION
    help: write `report` or `block`
    --- status 3
    ");
}
