//! What an ordinary user meets; as root the suite becomes one (`setpriv`).

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use super::SRC;
use crate::support::{TestRepo, binary, chmod, is_root, needs_root};

/// Runs a line of sh in a directory as uid 65534, to whom everything of the repository then
/// belongs; as oneself when one is no root.
#[track_caller]
fn sh(repo: &TestRepo, dir: &Path, line: &str) -> crate::support::Said {
    let line = format!(
        "export PATH='{}':\"$PATH\"; {line}",
        program(repo).display()
    );
    if !is_root() {
        return repo.sh(dir, &line);
    }
    repo.sh(repo.root(), "chmod 755 . && chown -R 65534:65534 .")
        .ok();
    let options = [
        "--reuid=65534",
        "--regid=65534",
        "--clear-groups",
        "sh",
        "-c",
        &line,
    ];
    let output = repo.command("setpriv", dir).args(options).output();
    repo.said(&output.expect("setpriv starts"))
}

/// A directory with the program that anybody may enter.
fn program(repo: &TestRepo) -> PathBuf {
    let dir = repo.root().join("bin");
    std::fs::create_dir_all(&dir).expect("a directory");
    let copy = dir.join("git-agentwt");
    if !copy.exists() {
        std::fs::copy(binary(), &copy).expect("a copy");
    }
    std::fs::set_permissions(&dir, std::fs::Permissions::from_mode(0o755)).expect("ours");
    dir
}

const ADD: &str = "git agentwt add task-5 --write 'src/**' --exclude '**/secrets/**'";

#[test]
fn a_file_to_read_cannot_be_written_and_one_to_edit_can() {
    let repo = TestRepo::project();
    sh(&repo, repo.main(), ADD).ok();
    let dir = repo.worktree("task-5");
    let denied = sh(&repo, &dir, "echo x >> docs/api.md");
    assert_ne!(denied.status, 0, "{denied}");
    assert!(denied.stderr.contains("Permission denied"), "{denied}");
    sh(&repo, &dir, "echo x >> src/main.rs").ok();
    let findings = sh(&repo, &dir, "git agentwt verify --format tsv");
    assert_eq!(findings.ok(), "");
}

#[test]
fn nobody_says_that_one_is_root() {
    let repo = TestRepo::project();
    let said = sh(&repo, repo.main(), &format!("{ADD} 2>&1"));
    assert!(!said.ok().contains("you are root"), "{said}");
}

#[test]
fn the_worktree_can_be_worked_in_and_removed() {
    let repo = TestRepo::project();
    let line = format!(
        "cd \"$({ADD})\" && echo new > src/new.rs && git add -A && git commit -qm work && \
         git agentwt verify -q > /dev/null && cd ../../.. && git merge -q agentwt/task-5 && \
         git agentwt remove task-5 && git branch --list 'agentwt/*'"
    );
    assert_eq!(sh(&repo, repo.main(), &line).ok(), "");
    assert!(!repo.worktree("task-5").exists());
}

#[test]
fn what_cannot_be_written_is_one_error_and_leaves_nothing() {
    for closed in [".", ".git", ".git/refs/heads", ".git/info"] {
        let repo = TestRepo::project();
        sh(&repo, repo.main(), "true").ok();
        let before = sh(&repo, repo.main(), "find . | sort").ok();
        chmod(&repo.main().join(closed), 0o555);
        let said = sh(
            &repo,
            repo.main(),
            &format!("{ADD}; s=$?; chmod 755 {closed}; exit $s"),
        );
        chmod(&repo.main().join(closed), 0o755);
        assert!([5, 6].contains(&said.status), "{closed}: {said}");
        // git 2.47 does not tell why it cannot make a directory for a ref
        let why = ["Permission denied", "unable to create directory for"];
        let told = why.iter().any(|words| said.stderr.contains(words));
        assert!(told, "{closed}: {said}");
        assert_eq!(
            said.stderr.matches("error: ").count(),
            1,
            "{closed}: {said}"
        );
        let after = sh(&repo, repo.main(), "find . | sort").ok();
        assert_eq!(after, before, "{closed}: {said}");
    }
}

#[test]
fn as_root_a_repository_of_another_user_is_refused_in_gits_words() {
    if !needs_root() {
        return;
    }
    let repo = TestRepo::project();
    sh(&repo, repo.main(), "true").ok();
    repo.sh(repo.root(), "chown -R 0:0 repo").ok();
    let before = repo.fingerprint();
    let output = repo
        .command("setpriv", repo.main())
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(program(&repo).join("git-agentwt"))
        .args(SRC)
        .output()
        .expect("setpriv starts");
    let said = repo.said(&output);
    assert_eq!(repo.fingerprint(), before);
    insta::assert_snapshot!(said, @"
    --- stderr
    error: cannot find the repository: fatal: detected dubious ownership in repository at '$TMP/repo'
      To add an exception for this directory, call:
      git config --global --add safe.directory $TMP/repo
    help: git ended with status 128; to see it again: git -C $TMP/repo rev-parse --path-format=absolute --show-object-format --is-inside-work-tree --git-common-dir
    --- status 5
    ");
}
