//! The branch of a new worktree and the commit that it begins at.

use insta::assert_snapshot;

use super::{SRC, clone};
use crate::support::{TestRepo, write};

#[track_caller]
fn head(repo: &TestRepo, name: &str) -> String {
    let dir = repo.worktree(name);
    let branch = repo.git_in(&dir, &["symbolic-ref", "HEAD"]);
    let branch = branch.trim_start_matches("refs/heads/");
    let subject = repo.git_in(&dir, &["log", "-1", "--format=%s"]);
    format!("{branch} at {subject}")
}

#[test]
fn the_branch_is_the_prefix_and_the_name_at_the_main_worktrees_branch() {
    let repo = TestRepo::project();
    repo.git(&["switch", "-q", "-c", "dev"]);
    repo.commit_all("two");
    repo.agentwt(SRC).ok();
    assert_eq!(head(&repo, "task-5"), "agentwt/task-5 at two");
}

#[test]
fn prefix_and_base_come_from_the_config() {
    let repo = TestRepo::project();
    let config =
        "schema_version = \"1.0\"\n[worktree]\nbase = \"old\"\nbranch_prefix = \"bots-\"\n";
    repo.write(".agentwt/config.toml", config);
    repo.git(&["branch", "old"]);
    repo.commit_all("two");
    repo.agentwt(SRC).ok();
    assert_eq!(head(&repo, "task-5"), "bots-task-5 at one");
    repo.git(&["config", "agentwt.branchPrefix", ""]);
    repo.agentwt(&["add", "task-6", "--write", "", "--base", "main"])
        .ok();
    assert_eq!(head(&repo, "task-6"), "task-6 at two");
}

#[test]
fn any_name_of_a_commit_is_a_base() {
    let repo = TestRepo::project();
    repo.git(&["tag", "-a", "-m", "a tag", "v1"]);
    repo.commit_all("two");
    for (n, base) in ["v1", "HEAD~1", "main^", ":/one"].iter().enumerate() {
        let name = format!("t{n}");
        repo.agentwt(&["add", &name, "--write", "", "--base", base])
            .ok();
        assert_eq!(
            head(&repo, &name),
            format!("agentwt/{name} at one"),
            "{base}"
        );
    }
}

