//! Moves of the base branch: one that this worktree made hides nothing, one that others made
//! blames nobody.

use super::Case;
use crate::support::TestRepo;

const EVIL: &str = "edit README.md; commit";

/// The file is found, and the move of the ref is at least told.
#[track_caller]
fn is_found(case: &Case, script: &str) {
    let findings = case.findings();
    assert!(
        findings.contains("README.md modified read-only violation"),
        "{script}: {findings}"
    );
}

#[test]
fn a_base_branch_that_was_moved_from_here_hides_nothing() {
    for script in [
        "git update-ref refs/heads/main HEAD",
        "git update-ref refs/heads/main HEAD; git reflog expire --expire=now --all",
        "git update-ref refs/heads/main HEAD; rm -r \"$MAIN/.git/logs\"",
        "git fetch -q . +HEAD:refs/heads/other; git update-ref refs/heads/main refs/heads/other",
    ] {
        let case = Case::new();
        case.does(&format!("{EVIL}; {script}"));
        is_found(&case, script);
    }
}

#[test]
fn a_base_branch_that_nobody_has_checked_out_and_that_was_moved_from_here_hides_nothing() {
    for script in [
        "git update-ref refs/heads/main HEAD",
        "git branch -q -f main HEAD",
        "git fetch -q . HEAD:main",
        "GIT_REFLOG_ACTION=checkout git commit -q --amend --no-edit; git update-ref refs/heads/main HEAD",
        "c=$(git commit-tree -p HEAD -m x HEAD^{tree}); git update-ref refs/heads/main $c; \
         git reset -q --hard $c",
    ] {
        let repo = TestRepo::project();
        let case = Case::of(repo);
        case.does("git -C \"$MAIN\" checkout -q --detach");
        case.does(&format!("{EVIL}; {script}"));
        is_found(&case, script);
    }
}

#[test]
fn a_remote_tracking_branch_that_was_moved_from_here_hides_nothing() {
    for script in [
        "git update-ref refs/remotes/origin/main HEAD",
        "git fetch -q . HEAD:refs/remotes/origin/main",
        "git fetch -q \"$MAIN\" task-branch:refs/remotes/origin/main",
        "git push -q origin HEAD:main",
    ] {
        let repo = TestRepo::project();
        let origin = repo.root().join("origin.git").display().to_string();
        repo.git(&["init", "-q", "--bare", &origin]);
        repo.git(&["remote", "add", "origin", &origin]);
        repo.git(&["push", "-q", "-u", "origin", "main"]);
        let case = Case::of(repo);
        case.does(&format!("{EVIL}; git branch task-branch; {script}"));
        is_found(&case, script);
    }
}

#[test]
fn a_worktree_that_has_the_base_branch_vouches_for_it_without_its_directory_too() {
    let case = Case::new();
    case.main_does(
        "git checkout -q --detach; git worktree add -q ../holder main; cd ../holder
        echo up >README.md; git commit -q -a -m up",
    );
    case.does("git merge -q --ff-only main");
    assert_eq!(case.findings(), "", "before");
    case.main_does("rm -r ../holder");
    assert_eq!(case.findings(), "", "after");
}

#[test]
fn a_pipe_at_the_head_of_another_worktree_stops_nobody() {
    let case = Case::new();
    case.main_does("git worktree add -q ../other; echo up >README.md; git commit -q -a -m up");
    case.does("git merge -q --ff-only main");
    case.main_does("cd .git/worktrees/other; rm HEAD; mkfifo HEAD");
    assert_eq!(case.findings(), "");
}

#[test]
fn a_commit_of_upstream_that_the_user_reworded_since_is_nobodys() {
    let case = Case::new();
    case.does("edit src/mod/util.rs; commit; upstream; git rebase -q main");
    assert_eq!(case.findings(), "", "before");
    case.does("git -C \"$MAIN\" commit -q --amend -m 'better words'");
    assert_eq!(case.findings(), "", "after");
    case.does("cd \"$MAIN\"; echo later >later; git add later; git commit -q -m later");
    assert_eq!(case.findings(), "", "and after more work");
}

#[test]
fn a_fetch_of_what_the_user_merged_and_pushed_is_nobodys() {
    let repo = TestRepo::project();
    let origin = repo.root().join("origin.git").display().to_string();
    repo.git(&["init", "-q", "--bare", &origin]);
    repo.git(&["remote", "add", "origin", &origin]);
    repo.git(&["push", "-q", "-u", "origin", "main"]);
    let case = Case::of(repo);
    case.does("edit src/main.rs; commit; git -C \"$MAIN\" merge -q --ff-only agentwt/task");
    case.does("git -C \"$MAIN\" push -q origin main; git fetch -q origin");
    assert_eq!(case.findings(), "");
}

#[test]
fn a_branch_that_was_there_is_compared_with_the_base_that_was_asked_for() {
    let repo = TestRepo::project();
    repo.git(&["switch", "-q", "-c", "feat"]);
    repo.write("src/feat.rs", "feat\n");
    repo.write("README.md", "of feat\n");
    repo.commit_all("feat");
    repo.git(&["switch", "-q", "main"]);
    let arguments = [
        "add", "task", "-b", "feat", "--base", "main", "--write", "src/**",
    ];
    repo.agentwt(&arguments).ok();
    let worktree = repo.worktree("task");
    assert_eq!(
        repo.findings(&worktree),
        "README.md modified read-only violation\n"
    );
    let changed = repo.agentwt_in(&worktree, &["changed", "--name-only"]).ok();
    assert_eq!(changed, "README.md\nsrc/feat.rs");
    repo.git(&["merge", "-q", "--ff-only", "feat"]);
    let said = repo.agentwt(&["remove", "task"]);
    assert_eq!(said.status, 0, "nothing is uncommitted: {said}");
}

/// What the base was merged into counts as upstream: a merge that drops work of others there is
/// found, and what they did is no change.
#[test]
fn a_base_branch_that_was_merged_and_deleted_is_followed_by_the_main_branch() {
    for detached in [false, true] {
        let repo = TestRepo::project();
        if detached {
            repo.git(&["checkout", "-q", "--detach"]);
        } else {
            repo.git(&["checkout", "-q", "-b", "feature"]);
        }
        let base = if detached { "HEAD" } else { "feature" };
        repo.agentwt(&["add", "task", "--write", "src/**", "--base", base])
            .ok();
        let script = "git checkout -q main; git branch -q -D feature 2>/dev/null; echo user >README.md; git commit -qam user";
        repo.sh(repo.main(), script).ok();
        let worktree = repo.worktree("task");
        repo.sh(
            &worktree,
            "echo x >>src/main.rs; git commit -qam x; git merge -q --no-edit main",
        )
        .ok();
        assert_eq!(repo.findings(&worktree), "", "{base}");
        repo.sh(
            &worktree,
            "git reset -q --hard HEAD~; git merge -q -s ours --no-edit main",
        )
        .ok();
        let found = repo.findings(&worktree);
        assert!(
            found.contains("README.md modified read-only violation"),
            "{base}: {found}"
        );
    }
}
