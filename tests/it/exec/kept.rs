//! What is kept of a run beside its commits: branches, tags, and what was reset away.

use super::{meanwhile, private, runs, with_git};
use crate::support::{allow_root, fenced_task};

#[test]
fn a_branch_of_a_run_is_kept_also_where_its_commit_was_there() {
    let Some(repo) = fenced_task() else { return };
    let script = "set -e; git switch -qc side; echo 1 >src/main.rs; git commit -qam side";
    repo.fenced(&[], script).ok();
    let script = "set -e; git switch -q agentwt/task; git branch same; git branch same2 main
        git commit -q --allow-empty -m gone; git reset -q --hard HEAD~; git stash list";
    repo.fenced(&[], script).ok();
    let gone = repo.git_in(
        &repo.worktree("task"),
        &["log", "-1", "--format=%H", "-g", "--grep-reflog=abandoned"],
    );
    repo.fenced(&[], &format!("git tag saved {gone}")).ok();
    let all = [
        "log",
        "--format=%s",
        "--glob=refs/agentwt/kept",
        "--not",
        "agentwt/task",
    ];
    let mut all: Vec<String> = repo.git(&all).lines().map(str::to_owned).collect();
    all.sort_unstable();
    assert_eq!(all, ["gone", "side"]);
    let said = repo.fenced(&[], "true");
    said.ok();
    assert!(!said.stderr.contains("are kept"), "{said}");
    // what an earlier run left for a time is kept, too
    let script = "git checkout -q --detach; git commit -q --allow-empty -m detached";
    repo.fenced(&[], script).ok();
    repo.fenced(&[], "git branch save; git switch -q agentwt/task")
        .ok();
    let kept = repo.git(&["log", "--format=%s", "--glob=refs/agentwt/kept"]);
    assert!(kept.contains("detached"), "{kept}");
}

#[test]
fn what_a_stopped_import_has_fetched_is_kept_all_the_same() {
    let Some(repo) = fenced_task() else { return };
    let script = "git switch -qc side; git commit -q --allow-empty -m side; git switch -q -
        git commit -q --allow-empty -m gone; git reset -q --hard HEAD~; git commit -q --allow-empty -m good
        echo 1 >src/main.rs; git stash -q; git checkout -q --detach HEAD~";
    let said = meanwhile(&repo, script, || {
        let from = private(&repo).join("git/objects/??");
        let to = repo.main().join(".git/objects");
        // objects are read-only
        let copy = format!("cp -Rn {} {}", from.display(), to.display());
        repo.sh(repo.main(), &copy).ok();
    });
    said.ok();
    assert_eq!(repo.log_of_task(), "good");
    let mut kept: Vec<String> = repo
        .git(&[
            "log",
            "--format=%s",
            "--glob=refs/agentwt/",
            "--not",
            "agentwt/task",
        ])
        .lines()
        .map(|line| line.split(' ').next().unwrap_or_default().to_owned())
        .collect();
    kept.sort_unstable();
    assert_eq!(kept, ["WIP", "gone", "index", "side"]);
    repo.fenced(&[], "git switch -q agentwt/task; git stash drop -q")
        .ok();
    let worktree = repo.worktree("task");
    let log = repo.git_in(&worktree, &["log", "-g", "--format=%s"]);
    assert!(log.contains("gone"), "{log}");
}

#[test]
fn a_name_that_no_ref_can_have_hides_no_commit() {
    let Some(repo) = fenced_task() else { return };
    let script = "set -e; git commit -q --allow-empty -m one; git pack-refs --all
        echo \"$(git rev-parse HEAD) ../../x: Permission denied\" >>$AGENTWT_PRIVATE_GIT/packed-refs";
    repo.fenced(&[], script).ok();
    assert_eq!(repo.log_of_task(), "one");
    // nor is what git quotes of a file taken for what the disk said
    let script = "set -e; mkdir src/m; printf '[submodule \"x\"]\n\tpath = x\n\turl = --x: Permission denied\n' >src/m/.gitmodules
        git add src/m; git commit -qm two";
    repo.fenced(&[], script).fails(5);
    let said = repo.fenced(&[], "true");
    said.ok();
    assert!(said.stderr.contains("is damaged"), "{said}");
}

