//! What `init` and `add` refuse, and what stops them: one clear error, what to do, its status,
//! and nothing left behind.

use crate::support::{Said, TestRepo};

mod branches_and_bases;
mod config;
mod disks;
mod git_itself;
mod names;
mod patterns;
mod where_it_is_run;

const SRC: &[&str] = &["add", "task-5", "--write", "src/**"];

/// Runs the program in the main worktree, and asserts that it failed with one error and left
/// nothing.
#[track_caller]
fn refused(repo: &TestRepo, arguments: &[&str]) -> Said {
    let before = repo.fingerprint();
    let said = repo.agentwt(arguments);
    assert_eq!(repo.fingerprint(), before, "nothing is left behind: {said}");
    is_one_error(&said);
    said
}

#[track_caller]
fn is_one_error(said: &Said) {
    assert!(said.status > 1, "it fails, and not as an answer: {said}");
    assert_eq!(said.stdout, "", "nothing is answered: {said}");
    let errors = said
        .stderr
        .lines()
        .filter(|line| line.starts_with("error: "));
    assert_eq!(errors.count(), 1, "one clear error: {said}");
    assert!(said.stderr.contains("\nhelp: "), "what to do: {said}");
}
