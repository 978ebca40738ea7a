//! What `--fix` puts right, and what it leaves to the user.

use insta::assert_snapshot;

use super::{doctor, lines_of, well, wrong};
use crate::support::TestRepo;

#[test]
fn ignore_rules_that_are_gone_are_written() {
    let repo = well();
    let script = "sed -i /agentwt/d .git/info/exclude; rm .agentwt/worktrees/.gitignore";
    repo.sh(repo.main(), script).ok();
    assert_snapshot!(lines_of(&doctor(&repo, &[]), "ignored"), @"problem ignore-rules: /.agentwt/worktrees/ is not in info/exclude, and there is no .agentwt/worktrees/.gitignore: `git add -A` would add worktrees | git agentwt doctor --fix");
    let planned = doctor(&repo, &["-n"]);
    assert!(
        lines_of(&planned, "ignored").ends_with("| planned\n"),
        "{planned}"
    );
    planned.fails(1);
    let fixed = doctor(&repo, &["--fix"]);
    assert!(
        lines_of(&fixed, "ignored").ends_with("| repaired\n"),
        "{fixed}"
    );
    fixed.ok();
    assert_eq!(wrong(&doctor(&repo, &[])), "");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn a_rule_that_takes_worktrees_in_again_is_left_to_the_user() {
    let repo = well();
    let script =
        "printf '!/.agentwt/worktrees/\\n' >> .gitignore; rm .agentwt/worktrees/.gitignore";
    repo.sh(repo.main(), script).ok();
    repo.sh(
        repo.main(),
        "printf '!*\\n' > .agentwt/worktrees/.gitignore",
    )
    .ok();
    let said = doctor(&repo, &["--fix"]);
    said.fails(1);
    let line = lines_of(&said, "ignored");
    assert!(
        line.starts_with("problem ignore-rules: both rules are there"),
        "{line}"
    );
}

#[test]
fn hooks_that_are_gone_are_installed_again_and_work() {
    let repo = well();
    let worktree = repo.worktree("task");
    repo.sh(repo.main(), "rm -r .git/worktrees/task/agentwt/hooks")
        .ok();
    let line = lines_of(&doctor(&repo, &[]), "hooks");
    assert_snapshot!(line, @"problem hooks: the hooks of task are gone | git agentwt hooks install task");
    doctor(&repo, &["--fix"]).ok();
    assert_eq!(wrong(&doctor(&repo, &[])), "");
    let script = "echo more >> src/main.rs; git commit -q -a -m work";
    repo.sh(&worktree, script).ok();
    assert_eq!(
        wrong(&doctor(&repo, &[])),
        "",
        "the hook has verified the commit"
    );
    repo.agentwt(&["verify", "task"]).ok();
}

#[test]
fn hooks_that_start_a_program_that_is_gone_are_installed_again() {
    let repo = well();
    let bin = repo.main().join(".git/worktrees/task/agentwt/bin");
    std::fs::write(&bin, "/nowhere/git-agentwt\n").expect("it is written");
    let line = lines_of(&doctor(&repo, &[]), "hooks-program");
    assert_snapshot!(line, @"problem hooks: the hooks of task start /nowhere/git-agentwt, which is not there | git agentwt hooks install task");
    doctor(&repo, &["--fix"]).ok();
    assert_eq!(wrong(&doctor(&repo, &[])), "");
    repo.agentwt(&["verify", "task"]).ok();
}

#[test]
fn hooks_that_were_altered_stay_evidence() {
    let repo = well();
    repo.sh(
        repo.main(),
        "echo '# x' >> .git/worktrees/task/agentwt/hooks/config",
    )
    .ok();
    let said = doctor(&repo, &["--fix"]);
    said.fails(1);
    let line = lines_of(&said, "hooks");
    assert!(
        line.starts_with("problem hooks: the hooks of task are not as installed"),
        "{line}"
    );
    assert!(line.contains("git agentwt verify task"), "{line}");
    repo.agentwt(&["verify", "task"]).fails(1);
}

#[test]
fn what_else_came_into_the_configuration_is_still_found_after_a_repair() {
    let repo = well();
    let worktree = repo.worktree("task");
    repo.git_in(&worktree, &["config", "--worktree", "core.pager", "evil"]);
    repo.sh(repo.main(), "rm -r .git/worktrees/task/agentwt/hooks")
        .ok();
    doctor(&repo, &["--fix"]).ok();
    repo.agentwt(&["verify", "task"]).fails(1);
}

#[test]
fn what_else_came_into_the_configuration_is_still_found_whatever_the_hooks_are() {
    for command in ["install", "uninstall"] {
        let repo = well();
        repo.agentwt(&["hooks", command, "task"]).ok();
        repo.agentwt(&["verify", "task"]).ok();
        let worktree = repo.worktree("task");
        repo.git_in(&worktree, &["config", "--worktree", "core.pager", "evil"]);
        repo.agentwt(&["hooks", command, "task"]).ok();
        repo.agentwt(&["verify", "task"]).fails(1);
        repo.git_in(
            &worktree,
            &["config", "--worktree", "--unset", "core.pager"],
        );
        repo.agentwt(&["hooks", command, "task"]).ok();
        repo.agentwt(&["verify", "task"]).ok();
    }
}

#[test]
fn a_worktree_that_was_to_have_no_hooks_is_a_note() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "bare", "--write", "src/**", "--no-hooks"])
        .ok();
    let said = doctor(&repo, &["--fix"]);
    said.ok();
    assert_snapshot!(lines_of(&said, "hooks"), @"note hooks: without hooks, as asked for: bare | to have them: git agentwt hooks install bare");
}

#[test]
fn commits_that_no_hook_saw_are_told() {
    let repo = well();
    let script =
        "b=agentwt/task; git update-ref refs/heads/$b $(git commit-tree -m x -p $b \"$b^{tree}\")";
    repo.sh(repo.main(), script).ok();
    let said = doctor(&repo, &[]);
    said.fails(1);
    assert_snapshot!(lines_of(&said, "hooks-silent"), @"warning hooks: no hook ran at the last commits of task | git agentwt verify task");
    let verdict = repo.agentwt(&["verify", "task"]).status;
    assert!(verdict < 2, "there is a verdict: {verdict}");
    assert_eq!(wrong(&doctor(&repo, &[])), "");
}
