//! What hostile trials destroyed in version 0.1.

use super::{kept, refused, with_submodule};
use crate::support::{TestRepo, text};

/// What only the repository of a submodule has; each prints an object.
const ONLY_THERE: [&str; 5] = [
    "echo x >lib.c; git stash -q; git rev-parse stash@{0}",
    "git checkout -qb mine; echo x >lib.c; git commit -qam mine; git rev-parse mine; git checkout -q --detach mine~; cd ../..; git submodule --quiet deinit -f vendor/lib",
    "git notes add -m note; git rev-parse refs/notes/commits",
    "git tag -a -m t t1; git rev-parse t1",
    "git update-ref refs/mine/x $(git commit-tree -m x HEAD^{tree}); git rev-parse refs/mine/x",
];

fn has(repo: &TestRepo, object: &str) -> bool {
    // in its place, or in the trash
    let find = "find .git/worktrees .git/agentwt/trash -path '*/modules/vendor/lib' -prune";
    let modules = repo
        .main()
        .join(repo.sh(repo.main(), find).stdout.trim_end());
    modules.join("HEAD").is_file() && {
        let said = repo.try_git(
            &modules,
            &["--git-dir=.", "--work-tree=.", "cat-file", "-e", object],
        );
        said.status == 0
    }
}

#[test]
fn what_only_a_submodules_repository_has_is_kept_by_a_plain_remove() {
    for work in ONLY_THERE {
        let (repo, worktree) = with_submodule();
        let object = repo.sh(&worktree.join("vendor/lib"), work).ok();
        let said = repo.agentwt(&["remove", "task"]);
        assert!(kept(&repo, &said).is_dir(), "{work}: {said}");
        let why = "a submodule's repository has something of its own";
        assert!(said.stderr.contains(why), "{work}: {said}");
        repo.git(&["gc", "-q", "--prune=now"]);
        assert!(has(&repo, &object), "{work}");
        repo.agentwt(&["remove", "--undo", "task"]).ok();
        assert!(has(&repo, &object) && worktree.is_dir(), "{work}");
        let findings = repo.findings(&worktree);
        assert!(!findings.contains("violation"), "{work}: {findings}");
    }
}

#[test]
fn what_only_a_submodules_repository_has_is_kept_by_a_prune_of_a_deleted_directory() {
    for work in ONLY_THERE {
        let (repo, worktree) = with_submodule();
        let object = repo.sh(&worktree.join("vendor/lib"), work).ok();
        std::fs::remove_dir_all(&worktree).expect("a directory");
        let said = repo.agentwt(&["prune"]);
        assert!(said.stdout.contains("; kept in "), "{work}: {said}");
        assert!(has(&repo, &object), "{work}");
        repo.agentwt(&["remove", "--undo", "task"]).ok();
        assert!(has(&repo, &object), "{work}");
    }
}

#[test]
fn an_edit_in_a_submodule_that_a_flag_hides_is_refused_and_kept() {
    for flag in ["--assume-unchanged", "--skip-worktree"] {
        let (repo, worktree) = with_submodule();
        let edit = format!("git update-index {flag} lib.c; echo hidden >lib.c");
        repo.script(&worktree.join("vendor/lib"), &edit);
        let said = refused(&repo, &["remove", "task"]);
        assert!(said.stderr.contains("vendor/lib"), "{said}");
        let kept = kept(&repo, &repo.agentwt(&["remove", "--force", "task"]));
        assert_eq!(text(&kept.join("vendor/lib/lib.c")), "hidden\n");
        repo.agentwt(&["remove", "--undo", "task"]).ok();
        assert_eq!(text(&worktree.join("vendor/lib/lib.c")), "hidden\n");
    }
}

#[test]
fn an_expiry_killed_while_it_deletes_the_private_git_directory_is_finished() {
    // an older version left that registered
    for place in [".git/worktrees/task", ".git/agentwt/trash/*/expired-git"] {
        let repo = TestRepo::project();
        repo.add("task");
        repo.agentwt(&["remove", "task", "--wait"]).ok();
        let kept = repo.main().join(".agentwt/worktrees/.trash");
        std::fs::remove_dir_all(kept).expect("the directory goes first");
        // it is deleted in the order of the directory, so anything may be left of it
        let script = format!(
            "rm -r .git/agentwt/trash/*/git; dir=$(echo {place} | sed \"s,[*],$(ls .git/agentwt/trash),\")
            mkdir -p $dir/logs; : >$dir/logs/HEAD; printf '../..\\n' >$dir/commondir"
        );
        repo.script(repo.main(), &script);
        if place.contains("expired") {
            let said = repo.agentwt(&["remove", "--undo", "task"]);
            assert_eq!(said.status, 4, "{said}");
        }
        repo.git(&["config", "agentwt.trashExpireClean", "now"]);
        repo.agentwt(&["prune"]).ok();
        for left in [".git/worktrees", ".git/agentwt/trash"] {
            assert!(!repo.main().join(left).exists(), "{place}: {left}");
        }
        let held = repo.git(&["for-each-ref", "refs/agentwt"]);
        assert_eq!(held, "", "{place}");
    }
}

/// A worktree whose `add` was killed.
fn incomplete() -> TestRepo {
    let repo = TestRepo::project();
    let line = "git worktree add -q -b agentwt/task .agentwt/worktrees/task";
    repo.script(repo.main(), line);
    repo.write_intent("task", "agentwt/task", 999_999_999, "2026-01-02T03:04:05Z");
    repo
}

#[test]
fn what_was_written_into_an_incomplete_worktree_is_kept() {
    for clear in [
        &["prune"][..],
        &["add", "task", "-b", "agentwt/task", "--write", "src/**"],
    ] {
        let repo = incomplete();
        let work = "echo mine >src/mine.rs; git checkout -q --detach; git commit -q --allow-empty -m mine; git rev-parse HEAD";
        let commit = repo.sh(&repo.worktree("task"), work).ok();
        repo.agentwt(clear).ok();
        let all = repo.main().join(".agentwt/worktrees/.trash");
        let mut all = std::fs::read_dir(all).expect("the trash").flatten();
        let kept = all.next().expect("one is kept").path();
        assert_eq!(text(&kept.join("src/mine.rs")), "mine\n", "{clear:?}");
        repo.git(&["gc", "-q", "--prune=now"]);
        repo.git(&["cat-file", "-e", &commit]);
        assert_eq!(repo.git_in(&kept, &["rev-parse", "HEAD"]), commit);
    }
}

#[test]
fn an_incomplete_worktree_without_work_goes() {
    let repo = incomplete();
    repo.agentwt(&["prune"]).ok();
    assert!(!repo.main().join(".agentwt/worktrees/.trash").exists());
    assert!(!repo.main().join(".git/worktrees").exists());
}
