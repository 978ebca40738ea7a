//! A git that is missing, too old or broken.

use std::path::Path;

use super::SRC;
use crate::support::{Said, TestRepo, binary, chmod};

#[track_caller]
fn with_path(repo: &TestRepo, path: &Path, arguments: &[&str]) -> Said {
    let mut command = repo.command(binary(), repo.main());
    command.args(arguments).env("PATH", path);
    repo.said(&command.output().expect("it starts"))
}

#[test]
fn git_is_missing() {
    let repo = TestRepo::project();
    let before = repo.fingerprint();
    let empty = repo.root().join("empty");
    std::fs::create_dir(&empty).expect("a directory");
    let said = with_path(&repo, &empty, SRC);
    insta::assert_snapshot!(said, @"
    --- stderr
    error: cannot start `git`: No such file or directory (os error 2)
    help: install git, or put it on PATH, then try `git --version`
    --- status 5
    ");
    assert_eq!(with_path(&repo, &empty, &["init"]), said);
    assert_eq!(repo.fingerprint(), before);
}

#[test]
fn git_is_too_old() {
    let repo = TestRepo::project();
    let before = repo.fingerprint();
    let old = repo.root().join("old");
    std::fs::create_dir(&old).expect("a directory");
    std::fs::write(old.join("git"), "#!/bin/sh\necho git version 2.30.1\n").expect("a file");
    chmod(&old.join("git"), 0o755);
    let said = with_path(&repo, &old, SRC);
    insta::assert_snapshot!(said, @"
    --- stderr
    error: git 2.30.1 is too old: git-agentwt needs 2.39.0 or newer
    help: upgrade git, then check with `git --version`
    --- status 5
    ");
    assert_eq!(with_path(&repo, &old, &["init"]), said);
    assert_eq!(repo.fingerprint(), before);
}

/// Reading a device has no end: git refuses its first line, and we read none.
#[test]
fn settings_that_are_a_device() {
    let repo = TestRepo::project();
    repo.add("task");
    for variable in ["GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM"] {
        let line = format!(
            "unset GIT_CONFIG_NOSYSTEM; ulimit -v 8000000; {variable}=/dev/zero git-agentwt verify task"
        );
        let said = repo.sh(repo.main(), &line);
        assert_eq!(said.status, 5, "{variable}: {said}");
        let error = "error: cannot read /dev/zero: it is not a file\n";
        assert!(said.stderr.starts_with(error), "{variable}: {said}");
    }
    let line = "GIT_CONFIG_GLOBAL=/dev/null git-agentwt verify task";
    assert_eq!(repo.sh(repo.main(), line).status, 0);
}
