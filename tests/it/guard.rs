//! The guard: recorded tool calls of each agent program, and the files that make the programs call it.

use std::path::Path;

use git_agentwt::record::worktree::Intent;
use git_agentwt::record::worktree::Record;
use git_agentwt::words::toml_file::from_text;
use git_agentwt::words::toml_file::to_text;
use insta::assert_snapshot;
use serde_json::{Value, json};

use crate::support::{Said, TestRepo};

/// A worktree `task` that may edit `src/**` and `/new.md`, and reads the rest.
fn guarded(client: &str) -> TestRepo {
    let repo = TestRepo::project();
    repo.agentwt(&[
        "add",
        "task",
        "--write",
        "src/**",
        "--write",
        "/new.md",
        "--exclude",
        "**/secrets/**",
        "--client",
        client,
    ])
    .ok();
    repo
}

fn ask(repo: &TestRepo, from: &Path, more: &[&str], call: &Value) -> Said {
    let worktree = repo.worktree("task");
    let worktree = worktree.to_str().expect("UTF-8");
    let mut all = vec!["-C", worktree, "guard"];
    all.extend(more);
    repo.agentwt_with_input(from, &all, call.to_string().as_bytes())
}

/// The call of a tool of Claude Code, from a directory of the worktree.
fn call(repo: &TestRepo, directory: &str, tool: &str, input: Value) -> Value {
    let mut call = json!({
        "session_id": "00893aaf-19fa-41d2-8238-13269b9b3ca0",
        "transcript_path": "/home/ada/.claude/projects/x/00893aaf.jsonl",
        "cwd": repo.worktree("task").join(directory),
        "permission_mode": "acceptEdits",
        "hook_event_name": "PreToolUse",
        "tool_name": tool,
        "tool_use_id": "toolu_01ABC123",
    });
    call["tool_input"] = input;
    call
}

/// Why a call is denied; nothing where it passes without a word.
#[track_caller]
fn reason(repo: &TestRepo, call: &Value) -> String {
    let said = ask(repo, repo.main(), &["--client", "claude-code"], call);
    assert_eq!((said.status, &*said.stderr), (0, ""), "{said}");
    if said.stdout.is_empty() {
        return String::new();
    }
    let answer: Value = serde_json::from_str(&said.stdout).expect("it is JSON");
    let output = &answer["hookSpecificOutput"];
    assert_eq!(output["hookEventName"], "PreToolUse");
    assert_eq!(output["permissionDecision"], "deny");
    let reason = output["permissionDecisionReason"].as_str();
    let root = repo.root().to_str().expect("UTF-8");
    reason.expect("a reason").replace(root, "$TMP")
}

