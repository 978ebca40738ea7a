//! `add --client … --prompt …`: what is planned for the agent program, and what is refused; and
//! `clients`, which lists the programs.

use std::path::PathBuf;

use insta::assert_snapshot;

use crate::support::{Said, TestRepo, is_root};

/// Plans a worktree that may edit `src/**`, with more arguments.
#[track_caller]
fn plan(repo: &TestRepo, more: &[&str]) -> Said {
    let mut arguments = vec!["add", "task", "-n", "--write", "src/**"];
    arguments.extend(more);
    repo.agentwt(&arguments)
}

/// The paths of the context that would be written.
#[track_caller]
fn planned(repo: &TestRepo, more: &[&str]) -> String {
    let said = plan(repo, more).ok();
    let line = said
        .lines()
        .find_map(|line| line.strip_prefix("  context  "));
    line.unwrap_or_default().to_owned()
}

#[test]
fn the_plan_shows_what_would_be_written() {
    let repo = TestRepo::project();
    assert_snapshot!(plan(&repo, &["--client", "codex", "--prompt", "Do it."]), @"
    would make $TMP/repo/.agentwt/worktrees/task
      branch   new branch agentwt/task
      base     af82e40edf (main)
      write    src/**
      read     **
      exclude  nothing
      files    2 files to edit, 10 to read, 0 excluded
      context  AGENTS.md  .codex/config.toml (for codex)
    --- status 0
    ");
    let json = plan(
        &repo,
        &["--client", "aider", "--prompt", "Do it.", "--json"],
    )
    .ok();
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(json["client"], "aider");
    assert_eq!(json["context"][0]["path"], "CONVENTIONS.md");
    assert_eq!(json["context"][1]["path"], ".aider.conf.yml");
    assert_eq!(json["context"][1]["size"], 25);
    let json = plan(&repo, &["--json"]).ok();
    assert!(
        !json.contains("context") && !json.contains("client"),
        "{json}"
    );
}

#[test]
fn every_client_has_its_file_and_a_variant_where_that_is_tracked() {
    for (client, usual, variant) in [
        (
            "claude-code",
            ".claude/CLAUDE.md  .claude/settings.local.json",
            "CLAUDE.local.md  .claude/settings.local.json",
        ),
        (
            "codex",
            "AGENTS.md  .codex/config.toml",
            "AGENTS.override.md  .codex/config.toml",
        ),
        (
            "cursor",
            "AGENTS.md  .cursor/hooks.json",
            ".cursor/rules/agentwt.mdc  .cursor/hooks.json",
        ),
        (
            "copilot",
            ".github/copilot-instructions.md  .github/hooks/agentwt.json",
            ".github/instructions/agentwt.instructions.md  .github/hooks/agentwt.json",
        ),
        (
            "gemini",
            "GEMINI.md  .gemini/settings.json",
            "GEMINI.local.md  .gemini/settings.json",
        ),
        (
            "aider",
            "CONVENTIONS.md  .aider.conf.yml",
            "CONVENTIONS.local.md  .aider.conf.yml",
        ),
        (
            "opencode",
            "AGENTS.md  opencode.json",
            "AGENTS.local.md  opencode.json",
        ),
    ] {
        let repo = TestRepo::project();
        let line = |files: &str| format!("{files} (for {client})");
        assert_eq!(planned(&repo, &["--client", client]), line(usual));
        let first = usual.split(' ').next().expect("a path");
        repo.write(first, "the repository's own\n");
        assert_eq!(
            planned(&repo, &["--client", client]),
            line(usual),
            "untracked in the main worktree, it is not in the new one"
        );
        repo.commit_all("instructions");
        assert_eq!(planned(&repo, &["--client", client]), line(variant));
    }
}

#[test]
fn a_tracked_file_is_never_rewritten_and_the_refusal_says_what_to_do() {
    for (client, tracked) in [
        ("claude-code", &[".claude/CLAUDE.md", "CLAUDE.local.md"][..]),
        ("codex", &["AGENTS.override.md"]),
        ("gemini", &["GEMINI.md", ".gemini/settings.json"]),
        ("aider", &[".aider.conf.yml"]),
        ("opencode", &["AGENTS.md", "opencode.json"]),
    ] {
        let repo = TestRepo::project();
        for path in tracked {
            repo.write(path, "the repository's own\n");
        }
        repo.commit_all("instructions");
        let before = repo.fingerprint();
        let said = repo.agentwt(&["add", "task", "--write", "src/**", "--client", client]);
        said.fails(4);
        for path in tracked {
            assert!(
                said.stderr.contains(&format!("{path} is tracked")),
                "{said}"
            );
        }
        assert!(
            said.stderr.contains("git agentwt add task --client none"),
            "{said}"
        );
        assert_eq!(repo.fingerprint(), before, "nothing was made: {client}");
    }
    let repo = TestRepo::project();
    repo.write("AGENTS.md", "a\n");
    repo.write("opencode.json", "{}\n");
    repo.commit_all("instructions");
    assert_snapshot!(plan(&repo, &["--client", "opencode"]), @r#"
    --- stderr
    error: cannot write the context of `task` for opencode: AGENTS.md is tracked, and opencode.json is tracked
    help: create the worktree without context (git agentwt add task --client none) and give opencode its task yourself: opencode run "$(cat <prompt file>)"
    --- status 4
    "#);
}

#[test]
fn what_the_scope_keeps_away_cannot_hold_context() {
    let repo = TestRepo::project();
    let said = plan(&repo, &["--client", "codex", "--exclude", "AGENTS*"]);
    assert_snapshot!(said, @r#"
    --- stderr
    error: cannot write the context of `task` for codex: AGENTS.md is excluded by the exclude pattern `AGENTS*` (--exclude), and AGENTS.override.md is excluded by the exclude pattern `AGENTS*` (--exclude)
    help: create the worktree without context (git agentwt add task --client none) and give codex its task yourself: codex "$(cat <prompt file>)"
    --- status 4
    "#);
    let narrow = ["--client", "codex", "--read", "docs/**"];
    let said = plan(&repo, &narrow);
    assert!(
        said.fails(4)
            .stderr
            .contains("AGENTS.md is not in scope: no read or write pattern matches"),
        "{said}"
    );
    let mut shown = narrow.to_vec();
    shown.extend(["--add-read", "/AGENTS.md"]);
    assert_eq!(
        planned(&repo, &shown),
        "AGENTS.md (for codex)",
        "as the help says"
    );
}

#[test]
fn what_stands_in_the_way_of_a_directory_holds_the_path() {
    let repo = TestRepo::project();
    std::os::unix::fs::symlink("/tmp", repo.main().join(".claude")).expect("a link");
    repo.commit_all("a link out of the repository");
    assert_eq!(
        planned(&repo, &["--client", "claude-code"]),
        "CLAUDE.local.md (for claude-code)"
    );
}

#[test]
fn a_prompt_needs_a_client_from_anywhere() {
    let repo = TestRepo::project();
    assert_snapshot!(plan(&repo, &["--prompt", "Do it."]), @"
    --- stderr
    error: a prompt was given for `task`, and no client that reads it
    help: name one, here or in the config (see them: git agentwt clients): git agentwt add task --client claude-code
    --- status 2
    ");
    repo.git(&["config", "--global", "agentwt.client", "gemini"]);
    assert_eq!(
        planned(&repo, &["--prompt", "Do it."]),
        "GEMINI.md  .gemini/settings.json (for gemini)"
    );
    assert_eq!(
        planned(&repo, &["--prompt", "Do it.", "--client", "codex"]),
        "AGENTS.md  .codex/config.toml (for codex)"
    );
    let line = "git-agentwt add task -n --write 'src/**'";
    let said = repo.sh(repo.main(), &format!("AGENTWT_CLIENT=aider {line}"));
    assert!(
        said.ok().contains("(for aider)"),
        "the environment beats git config: {said}"
    );
    assert_eq!(
        planned(&repo, &["--client", "none"]),
        "",
        "none takes it back"
    );
    assert_snapshot!(plan(&repo, &["--prompt", "Do it.", "--client", "none"]), @"
    --- stderr
    error: a prompt was given for `task`, and no client that reads it: it is `none` (--client)
    help: name one, here or in the config (see them: git agentwt clients): git agentwt add task --client claude-code
    --- status 2
    ");
    repo.git(&["config", "--global", "--unset", "agentwt.client"]);
    let config = "schema_version = \"1.0\"\n[worktree]\nclient = \"codex\"\n";
    repo.write(".agentwt/config.toml", config);
    assert_eq!(
        planned(&repo, &[]),
        "AGENTS.md  .codex/config.toml (for codex)",
        "a client needs no prompt"
    );
}

#[test]
fn an_unknown_client_is_told_the_names_and_the_nearest() {
    let repo = TestRepo::project();
    let said = plan(&repo, &["--client", "claude"]);
    let said = said.fails(2);
    assert!(said.stderr.contains("'claude-code'"), "{said}");
    assert!(
        said.stderr.contains("gemini") && said.stderr.contains("none"),
        "{said}"
    );
    repo.git(&["config", "--global", "agentwt.client", "codx"]);
    let said = plan(&repo, &[]);
    assert!(
        said.fails(3).stderr.contains("did you mean `codex`?"),
        "{said}"
    );
}

#[test]
fn a_prompt_comes_from_the_line_a_file_or_stdin() {
    let repo = TestRepo::project();
    let text = b"Make it green.\r\n\xff\n";
    crate::support::write(repo.root(), b"task.md", text);
    crate::support::write(repo.main(), b"src/task.md", text);
    let size = |arguments: &[&str], dir: &std::path::Path, input: &[u8]| {
        let mut all = vec![
            "add", "task", "-n", "--write", "src/**", "--client", "codex",
        ];
        all.extend(arguments);
        all.push("--json");
        let json = repo.agentwt_with_input(dir, &all, input).ok();
        let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
        json["context"][0]["size"].as_u64().expect("a size")
    };
    let main = repo.main();
    let without = size(&[], main, b"not read");
    let with = without + text.len() as u64 + 1;
    let absolute = repo.root().join("task.md");
    let absolute = absolute.to_str().expect("UTF-8");
    assert_eq!(size(&["--prompt-file", absolute], main, b""), with);
    assert_eq!(size(&["--prompt-file", "../task.md"], main, b""), with);
    assert_eq!(
        size(&["--prompt-file", "task.md"], &main.join("src"), b""),
        with
    );
    assert_eq!(size(&["--prompt-file", "-"], main, text), with);
    assert_eq!(size(&["--prompt", "-"], main, text), with);
    // as `<(command)` of a shell
    let pipe = repo.root().join("pipe");
    repo.sh(repo.main(), "mkfifo ../pipe").ok();
    let from_pipe = std::thread::scope(|threads| {
        threads.spawn(|| std::fs::write(&pipe, text).expect("somebody reads"));
        size(&["--prompt-file", "../pipe"], main, b"")
    });
    assert_eq!(from_pipe, with);
    assert_eq!(size(&["--prompt", ""], main, b""), without);
    assert_eq!(size(&["--prompt", "-", "-C", "src"], main, b""), without);
}

#[test]
fn a_prompt_that_cannot_be_had_is_an_error_and_nothing_is_made() {
    let repo = TestRepo::project();
    crate::support::write(repo.root(), b"secret", b"a");
    crate::support::chmod(&repo.root().join("secret"), 0);
    let before = repo.fingerprint();
    let add = |more: &[&str]| {
        let mut all = vec!["add", "task", "--write", "src/**", "--client", "codex"];
        all.extend(more);
        repo.agentwt_in(repo.main(), &all)
    };
    assert_snapshot!(add(&["--prompt-file", "../task.md"]), @"
    --- stderr
    error: there is no file ../task.md to read the prompt from
    help: paths are relative to where you stand; for stdin: --prompt-file -
    --- status 2
    ");
    let said = add(&["--prompt-file", "src"]);
    assert!(said.fails(6).stderr.contains("irectory"), "{said}");
    if !is_root() {
        let said = add(&["--prompt-file", "../secret"]);
        assert!(said.fails(6).stderr.contains("ermission denied"), "{said}");
    }
    let said = add(&["--prompt", "a", "--prompt-file", "b"]);
    assert!(
        said.fails(2).stderr.contains("cannot be used with"),
        "{said}"
    );
    assert_eq!(repo.fingerprint(), before);
}

#[test]
fn codex_is_not_given_more_than_it_reads_without_a_word() {
    let repo = TestRepo::project();
    let long = "x".repeat(33 * 1024);
    let said = plan(&repo, &["--client", "codex", "--prompt", &long]);
    assert_eq!(said.status, 0, "{said}");
    assert!(said.stderr.contains("codex reads 32768 unless"), "{said}");
}

#[test]
fn context_for_a_worktree_that_is_there_is_not_ignored_without_a_word() {
    let repo = TestRepo::project();
    let add = ["add", "task", "--write", "src/**"];
    repo.agentwt(&add).ok();
    let again = |more: &[&str]| {
        let mut all = add.to_vec();
        all.extend(more);
        repo.agentwt(&all)
    };
    assert_snapshot!(again(&["--client", "codex", "--prompt", "Do it."]), @"
    $TMP/repo/.agentwt/worktrees/task
    --- stderr
    note: context is only written when a worktree is made: this one was made without
    task is there already
    --- status 0
    ");
    for silent in [&[][..], &["--client", "none"]] {
        let said = again(silent);
        assert!(!said.stderr.contains("note:"), "{said}");
    }
    again(&["--prompt", "Do it."]).fails(2);
}

#[test]
fn the_programs_are_listed_without_a_repository() {
    let repo = TestRepo::project();
    let nowhere = repo.root();
    let human = repo.agentwt_in(nowhere, &["clients"]).ok();
    let first: Vec<&str> = human.lines().take(4).collect();
    assert_snapshot!(first.join("\n"), @"
    claude-code: Claude Code
      .claude/CLAUDE.md  usually
      CLAUDE.local.md    if .claude/CLAUDE.md is not free
      - Reads CLAUDE.md, .claude/CLAUDE.md and CLAUDE.local.md of the start directory and the
    ");
    assert!(human.lines().all(|line| line.len() <= 110), "{human}");
    let porcelain = repo.agentwt_in(nowhere, &["clients", "--porcelain"]).ok();
    let lines: Vec<&str> = porcelain.lines().collect();
    assert_eq!(lines[2], "codex\tAGENTS.md\tusually");
    let nul = repo.agentwt_in(nowhere, &["clients", "-z"]).ok();
    assert_eq!(nul.matches('\0').count(), lines.len());
    let json = repo.agentwt_in(nowhere, &["clients", "--json"]).ok();
    let json: serde_json::Value = serde_json::from_str(&json).expect("it is JSON");
    assert_eq!(json["schema"], "agentwt.clients/1");
    let names = json["clients"].as_array().expect("a list").iter();
    let names: Vec<_> = names.filter_map(|one| one["name"].as_str()).collect();
    assert_eq!(
        names,
        [
            "claude-code",
            "codex",
            "gemini",
            "aider",
            "opencode",
            "cursor",
            "copilot"
        ]
    );
    assert!(json["clients"][0]["read_in"][0].is_string());
}

#[test]
fn the_shells_complete_every_program() {
    use clap_complete::Shell;
    for shell in [Shell::Bash, Shell::Zsh, Shell::Fish] {
        let text = git_agentwt::cli::completions::completions(shell);
        for client in git_agentwt::client::programs::ALL {
            let name = client.name;
            assert!(text.contains(name), "{shell}: {name}");
        }
    }
}

#[test]
fn the_page_has_every_client() {
    let source = PathBuf::from(env!("CARGO_MANIFEST_DIR"));
    let page = std::fs::read_to_string(source.join("docs/clients.md")).expect("the page");
    for client in git_agentwt::client::programs::ALL {
        let title = format!("## {}", client.title);
        assert!(page.contains(&title), "{}", client.name);
        for path in client.paths() {
            let path = format!("`{path}`");
            assert!(page.contains(&path), "{}: {path}", client.name);
        }
    }
}

#[test]
fn the_memory_bank_is_readable_whatever_the_lists_say() {
    let lists: [&[&str]; 5] = [
        &["--write", "src/**"],
        &["--write", "**"],
        &["--write", ".agentwt/memory/**"],
        &["--write", "src/**", "--read", "docs/**"],
        &["--write", "src/**", "--exclude", ".agentwt/**"],
    ];
    for (at, lists) in lists.iter().enumerate() {
        let repo = TestRepo::project();
        repo.write(".agentwt/config.toml", "schema_version = \"1.0\"\n");
        repo.write(".agentwt/memory/notes.md", "remember\n");
        repo.write(".agentwt/memory/deep/er.md", "more\n");
        repo.write(".agentwt/other.md", "not for agents\n");
        repo.commit_all("a memory bank");
        let mut add = vec!["add", "task"];
        add.extend(*lists);
        repo.agentwt(&add).ok();
        let below = repo.worktree("task").join(".agentwt");
        for file in ["memory/notes.md", "memory/deep/er.md"] {
            let said = repo.sh(
                &below,
                &format!("stat -c %A {file} 2>/dev/null || stat -f %Sp {file}"),
            );
            assert!(
                !said.ok().contains('w'),
                "{file} is there, read-only ({at}): {said}"
            );
        }
        for file in ["config.toml", "other.md", "worktrees"] {
            assert!(!below.join(file).exists(), "{file} is absent ({at})");
        }
        std::fs::remove_file(below.join("memory/notes.md")).expect("a file");
        let findings = repo.findings(&repo.worktree("task"));
        assert!(
            findings.contains(".agentwt/memory/notes.md deleted"),
            "{findings} ({at})"
        );
    }
}

// What the placing of these files is to be held against, once `add` places them:
//
// - `add --client <c> --prompt <p>` without `-n` writes each planned file; its first bytes are the
//   prompt, its end our part; `git status` in the worktree and in the main one shows nothing new.
// - `git add -A` in the worktree adds none of them (the worktree's own exclude file), for every
//   client, also `.claude/CLAUDE.md`, whose directory we make.
// - Each is in the list of placed files with `Origin::Context` and a digest; `status` and
//   `list --json` show it; `verify` says nothing of it while unchanged, and an edited one outside
//   the write scope is a violation, an edited one inside none.
// - Outside the write scope it is read-only; inside (`--write '**'`) it is writable.
// - A post-checkout hook of the user that makes the file first: it is not rewritten, `add` fails
//   with status 4 and undoes everything.
// - A selected sync candidate at the same path is `Held::Synced`: the variant, or the refusal.
// - `remove` deletes unchanged ones without a word, and refuses over edited ones.
// - `add` again with the same prompt says nothing; with another one it names the file; so does
//   another `--client`.
// - Killed at any point of the placing, a second `add` finishes, and no half file is there.
// - `restore` puts an edited one back as it was placed, and never deletes an unchanged one.

#[test]
fn a_signal_ends_the_wait_for_a_prompt() {
    use std::os::unix::process::ExitStatusExt;
    let repo = TestRepo::project();
    repo.sh(repo.root(), "mkfifo fifo").ok();
    let fifo = repo.root().join("fifo");
    let fifo = fifo.to_str().expect("UTF-8");
    for prompt in [["--prompt-file", fifo], ["--prompt", "-"]] {
        let mut command = repo.command(crate::support::binary(), repo.main());
        command.args(["add", "task", "--write", "src/**", "--client", "codex"]);
        command.args(prompt).stdin(std::process::Stdio::piped());
        let mut child = command.spawn().expect("it starts");
        let began = std::time::Instant::now();
        // long enough for it to wait
        std::thread::sleep(std::time::Duration::from_millis(400));
        let status = loop {
            let pid = rustix::process::Pid::from_child(&child);
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::TERM);
            if let Some(status) = child.try_wait().expect("it runs") {
                break status;
            }
            assert!(began.elapsed().as_secs() < 20, "{prompt:?}: it still waits");
            std::thread::sleep(std::time::Duration::from_millis(20));
        };
        let ended = status.signal() == Some(15) || status.code() == Some(143);
        assert!(ended, "{prompt:?}: {status:?}");
        assert!(!repo.worktree("task").exists());
    }
}