#[test]
fn an_existing_branch_is_worked_on_from_its_tip() {
    let repo = TestRepo::project();
    repo.git(&["switch", "-q", "-c", "fix/login"]);
    repo.commit_all("two");
    repo.git(&["switch", "-q", "main"]);
    let said = repo.agentwt(&[SRC, &["-b", "fix/login"]].concat());
    assert_eq!(head(&repo, "task-5"), "fix/login at two");
    insta::assert_snapshot!(said, @"
    $TMP/repo/.agentwt/worktrees/task-5
    --- stderr
    task-5: branch fix/login at 9c8c2ce2e6; 2 files to edit, 10 to read, 0 excluded
    --- status 0
    ");
}

#[test]
fn an_existing_branch_may_be_counted_from_an_older_base() {
    let repo = TestRepo::project();
    repo.git(&["switch", "-q", "-c", "fix/login"]);
    repo.write("docs/api.md", "edited\n");
    repo.commit_all("two");
    repo.git(&["switch", "-q", "main"]);
    repo.agentwt(&[SRC, &["-b", "fix/login", "--base", "main"]].concat())
        .ok();
    let findings = repo.findings(&repo.worktree("task-5"));
    assert!(
        findings.contains("docs/api.md"),
        "it counts from main: {findings}"
    );
}

#[test]
fn a_branch_that_does_not_exist_is_made_under_that_very_name() {
    let repo = TestRepo::project();
    repo.agentwt(&[SRC, &["-b", "fix/new"]].concat()).ok();
    assert_eq!(head(&repo, "task-5"), "fix/new at one");
}

/// As `git switch` and `git worktree add` do.
#[test]
fn a_branch_that_only_a_remote_has_is_tracked() {
    let repo = TestRepo::project();
    let script = "git init -q --bare ../origin.git; git remote add origin ../origin.git
        git switch -q -c fix/login; git commit -q --allow-empty -m two
        git push -q origin fix/login; git switch -q main; git branch -q -D fix/login";
    repo.sh(repo.main(), script).ok();
    repo.keep_as("pushed");
    for strategy in ["worktree", "clone"] {
        let add = [SRC, &["-b", "fix/login", "--strategy", strategy]].concat();
        repo.agentwt(&add).ok();
        assert_eq!(head(&repo, "task-5"), "fix/login at two", "{strategy}");
        let upstream = "git rev-parse --abbrev-ref '@{upstream}'";
        let tracked = repo.sh(&repo.worktree("task-5"), upstream).ok();
        assert_eq!(tracked, "origin/fix/login", "{strategy}");
        repo.agentwt(&["verify", "task-5"]).ok();
        repo.bring_back("pushed");
    }
    repo.sh(
        repo.main(),
        "git remote add up ../origin.git; git fetch -q up",
    )
    .ok();
    insta::assert_snapshot!(repo.agentwt(&[SRC, &["-b", "fix/login"]].concat()), @"
    --- stderr
    error: cannot create the branch `fix/login`: several remotes have it: origin/fix/login, up/fix/login
    help: to choose: git branch --track fix/login origin/fix/login, or git config checkout.defaultRemote <remote>
    --- status 4
    ");
    repo.git(&["config", "checkout.defaultRemote", "up"]);
    let add = [SRC, &["-b", "fix/login", "--base", "main"]].concat();
    repo.agentwt(&add).ok();
    assert_eq!(head(&repo, "task-5"), "fix/login at two");
    let remote = repo.sh(repo.main(), "git config branch.fix/login.remote");
    assert_eq!(remote.ok(), "up");
}

#[test]
fn a_branch_may_be_given_by_its_full_ref() {
    let repo = TestRepo::project();
    repo.git(&["branch", "fix/login"]);
    repo.agentwt(&[SRC, &["-b", "refs/heads/fix/login"]].concat())
        .ok();
    assert_eq!(head(&repo, "task-5"), "fix/login at one");
}

#[test]
fn a_tag_of_the_same_name_does_not_confuse_it() {
    let repo = TestRepo::project();
    repo.git(&["branch", "both"]);
    repo.commit_all("two");
    repo.git(&["tag", "both"]);
    repo.git(&["tag", "agentwt/task-5"]);
    repo.git(&["tag", "main", "main~1"]);
    repo.agentwt(&[SRC, &["-b", "both"]].concat()).ok();
    assert_eq!(head(&repo, "task-5"), "both at one");
    repo.agentwt(&["add", "task-6", "--write", "src/**"]).ok();
    assert_eq!(
        head(&repo, "task-6"),
        "agentwt/task-6 at two",
        "main is the branch"
    );
}

#[test]
fn a_new_branch_has_no_upstream() {
    let repo = TestRepo::project();
    let dir = clone(&repo, &[], "clone");
    let add = ["add", "task-5", "--write", "", "--base", "origin/main"];
    repo.agentwt_in(&dir, &add).ok();
    let upstream = repo.git_in(
        &dir,
        &["for-each-ref", "--format=%(upstream)", "refs/heads/agentwt"],
    );
    assert_eq!(upstream, "");
}

#[test]
fn a_base_behind_its_upstream_is_noted() {
    let repo = TestRepo::project();
    let dir = clone(&repo, &[], "clone");
    repo.commit_all("two");
    repo.git_in(&dir, &["fetch", "-q"]);
    let said = repo.agentwt_in(&dir, SRC);
    insta::assert_snapshot!(said, @"
    $TMP/clone/.agentwt/worktrees/task-5
    --- stderr
    note: `main` is 1 commit behind `origin/main`; to start from there: --base origin/main
    task-5: new branch agentwt/task-5 at af82e40edf (main); 2 files to edit, 10 to read, 0 excluded
    --- status 0
    ");
}

#[test]
fn the_same_again_prints_the_same_path_and_changes_nothing() {
    let repo = TestRepo::project();
    let first = repo.agentwt(SRC).ok();
    let before = repo.fingerprint();
    let said = repo.agentwt(SRC);
    assert_eq!(said.ok(), first);
    assert_eq!(repo.fingerprint(), before);
    insta::assert_snapshot!(said, @"
    $TMP/repo/.agentwt/worktrees/task-5
    --- stderr
    task-5 is there already
    --- status 0
    ");
}

#[test]
fn the_same_again_is_fine_after_commits_on_the_base_and_in_the_worktree() {
    let repo = TestRepo::project();
    let first = repo.agentwt(SRC).ok();
    repo.commit_all("two");
    write(&repo.worktree("task-5"), b"src/new.rs", b"new\n");
    repo.commit_all_in(&repo.worktree("task-5"), "work");
    assert_eq!(repo.agentwt(SRC).ok(), first);
    assert_eq!(
        repo.agentwt(&[SRC, &["--base", "main~1"]].concat()).ok(),
        first
    );
    assert_eq!(
        repo.agentwt(&[SRC, &["-b", "agentwt/task-5"]].concat())
            .ok(),
        first
    );
}

#[test]
fn another_scope_is_refused_with_the_difference() {
    let repo = TestRepo::project();
    repo.add("task-5");
    let before = repo.fingerprint();
    let said = repo.agentwt(&["add", "task-5", "--write", "src/**", "--write", "docs/**"]);
    assert_eq!(repo.fingerprint(), before);
    insta::assert_snapshot!(said, @"
    --- stderr
    error: worktree `task-5` exists with another scope:
    - write tests/**
    - write /package.json
    - exclude **/secrets/**
    + write docs/**
    help: `-` is what it has, `+` what was asked for; take another name, or remove it first: git agentwt remove task-5
    --- status 4
    ");
}

#[test]
fn another_base_or_branch_is_refused() {
    let repo = TestRepo::project();
    repo.agentwt(SRC).ok();
    repo.commit_all("two");
    insta::assert_snapshot!(repo.agentwt(&[SRC, &["--base", "main"]].concat()), @"
    --- stderr
    error: worktree `task-5` exists, and its base is af82e40edf
    help: take another name, or remove it first: git agentwt remove task-5
    --- status 4
    ");
    insta::assert_snapshot!(repo.agentwt(&[SRC, &["-b", "main"]].concat()), @"
    --- stderr
    error: worktree `task-5` exists, and its branch is `agentwt/task-5`
    help: take another name, or remove it first: git agentwt remove task-5
    --- status 4
    ");
}

#[test]
fn another_branch_that_does_not_exist_yet_is_refused_too() {
    let repo = TestRepo::project();
    repo.agentwt(SRC).ok();
    repo.agentwt(&[SRC, &["-b", "fix/other"]].concat()).fails(4);
}

#[test]
fn a_branch_that_is_rebased_elsewhere_is_refused_before_anything_is_made() {
    let repo = TestRepo::project();
    let script =
        "git worktree add -q ../other -b b; cd ../other; echo 1 >README.md; git commit -qam 1
        cd ../repo; echo 2 >README.md; git commit -qam 2; cd ../other; git rebase -q main || true";
    repo.sh(repo.main(), script).ok();
    for dry_run in [&["-n"][..], &[]] {
        let add = [
            &["add", "task", "--write", "src/**", "--branch", "b"][..],
            dry_run,
        ]
        .concat();
        insta::allow_duplicates! {
            assert_snapshot!(repo.agentwt(&add), @"
            --- stderr
            error: a rebase or a bisect of the branch `b` is in progress at $TMP/other
            help: end it there first, git says how: git -C $TMP/other status
            --- status 4
            ");
        }
    }
}
