//! Shows the config that `init` proposes, and that whatever it proposes can be read.

use bstr::ByteSlice;
use gix_glob::wildmatch::Mode;
use insta::assert_snapshot;

use super::*;
use crate::config::{CONFIG_PATH, Config};

fn facts(directories: &[&str], files: &[&str]) -> InitFacts {
    let entry = |kind| {
        move |name: &&str| TopLevelEntry {
            name: (*name).into(),
            kind,
        }
    };
    let directories = directories.iter().map(entry(TopEntryKind::Directory));
    let files = files.iter().map(entry(TopEntryKind::File));
    InitFacts {
        entries: directories.chain(files).collect(),
        ..InitFacts::default()
    }
}

#[track_caller]
fn text(facts: &InitFacts) -> String {
    plan(facts, CONFIG.into())
        .text
        .expect("there was no config")
}

#[track_caller]
fn write_list(facts: &InitFacts) -> Vec<String> {
    let config = Config::parse(CONFIG_PATH, &text(facts)).expect("the text is valid");
    let list = config.scopes["default"].write.as_ref().expect("it is set");
    list.iter().map(|located| located.value.clone()).collect()
}

fn is_example(line: &str) -> bool {
    let rest = line.trim_start().strip_prefix('#');
    rest.is_some_and(|rest| rest.starts_with(|c: char| !c.is_whitespace()))
}

/// Uncomments the example lines whose number is chosen.
fn uncommented(text: &str, chosen: impl Fn(usize) -> bool) -> String {
    let mut number = 0;
    let mut out = String::new();
    for line in text.lines() {
        let example = is_example(line);
        if example && chosen(number) {
            out.push_str(&line.replacen('#', "", 1));
        } else {
            out.push_str(line);
        }
        number += usize::from(example);
        out.push('\n');
    }
    out
}

/// Repositories of many sorts, odd ones too.
fn repositories() -> Vec<InitFacts> {
    let mut included = facts(&["src"], &[]);
    included.has_worktreeinclude = true;
    vec![
        included,
        facts(&["src", "tests", "docs"], &["Cargo.toml", "Cargo.lock"]),
        facts(
            &[
                "a\"b",
                "c\\d",
                "e*",
                "[f]",
                "g\nh",
                " i ",
                "!j",
                "#k",
                "\u{202e}l",
                "\u{1b}",
            ],
            &[],
        ),
        facts(&["doc\"s", "Doc"], &[]),
        facts(&[], &["README.md"]),
        facts(&[], &[]),
    ]
}

