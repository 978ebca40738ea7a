//! Ignored files that are no build output, as the base's own rules do not name them: they are kept
//! in the trash, and nothing is tedious.

use std::path::PathBuf;

use insta::assert_snapshot;

use super::kept;
use crate::support::{TestRepo, text};

/// A repository with the worktree `task`, which may also write `.gitignore`.
fn with(strategy: &str, script: &str) -> (TestRepo, PathBuf) {
    let repo = TestRepo::project();
    repo.write(".gitignore", "/target/\n");
    repo.commit_all("ignore build output");
    let scope = ["--write", "src/**", "--write", "/.gitignore"];
    let add = [
        &["add", "task"][..],
        &scope[..],
        &["--strategy", strategy][..],
    ];
    repo.agentwt(&add.concat()).ok();
    let worktree = repo.worktree("task");
    repo.script(&worktree, script);
    (repo, worktree)
}

/// A directory in the scope that ignores itself, and build output.
const NOTES: &str = "mkdir src/notes target; echo '*' >src/notes/.gitignore
    echo work >src/notes/plan; echo o >target/o";

/// Lets the term of clean worktrees be over: what is kept as work stays.
fn after_an_hour(repo: &TestRepo) {
    repo.git(&["config", "agentwt.trashExpireClean", "now"]);
    repo.agentwt(&["prune"]).ok();
}

#[test]
fn a_directory_that_ignores_itself_is_kept_with_a_line_and_listed() {
    for strategy in ["worktree", "clone"] {
        let (repo, worktree) = with(strategy, NOTES);
        assert_eq!(repo.agentwt(&["verify", "--strict", "task"]).status, 0);
        let changed = repo.agentwt(&["changed", "task", "--porcelain"]).ok();
        assert_eq!(changed, "created\tuntracked\tsrc/notes", "{strategy}");
        let said = repo.agentwt(&["remove", "task", "--wait"]);
        let kept = kept(&repo, &said);
        let words = "note: task: the base's own ignore rules do not name 2 ignored files (src/notes/ 7 B), so the worktree is kept in the trash\n";
        assert!(said.stderr.contains(words), "{strategy}: {said}");
        let output = ", 1 ignored file (target/ 2 B)\n";
        assert!(said.stderr.contains(output), "{strategy}: {said}");
        after_an_hour(&repo);
        assert_eq!(text(&kept.join("src/notes/plan")), "work\n", "{strategy}");
        assert!(!kept.join("target/o").exists(), "the build output is gone");
        repo.agentwt(&["remove", "--undo", "task"]).ok();
        assert_eq!(text(&worktree.join("src/notes/plan")), "work\n");
    }
}

#[test]
fn what_the_merged_gitignore_of_the_agent_hides_is_kept_and_listed() {
    let own = "echo /src/out/ >>.gitignore; mkdir src/out target; echo work >src/out/result
        echo o >target/o; git add .gitignore; git commit -qm 'ignore more'";
    let (repo, worktree) = with("worktree", own);
    repo.git(&["merge", "-q", "agentwt/task"]);
    let changed = repo.agentwt(&["changed", "task", "--porcelain"]).ok();
    assert_eq!(changed, "created\tuntracked\tsrc/out");
    let said = repo.agentwt(&["remove", "task", "--wait"]);
    let kept = kept(&repo, &said);
    after_an_hour(&repo);
    assert_eq!(text(&kept.join("src/out/result")), "work\n");
    assert!(!kept.join("target/o").exists(), "the build output is gone");
    assert_snapshot!(said.without_times(&["/.trash/task-"]), @"
    .agentwt/worktrees/.trash/task-TIME
    --- stderr
    note: task: the base's own ignore rules do not name 1 ignored file (src/out/ 5 B), so the worktree is kept in the trash
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was c40f57c976), 1 ignored file (target/ 2 B)
    kept in .agentwt/worktrees/.trash/task-TIME, without what the base ignores; to bring it back: git agentwt remove --undo task
    --- status 0
    ");
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    assert_eq!(text(&worktree.join("src/out/result")), "work\n");
}

#[test]
fn what_rules_of_the_users_own_hide_is_kept_and_listed() {
    for own in [
        "git config --global core.excludesFile '~/ignore'; echo 'plan*' >~/ignore",
        "echo 'src/plan*' >>.git/info/exclude",
    ] {
        let repo = TestRepo::project();
        repo.script(repo.main(), own);
        let worktree = repo.add("task");
        repo.script(&worktree, "echo work >src/plan.md");
        let changed = repo.agentwt(&["changed", "task", "--porcelain"]).ok();
        assert_eq!(changed, "created\tuntracked\tsrc/plan.md", "{own}");
        let said = repo.agentwt(&["remove", "task", "--wait"]);
        let kept = kept(&repo, &said);
        after_an_hour(&repo);
        assert_eq!(text(&kept.join("src/plan.md")), "work\n", "{own}: {said}");
    }
}

#[test]
fn a_landing_and_a_prune_keep_it_too() {
    for command in [&["land", "task"][..], &["prune", "--merged"]] {
        let work = format!("{NOTES}; echo 1 >src/one; git add src/one; git commit -qm one");
        let (repo, _) = with("worktree", &work);
        if command[0] == "prune" {
            repo.git(&["merge", "-q", "agentwt/task"]);
        }
        let said = repo.agentwt(command);
        assert_eq!(said.status, 0, "{said}");
        assert!(said.stderr.contains("kept in the trash"), "{said}");
        assert!(!repo.worktree("task").exists(), "{said}");
        after_an_hour(&repo);
        let undone = repo.agentwt(&["remove", "--undo", "task"]);
        assert_eq!(undone.status, 0, "{said}, then {undone}");
        let plan = repo.worktree("task").join("src/notes/plan");
        assert_eq!(text(&plan), "work\n", "{said}");
    }
}

#[test]
fn it_is_no_change_outside_of_a_lease() {
    let venv = "mkdir -p .venv/bin; echo '*' >.venv/.gitignore; echo p >.venv/bin/python";
    let (repo, _) = with("worktree", venv);
    let said = repo.agentwt(&["changed", "task", "--roots", "src", "--porcelain"]);
    assert_eq!((said.status, said.stdout.as_str()), (0, ""), "{said}");
}
