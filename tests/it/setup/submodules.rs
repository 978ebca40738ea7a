//! Submodules that the set-up checks out.

use super::{HEAD, is_there};
use crate::support::TestRepo;

/// A project with the submodule `vendor/lib`, from this URL of the repository `../lib`.
fn with_submodule(url: &str) -> TestRepo {
    let repo = TestRepo::project();
    let line = format!(
        "git config --global protocol.file.allow always; git init -q ../lib
        echo 1 >../lib/file; git -C ../lib add .; git -C ../lib commit -qm one
        git submodule --quiet add \"{url}\" vendor/lib; git commit -qm submodules"
    );
    repo.sh(repo.main(), &line).ok();
    repo
}

#[test]
fn a_submodule_that_cannot_be_fetched_leaves_the_worktree_with_the_command_to_try_again() {
    let repo = with_submodule("file://$PWD/../lib");
    repo.write(
        ".agentwt/config.toml",
        &format!("{HEAD}[setup]\nsubmodules = true\n"),
    );
    repo.sh(repo.main(), "mv ../lib ../gone").ok();
    let said = repo.agentwt(&["add", "task"]);
    let (failed, help) = (
        "error: the set-up of `task` failed: cannot check a submodule out: ",
        "help: the worktree stays; to run the set-up again: git agentwt add task;",
    );
    assert!(said.fails(5).stderr.contains(failed), "{said}");
    assert!(said.stderr.contains(help), "{said}");
    let said = repo.agentwt(&["add", "new", "--rollback-on-failure"]);
    assert!(
        said.fails(5)
            .stderr
            .contains("to try again: git agentwt add new --rollback-on-failure"),
        "{said}"
    );
}

#[test]
fn a_stash_in_a_submodule_that_was_cloned_from_there_is_not_lost() {
    let repo = with_submodule("$PWD/../lib");
    let worktree = repo.add("task");
    let work = "git submodule --quiet update --init && cd vendor/lib && echo n >new && git add new && git stash -q && git clone -q . ../../../../../copy";
    repo.sh(&worktree, work).ok();
    let said = repo.agentwt(&["remove", "task"]);
    assert!(said.stderr.contains("kept in"), "{said}");
}

#[test]
fn a_set_up_that_runs_again_takes_no_submodule_back() {
    let repo = with_submodule("file://$PWD/../lib");
    repo.write(
        ".agentwt/config.toml",
        &format!("{HEAD}[setup]\nsubmodules = true\ncommands = [\"test -e src/ready\"]\n"),
    );
    repo.agentwt(&["trust"]).ok();
    repo.agentwt(&["add", "task"]).fails(5);
    let worktree = repo.worktree("task");
    let work = "touch src/ready; cd vendor/lib; echo 2 >file; git commit -qam two";
    repo.sh(&worktree, work).ok();
    repo.agentwt(&["add", "task"]).ok();
    let submodule = worktree.join("vendor/lib");
    assert_eq!(
        repo.git_in(&submodule, &["log", "-1", "--format=%s"]),
        "two"
    );
    assert!(is_there(&repo, "vendor/lib/file"));
}
