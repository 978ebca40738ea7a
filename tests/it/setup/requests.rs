//! The set-up of a worktree on a pull request, which waits until the user adds it again.

use super::{HEAD, is_there, trusted};
use crate::support::TestRepo;

#[test]
fn the_code_of_a_pull_request_runs_only_when_the_user_adds_it_again() {
    let repo = trusted("[\"touch .ready\"]", "[]");
    let line = "git clone -q --bare . ../server && git remote add origin ../server &&
        git --git-dir ../server update-ref refs/pull/7/head main && git fetch -q";
    repo.sh(repo.main(), line).ok();
    let said = repo.agentwt(&["add", "task", "--pr", "7"]);
    said.ok();
    assert!(
        said.stderr.contains("the code of the pull request"),
        "{said}"
    );
    assert!(!is_there(&repo, ".ready"));
    repo.agentwt(&["add", "task", "--pr", "7"]).ok();
    assert!(is_there(&repo, ".ready"));
}

#[test]
fn the_submodules_of_a_pull_request_come_only_when_the_user_adds_it_again() {
    let repo = TestRepo::project();
    let line = "git config --global protocol.file.allow always; git init -q ../lib
        echo lib >../lib/file; git -C ../lib add .; git -C ../lib commit -qm one
        git submodule --quiet add file://$PWD/../lib src/lib; git commit -qm lib
        git clone -q --bare . ../server; git remote add origin ../server
        git --git-dir ../server update-ref refs/pull/7/head main; git fetch -q";
    repo.sh(repo.main(), line).ok();
    repo.write(
        ".agentwt/config.toml",
        &format!("{HEAD}[setup]\nsubmodules = true\ncommands = [\"true\"]\n"),
    );
    repo.agentwt(&["add", "task", "--pr", "7"]).ok();
    assert!(!is_there(&repo, "src/lib/file"));
    repo.agentwt(&["add", "task", "--pr", "7"]).ok();
    assert!(is_there(&repo, "src/lib/file"));
}
