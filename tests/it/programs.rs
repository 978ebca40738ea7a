//! What programs get to know of a worktree, and how they are started there.

use std::collections::BTreeSet;

use crate::support::{TestRepo, gits, skipped};

/// The value of a variable in the answer of `env`.
#[track_caller]
fn value(repo: &TestRepo, name: &str, variable: &str) -> String {
    let said = repo.agentwt(&["env", name, "--porcelain"]).ok();
    let mut lines = said.lines().filter_map(|line| line.split_once('\t'));
    let found = lines.find(|(key, _)| *key == variable);
    found
        .unwrap_or_else(|| panic!("{variable}: {said}"))
        .1
        .to_owned()
}

#[test]
fn a_shell_evaluates_the_environment() {
    let repo = TestRepo::project();
    repo.add("task");
    let script = r#"eval "$(git agentwt env task)"; echo "$AGENTWT_NAME $AGENTWT_ROOT $AGENTWT_MAIN"
        git rev-parse HEAD | grep -qx "$AGENTWT_BASE" && cat "$AGENTWT_SCOPE_FILE"
        cd "$AGENTWT_ROOT" && mv .git ../git && ! git rev-parse --git-dir 2>/dev/null && mv ../git .git"#;
    let said = repo.sh(repo.main(), script).ok();
    let first = "task $TMP/repo/.agentwt/worktrees/task $TMP/repo\n";
    assert!(said.starts_with(first), "{said}");
    assert!(said.contains("write = [\"src/**\""), "{said}");
    repo.agentwt(&["scope", "task", "--add-write", "docs/**"])
        .ok();
    let file = value(&repo, "task", "AGENTWT_SCOPE_FILE");
    let file = file.replace("$TMP", repo.root().to_str().expect("UTF-8"));
    let text = std::fs::read_to_string(file).expect("it is there");
    assert!(text.contains("docs/**"), "{text}");
    // a worktree that is created there has its own base
    repo.write("README.md", "new\n");
    let tip = repo.commit_all("new");
    let line = r#"eval "$(git agentwt env task)"; git agentwt add other --write 'src/**'"#;
    repo.sh(repo.main(), line).ok();
    assert_eq!(value(&repo, "other", "AGENTWT_BASE"), tip.trim());
    let fish = repo.agentwt(&["env", "task", "--shell", "fish"]).ok();
    assert!(fish.contains("set -gx AGENTWT_NAME 'task'\n"), "{fish}");
}

#[test]
fn each_of_many_worktrees_has_ports_of_its_own_and_a_name_keeps_them() {
    let repo = TestRepo::project();
    let script =
        "for n in $(seq 20); do git agentwt add t$n --write 'src/**' -q >/dev/null & done; wait";
    repo.sh(repo.main(), script).ok();
    let ports = || -> Vec<String> {
        let all = (1..=20).map(|number| value(&repo, &format!("t{number}"), "AGENTWT_PORT"));
        all.collect()
    };
    let all = ports();
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), 20, "{all:?}");
    let fifth = &all[4];
    repo.agentwt(&["remove", "t5"]).ok();
    repo.add("t5");
    assert_eq!(value(&repo, "t5", "AGENTWT_PORT"), *fifth);
    // where a program listens, another block is taken
    repo.agentwt(&["remove", "t5"]).ok();
    let port: u16 = fifth.parse().expect("a number");
    let listener = std::net::TcpListener::bind(("127.0.0.1", port + 9));
    let _listener = listener.expect("nothing listens there");
    repo.add("t5");
    assert_ne!(value(&repo, "t5", "AGENTWT_PORT"), *fifth);
}

#[test]
fn a_program_is_started_in_the_worktree_with_its_status() {
    let repo = TestRepo::project();
    repo.add("task");
    repo.git(&[
        "config",
        "--global",
        "agentwt.opener",
        "sh -c 'pwd; echo $AGENTWT_NAME \"$@\"; exit 3' x",
    ]);
    let said = repo.agentwt(&["open", "task", "--prompt", "do it", "--", "-v", "a b"]);
    assert_eq!(said.status, 3, "{said}");
    assert_eq!(
        said.stdout,
        "$TMP/repo/.agentwt/worktrees/task\ntask do it -v a b\n"
    );
    assert!(said.stderr.contains("is not fenced"), "{said}");
    // an empty one takes it back
    repo.git(&["config", "--global", "agentwt.opener", ""]);
    let said = repo.sh(repo.main(), "GIT_EDITOR='echo by' git agentwt -q open task");
    assert_eq!(said.stdout, "by\n");
    let said = repo.agentwt(&["open", "other"]);
    assert_eq!(said.status, 7, "{said}");
}

