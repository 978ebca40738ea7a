//! `init` against real git: the config, the two ignore rules, and that a first `add` follows.

use super::support::{TestRepo, text, write};

#[test]
fn init_writes_the_config_and_both_ignore_rules() {
    let repo = TestRepo::project();
    insta::assert_snapshot!(repo.agentwt(&["init"]), @"
    --- stderr
    wrote $TMP/repo/.agentwt/config.toml
    wrote `/.agentwt/worktrees/` into info/exclude
    wrote .agentwt/worktrees/.gitignore
    look at it, commit it, then: git agentwt add task-1
    --- status 0
    ");
    assert_eq!(
        text(&repo.main().join(".agentwt/worktrees/.gitignore")),
        "*\n"
    );
    let exclude = text(&repo.main().join(".git/info/exclude"));
    assert!(exclude.ends_with("\n/.agentwt/worktrees/\n"), "{exclude}");
}

#[test]
fn the_config_proposes_what_the_repository_has_and_explains_itself() {
    let repo = TestRepo::project();
    repo.agentwt(&["init"]).ok();
    insta::assert_snapshot!(text(&repo.main().join(".agentwt/config.toml")), @r#"
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
    #commands = ["npm ci"]

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
        "/app/**",
        "/src/**",
        "/tests/**",
        # For tasks that change dependencies or the build:
        #"/package.json",
    ]

    # What is not in the worktree at all, not even to be read.
    #exclude = ["**/secrets/**", "**/*.pem", "**/*.key"]

    # More scopes, each with a name of its own: `git agentwt add <name> --scope docs`.
    #[scope.docs]
    #write = ["/docs/**", "/*.md"]
    "#);
}

#[test]
fn git_sees_the_config_and_nothing_else() {
    let repo = TestRepo::project();
    repo.agentwt(&["init"]).ok();
    let status = repo.git(&["status", "--porcelain", "-uall"]);
    assert_eq!(status, "?? .agentwt/config.toml");
}

#[test]
fn an_existing_config_stays_as_it_is() {
    let repo = TestRepo::project();
    repo.write(".agentwt/config.toml", "# mine\n");
    insta::assert_snapshot!(repo.agentwt(&["init"]), @"
    --- stderr
    $TMP/repo/.agentwt/config.toml exists and is not changed
    wrote `/.agentwt/worktrees/` into info/exclude
    wrote .agentwt/worktrees/.gitignore
    --- status 0
    ");
    assert_eq!(text(&repo.main().join(".agentwt/config.toml")), "# mine\n");
}

#[test]
fn a_second_init_changes_nothing() {
    let repo = TestRepo::project();
    repo.agentwt(&["init"]).ok();
    let before = repo.fingerprint();
    insta::assert_snapshot!(repo.agentwt(&["init"]), @"
    --- stderr
    $TMP/repo/.agentwt/config.toml exists and is not changed
    --- status 0
    ");
    assert_eq!(repo.fingerprint(), before);
}

#[test]
fn the_exclude_file_keeps_what_the_user_wrote_even_without_a_last_newline() {
    let repo = TestRepo::project();
    repo.write(".git/info/exclude", "mine");
    repo.agentwt(&["init"]).ok();
    let exclude = text(&repo.main().join(".git/info/exclude"));
    assert_eq!(exclude, "mine\n/.agentwt/worktrees/\n");
}

#[test]
fn a_missing_info_directory_is_made() {
    let repo = TestRepo::project();
    std::fs::remove_dir_all(repo.main().join(".git/info")).expect("it was there");
    repo.agentwt(&["init"]).ok();
    assert_eq!(
        text(&repo.main().join(".git/info/exclude")),
        "/.agentwt/worktrees/\n"
    );
}

#[test]
fn a_dry_run_prints_the_config_and_writes_nothing() {
    let repo = TestRepo::project();
    let before = repo.fingerprint();
    let said = repo.agentwt(&["init", "-n"]);
    assert_eq!(repo.fingerprint(), before);
    insta::assert_snapshot!(said.stderr, @"
    would write $TMP/repo/.agentwt/config.toml
    would write `/.agentwt/worktrees/` into info/exclude
    would write .agentwt/worktrees/.gitignore
    ");
    repo.agentwt(&["init"]).ok();
    assert_eq!(said.stdout, text(&repo.main().join(".agentwt/config.toml")));
}

#[test]
fn json_says_what_was_written() {
    let repo = TestRepo::project();
    insta::assert_snapshot!(repo.agentwt(&["init", "--json"]), @r#"
    {
      "config": "$TMP/repo/.agentwt/config.toml",
      "dry_run": false,
      "schema": "agentwt.init/1",
      "wrote_config": true,
      "wrote_exclude_rule": true,
      "wrote_gitignore": true
    }
    --- status 0
    "#);
}

#[test]
fn from_a_subfolder_and_from_a_linked_worktree_it_is_the_main_worktrees() {
    for start in ["src/mod", "../plain"] {
        let repo = TestRepo::project();
        repo.git(&["worktree", "add", "-q", "../plain"]);
        repo.agentwt_in(&repo.main().join(start), &["init"]).ok();
        assert!(repo.main().join(".agentwt/config.toml").exists(), "{start}");
        assert!(!repo.root().join("plain/.agentwt").exists(), "{start}");
    }
}

#[test]
fn from_inside_an_agents_worktree_it_shows_the_config_of_the_main_worktree_and_writes_none() {
    let repo = TestRepo::project();
    let dir = repo.add("task-5");
    let shown = repo.agentwt_in(&dir.join("src"), &["init", "-n"]);
    shown.ok();
    let config = "would write $TMP/repo/.agentwt/config.toml\n";
    assert!(shown.stderr.starts_with(config), "{shown}");
    repo.agentwt_in(&dir.join("src"), &["init"]).fails(4);
    assert!(!repo.main().join(".agentwt/config.toml").exists());
    assert_eq!(repo.findings(&dir), "");
}

#[test]
fn in_a_bare_repositorys_worktree_it_is_that_worktrees() {
    let repo = TestRepo::project();
    repo.git_in(
        repo.root(),
        &["clone", "-q", "--bare", "repo", "project/.bare"],
    );
    let project = repo.root().join("project");
    write(&project, b".git", b"gitdir: ./.bare\n");
    repo.git_in(&project, &["worktree", "add", "-q", "main", "main"]);
    let main = project.join("main");
    insta::assert_snapshot!(repo.agentwt_in(&main, &["init"]), @"
    --- stderr
    wrote $TMP/project/main/.agentwt/config.toml
    wrote `/.agentwt/worktrees/` into info/exclude
    wrote .agentwt/worktrees/.gitignore
    look at it, commit it, then: git agentwt add task-1
    --- status 0
    ");
    assert_eq!(
        repo.git_in(&main, &["status", "--porcelain", "-uall"]),
        "?? .agentwt/config.toml"
    );
    let path = repo.agentwt_in(&main, &["add", "task-5"]).ok();
    assert_eq!(path, "$TMP/project/.agentwt/worktrees/task-5");
}

#[test]
fn in_a_repository_without_a_commit() {
    let repo = TestRepo::empty();
    repo.agentwt(&["init"]).ok();
    insta::assert_snapshot!(text(&repo.main().join(".agentwt/config.toml")).lines().filter(|l| !l.starts_with('#')).collect::<Vec<_>>().join("\n"), @r#"
    schema_version = "1.0"

    [worktree]





    [worktree.file_sync]




    [setup]


    [teardown]

    [scope.default]

    write = [
        "/*",
    ]
    "#);
    repo.agentwt(&["add", "task-5"]).fails(4);
    repo.commit_all("the config");
    repo.agentwt(&["add", "task-5"]).ok();
}

#[test]
fn two_commands_make_a_worktree_in_repositories_of_many_kinds() {
    let kinds: &[&[&str]] = &[
        &["src/lib.rs", "Cargo.toml"],
        &["lib/a.rb", "spec/a_spec.rb", "Gemfile"],
        &["main.go", "go.mod", "internal/a.go"],
        &["README.md"],
        &["index.js", "package.json"],
        &["repo/__init__.py", "setup.py"],
        &["weird [dir]/#x", "!y/z", "-d/e", "sp ace/f"],
        &["a.txt"],
    ];
    for kind in kinds {
        let repo = TestRepo::empty();
        for path in *kind {
            repo.write(path, "x\n");
        }
        repo.commit_all("one");
        let said = repo.sh(repo.main(), "git agentwt init && git agentwt add task-5");
        assert_eq!(said.ok(), "$TMP/repo/.agentwt/worktrees/task-5", "{kind:?}");
        assert_eq!(repo.findings(&repo.worktree("task-5")), "", "{kind:?}");
        assert!(
            !said.stderr.contains("matches no tracked file"),
            "{kind:?}: {said}"
        );
    }
}

#[test]
fn the_proposed_config_is_one_that_add_accepts_without_a_word() {
    let repo = TestRepo::project();
    repo.agentwt(&["init"]).ok();
    repo.commit_all("config");
    insta::assert_snapshot!(repo.agentwt(&["add", "task-5"]), @"
    $TMP/repo/.agentwt/worktrees/task-5
    --- stderr
    task-5: new branch agentwt/task-5 at 944171624d (main); 4 files to edit, 8 to read, 1 excluded
    --- status 0
    ");
}
