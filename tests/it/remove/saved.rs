//! What `remove` keeps of a worktree that had work, and how it comes back.

use super::{assert_gone, kept, refused};
use crate::support::{TestRepo, wait_for_end};

#[test]
fn force_keeps_byte_for_byte_what_was_on_disk() {
    let (repo, worktree) = TestRepo::with_task();
    repo.git(&["config", "core.autocrlf", "input"]);
    let script = "printf 'crlf\\r\\n\\0\\377' >src/main.rs; rm tests/t.rs; chmod +x package.json
        echo new >src/new.rs; printf '#!/bin/sh\\n' >src/tool; chmod +x src/tool; ln -s /etc/passwd src/out
        mkdir -p 'src/a b'; printf x >\"$(printf 'src/a b/caf\\351\\n\\t\"q\"')\"; printf x >./-n
        rm -f docs/api.md; mkdir docs/api.md; echo f >docs/api.md/f; mkfifo src/pipe
        mkdir -p secrets; echo mine >secrets/mine; chmod u+w README.md; echo more >>README.md
        ls -laR --time-style=full-iso . | grep -v ' \\.\\.$' >../../../../before";
    repo.script(&worktree, script);
    let kept = kept(
        &repo,
        &repo.agentwt(&["remove", "task", "--force", "--wait"]),
    );
    assert_gone(&repo, "task");
    let script =
        "ls -laR --time-style=full-iso . | grep -v ' \\.\\.$' | diff ../../../../../before -";
    repo.script(&kept, script);
}

#[test]
fn force_keeps_a_link_to_a_directory_and_leaves_what_is_behind_it() {
    let (repo, worktree) = TestRepo::task_after(
        "mv docs ../../../../moved; ln -s ../../../../moved docs; echo ours >../../../../moved/new.md",
    );
    let kept = kept(
        &repo,
        &repo.agentwt(&["remove", "task", "--force", "--wait"]),
    );
    assert!(kept.join("docs").is_symlink());
    let moved = repo.root().join("moved/new.md");
    assert_eq!(std::fs::read(moved).expect("a file"), b"ours\n");
    assert!(!worktree.exists());
}

#[test]
fn detached_commits_and_a_deleted_branch_are_parents_of_what_is_kept() {
    let (repo, worktree) = TestRepo::task_after(
        "git commit -q --allow-empty -m branch; git checkout -q --detach HEAD~
        git commit -q --allow-empty -m detached; echo n >src/new.rs",
    );
    let branch = repo.git(&["rev-parse", "agentwt/task"]);
    let detached = repo.git_in(&worktree, &["rev-parse", "HEAD"]);
    repo.agentwt(&["remove", "task", "--force", "-D"]).ok();
    let parents = repo.git(&["log", "--format=%P", "-1", "--glob=refs/agentwt/trash"]);
    assert!(
        parents.contains(&detached) && parents.contains(&branch),
        "{parents}"
    );
}

#[test]
fn what_was_kept_before_is_not_overwritten_within_the_same_second() {
    let repo = TestRepo::project();
    let mut all = Vec::new();
    for round in 0..3 {
        let worktree = repo.add("task");
        crate::support::write(&worktree, b"src/new.rs", format!("{round}").as_bytes());
        all.push(kept(&repo, &repo.agentwt(&["remove", "task", "--force"])));
    }
    for (round, kept) in all.iter().enumerate() {
        let text = std::fs::read_to_string(kept.join("src/new.rs")).expect("it is kept");
        assert_eq!(text, round.to_string());
    }
    let listed = repo.git(&["worktree", "list"]);
    assert_eq!(listed.lines().count(), 1, "{listed}");
}

#[test]
fn a_branch_in_a_rebase_in_the_trash_is_free() {
    let (repo, _) = TestRepo::task_after(
        "echo ours >src/main.rs; git commit -q -a -m ours
        (cd $MAIN; echo theirs >src/main.rs; git commit -q -a -m theirs); ! git rebase -q main",
    );
    let kept = kept(&repo, &repo.agentwt(&["remove", "task", "--force", "-D"]));
    assert!(kept.join("src/main.rs").exists());
    repo.add("task");
    repo.agentwt(&["remove", "task"]).ok();
    let kept = kept.to_string_lossy();
    repo.agentwt(&["remove", "--undo", "task", "--from", &kept])
        .ok();
    let status = repo.git_in(&repo.worktree("task"), &["status"]);
    assert!(status.contains("rebase in progress"), "{status}");
}

#[test]
fn a_lock_of_the_users_comes_back() {
    let (repo, worktree) = TestRepo::with_task();
    let path = worktree.display().to_string();
    repo.git(&["worktree", "lock", "--reason=mine", &path]);
    repo.agentwt(&["remove", "-ff", "task"]).ok();
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    let listed = repo.git(&["worktree", "list", "--porcelain"]);
    assert!(listed.contains("locked mine"), "{listed}");
}

