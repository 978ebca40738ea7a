//! `doctor`: what is found in each state, what `--fix` does about it, and what it leaves alone.

mod leftovers;
mod repairs;
mod surroundings;

use std::path::Path;

use insta::assert_snapshot;

use crate::support::{Said, TestRepo, binary};

/// What doctor says of one check: `level topic found | fix | done`, a line each.
#[track_caller]
fn lines_of(said: &Said, check: &str) -> String {
    let mut out = String::new();
    for line in said.stdout.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        let [level, topic, name, found, fix, done] = fields[..] else {
            panic!("six fields: {line}");
        };
        if name == check {
            let end = if done.is_empty() {
                String::new()
            } else {
                format!(" | {done}")
            };
            out.push_str(&format!("{level} {topic}: {found} | {fix}{end}\n"));
        }
    }
    out
}

#[track_caller]
fn doctor(repo: &TestRepo, arguments: &[&str]) -> Said {
    doctor_in(repo, repo.main(), arguments)
}

#[track_caller]
fn doctor_in(repo: &TestRepo, dir: &Path, arguments: &[&str]) -> Said {
    let mut all = vec!["doctor", "--porcelain"];
    all.extend(arguments);
    repo.agentwt_in(dir, &all)
}

/// The checks that say that something is wrong: `level check`.
#[track_caller]
fn wrong(said: &Said) -> String {
    let mut found = Vec::new();
    for line in said.stdout.lines() {
        let fields: Vec<&str> = line.split('\t').collect();
        if !["ok", "note"].contains(&fields[0]) {
            found.push(format!("{} {}", fields[0], fields[2]));
        }
    }
    found.join(", ")
}

/// A repository with one worktree, `task`, and everything as it should be.
#[track_caller]
fn well() -> TestRepo {
    let repo = TestRepo::project();
    repo.agentwt(&["init", "-q"]).ok();
    repo.commit_all("config");
    repo.add("task");
    repo
}

#[test]
fn what_add_and_init_make_is_well() {
    let repo = well();
    let said = doctor(&repo, &[]);
    assert_eq!(wrong(&said), "", "{said}");
    said.ok();
    assert_snapshot!(lines_of(&said, "ignored"), @"ok ignore-rules: git ignores .agentwt/worktrees |");
    assert_snapshot!(lines_of(&said, "hooks"), @"ok hooks: installed, and git runs them: task |");
    assert_snapshot!(lines_of(&said, "leftovers"), @"ok leftovers: nothing is left over |");
}

#[test]
fn a_repository_that_never_had_a_worktree_is_well() {
    let repo = TestRepo::project();
    let said = doctor(&repo, &[]);
    assert_eq!(wrong(&said), "", "{said}");
    said.ok();
    assert_snapshot!(lines_of(&said, "config-file"), @"note ignore-rules: there is no .agentwt/config.toml | git agentwt init");
}

#[test]
fn it_changes_nothing() {
    let repo = well();
    let other = "echo x >> .git/worktrees/task/agentwt/hooks/config; sed -i d .git/info/exclude";
    repo.sh(repo.main(), other).ok();
    let before = repo.fingerprint();
    for arguments in [&[][..], &["-n"], &["--fix", "-n"]] {
        doctor(&repo, arguments).fails(1);
        assert_eq!(repo.fingerprint(), before, "{arguments:?}");
    }
}

#[test]
fn it_says_the_same_inside_of_a_worktree() {
    let repo = well();
    let inside = doctor_in(&repo, &repo.worktree("task").join("src"), &[]);
    assert_eq!(inside, doctor(&repo, &[]));
}

#[test]
fn people_see_topics_and_a_sum() {
    let repo = well();
    repo.write("Dockerfile", "FROM scratch\nCOPY . .\n");
    let said = repo.agentwt(&["doctor"]);
    said.ok();
    let part = |head: &str| {
        let (_, text) = said
            .stdout
            .split_once(&format!("{head}\n"))
            .expect("the topic");
        text.lines()
            .take_while(|line| line.starts_with(' '))
            .collect::<Vec<_>>()
            .join("\n")
    };
    assert_snapshot!(part("tools"), @r"
    note     docker (Dockerfile) may walk into .agentwt/worktrees
             fix: echo .agentwt >> .dockerignore
    ");
    assert!(said.stdout.ends_with("\nnothing is wrong\n"), "{said}");
    repo.sh(repo.main(), "echo .agentwt >> .dockerignore").ok();
    let said = repo.agentwt(&["doctor"]).ok();
    assert!(
        said.contains("docker: its configuration names .agentwt"),
        "{said}"
    );
}

#[test]
fn programs_get_json_and_records() {
    let repo = well();
    repo.write("Dockerfile", "FROM scratch\n");
    repo.sh(repo.main(), "sed -i /agentwt/d .git/info/exclude")
        .ok();
    let said = repo.agentwt(&["doctor", "--json"]);
    said.fails(1);
    let json: serde_json::Value = serde_json::from_str(&said.stdout).expect("it is JSON");
    assert_eq!(json["schema"], "agentwt.doctor/1");
    assert_eq!(json["healthy"], false);
    assert_eq!(json["unknown"], serde_json::json!([]));
    let checks = json["checks"].as_array().expect("a list");
    let docker = checks.iter().find(|check| check["check"] == "docker");
    let docker = docker.expect("it is there");
    assert_eq!(docker["level"], "note");
    assert_eq!(docker["fixable"], false);
    assert_eq!(docker["fix"], "echo .agentwt >> .dockerignore");
    let records = repo.agentwt(&["doctor", "-z"]).stdout;
    let all: Vec<&str> = records.split_terminator('\0').collect();
    assert_eq!(all.len(), checks.len());
    assert!(all.iter().all(|record| record.split('\t').count() == 6));
}

#[test]
fn it_works_outside_of_a_repository() {
    let repo = TestRepo::empty();
    let said = doctor_in(&repo, &repo.home(), &[]);
    said.ok();
    assert!(
        lines_of(&said, "git").starts_with("ok versions: git "),
        "{said}"
    );
    assert_snapshot!(lines_of(&said, "repository"), @"note settings: $TMP/home is in no repository: everything else was not checked |");
}

#[test]
fn a_repository_that_git_refuses_is_a_problem_with_gits_own_advice() {
    let repo = well();
    let output = repo
        .command(binary(), repo.main())
        .args(["doctor", "--porcelain"])
        .env("GIT_TEST_ASSUME_DIFFERENT_OWNER", "1")
        .output()
        .expect("it starts");
    let said = repo.said(&output);
    said.fails(1);
    let line = lines_of(&said, "repository");
    assert!(
        line.starts_with("problem settings: git refuses this repository"),
        "{line}"
    );
    let advice = "git config --global --add safe.directory $TMP/repo";
    assert!(line.contains(advice), "{line}");
}
