//! What a worktree makes beside its branch is a notice, and its commits are judged as its own.

use insta::assert_snapshot;

use super::{Case, after};
use crate::support::TestRepo;

/// The refs that each worktree has for itself (git-worktree(1), "REFS").
const OWN_REFS: [&str; 3] = ["refs/bisect/", "refs/worktree/", "refs/rewritten/"];

/// A repository with a remote, and the branches `feature` and `dev` of the user's.
#[track_caller]
pub fn with_branches(options: &[&str]) -> Case {
    let repo = TestRepo::project();
    let origin = repo.root().join("origin.git").display().to_string();
    repo.sh(
        repo.main(),
        "git branch dev; git switch -q -c feature; git commit -q --allow-empty -m f; git switch -q main",
    )
    .ok();
    repo.git(&["init", "-q", "--bare", &origin]);
    repo.git(&["remote", "add", "origin", &origin]);
    repo.git(&["push", "-q", "-u", "origin", "main"]);
    let fixed = ["add", "task", "--write", "src/**", "--write", "tests/**"];
    repo.agentwt(&[&fixed, options].concat()).ok();
    let worktree = repo.worktree("task");
    Case { repo, worktree }
}

/// Each script leaves nothing but notices, and these are among them.
#[track_caller]
fn only_notices(scripts: &[(&str, &str)]) {
    for (script, place) in scripts {
        let case = with_branches(&[]);
        case.does(script);
        let findings = case.findings();
        assert!(!findings.contains("violation"), "{script}: {findings}");
        assert!(findings.contains(place), "{script}: {findings}");
    }
}

#[test]
fn refs_that_the_worktree_makes_are_notices() {
    only_notices(&[
        (
            "edit src/main.rs; commit; git branch backup",
            "@git/refs/heads/backup",
        ),
        (
            "edit src/main.rs; commit; git tag mine",
            "@git/refs/tags/mine",
        ),
        ("edit src/main.rs; git stash -q", "@git/refs/stash"),
        (
            "edit src/main.rs; commit; git push -q origin HEAD:x",
            "@git/refs/remotes/origin/x",
        ),
        ("git fetch -q origin main:x", "@git/refs/heads/x"),
        (
            "edit src/main.rs; commit; git branch side; git branch -m side other",
            "@git/refs/heads/other",
        ),
        ("edit src/main.rs; commit; git branch -m renamed", "@head"),
        (
            "edit src/main.rs; commit; git notes add -m hi",
            "@git/refs/notes/commits",
        ),
        ("git worktree add -q $MAIN/../one", "@git/worktrees/one"),
        (
            "edit src/main.rs; commit; FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --msg-filter 'sed s/w/x/' HEAD~.. >/dev/null 2>&1",
            "@git/refs/original/refs/heads/agentwt/task",
        ),
    ]);
}

#[test]
fn head_that_looks_elsewhere_is_a_notice() {
    only_notices(&[
        ("git checkout -q --detach", "@head"),
        ("edit src/main.rs; commit; git checkout -q HEAD~", "@head"),
        ("git checkout -q -b side; edit src/main.rs; commit", "@head"),
        (
            "for i in 1 2 3 4; do echo $i >>src/main.rs; git commit -q -a -m $i; done; git bisect start HEAD main >/dev/null",
            "@head",
        ),
    ]);
}

#[test]
fn commits_on_what_the_worktree_made_are_judged_as_its_own() {
    for script in [
        "git checkout -q -b side; edit README.md; commit; git switch -q agentwt/task",
        "edit README.md; commit; git tag keep; git reset -q --hard HEAD~",
        "edit README.md; git stash -q",
        "git worktree add -q -b two $MAIN/../two; cd $MAIN/../two; edit README.md; commit",
        "edit README.md; commit; git branch side; git branch -c side copy; git branch -D side; git reset -q --hard HEAD~",
        "git checkout -q -b side feature; edit README.md; commit; git switch -q agentwt/task",
    ] {
        let case = with_branches(&[]);
        case.does(script);
        let findings = case.findings();
        assert!(
            findings.contains("README.md modified read-only violation"),
            "{script}: {findings}"
        );
    }
}

