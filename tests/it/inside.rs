//! What a command that was started inside a worktree may change: that worktree, and nothing else.

use std::path::{Path, PathBuf};

use insta::assert_snapshot;

use crate::support::{Said, TestRepo};

/// A repository without a config, with the worktrees `task`, `other` (with work) and, in the trash,
/// `gone`.
struct Agents {
    repo: TestRepo,
    task: PathBuf,
}

impl Agents {
    #[track_caller]
    fn new() -> Self {
        let repo = TestRepo::project();
        let task = repo.add("task");
        let other = repo.add("other");
        let gone = repo.add("gone");
        for worktree in [&other, &gone] {
            repo.sh(
                worktree,
                "echo work >src/work.rs && chmod u+w README.md && echo no >>README.md",
            )
            .ok();
        }
        repo.agentwt(&["remove", "gone", "--force", "--wait"]).ok();
        Self { repo, task }
    }

    /// Runs a line of sh inside `task`; `$MAIN` is the main worktree.
    fn inside(&self, line: &str) -> Said {
        let main = self.repo.main().display();
        let line = format!("MAIN='{main}'\n{line}\nexit $?");
        self.repo.sh(&self.task, &line)
    }

    /// Everything that is not the worktree `task`'s own: files of the other worktrees and of the main
    /// one, records, refs, settings and hooks.
    fn state(&self) -> String {
        let line = "find . .git/agentwt .git/config .git/info .git/worktrees/other \
            \\( -path ./.git -o -path ./.agentwt/worktrees/task -o -name locks \
            -o -name last-verification.toml -o -name index \\) -prune -o -type f -print \
            | sort | xargs -d '\\n' sha256sum; git for-each-ref; git worktree list";
        self.repo.sh(self.repo.main(), line).ok()
    }
}

/// What is refused, each as typed and as it is printed for the user.
const REFUSED: [(&str, &str); 22] = [
    ("add new --write 'src/**'", "add new --write 'src/**'"),
    ("create new --write 'src/**'", "create new --write 'src/**'"),
    ("init", "init"),
    ("prune", "prune"),
    ("doctor --fix", "doctor --fix"),
    ("remove other", "remove other"),
    (
        "remove other --force --force",
        "remove other --force --force",
    ),
    ("-q remove task other -ff", "-q remove task other -ff"),
    ("remove --force", "remove task --force"),
    ("remove --delete-branch", "remove task --delete-branch"),
    ("remove --undo gone", "remove --undo gone"),
    ("land other --keep", "land other --keep"),
    ("land task", "land task"),
    ("restore other", "restore other"),
    ("reapply other", "reapply other"),
    ("sync other", "sync other"),
    ("sync --all", "sync --all"),
    ("open other", "open other"),
    ("renew other --owner me", "renew other --owner me"),
    ("exec other -- true", "exec other -- true"),
    ("exec --all -- true", "exec --all -- true"),
    (
        "run new --write 'src/**' -- true",
        "run new --write 'src/**' -- true",
    ),
];

