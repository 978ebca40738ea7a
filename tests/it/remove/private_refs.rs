//! Commits that only a worktree's own refs or its private git directory name are work.

use std::path::Path;

use super::{assert_gone, refused, saved_id};
use crate::support::TestRepo;

/// Makes a commit, gives it to `keep`, and leaves the branch where it was.
fn kept_by(keep: &str) -> String {
    format!(
        "echo x >>src/main.rs; git commit -q -a -m work; git rev-parse HEAD >$MAIN/.git/id
        {keep}; git reset -q --hard HEAD~"
    )
}

/// Stops a rebase at its beginning, with an edit put aside and a clean worktree.
const REBASING: &str = "echo x >>src/main.rs
    GIT_SEQUENCE_EDITOR='echo break >' git rebase -q -i --autostash HEAD 2>$MAIN/.git/said || true
    tr -d '\\n' <\"$(git rev-parse --git-path rebase-merge/autostash)\" >$MAIN/.git/id
    git update-index -q --refresh; git diff --quiet";

/// Whether a ref that all worktrees share keeps it.
fn is_shared(repo: &TestRepo, id: &str) -> bool {
    let contains = format!("--contains={id}");
    !repo.git(&["for-each-ref", &contains]).is_empty()
}

#[test]
fn what_only_a_ref_of_the_worktree_itself_names_is_refused_and_comes_back() {
    for script in [
        kept_by("git update-ref refs/worktree/keep HEAD"),
        kept_by(
            "git tag -a -m t t; git update-ref refs/worktree/t t; git tag -d t >$MAIN/.git/said",
        ),
        kept_by("git update-ref refs/bisect/bad HEAD"),
        kept_by("git update-ref refs/rewritten/label HEAD"),
        REBASING.to_owned(),
    ] {
        let (repo, worktree) = TestRepo::task_after(&script);
        let id = saved_id(&repo);
        assert!(!is_shared(&repo, &id), "{script}");
        let said = refused(&repo, &["remove", "task"]);
        assert!(said.stderr.contains(&id[..10]), "{script}: {said}");
        assert!(said.stderr.contains("no other branch"), "{script}: {said}");
        repo.agentwt(&["remove", "--force", "task"]).ok();
        assert_gone(&repo, "task");
        assert!(is_shared(&repo, &id), "{script}: its trash keeps it");
        repo.agentwt(&["remove", "--undo", "task"]).ok();
        let own =
            "git for-each-ref --format='%(objectname)' refs/worktree refs/bisect refs/rewritten
            cat \"$(git rev-parse --git-path rebase-merge/autostash)\" 2>/dev/null || true";
        let back = repo.sh(&worktree, own).ok();
        let tag = script.contains("git tag");
        assert!(tag || back.contains(&id), "{script}: {back}");
    }
}

#[test]
fn refs_of_the_worktree_itself_that_name_nothing_of_its_own_stop_nothing() {
    for script in [
        "git update-ref refs/worktree/keep HEAD",
        "git bisect start -q HEAD HEAD~0 2>$MAIN/.git/said || true; git update-ref refs/bisect/bad HEAD",
        // no commit
        "git update-ref refs/worktree/blob HEAD:package.json",
        // git lets it go as well
        "echo x >>src/main.rs; git commit -q -a -m work; git reset -q --hard HEAD~",
    ] {
        let (repo, _) = TestRepo::task_after(script);
        repo.agentwt(&["remove", "task"]).ok();
        assert_gone(&repo, "task");
    }
}

#[test]
fn prune_keeps_the_private_directory_that_names_a_commit() {
    let (repo, worktree) = TestRepo::task_after(&kept_by("git update-ref refs/worktree/keep HEAD"));
    std::fs::remove_dir_all(&worktree).expect("it is there");
    let record = repo.main().join(".git/agentwt/worktrees/task");
    std::fs::remove_dir_all(record).expect("it is there");
    let _ = repo.agentwt(&["prune"]);
    let kept = repo.main().join(".git/worktrees/task/refs/worktree/keep");
    assert!(Path::new(&kept).exists(), "its ref keeps a commit");
}

#[test]
fn what_a_clone_put_aside_comes_home() {
    let repo = TestRepo::project();
    let clone = ["add", "task", "--write", "src/**", "--strategy", "clone"];
    repo.agentwt(&clone).ok();
    let main = repo.main().display();
    let script = format!("set -e\nMAIN='{main}'\n{REBASING}");
    repo.sh(&repo.worktree("task"), &script).ok();
    repo.agentwt(&["remove", "task"]).ok();
    assert_gone(&repo, "task");
    assert!(
        is_shared(&repo, &saved_id(&repo)),
        "what it put aside is at home"
    );
}