#[test]
fn the_client_gets_its_task_as_it_takes_one() {
    let repo = TestRepo::project();
    repo.add("task");
    repo.write("../bin/gemini", "#!/bin/sh\nprintf '<%s>' \"$@\"\n");
    repo.chmod("../bin/gemini", 0o755);
    let line =
        "PATH=$PWD/../bin:$PATH AGENTWT_CLIENT=gemini git agentwt open task --prompt 'a b' -- -y";
    assert_eq!(repo.sh(repo.main(), line).stdout, "<-i><a b><-y>");
    let said = repo.sh(repo.main(), "AGENTWT_CLIENT=aider git agentwt open task");
    assert_eq!(said.status, 127, "{said}");
    assert!(said.stderr.contains("cannot start aider"), "{said}");
    // else git's editor
    let said = repo.sh(repo.main(), "GIT_EDITOR=pwd git agentwt -q open task");
    assert_eq!(said.stdout, "$TMP/repo/.agentwt/worktrees/task\n");
}

/// A repository with programs on PATH that print their names and what they are given.
fn with_programs(names: &[&str]) -> TestRepo {
    let repo = TestRepo::project();
    for name in names {
        let file = format!("../bin/{name}");
        repo.write(&file, &format!("#!/bin/sh\necho {name} \"$@\"\n"));
        repo.chmod(&file, 0o755);
    }
    repo
}

/// The start of a line in which only these programs of an editor's can be found by their variables.
const NO_EDITOR: &str =
    "export PATH=$PWD/../bin:$PATH TERM=xterm; unset GIT_EDITOR VISUAL EDITOR; ";

#[test]
fn the_client_of_a_worktree_is_the_one_with_which_it_was_added() {
    let repo = with_programs(&["gemini", "codex", "vi", "editor"]);
    let open = |line: &str| repo.sh(repo.main(), &format!("{NO_EDITOR}{line}"));
    for strategy in ["worktree", "clone"] {
        let add = format!(
            "git agentwt add {strategy} -q --write 'src/**' --client gemini --strategy {strategy}"
        );
        open(&add).ok();
        let said = open(&format!("git agentwt open {strategy} --prompt 'a b' -- -y"));
        assert_eq!(said.ok(), "gemini -i a b -y", "{strategy}: {said}");
        // also where the settings name another by now
        let said = open(&format!("AGENTWT_CLIENT=codex git agentwt open {strategy}"));
        assert_eq!(said.ok(), "gemini", "{strategy}: {said}");
    }
    let said = open("git agentwt exec worktree --fence=none --allow-root");
    assert_eq!(said.ok(), "gemini", "{said}");
    // one that was added without has that of the settings
    open("git agentwt add other -q --write 'src/**' --client none").ok();
    let said = open("AGENTWT_CLIENT=codex git agentwt open other");
    assert_eq!(said.ok(), "codex", "{said}");
}

#[test]
fn no_editor_is_started_that_nobody_named() {
    let repo = with_programs(&["vi", "editor", "nano"]);
    repo.add("task");
    let help = "help: name a program: git config --global agentwt.opener 'code -n --wait'; or start one there: cd $TMP/repo/.agentwt/worktrees/task\n";
    let none = "error: no program is named that opens `task`: no client is set, and no editor (GIT_EDITOR, core.editor, VISUAL, EDITOR)\n";
    let open = |line: &str| repo.sh(repo.main(), &format!("{NO_EDITOR}{line}"));
    let said = open("git agentwt open task");
    assert_eq!((said.status, &*said.stdout), (2, ""), "{said}");
    assert_eq!(said.stderr, format!("{none}{help}"));
    if let Some(said) = repo.on_a_terminal(&format!("{NO_EDITOR}git agentwt open task")) {
        assert!(!said.contains("vi "), "{said}");
        assert!(said.contains("no program is named"), "{said}");
    }
    // one that is named is started with a word
    let said = open("EDITOR=nano git agentwt open task");
    assert_eq!((said.status, &*said.stdout), (0, "nano\n"), "{said}");
    assert_eq!(
        said.stderr,
        "note: no client is set, so your editor is started\nnote: nano is not fenced: it can read and write whatever you can\n"
    );
    // it would take the task for a file
    let said = open("EDITOR=nano git agentwt open task --prompt 'do it'");
    assert_eq!((said.status, &*said.stdout), (2, ""), "{said}");
    let why = "error: no program is named that opens `task`: no client is set, and an editor takes no prompt\n";
    assert_eq!(said.stderr, format!("{why}{help}"));
}