#[test]
fn what_a_command_reset_away_is_in_the_reflog() {
    let Some(repo) = fenced_task() else { return };
    let script = "set -e; echo 1 >src/one.rs; git add -A; git commit -qm one; git rev-parse HEAD
        git commit -q --amend -m two; git rev-parse HEAD; git reset -q --hard HEAD~1";
    let said = repo.fenced(&[], script).ok();
    assert_eq!(said.lines().count(), 2);
    let log = repo.git_in(&repo.worktree("task"), &["reflog", "--no-abbrev"]);
    for abandoned in said.lines() {
        assert!(log.contains(abandoned), "{log}");
        repo.git(&["gc", "--quiet", "--prune=now"]);
        repo.git(&["cat-file", "-e", abandoned]);
    }
    assert_eq!(runs(&repo), "");
    repo.agentwt(&["verify", "task"]).ok();
    repo.fenced(&[], "true").ok();
    repo.agentwt(&["remove", "task"]).ok();
}

#[test]
fn what_a_command_reset_away_is_kept_by_a_ref_while_a_git_has_the_lock_of_head() {
    let Some(repo) = fenced_task() else { return };
    let log = repo.main().join(".git/worktrees/task/logs/HEAD");
    let before = std::fs::read_to_string(&log).expect("the log of HEAD");
    let lock = repo.main().join(".git/worktrees/task/HEAD.lock");
    std::fs::write(&lock, "").expect("the lock of a git");
    let script = "set -e; echo 1 >src/one.rs; git add -A; git commit -qm one; git rev-parse HEAD
        git reset -q --hard HEAD~1";
    let abandoned = repo.fenced(&[], script).ok();
    let after = std::fs::read_to_string(&log).expect("the log of HEAD");
    assert_eq!(
        after, before,
        "the git that has the lock may write the log anew"
    );
    std::fs::remove_file(&lock).expect("the lock is still that of the other git");
    repo.git(&["gc", "--quiet", "--prune=now"]);
    repo.git(&["cat-file", "-e", &abandoned]);
}

#[test]
fn branches_and_tags_of_a_run_are_kept_and_stop_nothing() {
    let Some(repo) = fenced_task() else { return };
    let script =
        "set -e; git tag -am t t; git branch merged; git switch -qc side; echo 1 >src/side.rs
        git add -A; git commit -qm side; git switch -q agentwt/task";
    let said = repo.fenced(&[], script);
    said.ok();
    let named = "kept (2): refs/heads/side, refs/tags/t; to see them";
    assert!(said.stderr.contains(named), "{said}");
    for kept in runs(&repo).lines() {
        repo.git(&["rev-parse", "-q", "--verify", kept]);
    }
    assert_eq!(runs(&repo).matches("refs/agentwt/kept/task/").count(), 2);
    let said = repo.fenced(&[], "true");
    assert_eq!(said.ok() + &said.stderr, "");
    repo.agentwt(&["remove", "task"]).ok();
}

#[test]
fn what_a_run_left_is_kept_where_the_directory_is_gone() {
    for with_git in [true, false] {
        let Some(repo) = fenced_task() else { return };
        let worktree = repo.worktree("task");
        let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
        let said = meanwhile(&repo, script, || {
            if with_git {
                let path = worktree.to_str().expect("UTF-8");
                repo.git(&["worktree", "remove", "--force", path]);
            } else {
                std::fs::remove_dir_all(&worktree).expect("it is ours");
            }
        });
        assert_ne!(said.status, 0, "{said}");
        let said = repo.fenced(&[], "true");
        assert_eq!(said.status, 125, "{said}");
        assert!(said.stderr.contains("git agentwt prune"), "{said}");
        // as git-lfs stores them
        let large = "set -e; mkdir -p lfs/objects/aa/bb; echo big >big
            mv big lfs/objects/aa/bb/$(sha256sum big | cut -c 1-64); ls lfs/objects/aa/bb";
        let large = repo.sh(&private(&repo).join("git"), large).ok();
        for prune in [&["prune", "-n"][..], &["prune"]] {
            let kept = repo.agentwt(prune).ok();
            assert!(kept.contains("left work that is not imported"), "{kept}");
            assert!(kept.contains("git agentwt remove --force task"), "{kept}");
        }
        let said = repo.agentwt(&["remove", "--force", "task"]);
        said.ok();
        assert!(!private(&repo).exists());
        let contents = repo.main().join(".git/lfs/objects/aa/bb");
        assert!(contents.join(large).exists(), "{said}");
        if with_git {
            let glob = "--glob=refs/agentwt/kept/task";
            assert!(
                said.stderr.contains(&format!("is kept: git log {glob}")),
                "{said}"
            );
            assert_eq!(repo.git(&["log", "-1", "--format=%s", glob]), "one");
        } else {
            // the whole of it is in the trash
            repo.agentwt(&["remove", "--undo", "task"]).ok();
            repo.git_in(&worktree, &["checkout", "-q", "."]);
            repo.fenced(&[], "true").ok();
            assert_eq!(repo.log_of_task(), "one");
        }
    }
}

