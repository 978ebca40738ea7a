//! How often git is started.

use std::path::Path;

use crate::support::{Said, TestRepo, binary, chmod};

/// What git would be asked for to find the repository, its settings and its own version.
const OURS: &[&str] = &[
    "rev-parse --path-format",
    "rev-parse --absolute-git-dir",
    "config ",
    "version",
];

/// Runs the program; the git commands that it started.
#[track_caller]
fn started(repo: &TestRepo, dir: &Path, arguments: &[&str]) -> Vec<String> {
    let trace = repo.root().join("trace");
    let _ = std::fs::remove_file(&trace);
    let mut command = repo.command(binary(), dir);
    command
        .args(arguments)
        .env("GIT_TRACE", &trace)
        .env("GIT_AGENTWT_READ", "own")
        .env("GIT_AGENTWT_WALK", "fast");
    repo.said(&command.output().expect("it starts")).ok();
    let trace = std::fs::read_to_string(&trace).unwrap_or_default();
    let started = trace
        .lines()
        .filter_map(|line| Some(line.split_once("trace: built-in: git ")?.1));
    started.map(ToOwned::to_owned).collect()
}

#[test]
fn the_commands_of_every_moment_find_the_repository_and_its_settings_without_git() {
    let repo = TestRepo::project();
    let task = repo.add("task");
    for dir in [repo.main(), &task] {
        for arguments in [
            &["path", "task"][..],
            &["scope", "task", "src/main.rs"],
            &["list"],
            &["verify", "task"],
        ] {
            let started = started(&repo, dir, arguments);
            let ours = |command: &&String| OURS.iter().any(|ours| command.contains(ours));
            // what else has to start git asks for its version
            let needed = started
                .iter()
                .any(|command| !OURS.iter().any(|ours| command.contains(ours)));
            let ours: Vec<&String> = started
                .iter()
                .filter(ours)
                .filter(|command| !(needed && *command == "version"))
                .collect();
            assert!(ours.is_empty(), "{arguments:?}: {started:#?}");
        }
    }
    let commands = started(&repo, repo.main(), &["list"]);
    assert!(
        started_by_git(&repo).len() > commands.len(),
        "and the trace would have said so"
    );
}

fn started_by_git(repo: &TestRepo) -> Vec<String> {
    let trace = repo.root().join("trace");
    let _ = std::fs::remove_file(&trace);
    let mut command = repo.command(binary(), repo.main());
    command
        .arg("list")
        .env("GIT_TRACE", &trace)
        .env("GIT_AGENTWT_READ", "git");
    repo.said(&command.output().expect("it starts")).ok();
    let trace = std::fs::read_to_string(&trace).unwrap_or_default();
    trace.lines().map(ToOwned::to_owned).collect()
}

#[test]
fn a_git_that_is_too_old_is_refused_as_soon_as_one_is_started() {
    let repo = TestRepo::project();
    repo.add("task");
    let old = repo.root().join("old");
    std::fs::create_dir(&old).expect("a directory");
    let log = repo.root().join("log");
    let script = format!(
        "#!/bin/sh\necho \"$*\" >>'{}'\necho git version 2.30.1\n",
        log.display()
    );
    std::fs::write(old.join("git"), script).expect("a file");
    chmod(&old.join("git"), 0o755);
    let run = |reading: &str, arguments: &[&str]| -> Said {
        let mut command = repo.command(binary(), repo.main());
        command
            .args(arguments)
            .env("PATH", &old)
            .env("GIT_AGENTWT_READ", reading);
        repo.said(&command.output().expect("it starts"))
    };
    let before = repo.fingerprint();
    for (reading, arguments) in [
        ("git", &["path", "task"][..]),
        ("git", &["list"]),
        ("own", &["add", "other", "--write", "src/**"]),
        ("own", &["hooks", "install", "task"]),
        ("own", &["remove", "task"]),
    ] {
        let said = run(reading, arguments);
        assert_eq!(said.status, 5, "{arguments:?}: {said}");
        let words = "error: git 2.30.1 is too old: git-agentwt needs 2.39.0 or newer\n";
        assert!(said.stderr.starts_with(words), "{arguments:?}: {said}");
    }
    assert_eq!(repo.fingerprint(), before, "and nothing was changed");
    let asked = std::fs::read_to_string(&log).expect("it was asked");
    for line in asked.lines() {
        let reads = [
            "version",
            "rev-parse",
            "config",
            "worktree list",
            "for-each-ref",
            "cat-file",
        ];
        let command = line.replace("-c core.fsmonitor=false -c submodule.recurse=false ", "");
        assert!(reads.iter().any(|read| command.contains(read)), "{line}");
    }
}
