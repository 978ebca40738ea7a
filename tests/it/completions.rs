//! Loads the completions into the shells themselves and asks them, without a terminal.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::skipped;
use clap_complete::Shell;
use git_agentwt::cli::completions::completions;

const GITS_OWN_FOR_BASH: [&str; 4] = [
    "/usr/share/bash-completion/completions/git",
    "/usr/local/share/bash-completion/completions/git",
    "/opt/homebrew/etc/bash_completion.d/git-completion.bash",
    "/Library/Developer/CommandLineTools/usr/share/git-core/git-completion.bash",
];

/// A repository with two records, a `git-agentwt` on PATH, and the completions in a file each.
struct Place {
    dir: tempfile::TempDir,
}

impl Place {
    #[must_use]
    fn new() -> Self {
        let dir = tempfile::tempdir().expect("a temporary directory can be made");
        let place = Self { dir };
        for (file, shell) in [
            ("bash", Shell::Bash),
            ("_git-agentwt", Shell::Zsh),
            ("git-agentwt.fish", Shell::Fish),
        ] {
            fs::write(place.path(file), completions(shell)).expect("the file can be written");
        }
        fs::create_dir(place.path("bin")).expect("it is new");
        let program = Path::new(env!("CARGO_BIN_EXE_git-agentwt"));
        std::os::unix::fs::symlink(program, place.path("bin/git-agentwt")).expect("it is new");
        let script = "git init -q -b main && git commit -q --allow-empty -m one && git tag v1 && \
            git branch topic/a && git update-ref refs/remotes/origin/far HEAD && \
            git branch 'topic/$(touch${IFS}evil)' && mkdir .agentwt && \
            printf '[scope.default]\\n[ scope.\"docs\" ] # x\\n[sync]\\n' >.agentwt/config.toml";
        let made = place.command("sh").args(["-c", script]).status();
        assert!(made.is_ok_and(|status| status.success()), "{script}");
        for name in ["task-5", "review"] {
            fs::create_dir_all(place.path(".git/agentwt/worktrees").join(name)).expect("it is new");
        }
        place
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// A command in the repository that reads no configuration of the user.
    fn command(&self, program: &str) -> Command {
        let mut command = Command::new(program);
        let path = std::env::var("PATH").unwrap_or_default();
        command
            .current_dir(self.dir.path())
            .env("HOME", self.dir.path())
            .env("XDG_CONFIG_HOME", self.dir.path())
            .env(
                "PATH",
                format!("{}:{path}", self.path("bin").to_string_lossy()),
            )
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .envs(["GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"].map(|name| (name, "Ada")))
            .envs(["GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"].map(|name| (name, "a@b.invalid")))
            .env_remove("GIT_DIR")
            .env("LC_ALL", "C.UTF-8");
        command
    }

    /// Runs a script of a shell and returns the lines it printed; none if the shell is missing.
    #[track_caller]
    fn lines(&self, program: &str, arguments: &[&str]) -> Option<Vec<String>> {
        let output = match self.command(program).args(arguments).output() {
            Ok(output) => output,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                skipped(&format!("{program}: sudo apt-get install {program}"));
                return None;
            }
            Err(error) => panic!("{program} cannot be started: {error}"),
        };
        let problems = String::from_utf8_lossy(&output.stderr);
        assert!(problems.is_empty(), "{program} complains: {problems}");
        let text = String::from_utf8_lossy(&output.stdout);
        Some(text.lines().map(str::to_owned).collect())
    }

    /// What bash offers for a line whose last word is under the cursor.
    #[track_caller]
    fn bash(&self, words: &[&str]) -> Option<Vec<String>> {
        let theirs = GITS_OWN_FOR_BASH.iter().find(|p| Path::new(p).exists());
        let Some(theirs) = theirs else {
            skipped("git's bash completion: sudo apt-get install git bash-completion");
            return None;
        };
        let quoted: Vec<String> = words.iter().map(|word| format!("'{word}'")).collect();
        let last = words.len() - 1;
        // `git` is completed by git's wrapper, `git-agentwt` by the function we registered.
        let call = match words[0] {
            "git" => "__git_wrap__git_main",
            _ => {
                "__git_agentwt_complete git-agentwt \"${COMP_WORDS[COMP_CWORD]}\" \"${COMP_WORDS[COMP_CWORD-1]}\""
            }
        };
        let script = format!(
            "source {theirs}; source ./bash; COMP_WORDS=({}); COMP_CWORD={last}; \
             COMP_LINE=\"${{COMP_WORDS[*]}}\"; COMP_POINT=${{#COMP_LINE}}; COMPREPLY=(); \
             {call}; printf '%s\\n' \"${{COMPREPLY[@]}}\"",
            quoted.join(" "),
        );
        self.lines("bash", &["--norc", "--noprofile", "-c", &script])
    }
}

#[track_caller]
fn assert_offers(offered: Option<Vec<String>>, expected: &[&str]) {
    let Some(offered) = offered else { return };
    let words: Vec<&str> = offered
        .iter()
        .map(|line| line.split('\t').next().unwrap_or_default().trim_end())
        .collect();
    for word in expected {
        assert!(words.contains(word), "{word} is not offered: {words:?}");
    }
}

