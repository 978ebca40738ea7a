//! Work of others: what was merged or rebased in is nobody's change here, and what was dropped
//! of it is.

use insta::assert_snapshot;

use super::Case;
use super::own_refs::with_branches;
use crate::support::TestRepo;

/// A worktree with a commit in scope, while main goes on.
#[track_caller]
fn diverged() -> Case {
    let case = Case::new();
    case.does("edit src/mod/util.rs; commit; upstream");
    case
}

/// The same with a remote that has it.
#[track_caller]
fn with_remote() -> Case {
    let repo = TestRepo::project();
    let origin = repo.root().join("origin.git").display().to_string();
    repo.git(&["init", "-q", "--bare", &origin]);
    repo.git(&["remote", "add", "origin", &origin]);
    repo.git(&["push", "-q", "-u", "origin", "main"]);
    let case = Case::of(repo);
    case.does("edit src/mod/util.rs; commit; upstream; git -C $MAIN push -q origin main");
    case
}

#[test]
fn a_merge_of_the_new_base_is_no_change() {
    let case = diverged();
    case.does("git merge -q -m merge main");
    assert_snapshot!(case.findings(), @"");
    assert_snapshot!(case.changes(), @"modified  commit 293837427b,index,disk  src/mod/util.rs");
}

#[test]
fn a_base_on_a_remote_is_followed_however_it_is_named() {
    for base in [
        "origin/main",
        "remotes/origin/main",
        "refs/remotes/origin/main",
    ] {
        let mut case = with_branches(&[]);
        let pushes = "echo u >>README.md; git commit -q -a -m u; git push -q origin main";
        // the local branch of that name stays behind
        case.main_does(&format!(
            "git clone -q ../origin.git ../mate 2>/dev/null; cd ../mate; git switch -q main; {pushes}
            git -C $MAIN fetch -q"
        ));
        let add = ["add", "other", "--write", "src/**", "--base", base];
        case.repo.agentwt(&add).ok();
        case.worktree = case.repo.worktree("other");
        case.main_does(&format!("cd ../mate; {pushes}"));
        case.does("git fetch -q; git merge -q origin/main");
        assert_eq!(case.findings(), "", "{base}");
    }
}

#[test]
fn a_fast_forward_to_the_new_base_is_no_change() {
    let case = Case::new();
    case.does("upstream; git merge -q --ff-only main");
    assert_snapshot!(case.findings(), @"");
    assert_snapshot!(case.changes(), @"");
}

#[test]
fn a_rebase_onto_the_new_base_is_no_change() {
    for backend in ["--merge", "--apply"] {
        let case = diverged();
        case.does(&format!("git rebase -q {backend} main"));
        assert_eq!(case.findings(), "", "{backend}");
        let changes = case.changes();
        assert!(
            changes.starts_with("modified  commit ") && changes.ends_with("  src/mod/util.rs"),
            "{backend}: {changes}"
        );
        assert_eq!(changes.lines().count(), 1, "{backend}: {changes}");
    }
}

