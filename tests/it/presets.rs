//! What a client in a fence writes outside of the worktree: its state, and nothing that the user's own client runs.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use crate::support::{TestRepo, allow_root};

const FENCES: [&str; 3] = ["--fence=landlock", "--fence=mount", "--fence=container"];

/// What the client of the user runs, or follows, by itself; below the home directory.
const CLAUDE: &str = ".claude.json .claude/settings.json .claude/settings.local.json .claude/CLAUDE.md \
    .claude/shell-snapshots/snapshot-bash-1.sh .claude/session-env/one/hook.sh .claude/local/claude .claude/hooks/one.sh \
    .claude/commands/one.md .claude/agents/one.md .claude/skills/one/SKILL.md .claude/rules/one.md \
    .claude/plugins/known_marketplaces.json .claude/output-styles/one.md .claude/keybindings.json .claude/.config.json \
    .claude/daemon.json .claude/jobs/one.json .claude/workflows/one.js .claude/file-history/one/two .claude/backups/one \
    .claude/remote-settings.json .claude/statusline.sh .claude/projects/-other/memory/MEMORY.md";
const CODEX: &str = ".codex/config.toml .codex/AGENTS.md .codex/AGENTS.override.md .codex/hooks.json .codex/rules/one.rules \
    .codex/prompts/one.md .codex/skills/one/SKILL.md .codex/plugins/one .codex/shell_snapshots/one.sh \
    .codex/packages/standalone/codex .codex/tmp/arg0/apply_patch .codex/.env .codex/state_5.sqlite .codex/memories/one.md";
const GEMINI: &str = ".gemini/settings.json .gemini/trustedFolders.json .gemini/GEMINI.md .gemini/.env .gemini/commands/one.toml \
    .gemini/extensions/one/gemini-extension.json .gemini/policies/one.toml .gemini/skills/one/SKILL.md \
    .gemini/keybindings.json .gemini/agents/one.md .gemini/trusted_hooks.json .gemini/tmp/bin/rg \
    .gemini/history/one/.git/config";
const OPENCODE: &str = ".local/share/opencode/opencode.db .local/share/opencode/auth.json .local/share/opencode/bin/rg \
    .local/share/opencode/snapshot/one/config .local/share/opencode/storage/project/one.json \
    .cache/opencode/bin/rg .cache/opencode/node_modules/one/index.js .config/opencode/opencode.json";
const AIDER: &str = ".aider/oauth-keys.env .aider.conf.yml";

const CLIENTS: [(&str, &str); 5] = [
    ("claude", CLAUDE),
    ("codex", CODEX),
    ("gemini", GEMINI),
    ("opencode", OPENCODE),
    ("aider", AIDER),
];

/// The files below a directory, each with its text.
fn texts(directory: &Path, below: &Path, found: &mut BTreeMap<String, String>) {
    let Ok(entries) = fs::read_dir(directory.join(below)) else {
        return;
    };
    for entry in entries.map(|entry| entry.expect("it can be read")) {
        let path = below.join(entry.file_name());
        if entry.file_type().expect("it has one").is_dir() {
            texts(directory, &path, found);
        } else {
            let text = fs::read_to_string(entry.path()).unwrap_or_default();
            found.insert(path.display().to_string(), text);
        }
    }
}

fn home_of(repo: &TestRepo) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    texts(&repo.home(), Path::new(""), &mut found);
    // podman has its own things there
    found.retain(|path, _| !path.contains("containers"));
    found
}

