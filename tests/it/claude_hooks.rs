//! `hooks claude`, and the commands that the hooks of Claude Code call, with recorded input.

use std::path::Path;

use crate::support::{Said, TestRepo};

const LOCAL: &str = ".claude/settings.local.json";
const CONFIG: &str = "schema_version = \"1.0\"\n[scope.default]\nwrite = [\"src/**\"]\n";

fn with_config() -> TestRepo {
    let repo = TestRepo::project();
    repo.write(".agentwt/config.toml", CONFIG);
    repo
}

/// What Claude Code 2.1.201 gives `WorktreeCreate`.
fn create(repo: &TestRepo, name: &str) -> Said {
    let cwd = repo.main().display();
    let input = format!(
        r#"{{"session_id":"0b5e","transcript_path":"/h/.claude/projects/r/0b5e.jsonl","cwd":"{cwd}","prompt_id":"7c","hook_event_name":"WorktreeCreate","name":"{name}"}}"#
    );
    call(repo, repo.root(), "claude-create", &input)
}

/// What it gives `WorktreeRemove`.
fn remove(repo: &TestRepo, dir: &Path, path: &Path) -> Said {
    let (cwd, path) = (dir.display(), path.display());
    let input = format!(
        r#"{{"session_id":"0b5e","transcript_path":"/h/.claude/projects/r/0b5e.jsonl","cwd":"{cwd}","hook_event_name":"WorktreeRemove","worktree_path":"{path}"}}"#
    );
    call(repo, dir, "claude-remove", &input)
}

fn call(repo: &TestRepo, dir: &Path, event: &str, input: &str) -> Said {
    repo.agentwt_with_input(dir, &["hook", event], input.as_bytes())
}

fn read(repo: &TestRepo) -> Option<String> {
    std::fs::read_to_string(repo.main().join(LOCAL)).ok()
}

#[test]
fn a_hook_creates_a_scoped_worktree_and_prints_only_its_path() {
    let repo = with_config();
    let path = repo.worktree("agent-a3f2b1");
    let made = create(&repo, "agent-a3f2b1");
    assert_eq!(made.ok(), "$TMP/repo/.agentwt/worktrees/agent-a3f2b1");
    assert_eq!(made.stdout.lines().count(), 1, "{made}");
    let context = std::fs::read_to_string(path.join(".claude/CLAUDE.md")).expect("context");
    assert!(context.contains("`src/**`"), "{context}");
    repo.agentwt(&["verify", "agent-a3f2b1"]).ok();
    // the same session again, and one whose worktree has another scope
    assert_eq!(create(&repo, "agent-a3f2b1").ok(), made.ok());
    let docs = repo.agentwt(&["add", "docs", "--write", "docs/**"]).ok();
    assert_eq!(create(&repo, "docs").ok(), docs);
    // other fields, of other versions; and from inside of a worktree
    let input = r#"{"hook_event_name":"WorktreeCreate","worktree_name":"wt-1","base_path":"/x"}"#;
    let made = call(&repo, &path, "claude-create", input);
    assert_eq!(made.ok(), "$TMP/repo/.agentwt/worktrees/wt-1");
}

#[test]
fn where_the_scope_leaves_no_place_for_context_the_worktree_has_none() {
    let repo = with_config();
    let read = CONFIG.replace("write =", "read = [\"src/**\"]\nwrite =");
    repo.write(".agentwt/config.toml", &read);
    let made = create(&repo, "narrow");
    assert_eq!(made.ok(), "$TMP/repo/.agentwt/worktrees/narrow");
    assert!(made.stderr.contains("created without"), "{made}");
    assert!(!repo.worktree("narrow").join(".claude").exists());
}

#[test]
fn two_names_are_never_one_worktree() {
    let repo = with_config();
    let long = "n".repeat(100);
    let longer = format!("{long}2");
    let names = ["a/b", "a b", "a-b", "x", "x.", "../../x", &long, &longer];
    let mut paths: Vec<_> = names.iter().map(|name| create(&repo, name).ok()).collect();
    assert!(paths[0].contains("/worktrees/a-b-"), "{paths:?}");
    assert_eq!(paths[2], "$TMP/repo/.agentwt/worktrees/a-b");
    assert_eq!(create(&repo, "a/b").ok(), paths[0], "the same name again");
    paths.sort();
    paths.dedup();
    assert_eq!(paths.len(), names.len(), "{paths:?}");
}

#[test]
fn a_worktree_whose_set_up_did_not_end_is_set_up_before_its_path_is_given() {
    let repo = with_config();
    let setup = "[setup]\ncommands = [\"test -e ../../../go\", \"touch .ready\"]\n";
    repo.write(".agentwt/config.toml", &format!("{CONFIG}{setup}"));
    let skipped = create(&repo, "task");
    let help = "to review them and run them: git agentwt trust && git agentwt add task\n";
    assert!(skipped.stderr.contains(help), "{skipped}");
    skipped.ok();
    let again = create(&repo, "task");
    assert!(again.stderr.contains(help), "{again}");
    repo.agentwt(&["trust"]).ok();
    for _ in 0..2 {
        let failed = create(&repo, "task");
        let help = "to run the set-up again: git agentwt add task;";
        assert!(failed.fails(5).stderr.contains(help), "{failed}");
        assert_eq!(failed.stdout, "", "{failed}");
    }
    repo.write("go", "");
    create(&repo, "task").ok();
    assert!(repo.worktree("task").join(".ready").exists());
}