#[test]
fn replaced_objects_do_not_change_what_comes_back() {
    let (repo, worktree) =
        TestRepo::task_after("echo one >src/main.rs; git commit -qam one; echo two >src/main.rs");
    repo.agentwt(&["remove", "--force", "task"]).ok();
    repo.git(&["replace", "agentwt/task", "main"]);
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    let text = std::fs::read_to_string(worktree.join("src/main.rs")).expect("it is back");
    assert_eq!(text, "two\n");
}

#[test]
fn sockets_and_stat_data_come_back() {
    let (repo, worktree) = TestRepo::with_task();
    let socket =
        std::os::unix::net::UnixListener::bind(worktree.join("src/sock")).expect("a socket");
    let stat = "stat -c '%n %i %Y %Z %a' src/* .git; git ls-files --debug";
    let before = repo.sh(&worktree, stat).ok();
    repo.agentwt(&["remove", "--force", "task"]).ok();
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    assert_eq!(repo.sh(&worktree, stat).ok(), before);
    drop(socket);
}

#[test]
fn ignored_files_are_deleted_in_the_background_and_placed_files_stay() {
    let repo = TestRepo::project();
    repo.write("certs/a.log", "cert\n");
    repo.agentwt(&["add", "task", "--write", "src/**", "--sync", "certs/**"])
        .ok();
    let worktree = repo.worktree("task");
    repo.script(
        &worktree,
        "mkdir target; echo x >target/a; echo x >b.log; echo n >src/new.rs",
    );
    let kept = kept(
        &repo,
        &repo.agentwt(&["remove", "--force", "task", "--wait"]),
    );
    assert!(!kept.join("target").exists() && !kept.join("b.log").exists());
    assert!(kept.join("certs/a.log").exists() && kept.join("src/new.rs").exists());
}

#[test]
fn two_removals_of_the_same_worktrees_in_another_order_do_not_wait_for_each_other() {
    let (repo, _) = TestRepo::task_after("echo n >src/new.rs");
    for name in ["b", "c"] {
        repo.add(name);
    }
    let start = |names: [&str; 2]| {
        let mut command = repo.command(crate::support::binary(), repo.main());
        command.args(["remove", "--force"]).args(names);
        command
            .stdout(std::process::Stdio::null())
            .stderr(std::process::Stdio::null());
        command.spawn().expect("it starts")
    };
    let mut children = [start(["b", "c"]), start(["c", "b"])];
    for child in &mut children {
        wait_for_end("the two wait for each other", child);
    }
    assert_gone(&repo, "b");
    assert_gone(&repo, "c");
}

#[test]
fn commits_that_a_detached_head_was_left_on_are_refused_and_saved() {
    let (repo, _) = TestRepo::task_after(
        "git checkout -q --detach; echo p >>src/main.rs; git commit -qam p; git checkout -q agentwt/task",
    );
    let said = refused(&repo, &["remove", "task"]);
    assert!(
        said.stderr.contains("1 commit is on no other branch"),
        "{said}"
    );
    repo.agentwt(&["remove", "--force", "task"]).ok();
    let saved = repo.git(&["log", "--format=%s", "--glob=refs/agentwt/trash"]);
    assert!(saved.lines().any(|line| line == "p"), "{saved}");
}

#[test]
fn what_an_amend_or_a_rebase_left_behind_is_no_work() {
    let (repo, _) =
        TestRepo::task_after("echo p >>src/main.rs; git commit -qam p; git commit -q --amend -m q");
    repo.git(&["merge", "-q", "--ff-only", "agentwt/task"]);
    repo.agentwt(&["remove", "task"]).ok();
    assert_gone(&repo, "task");
}

#[test]
fn a_worktree_that_was_moved_is_refused() {
    let (repo, worktree) = TestRepo::with_task();
    let elsewhere = repo.root().join("elsewhere");
    let from = worktree.display().to_string();
    repo.git(&["worktree", "move", &from, &elsewhere.display().to_string()]);
    let said = repo.agentwt(&["remove", "--force", "task"]);
    said.fails(4);
    assert!(
        said.stderr.contains("it was moved to $TMP/elsewhere"),
        "{said}"
    );
    assert_eq!(repo.git_in(&elsewhere, &["status", "--porcelain"]), "");
}

#[test]
fn what_is_below_a_directory_named_like_gits_is_refused_and_force_keeps_it() {
    let (repo, worktree) = TestRepo::task_after("mkdir src/.git; echo precious >src/.git/e");
    repo.agentwt(&["remove", "task"]).fails(4);
    assert!(worktree.join("src/.git/e").exists());
    let kept = kept(&repo, &repo.agentwt(&["remove", "--force", "task"]));
    assert!(kept.join("src/.git/e").exists());
}

#[test]
fn what_was_staged_is_not_lost_with_a_directory_that_is_gone() {
    let (repo, worktree) = TestRepo::task_after("echo precious >src/p; git add src/p");
    std::fs::remove_dir_all(&worktree).expect("it is ours");
    let said = refused(&repo, &["remove", "task"]);
    assert!(said.stderr.contains("src/p"), "{said}");
    repo.agentwt(&["remove", "--force", "task"]).ok();
    repo.git(&["gc", "-q", "--prune=now"]);
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    assert_eq!(repo.git_in(&worktree, &["show", ":src/p"]), "precious");
}
