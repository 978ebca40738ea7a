//! `--best-effort`: what can be read is given, and never taken for all.

use std::fs;
use std::path::PathBuf;

use insta::assert_snapshot;

use super::{bytes, json};
use crate::support::TestRepo;

/// A worktree with a commit, an edit and an untracked file.
#[must_use]
fn worked() -> (TestRepo, PathBuf) {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(
        &worktree,
        "echo 1 >>src/main.rs; git commit -qam one; echo n >docs/n; rm tests/t.rs; echo l >x.log",
    );
    (repo, worktree)
}

fn record(repo: &TestRepo, file: &str) -> PathBuf {
    repo.main().join(".git/agentwt/worktrees/task").join(file)
}

fn object(repo: &TestRepo, id: &str) -> PathBuf {
    repo.main()
        .join(format!(".git/objects/{}/{}", &id[..2], &id[2..]))
}

#[test]
fn where_nothing_is_missing_it_ends_as_usual() {
    let (repo, _) = worked();
    let plain = repo.agentwt(&["changed", "task"]);
    assert_eq!(repo.agentwt(&["changed", "task", "--best-effort"]), plain);
    assert_eq!(bytes(&repo, &["--best-effort", "--roots", "/nowhere"]).1, 1);
    assert_eq!(bytes(&repo, &["--best-effort", "--roots", "/"]).1, 0);
    let all = json(&repo, &["--best-effort"]);
    assert!(
        all.get("incomplete").is_none() && all.get("notes").is_none(),
        "{all}"
    );
}

#[test]
fn a_manifest_that_is_gone_or_damaged_is_made_again_and_proves_nothing() {
    let (repo, _) = worked();
    let plain = repo.agentwt(&["changed", "task"]).ok();
    fs::write(record(&repo, "manifest"), "x").expect("written");
    repo.agentwt(&["changed", "task"]).fails(6);
    let said = repo.agentwt(&["changed", "task", "--best-effort"]);
    assert_eq!(said.stdout.trim_end(), plain);
    assert_snapshot!(said.fails(10).stderr, @"note: incomplete: cannot read the manifest of worktree `task`: it is damaged");
    fs::remove_file(record(&repo, "manifest")).expect("it is there");
    let said = repo.agentwt(&["changed", "task", "--best-effort"]);
    assert_eq!(said.fails(10).stdout.trim_end(), plain);
    assert_eq!(
        bytes(&repo, &["--best-effort", "--roots", "/nowhere"]).1,
        10,
        "never 1"
    );
    assert_eq!(
        bytes(&repo, &["--best-effort", "--roots", "/"]).1,
        10,
        "never 0"
    );
    let all = json(&repo, &["--best-effort"]);
    assert_eq!(
        all["incomplete"].to_string(),
        r#"["cannot read the manifest of worktree `task`: it is missing"]"#
    );
}

#[test]
fn a_base_that_is_gone_leaves_the_disk_and_the_index() {
    let (repo, _) = worked();
    let base = repo.git(&["rev-parse", "main"]);
    fs::remove_file(object(&repo, &base)).expect("it is there");
    repo.agentwt(&["changed", "task"]).fails(5);
    let said = repo.agentwt(&["changed", "task", "--best-effort"]);
    let stdout = &said.fails(10).stdout;
    for path in ["docs/n", "src/main.rs", "tests/t.rs"] {
        assert!(stdout.contains(path), "{said}");
    }
    assert!(said.stderr.contains("incomplete: cannot"), "{said}");
    assert!(said.stderr.contains(&base), "git's words: {said}");
    fs::remove_file(record(&repo, "manifest")).expect("it is there");
    let said = repo.agentwt(&["changed", "task", "--best-effort"]);
    assert_eq!(said.fails(10).stdout, "", "nothing is left to compare with");
    assert_eq!(
        json(&repo, &["--best-effort"])["base"],
        serde_json::Value::Null
    );
}

