//! Commits that only an operation in progress names, or what git keeps of the last one, do not lose
//! their last ref.

use super::{assert_gone, refused, saved_id};
use crate::support::TestRepo;

/// Brings a commit with the tree of HEAD into the repository, which no ref names, and does this.
fn with_fetched(then: &str) -> String {
    format!(
        "id=$(git commit-tree -p HEAD -m fetched 'HEAD^{{tree}}'); echo $id >$MAIN/.git/id
        {then}
        git status --porcelain >$MAIN/.git/said; test ! -s $MAIN/.git/said"
    )
}

/// Whether a ref that all worktrees share keeps it.
fn is_shared(repo: &TestRepo, id: &str) -> bool {
    let contains = format!("--contains={id}");
    // one that never came here is in no ref
    let said = repo.try_git(repo.main(), &["for-each-ref", &contains]);
    said.status == 0 && !said.stdout.is_empty()
}

const IN_PROGRESS: [(&str, &str); 6] = [
    (
        "MERGE_HEAD",
        "git merge -q --no-commit -s ours $id >$MAIN/.git/said",
    ),
    (
        "CHERRY_PICK_HEAD",
        "git cherry-pick $id >$MAIN/.git/said 2>&1 || true",
    ),
    ("REVERT_HEAD", "git revert --no-commit $id >$MAIN/.git/said"),
    (
        "sequencer/todo",
        "empty=$(git commit-tree -p HEAD -m empty 'HEAD^{tree}'); git branch empty $empty
        git cherry-pick empty $id >$MAIN/.git/said 2>&1 || true",
    ),
    (
        "rebase-merge/git-rebase-todo",
        "GIT_SEQUENCE_EDITOR=\"printf 'break\\npick %s\\n' $id >\" git rebase -q -i HEAD 2>$MAIN/.git/said || true",
    ),
    (
        "BISECT_EXPECTED_REV",
        "git update-ref BISECT_EXPECTED_REV $id",
    ),
];

#[test]
fn what_only_an_operation_in_progress_names_is_refused_and_comes_back() {
    for (file, script) in IN_PROGRESS {
        let (repo, worktree) = TestRepo::task_after(&with_fetched(script));
        let id = saved_id(&repo);
        let path = format!(".git/worktrees/task/{file}");
        let text = std::fs::read_to_string(repo.main().join(&path));
        let text = text.expect("the operation is in progress");
        assert!(text.contains(&id[..7]), "{file}: {text}");
        assert!(!is_shared(&repo, &id), "{file}");
        let said = refused(&repo, &["remove", "task"]);
        assert!(said.stderr.contains(&id[..10]), "{file}: {said}");
        assert!(said.stderr.contains("no other branch"), "{file}: {said}");
        repo.agentwt(&["remove", "--force", "task"]).ok();
        assert_gone(&repo, "task");
        assert!(is_shared(&repo, &id), "{file}: its trash keeps it");
        repo.git(&["gc", "-q", "--prune=now"]);
        repo.agentwt(&["remove", "--undo", "task"]).ok();
        let status = repo.git_in(&worktree, &["status", "--porcelain"]);
        assert_eq!(status, "", "{file}");
        let back = std::fs::read_to_string(repo.main().join(&path));
        assert_eq!(back.expect("it came back"), text, "{file}");
    }
}

#[test]
fn patches_that_are_not_applied_are_refused_and_come_back() {
    let script =
        "for i in 1 2; do echo \"patch $i\" >>src/main.rs; git commit -qam \"patch $i\"; done
        git format-patch -q -2 --stdout >$MAIN/../mail; git reset -q --hard HEAD~2
        echo other >src/main.rs; git commit -qam other; git -C $MAIN merge -q --ff-only agentwt/task
        git am -q <$MAIN/../mail 2>$MAIN/.git/said || rm $MAIN/../mail";
    let (repo, worktree) = TestRepo::task_after(script);
    let said = refused(&repo, &["remove", "task"]);
    assert!(said.stderr.contains("am --abort"), "{said}");
    repo.agentwt(&["remove", "--force", "task"]).ok();
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    let patch = repo.git_in(&worktree, &["am", "--show-current-patch=diff"]);
    assert!(patch.contains("patch 1"), "{patch}");
}

#[test]
fn what_only_the_last_fetch_or_reset_names_stops_nothing_and_is_kept() {
    for (name, script) in [
        (
            "FETCH_HEAD",
            "git update-ref refs/heads/away $id; git fetch -q . away 2>$MAIN/.git/said; git update-ref -d refs/heads/away",
        ),
        ("ORIG_HEAD", "git update-ref ORIG_HEAD $id"),
    ] {
        let (repo, _) = TestRepo::task_after(&with_fetched(script));
        let id = saved_id(&repo);
        assert!(!is_shared(&repo, &id), "{name}");
        let said = repo.agentwt(&["remove", "task"]);
        let kept = super::trash(&said);
        assert_eq!(repo.git(&["rev-parse", &kept]), id, "{name}: {said}");
        assert_gone(&repo, "task");
        assert!(is_shared(&repo, &id), "{name}: a ref keeps it");
        repo.git(&["config", "agentwt.trashExpireClean", "now"]);
        repo.agentwt(&["prune"]).ok();
        assert!(is_shared(&repo, &id), "{name}: also after its term");
    }
}

#[test]
fn a_clone_brings_home_what_only_these_name() {
    for script in [
        "git merge -q --no-commit -s ours $id >../said",
        "git cherry-pick $id >../said 2>&1 || true",
        "git update-ref refs/heads/away $id; git fetch -q . away 2>../said; git update-ref -d refs/heads/away",
    ] {
        let repo = TestRepo::project();
        let scope = ["--write", "src/**", "--strategy", "clone"];
        repo.agentwt(&[&["add", "task"][..], &scope].concat()).ok();
        let line = script.replace("../said", "$MAIN/.git/said");
        repo.script(&repo.worktree("task"), &with_fetched(&line));
        let id = saved_id(&repo);
        repo.agentwt(&["remove", "task"]).ok();
        assert!(is_shared(&repo, &id), "{script}");
    }
}

#[test]
fn an_operation_that_names_nothing_of_its_own_stops_nothing() {
    for script in [
        "git merge -q --no-commit -s ours main >$MAIN/.git/said",
        "git bisect start -q HEAD HEAD~0 2>$MAIN/.git/said || true",
        "echo x >>src/main.rs; git commit -q -a -m work; git reset -q --hard HEAD~",
    ] {
        let (repo, _) = TestRepo::task_after(script);
        let said = repo.agentwt(&["remove", "task"]);
        assert_eq!(said.ok(), "", "{script}: {said}");
        assert_gone(&repo, "task");
    }
}
