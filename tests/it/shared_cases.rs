//! Runs the change cases that are shared with other programs (`../shared/cases`, where that
//! folder is, or `AGENTWT_TEST_CASES` names it): every change that must be reported is, and
//! nothing else.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::support::{binary, is_root, skipped};

/// How many runs share the cases.
const SHARDS: usize = 4;

/// Makes the worktree of a case with the program itself.
const ADD: &str = r#"git agentwt add task-1 -b "$BRANCH" --base "$BASE" --write "src/**" --write "tests/**" --write /package.json --exclude "**/*.env" --exclude "**/secrets/**" --exclude ".git/**""#;

/// What is not reported yet.
const NOT_YET: &[&str] = &[
    // which hooks the host runs is looked at from the next issue on
    "142-hook-added",
];

fn folder() -> Option<PathBuf> {
    let usual = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../shared/cases");
    let named = std::env::var_os("AGENTWT_TEST_CASES").map(PathBuf::from);
    let folder = named.unwrap_or_else(usual).canonicalize().ok()?;
    folder.join("score.sh").is_file().then_some(folder)
}

/// Runs every case whose place in the list falls to this shard.
fn score(shard: usize) {
    let Some(folder) = folder() else {
        skipped("the shared change cases: ../shared/cases beside the clone");
        return;
    };
    let tmp = tempfile::tempdir().expect("a directory");
    // score.sh finds its cases beside itself: a folder of links is a shard
    let own = tmp.path().join("cases");
    std::fs::create_dir(&own).expect("a new directory");
    let mut names: Vec<String> = std::fs::read_dir(&folder)
        .expect("it is a directory")
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .collect();
    names.sort();
    let is_case = |name: &String| name.as_bytes()[0].is_ascii_digit();
    let (cases, others): (Vec<_>, Vec<_>) = names.into_iter().partition(is_case);
    assert!(cases.len() > 100, "the cases were found: {}", cases.len());
    let mine: Vec<String> = cases.into_iter().skip(shard).step_by(SHARDS).collect();
    for name in others.iter().chain(&mine) {
        std::os::unix::fs::symlink(folder.join(name), own.join(name)).expect("a link");
    }
    let ours = binary().parent().expect("it is in a directory").to_owned();
    let path = std::env::var("PATH").unwrap_or_default();
    let output = Command::new("bash")
        .arg(own.join("score.sh"))
        .arg("git agentwt verify --format tsv")
        .env("PATH", format!("{}:{path}", ours.display()))
        .env("AGENTWT_ADD", ADD)
        .env("CORPUS_TMP", tmp.path().join("run"))
        .output()
        .expect("bash starts");
    let answer = String::from_utf8_lossy(&output.stdout).into_owned();
    let wrong: Vec<&str> = answer.lines().filter(|line| is_wrong(line)).collect();
    assert!(
        wrong.is_empty(),
        "{}\n{}",
        wrong.join("\n"),
        String::from_utf8_lossy(&output.stderr)
    );
    let judged = |name: &&String| {
        let case = name.trim_end_matches(".sh");
        !answer
            .lines()
            .any(|line| line.split('\t').next() == Some(case))
    };
    let silent: Vec<&String> = mine.iter().filter(judged).collect();
    assert!(silent.is_empty(), "no line for {silent:?}");
}

/// Whether a line of the score says that a change was missed, or that there was none.
fn is_wrong(line: &str) -> bool {
    let fields: Vec<&str> = line.split('\t').collect();
    let [case, level, status, ..] = fields[..] else {
        return true;
    };
    let status_is_bad = match level {
        "must" => !matches!(status, "hit" | "clean"),
        // a finding more than the list has ("extra") is no false one
        _ => matches!(status, "fp" | "prepare-failed") || status.starts_with("case-failed"),
    };
    // its script writes a read-only file, as only root can
    let needs_root = case.starts_with("067-") && !is_root();
    status_is_bad && !NOT_YET.contains(&case) && !needs_root
}

#[test]
fn every_shared_case_is_reported_as_it_must_be_1() {
    score(0);
}

#[test]
fn every_shared_case_is_reported_as_it_must_be_2() {
    score(1);
}

#[test]
fn every_shared_case_is_reported_as_it_must_be_3() {
    score(2);
}

#[test]
fn every_shared_case_is_reported_as_it_must_be_4() {
    score(3);
}