#[test]
fn a_tree_of_a_commit_that_is_gone_leaves_all_else() {
    let (repo, worktree) = worked();
    let tree = repo.git_in(&worktree, &["rev-parse", "HEAD:src"]);
    fs::remove_file(object(&repo, &tree)).expect("it is there");
    repo.agentwt(&["changed", "task"]).fails(5);
    let said = repo.agentwt(&["changed", "task", "--best-effort"]);
    let stdout = &said.fails(10).stdout;
    assert!(
        stdout.contains("docs/n") && stdout.contains("src/main.rs"),
        "{said}"
    );
    assert!(
        said.stderr.contains(&format!("cannot read tree {tree}")),
        "{said}"
    );
    let (_, status) = bytes(&repo, &["--best-effort", "--commits", "--patch", "--json"]);
    assert_eq!(status, 10);
}

#[test]
fn a_head_that_git_cannot_read_hides_no_commit() {
    let (repo, _) = worked();
    fs::write(repo.main().join(".git/worktrees/task/HEAD"), "x\n").expect("written");
    let said = repo.agentwt(&["changed", "task", "--best-effort"]);
    assert!(said.fails(10).stdout.contains("src/main.rs"), "{said}");
    assert!(
        said.stderr
            .contains("incomplete: cannot read the ref HEAD: "),
        "{said}"
    );
    let strict = repo.agentwt(&["changed", "task"]).ok();
    assert!(
        strict.contains("modified  src/main.rs  commit "),
        "{strict}"
    );
}

#[test]
fn ignore_rules_that_are_gone_ignore_nothing() {
    let (repo, _) = worked();
    let rules = repo.git(&["rev-parse", "main:.gitignore"]);
    fs::remove_file(object(&repo, &rules)).expect("it is there");
    repo.agentwt(&["changed", "task"]).fails(5);
    let said = repo.agentwt(&["changed", "task", "--best-effort"]);
    assert!(
        said.fails(10)
            .stdout
            .contains("created   x.log        untracked"),
        "{said}"
    );
}

#[test]
fn an_index_or_a_file_that_cannot_be_read_is_missing_too() {
    let (repo, worktree) = worked();
    fs::write(repo.main().join(".git/worktrees/task/index"), "x").expect("written");
    let said = repo.agentwt(&["changed", "task", "--best-effort"]);
    assert!(
        said.fails(10)
            .stderr
            .contains("cannot read the worktree's index"),
        "{said}"
    );
    assert!(
        said.stdout.contains("docs/n") && said.stdout.contains("@wt/index"),
        "{said}"
    );
    assert_eq!(bytes(&repo, &[]).1, 5, "what is only staged cannot be told");
    fs::remove_dir_all(worktree).expect("it is there");
    let said = repo.agentwt(&["changed", "task", "--best-effort"]);
    assert!(
        said.fails(10).stderr.contains("open the worktree"),
        "{said}"
    );
}

#[test]
fn without_a_record_the_answer_is_empty_and_says_why() {
    let (repo, worktree) = worked();
    fs::write(record(&repo, "record.toml"), "x").expect("written");
    repo.agentwt(&["changed", "task"]).fails(6);
    assert_snapshot!(repo.agentwt(&["changed", "task", "--best-effort", "--json"]), @r#"
    {
      "base": null,
      "changed": [],
      "head": null,
      "incomplete": [
        "cannot read the record of worktree `task`: it is damaged: key with no value, expected `=`"
      ],
      "name": null,
      "notes": [
        "incomplete: cannot read the record of worktree `task`: it is damaged: key with no value, expected `=`"
      ],
      "path": null,
      "schema": "agentwt.changed/1"
    }
    --- stderr
    note: incomplete: cannot read the record of worktree `task`: it is damaged: key with no value, expected `=`
    --- status 10
    "#);
    fs::remove_dir_all(record(&repo, "")).expect("it is there");
    repo.agentwt(&["changed", "task"]).fails(7);
    repo.agentwt(&["changed", "task", "--best-effort"])
        .fails(10);
    repo.agentwt_in(&worktree, &["changed", "--best-effort"])
        .fails(10);
    repo.agentwt(&["changed", "tusk", "--best-effort"]).fails(7);
    fs::write(repo.main().join(".git/HEAD"), "x").expect("written");
    repo.agentwt(&["changed", "task"]).fails(2);
    let said = repo.agentwt(&["changed", "task", "--best-effort"]);
    assert_snapshot!(said, @"
    --- stderr
    note: incomplete: not in a git repository: $TMP/repo
    --- status 10
    ");
}
