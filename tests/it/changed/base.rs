//! `--base`: another commit to compare with.

use insta::assert_snapshot;

use super::{bytes, json};
use crate::support::TestRepo;

#[test]
fn another_base_is_the_reference_instead_of_the_recorded_one() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(
        &worktree,
        "echo 1 >>src/main.rs; git commit -qam one; echo 2 >>tests/t.rs; git commit -qam two",
    );
    let first = repo.git_in(&worktree, &["rev-parse", "HEAD~1"]);
    let said = repo.agentwt(&["changed", "task", "--name-only", "--base", &first]);
    assert_eq!(said.ok(), "tests/t.rs");
    let said = repo.agentwt(&["changed", "task", "--name-only", "--base", "agentwt/task"]);
    assert_eq!(said.ok(), "");
    let said = repo.agentwt(&["changed", "task", "--name-only", "--base", "main"]);
    assert_eq!(said.ok(), "src/main.rs\ntests/t.rs");
    assert_eq!(
        json(&repo, &["--base", &first])["base"]["commit"],
        first.as_str()
    );
}

#[test]
fn work_that_the_base_has_and_the_worktree_merged_is_not_counted() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(repo.main(), "git switch -qc other");
    repo.write("docs/guide.md", "of another\n");
    repo.commit_all("other");
    repo.script(repo.main(), "git switch -q main");
    repo.script(
        &worktree,
        "echo 1 >>src/main.rs; git commit -qam one; git merge -q -m merged other",
    );
    let net = repo.agentwt(&["changed", "task", "--name-only"]);
    assert_eq!(net.ok(), "docs/guide.md\nsrc/main.rs", "not upstream's");
    let said = repo.agentwt(&["changed", "task", "--name-only", "--base", "other"]);
    assert_eq!(said.ok(), "src/main.rs");
    let commits = repo.agentwt(&["changed", "task", "--commits", "--base", "other"]);
    assert!(!commits.ok().contains("docs/guide.md"), "{commits}");
}

#[test]
fn a_base_that_is_no_ancestor_is_a_reference_itself() {
    let (repo, worktree) = TestRepo::with_task();
    // the same file as the worktree makes, and one that it has not
    repo.script(repo.main(), "git switch -qc other");
    repo.write("src/new.rs", "same\n");
    repo.write("src/more.rs", "theirs\n");
    repo.commit_all("other");
    repo.script(repo.main(), "git switch -q main");
    repo.script(&worktree, "echo same >src/new.rs; echo x >docs/n");
    let said = repo.agentwt(&["changed", "task", "--name-only", "--base", "other"]);
    assert_eq!(said.ok(), "docs/n");
}

#[test]
fn integrity_is_judged_by_the_recorded_base_all_the_same() {
    let (repo, worktree) = TestRepo::with_task();
    repo.script(&worktree, "git config --worktree core.x y");
    assert_snapshot!(repo.agentwt(&["changed", "task", "--base", "HEAD"]), @"
    config  @wt/config.worktree  disk
    --- status 0
    ");
}

#[test]
fn an_unknown_base_is_wrong_usage_also_with_the_best_effort() {
    let (repo, _) = TestRepo::with_task();
    assert_snapshot!(repo.agentwt(&["changed", "task", "--base", "nope"]), @"
    --- stderr
    error: there is no commit `nope` to compare with
    help: see what there is: git branch -a; to get what a remote has: git fetch
    --- status 2
    ");
    for odd in ["", "-x", "^main", "main:README.md", "a\nb"] {
        let base = format!("--base={odd}");
        assert_eq!(bytes(&repo, &[&base]).1, 2, "{odd:?}");
        assert_eq!(bytes(&repo, &[&base, "--best-effort"]).1, 2, "{odd:?}");
    }
}