#[test]
fn each_shell_changes_to_worktrees() {
    let repo = TestRepo::project();
    repo.add("task");
    let (main, worktree) = ("$TMP/repo", "$TMP/repo/.agentwt/worktrees/task");
    for (shell, options) in [("bash", "--norc"), ("zsh", "-f"), ("fish", "--no-config")] {
        if std::process::Command::new(shell)
            .arg("-c")
            .arg(":")
            .output()
            .is_err()
        {
            skipped(shell);
            continue;
        }
        let or = if shell == "fish" { "; or" } else { " ||" };
        let init = if shell == "fish" {
            "git agentwt shell-init fish | source".to_owned()
        } else {
            format!("eval \"$(git agentwt shell-init {shell})\"")
        };
        let script = format!(
            "{init}\nawt task; pwd; awt -; awt nothing 2>/dev/null{or} pwd; awt task; awt; pwd; _awt_names"
        );
        let quoted = script.replace('\'', r"'\''");
        let said = repo.sh(repo.main(), &format!("{shell} {options} -c '{quoted}'"));
        let lines: Vec<&str> = said
            .stdout
            .lines()
            .filter(|line| !line.is_empty())
            .collect();
        let kept: Vec<&str> = lines.into_iter().collect();
        assert_eq!(kept.first(), Some(&worktree), "{shell}: {said}");
        assert!(
            kept.iter().filter(|line| **line == main).count() >= 2,
            "{shell}: {said}"
        );
        assert_eq!(kept.last(), Some(&"task"), "{shell}: {said}");
    }
}

#[test]
fn the_status_line_is_short_and_silent_elsewhere() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    let line = |arguments: &[&str]| repo.agentwt(&[&["statusline"], arguments].concat()).ok();
    assert_eq!(line(&["task"]), "task not verified");
    let commit = "echo x >>src/main.rs; git commit -qam x";
    repo.sh(&worktree, commit).ok();
    assert_eq!(
        repo.agentwt_in(&worktree, &["statusline"]).ok(),
        "task ok +1"
    );
    repo.sh(
        &worktree,
        "chmod u+w README.md; echo x >>README.md; git commit -qam x",
    )
    .ok();
    assert_eq!(line(&["task"]), "task NO 1 +2");
    assert_eq!(line(&[]), "");
    assert_eq!(repo.agentwt_in(repo.root(), &["statusline"]).ok(), "");
}

#[test]
fn an_opener_that_an_agent_sets_is_a_violation() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    repo.git_in(&worktree, &["config", "agentwt.opener", "evil"]);
    let found = repo.findings(&worktree);
    assert_eq!(found.trim_end(), "@git/config config shared violation");
}

#[test]
fn hooks_of_the_user_know_the_worktree() {
    for (version, git) in gits() {
        let repo = TestRepo::project().with_git(&git);
        let worktree = repo.add("task");
        let script = "printf '#!/bin/sh\\necho $AGENTWT_NAME >../name\\n' >.git/hooks/pre-commit
            chmod +x .git/hooks/pre-commit";
        repo.sh(repo.main(), script).ok();
        repo.sh(&worktree, "echo x >>src/main.rs; git commit -qam x")
            .ok();
        let said = std::fs::read_to_string(worktree.join("../name")).expect("the hook ran");
        let minor = version
            .split('.')
            .nth(1)
            .and_then(|minor| minor.parse().ok());
        let is_new = minor.is_some_and(|minor: u32| minor >= 54);
        assert_eq!(said, if is_new { "\n" } else { "task\n" }, "{version}");
    }
}
