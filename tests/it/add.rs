//! `add` against real git: what is made, from where, and that it is exactly what the scope says.

use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::support::{TestRepo, binary, chmod, gits, is_root, needs_root, write};

const SRC: &[&str] = &["add", "task-5", "--write", "src/**"];

/// The files below a directory, with the worktree's `.git` left out, sorted.
#[track_caller]
fn files(repo: &TestRepo, dir: &Path) -> Vec<String> {
    let said = repo.sh(dir, "find . ! -type d ! -path './.git' | LC_ALL=C sort");
    let text = said.ok();
    text.lines()
        .map(|l| l.trim_start_matches("./").to_owned())
        .collect()
}

#[track_caller]
fn mode(file: &Path) -> u32 {
    let metadata = std::fs::symlink_metadata(file);
    metadata
        .unwrap_or_else(|error| panic!("{}: {error}", file.display()))
        .mode()
        & 0o7777
}

#[track_caller]
fn text(file: &Path) -> String {
    std::fs::read_to_string(file).unwrap_or_else(|error| panic!("{}: {error}", file.display()))
}

#[track_caller]
fn hook(repo: &TestRepo, name: &str, body: &str) {
    let file = repo.main().join(".git/hooks").join(name);
    std::fs::create_dir_all(file.parent().expect("a parent")).expect("a directory");
    std::fs::write(&file, format!("#!/bin/sh\n{body}\n")).expect("a hook");
    chmod(&file, 0o755);
}

/// Clones the project with these options; the directory, beside the repository.
#[track_caller]
fn clone(repo: &TestRepo, options: &[&str], name: &str) -> PathBuf {
    let url = format!("file://{}", repo.main().display());
    let mut arguments = vec!["clone", "-q"];
    arguments.extend(options);
    arguments.extend([url.as_str(), name]);
    repo.git_in(repo.root(), &arguments);
    repo.root().join(name)
}