#[test]
fn an_edit_is_decided_by_the_scope_wherever_the_path_is_relative_to() {
    let repo = guarded("claude-code");
    let (worktree, main) = (repo.worktree("task"), repo.main());
    let of = |directory: &str, path: &str| {
        let input = json!({"file_path": path, "old_string": "a", "new_string": "b"});
        reason(&repo, &call(&repo, directory, "Edit", input))
    };
    let inside = worktree.join("src/lib.rs");
    for (directory, path) in [
        ("", "src/lib.rs"),
        ("", "src/not/there/yet.rs"),
        ("", "new.md"),
        ("src", "lib.rs"),
        ("src", "../new.md"),
        ("docs", "../docs/../src/lib.rs"),
        ("", inside.to_str().expect("UTF-8")),
        // nothing of the repository
        ("", "/tmp/plan.md"),
    ] {
        assert_eq!(of(directory, path), "", "{directory} {path}");
    }
    assert_snapshot!(of("", "README.md"), @"README.md is read-only in this task: read ** (default); if the task needs this edit, ask the user to run: git agentwt scope task --add-write /README.md");
    assert_snapshot!(of("src", "../docs/new.md"), @"docs/new.md is read-only in this task: read ** (default); if the task needs this edit, ask the user to run: git agentwt scope task --add-write /docs/new.md");
    assert_snapshot!(of("", "src/secrets/key"), @"src/secrets/key is excluded in this task: exclude **/secrets/** (--exclude)");
    assert_snapshot!(of("", ".git"), @".git is git's own");
    let main = |path: &str| main.join(path).to_str().expect("UTF-8").to_owned();
    assert_snapshot!(of("", &main("src/lib.rs")), @"$TMP/repo/src/lib.rs is in the main worktree, not in your worktree task: edit $TMP/repo/.agentwt/worktrees/task/src/lib.rs instead");
    let elsewhere = repo.main().to_str().expect("UTF-8");
    assert!(of(elsewhere, "src/lib.rs").starts_with("src/lib.rs is in the main worktree"));
    assert_eq!(of(elsewhere, inside.to_str().expect("UTF-8")), "");
    assert_snapshot!(of("", &main("README.md")), @"$TMP/repo/README.md is in the main worktree, not in your worktree task: README.md is read-only in this task: read ** (default)");
    assert_snapshot!(of("src", "../../../../src/lib.rs"), @"../../../../src/lib.rs is in the main worktree, not in your worktree task: edit $TMP/repo/.agentwt/worktrees/task/src/lib.rs instead");
    assert_snapshot!(of("", "../other/src/lib.rs"), @"../other/src/lib.rs is in the worktree other, not in your worktree task: edit $TMP/repo/.agentwt/worktrees/task/src/lib.rs instead");
    assert_snapshot!(of("", &main(".git/config")), @"$TMP/repo/.git/config is in $TMP/repo/.git, which is not this task's");
    assert_snapshot!(of("", &main(".agentwt/config.toml")), @"$TMP/repo/.agentwt/config.toml is in the main worktree, not in your worktree task: .agentwt/config.toml is excluded in this task: exclude /.agentwt (built-in)");
}

#[test]
fn links_are_followed_to_the_file_that_would_be_written() {
    let repo = guarded("claude-code");
    let worktree = repo.worktree("task");
    let link = |name: &str, to: &str| {
        std::os::unix::fs::symlink(to, worktree.join("src").join(name)).expect("a link");
    };
    link("docs", "../docs");
    link("back", "../src");
    link("main", repo.main().join("src").to_str().expect("UTF-8"));
    link("nowhere", "../README.new");
    link("loop", "loop");
    let of = |path: &str| {
        reason(
            &repo,
            &call(
                &repo,
                "",
                "Write",
                json!({"file_path": path, "content": "x"}),
            ),
        )
    };
    assert_eq!(of("src/back/lib.rs"), "");
    assert!(of("src/docs/new.md").contains("docs/new.md is read-only"));
    assert_eq!(
        of("src/docs/../new.md"),
        "",
        "the link's parent is the root"
    );
    assert!(of("src/docs/../README.md").contains("README.md is read-only"));
    assert!(of("src/main/lib.rs").contains("edit $TMP/repo/.agentwt/worktrees/task/src/lib.rs"));
    assert!(of("src/nowhere").contains("README.new is read-only"));
    assert_eq!(of("src/loop"), "");
    // the worktree by another name
    let other = repo.root().join("other");
    std::os::unix::fs::symlink(&worktree, &other).expect("a link");
    assert_eq!(of(other.join("src/lib.rs").to_str().expect("UTF-8")), "");
    assert!(of(other.join("README.md").to_str().expect("UTF-8")).contains("is read-only"));
}

#[test]
fn every_tool_that_edits_is_known_and_all_others_pass() {
    let repo = guarded("claude-code");
    let edits =
        json!([{"old_string": "a", "new_string": "b"}, {"old_string": "c", "new_string": "d"}]);
    for (tool, input) in [
        (
            "Edit",
            json!({"file_path": "README.md", "old_string": "a", "new_string": "b"}),
        ),
        ("Write", json!({"file_path": "README.md", "content": "x"})),
        (
            "MultiEdit",
            json!({"file_path": "README.md", "edits": edits}),
        ),
        (
            "NotebookEdit",
            json!({"notebook_path": "a.ipynb", "new_source": "x"}),
        ),
        (
            "mcp__files__write_file",
            json!({"path": "README.md", "content": "x"}),
        ),
        (
            "mcp__files__edit_file",
            json!({"path": "README.md", "edits": edits}),
        ),
    ] {
        let why = reason(&repo, &call(&repo, "", tool, input));
        assert!(why.contains("is read-only in this task"), "{tool}: {why}");
    }
    for (tool, input) in [
        (
            "Bash",
            json!({"command": "sed -i s/a/b/ README.md", "description": "Edit"}),
        ),
        ("Read", json!({"file_path": "README.md"})),
        ("Grep", json!({"pattern": "x", "path": "docs"})),
        ("TodoWrite", json!({"todos": []})),
        ("mcp__files__read_file", json!({"path": "README.md"})),
        (
            "MultiEdit",
            json!({"file_path": "src/lib.rs", "edits": edits}),
        ),
        (
            "NotebookEdit",
            json!({"notebook_path": "src/a.ipynb", "new_source": "x"}),
        ),
    ] {
        assert_eq!(reason(&repo, &call(&repo, "", tool, input)), "", "{tool}");
    }
}

