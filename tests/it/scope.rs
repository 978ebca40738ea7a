//! `scope`: what each rule matches, and which rule decides about a path.

use std::path::PathBuf;

use insta::assert_snapshot;

use crate::support::{TestRepo, binary};

const CONFIG: &str = "schema_version = \"1.0\"\n\n[scope.default]\nwrite = [\n  \"src/**\",\n  \"/package.json\",\n]\n\
    exclude = [\"**/secrets/**\"]\n\n[scope.docs]\nread = [\"docs/**\", \"src/**\"]\nwrite = [\"docs/**\"]\n";

#[track_caller]
fn with_worktree() -> (TestRepo, PathBuf) {
    let repo = TestRepo::project();
    repo.write(".agentwt/config.toml", CONFIG);
    repo.commit_all("config");
    repo.agentwt(&["add", "task"]).ok();
    let worktree = repo.worktree("task");
    (repo, worktree)
}

#[test]
fn without_paths_every_rule_is_shown_with_what_it_matches() {
    let (repo, worktree) = with_worktree();
    assert_snapshot!(repo.agentwt(&["scope", "task"]), @"
    task
      read     **             13 files  default
      write    src/**         2 files   .agentwt/config.toml:5
      write    /package.json  1 file    .agentwt/config.toml:6
      exclude  **/secrets/**  2 files   .agentwt/config.toml:8
      3 files to edit, 7 to read, 3 excluded
    --- status 0
    ");
    assert_eq!(
        repo.agentwt_in(&worktree.join("src"), &["scope"]),
        repo.agentwt(&["scope", "task"])
    );
}

#[test]
fn porcelain_and_json_have_every_rule() {
    let (repo, _) = with_worktree();
    assert_snapshot!(repo.agentwt(&["scope", "task", "--porcelain"]), @"
    read	default	13	**
    write	.agentwt/config.toml:5	2	src/**
    write	.agentwt/config.toml:6	1	/package.json
    exclude	.agentwt/config.toml:8	2	**/secrets/**
    --- status 0
    ");
    assert_snapshot!(repo.agentwt(&["scope", "task", "--json"]), @r#"
    {
      "files": {
        "excluded": 3,
        "read": 7,
        "write": 3
      },
      "name": "task",
      "rules": [
        {
          "list": "read",
          "matches": 13,
          "origin": "default",
          "pattern": "**"
        },
        {
          "list": "write",
          "matches": 2,
          "origin": ".agentwt/config.toml:5",
          "pattern": "src/**"
        },
        {
          "list": "write",
          "matches": 1,
          "origin": ".agentwt/config.toml:6",
          "pattern": "/package.json"
        },
        {
          "list": "exclude",
          "matches": 2,
          "origin": ".agentwt/config.toml:8",
          "pattern": "**/secrets/**"
        }
      ],
      "schema": "agentwt.scope/1"
    }
    --- status 0
    "#);
}

#[test]
fn a_path_is_answered_with_access_list_pattern_and_line() {
    let (repo, _) = with_worktree();
    let paths = [
        "src/new.rs",
        "README.md",
        "app/secrets/token",
        "package.json",
        ".agentwt/config.toml",
        ".agentwt/memory/n.md",
    ];
    let mut arguments = vec!["scope", "task", "--"];
    arguments.extend(paths);
    assert_snapshot!(repo.agentwt(&arguments), @"
    write     .agentwt/config.toml:5: write src/**           src/new.rs
    read      default: read **                               README.md
    excluded  .agentwt/config.toml:8: exclude **/secrets/**  app/secrets/token
    write     .agentwt/config.toml:6: write /package.json    package.json
    excluded  built-in: exclude /.agentwt                    .agentwt/config.toml
    read      built-in: read /.agentwt/memory/**             .agentwt/memory/n.md
    --- status 0
    ");
    arguments.insert(1, "--porcelain");
    assert_snapshot!(repo.agentwt(&arguments), @"
    write	write	.agentwt/config.toml:5	src/**	src/new.rs
    read	read	default	**	README.md
    excluded	exclude	.agentwt/config.toml:8	**/secrets/**	app/secrets/token
    write	write	.agentwt/config.toml:6	/package.json	package.json
    excluded	exclude	built-in	/.agentwt	.agentwt/config.toml
    read	read	built-in	/.agentwt/memory/**	.agentwt/memory/n.md
    --- status 0
    ");
    arguments[1] = "--json";
    assert_snapshot!(repo.agentwt(&arguments), @r#"
    {
      "paths": [
        {
          "access": "write",
          "path": "src/new.rs",
          "rule": {
            "list": "write",
            "origin": ".agentwt/config.toml:5",
            "pattern": "src/**"
          }
        },
        {
          "access": "read",
          "path": "README.md",
          "rule": {
            "list": "read",
            "origin": "default",
            "pattern": "**"
          }
        },
        {
          "access": "excluded",
          "path": "app/secrets/token",
          "rule": {
            "list": "exclude",
            "origin": ".agentwt/config.toml:8",
            "pattern": "**/secrets/**"
          }
        },
        {
          "access": "write",
          "path": "package.json",
          "rule": {
            "list": "write",
            "origin": ".agentwt/config.toml:6",
            "pattern": "/package.json"
          }
        },
        {
          "access": "excluded",
          "path": ".agentwt/config.toml",
          "rule": {
            "list": "exclude",
            "origin": "built-in",
            "pattern": "/.agentwt"
          }
        },
        {
          "access": "read",
          "path": ".agentwt/memory/n.md",
          "rule": {
            "list": "read",
            "origin": "built-in",
            "pattern": "/.agentwt/memory/**"
          }
        }
      ],
      "schema": "agentwt.scope/1"
    }
    --- status 0
    "#);
}

#[test]
fn a_path_that_no_rule_matches_is_excluded() {
    let (repo, _) = with_worktree();
    assert_snapshot!(repo.agentwt(&["scope", "--scope", "docs", "README.md", "docs/x", "src/y"]), @"
    excluded  no rule                                 README.md
    write     .agentwt/config.toml:12: write docs/**  docs/x
    read      .agentwt/config.toml:11: read src/**    src/y
    --- status 0
    ");
}

#[test]
fn paths_are_relative_to_where_one_stands_inside_the_worktree() {
    let (repo, worktree) = with_worktree();
    let said = repo.agentwt_in(
        &worktree.join("src/mod"),
        &["scope", "--", "util.rs", "../../docs/api.md", "./x"],
    );
    assert_snapshot!(said, @"
    write  .agentwt/config.toml:5: write src/**  util.rs
    read   default: read **                      ../../docs/api.md
    write  .agentwt/config.toml:5: write src/**  ./x
    --- status 0
    ");
    let said = repo.agentwt_in(&worktree.join("src"), &["scope", "main.rs"]);
    assert_snapshot!(said, @"
    write  .agentwt/config.toml:5: write src/**  main.rs
    --- status 0
    ");
}

#[test]
fn the_first_word_is_a_name_if_there_is_such_a_worktree() {
    let (repo, worktree) = with_worktree();
    repo.agentwt(&["add", "src"]).ok();
    assert!(
        repo.agentwt_in(&worktree, &["scope", "src"])
            .ok()
            .starts_with("src\n")
    );
    assert_snapshot!(repo.agentwt_in(&worktree, &["scope", "--", "src"]), @"
    read  default: read **  src
    --- status 0
    ");
    assert_snapshot!(repo.agentwt(&["scope", "tusk"]), @"
    --- stderr
    error: there is no worktree named `tusk`
    help: there are: src, task; `git agentwt list` shows them
    --- status 7
    ");
    assert_snapshot!(repo.agentwt(&["scope"]), @"
    --- stderr
    error: not inside a worktree of git-agentwt, so a name is needed
    help: there are: src, task; `git agentwt list` shows them
    --- status 2
    ");
}

#[test]
fn the_root_and_an_empty_word_are_no_paths() {
    let (repo, worktree) = with_worktree();
    let root = worktree.to_str().expect("UTF-8");
    for (word, why) in [
        ("", "it is empty"),
        (".", "it is the root: name what is in it"),
        (root, "it is the root: name what is in it"),
    ] {
        // relative words begin in `src` here
        let directory = if word == "." {
            worktree.clone()
        } else {
            worktree.join("src")
        };
        let said = repo.agentwt_in(&directory, &["restore", "task", "--", word]);
        assert_eq!(said.status, 2, "{word}: {said}");
        assert!(said.stderr.contains(why), "{word}: {said}");
    }
    let inside = format!("{root}/README.md");
    let said = repo.agentwt(&["scope", "task", "--", &inside]).ok();
    assert!(said.ends_with("README.md"), "{said}");
}

#[test]
fn a_path_outside_the_repository_is_refused() {
    let (repo, _) = with_worktree();
    assert_snapshot!(repo.agentwt(&["scope", "task", "--", "../x"]), @"
    --- stderr
    error: cannot use ../x as a path: it is outside the repository
    help: paths are relative to where you stand: git agentwt scope -- src/main.rs
    --- status 2
    ");
    let _ = repo
        .agentwt(&["scope", "task", "--", "/etc/passwd"])
        .fails(2);
    let _ = repo.agentwt(&["scope", "task", "--", ""]).fails(2);
}

#[test]
fn an_absolute_path_inside_the_worktree_is_that_path() {
    let (repo, worktree) = with_worktree();
    let path = worktree.join("src/main.rs").display().to_string();
    assert!(
        repo.agentwt(&["scope", "task", "--", &path])
            .ok()
            .starts_with("write ")
    );
}

#[test]
fn a_trailing_slash_asks_about_a_directory() {
    let (repo, _) = with_worktree();
    assert_snapshot!(repo.agentwt(&["scope", "task", "--", "secrets/", "secrets", "src/"]), @"
    read  default: read **  secrets/
    read  default: read **  secrets
    read  default: read **  src/
    --- status 0
    ");
}

#[test]
fn a_submodule_and_a_directory_that_is_there_need_no_slash() {
    let repo = TestRepo::project();
    let commit = repo.git(&["rev-parse", "HEAD"]);
    let link = format!("160000,{},sub", commit.trim());
    repo.git(&["update-index", "--add", "--cacheinfo", &link]);
    repo.git(&["commit", "-qm", "submodule"]);
    let mut command = vec!["add", "task"];
    for pattern in ["sub/", "docs/", "new/", "README.md/"] {
        command.extend(["--write", pattern]);
    }
    repo.agentwt(&command).ok();
    std::fs::create_dir(repo.worktree("task").join("new")).expect("it can be made");
    let asked = b"sub\ndocs\nnew\nREADME.md\nnone\nnone/\n";
    let said = repo.agentwt_with_input(repo.main(), &["scope", "task", "--stdin"], asked);
    assert_snapshot!(said, @"
    write  --write: write sub/   sub
    write  --write: write docs/  docs
    write  --write: write new/   new
    read   default: read **      README.md
    read   default: read **      none
    read   default: read **      none/
    --- status 0
    ");
    assert_snapshot!(repo.agentwt(&["scope", "task", "--", "sub"]), @"
    write  --write: write sub/  sub
    --- status 0
    ");
}

#[test]
fn stdin_is_a_path_a_line_or_ended_by_nul() {
    let (repo, worktree) = with_worktree();
    let said = repo.agentwt_with_input(
        repo.main(),
        &["scope", "task", "--stdin"],
        b"src/a\nREADME.md\n",
    );
    assert_snapshot!(said, @"
    write  .agentwt/config.toml:5: write src/**  src/a
    read   default: read **                      README.md
    --- status 0
    ");
    let mut command = repo.command(binary(), &worktree);
    command.args(["scope", "task", "--stdin", "-z"]);
    let input = repo.root().join("input");
    std::fs::write(&input, b"src/a\nb\xe9\0secrets/t\tq\0").expect("it can be written");
    command.stdin(std::fs::File::open(&input).expect("it is there"));
    let output = command.output().expect("it starts");
    let expected = b"write\twrite\t.agentwt/config.toml:5\tsrc/**\tsrc/a\nb\xe9\0excluded\texclude\t.agentwt/config.toml:8\t**/secrets/**\tsecrets/t\tq\0";
    assert_eq!(
        output.stdout,
        expected,
        "{}",
        String::from_utf8_lossy(&output.stdout)
    );
    let nothing = repo.agentwt_with_input(repo.main(), &["scope", "task", "--stdin"], b"");
    assert_snapshot!(nothing, @"--- status 0");
}

#[test]
fn every_tracked_file_is_answered_as_it_is_on_disk() {
    let (repo, worktree) = with_worktree();
    let files = repo.sh(repo.main(), "git ls-files -z").stdout;
    let said = repo.agentwt_with_input(
        repo.main(),
        &["scope", "task", "--stdin", "-z"],
        files.as_bytes(),
    );
    let mut looked_at = 0;
    for record in said.stdout.split('\0').filter(|record| !record.is_empty()) {
        let (access, path) = (
            record.split('\t').next().unwrap_or(""),
            record.rsplit('\t').next().unwrap_or(""),
        );
        let there = std::fs::symlink_metadata(worktree.join(path));
        assert_eq!(there.is_err(), access == "excluded", "{record}");
        if let Some(file) = there.ok().filter(std::fs::Metadata::is_file) {
            assert_eq!(file.permissions().readonly(), access == "read", "{record}");
        }
        looked_at += 1;
    }
    assert_eq!(looked_at, 13);
}

#[test]
fn the_frozen_scope_counts_and_not_the_config_of_now() {
    let (repo, _) = with_worktree();
    repo.write(".agentwt/config.toml", &CONFIG.replace("src/**", "docs/**"));
    assert!(
        repo.agentwt(&["scope", "task", "--", "src/x"])
            .ok()
            .starts_with("write ")
    );
    assert!(
        repo.agentwt(&["scope", "--scope", "default", "src/x"])
            .ok()
            .starts_with("read ")
    );
    assert_snapshot!(repo.agentwt(&["scope", "--scope", "dogs", "src/x"]), @"
    --- stderr
    error: cannot use the settings: unknown scope profile `dogs` in --scope
    help: did you mean `docs`? write `default` or `docs`, or add a [scope.<profile>] of this name to .agentwt/config.toml
    --- status 3
    ");
}