/// The text with each stretch from `from` to the next `to` replaced: what is not the same twice.
fn masked(text: &str, from: &str, to: &str, by: &str) -> String {
    let (mut shown, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once(from) {
        let (_, after) = after.split_once(to).expect("it ends");
        shown.push_str(before);
        shown.push_str(by);
        rest = after;
    }
    shown + rest
}

mod what_is_made {
    use super::*;

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
        hook(&repo, "post-checkout", "sleep 1.1");
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
        hook(&repo, "post-checkout", body);
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
}

mod scope {
    use super::*;

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
}

mod branch_and_base {
    use super::*;

    #[track_caller]
    fn head(repo: &TestRepo, name: &str) -> String {
        let dir = repo.worktree(name);
        let branch = repo.git_in(&dir, &["symbolic-ref", "HEAD"]);
        let branch = branch.trim_start_matches("refs/heads/");
        let subject = repo.git_in(&dir, &["log", "-1", "--format=%s"]);
        format!("{branch} at {subject}")
    }

    #[test]
    fn the_branch_is_the_prefix_and_the_name_at_the_main_worktrees_branch() {
        let repo = TestRepo::project();
        repo.git(&["switch", "-q", "-c", "dev"]);
        repo.commit_all("two");
        repo.agentwt(SRC).ok();
        assert_eq!(head(&repo, "task-5"), "agentwt/task-5 at two");
    }

    #[test]
    fn prefix_and_base_come_from_the_config() {
        let repo = TestRepo::project();
        let config =
            "schema_version = \"1.0\"\n[worktree]\nbase = \"old\"\nbranch_prefix = \"bots-\"\n";
        repo.write(".agentwt/config.toml", config);
        repo.git(&["branch", "old"]);
        repo.commit_all("two");
        repo.agentwt(SRC).ok();
        assert_eq!(head(&repo, "task-5"), "bots-task-5 at one");
        repo.git(&["config", "agentwt.branchPrefix", ""]);
        repo.agentwt(&["add", "task-6", "--write", "", "--base", "main"])
            .ok();
        assert_eq!(head(&repo, "task-6"), "task-6 at two");
    }

    #[test]
    fn any_name_of_a_commit_is_a_base() {
        let repo = TestRepo::project();
        repo.git(&["tag", "-a", "-m", "a tag", "v1"]);
        repo.commit_all("two");
        for (n, base) in ["v1", "HEAD~1", "main^", ":/one"].iter().enumerate() {
            let name = format!("t{n}");
            repo.agentwt(&["add", &name, "--write", "", "--base", base])
                .ok();
            assert_eq!(
                head(&repo, &name),
                format!("agentwt/{name} at one"),
                "{base}"
            );
        }
    }

    #[test]
    fn an_existing_branch_is_worked_on_from_its_tip() {
        let repo = TestRepo::project();
        repo.git(&["switch", "-q", "-c", "fix/login"]);
        repo.commit_all("two");
        repo.git(&["switch", "-q", "main"]);
        let said = repo.agentwt(&[SRC, &["-b", "fix/login"]].concat());
        assert_eq!(head(&repo, "task-5"), "fix/login at two");
        insta::assert_snapshot!(said, @"
        $TMP/repo/.agentwt/worktrees/task-5
        --- stderr
        task-5: branch fix/login at 9c8c2ce2e6; 2 files to edit, 10 to read, 0 excluded
        --- status 0
        ");
    }

    #[test]
    fn an_existing_branch_may_be_counted_from_an_older_base() {
        let repo = TestRepo::project();
        repo.git(&["switch", "-q", "-c", "fix/login"]);
        repo.write("docs/api.md", "edited\n");
        repo.commit_all("two");
        repo.git(&["switch", "-q", "main"]);
        repo.agentwt(&[SRC, &["-b", "fix/login", "--base", "main"]].concat())
            .ok();
        let findings = repo.findings(&repo.worktree("task-5"));
        assert!(
            findings.contains("docs/api.md"),
            "it counts from main: {findings}"
        );
    }

    #[test]
    fn a_branch_that_does_not_exist_is_made_under_that_very_name() {
        let repo = TestRepo::project();
        repo.agentwt(&[SRC, &["-b", "fix/new"]].concat()).ok();
        assert_eq!(head(&repo, "task-5"), "fix/new at one");
    }

    /// As `git switch` and `git worktree add` do.
    #[test]
    fn a_branch_that_only_a_remote_has_is_tracked() {
        let repo = TestRepo::project();
        let script = "git init -q --bare ../origin.git; git remote add origin ../origin.git
            git switch -q -c fix/login; git commit -q --allow-empty -m two
            git push -q origin fix/login; git switch -q main; git branch -q -D fix/login";
        repo.sh(repo.main(), script).ok();
        repo.keep_as("pushed");
        for strategy in ["worktree", "clone"] {
            let add = [SRC, &["-b", "fix/login", "--strategy", strategy]].concat();
            repo.agentwt(&add).ok();
            assert_eq!(head(&repo, "task-5"), "fix/login at two", "{strategy}");
            let upstream = "git rev-parse --abbrev-ref '@{upstream}'";
            let tracked = repo.sh(&repo.worktree("task-5"), upstream).ok();
            assert_eq!(tracked, "origin/fix/login", "{strategy}");
            repo.agentwt(&["verify", "task-5"]).ok();
            repo.bring_back("pushed");
        }
        repo.sh(
            repo.main(),
            "git remote add up ../origin.git; git fetch -q up",
        )
        .ok();
        insta::assert_snapshot!(repo.agentwt(&[SRC, &["-b", "fix/login"]].concat()), @"
        --- stderr
        error: cannot create the branch `fix/login`: several remotes have it: origin/fix/login, up/fix/login
        help: to choose: git branch --track fix/login origin/fix/login, or git config checkout.defaultRemote <remote>
        --- status 4
        ");
        repo.git(&["config", "checkout.defaultRemote", "up"]);
        let add = [SRC, &["-b", "fix/login", "--base", "main"]].concat();
        repo.agentwt(&add).ok();
        assert_eq!(head(&repo, "task-5"), "fix/login at two");
        let remote = repo.sh(repo.main(), "git config branch.fix/login.remote");
        assert_eq!(remote.ok(), "up");
    }

    #[test]
    fn a_branch_may_be_given_by_its_full_ref() {
        let repo = TestRepo::project();
        repo.git(&["branch", "fix/login"]);
        repo.agentwt(&[SRC, &["-b", "refs/heads/fix/login"]].concat())
            .ok();
        assert_eq!(head(&repo, "task-5"), "fix/login at one");
    }

    #[test]
    fn a_tag_of_the_same_name_does_not_confuse_it() {
        let repo = TestRepo::project();
        repo.git(&["branch", "both"]);
        repo.commit_all("two");
        repo.git(&["tag", "both"]);
        repo.git(&["tag", "agentwt/task-5"]);
        repo.git(&["tag", "main", "main~1"]);
        repo.agentwt(&[SRC, &["-b", "both"]].concat()).ok();
        assert_eq!(head(&repo, "task-5"), "both at one");
        repo.agentwt(&["add", "task-6", "--write", "src/**"]).ok();
        assert_eq!(
            head(&repo, "task-6"),
            "agentwt/task-6 at two",
            "main is the branch"
        );
    }

    #[test]
    fn a_new_branch_has_no_upstream() {
        let repo = TestRepo::project();
        let dir = clone(&repo, &[], "clone");
        let add = ["add", "task-5", "--write", "", "--base", "origin/main"];
        repo.agentwt_in(&dir, &add).ok();
        let upstream = repo.git_in(
            &dir,
            &["for-each-ref", "--format=%(upstream)", "refs/heads/agentwt"],
        );
        assert_eq!(upstream, "");
    }

    #[test]
    fn a_base_behind_its_upstream_is_noted() {
        let repo = TestRepo::project();
        let dir = clone(&repo, &[], "clone");
        repo.commit_all("two");
        repo.git_in(&dir, &["fetch", "-q"]);
        let said = repo.agentwt_in(&dir, SRC);
        insta::assert_snapshot!(said, @"
        $TMP/clone/.agentwt/worktrees/task-5
        --- stderr
        note: `main` is 1 commit behind `origin/main`; to start from there: --base origin/main
        task-5: new branch agentwt/task-5 at af82e40edf (main); 2 files to edit, 10 to read, 0 excluded
        --- status 0
        ");
    }

    #[test]
    fn the_same_again_prints_the_same_path_and_changes_nothing() {
        let repo = TestRepo::project();
        let first = repo.agentwt(SRC).ok();
        let before = repo.fingerprint();
        let said = repo.agentwt(SRC);
        assert_eq!(said.ok(), first);
        assert_eq!(repo.fingerprint(), before);
        insta::assert_snapshot!(said, @"
        $TMP/repo/.agentwt/worktrees/task-5
        --- stderr
        task-5 is there already
        --- status 0
        ");
    }

    #[test]
    fn the_same_again_is_fine_after_commits_on_the_base_and_in_the_worktree() {
        let repo = TestRepo::project();
        let first = repo.agentwt(SRC).ok();
        repo.commit_all("two");
        write(&repo.worktree("task-5"), b"src/new.rs", b"new\n");
        repo.commit_all_in(&repo.worktree("task-5"), "work");
        assert_eq!(repo.agentwt(SRC).ok(), first);
        assert_eq!(
            repo.agentwt(&[SRC, &["--base", "main~1"]].concat()).ok(),
            first
        );
        assert_eq!(
            repo.agentwt(&[SRC, &["-b", "agentwt/task-5"]].concat())
                .ok(),
            first
        );
    }

    #[test]
    fn another_scope_is_refused_with_the_difference() {
        let repo = TestRepo::project();
        repo.add("task-5");
        let before = repo.fingerprint();
        let said = repo.agentwt(&["add", "task-5", "--write", "src/**", "--write", "docs/**"]);
        assert_eq!(repo.fingerprint(), before);
        insta::assert_snapshot!(said, @"
        --- stderr
        error: worktree `task-5` exists with another scope:
        - write tests/**
        - write /package.json
        - exclude **/secrets/**
        + write docs/**
        help: `-` is what it has, `+` what was asked for; take another name, or remove it first: git agentwt remove task-5
        --- status 4
        ");
    }

    #[test]
    fn another_base_or_branch_is_refused() {
        let repo = TestRepo::project();
        repo.agentwt(SRC).ok();
        repo.commit_all("two");
        insta::assert_snapshot!(repo.agentwt(&[SRC, &["--base", "main"]].concat()), @"
        --- stderr
        error: worktree `task-5` exists, and its base is af82e40edf
        help: take another name, or remove it first: git agentwt remove task-5
        --- status 4
        ");
        insta::assert_snapshot!(repo.agentwt(&[SRC, &["-b", "main"]].concat()), @"
        --- stderr
        error: worktree `task-5` exists, and its branch is `agentwt/task-5`
        help: take another name, or remove it first: git agentwt remove task-5
        --- status 4
        ");
    }

    #[test]
    fn another_branch_that_does_not_exist_yet_is_refused_too() {
        let repo = TestRepo::project();
        repo.agentwt(SRC).ok();
        repo.agentwt(&[SRC, &["-b", "fix/other"]].concat()).fails(4);
    }
}

mod from_where {
    use super::*;

    #[test]
    fn a_subfolder() {
        let repo = TestRepo::project();
        let path = repo.agentwt_in(&repo.main().join("src/mod"), SRC).ok();
        assert_eq!(path, "$TMP/repo/.agentwt/worktrees/task-5");
    }

    #[test]
    fn another_directory_by_option_c() {
        let repo = TestRepo::project();
        let arguments = [&["-C", "repo/src"], SRC].concat();
        let path = repo.agentwt_in(repo.root(), &arguments).ok();
        assert_eq!(path, "$TMP/repo/.agentwt/worktrees/task-5");
    }

    #[test]
    fn through_git_itself() {
        let repo = TestRepo::project();
        let path = repo.git(&[&["agentwt"], SRC].concat());
        assert_eq!(path, "$TMP/repo/.agentwt/worktrees/task-5");
    }

    #[test]
    fn through_git_from_a_hook_with_gits_variables_set() {
        let repo = TestRepo::project();
        let line = "GIT_DIR=.git GIT_INDEX_FILE=.git/index git agentwt add task-5 --write ''";
        assert_eq!(
            repo.sh(repo.main(), line).ok(),
            "$TMP/repo/.agentwt/worktrees/task-5"
        );
    }

    #[test]
    fn for_an_agent_program_inside_a_worktree_it_is_made_beside_it_from_the_main_worktree() {
        let repo = TestRepo::project();
        let config = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"src/**\"]\n";
        repo.write(".agentwt/config.toml", config);
        let other = repo.add("other");
        write(&other, b"src/new.rs", b"new\n");
        repo.commit_all_in(&other, "work of the other");
        let event = br#"{"hook_event_name":"WorktreeCreate","name":"task-5"}"#;
        let hook = ["hook", "claude-create"];
        let path = repo.agentwt_with_input(&other.join("src"), &hook, event);
        assert_eq!(path.ok(), "$TMP/repo/.agentwt/worktrees/task-5");
        let dir = repo.worktree("task-5");
        assert!(
            !dir.join("src/new.rs").exists(),
            "it starts from the main worktree's branch"
        );
        assert!(
            dir.join("secrets/key.pem").exists(),
            "the other's scope is not inherited"
        );
        assert_eq!(mode(&dir.join("tests/t.rs")), 0o444);
        assert_eq!(repo.findings(&dir), "");
    }

    #[test]
    fn inside_a_plain_linked_worktree_it_is_made_in_the_main_one() {
        let repo = TestRepo::project();
        repo.git(&["worktree", "add", "-q", "../plain"]);
        let plain = repo.root().join("plain");
        repo.git_in(&plain, &["sparse-checkout", "set", "--no-cone", "/docs/"]);
        let path = repo.agentwt_in(&plain, SRC).ok();
        assert_eq!(path, "$TMP/repo/.agentwt/worktrees/task-5");
        assert_eq!(mode(&repo.worktree("task-5").join("README.md")), 0o444);
        let branch = repo.git_in(&repo.worktree("task-5"), &["log", "-1", "--format=%s"]);
        assert_eq!(branch, "one");
    }

    #[test]
    fn through_a_link_to_the_repository() {
        let repo = TestRepo::project();
        std::os::unix::fs::symlink(repo.main(), repo.root().join("alias")).expect("a link");
        let path = repo.agentwt_in(&repo.root().join("alias/src"), SRC).ok();
        assert_eq!(path, "$TMP/repo/.agentwt/worktrees/task-5");
    }

    #[test]
    fn a_worktree_of_a_bare_repository() {
        let repo = TestRepo::project();
        clone(&repo, &["--bare"], "repo.git");
        let bare = repo.root().join("repo.git");
        repo.git_in(&bare, &["worktree", "add", "-q", "../wt", "main"]);
        let wt = repo.root().join("wt");
        let path = repo.agentwt_in(&wt, SRC).ok();
        assert_eq!(path, "$TMP/repo.git/.agentwt/worktrees/task-5");
        let dir = bare.join(".agentwt/worktrees/task-5");
        assert_eq!(repo.findings(&dir), "");
        assert_eq!(
            repo.git_in(&wt, &["status", "--porcelain"]),
            "",
            "the other still works"
        );
        assert_eq!(
            repo.git_in(&bare, &["rev-parse", "--is-bare-repository"]),
            "true"
        );
    }

    #[test]
    fn a_worktree_of_a_hidden_bare_repository_in_the_projects_directory() {
        let repo = TestRepo::project();
        clone(&repo, &["--bare"], "project/.bare");
        let project = repo.root().join("project");
        std::fs::write(project.join(".git"), "gitdir: ./.bare\n").expect("a file");
        repo.git_in(&project, &["worktree", "add", "-q", "main", "main"]);
        let path = repo.agentwt_in(&project.join("main/src"), SRC).ok();
        assert_eq!(path, "$TMP/project/.agentwt/worktrees/task-5");
        let dir = project.join(".agentwt/worktrees/task-5");
        assert_eq!(repo.findings(&dir), "");
        repo.git_in(&dir, &["status"]);
        let refused = repo.agentwt_in(&dir.join("src"), SRC);
        let (_, command) = refused.stderr.split_once(": cd ").expect("a command");
        let command = command.replace("$TMP", &repo.root().display().to_string());
        let again = repo.sh(repo.root(), &format!("cd {command}")).ok();
        assert_eq!(
            again, path,
            "from inside it, by the command that is printed"
        );
    }

    #[test]
    fn a_repository_with_a_separate_git_directory() {
        let repo = TestRepo::project();
        repo.git(&["init", "-q", "--separate-git-dir", "../elsewhere.git"]);
        let path = repo.agentwt(SRC).ok();
        assert_eq!(path, "$TMP/repo/.agentwt/worktrees/task-5");
        assert_eq!(repo.findings(&repo.worktree("task-5")), "");
        let inside = repo.worktree("task-5").join("src");
        let again = repo.agentwt_in(&inside, &["path"]).ok();
        assert_eq!(again, path, "from inside");
    }

    #[test]
    fn a_submodule_is_a_repository_of_its_own() {
        let repo = TestRepo::project();
        let url = clone(&repo, &[], "lib");
        repo.git(&["submodule", "-q", "add", &url.to_string_lossy(), "lib"]);
        repo.commit_all("a submodule");
        let path = repo.agentwt_in(&repo.main().join("lib"), SRC).ok();
        assert_eq!(path, "$TMP/repo/lib/.agentwt/worktrees/task-5");
        assert_eq!(
            repo.findings(&repo.main().join("lib/.agentwt/worktrees/task-5")),
            ""
        );
    }
}

mod repositories {
    use super::*;

    #[test]
    fn a_submodule_is_left_empty_and_is_no_finding() {
        let repo = TestRepo::project();
        let url = clone(&repo, &[], "lib");
        repo.git(&["submodule", "-q", "add", &url.to_string_lossy(), "src/lib"]);
        repo.commit_all("a submodule");
        repo.git(&["config", "submodule.recurse", "true"]);
        let dir = repo.add("task-5");
        assert_eq!(files(&repo, &dir.join("src/lib")), Vec::<String>::new());
        assert_eq!(repo.findings(&dir), "");
        repo.agentwt(&["add", "task-6", "--write", "", "--exclude", "src/"])
            .ok();
        assert_eq!(repo.findings(&repo.worktree("task-6")), "");
    }

    #[test]
    fn names_of_any_bytes() {
        let repo = TestRepo::project();
        let names: &[&[u8]] = &[
            b"src/a\nb",
            b"src/tab\there",
            b"src/\"quoted\"",
            b"src/back\\slash",
            b"src/\xff\xfe",
            b"-lead",
            b"--",
            b"docs/ space ",
            b"docs/[x]",
            b"docs/a*b",
            b"docs/\xc3\xa9",
            b"!not",
            b"#hash",
            b":(top)x",
            b"secrets/\n",
            b"secrets/\xff",
            b"docs/trailing\\",
            b"@{u}",
        ];
        for name in names {
            write(repo.main(), name, b"x\n");
        }
        repo.commit_all("odd names");
        let dir = repo.add("task-5");
        for name in names {
            let file = dir.join(std::ffi::OsStr::from_bytes(name));
            let shown = String::from_utf8_lossy(name);
            if name.starts_with(b"secrets/") {
                assert!(!file.exists(), "{shown:?} is excluded");
            } else if name.starts_with(b"src/") {
                assert_eq!(mode(&file), 0o644, "{shown:?} is to edit");
            } else {
                assert_eq!(mode(&file), 0o444, "{shown:?} is to read");
            }
        }
        assert_eq!(repo.findings(&dir), "");
    }

    #[test]
    fn a_pattern_for_an_odd_name_matches_it() {
        let repo = TestRepo::project();
        for name in ["docs/[x]", "#hash", "-lead", "a b "] {
            repo.write(name, "x\n");
        }
        repo.commit_all("odd names");
        let write = ["docs/\\[x\\]", "\\#hash", "/-lead", "a b\\ "];
        let mut arguments = vec!["add", "task-5"];
        let options: Vec<String> = write.iter().map(|p| format!("--write={p}")).collect();
        arguments.extend(options.iter().map(String::as_str));
        repo.agentwt(&arguments).ok();
        for name in ["docs/[x]", "#hash", "-lead", "a b "] {
            assert_eq!(mode(&repo.worktree("task-5").join(name)), 0o644, "{name}");
        }
    }

    #[test]
    fn with_ignore_case_patterns_match_in_any_case() {
        let repo = TestRepo::project();
        repo.write("Src/Other.rs", "x\n");
        repo.write("docs/SECRETS/k", "x\n");
        repo.commit_all("cases");
        repo.git(&["config", "core.ignoreCase", "true"]);
        let dir = repo.add("task-5");
        assert_eq!(mode(&dir.join("Src/Other.rs")), 0o644);
        assert!(!dir.join("docs/SECRETS").exists());
        assert_eq!(repo.findings(&dir), "");
    }

    #[test]
    fn a_sha256_repository() {
        let repo = TestRepo::empty_with(&["--object-format=sha256"]);
        repo.fill();
        let dir = repo.add("task-5");
        assert_eq!(repo.findings(&dir), "");
        assert_eq!(mode(&dir.join("README.md")), 0o444);
    }

    #[test]
    fn a_reftable_repository() {
        let mut tried = 0;
        for (version, bin) in gits() {
            let repo = TestRepo::empty().with_git(&bin);
            let init = repo.try_git(repo.root(), &["init", "-q", "--ref-format=reftable", "rt"]);
            if init.status != 0 {
                eprintln!("skipped: {version} has no reftable");
                continue;
            }
            tried += 1;
            let dir = repo.root().join("rt");
            write(&dir, b"src/a", b"a\n");
            write(&dir, b"secrets/a", b"a\n");
            repo.commit_all_in(&dir, "one");
            let add = [SRC, &["--exclude", "secrets/"]].concat();
            repo.agentwt_in(&dir, &add).ok();
            let worktree = dir.join(".agentwt/worktrees/task-5");
            assert_eq!(files(&repo, &worktree), ["src/a"], "{version}");
            assert_eq!(repo.findings(&worktree), "", "{version}");
        }
        eprintln!("tried with {tried} versions of git");
    }

    #[test]
    fn every_git_of_the_machine_makes_the_same() {
        for (version, bin) in gits() {
            let repo = TestRepo::project().with_git(&bin);
            let dir = repo.add("task-5");
            assert!(!dir.join("secrets").exists(), "{version}");
            assert_eq!(mode(&dir.join("README.md")), 0o444, "{version}");
            assert_eq!(repo.findings(&dir), "", "{version}");
            assert_eq!(
                repo.git_in(&dir, &["status", "--porcelain"]),
                "",
                "{version}"
            );
        }
    }

    #[test]
    fn a_shallow_clone() {
        let repo = TestRepo::project();
        repo.commit_all("two");
        let dir = clone(&repo, &["--depth", "1"], "shallow");
        repo.agentwt_in(&dir, SRC).ok();
        assert_eq!(repo.findings(&dir.join(".agentwt/worktrees/task-5")), "");
    }

    #[test]
    fn a_partial_clone_fetches_only_what_the_scope_shows() {
        let repo = TestRepo::project();
        repo.git(&["config", "uploadpack.allowFilter", "true"]);
        repo.git(&["config", "uploadpack.allowAnySHA1InWant", "true"]);
        let dir = clone(&repo, &["--filter=blob:none", "--no-checkout"], "partial");
        let add = [SRC, &["--exclude", "**/secrets/**"]].concat();
        repo.agentwt_in(&dir, &add).ok();
        let worktree = dir.join(".agentwt/worktrees/task-5");
        assert_eq!(text(&worktree.join("docs/api.md")), "api v1\n");
        let missing = repo.sh(
            &dir,
            "git rev-list --objects --all --missing=print | grep -c '^?'",
        );
        assert_eq!(
            missing.stdout.trim(),
            "2",
            "the two secrets were not fetched: {missing}"
        );
        assert_eq!(repo.findings(&worktree), "");
    }

    #[test]
    fn pointer_files_and_filters_of_git_lfs() {
        let repo = TestRepo::project();
        repo.write(".gitattributes", "*.bin filter=lfs -text\n");
        let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 3\n";
        repo.write("src/model.bin", pointer);
        repo.commit_all("a pointer, and no lfs installed");
        let dir = repo.add("task-5");
        assert_eq!(text(&dir.join("src/model.bin")), pointer);
        assert_eq!(repo.findings(&dir), "");
    }

    #[test]
    fn a_clean_and_smudge_filter() {
        let repo = TestRepo::project();
        repo.git(&["config", "filter.rot.clean", "tr a-z n-za-m"]);
        repo.git(&["config", "filter.rot.smudge", "tr a-z n-za-m"]);
        repo.write(".gitattributes", "*.md filter=rot\n");
        // without it git looks at the old files again only within the second of the last commit
        repo.git(&["add", "--renormalize", "."]);
        repo.commit_all("a filter");
        let dir = repo.add("task-5");
        assert_eq!(text(&dir.join("docs/guide.md")), "guide\n");
        assert_eq!(repo.findings(&dir), "");
    }

    #[test]
    fn line_endings_and_idents_that_the_checkout_writes() {
        let repo = TestRepo::project();
        repo.write(
            ".gitattributes",
            "*.md eol=crlf\n*.rs ident\n*.txt working-tree-encoding=UTF-16\n",
        );
        repo.write("src/id.rs", "// $Id$\n");
        repo.write("docs/api.md", "a\nb\n");
        repo.commit_all("attributes");
        let dir = repo.add("task-5");
        assert_eq!(text(&dir.join("docs/api.md")), "a\r\nb\r\n");
        assert_eq!(mode(&dir.join("docs/api.md")), 0o444);
        assert_eq!(repo.findings(&dir), "");
    }

    #[test]
    fn autocrlf() {
        let repo = TestRepo::project();
        repo.git(&["config", "core.autocrlf", "true"]);
        let dir = repo.add("task-5");
        assert_eq!(text(&dir.join("docs/api.md")), "api v1\r\n");
        assert_eq!(repo.findings(&dir), "");
    }

    /// The tracked file is larger than what the program and git may allocate; the untracked one
    /// would take long if anybody read it.
    #[test]
    fn big_files_are_not_held_in_memory() {
        let repo = TestRepo::project();
        let sparse = |path: &str, size: u64| {
            let file = std::fs::File::create(repo.main().join(path)).expect("a file");
            file.set_len(size).expect("a sparse file");
        };
        repo.git(&["config", "core.bigFileThreshold", "8m"]);
        repo.git(&["config", "core.compression", "1"]);
        sparse("docs/big", 128 << 20);
        repo.commit_all("a big file");
        sparse("untracked.log", 1 << 30);
        let line = "ulimit -v 125000; git-agentwt add task-5 --write 'src/**'";
        repo.sh(repo.main(), line).ok();
        let file = repo.worktree("task-5").join("docs/big");
        assert_eq!(file.metadata().expect("it is there").len(), 128 << 20);
        assert_eq!(mode(&file), 0o444);
    }

    #[test]
    fn a_main_worktree_that_is_sparse_itself_does_not_narrow_the_scope() {
        let repo = TestRepo::project();
        repo.git(&["sparse-checkout", "set", "docs"]);
        let before = repo.git(&["sparse-checkout", "list"]);
        let dir = repo.add("task-5");
        assert!(
            dir.join("src/main.rs").exists(),
            "the scope says what is there"
        );
        assert_eq!(
            repo.git(&["sparse-checkout", "list"]),
            before,
            "the main one's are kept"
        );
        assert!(
            !repo.main().join("src").exists(),
            "the main worktree is as it was"
        );
        assert_eq!(repo.findings(&dir), "");
    }

    #[test]
    fn a_main_worktree_with_a_sparse_index() {
        let repo = TestRepo::project();
        repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "docs"]);
        let dir = repo.add("task-5");
        assert!(dir.join("src/main.rs").exists());
        assert_eq!(repo.findings(&dir), "");
    }

    #[test]
    fn indexes_of_every_version_and_split_ones() {
        for setting in [
            "index.version=4",
            "core.splitIndex=true",
            "core.untrackedCache=true",
            "feature.manyFiles=true",
            "core.fsmonitor=false",
            "index.threads=4",
            "index.skipHash=true",
        ] {
            let repo = TestRepo::project();
            let (key, value) = setting.split_once('=').expect("a value");
            repo.git(&["config", key, value]);
            let dir = repo.add("task-5");
            assert_eq!(repo.findings(&dir), "", "{setting}");
        }
    }

    #[test]
    fn without_file_mode_the_executable_bit_is_no_change() {
        let repo = TestRepo::project();
        repo.git(&["config", "core.fileMode", "false"]);
        let dir = repo.add("task-5");
        assert_eq!(mode(&dir.join("README.md")), 0o444);
        assert_eq!(repo.findings(&dir), "");
        assert_eq!(repo.git_in(&dir, &["status", "--porcelain"]), "");
    }

    #[test]
    fn a_file_that_is_executable_stays_so() {
        let repo = TestRepo::project();
        repo.write("src/run.sh", "#!/bin/sh\n");
        repo.chmod("src/run.sh", 0o755);
        repo.commit_all("a script");
        let dir = repo.add("task-5");
        assert_eq!(mode(&dir.join("src/run.sh")), 0o755);
        assert_eq!(mode(&dir.join("tools/run.sh")), 0o555);
    }

    #[test]
    fn a_strict_umask_is_kept_for_what_may_be_edited() {
        let repo = TestRepo::project();
        let said = repo.sh(
            repo.main(),
            "umask 077; git-agentwt add task-5 --write 'src/**'",
        );
        said.ok();
        let dir = repo.worktree("task-5");
        assert_eq!(mode(&dir.join("src/main.rs")), 0o600);
        assert_eq!(mode(&dir.join("README.md")), 0o400);
    }

    #[test]
    fn an_empty_commit_as_base() {
        let repo = TestRepo::empty();
        repo.commit_all("nothing");
        repo.agentwt(SRC).ok();
        assert_eq!(repo.findings(&repo.worktree("task-5")), "");
    }

    #[test]
    fn packed_refs_and_packed_objects() {
        let repo = TestRepo::project();
        repo.git(&["gc", "-q"]);
        let dir = repo.add("task-5");
        assert_eq!(repo.findings(&dir), "");
    }

    #[test]
    fn objects_borrowed_from_another_repository() {
        let repo = TestRepo::project();
        let dir = clone(&repo, &["--shared"], "borrower");
        repo.agentwt_in(&dir, SRC).ok();
        assert_eq!(repo.findings(&dir.join(".agentwt/worktrees/task-5")), "");
    }

    #[test]
    fn a_directory_with_spaces_quotes_and_unicode() {
        let repo = TestRepo::project();
        let dir = clone(&repo, &[], "it's \"my\" pröject $HOME");
        repo.agentwt_in(&dir, SRC).ok();
        assert_eq!(repo.findings(&dir.join(".agentwt/worktrees/task-5")), "");
    }
}

/// What an ordinary user meets; as root the suite becomes one (`setpriv`).
mod as_an_ordinary_user {
    use super::*;

    /// Runs a line of sh in a directory as uid 65534, to whom everything of the repository then
    /// belongs; as oneself when one is no root.
    #[track_caller]
    fn sh(repo: &TestRepo, dir: &Path, line: &str) -> super::super::support::Said {
        let line = format!(
            "export PATH='{}':\"$PATH\"; {line}",
            program(repo).display()
        );
        if !is_root() {
            return repo.sh(dir, &line);
        }
        repo.sh(repo.root(), "chmod 755 . && chown -R 65534:65534 .")
            .ok();
        let options = [
            "--reuid=65534",
            "--regid=65534",
            "--clear-groups",
            "sh",
            "-c",
            &line,
        ];
        let output = repo.command("setpriv", dir).args(options).output();
        repo.said(&output.expect("setpriv starts"))
    }

    /// A directory with the program that anybody may enter.
    fn program(repo: &TestRepo) -> PathBuf {
        let dir = repo.root().join("bin");
        std::fs::create_dir_all(&dir).expect("a directory");
        let copy = dir.join("git-agentwt");
        if !copy.exists() {
            std::fs::copy(binary(), &copy).expect("a copy");
        }
        std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).expect("ours");
        dir
    }

    const ADD: &str = "git agentwt add task-5 --write 'src/**' --exclude '**/secrets/**'";

    #[test]
    fn a_file_to_read_cannot_be_written_and_one_to_edit_can() {
        let repo = TestRepo::project();
        sh(&repo, repo.main(), ADD).ok();
        let dir = repo.worktree("task-5");
        let denied = sh(&repo, &dir, "echo x >> docs/api.md");
        assert_ne!(denied.status, 0, "{denied}");
        assert!(denied.stderr.contains("Permission denied"), "{denied}");
        sh(&repo, &dir, "echo x >> src/main.rs").ok();
        let findings = sh(&repo, &dir, "git agentwt verify --format tsv");
        assert_eq!(findings.ok(), "");
    }

    #[test]
    fn nobody_says_that_one_is_root() {
        let repo = TestRepo::project();
        let said = sh(&repo, repo.main(), &format!("{ADD} 2>&1"));
        assert!(!said.ok().contains("you are root"), "{said}");
    }

    #[test]
    fn the_worktree_can_be_worked_in_and_removed() {
        let repo = TestRepo::project();
        let line = format!(
            "cd \"$({ADD})\" && echo new > src/new.rs && git add -A && git commit -qm work && \
             git agentwt verify -q > /dev/null && cd ../../.. && git merge -q agentwt/task-5 && \
             git agentwt remove task-5 && git branch --list 'agentwt/*'"
        );
        assert_eq!(sh(&repo, repo.main(), &line).ok(), "");
        assert!(!repo.worktree("task-5").exists());
    }

    #[test]
    fn what_cannot_be_written_is_one_error_and_leaves_nothing() {
        for closed in [".", ".git", ".git/refs/heads", ".git/info"] {
            let repo = TestRepo::project();
            sh(&repo, repo.main(), "true").ok();
            let before = sh(&repo, repo.main(), "find . | sort").ok();
            chmod(&repo.main().join(closed), 0o555);
            let said = sh(
                &repo,
                repo.main(),
                &format!("{ADD}; s=$?; chmod 755 {closed}; exit $s"),
            );
            chmod(&repo.main().join(closed), 0o755);
            assert!([5, 6].contains(&said.status), "{closed}: {said}");
            // git 2.47 does not tell why it cannot make a directory for a ref
            let why = ["Permission denied", "unable to create directory for"];
            let told = why.iter().any(|words| said.stderr.contains(words));
            assert!(told, "{closed}: {said}");
            assert_eq!(
                said.stderr.matches("error: ").count(),
                1,
                "{closed}: {said}"
            );
            let after = sh(&repo, repo.main(), "find . | sort").ok();
            assert_eq!(after, before, "{closed}: {said}");
        }
    }

    #[test]
    fn as_root_a_repository_of_another_user_is_refused_in_gits_words() {
        if !needs_root() {
            return;
        }
        let repo = TestRepo::project();
        sh(&repo, repo.main(), "true").ok();
        repo.sh(repo.root(), "chown -R 0:0 repo").ok();
        let before = repo.fingerprint();
        let output = repo
            .command("setpriv", repo.main())
            .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
            .arg(program(&repo).join("git-agentwt"))
            .args(SRC)
            .output()
            .expect("setpriv starts");
        let said = repo.said(&output);
        assert_eq!(repo.fingerprint(), before);
        insta::assert_snapshot!(said, @"
        --- stderr
        error: cannot find the repository: fatal: detected dubious ownership in repository at '$TMP/repo'
          To add an exception for this directory, call:
          git config --global --add safe.directory $TMP/repo
        help: git ended with status 128; to see it again: git -C $TMP/repo rev-parse --path-format=absolute --show-object-format --is-inside-work-tree --git-common-dir
        --- status 5
        ");
    }
}

#[test]
fn a_setting_of_git_c_counts_for_one_call() {
    let repo = TestRepo::project();
    let arguments = [
        "-c",
        "agentwt.branchPrefix=mine/",
        "agentwt",
        "add",
        "task-5",
    ];
    let said = repo.try_git(
        repo.main(),
        &[&arguments[..], &["--write", "src/**"]].concat(),
    );
    assert_eq!(said.ok(), "$TMP/repo/.agentwt/worktrees/task-5");
    assert_eq!(repo.git(&["branch", "--list", "mine/*"]), "+ mine/task-5");
}
