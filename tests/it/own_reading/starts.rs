//! Tests that ordinary commands start git for nothing that we read ourselves.

use std::path::Path;

use crate::support::{Shim, TestRepo};

/// The commands of git that are answered here.
const OWN: &[&str] = &[
    "symbolic-ref",
    "for-each-ref",
    "merge-base",
    "rev-list",
    "reflog",
    "log",
    "worktree",
    "^{commit}",
    "check-ref-format",
];

/// The calls that a command made of git.
fn calls(repo: &TestRepo, arguments: &[&str]) -> Vec<String> {
    let shim = Shim::new(repo.root(), "true").with_own_reading();
    let (said, _) = shim.run(repo, arguments, 0);
    assert_eq!(said.status, 0, "{said}");
    let calls = std::fs::read_dir(repo.root().join("shim/calls"));
    let calls = calls.expect("it ran").map(|call| {
        let file = call.expect("a call").path();
        std::fs::read_to_string(file).expect("its words")
    });
    calls.collect()
}

#[track_caller]
fn assert_none_is_ours(repo: &TestRepo, arguments: &[&str]) {
    let calls = calls(repo, arguments);
    let ours: Vec<&String> = calls
        .iter()
        .filter(|call| {
            let is = |word: &str| {
                OWN.iter()
                    .any(|own| word == *own || own.starts_with('^') && word.ends_with(own))
            };
            call.split_whitespace().any(is)
        })
        .collect();
    assert!(ours.is_empty(), "{arguments:?}: {ours:#?}");
}

#[track_caller]
fn commit(repo: &TestRepo, dir: &Path, count: usize) {
    for at in 0..count {
        std::fs::write(dir.join("src/main.rs"), format!("fn main() {{ {at} }}\n"))
            .expect("written");
        repo.git_in(dir, &["commit", "-q", "-a", "-m", &format!("change {at}")]);
    }
}

#[test]
fn verify_and_list_read_refs_logs_and_history_themselves() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "t1", "--write", "src/**"]).ok();
    let worktree = repo.worktree("t1");
    let ask = || {
        assert_none_is_ours(&repo, &["verify", "t1"]);
        assert_none_is_ours(&repo, &["list"]);
    };
    ask();
    commit(&repo, &worktree, 3);
    ask();
    for at in 0..3 {
        repo.write("docs/guide.md", &format!("{at}\n"));
        repo.commit_all("upstream");
    }
    ask();
    repo.git_in(&worktree, &["merge", "-q", "--no-edit", "main"]);
    ask();
    for at in 2..=20 {
        repo.agentwt(&["add", &format!("t{at}"), "--write", "src/**"])
            .ok();
    }
    assert_none_is_ours(&repo, &["list"]);
}