#[test]
fn a_pull_with_rebase_is_no_change() {
    let case = with_remote();
    case.does("git pull -q --rebase origin main");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_pull_with_merge_is_no_change() {
    let case = with_remote();
    case.does("git pull -q --no-rebase --no-edit origin main");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn an_edit_after_the_merge_is_found() {
    let case = diverged();
    case.does("git merge -q -m merge main; edit docs/up.md; edit docs/api.md; commit");
    assert_snapshot!(case.findings(), @"
    docs/api.md modified read-only violation
    docs/up.md modified read-only violation
    ");
}

#[test]
fn an_edit_slipped_into_the_merge_is_found() {
    let case = diverged();
    case.does("git merge -q --no-commit main; edit docs/guide.md; commit");
    assert_snapshot!(case.findings(), @"docs/guide.md modified read-only violation");
}

#[test]
fn a_merge_that_drops_upstreams_work_is_found() {
    let case = diverged();
    case.does("git merge -q -s ours -m ours main");
    assert_snapshot!(case.findings(), @"
    docs/api.md modified read-only violation
    docs/up.md deleted read-only violation
    tools/run.sh created read-only violation
    ");
}

#[test]
fn a_revert_of_upstreams_work_is_found() {
    let case = diverged();
    case.does("git merge -q -m merge main; git revert --no-edit main~ >/dev/null");
    assert_snapshot!(case.findings(), @"
    docs/api.md modified read-only violation
    docs/up.md deleted read-only violation
    tools/run.sh created read-only violation
    ");
}

#[test]
fn a_new_base_that_was_rewritten_is_followed() {
    let repo = TestRepo::project();
    repo.write("docs/two.md", "two\n");
    repo.commit_all("two");
    let case = Case::of(repo);
    case.does("edit src/main.rs; commit");
    case.main_does(
        "git reset -q --hard HEAD~; echo three >docs/three.md; git add -A; git commit -q -m three",
    );
    assert_snapshot!(case.findings(), @"");
    case.does("git rebase -q --onto main HEAD~");
    assert_snapshot!(case.findings(), @"");
    assert_snapshot!(case.changes(), @"modified  commit 3d9e4788f0,index,disk  src/main.rs");
}

#[test]
fn the_users_merge_of_the_worktrees_branch_is_no_finding() {
    let case = Case::new();
    case.does("edit src/main.rs; commit");
    case.main_does("git merge -q --no-ff -m merge agentwt/task");
    assert_snapshot!(case.findings(), @"");
    case.does("git merge -q main");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_violation_that_the_user_merged_is_taken_over() {
    let case = Case::new();
    case.does("edit README.md; commit");
    assert_snapshot!(case.findings(), @"README.md modified read-only violation");
    case.main_does("git merge -q --no-ff -m merge agentwt/task");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_cherry_pick_of_foreign_work_is_found() {
    let case = Case::new();
    case.main_does("git switch -q -c topic; echo t >docs/topic.md; git add -A; git commit -q -m t; git switch -q main");
    case.does("git cherry-pick topic >/dev/null");
    assert_snapshot!(case.findings(), @"docs/topic.md created read-only violation");
}

#[test]
fn a_merge_of_a_foreign_branch_is_found() {
    let case = Case::new();
    case.main_does("git switch -q -c topic; echo t >docs/topic.md; git add -A; git commit -q -m t; git switch -q main");
    case.does("git merge -q --no-ff -m merge topic");
    assert_snapshot!(case.findings(), @"docs/topic.md created read-only violation");
}

#[test]
fn a_merge_in_progress_is_no_change() {
    let case = diverged();
    case.does("git merge -q --no-commit --no-ff main");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_rebase_in_progress_is_no_change() {
    let case = Case::new();
    case.does("echo mine >src/main.rs; commit one; edit tests/t.rs; commit two; upstream; ! git rebase -q main 2>/dev/null");
    assert_snapshot!(case.findings(), @"");
    case.does("edit docs/guide.md");
    assert_snapshot!(case.findings(), @"docs/guide.md modified read-only violation");
    case.does("git checkout -q -- docs/guide.md; echo both >src/main.rs; git add -A; git rebase --continue >/dev/null");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn a_violation_survives_a_rebase_and_a_merge() {
    let case = diverged();
    case.does("edit docs/guide.md; commit; git rebase -q main");
    assert_snapshot!(case.findings(), @"docs/guide.md modified read-only violation");
    case.does("(cd $MAIN; echo z >>docs/up.md; git commit -q -a -m z); git merge -q -m merge main");
    assert_snapshot!(case.findings(), @"docs/guide.md modified read-only violation");
}

#[test]
fn a_base_branch_that_the_worktree_moved_is_not_believed() {
    let case = Case::new();
    case.does("edit README.md; commit; git update-ref refs/heads/main HEAD");
    assert_snapshot!(case.findings(), @"
    README.md modified read-only violation
    @git/refs/heads/main ref shared violation
    ");
}

#[test]
fn a_push_to_the_base_branch_of_the_remote_is_not_believed() {
    let case = with_remote();
    case.does("git fetch -q; git reset -q --hard origin/main; edit README.md; commit; git push -q origin HEAD:main");
    assert_snapshot!(case.findings(), @"
    README.md modified read-only violation
    @git/refs/remotes/origin/main ref shared violation
    ");
}

#[test]
fn a_restore_from_foreign_work_is_found() {
    let case = Case::new();
    case.main_does(
        "git switch -q -c topic; echo t >docs/api.md; git commit -q -a -m t; git switch -q main",
    );
    case.does("git restore --source topic -- docs/api.md");
    assert_snapshot!(case.findings(), @"docs/api.md modified read-only violation");
}

#[test]
fn what_the_user_does_in_the_main_worktree_is_no_finding() {
    let case = Case::new();
    case.main_does("echo mine >>README.md; echo n >docs/n.md; git branch other; git tag v1");
    assert_snapshot!(case.findings(), @"");
    case.main_does("git stash -q -u; git gc -q; git pack-refs --all");
    assert_snapshot!(case.findings(), @"");
}

#[test]
fn what_other_worktrees_do_is_no_finding() {
    let case = Case::new();
    let other = case.repo.add("other");
    case.runs(&other, "edit README.md; commit").ok();
    assert_snapshot!(case.findings(), @"");
}

// ---- several references ----------------------------------------------------------------------

const REVERT: &str = "git commit -q -n -m revert-the-fix";

#[test]
fn an_excluded_file_that_upstream_has_since_is_seen_on_disk() {
    let case = Case::new();
    case.main_does(
        "mkdir -p src/secrets; echo new >src/secrets/new; git add -A; git commit -q -m new",
    );
    case.does("mkdir -p src/secrets; git show main:src/secrets/new >src/secrets/new");
    assert_snapshot!(case.findings(), @"src/secrets/new present excluded violation");
    case.does("rm -r src/secrets; git checkout -q main -- src/secrets/new");
    assert_snapshot!(case.findings(), @"src/secrets/new present excluded violation");
}

#[test]
fn after_a_criss_cross_merge_upstreams_fix_cannot_be_put_back() {
    let case = Case::new();
    case.does("edit src/main.rs; commit");
    case.main_does("echo fix >>docs/api.md; git commit -q -a -m fix; git tag fix; git merge -q agentwt/task -m m1");
    case.does("git merge -q fix -m m2");
    assert_snapshot!(case.findings(), @"");
    case.does(&format!("git checkout -q HEAD~ -- docs/api.md; {REVERT}"));
    assert_snapshot!(case.findings(), @"docs/api.md modified read-only violation");
    let range = ["verify", "--range", "main..agentwt/task", "--write=src/**"];
    let said = case.repo.agentwt(&range);
    assert_eq!(said.status, 1, "{said}");
    case.repo.agentwt(&["restore", "task"]).ok();
    assert_snapshot!(case.findings(), @"docs/api.md modified history notice");
    let fixed = case.runs(&case.worktree, "tail -n 1 docs/api.md").ok();
    assert_eq!(fixed, "fix");
}

#[test]
fn the_old_base_is_no_excuse_once_upstream_was_rewritten() {
    let case = Case::new();
    case.main_does("echo fix >>docs/api.md; git commit -q --amend -a -m fix");
    case.does(
        "old=$(git rev-parse HEAD); git reset -q --hard main; git checkout -q $old -- docs/api.md",
    );
    assert_snapshot!(case.findings(), @"docs/api.md modified read-only violation");
    case.does(REVERT);
    assert_snapshot!(case.findings(), @"docs/api.md modified read-only violation");
}

#[test]
fn where_main_and_its_upstream_went_apart_both_count() {
    let case = with_remote();
    case.main_does(
        "git clone -q ../origin.git ../clone; (cd ../clone; echo fix >>docs/guide.md; git commit -q -a -m fix; git push -q)
        echo local >>README.md; git commit -q -a -m local; git fetch -q",
    );
    case.does("git merge -q main -m one; git merge -q origin/main -m two");
    assert_snapshot!(case.findings(), @"");
    case.does(&format!("git checkout -q HEAD~ -- docs/guide.md; {REVERT}"));
    assert_snapshot!(case.findings(), @"docs/guide.md modified read-only violation");
}

#[test]
fn a_merge_head_that_is_merged_already_is_no_merge() {
    let case = Case::new();
    case.main_does("echo fix >>docs/api.md; git commit -q -a -m fix; echo g >>docs/api.md; git commit -q -a -m g");
    case.does(
        "git reset -q --hard main; git rev-parse main~ >\"$(git rev-parse --git-dir)/MERGE_HEAD\"
        git checkout -q main~ -- docs/api.md",
    );
    assert_snapshot!(case.findings(), @"docs/api.md modified read-only violation");
}

#[test]
fn picking_or_squashing_what_main_has_is_no_change() {
    let case = diverged();
    case.does("git cherry-pick main~ >/dev/null");
    assert_snapshot!(case.findings(), @"");
    case.does("git reset -q --hard HEAD~; git merge -q --squash main; git commit -q -m squash");
    assert_snapshot!(case.findings(), @"");
    // a file of upstream's that is not as upstream has it now
    case.does("chmod u+w docs/api.md; echo older >docs/api.md; git commit -q -a -m older");
    assert_snapshot!(case.findings(), @"docs/api.md modified read-only violation");
}

#[test]
fn a_fetch_from_an_invented_remote_is_not_believed() {
    let case = with_remote();
    case.does(
        "edit README.md; commit; git config remote.evil.url $MAIN
        git config remote.evil.fetch +refs/heads/agentwt/task:refs/remotes/origin/main; git fetch -q evil",
    );
    assert!(
        case.findings()
            .starts_with("README.md modified read-only violation\n")
    );
    let case = with_remote();
    case.does("edit README.md; commit; git config remote.origin.url $MAIN; git config remote.origin.fetch +refs/heads/agentwt/task:refs/remotes/origin/main; git fetch -q");
    let findings = case.findings();
    assert!(
        findings.starts_with("README.md modified read-only violation\n"),
        "{findings}"
    );
    assert!(
        findings.contains("@git/config config shared notice"),
        "{findings}"
    );
}

#[test]
fn what_a_branch_has_is_held_against_what_upstream_had_since_the_branch_left_it() {
    let goes_on =
        "echo v2 >>README.md; git commit -qam v2; echo v3 >>README.md; git commit -qam v3";
    // each undoes the newest change of upstream, and a merge of it would too
    for keep in [
        "git branch side; git reset -q --hard $base",
        "git tag side; git reset -q --hard $base",
        "git reset -q --soft HEAD~; git stash -q; git reset -q --hard $base",
        "git push -q origin HEAD:agentwt/task; git reset -q --hard $base",
    ] {
        let case = with_remote();
        case.main_does(&format!("{goes_on}; git push -q origin main"));
        case.does(&format!(
            "base=$(git rev-parse HEAD); git rebase -q origin/main
            git show HEAD~2:README.md >t; mv -f t README.md; git commit -qam undo; {keep}"
        ));
        let findings = case.findings();
        assert!(
            findings.contains("README.md modified read-only violation"),
            "{keep}: {findings}"
        );
    }
}

#[test]
fn what_a_branch_took_of_upstream_stays_taken_when_upstream_goes_on() {
    for keep in [
        "echo s >>src/mod/util.rs; git stash -q",
        "git branch side",
        "git tag side",
        "git push -q origin HEAD",
        "git switch -qc side HEAD~; git checkout -q origin/main -- README.md; git commit -qm side; git switch -q -",
    ] {
        let case = with_remote();
        let goes_on = "echo v2 >>README.md; git commit -qam v2; git push -q origin main";
        case.main_does(goes_on);
        case.does(&format!(
            "git cherry-pick origin/main >/dev/null; {keep}; git rebase -q origin/main"
        ));
        for upstream in ["v3", "v4"] {
            let findings = case.findings();
            assert!(
                !findings.contains("violation"),
                "{keep}, before {upstream}: {findings}"
            );
            case.main_does(&goes_on.replace("v2", upstream));
        }
        let findings = case.findings();
        assert!(!findings.contains("violation"), "{keep}: {findings}");
    }
}