#[test]
fn what_is_not_the_agents_is_changed_from_no_worktree() {
    let agents = Agents::new();
    let before = agents.state();
    for (typed, printed) in REFUSED {
        let said = agents.inside(&format!("git agentwt {typed}"));
        assert_eq!(said.status, 4, "git agentwt {typed}: {said}");
        let help = format!(
            "help: run the command outside the worktree: cd $TMP/repo && git agentwt {printed}\n"
        );
        assert!(said.stderr.ends_with(&help), "{said}");
        assert_eq!(said.stdout, "", "{said}");
        assert_eq!(agents.state(), before, "git agentwt {typed}");
    }
    assert_snapshot!(agents.inside("git agentwt remove other --force --force"), @r"
    --- stderr
    error: an agent does not run this command: it is refused inside worktree `task`
    help: run the command outside the worktree: cd $TMP/repo && git agentwt remove other --force --force
    --- status 4
    ");
}

#[test]
#[cfg(target_os = "linux")]
fn who_works_inside_reaches_nothing_else_by_another_directory() {
    let agents = Agents::new();
    let before = agents.state();
    for (typed, printed) in REFUSED {
        if typed == printed {
            for line in [
                format!("git -C $MAIN agentwt {typed}"),
                format!("(cd $MAIN/docs && git agentwt {typed})"),
            ] {
                let said = agents.inside(&line);
                assert_eq!(said.status, 4, "{line}: {said}");
                let help = format!(": cd $TMP/repo && git agentwt {printed}\n");
                assert!(said.stderr.ends_with(&help), "{said}");
                assert_eq!(agents.state(), before, "{line}");
            }
        }
    }
    for (line, printed) in [
        ("(cd ../other && git agentwt remove)", "remove other"),
        ("git -C ../other agentwt reapply", "reapply other"),
        (
            "git -C ../other agentwt -q sync --force",
            "-q sync other --force",
        ),
        ("git -C ../other agentwt exec -- true", "exec other -- true"),
        (
            "git -C ../other agentwt hooks install",
            "hooks install $TMP/repo/.agentwt/worktrees/other",
        ),
    ] {
        let said = agents.inside(line);
        assert_eq!(said.status, 4, "{line}: {said}");
        let help = format!(": cd $TMP/repo && git agentwt {printed}\n");
        assert!(said.stderr.ends_with(&help), "{said}");
        assert_eq!(agents.state(), before, "{line}");
    }
    let said = agents.inside("(cd $MAIN && git agentwt prune)");
    let (before, after) = said.stderr.split_once("process ").expect("the process");
    let after = after.trim_start_matches(|char: char| char.is_ascii_digit());
    assert_snapshot!(format!("{before}process N{after}"), @r"
    error: an agent does not run this command: it is refused inside worktree `task`: the process N (sh) works there
    help: run the command in a terminal that was not opened in the worktree: cd $TMP/repo && git agentwt prune
    ");
}

#[test]
fn an_agent_changes_its_own_worktree_and_looks_at_all() {
    let agents = Agents::new();
    agents
        .inside("chmod u+w README.md docs/guide.md && echo no >>README.md")
        .ok();
    for line in [
        "git agentwt reapply",
        "git agentwt reapply task",
        "git agentwt restore task",
        "git agentwt restore --undo task",
        "git agentwt restore task",
        "git agentwt sync",
        "git agentwt sync task --clean",
        "git agentwt exec task --allow-root --print-policy -- true",
        "git agentwt hooks install",
        "git agentwt list",
        "git agentwt status other",
        "git agentwt changed other",
        "git agentwt sync other --status",
        "git agentwt add new --write 'src/**' -n",
        "git agentwt init -n",
        "git agentwt prune -n",
        "git agentwt doctor --fix -n || test $? = 1",
        "git agentwt remove other -ff -n",
        "git agentwt remove --undo gone -n",
        "git agentwt restore other -n",
        "git agentwt reapply other -n",
        "git agentwt sync other -n",
        "git agentwt exec other --allow-root --print-policy -- true",
        "git agentwt hooks status ../other",
    ] {
        let said = agents.inside(line);
        assert_eq!(said.status, 0, "{line}: {said}");
    }
    agents.inside("git agentwt remove").ok();
    assert!(!agents.task.exists());
}

#[test]
fn the_printed_command_works_for_the_user() {
    let agents = Agents::new();
    let prompt = "echo 'Mend it' >src/prompt.md";
    agents.inside(prompt).ok();
    for line in [
        "git agentwt remove other --force --force",
        "git agentwt add new --write 'src/**' --client codex --prompt-file src/prompt.md",
        "cd src && git agentwt hooks install ../../new",
        "git agentwt remove --force",
    ] {
        let said = agents.inside(line);
        let help = said.stderr.rsplit_once(": cd ").expect("a command").1;
        let command = help.replace("$TMP", &agents.repo.root().display().to_string());
        let pasted = agents.repo.sh(Path::new("/"), &format!("cd {command}"));
        assert_eq!(pasted.status, 0, "{command}: {pasted}");
    }
    let left = agents
        .repo
        .sh(agents.repo.main(), "ls .agentwt/worktrees")
        .ok();
    assert_eq!(left, "new");
    let found = "grep -rl 'Mend it' --exclude-dir=.git .agentwt/worktrees/new";
    assert_eq!(
        agents.repo.sh(agents.repo.main(), found).ok(),
        ".agentwt/worktrees/new/AGENTS.md"
    );
}

#[test]
fn a_terminal_that_a_program_in_the_worktree_serves_is_the_users() {
    let agents = Agents::new();
    // as tmux does: it has no terminal, stays in the worktree, and gives each shell one
    let line = "cd \"$MAIN\" && git agentwt add new --write src";
    let script = format!("export MAIN; setsid -w script -qec '{line}' /dev/null </dev/null");
    let said = agents.inside(&script);
    assert_eq!(said.status, 0, "{said}");
    assert!(agents.repo.worktree("new").exists(), "{said}");
    // an agent gives its command no terminal of its own
    let script = format!("export MAIN; setsid -w sh -c '{line}2'; true");
    let said = agents.inside(&script);
    assert!(
        said.stderr.contains("an agent does not run this command"),
        "{said}"
    );
}

#[test]
fn a_removed_worktree_in_which_a_shell_stands_is_named() {
    let agents = Agents::new();
    let line = "cd .agentwt/worktrees/.trash/gone-*; git agentwt add new --write src";
    let said = agents.repo.sh(agents.repo.main(), line);
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stderr.contains("inside worktree `gone-"), "{said}");
}