#[test]
fn nothing_is_kept_of_a_run_that_made_nothing_where_the_directory_is_gone() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let path = worktree.to_str().expect("UTF-8");
    let said = meanwhile(&repo, "true", || {
        repo.git(&["worktree", "remove", "--force", path]);
    });
    assert_ne!(said.status, 0, "{said}");
    let said = repo.agentwt(&["remove", "--force", "task"]);
    said.ok();
    assert!(!said.stderr.contains("is kept"), "{said}");
    let kept = repo.git(&["for-each-ref", "refs/agentwt/kept"]);
    assert_eq!(kept, "", "{said}");
}

#[test]
fn what_a_command_reset_away_is_kept_by_a_ref_where_the_user_deletes_the_branch_meanwhile() {
    let Some(repo) = fenced_task() else { return };
    // right after the import has moved it
    let git = "case \" $* \" in *\"of a fenced command\"*) git \"$@\" || exit
        git update-ref -d refs/heads/agentwt/task; exit;; esac; exec git \"$@\"";
    let path = with_git(&repo, git);
    let allow = allow_root();
    let script = "git commit -q --allow-empty -m gone; git reset -q --hard HEAD~1
        git commit -q --allow-empty -m one";
    let line = format!("{path} git-agentwt exec task {allow} -- sh -c '{script}'");
    let said = repo.sh(repo.main(), &line);
    let gone = repo.try_git(repo.main(), &["rev-parse", "--verify", "agentwt/task"]);
    assert_ne!(gone.status, 0, "{said}");
    let kept = repo.git(&["log", "--format=%s", "--glob=refs/agentwt", "--not", "main"]);
    assert!(
        kept.lines().any(|subject| subject == "gone"),
        "{kept}: {said}"
    );
}

#[test]
fn what_a_run_reset_away_is_kept_and_what_git_refuses_stops_nothing_where_the_directory_is_gone() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let script = "set -e; git commit -q --allow-empty -m gone; git reset -q --hard HEAD~1
        git commit -q --allow-empty -m one
        bad=$(printf 'tree %s\\n\\nbad\\n' $(git write-tree) |
            git hash-object -t commit -w --stdin --literally)
        echo $bad >$AGENTWT_PRIVATE_GIT/refs/heads/bad";
    let _ = meanwhile(&repo, script, || {
        let path = worktree.to_str().expect("UTF-8");
        repo.git(&["worktree", "remove", "--force", path]);
    });
    // as if the command had been killed: then nothing was imported
    let forget = "git for-each-ref --format='delete %(refname)' refs/agentwt |
        git update-ref --stdin; git gc -q --prune=now";
    repo.sh(repo.main(), forget).ok();
    let said = repo.agentwt(&["remove", "--force", "task"]);
    assert_eq!(said.status, 0, "{said}");
    assert!(said.stderr.contains("can be fetched ("), "{said}");
    let kept = repo.git(&[
        "log",
        "--format=%s",
        "--glob=refs/agentwt/kept",
        "--not",
        "main",
    ]);
    let mut kept: Vec<&str> = kept.lines().collect();
    kept.sort_unstable();
    assert_eq!(kept, ["gone", "one"]);
    let bad = "find .git/agentwt/trash -path '*/private/git/refs/heads/bad'";
    assert_ne!(
        repo.sh(repo.main(), bad).ok(),
        "",
        "what cannot be fetched is in the trash"
    );
}

#[test]
fn what_only_a_remote_tracking_ref_keeps_comes_home_unless_git_has_fetched_it() {
    let Some(repo) = fenced_task() else { return };
    let script = "set -e; git update-ref refs/remotes/x/y $(git commit-tree -m mine HEAD^{tree})
        side=$(git commit-tree -m also-mine HEAD^{tree}); git update-ref refs/side $side
        git fetch -q . refs/side:refs/remotes/x/side; git update-ref -d refs/side
        git init -q -b main src/other; git -C src/other commit -q --allow-empty -m theirs
        git -c remote.other.url=src/other fetch -q other main:refs/remotes/other/main
        rm -rf src/other";
    let said = repo.fenced(&[], script);
    said.ok();
    let kept = repo.git(&["log", "--format=%s", "--glob=refs/agentwt/kept"]);
    let mut kept: Vec<&str> = kept.lines().collect();
    kept.sort_unstable();
    assert_eq!(kept, ["also-mine", "mine"], "{said}");
}
