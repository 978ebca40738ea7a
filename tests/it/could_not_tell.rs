//! A git that fails is no answer: what could not be told is never "all is well", and never a
//! violation.

use std::path::Path;

use crate::support::{Said, TestRepo};

#[track_caller]
fn verify(repo: &TestRepo) -> Said {
    repo.agentwt(&["verify", "task"])
}

/// Adds a setting to a file of settings, as no git would.
fn set(file: &Path, key: &str, value: &str) {
    let (section, key) = key.split_once('.').expect("two parts");
    let before = std::fs::read_to_string(file).unwrap_or_default();
    let text = format!("{before}[{section}]\n\t{key} = {value}\n");
    std::fs::write(file, text).expect("it can be written");
}

#[test]
fn a_setting_that_git_refuses_is_no_finding() {
    let repo = TestRepo::project();
    let _ = repo.add("task");
    let file = repo.main().join(".git/config");
    let before = std::fs::read(&file).expect("it is there");
    for key in [
        "core.warnAmbiguousRefs",
        "core.abbrev",
        "core.compression",
        "core.multiPackIndex",
        "core.packedGitLimit",
        "core.preferSymlinkRefs",
        "index.version",
        "user.useConfigOnly",
    ] {
        set(&file, key, "zz");
        let said = verify(&repo);
        assert!(matches!(said.status, 0 | 5), "{key}: {said}");
        std::fs::write(&file, &before).expect("it can be written");
    }
    set(&file, "core.ignoreCase", "zz");
    let said = verify(&repo);
    let _ = said.fails(5);
    assert!(
        said.stderr.to_lowercase().contains("core.ignorecase"),
        "{said}"
    );
    assert_eq!(said.stdout, "", "there is no verdict");
}

#[test]
fn a_commit_that_cannot_be_read_is_no_branch_that_is_gone() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    repo.sh(
        &worktree,
        "set -e; git commit -q --allow-empty -m x; id=$(git rev-parse HEAD)
        file=$(git rev-parse --git-path objects)/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-)
        chmod u+w $file; echo nonsense >$file",
    )
    .ok();
    let said = verify(&repo);
    let _ = said.fails(5);
    assert!(!said.stdout.contains("is gone"), "{said}");
}

#[test]
fn what_is_damaged_in_the_private_directory_alone_is_a_finding() {
    for damage in [
        "echo nonsense >$(git rev-parse --git-path HEAD)",
        "rm $(git rev-parse --git-path HEAD)",
        "git config extensions.worktreeConfig true
        printf '[core]\\n\\twarnAmbiguousRefs = zz\\n' >>$(git rev-parse --git-dir)/config.worktree",
    ] {
        let repo = TestRepo::project();
        let worktree = repo.add("task");
        repo.sh(&worktree, damage).ok();
        let _ = verify(&repo).fails(1);
    }
}

#[test]
fn a_revision_that_names_nothing_is_told_as_such() {
    let repo = TestRepo::project();
    for revision in ["nosuch", "main@{99}", "main@{u}", "a..b", "refs/heads/x"] {
        let said = repo.agentwt(&["add", "task", "--write", "src/**", "--base", revision]);
        assert!(matches!(said.status, 2..=4), "{revision}: {said}");
    }
}