#[test]
fn bash_completes_commands_after_git_agentwt() {
    let place = Place::new();
    let offered = place.bash(&["git", "agentwt", ""]);
    assert_offers(offered, &["add", "list", "remove", "verify"]);
    let offered = place.bash(&["git", "agentwt", "ver"]);
    assert_eq!(offered.unwrap_or(vec!["verify".to_owned()]), ["verify"]);
}

#[test]
fn bash_completes_flags_and_their_values() {
    let place = Place::new();
    let offered = place.bash(&["git", "agentwt", "add", "task-5", "--add-"]);
    assert_offers(offered, &["--add-read", "--add-write", "--add-exclude"]);
    let offered = place.bash(&["git-agentwt", "verify", "--format", ""]);
    assert_offers(offered, &["human", "json", "porcelain", "tsv"]);
    let offered = place.bash(&["git", "agentwt", "add", "task-5", "--client", ""]);
    assert_offers(offered, &["claude-code", "codex", "none"]);
}

#[test]
fn bash_completes_the_names_of_worktrees() {
    let place = Place::new();
    for words in [
        &["git", "agentwt", "path", ""][..],
        &["git", "-C", ".", "agentwt", "verify", "--strict", ""],
        &["git-agentwt", "remove", ""],
    ] {
        let Some(offered) = place.bash(words) else {
            return;
        };
        assert_eq!(offered, ["review", "task-5"], "{words:?}");
    }
}

#[test]
fn bash_completes_profiles_branches_and_refs_and_runs_nothing_that_is_in_a_name() {
    let place = Place::new();
    for (words, expected) in [
        (
            &["git", "agentwt", "add", "t", "--scope", ""][..],
            &["default", "docs"][..],
        ),
        (
            &["git-agentwt", "verify", "--range", "main..", "--scope", "d"],
            &["default", "docs"],
        ),
        (&["git", "agentwt", "create", "t", "-b", "fa"], &["far"]),
        (
            &["git-agentwt", "add", "t", "-b", "topic/"],
            &["topic/$(touch${IFS}evil)", "topic/a"],
        ),
        (&["git", "agentwt", "changed", "--base", "v"], &["v1"]),
        (&["git-agentwt", "add", "t", "--base", "o"], &["origin/far"]),
        (&["git-agentwt", "add", "t", "--branch", "v"], &[""]),
    ] {
        let Some(offered) = place.bash(words) else {
            return;
        };
        assert_eq!(offered, expected, "{words:?}");
    }
    assert!(!place.path("evil").exists(), "a name is no command");
}

#[test]
fn zsh_completes_profiles_branches_and_refs() {
    let place = Place::new();
    let script = "compdef() { }; _describe() { print -r -- $2 ${(oP)4} }; source ./_git-agentwt; \
        _git_agentwt_names; _git_agentwt_profiles; _git_agentwt_branches; _git_agentwt_refs";
    if let Some(lines) = place.lines("zsh", &["-f", "-c", script]) {
        let expected = [
            "worktrees review task-5",
            "profiles default docs",
            "branches far main topic/$(touch${IFS}evil) topic/a",
            "refs main origin/far topic/$(touch${IFS}evil) topic/a v1",
        ];
        assert_eq!(lines, expected);
        assert!(!place.path("evil").exists(), "a name is no command");
    }
}

#[test]
fn fish_completes_git_agentwt_and_the_names_of_worktrees() {
    let place = Place::new();
    let ask = |line: &str| {
        let script = format!("source ./git-agentwt.fish; complete -C '{line}'");
        place.lines("fish", &["-c", &script])
    };
    assert_offers(ask("git-agentwt "), &["add", "verify"]);
    assert_offers(ask("git agentwt "), &["add", "verify"]);
    assert_offers(ask("git agentwt path "), &["review", "task-5"]);
    for (line, expected) in [
        ("git agentwt add t --scope ", &["default", "docs"][..]),
        (
            "git-agentwt add t -b ",
            &["far", "main", "topic/$(touch${IFS}evil)", "topic/a"],
        ),
        (
            "git-agentwt new t --base ",
            &[
                "main",
                "origin/far",
                "topic/$(touch${IFS}evil)",
                "topic/a",
                "v1",
            ],
        ),
    ] {
        let Some(offered) = ask(line) else { return };
        let offered = offered.iter().filter_map(|line| line.split('\t').next());
        assert_eq!(offered.collect::<Vec<_>>(), expected, "{line}");
    }
    assert!(!place.path("evil").exists(), "a name is no command");
    assert_offers(
        ask("git agentwt verify --format "),
        &["human", "json", "porcelain", "tsv"],
    );
}

#[test]
fn zsh_reads_its_completions_without_complaint() {
    let place = Place::new();
    place.lines("zsh", &["-f", "-n", "./_git-agentwt"]);
    let script = "fpath=($PWD $fpath); autoload -Uz compinit; compinit -u -D; \
                  print -- $_comps[git-agentwt]; autoload +X _git-agentwt; \
                  whence -w _git-agentwt";
    if let Some(lines) = place.lines("zsh", &["-f", "-c", script]) {
        assert_eq!(lines, ["_git-agentwt", "_git-agentwt: function"]);
    }
}