#[test]
fn a_branch_at_what_others_brought_is_no_change() {
    let case = with_branches(&[]);
    case.main_does("git switch -q -c topic; echo t >docs/t; git add -A; git commit -q -m t; git push -q origin topic; git switch -q main; git branch -D topic");
    case.does("git fetch -q; git switch -q topic");
    let findings = case.findings();
    assert!(!findings.contains("violation"), "{findings}");
    case.does("git switch -q agentwt/task; git merge -q topic");
    let findings = case.findings();
    assert!(
        findings.contains("docs/t created read-only violation"),
        "{findings}"
    );
}

#[test]
fn what_the_user_does_with_refs_elsewhere_is_no_violation() {
    for script in [
        "git switch -q feature; git commit -q --allow-empty -m x; git merge -q main; git rebase -q main; git switch -q main",
        "git branch -q -D feature; git tag t; git branch new",
        "git worktree add -q ../w feature; cd ../w; git commit -q --allow-empty -m x; git reset -q --hard HEAD~; cd ..; git -C repo worktree remove w",
        "echo x >>README.md; git stash -q; git stash pop -q; git commit -q -a -m x; git push -q origin main; git fetch -q",
        "git commit -q --allow-empty -m x; git reset -q --hard HEAD~; git branch -f dev feature",
    ] {
        let case = with_branches(&[]);
        case.main_does(script);
        let findings = case.findings();
        assert!(!findings.contains("violation"), "{script}: {findings}");
    }
    let case = with_branches(&[]);
    case.does("edit src/main.rs; commit");
    case.main_does("git merge -q --no-ff -m m agentwt/task; git switch -q feature; git merge -q agentwt/task; git push -q origin main");
    case.does("git fetch -q; git merge -q main");
    assert_eq!(case.findings(), "");
}

#[test]
fn head_on_a_branch_of_others_stays_a_violation() {
    let case = with_branches(&[]);
    case.does("git switch -q feature");
    assert_eq!(case.findings(), "@head ref integrity violation\n");
    assert!(
        after("git symbolic-ref HEAD refs/remotes/origin/main")
            .contains("@head ref integrity violation")
    );
}

