//! What several worktrees may write: told by `add`, refused with `--exclusive`, and listed.

use insta::assert_snapshot;

use crate::support::TestRepo;

/// A repository with three worktrees: two that may write the same, and one that may not.
#[track_caller]
fn with_three() -> TestRepo {
    let repo = TestRepo::project();
    for (name, write) in [("one", "src/**"), ("two", "src/**"), ("docs", "docs/*.md")] {
        repo.agentwt(&["add", name, "--write", write]).ok();
    }
    repo
}

#[test]
fn add_says_in_one_line_how_many_worktrees_may_write_the_same() {
    let repo = with_three();
    let add = ["add", "more", "--write", "*.rs", "-n"];
    assert_snapshot!(repo.agentwt(&add).stderr, @"note: may write the same files as 3 worktrees: git agentwt list --overlap");
    let quiet = repo.agentwt(&["add", "other", "--write", "/tests/", "-n"]);
    assert!(!quiet.stderr.contains("same"), "{quiet}");
    let quiet = repo.agentwt(&["add", "reader", "--write", "", "-n"]);
    assert!(!quiet.stderr.contains("same"), "{quiet}");
    repo.git(&["config", "agentwt.overlap", "false"]);
    let quiet = repo.agentwt(&add);
    assert!(!quiet.stderr.contains("same"), "{quiet}");
    let _ = repo
        .agentwt(&["add", "more", "--write", "*.rs", "--exclusive"])
        .fails(4);
}

#[test]
fn exclusive_refuses_and_leaves_nothing() {
    let repo = with_three();
    let before = repo.fingerprint();
    let said = repo.agentwt(&["add", "more", "--write", "src/main.rs", "--exclusive"]);
    assert_snapshot!(said, @"
    --- stderr
    error: cannot add `more` with --exclusive: other worktrees may write the same files
      `one`, `two`: the same file: src/main.rs
        by `src/main.rs` and `src/**` (such as src/main.rs)
    help: narrow it (--write, --add-exclude), wait until they are removed, or share: git agentwt add more without --exclusive
    --- status 4
    ");
    assert_eq!(repo.fingerprint(), before);
    let apart = ["add", "more", "--write", "/tests/", "--exclusive"];
    repo.agentwt(&apart).ok();
    // the same again: it does not stand in its own way
    repo.agentwt(&apart).ok();
}

#[test]
fn what_is_excluded_on_either_side_is_not_shared() {
    let repo = with_three();
    let add = |name: &str, exclude: &str| {
        let scope = [
            "--write",
            "src/**",
            "--exclude",
            exclude,
            "--exclusive",
            "-n",
        ];
        repo.agentwt(&[&["add", name], &scope[..]].concat()).status
    };
    assert_eq!(add("most", "src/mod/"), 4);
    assert_eq!(add("all", "src/**"), 0);
}

#[test]
fn a_worktree_whose_directory_is_gone_is_in_nobodys_way() {
    let repo = with_three();
    for name in ["one", "two"] {
        std::fs::remove_dir_all(repo.worktree(name)).expect("it is there");
    }
    let add = ["add", "more", "--write", "src/**", "--exclusive"];
    repo.agentwt(&add).ok();
    assert_eq!(repo.agentwt(&["list", "--overlap"]).ok(), "");
}

#[test]
fn a_damaged_record_and_an_unfinished_add_are_passed_over() {
    let repo = with_three();
    let records = repo.main().join(".git/agentwt/worktrees");
    std::fs::write(records.join("one/record.toml"), "version = 9\n").expect("written");
    std::fs::remove_file(records.join("two/record.toml")).expect("it is there");
    repo.agentwt(&["add", "more", "--write", "src/**", "--exclusive"])
        .ok();
}

#[test]
fn list_shows_pairs_and_files() {
    let repo = with_three();
    repo.agentwt(&["add", "all", "--write", "*.md"]).ok();
    assert_snapshot!(repo.agentwt(&["list", "--overlap"]), @"
    all and docs: 2 files that both may write
      docs/api.md
      docs/guide.md
      new files by `*.md` and `docs/*.md` (such as docs/a.md)
    all and one, two: 0 files that both may write
      new files by `*.md` and `src/**` (such as src/a.md)
    one, two: 2 files that both may write
      src/main.rs
      src/mod/util.rs
      new files by `src/**` (such as src/a)
    --- status 0
    ");
    assert_snapshot!(repo.agentwt(&["list", "--overlap", "--porcelain"]), @"
    all	docs	file	docs/api.md
    all	docs	file	docs/guide.md
    all	docs	new	*.md	docs/*.md	docs/a.md
    all	one	new	*.md	src/**	src/a.md
    all	two	new	*.md	src/**	src/a.md
    one	two	file	src/main.rs
    one	two	file	src/mod/util.rs
    one	two	new	src/**	src/**	src/a
    --- status 0
    ");
    let said = repo.agentwt(&["list", "--overlap", "--json"]).ok();
    let value: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
    assert_snapshot!(value["overlaps"][3].to_string(), @r#"{"files":[{"path":"src/main.rs"},{"path":"src/mod/util.rs"}],"new_files":[{"example":{"path":"src/a"},"patterns":["src/**","src/**"]}],"worktrees":["one","two"]}"#);
    assert_eq!(value["overlaps"].as_array().map(Vec::len), Some(4));
}

#[test]
fn without_overlap_it_says_so() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "one", "--write", "/src/"]).ok();
    repo.agentwt(&["add", "two", "--write", "/docs/"]).ok();
    assert_snapshot!(repo.agentwt(&["list", "--overlap"]), @"
    --- stderr
    no two worktrees may write the same files
    --- status 0
    ");
    repo.git(&["checkout", "-q", "--orphan", "empty"]);
    repo.agentwt(&["list", "--overlap"]).ok();
}