#[test]
fn a_failure_is_never_an_empty_path() {
    let repo = TestRepo::project();
    let here = repo.main();
    insta::assert_snapshot!(create(&repo, "task"), @"
    --- stderr
    error: nothing says what `task` may edit
    help: run `git agentwt init`, which writes .agentwt/config.toml with a list for this repository, or give one here: git agentwt add task --write 'src/**' (--write '' for a task that only reads)
    --- status 3
    ");
    for input in [
        "",
        "[]",
        "{}",
        r#"{"name":""}"#,
        r#"{"name":".."}"#,
        r#"{"name":7}"#,
    ] {
        let said = call(&repo, here, "claude-create", input);
        assert_eq!(
            (said.fails(2).stdout.as_str(), said.status),
            ("", 2),
            "{said}"
        );
        assert!(said.stderr.contains("error: "), "{said}");
    }
    let nowhere = call(&repo, repo.root(), "claude-create", r#"{"name":"task"}"#);
    assert_eq!(nowhere.fails(2).stdout, "");
}

#[test]
fn a_clean_worktree_is_removed_and_work_goes_to_the_trash() {
    let repo = with_config();
    create(&repo, "clean").ok();
    create(&repo, "dirty").ok();
    let (clean, dirty) = (repo.worktree("clean"), repo.worktree("dirty"));
    remove(&repo, repo.root(), &clean).ok();
    assert!(!clean.exists());
    std::fs::write(dirty.join("src/new.rs"), "work\n").expect("written");
    // the session still stands in it
    let said = remove(&repo, &dirty, &dirty);
    let kept = repo.main().join(said.ok());
    assert!(!dirty.exists(), "{said}");
    assert!(kept.join("src/new.rs").exists(), "{said}");
    repo.agentwt(&["remove", "--undo", "dirty"]).ok();
    assert!(dirty.join("src/new.rs").exists());
    // a commit stays on its branch
    repo.commit_all_in(&dirty, "work");
    remove(&repo, repo.main(), &dirty).ok();
    assert_eq!(
        repo.git(&["log", "-1", "--format=%s", "agentwt/dirty"]),
        "work"
    );
}

#[test]
fn the_process_of_the_session_stops_no_removal_and_another_one_does() {
    let repo = with_config();
    create(&repo, "used").ok();
    let used = repo.worktree("used");
    let input = format!(r#"{{"worktree_path":"{}"}}"#, used.display());
    let mut other = repo
        .command("sleep", &used)
        .arg("60")
        .spawn()
        .expect("it starts");
    let said = call(&repo, &used, "claude-remove", &input);
    let _ = other.kill();
    let _ = other.wait();
    assert!(said.fails(4).stderr.contains("process"), "{said}");
    assert!(used.exists());
    // the shell is the session: it stands inside, and waits for the hook
    let line = format!("printf '%s' '{input}' | git-agentwt hook claude-remove; true");
    repo.sh(&used, &line).ok();
    assert!(!used.exists());
}

#[test]
fn a_worktree_that_is_gone_is_well_and_a_foreign_one_is_left_alone() {
    let repo = with_config();
    create(&repo, "gone").ok();
    let gone = repo.worktree("gone");
    std::fs::remove_dir_all(&gone).expect("removed");
    remove(&repo, repo.root(), &gone).ok();
    assert_eq!(repo.agentwt(&["list", "--porcelain"]).ok(), "");
    insta::assert_snapshot!(remove(&repo, repo.root(), &gone), @"
    --- stderr
    note: there is no worktree at $TMP/repo/.agentwt/worktrees/gone: nothing is removed
    --- status 0
    ");
    let elsewhere = repo.root().join("never/there");
    remove(&repo, repo.root(), &elsewhere).ok();
    let skeleton = repo.main().join(".claude/worktrees/skeleton");
    std::fs::create_dir_all(&skeleton).expect("a directory");
    remove(&repo, repo.root(), &skeleton).ok();
    assert!(skeleton.exists());
    repo.git(&["worktree", "add", "-q", ".claude/worktrees/foreign"]);
    let foreign = repo.main().join(".claude/worktrees/foreign");
    insta::assert_snapshot!(remove(&repo, repo.root(), &foreign), @"
    --- stderr
    error: cannot remove $TMP/repo/.claude/worktrees/foreign: git-agentwt did not make it
    help: to remove it with git, without its ignored files: git worktree remove $TMP/repo/.claude/worktrees/foreign
    --- status 4
    ");
    assert!(foreign.exists());
    let main = remove(&repo, repo.root(), repo.main());
    assert!(main.fails(4).stderr.contains("did not make"), "{main}");
    assert_eq!(call(&repo, repo.main(), "claude-remove", "{}").status, 2);
}

#[test]
fn the_hooks_are_installed_once_work_and_go_without_a_trace() {
    let repo = with_config();
    assert_eq!(repo.agentwt(&["hooks", "claude", "status"]).status, 1);
    let planned = repo.agentwt(&["hooks", "claude", "install", "-n"]);
    assert!(planned.stderr.contains("would install"), "{planned}");
    assert_eq!(read(&repo), None);
    insta::assert_snapshot!(repo.agentwt(&["hooks", "claude", "install"]), @"
    --- stderr
    installed the worktree hooks in $TMP/repo/.claude/settings.local.json
    --- status 0
    ");
    let first = read(&repo).expect("settings");
    insta::assert_snapshot!(repo.agentwt(&["hooks", "claude", "install"]), @"
    --- stderr
    the worktree hooks are in $TMP/repo/.claude/settings.local.json
    --- status 0
    ");
    assert_eq!(read(&repo), Some(first.clone()));
    repo.agentwt(&["hooks", "claude", "status"]).ok();
    // as Claude Code starts it: by a shell, with JSON on stdin
    let settings: serde_json::Value = serde_json::from_str(&first).expect("JSON");
    let command = &settings["hooks"]["WorktreeCreate"][0]["hooks"][0]["command"];
    let command = command.as_str().expect("a command");
    let line = format!("echo '{{\"name\":\"by-hook\"}}' | {command}");
    let path = repo.sh(repo.main(), &line).ok();
    assert_eq!(path, "$TMP/repo/.agentwt/worktrees/by-hook");
    repo.agentwt(&["hooks", "claude", "uninstall"]).ok();
    assert_eq!(read(&repo), None);
    repo.agentwt(&["hooks", "claude", "uninstall"]).ok();
    let inside = repo.agentwt_in(&repo.worktree("by-hook"), &["hooks", "claude", "install"]);
    inside.fails(4);
}

#[test]
fn the_settings_of_the_user_stay_with_their_mode_and_link() {
    let repo = with_config();
    let text = "{\n\t\"env\": {\"TOKEN\": \"x\"},\n\t\"hooks\": {\"Stop\": []}\n}";
    repo.write("mine.json", text);
    repo.chmod("mine.json", 0o600);
    std::fs::create_dir_all(repo.main().join(".claude")).expect("a directory");
    std::os::unix::fs::symlink("../mine.json", repo.main().join(LOCAL)).expect("a link");
    repo.agentwt(&["hooks", "claude", "install"]).ok();
    assert!(repo.main().join(LOCAL).is_symlink());
    let mode = repo.sh(repo.main(), "ls -l mine.json | cut -c1-10").ok();
    assert_eq!(mode, "-rw-------");
    let with = read(&repo).expect("settings");
    assert!(
        with.contains("\n\t\"env\": {\"TOKEN\": \"x\"},\n"),
        "{with}"
    );
    repo.agentwt(&["hooks", "claude", "uninstall"]).ok();
    assert_eq!(read(&repo).as_deref(), Some(text));
}

#[test]
fn what_is_not_valid_is_refused_and_what_would_not_work_is_noted() {
    let repo = TestRepo::project();
    repo.write(LOCAL, "{\"a\": 1,}");
    insta::assert_snapshot!(repo.agentwt(&["hooks", "claude", "install"]), @"
    --- stderr
    error: cannot change $TMP/repo/.claude/settings.local.json: key must be a string at line 1 column 9
    help: nothing was changed; correct the file as Claude Code reads it (see: claude doctor), then run the command again
    --- status 4
    ");
    assert_eq!(read(&repo).as_deref(), Some("{\"a\": 1,}"));
    std::fs::remove_file(repo.main().join(LOCAL)).expect("removed");
    let other =
        "{\"hooks\":{\"WorktreeCreate\":[{\"hooks\":[{\"type\":\"command\",\"command\":\"x\"}]}]}}";
    repo.write(".claude/settings.json", other);
    insta::assert_snapshot!(repo.agentwt(&["hooks", "claude", "install"]), @"
    --- stderr
    note: .claude/settings.json has another WorktreeCreate hook: Claude Code runs both, and uses one worktree
    note: the config has no write list: until it has one, Claude Code gets no worktree
    installed the worktree hooks in $TMP/repo/.claude/settings.local.json
    --- status 0
    ");
    let moved = read(&repo)
        .expect("settings")
        .replace("git-agentwt hook", "gone hook");
    repo.write(LOCAL, &moved);
    let status = repo.agentwt(&["hooks", "claude", "status"]);
    assert!(
        status.fails(1).stdout.contains("state    partly"),
        "{status}"
    );
}