#[test]
fn what_was_pushed_is_judged_alike_whatever_its_name_is_on_the_remote() {
    let bad = "edit README.md; commit; git reset -q --hard HEAD~";
    for name in [
        "agentwt/task",
        "x",
        "xagentwt/task",
        "evil/agentwt/task",
        "agentwt/task/x",
    ] {
        for push in ["origin HEAD", "-f origin +HEAD"] {
            let case = with_branches(&[]);
            let script = bad.replace(
                "commit;",
                &format!("commit; git push -q {push}:refs/heads/{name};"),
            );
            case.does(&script);
            let findings = case.findings();
            let expected = "README.md modified read-only violation\n";
            assert!(findings.starts_with(expected), "{push} {name}: {findings}");
        }
    }
    // to the repository itself, past the remote
    let case = with_branches(&[]);
    case.does("edit README.md; commit; git push -q . HEAD:refs/heads/y; git reset -q --hard HEAD~");
    assert_snapshot!(case.findings(), @"
    README.md modified read-only violation
    @git/refs/heads/y ref shared notice
    ");
}

#[test]
fn what_was_pushed_under_the_own_name_counts_until_it_is_replaced_there() {
    let case = with_branches(&[]);
    case.does("edit README.md; commit bad; git push -q origin HEAD; git reset -q --hard HEAD~; edit src/main.rs; commit good");
    let pushed = case
        .repo
        .git(&["rev-parse", "--short=10", "origin/agentwt/task"]);
    let said = case.repo.agentwt(&["verify", "task"]);
    assert_eq!(said.status, 1, "{said}");
    let line = format!(
        "to see which refs have such a commit: git for-each-ref --contains {}",
        pushed.trim()
    );
    assert!(said.stderr.contains(&line), "{said}");
    // others go on from there
    case.main_does(
        "git clone -q -b agentwt/task ../origin.git ../elsewhere; cd ../elsewhere
        git commit -q --allow-empty -m on-top; git push -q",
    );
    case.does("git fetch -q origin");
    assert_snapshot!(case.findings(), @"README.md modified read-only violation");
    case.does("git push -q -f origin HEAD");
    assert_snapshot!(case.findings(), @"README.md modified history notice");
}

#[test]
fn what_is_pushed_in_scope_is_nothing() {
    let case = with_branches(&[]);
    case.does(
        "edit src/mod/util.rs; commit one; git push -q -u origin HEAD; git commit -q --amend -m two
        upstream; git fetch -q origin; (cd $MAIN; git push -q origin main); git fetch -q origin; git rebase -q origin/main",
    );
    assert_snapshot!(case.findings(), @"");
    case.does("git push -q -f origin HEAD; edit src/mod/util.rs; commit three");
    assert_snapshot!(case.findings(), @"");
    // the branch was on the remote before
    let case = with_branches(&[]);
    case.does("edit src/mod/util.rs; commit one; git push -q origin HEAD");
    case.repo.agentwt(&["remove", "task", "--force"]).ok();
    case.main_does("git fetch -q origin");
    let fixed = [
        "add",
        "task",
        "--write",
        "src/**",
        "--branch",
        "agentwt/task",
    ];
    case.repo.agentwt(&fixed).ok();
    case.does(
        "edit src/mod/util.rs; commit two; git push -q origin HEAD; git reset -q --hard HEAD~",
    );
    assert_snapshot!(case.findings(), @"");
    case.does("edit README.md; commit bad; git push -q -f origin HEAD; git reset -q --hard HEAD~");
    assert_snapshot!(case.findings(), @"README.md modified read-only violation");
}

#[test]
fn what_a_command_of_an_earlier_worktree_left_is_not_a_ref_of_the_users() {
    let case = Case::new();
    case.main_does(
        "git update-ref refs/agentwt/incoming/again HEAD; git update-ref refs/agentwt/run/again/1 HEAD",
    );
    let worktree = case.repo.add("again");
    let work = "echo x >>src/main.rs; git commit -q -a -m x";
    case.runs(&worktree, work).ok();
    // as an import does that is killed before the branch moves
    case.main_does(
        "git update-ref refs/agentwt/incoming/again agentwt/again; git update-ref -d refs/agentwt/run/again/1",
    );
    assert_eq!(case.repo.findings(&worktree), "");
}

/// Makes a commit out of scope on which nothing is, in `$C`.
const HIDDEN: &str = "edit README.md; git add README.md
    C=$(git commit-tree -p HEAD -m hidden $(git write-tree)); git reset -q --hard; ";

#[test]
fn a_commit_is_judged_whatever_the_name_of_its_ref_is() {
    for name in [
        "refs/custom/q",
        "refs/stash-q",
        "refs/stash/q",
        "refs/notes/q",
        "refs/original/q",
        "refs/pull/1/head",
        "refs/agentwt/incoming/q",
        "refs/agentwt/kept/task/q",
        "refs/agentwt/rescue/task/20260101T000000Z",
        "refs/agentwt/trash/task/20260101T000000Z",
        "refs/worktree/q",
        "refs/bisect/q",
        "refs/rewritten/q",
    ] {
        let findings = after(&format!("{HIDDEN} git update-ref {name} $C"));
        let expected = "README.md modified read-only violation\n";
        assert!(findings.starts_with(expected), "{name}: {findings}");
        let is_private = OWN_REFS.iter().any(|start| name.starts_with(start));
        let notice = format!("@git/{name} ref shared notice");
        assert_eq!(
            findings.contains(&notice),
            !is_private,
            "{name}: {findings}"
        );
    }
}

#[test]
fn what_is_committed_in_a_worktree_that_was_made_here_is_judged() {
    for place in ["src/inner", "$MAIN/../outer"] {
        let make = format!("git worktree add -q --detach {place}; cd {place}; ");
        let hidden = [
            format!("{make} edit README.md; commit"),
            format!("{make} git checkout -q -b nb; edit README.md; commit"),
            format!("{make} edit README.md; commit; git checkout -q -b nb"),
            format!("{make} edit README.md; commit; git tag v9; git checkout -q HEAD~"),
            format!("{make} {HIDDEN} git update-ref refs/worktree/q $C"),
            format!("{make} {HIDDEN} git update-ref refs/bisect/q $C"),
        ];
        for script in hidden {
            let findings = after(&script);
            let expected = "README.md modified read-only violation\n";
            assert!(findings.contains(expected), "{script}: {findings}");
        }
        // a newer git links worktrees by relative paths (`worktree.useRelativePaths`)
        let relative = "echo ../../../.agentwt/worktrees/task/src/inner/.git >$(git rev-parse --git-dir)/gitdir;";
        if place == "src/inner" {
            let findings = after(&format!("{make} {relative} edit README.md; commit"));
            let expected = "README.md modified read-only violation\n";
            assert!(findings.contains(expected), "relative: {findings}");
        }
        for script in ["true", "edit src/main.rs; commit; git checkout -q HEAD~"] {
            let findings = after(&format!("{make} {script}"));
            assert!(!findings.contains("violation"), "{script}: {findings}");
        }
    }
    // to look at the work of others there is no change, whatever they do to it later
    let case = with_branches(&[]);
    case.main_does("git switch -q -c topic; echo t >>README.md; git commit -q -a -m t; git push -q origin topic:pull/5; git push -q origin topic; git switch -q main; git branch -q -D topic");
    case.does("git fetch -q origin pull/5; git worktree add -q --detach $MAIN/../d FETCH_HEAD; git worktree add -q --detach $MAIN/../e origin/topic");
    assert!(!case.findings().contains("violation"));
    case.main_does("git push -q origin :topic; git fetch -q --prune origin");
    assert!(!case.findings().contains("violation"));
    // a worktree of the user's is none of these
    let case = Case::new();
    case.main_does("git worktree add -q --detach ../users");
    case.does("edit README.md; commit; git -C $MAIN/../users merge -q $(git rev-parse HEAD); git reset -q --hard HEAD~");
    assert_snapshot!(case.findings(), @"README.md modified history notice");
}

#[test]
fn a_ref_of_our_own_that_was_made_by_hand_is_told() {
    let case = Case::new();
    case.does(
        "edit src/main.rs; commit; for name in incoming/q kept/task/q rescue/task/q trash/task/q; do
            git update-ref refs/agentwt/$name HEAD; done",
    );
    assert_snapshot!(case.findings(), @"
    @git/refs/agentwt/incoming/q ref shared notice
    @git/refs/agentwt/kept/task/q ref shared notice
    @git/refs/agentwt/rescue/task/q ref shared notice
    @git/refs/agentwt/trash/task/q ref shared notice
    ");
    // what a command of ours saves is nothing
    let case = Case::new();
    case.does("edit README.md");
    case.repo.agentwt_in(&case.worktree, &["restore"]).ok();
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn untracked_files_in_a_stash_are_judged_as_its_other_files() {
    let case = Case::new();
    case.does("echo x >docs/new.md; echo x >src/new.rs; git stash -q -u");
    assert_snapshot!(case.findings(), @"
    docs/new.md created read-only violation
    @git/refs/stash ref shared notice
    ");
    case.does(
        "git stash drop -q; mkdir target; echo x >target/a; echo x >src/new.rs; git stash -q -a",
    );
    assert_snapshot!(case.findings(), @"
    target/a modified history notice
    @git/refs/stash ref shared notice
    ");
    // rules that came into the worktree hide nothing
    let case = Case::new();
    case.does("echo new.md >src/.gitignore; echo '*' >docs/.gitignore; echo x >docs/new.md; git stash -q -a");
    assert_snapshot!(case.findings(), @"
    docs/.gitignore created read-only violation
    docs/new.md created read-only violation
    @git/refs/stash ref shared notice
    ");
}