#[test]
fn the_first_config_explains_every_key() {
    let facts = facts(
        &[".github", "docs", "src", "tests"],
        &["Cargo.toml", "Cargo.lock"],
    );
    assert_snapshot!(text(&facts), @r#"
    # What coding agents may see and edit in the worktrees of `git agentwt add`.
    # Commit this file. Personal settings go into `git config agentwt.<key>` and one-off
    # ones into flags; both beat this file. A mistake in it is shown with its line.
    #
    # A `#` with a space after it explains; a `#` without one stands before an example:
    # remove it to use the line.

    # The version of this format.
    schema_version = "1.0"

    [worktree]
    # What a worktree starts from: a branch, tag or commit.
    # Default: the branch that is checked out in the main worktree.
    #base = "main"

    # What stands before a worktree's name in its branch: task-5 works on
    # the branch agentwt/task-5. May be empty.
    #branch_prefix = "agentwt/"

    # "worktree" is a linked worktree: quick, and it shares the objects and refs.
    # "clone" is a full, separate repository at the same place.
    #strategy = "worktree"

    # The agent program; it gets its context where it reads that by itself. One of
    # "claude-code", "codex", "gemini", "aider", "opencode", "cursor", "copilot".
    #client = "claude-code"

    # What the hooks do when a commit leaves the scope: "report" it, or "block" it.
    #on_violation = "report"

    # Untracked files (.env and the like) that each new worktree gets a copy of. Never
    # tracked ones, and never one that the scope excludes.
    [worktree.file_sync]
    # `false` copies nothing.
    #enabled = true

    # Globs relative to the root: ".env*" is at the root, "**/.env" anywhere. A pattern
    # that matches nothing is an error, as it may be a typo.
    #patterns = [".env*"]

    # The same, but these may match nothing.
    #optional_patterns = ["config/local.json"]

    # The most that one file, and all of them together, may have (1 MB is 1,048,576 bytes).
    #max_file_size_mb = 100
    #max_total_size_mb = 500

    # What prepares a new worktree. The commands run in it, in order, once you have trusted
    # them as they are: git agentwt trust
    [setup]
    commands = ["cargo fetch --locked"]

    # Check out the submodules that the main worktree has, with its objects.
    #submodules = true

    # What runs in a worktree before it is removed, if you trust it.
    [teardown]
    #commands = ["docker compose down"]

    # A scope is three lists of gitignore patterns, relative to the root: "/src/**" is all
    # below src, "*.md" is at any depth. `exclude` beats `write` beats `read`, whatever the
    # order; `!` is not accepted; what no list matches is absent.
    #
    # This one is for `git agentwt add <name>`.
    [scope.default]
    # What the agent may see. Default: everything.
    #read = ["**"]

    # What it may edit. An empty list is a read-only task.
    # Proposed from the usual names of source directories.
    write = [
        "/src/**",
        "/tests/**",
        # For tasks that change dependencies or the build:
        #"/Cargo.toml",
        #"/Cargo.lock",
    ]

    # What is not in the worktree at all, not even to be read.
    #exclude = ["**/secrets/**", "**/*.pem", "**/*.key"]

    # More scopes, each with a name of its own: `git agentwt add <name> --scope docs`.
    #[scope.docs]
    #write = ["/docs/**", "/*.md"]
    "#);
}

#[test]
fn a_worktreeinclude_is_mentioned_where_files_are_synced() {
    let mut facts = facts(&["src"], &[]);
    facts.has_worktreeinclude = true;
    let text = text(&facts);
    let (_, section) = text
        .split_once("\n\n# Untracked")
        .expect("the section is there");
    assert_snapshot!(section.split("\n\n").next().unwrap_or_default(), @"
     files (.env and the like): this repository has a .worktreeinclude, and each new
    # worktree gets a copy of the ignored files that it names. Never of one that the scope
    # excludes. A [worktree.file_sync] here can add patterns and limits: git-agentwt-config(5).
    ");
    assert!(
        !text.contains("[worktree.file_sync]\n"),
        "the comment stands instead"
    );
}

#[test]
fn every_proposed_text_is_read_without_a_mistake() {
    for facts in repositories() {
        let text = text(&facts);
        let read = Config::parse(CONFIG_PATH, &text);
        assert!(read.is_ok(), "{text}\n{read:?}");
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
    }
}

#[test]
fn every_example_in_it_is_read_too() {
    for facts in repositories() {
        let text = text(&facts);
        let examples = text.lines().filter(|line| is_example(line)).count();
        assert!(examples > 5, "the examples are found");
        for last in 0..examples {
            // From the top down, and each alone but for the one in a table that is an example.
            let down = uncommented(&text, |number| number <= last);
            let read = Config::parse(CONFIG_PATH, &down);
            assert!(read.is_ok(), "{down}\n{read:?}");
            let alone = uncommented(&text, |number| number == last);
            let read = Config::parse(CONFIG_PATH, &alone);
            assert!(read.is_ok() || last + 1 == examples, "{alone}\n{read:?}");
        }
    }
}

#[test]
fn no_example_exclude_covers_an_example_of_file_sync() {
    let text = uncommented(&text(&facts(&["src"], &[])), |_| true);
    let config = Config::parse(CONFIG_PATH, &text).expect("the examples are valid");
    let exclude = config.scopes["default"]
        .exclude
        .as_ref()
        .expect("there is an example");
    let sync = config.file_sync;
    let synced: Vec<_> = sync
        .patterns
        .iter()
        .chain(&sync.optional_patterns)
        .collect();
    assert_eq!(synced.len(), 2);
    for (rule, pattern) in exclude
        .iter()
        .flat_map(|e| synced.iter().map(move |s| (e, s)))
    {
        for path in [
            pattern.value.replace('*', ""),
            pattern.value.replace('*', ".local"),
        ] {
            assert!(!matches(&rule.value, &path), "{} covers {path}", rule.value);
        }
    }
}

/// Git's own matching, as far as a pattern with an inner slash needs it.
fn matches(pattern: &str, path: &str) -> bool {
    let pattern = pattern.strip_prefix('/').unwrap_or(pattern);
    gix_glob::wildmatch(pattern.into(), path.into(), Mode::NO_MATCH_SLASH_LITERAL)
}

#[test]
fn the_write_list_follows_the_layout() {
    for (directories, files, expected) in [
        (
            vec!["src", "tests", "benches", "docs"],
            vec!["Cargo.toml"],
            vec!["/benches/**", "/src/**", "/tests/**"],
        ),
        (
            vec!["cmd", "internal", "pkg", "scripts"],
            vec!["go.mod", "main.go"],
            vec!["/cmd/**", "/internal/**", "/pkg/**", "/*.go"],
        ),
        (
            vec!["packages", "apps", ".husky"],
            vec!["package.json"],
            vec!["/apps/**", "/packages/**"],
        ),
        (
            vec!["include", "src", "test"],
            vec!["CMakeLists.txt"],
            vec!["/include/**", "/src/**", "/test/**"],
        ),
        (
            vec!["lib", "spec", "exe"],
            vec!["Gemfile"],
            vec!["/exe/**", "/lib/**", "/spec/**"],
        ),
        (
            vec!["app", "public", "tests"],
            vec!["composer.json"],
            vec!["/app/**", "/tests/**"],
        ),
        (
            vec!["Sources", "Tests"],
            vec![],
            vec!["/Sources/**", "/Tests/**"],
        ),
        (
            vec!["builtin", "t"],
            vec!["git.c", "cache.h"],
            vec!["/builtin/**", "/t/**", "/*.c", "/*.h"],
        ),
        (
            vec!["rockets", "tests", ".ci"],
            vec![],
            vec!["/rockets/**", "/tests/**"],
        ),
        (vec![".ci"], vec!["run.sh"], vec!["/*"]),
        (vec![], vec![], vec!["/*"]),
    ] {
        assert_eq!(
            write_list(&facts(&directories, &files)),
            expected,
            "{directories:?}"
        );
    }
}

#[test]
fn a_python_package_is_found_by_its_init_file_or_the_repository_name() {
    let mut facts = facts(&["my_tool", "tools", "tests"], &["pyproject.toml"]);
    facts.repository_name = Some("My-Tool".into());
    assert_eq!(write_list(&facts), ["/my_tool/**", "/tests/**"]);
    facts.repository_name = None;
    facts.entries[1].kind = TopEntryKind::PythonPackage;
    facts.entries[2].kind = TopEntryKind::PythonPackage;
    assert_eq!(write_list(&facts), ["/tests/**", "/tools/**"]);
}

#[test]
fn a_proposed_pattern_matches_its_own_directory_and_no_other() {
    let names = [
        "a b",
        " a",
        "a ",
        "!a",
        "#a",
        "a*",
        "a?",
        "[a]",
        "a\\",
        "a\\*",
        "{a,b}",
        "\"a\"",
        "'a'",
        "\u{e9}",
        "\u{202e}a",
        "a\tb",
        "-a",
        "~a",
        "a]",
        "**",
    ];
    for name in names {
        let list = write_list(&facts(&[name], &[]));
        assert_eq!(list.len(), 1, "{name:?}");
        assert!(list[0].starts_with('/'), "{name:?} is anchored");
        for other in names {
            let path = format!("{other}/x/y");
            assert_eq!(
                matches(&list[0], &path),
                name == other,
                "{} on {path}",
                list[0]
            );
        }
    }
}

#[test]
fn a_name_that_no_pattern_can_hold_is_not_proposed() {
    let mut facts = facts(&["good", "line\nend"], &[]);
    let name = b"\xff".as_bstr().to_owned();
    facts.entries.push(TopLevelEntry {
        name,
        kind: TopEntryKind::Directory,
    });
    assert_eq!(write_list(&facts), ["/good/**"]);
}

#[test]
fn what_is_there_is_kept() {
    let mut facts = facts(&["src"], &[]);
    let first = plan(&facts, CONFIG.into());
    assert!(first.text.is_some() && first.wrote_exclude_rule && first.wrote_gitignore);
    facts.has_config = true;
    facts.ignored.exclude_rule = true;
    let second = plan(&facts, CONFIG.into());
    assert_eq!((second.text, second.wrote_exclude_rule), (None, false));
    assert!(second.wrote_gitignore, "one file is missing");
}
