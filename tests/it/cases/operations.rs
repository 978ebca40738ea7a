//! Operations of git that are in progress in the git directories beside a worktree, and in its
//! own: what the next command of a user there does.

use insta::assert_snapshot;

use super::{Case, prepared};

/// A stash of a change out of scope, which no ref names.
const STASH: &str = "edit docs/api.md; S=$(git stash create); git checkout -q docs/api.md; ";

// ---- a stash that the next commit applies ----------------------------------------------------

#[test]
fn a_stash_that_no_merge_made_and_the_next_commit_applies_is_a_violation() {
    let case = prepared("git worktree add -q ../plain");
    case.main_does("git worktree add -q ../later");
    case.does(&format!(
        "{STASH} for d in . worktrees/plain worktrees/later; do echo $S >$MAIN/.git/$d/MERGE_AUTOSTASH; done"
    ));
    assert_snapshot!(case.findings(), @"
    @git/MERGE_AUTOSTASH ref shared violation
    @git/worktrees/later/MERGE_AUTOSTASH ref shared violation
    @git/worktrees/plain/MERGE_AUTOSTASH ref shared violation
    ");
    let case = Case::new();
    case.does(&format!(
        "{STASH} git -C $MAIN update-ref MERGE_AUTOSTASH $S"
    ));
    assert_snapshot!(case.findings(), @"@git/MERGE_AUTOSTASH ref shared violation");
}

#[test]
fn a_stash_that_the_next_commit_of_the_worktree_itself_applies_is_a_violation() {
    let case = Case::new();
    case.does(&format!(
        "{STASH} echo $S >$(git rev-parse --git-dir)/MERGE_AUTOSTASH"
    ));
    assert_snapshot!(case.findings(), @"@wt/MERGE_AUTOSTASH ref shared violation");
}

#[test]
fn the_stash_of_a_merge_that_stopped_is_a_notice() {
    let conflict = "git checkout -q -b side; echo side >README.md; git commit -q -a -m side
        git checkout -q main; echo main >README.md; git commit -q -a -m main; echo more >>docs/api.md
        git merge --autostash side >/dev/null 2>&1 || test -f .git/MERGE_AUTOSTASH";
    let case = Case::new();
    case.main_does(conflict);
    assert_snapshot!(case.findings(), @"
    @git/MERGE_AUTOSTASH ref shared notice
    @git/MERGE_HEAD ref shared notice
    ");
    case.main_does("git merge --abort");
    assert_snapshot!(case.findings(), @"");
    let case = Case::new();
    case.main_does("git branch side; git switch -q side; echo side >README.md; git commit -q -a -m side; git switch -q main
        echo more >>docs/api.md; git merge -q --squash --autostash side >/dev/null 2>&1");
    assert_snapshot!(case.findings(), @"");
}

// ---- other operations ------------------------------------------------------------------------

#[test]
fn an_operation_in_progress_elsewhere_is_a_notice() {
    let commits = "for i in 1 2; do echo $i >>README.md; git commit -q -a -m $i; done; ";
    let case = Case::new();
    case.main_does(&format!(
        "{commits} git bisect start HEAD HEAD~2 >/dev/null"
    ));
    assert_snapshot!(case.findings(), @"@git/BISECT_START ref shared notice");
    case.main_does("git bisect reset >/dev/null 2>&1");
    assert_snapshot!(case.findings(), @"");
    let case = Case::new();
    case.main_does(&format!(
        "{commits} git format-patch -q -2; git reset -q --hard HEAD~2; echo x >README.md; git commit -q -a -m x
        git am -q 000* >/dev/null 2>&1 || rm 000*"
    ));
    assert_snapshot!(case.findings(), @"@git/rebase-apply ref shared notice");
    case.main_does("git am --abort");
    assert_snapshot!(case.findings(), @"");
    let case = Case::new();
    case.main_does(&format!(
        "{commits} GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i HEAD~2 2>/dev/null"
    ));
    assert_snapshot!(case.findings(), @"@git/rebase-merge/git-rebase-todo ref shared notice");
    case.main_does("git rebase --continue >/dev/null 2>&1");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn an_operation_that_was_written_by_hand_is_a_notice() {
    let case = Case::new();
    case.does(&format!(
        "{STASH} cd $MAIN/.git; mkdir rebase-merge rebase-apply; echo $S >rebase-merge/autostash
        echo $S >rebase-apply/autostash; echo x >rebase-apply/0001; echo \"pick $S\" >rebase-merge/git-rebase-todo
        echo $S >BISECT_START"
    ));
    assert_snapshot!(case.findings(), @"
    @git/BISECT_START ref shared notice
    @git/rebase-apply ref shared notice
    @git/rebase-apply/autostash ref shared notice
    @git/rebase-merge/autostash ref shared notice
    @git/rebase-merge/git-rebase-todo ref shared notice
    ");
}

// ---- commits of the worktree in an operation of another one ----------------------------------

#[test]
fn a_commit_of_the_worktree_that_the_next_commit_elsewhere_takes_up_is_judged() {
    for name in [
        "MERGE_HEAD",
        "CHERRY_PICK_HEAD",
        "worktrees/other/MERGE_HEAD",
    ] {
        let case = Case::new();
        case.repo.add("other");
        case.does(&format!(
            "edit docs/api.md; commit; C=$(git rev-parse HEAD); git reset -q --hard HEAD~; echo $C >$MAIN/.git/{name}"
        ));
        let findings = case.findings();
        let expected = "docs/api.md modified read-only violation\n";
        assert!(findings.starts_with(expected), "{name}: {findings}");
    }
    let case = Case::new();
    case.does("edit docs/api.md; git stash -q; git rev-parse stash >$MAIN/.git/MERGE_AUTOSTASH; git stash drop -q; echo $(git rev-parse main) >$MAIN/.git/MERGE_HEAD");
    assert_snapshot!(case.findings(), @"
    docs/api.md modified read-only violation
    @git/MERGE_AUTOSTASH ref shared notice
    @git/MERGE_HEAD ref shared notice
    ");
}

#[test]
fn a_conflict_of_the_user_with_work_in_scope_is_a_notice() {
    let case = Case::new();
    case.does("edit src/main.rs; commit");
    case.main_does("echo other >src/main.rs; git commit -q -a -m other; git merge agentwt/task >/dev/null 2>&1 || true");
    assert_snapshot!(case.findings(), @"@git/MERGE_HEAD ref shared notice");
    case.does("git commit -q --amend -m again");
    assert_snapshot!(case.findings(), @"@git/MERGE_HEAD ref shared notice");
    case.main_does("git merge --abort; git cherry-pick agentwt/task >/dev/null 2>&1 || true");
    assert_snapshot!(case.findings(), @"@git/CHERRY_PICK_HEAD ref shared notice");
}

// ---- a rebase that starts programs -----------------------------------------------------------

/// Writes the state of a rebase into a git directory.
const REBASE: &str = "mkdir $D/rebase-merge; cd $D/rebase-merge; echo 'exec touch /tmp/x' | tee git-rebase-todo >git-rebase-todo.backup
    echo refs/heads/agentwt/task >head-name; git rev-parse main | tee onto >orig-head; touch interactive done; echo 1 | tee msgnum >end";

#[test]
fn a_rebase_that_starts_programs_is_told_by_the_worktree_in_which_it_stands() {
    let case = Case::new();
    let other = case.repo.add("other");
    case.runs(&other, &format!("D=$MAIN/.git/worktrees/task; {REBASE}"))
        .ok();
    assert_snapshot!(case.findings(), @"@wt/rebase-merge/git-rebase-todo config shared notice");
    for line in [
        "exec\\ttouch /tmp/x",
        "x\\ttouch /tmp/x",
        " \\tx touch /tmp/x",
    ] {
        let case = Case::new();
        let other = case.repo.add("other");
        let script = REBASE.replace("echo 'exec touch /tmp/x'", &format!("printf '{line}\\n'"));
        case.runs(&other, &format!("D=$MAIN/.git/worktrees/task; {script}"))
            .ok();
        let expected = "@wt/rebase-merge/git-rebase-todo config shared notice\n";
        assert_eq!(case.findings(), expected, "{line}");
    }
    let case = Case::new();
    case.main_does("git worktree add -q ../later");
    case.does(&format!("D=$MAIN/.git/worktrees/later; {REBASE}"));
    assert_snapshot!(case.findings(), @"@git/worktrees/later/rebase-merge/git-rebase-todo config shared notice");
}

#[test]
fn a_rebase_of_the_worktree_itself_is_no_violation() {
    let case = Case::new();
    case.does(
        "for i in 1 2 3; do edit src/main.rs; git commit -q -a -m $i; done
        git rebase -q -x true HEAD~2 2>/dev/null",
    );
    assert_snapshot!(case.findings(), @"");
    case.does(
        "GIT_SEQUENCE_EDITOR='sed -i 1s/pick/edit/' git rebase -q -i -x true HEAD~2 2>/dev/null",
    );
    assert_snapshot!(case.findings(), @"@wt/rebase-merge/git-rebase-todo config shared notice");
    case.does("git rebase --continue >/dev/null 2>&1");
    assert_snapshot!(case.findings(), @"");
}
