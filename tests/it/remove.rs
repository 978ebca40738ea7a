//! `remove`: refuses what would lose work, saves what is given up, and takes the rest away.

use std::path::PathBuf;

use crate::support::{Said, TestRepo};

mod deleted;
mod expiry;
mod faults;
mod gone;
mod hidden;
mod in_use;
mod meanwhile;
mod merged;
mod operations;
mod private_refs;
mod refusals;
mod saved;
mod soak;

/// That a refused `remove` has touched nothing.
#[track_caller]
fn refused(repo: &TestRepo, arguments: &[&str]) -> Said {
    let before = repo.fingerprint();
    let said = repo.agentwt(arguments);
    assert_eq!(said.status, 4, "{said}");
    assert_eq!(said.stdout, "", "{said}");
    assert_eq!(repo.fingerprint(), before, "a refusal touches nothing");
    said
}

/// The trash ref that a `remove` printed.
#[track_caller]
fn trash(said: &Said) -> String {
    let name = said.ok();
    assert!(name.starts_with("refs/agentwt/trash/"), "{said}");
    assert!(!name.contains('\n'), "{said}");
    name
}

/// The directory in the trash that a `remove` printed.
#[track_caller]
fn kept(repo: &TestRepo, said: &Said) -> PathBuf {
    let name = said.ok();
    assert!(name.starts_with(".agentwt/worktrees/.trash/"), "{said}");
    assert!(!name.contains('\n'), "{said}");
    repo.main().join(name)
}

/// That nothing of a worktree is left but what its branch and trash refs keep.
#[track_caller]
fn assert_gone(repo: &TestRepo, name: &str) {
    assert!(!repo.worktree(name).exists(), "the directory is gone");
    let record = repo.main().join(".git/agentwt/worktrees").join(name);
    assert!(!record.exists(), "the record is gone");
    assert!(
        !repo
            .git(&["worktree", "list", "--porcelain"])
            .contains(&format!("worktrees/{name}\n"))
    );
    let _ = repo.agentwt(&["path", name]).fails(7);
}

#[track_caller]
pub fn with_submodule() -> (TestRepo, PathBuf) {
    let repo = TestRepo::with_submodule();
    let worktree = repo.add("task");
    repo.script(&worktree, "git submodule --quiet update --init");
    (repo, worktree)
}

/// The object id that a script wrote to the file `id` of the git directory.
#[track_caller]
fn saved_id(repo: &TestRepo) -> String {
    let id = std::fs::read_to_string(repo.main().join(".git/id"));
    id.expect("it was written").trim().to_owned()
}

/// What a command said, with the time hidden in the refs of the trash of a worktree.
fn without_time(said: &Said, name: &str) -> String {
    said.without_times(&[&format!("refs/agentwt/trash/{name}/")])
}
