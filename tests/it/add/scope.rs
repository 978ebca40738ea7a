//! The scope of a new worktree, by flags and by configuration.

use super::{files, mode};
use crate::support::{TestRepo, binary, write};

const CONFIG: &str = "schema_version = \"1.0\"\n\n[scope.default]\nwrite = [\"src/**\"]\n\
    exclude = [\"**/secrets/**\"]\n\n[scope.docs]\nwrite = [\"docs/**\", \"*.md\"]\n\n\
    [scope.look]\nwrite = []\n";

#[track_caller]
fn planned(repo: &TestRepo, more: &[&str]) -> String {
    let said = repo.agentwt(&[&["add", "task-5", "-n"], more].concat());
    let plan = said.ok();
    let lists = plan.lines().filter(|line| {
        ["  write", "  read", "  exclude "]
            .iter()
            .any(|list| line.starts_with(list))
    });
    lists.collect::<Vec<_>>().join("\n")
}

fn configured() -> TestRepo {
    let repo = TestRepo::project();
    repo.write(".agentwt/config.toml", CONFIG);
    repo
}

#[test]
fn the_default_profile_is_taken_when_nobody_names_one() {
    insta::assert_snapshot!(planned(&configured(), &[]), @"
    write    src/**
    read     **
    exclude  **/secrets/**
    ");
}

#[test]
fn a_named_profile_is_taken() {
    insta::assert_snapshot!(planned(&configured(), &["--scope", "docs"]), @"
    write    docs/**  *.md
    read     **
    exclude  nothing
    ");
}

#[test]
fn a_profile_with_an_empty_write_list_is_a_read_only_task() {
    insta::assert_snapshot!(planned(&configured(), &["--scope", "look"]), @"
    write    nothing
    read     **
    exclude  nothing
    ");
}

#[test]
fn an_empty_write_flag_is_a_read_only_task() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "task-5", "--write", ""]).ok();
    assert_eq!(mode(&repo.worktree("task-5").join("src/main.rs")), 0o444);
}

#[test]
fn a_list_flag_replaces_the_profiles_list_of_that_name_only() {
    let flags = ["--write", "docs/**", "--write", "/README.md"];
    insta::assert_snapshot!(planned(&configured(), &flags), @"
    write    docs/**  /README.md
    read     **
    exclude  **/secrets/**
    ");
}

#[test]
fn an_add_flag_adds_to_the_profiles_list() {
    let flags = [
        "--add-write",
        "docs/**",
        "--add-exclude",
        "*.pem",
        "--add-read",
        "x",
    ];
    insta::assert_snapshot!(planned(&configured(), &flags), @"
    write    src/**  docs/**
    read     **  x
    exclude  **/secrets/**  *.pem
    ");
}

#[test]
fn the_environment_beats_git_config_and_a_flag_beats_both() {
    let repo = configured();
    repo.git(&["config", "--global", "agentwt.scope", "docs"]);
    assert!(planned(&repo, &[]).contains("*.md"), "git config");
    let mut command = repo.command(binary(), repo.main());
    command
        .args(["add", "task-5", "-n"])
        .env("AGENTWT_SCOPE", "look");
    let said = repo.said(&command.output().expect("it starts"));
    assert!(
        said.ok().contains("write    nothing"),
        "environment: {said}"
    );
    let mut command = repo.command(binary(), repo.main());
    command
        .args(["add", "task-5", "-n", "--scope", "default"])
        .env("AGENTWT_SCOPE", "look");
    let said = repo.said(&command.output().expect("it starts"));
    assert!(said.ok().contains("write    src/**"), "flag: {said}");
}

#[test]
fn without_a_write_list_it_is_refused_with_both_ways_to_give_one() {
    let repo = TestRepo::project();
    let before = repo.fingerprint();
    let said = repo.agentwt(&["add", "task-5"]);
    assert_eq!(repo.fingerprint(), before);
    insta::assert_snapshot!(said, @"
    --- stderr
    error: nothing says what `task-5` may edit
    help: run `git agentwt init`, which writes .agentwt/config.toml with a list for this repository, or give one here: git agentwt add task-5 --write 'src/**' (--write '' for a task that only reads)
    --- status 3
    ");
}

#[test]
fn with_a_config_that_has_no_write_list_the_help_names_the_config() {
    let repo = TestRepo::project();
    repo.write(".agentwt/config.toml", "schema_version = \"1.0\"\n");
    insta::assert_snapshot!(repo.agentwt(&["add", "task-5"]), @r#"
    --- stderr
    error: nothing says what `task-5` may edit
    help: give the scope in .agentwt/config.toml a list `write = ["src/**"]`, or give one here: git agentwt add task-5 --write 'src/**' (--write '' for a task that only reads)
    --- status 3
    "#);
}

#[test]
fn the_memory_bank_is_readable_and_the_rest_of_agentwt_is_absent() {
    let repo = configured();
    repo.write(".agentwt/memory/notes.md", "notes\n");
    repo.commit_all("config and memory");
    let dir = repo.root().join("repo/.agentwt/worktrees/task-5");
    repo.agentwt(&["add", "task-5", "--write", "**"]).ok();
    assert_eq!(
        mode(&dir.join(".agentwt/memory/notes.md")),
        0o444,
        "even with write = **"
    );
    assert!(
        !dir.join(".agentwt/config.toml").exists(),
        "the config is not there"
    );
    assert_eq!(mode(&dir.join("README.md")), 0o644);
    assert_eq!(repo.findings(&dir), "");
}

#[test]
fn only_what_the_read_list_names_is_there() {
    let repo = TestRepo::project();
    let flags = ["add", "task-5", "--read", "docs/**", "--write", "src/**"];
    repo.agentwt(&flags).ok();
    let dir = repo.worktree("task-5");
    insta::assert_snapshot!(files(&repo, &dir).join("\n"), @"
    docs/api.md
    docs/guide.md
    src/main.rs
    src/mod/util.rs
    ");
}

#[test]
fn everything_may_be_excluded() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "task-5", "--write", "", "--exclude", "**"])
        .ok();
    assert_eq!(files(&repo, &repo.worktree("task-5")), Vec::<String>::new());
}

#[test]
fn rules_that_match_nothing_or_too_much_are_noted() {
    let repo = TestRepo::project();
    let flags = [
        "--write",
        "main.rs",
        "--write",
        "{a,b}.rs",
        "--exclude",
        "nowhere/",
    ];
    let said = repo.agentwt(&[&["add", "task-5"], &flags[..]].concat());
    insta::assert_snapshot!(said, @"
    $TMP/repo/.agentwt/worktrees/task-5
    --- stderr
    note: --write: the write pattern `{a,b}.rs` matches no tracked file: braces do not expand in these patterns; write one for each
    note: --exclude: the exclude pattern `nowhere/` matches no tracked file
    task-5: new branch agentwt/task-5 at af82e40edf (main); 1 file to edit, 11 to read, 0 excluded
    --- status 0
    ");
}

#[test]
fn the_config_of_the_main_worktree_counts_and_not_that_of_the_worktree() {
    let repo = configured();
    repo.git(&["worktree", "add", "-q", "../plain"]);
    let plain = repo.root().join("plain");
    write(&plain, b".agentwt/config.toml", b"schema_version = \"9\"\n");
    repo.agentwt_in(&plain, &["add", "task-5"]).ok();
    assert_eq!(mode(&repo.worktree("task-5").join("src/main.rs")), 0o644);
}
