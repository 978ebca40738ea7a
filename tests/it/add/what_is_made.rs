//! What `add` makes and answers.

use super::{SRC, files, masked, mode};
use crate::support::{TestRepo, binary, chmod, needs_root, text};

#[test]
fn stdout_is_the_path_only() {
    let repo = TestRepo::project();
    let said = repo.agentwt(SRC);
    insta::assert_snapshot!(said, @"
    $TMP/repo/.agentwt/worktrees/task-5
    --- stderr
    task-5: new branch agentwt/task-5 at af82e40edf (main); 2 files to edit, 10 to read, 0 excluded
    --- status 0
    ");
}

#[test]
fn json_holds_all_of_it() {
    let repo = TestRepo::project();
    let said = repo.agentwt(&[SRC, &["--json", "--exclude", "**/secrets/**"]].concat());
    let said = masked(&said.to_string(), "\"notes\": [", "]", "[notes]");
    // root is told more
    let said = said.replace("  [notes],\n", "");
    insta::assert_snapshot!(said, @r#"
    {
      "attempts": 1,
      "base": {
        "commit": "af82e40edf386d673bb6f4292ab3a4faea3c91e5",
        "revision": "main"
      },
      "branch": "agentwt/task-5",
      "branch_made": true,
      "done": "made",
      "dry_run": false,
      "files": {
        "excluded": 2,
        "read": 8,
        "write": 2
      },
      "name": "task-5",
      "on_violation": "report",
      "path": "$TMP/repo/.agentwt/worktrees/task-5",
      "schema": "agentwt.add/1",
      "scope": {
        "exclude": [
          "**/secrets/**"
        ],
        "profile": null,
        "read": [
          "**"
        ],
        "write": [
          "src/**"
        ]
      },
      "strategy": "worktree",
      "synced": {
        "bytes": 0,
        "copied": [],
        "excluded": [],
        "files": 0,
        "kept": 0,
        "tracked": []
      }
    }
    --- status 0
    "#);
}

#[test]
fn excluded_files_are_absent_and_all_others_are_there() {
    let repo = TestRepo::project();
    let dir = repo.add("task-5");
    insta::assert_snapshot!(files(&repo, &dir).join("\n"), @"
    .gitignore
    README.md
    docs/api.md
    docs/guide.md
    link
    package.json
    src/main.rs
    src/mod/util.rs
    tests/t.rs
    tools/run.sh
    ");
}

#[test]
fn read_files_have_no_write_bit_and_files_to_edit_have_the_owners() {
    let repo = TestRepo::project();
    let dir = repo.add("task-5");
    for (path, wanted) in [
        ("src/main.rs", 0o644),
        ("package.json", 0o644),
        ("README.md", 0o444),
        ("docs/api.md", 0o444),
        ("tools/run.sh", 0o555),
        (".gitignore", 0o444),
    ] {
        assert_eq!(mode(&dir.join(path)), wanted, "{path}");
    }
}

#[test]
fn directories_and_links_keep_their_modes() {
    let repo = TestRepo::project();
    let dir = repo.add("task-5");
    for path in ["", "docs", "src", "src/mod"] {
        assert_eq!(mode(&dir.join(path)), 0o755, "{path}");
    }
    let link = std::fs::symlink_metadata(dir.join("link")).expect("it is there");
    assert!(link.is_symlink(), "it is still a link");
    assert_eq!(
        mode(&dir.join("link")),
        0o777,
        "a link's own mode is left alone"
    );
}

#[test]
fn the_target_of_a_link_out_of_the_worktree_is_left_alone() {
    let repo = TestRepo::project();
    let outside = repo.root().join("outside");
    std::fs::write(&outside, "mine").expect("a file");
    chmod(&outside, 0o640);
    std::os::unix::fs::symlink(&outside, repo.main().join("docs/out")).expect("a link");
    std::os::unix::fs::symlink("nowhere", repo.main().join("docs/dangling")).expect("a link");
    std::os::unix::fs::symlink("..", repo.main().join("docs/up")).expect("a link");
    repo.commit_all("links");
    repo.add("task-5");
    assert_eq!(mode(&outside), 0o640);
    assert_eq!(repo.findings(&repo.worktree("task-5")), "");
}

#[test]
fn git_finds_nothing_to_report_afterwards() {
    let repo = TestRepo::project();
    // git compares whole seconds; write bits are set after the hook
    repo.hook("post-checkout", "sleep 1.1");
    let dir = repo.add("task-5");
    // first: `git status` writes the index again
    assert_eq!(
        repo.git_in(&dir, &["diff-files", "--name-only"]),
        "",
        "stat data is fresh"
    );
    assert_eq!(
        repo.git_in(&dir, &["status", "--porcelain", "--ignored"]),
        ""
    );
    assert_eq!(
        repo.git(&["status", "--porcelain"]),
        "",
        "the main worktree is untouched"
    );
    assert_eq!(repo.findings(&dir), "");
}

#[test]
fn the_sparse_file_has_positives_first_then_each_exclude_twice() {
    let repo = TestRepo::project();
    let dir = repo.add("task-5");
    let file = repo
        .main()
        .join(".git/worktrees/task-5/info/sparse-checkout");
    insta::assert_snapshot!(text(&file), @"
    /*
    !**/secrets/**
    !/.agentwt
    !/.agentwt/**
    /.agentwt/memory/**
    ");
    let cone = repo.git_in(&dir, &["config", "--get", "core.sparseCheckoutCone"]);
    assert_eq!(cone, "false");
}

#[test]
fn the_record_and_the_manifest_are_in_the_common_git_directory() {
    let repo = TestRepo::project();
    repo.add("task-5");
    let dir = repo.main().join(".git/agentwt/worktrees/task-5");
    let said = repo.sh(&dir, "find . -type f | LC_ALL=C sort");
    insta::assert_snapshot!(said.ok(), @"
    ./ignore/info-exclude
    ./manifest
    ./record.toml
    ./refs
    ./scope.toml
    ./shared.toml
    ");
    let record = text(&dir.join("record.toml"));
    let record = record.replace(&*repo.root().to_string_lossy(), "$TMP");
    let record = masked(&record, "created = \"", "\"", "created = [time]");
    let record = masked(&record, "digest = \"", "\"", "digest = [id]");
    insta::assert_snapshot!(record, @r#"
        version = 4
        name = "task-5"
        created = [time]
        made_by = "add"
        ports = 28850
        strategy = "worktree"
        path = "$TMP/repo/.agentwt/worktrees/task-5"
        admin_dir = "$TMP/repo/.git/worktrees/task-5"
        dot_git = """
        gitdir: $TMP/repo/.git/worktrees/task-5
        """
        branch = "agentwt/task-5"
        branch_made = true
        checked_out = "af82e40edf386d673bb6f4292ab3a4faea3c91e5"
        ignore_case = false
        file_mode = true
        conversions = false
        on_violation = "report"

        [base]
        commit = "af82e40edf386d673bb6f4292ab3a4faea3c91e5"
        revision = "main"

        [[base.tips]]
        name = "refs/heads/main"
        commit = "af82e40edf386d673bb6f4292ab3a4faea3c91e5"
        logged = true

        [[integrity]]
        file = "sparse-checkout"
        digest = [id]

        [[integrity]]
        file = "config-worktree"
        digest = [id]

        [[integrity]]
        file = "hooks-config"
        digest = [id]

        [[integrity]]
        file = "hooks-binary"
        digest = [id]

        [[integrity]]
        file = "hooks-scripts"
        digest = [id]

        [[scope]]
        list = "read"
        pattern = "**"
        origin = "default"

        [[scope]]
        list = "write"
        pattern = "src/**"

        [scope.origin]
        flag = "--write"

        [[scope]]
        list = "write"
        pattern = "tests/**"

        [scope.origin]
        flag = "--write"

        [[scope]]
        list = "write"
        pattern = "/package.json"

        [scope.origin]
        flag = "--write"

        [[scope]]
        list = "exclude"
        pattern = "**/secrets/**"

        [scope.origin]
        flag = "--exclude"
        "#);
}

#[test]
fn the_ignore_rules_are_written_when_init_never_ran() {
    let repo = TestRepo::project();
    repo.add("task-5");
    assert_eq!(
        text(&repo.main().join(".agentwt/worktrees/.gitignore")),
        "*\n"
    );
    let exclude = text(&repo.main().join(".git/info/exclude"));
    assert!(exclude.ends_with("\n/.agentwt/worktrees/\n"), "{exclude}");
    repo.agentwt(&["add", "task-6", "--write", "src/**"]).ok();
    let exclude = text(&repo.main().join(".git/info/exclude"));
    assert_eq!(exclude.matches("agentwt").count(), 1, "{exclude}");
}

#[test]
fn excluded_files_never_touch_the_disk() {
    let repo = TestRepo::project();
    repo.write(".gitattributes", "* filter=log\n");
    repo.commit_all("a filter that sees every file that git writes");
    let log = repo.root().join("written");
    let smudge = format!("echo %f >> '{}'; cat", log.display());
    repo.git(&["config", "filter.log.smudge", &smudge]);
    repo.git(&["config", "filter.log.clean", "cat"]);
    repo.add("task-5");
    let written = text(&log);
    assert!(
        written.contains("src/main.rs"),
        "the filter works: {written}"
    );
    assert!(!written.contains("secrets"), "{written}");
}

#[test]
fn the_users_post_checkout_hook_runs_once_as_after_worktree_add_and_sees_the_scoped_files() {
    let repo = TestRepo::project();
    let body = "{ echo \"$0 $* dir=$(pwd)\"; ls secrets || :; } >> \"$HOME/log\" 2>&1";
    repo.hook("post-checkout", body);
    repo.git(&["worktree", "add", "-q", "../plain"]);
    let as_git_does = text(&repo.home().join("log"));
    std::fs::remove_file(repo.home().join("log")).expect("it ran");
    repo.add("task-5");
    let log = text(&repo.home().join("log"));
    let wanted = as_git_does.lines().next().expect("a line");
    let wanted = wanted.replace("/plain", "/repo/.agentwt/worktrees/task-5");
    assert_eq!(log.lines().next(), Some(wanted.as_str()));
    assert!(
        !log.contains("key.pem"),
        "excluded files are absent by then: {log}"
    );
    assert_eq!(log.matches("dir=").count(), 1, "{log}");
}

#[test]
fn a_dry_run_makes_nothing_and_prints_the_plan() {
    let repo = TestRepo::project();
    let before = repo.fingerprint();
    let said = repo.agentwt(&[SRC, &["-n"]].concat());
    assert_eq!(repo.fingerprint(), before);
    insta::assert_snapshot!(said, @"
    would make $TMP/repo/.agentwt/worktrees/task-5
      branch   new branch agentwt/task-5
      base     af82e40edf (main)
      write    src/**
      read     **
      exclude  nothing
      files    2 files to edit, 10 to read, 0 excluded
    --- status 0
    ");
}

#[test]
fn a_dry_run_says_which_rule_excludes_how_many_files() {
    let repo = TestRepo::project();
    repo.write(".agentwt/config.toml", "schema_version = \"1.0\"\n");
    repo.git(&["add", "-A"]);
    repo.git(&["commit", "-qm", "config"]);
    let scope = ["--exclude", "**/secrets/**", "--read", "*.md"];
    let arguments = [SRC, &["-n"], &scope[..]].concat();
    let plan = repo.agentwt(&arguments).ok();
    let lines = plan.lines().filter(|line| line.starts_with("  excluded"));
    insta::assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @r#"
    excluded 1 file by "/.agentwt" (built-in)
    excluded 5 files that no read or write pattern matches
    excluded 2 files by "**/secrets/**" (--exclude)
    "#);
    let plan = repo.agentwt(&[&arguments[..], &["--json"]].concat()).ok();
    let plan: serde_json::Value = serde_json::from_str(&plan).expect("it is JSON");
    let exclusions = serde_json::json!([
        {"rule": {"list": "exclude", "pattern": "/.agentwt", "origin": "built-in"}, "files": 1},
        {"rule": null, "files": 5},
        {"rule": {"list": "exclude", "pattern": "**/secrets/**", "origin": "--exclude"}, "files": 2},
    ]);
    assert_eq!(plan["exclusions"], exclusions);
    let made = repo.agentwt(&[SRC, &["--json"]].concat()).ok();
    assert!(!made.contains("exclusions"), "{made}");
}

#[test]
fn as_root_the_user_is_told_that_read_only_bits_do_not_stop_it() {
    if !needs_root() {
        return;
    }
    let repo = TestRepo::project();
    let mut command = repo.command(binary(), repo.main());
    let output = command.args(SRC).output().expect("it starts");
    let stderr = String::from_utf8_lossy(&output.stderr);
    assert!(stderr.contains("note: you are root"), "{stderr}");
}

#[test]
fn no_hooks_installs_none() {
    let repo = TestRepo::project();
    repo.agentwt(&[SRC, &["--no-hooks"]].concat()).ok();
    let said = repo.agentwt(&["hooks", "status", "task-5"]);
    assert!(said.stdout.contains("not installed"), "{said}");
}