#[test]
fn every_path_in_a_call_is_judged() {
    let repo = guarded("claude-code");
    let patch =
        "*** Begin Patch\n*** Add File: src/a.rs\n+x\n*** Delete File: README.md\n*** End Patch";
    let diff = "--- a/src/lib.rs\n+++ b/README.md\n@@ -1 +1 @@\n-a\n+b\n";
    let denied = [
        (
            "Write",
            json!({"file_path": "src/lib.rs", "path": "README.md", "content": "x"}),
        ),
        (
            "Write",
            json!({"path": "README.md", "file_path": "src/lib.rs", "content": "x"}),
        ),
        (
            "mcp__files__move_file",
            json!({"source": "src/lib.rs", "destination": "README.md"}),
        ),
        (
            "mcp__files__move_file",
            json!({"source": "README.md", "destination": "src/README.md"}),
        ),
        (
            "mcp__files__copy_file",
            json!({"source": "src/lib.rs", "destination": "README.md"}),
        ),
        (
            "rename_file",
            json!({"old_path": "README.md", "new_path": "src/README.md"}),
        ),
        (
            "MultiEdit",
            json!({"edits": [{"file_path": "src/a.rs"}, {"file_path": "README.md"}]}),
        ),
        (
            "mcp__files__delete_file",
            json!({"paths": ["src/lib.rs", "README.md"]}),
        ),
        ("apply_patch", json!({"command": ["apply_patch", patch]})),
        (
            "apply_patch",
            json!({"path": "src/lib.rs", "patches": ["", patch]}),
        ),
        ("apply_patch", json!({"patch": diff})),
        (
            "apply_patch",
            json!({"changes": {"src/lib.rs": {"update": "x"}, "README.md": {"delete": {}}}}),
        ),
    ];
    for (tool, input) in denied {
        let why = reason(&repo, &call(&repo, "", tool, input.clone()));
        assert_eq!(
            why,
            "README.md is read-only in this task: read ** (default); if the task needs this edit, ask \
             the user to run: git agentwt scope task --add-write /README.md",
            "{tool} {input}"
        );
    }
    let told = json!({"file_path": "README.md", "path": "docs/x.md"});
    assert_snapshot!(reason(&repo, &call(&repo, "", "Write", told)), @r"
    README.md is read-only in this task: read ** (default); if the task needs this edit, ask the user to run: git agentwt scope task --add-write /README.md
    docs/x.md is read-only in this task: read ** (default); if the task needs this edit, ask the user to run: git agentwt scope task --add-write /docs/x.md
    ");
    let allowed = [
        (
            "mcp__files__move_file",
            json!({"source": "src/lib.rs", "destination": "src/b.rs"}),
        ),
        // nothing but the copy is written
        (
            "mcp__files__copy_file",
            json!({"source": "README.md", "destination": "src/README.md"}),
        ),
        // what a file is to hold names no file
        (
            "Write",
            json!({"file_path": "src/a.json", "content": {"path": "README.md"}}),
        ),
        (
            "MultiEdit",
            json!({"file_path": "src/a.rs", "edits": [{"old_string": patch, "new_string": "*** Update File: README.md"}]}),
        ),
        (
            "apply_patch",
            json!({"patch": diff.replace("README.md", "src/b.rs")}),
        ),
        (
            "apply_patch",
            json!({"patch": "*** Begin Patch\n*** Update File: src/a.diff\n@@\n+++ b/README.md\n*** End Patch"}),
        ),
    ];
    for (tool, input) in allowed {
        let why = reason(&repo, &call(&repo, "", tool, input.clone()));
        assert_eq!(why, "", "{tool} {input}");
    }
}

#[test]
fn what_the_rules_of_the_base_ignore_may_be_written() {
    let repo = TestRepo::project();
    repo.write(".gitignore", "*.log\n/target/\n.env\n/tracked.log\n");
    repo.write("tracked.log", "kept in git\n");
    repo.git(&["add", "-f", "."]);
    repo.git(&["commit", "-qm", "rules"]);
    repo.write(".env", "KEY=1\n");
    repo.agentwt(&[
        "add",
        "task",
        "--write",
        "src/**",
        "--exclude",
        "**/secrets/**",
        "--sync",
        ".env",
    ])
    .ok();
    let worktree = repo.worktree("task");
    let of = |path: &str| {
        let why = reason(
            &repo,
            &call(
                &repo,
                "",
                "Write",
                json!({"file_path": path, "content": "x"}),
            ),
        );
        if !why.is_empty() {
            return "denied";
        }
        let file = worktree.join(path);
        std::fs::create_dir_all(file.parent().expect("a directory")).expect("it is made");
        std::fs::write(file, "x").expect("it is written");
        "allowed"
    };
    for path in ["target/a/out.txt", "docs/x.log", "x.log", "new/dir/y.log"] {
        assert_eq!(of(path), "allowed", "{path}");
    }
    // as verification says
    assert_eq!(repo.findings(&worktree), "");
    for path in [
        "docs/x.txt",
        // git has it, whatever the rules say
        "tracked.log",
        // an edited copy is a finding
        ".env",
        "secrets/x.log",
        ".agentwt/x.log",
    ] {
        assert_eq!(of(path), "denied", "{path}");
    }
    // the rules that the agent adds count for nothing, and what it added to git is no build output
    repo.sh(
        &worktree,
        "chmod +w .gitignore docs && echo '*.txt' >>.gitignore && git add -f docs/x.log",
    )
    .ok();
    for path in ["docs/x.txt", "docs/x.log"] {
        assert_eq!(of(path), "denied", "{path}");
    }
}

/// The calls of each program as it makes them: with a path, and with the key of its answer.
fn calls_of(client: &str, directory: &Path, file: &str) -> (Vec<Value>, &'static str) {
    let patch = format!(
        "*** Begin Patch\n*** Update File: src/lib.rs\n@@\n-a\n+b\n*** Add File: {file}\n+x\n*** End Patch\n"
    );
    let moved = format!(
        "*** Begin Patch\n*** Update File: src/lib.rs\n*** Move to: {file}\n@@\n-a\n+b\n*** End Patch"
    );
    match client {
        "codex" => {
            let of = |tool: &str, input: Value| {
                json!({
                    "session_id": "0199a213-81c0-7800-8aa1-bbab2a035a53", "turn_id": "1",
                    "transcript_path": null, "cwd": directory, "hook_event_name": "PreToolUse",
                    "model": "gpt-5-codex", "permission_mode": "default",
                    "tool_name": tool, "tool_input": input, "tool_use_id": "call_1",
                })
            };
            let all = [patch, moved].map(|patch| of("apply_patch", json!({"command": patch})));
            (all.to_vec(), "/hookSpecificOutput/permissionDecisionReason")
        }
        "gemini" => {
            let of = |tool: &str, input: Value| {
                json!({
                    "session_id": "s", "transcript_path": "/t.json", "cwd": directory,
                    "hook_event_name": "BeforeTool", "timestamp": "2026-08-21T10:00:00Z",
                    "tool_name": tool, "tool_input": input,
                })
            };
            let write = of("write_file", json!({"file_path": file, "content": "x"}));
            let replace = json!({"file_path": file, "old_string": "a", "new_string": "b", "instruction": "i"});
            (vec![write, of("replace", replace)], "/reason")
        }
        "cursor" => {
            let of = |tool: &str, input: Value| {
                json!({
                    "conversation_id": "c", "generation_id": "g", "model": "m",
                    "hook_event_name": "preToolUse", "cursor_version": "2.4.0",
                    "workspace_roots": [directory], "user_email": null,
                    "tool_name": tool, "tool_input": input, "tool_use_id": "t",
                })
            };
            let write = of("Write", json!({"file_path": file, "content": "x"}));
            (
                vec![write, of("Delete", json!({"file_path": file}))],
                "/agent_message",
            )
        }
        "copilot" => {
            let of = |tool: &str, input: Value| {
                json!({
                    "timestamp": 1_704_614_600_000_u64, "cwd": directory,
                    "toolName": tool, "toolArgs": input.to_string(),
                })
            };
            let edit = of(
                "edit",
                json!({"path": file, "old_str": "a", "new_str": "b"}),
            );
            let mut patched = of("apply_patch", json!(null));
            patched["toolArgs"] = json!(patch);
            let create = of("create", json!({"path": file, "file_text": "x"}));
            (vec![edit, create, patched], "/permissionDecisionReason")
        }
        "opencode" => {
            let of =
                |tool: &str, input: Value| json!({"tool": tool, "args": input, "cwd": directory});
            let edit = of(
                "edit",
                json!({"filePath": file, "oldString": "a", "newString": "b"}),
            );
            (
                vec![edit, of("apply_patch", json!({"patchText": patch}))],
                "/reason",
            )
        }
        other => panic!("{other}"),
    }
}

#[test]
fn every_program_is_answered_in_its_own_format() {
    let repo = guarded("codex");
    let worktree = repo.worktree("task");
    for client in ["codex", "gemini", "cursor", "copilot", "opencode"] {
        // by the name, and by what the call shows
        for named in [&["--client", client][..], &[]] {
            let ask = |directory: &Path, path: &str| {
                let (calls, key) = calls_of(client, directory, path);
                let said = calls
                    .iter()
                    .map(|call| ask(&repo, repo.main(), named, call));
                let reasons = said.map(|said| {
                    assert_eq!((said.status, &*said.stderr), (0, ""), "{client}: {said}");
                    let answer = serde_json::from_str::<Value>(&said.stdout);
                    let reason = answer.ok().and_then(|answer| answer.pointer(key).cloned());
                    assert_eq!(reason.is_none(), said.stdout.is_empty(), "{client}: {said}");
                    reason.map_or_else(String::new, |reason| reason.to_string())
                });
                reasons.collect::<Vec<String>>()
            };
            let all = ask(&worktree, "README.md");
            assert!(
                all.iter()
                    .all(|why| why.contains("README.md is read-only in this task: read **")),
                "{client}: {all:?}"
            );
            let all = ask(&worktree.join("src"), "../../task/docs/x.md");
            assert!(
                all.iter().all(|why| why.contains("docs/x.md is read-only")),
                "{client}: {all:?}"
            );
            let absolute = repo.main().join("src/new.rs");
            let all = ask(&worktree, absolute.to_str().expect("UTF-8"));
            assert!(
                all.iter()
                    .all(|why| why.contains("is in the main worktree")),
                "{client}: {all:?}"
            );
            let all = ask(&worktree, "src/new.rs");
            assert!(all.iter().all(String::is_empty), "{client}: {all:?}");
        }
    }
}

#[test]
fn what_is_not_a_tool_call_passes_with_a_warning() {
    let repo = guarded("claude-code");
    let said = |input: &[u8]| {
        let worktree = repo.worktree("task");
        repo.agentwt_with_input(&worktree, &["guard", "--client", "claude-code"], input)
    };
    assert_snapshot!(said(b"not JSON"), @"
    --- stderr
    note: the guard decides nothing: this is not a tool call: expected ident at line 1 column 2
    --- status 0
    ");
    assert_snapshot!(said(b"{\"a\": 1}"), @"
    --- stderr
    note: the guard decides nothing: this is not a tool call: it names no tool
    --- status 0
    ");
    assert_snapshot!(said(br#"{"tool_name": "Write", "tool_input": {"content": "x"}}"#), @"
    --- stderr
    note: the guard decides nothing: this is not a tool call: the tool `Write` names no file
    --- status 0
    ");
    for odd in [&b""[..], b"[]", b"\xff", b"null"] {
        let said = said(odd);
        assert_eq!((said.status, &*said.stdout), (0, ""), "{said}");
        assert!(said.stderr.contains("this is not a tool call"), "{said}");
    }
    // no worktree of ours
    let call = call(
        &repo,
        "",
        "Write",
        json!({"file_path": "README.md", "content": "x"}),
    );
    let text = call.to_string();
    let outside = repo.agentwt_with_input(repo.main(), &["guard"], text.as_bytes());
    assert_eq!((outside.status, &*outside.stdout), (0, ""), "{outside}");
    assert!(
        outside.stderr.contains("the guard decides nothing"),
        "{outside}"
    );
}

#[test]
fn the_worktree_is_known_by_its_record_and_a_damaged_record_lets_nothing_pass() {
    let repo = guarded("claude-code");
    let edit = call(
        &repo,
        "",
        "Write",
        json!({"file_path": "README.md", "content": "x"}),
    );
    // as an agent would lead git elsewhere
    std::fs::write(repo.worktree("task").join(".git"), "gitdir: /nowhere\n").expect("written");
    assert!(reason(&repo, &edit).contains("README.md is read-only"));
    std::fs::remove_file(repo.worktree("task").join(".git")).expect("a file");
    assert!(reason(&repo, &edit).contains("README.md is read-only"));
    let record = repo.main().join(".git/agentwt/worktrees/task/record.toml");
    std::fs::write(record, "damaged").expect("written");
    assert!(reason(&repo, &edit).contains("cannot tell whether this is in scope"));
}

#[test]
fn around_a_clone_without_a_repository_stands_what_the_user_has_there() {
    let repo = TestRepo::project();
    let url = format!("file://{}", repo.main().display());
    let outside = repo.root().join("outside");
    std::fs::create_dir_all(&outside).expect("a directory");
    let add = [
        "add", "task", "--write", "src/**", "--client", "opencode", "--repo", &url, "--parent",
        "outside",
    ];
    repo.agentwt_in(repo.root(), &add).ok();
    let worktree = outside.join(".agentwt/worktrees/task");
    let text = std::fs::read_to_string(worktree.join("opencode.json")).expect("a guard");
    assert!(text.contains("/outside/.agentwt/*\": \"deny\""), "{text}");
    let of = |path: &str| {
        let call = json!({"tool": "write", "args": {"filePath": path}, "cwd": worktree});
        let said = repo.agentwt_with_input(&worktree, &["guard"], call.to_string().as_bytes());
        assert_eq!((said.status, &*said.stderr), (0, ""), "{said}");
        said.stdout
    };
    assert_eq!(of("src/lib.rs"), "");
    assert_eq!(of("../../../notes.md"), "");
    assert!(of("README.md").contains("is read-only"));
    assert!(of("../../repository.git/config").contains("which is not this task's"));
    assert!(of("../other/src/lib.rs").contains("is in the worktree other"));
    for beside in ["..", "../../notes.txt"] {
        let said = of(beside);
        assert!(
            said.contains("/outside, which is not this task's"),
            "{said}"
        );
    }
    assert!(of(".git/config").contains("is git's own"));
}

const GUARDS: [(&str, &str); 6] = [
    ("claude-code", ".claude/settings.local.json"),
    ("codex", ".codex/config.toml"),
    ("gemini", ".gemini/settings.json"),
    ("opencode", "opencode.json"),
    ("cursor", ".cursor/hooks.json"),
    ("copilot", ".github/hooks/agentwt.json"),
];

#[test]
fn guards_are_placed_files_that_no_commit_has() {
    for (client, path) in GUARDS {
        let repo = guarded(client);
        let worktree = repo.worktree("task");
        let text = std::fs::read_to_string(worktree.join(path)).expect(path);
        let names_us = text.contains(&format!(" guard --client {client}"));
        assert!(names_us || client == "opencode", "{text}");
        assert_eq!(repo.findings(&worktree), "", "{client}");
        repo.sh(
            &worktree,
            "echo x > new.md && git add -A && git commit -qm x",
        )
        .ok();
        let committed = repo
            .sh(&worktree, "git show --name-only --format= HEAD")
            .ok();
        assert_eq!(committed, "new.md", "{client}");
        assert_eq!(
            repo.sh(&worktree, "git status --porcelain").ok(),
            "",
            "{client}"
        );
        assert_eq!(repo.findings(&worktree), "", "{client}");
        // whoever changes or removes the guard is seen, but where the program keeps settings there
        repo.sh(&worktree, &format!("chmod u+w {path}; echo >> {path}"))
            .ok();
        let findings = repo.findings(&worktree);
        assert!(
            findings.contains(&format!("{path} modified")),
            "{client}: {findings}"
        );
        let verdict = repo.agentwt_in(&worktree, &["verify"]);
        assert_eq!(
            verdict.status,
            i32::from(client != "claude-code"),
            "{verdict}"
        );
        std::fs::remove_file(worktree.join(path)).expect("a file");
        let verdict = repo.agentwt_in(&worktree, &["verify"]);
        assert!(verdict.fails(1).stdout.contains(path), "{client}");
        repo.agentwt(&["restore", "task"]).ok();
        assert_eq!(repo.findings(&worktree), "", "{client}");
    }
}

#[test]
fn a_file_that_is_there_stays_and_the_user_is_told() {
    for (client, path) in GUARDS {
        let repo = TestRepo::project();
        repo.write(path, "mine\n");
        repo.commit_all("settings");
        let add = repo.agentwt(&["add", "task", "--write", "src/**", "--client", client]);
        assert_eq!(add.status, 0, "{add}");
        let note = format!("{client} is told the scope but does not enforce it: {path} is tracked");
        assert!(add.stderr.contains(&note), "{add}");
        let text = std::fs::read_to_string(repo.worktree("task").join(path)).expect(path);
        assert_eq!(text, "mine\n");
    }
}

#[test]
fn a_change_of_the_scope_renews_the_guards_but_not_an_edited_one() {
    for (client, path, word) in [
        (
            "claude-code",
            ".claude/settings.local.json",
            "/task/docs/**",
        ),
        ("codex", ".codex/config.toml", "\"docs\" = \"write\""),
        ("opencode", "opencode.json", "\"docs/*\": \"allow\""),
    ] {
        let repo = TestRepo::project();
        repo.write("docs/a.md", "a\n");
        repo.commit_all("docs");
        repo.agentwt(&["add", "task", "--write", "src/**", "--client", client])
            .ok();
        let worktree = repo.worktree("task");
        let read = || std::fs::read_to_string(worktree.join(path)).expect(path);
        let before = read();
        let widen = ["scope", "task", "--add-write", "docs/**"];
        let said = repo.agentwt(&widen);
        assert!(!said.stderr.contains("was edited"), "{said}");
        assert_ne!(
            read().contains(word),
            before.contains(word),
            "{client}: {}",
            read()
        );
        assert_eq!(repo.findings(&worktree), "", "{client}");
        repo.agentwt(&["scope", "task", "--undo"]).ok();
        assert_eq!(read(), before, "{client}");
        repo.sh(&worktree, &format!("chmod u+w {path}; echo >> {path}"))
            .ok();
        let edited = read();
        let said = repo.agentwt(&widen);
        let note = format!("{path} was edited and keeps the former scope");
        assert!(said.stderr.contains(&note), "{said}");
        assert_eq!(read(), edited);
    }
}

#[test]
fn an_add_that_was_killed_while_files_were_placed_is_no_work() {
    let repo = TestRepo::project();
    let add = [
        "add",
        "task",
        "--write",
        "src/**",
        "--client",
        "claude-code",
    ];
    repo.agentwt(&add).ok();
    // as a kill before the record leaves it
    let file = repo.main().join(".git/agentwt/worktrees/task/record.toml");
    let text = std::fs::read_to_string(&file).expect("a record");
    let record: Record = from_text(&text).expect("a whole record");
    let intent = Intent {
        process: u32::MAX,
        branch_at: Some(record.checked_out.clone()),
        record,
    };
    std::fs::write(file.with_file_name("intent.toml"), to_text(&intent)).expect("written");
    std::fs::remove_file(file).expect("a record");
    let again = repo.agentwt(&add);
    assert_eq!(again.status, 0, "{again}");
    assert!(!again.stderr.contains("the work in it is kept"), "{again}");
}
