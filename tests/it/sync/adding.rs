//! `add` places files: synced ones and context, all of them or none.

use std::os::unix::fs::PermissionsExt;

use insta::assert_snapshot;

use super::read;
use crate::support::{TestRepo, chmod};

/// A project with this `[worktree.file_sync]`.
fn with_sync(sync: &str) -> TestRepo {
    let repo = TestRepo::project();
    repo.write(
        ".agentwt/config.toml",
        &format!(
            "schema_version = \"1.0\"\n[worktree.file_sync]\n{sync}\n\
            [scope.default]\nwrite = [\"src/**\"]\nexclude = [\"**/*.pem\"]\n"
        ),
    );
    repo
}

#[test]
fn add_copies_what_the_config_selects_and_says_so_in_a_line() {
    let repo = with_sync("patterns = ['.env*', 'src/local.rs']");
    repo.write(".env", "A=1\n");
    repo.write(".env.pem", "PEM\n");
    repo.write("src/local.rs", "mine\n");
    assert_snapshot!(repo.agentwt(&["add", "task", "-n"]), @r#"
    would make $TMP/repo/.agentwt/worktrees/task
      branch   new branch agentwt/task
      base     af82e40edf (main)
      write    src/**
      read     **
      exclude  **/*.pem
      files    2 files to edit, 9 to read, 1 excluded
      excluded 1 file by "**/*.pem" (.agentwt/config.toml:6)
      sync     2 files (9 B)
    --- status 0
    "#);
    assert_snapshot!(repo.agentwt(&["add", "task"]), @r#"
    $TMP/repo/.agentwt/worktrees/task
    --- stderr
    task: new branch agentwt/task at af82e40edf (main); 2 files to edit, 9 to read, 1 excluded
    copied 2 files (9 B) into task
      .env.pem is not copied: exclude "**/*.pem" (.agentwt/config.toml:6)
    --- status 0
    "#);
    let worktree = repo.worktree("task");
    let bits = |name: &str| {
        let file = worktree.join(name).metadata().expect("it is there");
        file.permissions().mode() & 0o777
    };
    assert_eq!((bits(".env"), bits("src/local.rs")), (0o444, 0o644));
    assert_eq!(
        repo.sh(&worktree, "git status --porcelain --ignored").ok(),
        "!! .env\n!! src/local.rs"
    );
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    ok task: in scope, 0 paths changed
    --- status 0
    ");
    let status = repo.agentwt(&["status", "task"]).ok();
    assert!(status.contains("\n  placed   2 files, same\n"), "{status}");
}

#[test]
fn a_pattern_of_the_config_that_a_scope_excludes_is_a_line_and_a_given_one_an_error() {
    let repo = with_sync("patterns = ['keys/**', '.env*']");
    repo.write(".env", "A=1\n");
    for name in ["a", "b", "c"] {
        repo.write(&format!("keys/{name}.pem"), "PEM\n");
    }
    assert_snapshot!(repo.agentwt(&["add", "task"]).stderr, @r#"
    task: new branch agentwt/task at af82e40edf (main); 2 files to edit, 9 to read, 1 excluded
    copied 1 file (4 B) into task
      3 files are not copied, such as keys/a.pem: exclude "**/*.pem" (.agentwt/config.toml:6)
    "#);
    assert!(!repo.worktree("task").join("keys/a.pem").exists());
    // a profile that reads little of the repository
    let narrow = ["--read", "src/**", "--write", "src/**"];
    let said = repo.agentwt(&[&["add", "narrow"], &narrow[..]].concat());
    assert_eq!(said.status, 0, "{said}");
    assert_snapshot!(said.stderr, @r#"
    note: may write the same files as 1 worktree: git agentwt list --overlap
    narrow: new branch agentwt/narrow at af82e40edf (main); 2 files to edit, 0 to read, 10 excluded
      3 files are not copied, such as keys/a.pem: exclude "**/*.pem" (.agentwt/config.toml:6)
      .env is not copied: not in scope: no read or write pattern matches
    "#);
    let said = repo.agentwt(&["add", "given", "--no-sync", "--sync", "keys/**"]);
    assert_snapshot!(said.fails(3), @r#"
    --- stderr
    error: the scope excludes everything that the sync pattern `keys/**` (--sync) matches, as keys/a.pem: exclude "**/*.pem" (.agentwt/config.toml:6)
    help: take one of the two out, or have it in `optional_patterns = ["keys/**"]` in .agentwt/config.toml, where it may match nothing
    --- status 3
    "#);
}

#[test]
fn every_file_is_named_when_asked_for_and_nothing_is_said_without_a_config() {
    let repo = with_sync("patterns = ['.env']");
    repo.write(".env", "A=1\n");
    let said = repo.agentwt(&["-v", "add", "task"]);
    assert!(said.stderr.contains("copy .env\n"), "{said}");
    let repo = TestRepo::project();
    let said = repo.agentwt(&["add", "task", "--write", "src/**"]);
    assert!(
        !said.stderr.contains("cop") && !said.stderr.contains("sync"),
        "{said}"
    );
    let said = repo.agentwt(&["-v", "add", "other", "--write", "src/**"]);
    assert!(said.stderr.contains("no file is to be synced\n"), "{said}");
}

#[test]
fn a_mistake_in_the_patterns_makes_nothing() {
    for (sync, at) in [
        ("patterns = ['nothing-like-that']", "no match"),
        ("patterns = ['README.md']", "only tracked"),
        ("patterns = ['../x']", "outside"),
        ("patterns = ['fifo']", "a FIFO"),
        ("patterns = ['big']\nmax_file_size_mb = 1", "too large"),
        (
            "patterns = ['big*']\nmax_file_size_mb = 4\nmax_total_size_mb = 3",
            "too large together",
        ),
    ] {
        let repo = with_sync(sync);
        repo.write("x.pem", "PEM\n");
        repo.sh(
            repo.main(),
            "mkfifo fifo; truncate -s 2M big; truncate -s 2M big2",
        )
        .ok();
        let before = repo.fingerprint();
        let said = repo.agentwt(&["add", "task"]);
        assert_eq!(repo.fingerprint(), before, "{at}: {said}");
        let status = if at == "a FIFO" { 4 } else { 3 };
        said.fails(status);
        assert!(
            said.stderr.contains("help: ") && !repo.worktree("task").exists(),
            "{at}: {said}"
        );
    }
}

#[test]
fn flags_add_patterns_and_leave_the_config_out() {
    let repo = with_sync("patterns = ['.env']");
    repo.write(".env", "A=1\n");
    repo.write("extra", "e\n");
    repo.agentwt(&["add", "both", "--sync", "extra"]).ok();
    repo.agentwt(&["add", "none", "--no-sync"]).ok();
    repo.agentwt(&["add", "only", "--no-sync", "--sync", "extra"])
        .ok();
    let has = |name: &str| {
        let at = repo.worktree(name);
        (at.join(".env").exists(), at.join("extra").exists())
    };
    assert_eq!(has("both"), (true, true));
    assert_eq!(has("none"), (false, false));
    assert_eq!(has("only"), (false, true));
    // a later sync goes by the same
    std::fs::remove_file(repo.worktree("only").join("extra")).expect("it is removed");
    repo.agentwt(&["sync", "only"]).ok();
    assert_eq!(has("only"), (false, true));
    assert_snapshot!(repo.agentwt(&["add", "x", "--sync", "../out"]), @"
    --- stderr
    error: cannot use `../out` as a sync pattern (--sync): it has a `..` component, with which it could leave the repository
    help: write the path from the repository's root; a name such as `a..b` is fine
    --- status 3
    ");
    assert_snapshot!(repo.agentwt(&["add", "x", "--sync", "typo"]), @r#"
    --- stderr
    error: the sync pattern `typo` (--sync) matches nothing
    help: correct it, or have it in `optional_patterns = ["typo"]` in .agentwt/config.toml, where it may match nothing
    --- status 3
    "#);
    assert_snapshot!(repo.agentwt(&["add", "only", "--sync", "more"]), @"
    $TMP/repo/.agentwt/worktrees/only
    --- stderr
    note: --sync only counts when a worktree is made; to have what this one was made with: git agentwt sync only
    only is there already
    --- status 0
    ");
}

#[test]
fn the_worktreeinclude_selects_among_ignored_files() {
    let repo = TestRepo::project();
    repo.write(".gitignore", "*.secret\nbuild/\n");
    repo.write(".worktreeinclude", "*.secret\nplain\n!not.secret\n");
    repo.commit_all("rules");
    for name in ["a.secret", "sub/b.secret", "not.secret", "plain", "build/x"] {
        repo.write(name, "x\n");
    }
    repo.agentwt(&["add", "task", "--write", "src/**"]).ok();
    let worktree = repo.worktree("task");
    let there = |name: &str| worktree.join(name).exists();
    assert!(there("a.secret") && there("sub/b.secret"));
    assert!(!there("not.secret") && !there("plain") && !there("build/x"));
    repo.agentwt(&["add", "without", "--write", "src/**", "--no-sync"])
        .ok();
    assert!(!repo.worktree("without").join("a.secret").exists());
}

#[test]
fn untracked_memory_is_there_to_be_read_whatever_the_lists_say() {
    let repo = TestRepo::project();
    repo.write(".agentwt/memory/notes.md", "remember\n");
    repo.write(".agentwt/other", "not this\n");
    repo.agentwt(&[
        "add",
        "task",
        "--write",
        "**",
        "--read",
        "src/**",
        "--no-sync",
    ])
    .ok();
    let worktree = repo.worktree("task");
    let notes = worktree.join(".agentwt/memory/notes.md");
    assert_eq!(read(&notes), "remember\n");
    assert_eq!(
        notes.metadata().expect("a file").permissions().mode() & 0o222,
        0
    );
    assert!(!worktree.join(".agentwt/other").exists());
    chmod(&notes, 0o644);
    std::fs::write(&notes, "forget\n").expect("it is written");
    let said = repo.agentwt(&["verify", "task"]);
    assert!(
        said.fails(1).stdout.contains(".agentwt/memory/notes.md"),
        "{said}"
    );
}

#[test]
fn what_a_hook_of_the_user_placed_first_is_kept_or_refused() {
    for (content, status) in [("A=1", 0), ("A=other", 4)] {
        let repo = with_sync("patterns = ['.env']");
        repo.write(".env", "A=1\n");
        repo.write(
            ".git/hooks/post-checkout",
            &format!("#!/bin/sh\necho {content} >.env\n"),
        );
        repo.chmod(".git/hooks/post-checkout", 0o755);
        let said = repo.agentwt(&["add", "task"]);
        assert_eq!(said.status, status, "{said}");
        assert_eq!(repo.worktree("task").exists(), status == 0, "{said}");
        if status == 0 {
            repo.agentwt(&["verify", "task"]).ok();
            assert_snapshot!(repo.agentwt(&["sync", "task", "--status"]).stdout.trim(), @"same  .env");
        }
    }
}

#[test]
fn context_is_written_and_kept_out_of_commits() {
    for (client, file) in [
        ("claude-code", ".claude/CLAUDE.md"),
        ("codex", "AGENTS.md"),
        ("gemini", "GEMINI.md"),
        ("aider", "CONVENTIONS.md"),
        ("opencode", "AGENTS.md"),
    ] {
        let repo = TestRepo::project();
        let prompt = "Do the thing\r\nwithout a newline at the end";
        let scope = ["--write", "src/**", "--exclude", "**/secrets/**"];
        let mut add = vec!["add", "task", "--client", client, "--prompt", prompt];
        add.extend(scope);
        repo.agentwt(&add).ok();
        let worktree = repo.worktree("task");
        let text = read(worktree.join(file));
        assert!(text.starts_with(prompt), "{client}: {text}");
        for said in [
            "task",
            "src/**",
            "**/secrets/**",
            "git agentwt verify",
            "main",
        ] {
            assert!(text.contains(said), "{client}: {said} in {text}");
        }
        assert!(
            text.contains(repo.main().to_str().expect("UTF-8")),
            "{client}: {text}"
        );
        let bits = worktree
            .join(file)
            .metadata()
            .expect("a file")
            .permissions()
            .mode();
        assert_eq!(bits & 0o222, 0, "{client}: it is outside the write scope");
        assert_eq!(
            repo.sh(&worktree, "git add -A; git status --porcelain")
                .ok(),
            "",
            "{client}"
        );
        assert_eq!(repo.git(&["status", "--porcelain"]), "", "{client}");
        repo.agentwt(&["verify", "task"]).ok();
        let status = repo
            .agentwt(&["sync", "task", "--status", "--porcelain"])
            .ok();
        assert!(
            status.contains(&format!("task\tsame\t{file}\tcontext")),
            "{client}: {status}"
        );
        // edited, it is a violation, and not lost
        chmod(&worktree.join(file), 0o644);
        std::fs::write(worktree.join(file), "do as you like\n").expect("it is written");
        let said = repo.agentwt(&["verify", "task", "--format=tsv"]);
        assert!(said.fails(1).stdout.contains(file), "{client}: {said}");
        repo.agentwt(&["remove", "task"]).fails(4);
        repo.agentwt(&["restore", "task"]).ok();
        assert_eq!(read(worktree.join(file)), text, "{client}: it is put back");
        repo.agentwt(&["verify", "task"]).ok();
        // `sync --clean` is for copies only
        repo.agentwt(&["sync", "task", "--clean"]).ok();
        assert!(worktree.join(file).exists(), "{client}");
    }
}

#[test]
fn a_synced_file_of_that_name_is_not_rewritten_by_context() {
    let repo = with_sync("patterns = ['GEMINI.md']");
    repo.write("GEMINI.md", "my own\n");
    let said = repo.agentwt(&["add", "task", "--client", "gemini", "--prompt", "x"]);
    let worktree = repo.worktree("task");
    if said.status == 0 {
        assert_eq!(read(worktree.join("GEMINI.md")), "my own\n");
    } else {
        said.fails(4);
        assert!(!worktree.exists(), "{said}");
    }
    // and one that a hook of the user makes first
    let repo = TestRepo::project();
    repo.write(
        ".git/hooks/post-checkout",
        "#!/bin/sh\necho mine >AGENTS.md\n",
    );
    repo.chmod(".git/hooks/post-checkout", 0o755);
    let said = repo.agentwt(&[
        "add", "task", "--write", "src/**", "--client", "codex", "--prompt", "x",
    ]);
    assert!(said.fails(4).stderr.contains("AGENTS.md"), "{said}");
    assert!(!repo.worktree("task").exists());
}

#[test]
fn a_prompt_for_a_worktree_that_is_there_is_not_lost_silently() {
    let repo = TestRepo::project();
    let add = |prompt| {
        repo.agentwt(&[
            "add", "task", "--write", "src/**", "--client", "codex", "--prompt", prompt,
        ])
    };
    add("one").ok();
    assert_snapshot!(add("one"), @"
    $TMP/repo/.agentwt/worktrees/task
    --- stderr
    task is there already
    --- status 0
    ");
    assert_snapshot!(add("two"), @"
    $TMP/repo/.agentwt/worktrees/task
    --- stderr
    note: context is only written when a worktree is made; that of this one is $TMP/repo/.agentwt/worktrees/task/AGENTS.md
    task is there already
    --- status 0
    ");
}

#[test]
fn remove_takes_untouched_copies_and_refuses_over_edited_ones() {
    let repo = with_sync("patterns = ['.env']");
    repo.write(".gitignore", ".env\n");
    repo.commit_all("ignored");
    repo.write(".env", "A=1\n");
    repo.agentwt(&["add", "task"]).ok();
    repo.agentwt(&["add", "other"]).ok();
    repo.agentwt(&["remove", "other"]).ok();
    let env = repo.worktree("task").join(".env");
    chmod(&env, 0o644);
    std::fs::write(&env, "A=agent\n").expect("it is written");
    assert_snapshot!(repo.agentwt(&["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: 1 placed file is edited
      .env
    help: git agentwt sync task --pull .env, to keep what was synced; commit and merge it, or keep it in the trash, without what the base ignores: git agentwt remove --force task
    --- status 4
    ");
    let said = repo.agentwt(&["remove", "--force", "task"]).ok();
    let kept = std::fs::read_to_string(repo.main().join(said).join(".env"));
    assert_eq!(kept.expect("it is kept"), "A=agent\n");
}

#[test]
fn what_no_exclude_file_can_hide_is_said() {
    let repo = with_sync("patterns = ['.env*']");
    repo.write(".gitignore", ".env*\n!.env.example\n");
    repo.commit_all("rules");
    repo.write(".env", "A=1\n");
    repo.write(".env.example", "A=\n");
    let said = repo.agentwt(&["add", "task"]);
    assert_eq!(said.status, 0, "{said}");
    assert!(
        said.stderr.contains("note: git shows .env.example in "),
        "{said}"
    );
    let worktree = repo.worktree("task");
    assert_eq!(
        repo.sh(&worktree, "git status --porcelain").ok(),
        "?? .env.example"
    );
}

#[test]
fn what_a_hook_made_first_is_not_blamed_on_a_worktree_that_is_gone() {
    let repo = with_sync("patterns = ['.env']");
    repo.write(".env", "A=1\n");
    repo.write(
        ".git/hooks/post-checkout",
        "#!/bin/sh\necho A=other >.env\n",
    );
    repo.chmod(".git/hooks/post-checkout", 0o755);
    assert_snapshot!(repo.agentwt(&["add", "task"]), @"
    --- stderr
    error: cannot place .env in `task`: a post-checkout hook made it first, with another content
    help: leave it to the hook (git agentwt add task --no-sync, or --client none for context), or take it out of the hook
    --- status 4
    ");
}
