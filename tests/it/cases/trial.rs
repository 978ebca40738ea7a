//! Acts by which an agent tried to hide a change, and everyday acts that had no way out.

use insta::assert_snapshot;

use super::Case;

/// A worktree of a repository with a remote that has main.
#[track_caller]
fn with_origin() -> Case {
    let case = Case::new();
    case.main_does(
        "git init -q --bare ../up.git; git remote add origin \"$PWD/../up.git\"; git push -q origin main",
    );
    case
}

/// Makes a commit X on HEAD that no reflog has.
const X: &str = "X=$(GIT_INDEX_FILE=$PWD/../x.idx; export GIT_INDEX_FILE; git read-tree HEAD
    git update-index --add --cacheinfo 100644,$(echo evil | git hash-object -w --stdin),README.md
    git commit-tree -p HEAD -m x $(git write-tree)); rm ../x.idx;";

#[test]
fn a_state_that_upstream_took_back_is_a_change_again() {
    let case = Case::new();
    case.main_does(
        "echo bad >README.md; git commit -qam bad; git revert --no-edit HEAD >/dev/null",
    );
    case.does("git checkout -q main~1 -- README.md; edit src/main.rs; git commit -qam work");
    assert_snapshot!(case.findings(), @"README.md modified read-only violation");
}

#[test]
fn a_base_that_was_moved_without_a_commit_of_the_user_is_not_believed() {
    for moved in [
        "git --git-dir=$MAIN/.git update-ref refs/heads/main $X",
        "git -C $MAIN reset -q --soft $X",
        "git -C $MAIN checkout -q -B main $X",
        "git push -q --receive-pack='git -c receive.denyCurrentBranch=updateInstead receive-pack' $MAIN/.git $X:main",
    ] {
        let case = Case::new();
        case.does(&format!("{X} {moved}; git merge -q --ff-only main"));
        let found = case.findings();
        assert!(
            found.contains("README.md modified read-only violation"),
            "{moved}: {found}"
        );
    }
}

#[test]
fn a_base_that_the_user_reset_to_what_was_fetched_or_committed_is_believed() {
    let case = Case::new();
    case.main_does(
        "git branch side; git checkout -q side; echo mine >README.md; git commit -qam mine
        git checkout -q main; git reset -q --hard side; git checkout -q -B main side~0",
    );
    case.does("git merge -q --ff-only main");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_recorded_resolution_and_the_parents_of_the_next_commit_are_sealed() {
    let case = Case::new();
    case.does("mkdir -p $MAIN/.git/rr-cache/ab; echo evil >$MAIN/.git/rr-cache/ab/postimage");
    case.does("git rev-parse HEAD >$MAIN/.git/MERGE_HEAD");
    assert_snapshot!(case.findings(), @"
    @git/MERGE_HEAD ref shared notice
    @git/rr-cache/ab/postimage config shared notice
    ");
}

#[test]
fn a_copy_of_a_secret_on_another_branch_is_a_leak() {
    let case = Case::new();
    case.does("git checkout -qb pr; git show HEAD:secrets/key.pem >src/k; git add -A; git commit -qm k; git checkout -q -");
    let found = case.findings();
    assert!(found.contains("src/k leak excluded violation"), "{found}");
}

#[test]
fn what_was_pushed_to_another_branch_is_judged() {
    let case = with_origin();
    case.does("edit README.md; commit; git push -q origin HEAD:pr; git reset -q --hard HEAD~1");
    let found = case.findings();
    assert!(
        found.contains("README.md modified read-only violation"),
        "{found}"
    );
    let case = with_origin();
    case.does("edit src/main.rs; commit; git push -q origin HEAD:pr");
    assert!(
        !case.findings().contains("violation"),
        "{}",
        case.findings()
    );
}

#[test]
fn an_agent_does_not_remove_its_hooks() {
    let case = Case::new();
    case.does("! git agentwt hooks uninstall 2>/dev/null; git agentwt hooks status >/dev/null");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_copy_of_a_secret_that_is_ignored_is_a_notice() {
    let case = Case::new();
    case.main_does("echo out/ >.gitignore; git add -A; git commit -qm ignore");
    case.does("git merge -q main; mkdir out; git show HEAD:secrets/key.pem >out/k");
    let found = case.findings();
    assert!(!found.contains("violation"), "{found}");
}

#[test]
fn the_own_branch_may_be_renamed_before_its_first_commit() {
    let case = Case::new();
    case.does("git branch -m fix-42");
    assert!(
        !case.findings().contains("violation"),
        "{}",
        case.findings()
    );
}

#[test]
fn a_commit_without_hooks_and_settings_of_the_worktree_can_be_accepted() {
    let case = Case::new();
    case.does("edit src/main.rs; git -c core.hooksPath=/dev/null commit -qam w; git config --worktree user.email x");
    assert_snapshot!(case.findings(), @"
    @head integrity integrity violation
    @wt/config.worktree config integrity notice
    ");
    case.main_does("git agentwt accept task --all 2>/dev/null >&2");
    assert_snapshot!(case.findings(), @"");
    case.does("edit src/main.rs; git -c core.hooksPath=/dev/null commit -qam w");
    assert_snapshot!(case.findings(), @"@head integrity integrity violation");
}

#[test]
fn a_base_that_the_user_reset_to_another_fetched_branch_is_believed() {
    let repo = crate::support::TestRepo::project();
    let script = "git init -q --bare ../up.git; git remote add origin \"$PWD/../up.git\"
        git checkout -qb rel; echo rel >README.md; git commit -qam rel; git push -q origin rel
        git checkout -q main; git branch -qD rel; git fetch -q";
    repo.sh(repo.main(), script).ok();
    let case = Case::of(repo);
    case.main_does("git reset -q --hard origin/rel");
    case.does("git merge -q --ff-only main");
    assert!(
        !case.findings().contains("violation"),
        "{}",
        case.findings()
    );
}

#[test]
fn the_own_branch_may_be_renamed_back() {
    let case = Case::new();
    case.does("git branch -m mine; git branch -m agentwt/task");
    assert!(
        !case.findings().contains("violation"),
        "{}",
        case.findings()
    );
}

#[test]
fn a_file_that_a_hook_runs_is_code_whatever_its_name_is() {
    for name in ["lib/shallow", "info/lib", "rr-cache/lib", "lib/MERGE_HEAD"] {
        let repo = crate::support::TestRepo::project();
        repo.write(&format!(".git/hooks/{name}"), "true\n");
        let case = Case::of(repo);
        case.does(&format!("echo evil >>$MAIN/.git/hooks/{name}"));
        let found = format!("@git/hooks/{name} hook shared violation");
        assert_eq!(case.findings().trim_end(), found);
    }
}