/// Writes in each place that the client has: where the user's is, and where its variable leads.
const PLANT: &str = r#"
    plant() {
        mkdir -p "$(dirname "$1")"
        echo planted >"$1"
        echo planted >"$1.new" && mv "$1.new" "$1"
        rm -rf "$(dirname "$1")/../moved" && mv "$(dirname "$1")" "$(dirname "$1")/../moved"
    }
    for file in $files; do
        plant ~/$file
        case $file in
            .claude.json) plant "$CLAUDE_CONFIG_DIR/.claude.json" ;;
            .claude/*) plant "$CLAUDE_CONFIG_DIR/${file#*/}" ;;
            .codex/*) plant "$CODEX_HOME/${file#*/}" ;;
            .gemini/*) plant "$GEMINI_CLI_HOME/$file" ;;
            .local/share/*) plant "$XDG_DATA_HOME/${file#.local/share/}" ;;
        esac
    done 2>/dev/null
    true"#;

/// The files below the home directory that a command with this preset has made or changed, all for the user.
fn planted(fence: &str, client: &str, files: &str, are_there: bool) -> Vec<String> {
    let repo = TestRepo::project();
    repo.add("task");
    if !repo.has_fence(&[fence]) {
        return Vec::new();
    }
    for file in files.split_whitespace().filter(|_| are_there) {
        let file = repo.home().join(file);
        fs::create_dir_all(file.parent().expect("it has one")).expect("it is ours");
        fs::write(file, "{}").expect("it is ours");
    }
    let before = home_of(&repo);
    let preset = format!("--preset={client}");
    let script = format!("files='{files}'{PLANT}");
    repo.fenced(&[fence, &preset], &script).ok();
    let now = home_of(&repo);
    let names = before.keys().chain(now.keys());
    let changed = names.filter(|name| before.get(*name) != now.get(*name));
    let changed: BTreeSet<&String> = changed.collect();
    let line = |name| format!("{fence} {client}: {name}");
    changed.into_iter().map(line).collect()
}

#[test]
fn no_client_writes_a_file_that_is_missing_and_would_run_for_the_user() {
    let mut all = Vec::new();
    for fence in FENCES {
        for (client, files) in CLIENTS {
            all.extend(planted(fence, client, files, false));
        }
    }
    assert_eq!(all, [""; 0], "{all:#?}");
}

#[test]
fn no_client_changes_a_file_that_runs_for_the_user() {
    let mut all = Vec::new();
    for fence in FENCES {
        for (client, files) in CLIENTS {
            all.extend(planted(fence, client, files, true));
        }
    }
    assert_eq!(all, [""; 0], "{all:#?}");
}

/// A worktree, where this fence works, with these files in the home directory.
fn fenced_with_files(fence: &str, files: &[(&str, &str)]) -> Option<TestRepo> {
    let repo = TestRepo::project();
    repo.add("task");
    for (file, text) in files {
        let file = repo.home().join(file);
        fs::create_dir_all(file.parent().expect("it has one")).expect("it is ours");
        fs::write(file, text).expect("it is ours");
    }
    repo.has_fence(&[fence]).then_some(repo)
}

/// Runs a script as a client does, without a word of ours.
fn client(repo: &TestRepo, fence: &str, name: &str, script: &str) -> String {
    let preset = format!("--preset={name}");
    let script = format!("set -e; {script}");
    let said = repo.fenced(&[fence, &preset], &script);
    assert_eq!(said.stderr, "", "{fence} {name}: {said}");
    said.ok()
}

fn text(repo: &TestRepo, file: &str) -> String {
    fs::read_to_string(repo.home().join(file)).unwrap_or_default()
}

#[test]
fn claude_finds_what_the_user_has_and_its_sessions_and_tokens_come_back() {
    let config = r#"{"numStartups":1,"projects":{"/p":{"allowedTools":[]}}}"#;
    let files = [
        (".claude.json", config),
        (".claude/.credentials.json", "token 1\n"),
        (".claude/settings.json", "settings\n"),
        (".claude/skills/one/SKILL.md", "skill\n"),
        (".claude/shell-snapshots/old.sh", "old\n"),
        (".claude/history.jsonl", "one\n"),
    ];
    for fence in FENCES {
        let Some(repo) = fenced_with_files(fence, &files) else {
            continue;
        };
        let script = r#"cd "$CLAUDE_CONFIG_DIR"; cat .credentials.json settings.json skills/one/SKILL.md
            ls shell-snapshots 2>/dev/null || mkdir shell-snapshots; echo new >shell-snapshots/new.sh
            echo two >>history.jsonl; echo 'token 2' >.new; mv .new .credentials.json
            echo session >projects/$(echo "$OLDPWD" | sed 's/[^a-zA-Z0-9]/-/g')/one.jsonl
            cat >.claude.json <<END
            {"numStartups":2,"mcpServers":{"x":{"command":"y"}},"hasTrustDialogAccepted":true,"env":{"A":"b"},
            "apiKeyHelper":"y","projects":{"/p":{"allowedTools":["Bash"]},"$OLDPWD":{"hasTrustDialogAccepted":true}}}
END"#;
        let said = client(&repo, fence, "claude", script);
        assert_eq!(said, "token 1\nsettings\nskill", "{fence}");
        let worktree = repo.worktree("task").display().to_string();
        let name = worktree.replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
        let session = format!(".claude/projects/{name}/one.jsonl");
        assert_eq!(text(&repo, &session), "session\n", "{fence}");
        assert_eq!(
            text(&repo, ".claude/history.jsonl"),
            "one\ntwo\n",
            "{fence}"
        );
        assert_eq!(
            text(&repo, ".claude/.credentials.json"),
            "token 2\n",
            "{fence}"
        );
        let now: String = text(&repo, ".claude.json").split_whitespace().collect();
        assert_eq!(
            now,
            config.replace("Startups\":1", "Startups\":2"),
            "{fence}"
        );
        // the next run has its snapshots, what it knows of its directory, and nothing else of what it wrote
        let script = r#"cd "$CLAUDE_CONFIG_DIR"; cat shell-snapshots/*; cat .credentials.json
            grep -c hasTrust .claude.json; ! grep -e mcpServers -e apiKeyHelper .claude.json"#;
        assert_eq!(
            client(&repo, fence, "claude", script),
            "new\ntoken 2\n1",
            "{fence}"
        );
    }
}

#[test]
fn a_first_login_in_a_fence_is_there_for_the_user() {
    for fence in FENCES {
        let Some(repo) = fenced_with_files(fence, &[]) else {
            continue;
        };
        let script = r#"cd "$CLAUDE_CONFIG_DIR"; echo token >.credentials.json
            echo '{"oauthAccount":{"emailAddress":"a@b"},"hooks":{"x":"y"}}' >.claude.json"#;
        client(&repo, fence, "claude", script);
        assert_eq!(
            text(&repo, ".claude/.credentials.json"),
            "token\n",
            "{fence}"
        );
        let now: String = text(&repo, ".claude.json").split_whitespace().collect();
        assert_eq!(now, r#"{"oauthAccount":{"emailAddress":"a@b"}}"#, "{fence}");
    }
}

#[test]
fn the_sessions_of_codex_are_written_for_the_user_and_its_database_stays_in_the_worktree() {
    let files = [
        (".codex/auth.json", "token 1\n"),
        (".codex/config.toml", "config\n"),
        (".codex/installation_id", "id\n"),
        (".codex/state_5.sqlite", "of the user\n"),
    ];
    for fence in FENCES {
        let Some(repo) = fenced_with_files(fence, &files) else {
            continue;
        };
        let script = r#"cd "$CODEX_HOME"; cat auth.json config.toml; echo 'token 2' >auth.json
            mkdir -p sessions/2026 tmp; echo session >sessions/2026/one.jsonl; echo other >installation_id
            echo mine >>state_5.sqlite; cat state_5.sqlite"#;
        let said = client(&repo, fence, "codex", script);
        assert_eq!(said, "token 1\nconfig\nmine", "{fence}");
        assert_eq!(
            text(&repo, ".codex/sessions/2026/one.jsonl"),
            "session\n",
            "{fence}"
        );
        assert_eq!(text(&repo, ".codex/auth.json"), "token 2\n", "{fence}");
        let script =
            r#"cd "$CODEX_HOME"; cat state_5.sqlite installation_id sessions/2026/one.jsonl"#;
        assert_eq!(
            client(&repo, fence, "codex", script),
            "mine\nid\nsession",
            "{fence}"
        );
    }
}

#[test]
fn gemini_locks_its_list_of_projects_and_its_chats_stay_in_the_worktree() {
    let files = [
        (".gemini/oauth_creds.json", "token 1\n"),
        (".gemini/settings.json", "settings\n"),
        (".gemini/projects.json", "{}\n"),
        (".agents/skills/one/SKILL.md", "skill\n"),
    ];
    for fence in FENCES {
        let Some(repo) = fenced_with_files(fence, &files) else {
            continue;
        };
        let script = r#"cd "$GEMINI_CLI_HOME"; cat .agents/skills/one/SKILL.md; cd .gemini
            cat oauth_creds.json settings.json; echo 'token 2' >oauth_creds.json
            mkdir projects.json.lock; echo list >projects.json.tmp; mv projects.json.tmp projects.json
            rmdir projects.json.lock; mkdir -p tmp/task/chats tmp/bin; echo chat >tmp/task/chats/one.json"#;
        let said = client(&repo, fence, "gemini", script);
        assert_eq!(said, "skill\ntoken 1\nsettings", "{fence}");
        assert_eq!(
            text(&repo, ".gemini/oauth_creds.json"),
            "token 2\n",
            "{fence}"
        );
        assert_eq!(text(&repo, ".gemini/projects.json"), "{}\n", "{fence}");
        let script = r#"cd "$GEMINI_CLI_HOME/.gemini"; cat projects.json tmp/task/chats/one.json"#;
        assert_eq!(
            client(&repo, fence, "gemini", script),
            "list\nchat",
            "{fence}"
        );
    }
}

#[test]
fn of_the_logins_of_opencode_only_new_tokens_come_back() {
    let logins = r#"{"one":{"access":"1","type":"oauth"},"two":{"key":"k","type":"api"}}"#;
    let files = [
        (".local/share/opencode/auth.json", logins),
        (".local/share/opencode/opencode.db", "of the user\n"),
        (".local/share/uv/tool", "tool\n"),
    ];
    for fence in FENCES {
        let Some(repo) = fenced_with_files(fence, &files) else {
            continue;
        };
        let script = r#"cd "$XDG_DATA_HOME"; cat uv/tool; cd opencode; cat auth.json; echo; echo mine >>opencode.db
            echo '{"one":{"access":"2","type":"wellknown"},"https://x":{"type":"wellknown"}}' >auth.json"#;
        let said = client(&repo, fence, "opencode", script);
        assert_eq!(said, format!("tool\n{logins}"), "{fence}");
        let now: String = text(&repo, ".local/share/opencode/auth.json")
            .split_whitespace()
            .collect();
        assert_eq!(now, logins.replace("\"1\"", "\"2\""), "{fence}");
        let script = r#"cat "$XDG_DATA_HOME/opencode/opencode.db""#;
        assert_eq!(client(&repo, fence, "opencode", script), "mine", "{fence}");
    }
}

#[test]
fn no_link_that_a_client_leaves_in_its_directory_is_followed_by_the_next_run() {
    let files = [
        ("victim/one", "kept\n"),
        (".claude.json", "{}"),
        (".claude/settings.json", "settings\n"),
        (".gemini/settings.json", "settings\n"),
    ];
    for fence in FENCES {
        let Some(repo) = fenced_with_files(fence, &files) else {
            continue;
        };
        let script = r#"cd "$CLAUDE_CONFIG_DIR"; rm -rf projects shell-snapshots
            for name in projects shell-snapshots settings.json .claude.json .credentials.json; do
                rm -rf $name; ln -s ~/victim $name; done; chmod 0 ."#;
        client(&repo, fence, "claude", script);
        let script =
            r#"rm -rf "$GEMINI_CLI_HOME/.gemini"; ln -s ~/victim "$GEMINI_CLI_HOME/.gemini""#;
        client(&repo, fence, "gemini", script);
        let before = home_of(&repo);
        let script = r#"cd "$CLAUDE_CONFIG_DIR"; cat settings.json; test ! -L projects; test ! -e .credentials.json"#;
        assert_eq!(
            client(&repo, fence, "claude", script),
            "settings",
            "{fence}"
        );
        let script =
            r#"test ! -L "$GEMINI_CLI_HOME/.gemini"; cat "$GEMINI_CLI_HOME/.gemini/settings.json""#;
        assert_eq!(
            client(&repo, fence, "gemini", script),
            "settings",
            "{fence}"
        );
        assert_eq!(home_of(&repo), before, "{fence}");
    }
}

#[test]
fn without_a_fence_a_client_has_its_own_directory() {
    let repo = TestRepo::project();
    repo.add("task");
    let said = repo.fenced(
        &["--fence=none", "--preset=claude"],
        "echo \"$CLAUDE_CONFIG_DIR.\"",
    );
    assert_eq!(said.ok(), ".");
}

#[test]
fn the_token_of_a_killed_run_comes_back_with_the_next() {
    let files = [(".claude/.credentials.json", "token 1\n")];
    // podman takes its time to end a container
    for fence in &FENCES[..2] {
        let Some(repo) = fenced_with_files(fence, &files) else {
            continue;
        };
        let ready = repo.worktree("task").join("src/ready");
        let line = format!(
            "git-agentwt exec task {fence} --preset=claude {} -- sh -c '
                cd $CLAUDE_CONFIG_DIR; echo token 2 >.new; mv .new .credentials.json
                echo >$OLDPWD/src/ready; sleep 60' >/dev/null 2>&1 & run=$!
            for n in $(seq 200); do test -e {} && break; sleep 0.05; done; kill -9 $run; wait $run",
            allow_root(),
            ready.display()
        );
        let _ = repo.sh(repo.main(), &line);
        assert!(ready.exists(), "{fence}: the command did not run");
        let credentials = || text(&repo, ".claude/.credentials.json");
        assert_eq!(credentials(), "token 1\n", "{fence}");
        repo.fenced(&[fence, "--preset=claude"], "rm src/ready")
            .ok();
        assert_eq!(credentials(), "token 2\n", "{fence}");
    }
}
