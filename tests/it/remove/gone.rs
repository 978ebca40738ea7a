//! What goes with a worktree: its branch, ignored files, what is left of one whose directory is gone.

use insta::assert_snapshot;

use super::{assert_gone, kept, refused, trash, without_time};
use crate::support::{TestRepo, as_ordinary_user, chmod};

#[test]
fn a_merged_worktree_goes_with_its_branch() {
    let (repo, _) = TestRepo::task_after(
        "echo x >>src/main.rs; git commit -q -a -m x; git -C $MAIN merge -q agentwt/task",
    );
    assert_snapshot!(repo.agentwt(&["remove", "task"]), @"
    --- stderr
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was 7d790cc5ac)
    --- status 0
    ");
    assert_gone(&repo, "task");
    assert_eq!(repo.git(&["branch", "--list", "agentwt/*"]), "");
    assert_eq!(repo.own_refs(), [""; 0]);
}

#[test]
fn keep_branch_keeps_the_branch_and_its_commits() {
    let (repo, _) = TestRepo::task_after("echo x >>src/main.rs; git commit -q -a -m x");
    assert_snapshot!(repo.agentwt(&["remove", "task", "--keep-branch"]), @"
    --- stderr
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task stays
    --- status 0
    ");
    assert_gone(&repo, "task");
    assert_eq!(
        repo.git(&["rev-list", "--count", "main..agentwt/task"]),
        "1"
    );
}

#[test]
fn a_deleted_branch_that_is_not_merged_is_kept_under_the_trash_ref() {
    let (repo, worktree) = TestRepo::task_after("echo x >>src/main.rs; git commit -q -a -m x");
    let tip = repo.git_in(&worktree, &["rev-parse", "HEAD"]);
    let said = repo.agentwt(&["remove", "task", "-D"]);
    assert_snapshot!(without_time(&said, "task"), @"
    refs/agentwt/trash/task/TIME
    --- stderr
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was 7d790cc5ac)
    kept its commits; to see them: git log refs/agentwt/trash/task/TIME
    --- status 0
    ");
    assert_eq!(repo.git(&["rev-parse", &trash(&said)]), tip);
    assert_eq!(repo.git(&["branch", "--list", "agentwt/*"]), "");
}

#[test]
fn force_keeps_a_branch_that_is_not_merged() {
    let (repo, _) = TestRepo::task_after("echo x >>src/main.rs; git commit -q -a -m x");
    repo.agentwt(&["remove", "task", "--force"]).ok();
    assert_gone(&repo, "task");
    assert_eq!(
        repo.git(&["rev-list", "--count", "main..agentwt/task"]),
        "1"
    );
}

#[test]
fn a_branch_of_the_users_own_stays() {
    let repo = TestRepo::project();
    repo.git(&["branch", "mine"]);
    repo.agentwt(&["add", "task", "-b", "mine", "--write", "src/**"])
        .ok();
    repo.agentwt(&["remove", "task"]).ok();
    assert_gone(&repo, "task");
    repo.git(&["rev-parse", "refs/heads/mine"]);
}

#[test]
fn a_branch_that_is_checked_out_elsewhere_by_now_stays() {
    let (repo, _) = TestRepo::task_after("git checkout -q --detach");
    repo.git(&["switch", "-q", "agentwt/task"]);
    repo.agentwt(&["remove", "task"]).ok();
    assert_gone(&repo, "task");
    assert_eq!(
        repo.git(&["symbolic-ref", "HEAD"]),
        "refs/heads/agentwt/task"
    );
    repo.git(&["rev-parse", "refs/heads/agentwt/task"]);
}

#[test]
fn two_worktrees_with_the_same_commits_do_not_vouch_for_each_other() {
    let (repo, worktree) = TestRepo::task_after("echo x >>src/main.rs; git commit -q -a -m x");
    let tip = repo.git_in(&worktree, &["rev-parse", "HEAD"]);
    repo.agentwt(&[
        "add",
        "second",
        "--base",
        "agentwt/task",
        "--write",
        "src/**",
    ])
    .ok();
    let _ = refused(&repo, &["remove", "task", "second"]);
    repo.agentwt(&["remove", "second"]).ok();
    assert_eq!(repo.git(&["rev-parse", "agentwt/task"]), tip);
}

#[test]
fn ignored_files_go_and_are_counted() {
    let (repo, _) = TestRepo::task_after("mkdir target; echo x >target/a; echo x >b.log");
    assert_snapshot!(repo.agentwt(&["remove", "task"]), @"
    --- stderr
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was af82e40edf), 2 ignored files (b.log 2 B, target/ 2 B)
    --- status 0
    ");
    assert_gone(&repo, "task");
}

#[test]
fn read_only_directories_do_not_stop_it() {
    let (repo, worktree) = TestRepo::task_after("mkdir -p target/deep; echo x >target/deep/f");
    chmod(&worktree.join("target/deep"), 0o555);
    chmod(&worktree.join("src"), 0o555);
    repo.agentwt(&["remove", "task"]).ok();
    assert_gone(&repo, "task");
}

#[test]
fn a_directory_that_is_gone_already_is_forgotten() {
    let (repo, worktree) = TestRepo::with_task();
    std::fs::remove_dir_all(&worktree).expect("it is there");
    assert_snapshot!(repo.agentwt(&["remove", "task"]), @"
    --- stderr
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was af82e40edf)
    --- status 0
    ");
    assert_gone(&repo, "task");
    assert_eq!(repo.git(&["branch", "--list", "agentwt/*"]), "");
}

#[test]
fn commits_are_not_lost_when_the_directory_is_gone_already() {
    let (repo, worktree) = TestRepo::task_after("echo x >>src/main.rs; git commit -q -a -m x");
    let tip = repo.git_in(&worktree, &["rev-parse", "HEAD"]);
    std::fs::remove_dir_all(&worktree).expect("it is there");
    let _ = refused(&repo, &["remove", "task"]);
    let said = repo.agentwt(&["remove", "task", "-D"]);
    assert_eq!(repo.git(&["rev-parse", &trash(&said)]), tip);
    assert_gone(&repo, "task");
}

#[test]
fn detached_commits_are_not_lost_when_the_directory_is_gone_already() {
    let (repo, worktree) = TestRepo::task_after(
        "git checkout -q --detach; echo x >>src/main.rs; git commit -q -a -m x",
    );
    let tip = repo.git_in(&worktree, &["rev-parse", "HEAD"]);
    std::fs::remove_dir_all(&worktree).expect("it is there");
    let _ = refused(&repo, &["remove", "task"]);
    repo.agentwt(&["remove", "task", "--force"]).ok();
    assert_gone(&repo, "task");
    let kept = repo.own_refs();
    assert!(kept.len() == 1 && kept[0].ends_with(&tip), "{kept:?}");
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    assert_eq!(repo.git_in(&worktree, &["rev-parse", "HEAD"]), tip);
}

#[test]
fn a_worktree_of_plain_git_is_never_touched() {
    let (repo, worktree) = TestRepo::with_task();
    repo.git(&["worktree", "add", "-q", "../away"]);
    // it is on a disk that is not there now
    std::fs::rename(repo.root().join("away"), repo.root().join("unplugged")).expect("it moves");
    std::fs::remove_dir_all(&worktree).expect("it is there");
    repo.agentwt(&["remove", "task"]).ok();
    std::fs::rename(repo.root().join("unplugged"), repo.root().join("away")).expect("it moves");
    repo.git_in(&repo.root().join("away"), &["status"]);
}

#[test]
fn a_worktree_whose_git_file_was_removed_or_redirected_goes_too() {
    for script in [
        "rm .git",
        "echo 'gitdir: /nowhere' >.git",
        "rm .git; mkdir .git",
        "rm .git; ln -s /nowhere .git",
    ] {
        let (repo, _) = TestRepo::task_after(script);
        let said = repo.agentwt(&["remove", "task", "--force"]);
        assert_eq!(said.status, 0, "{script}: {said}");
        assert_gone(&repo, "task");
    }
}

#[test]
fn a_worktree_whose_private_git_directory_was_removed_goes_too() {
    let (repo, _) = TestRepo::task_after("echo n >src/new.rs");
    std::fs::remove_dir_all(repo.main().join(".git/worktrees/task")).expect("it is there");
    let _ = refused(&repo, &["remove", "task"]);
    let said = repo.agentwt(&["remove", "task", "--force"]);
    let new = std::fs::read_to_string(kept(&repo, &said).join("src/new.rs"));
    assert_eq!(new.expect("it is kept"), "n\n");
    assert_gone(&repo, "task");
}

#[test]
fn a_repository_in_place_of_the_git_file_is_refused() {
    let (repo, worktree) =
        TestRepo::task_after("rm .git; git init -q .; git commit -q --allow-empty -m mine");
    assert_snapshot!(refused(&repo, &["remove", "task"]), @"
    --- stderr
    error: cannot remove worktree `task`: a repository is inside it: .git
    help: move it out of $TMP/repo/.agentwt/worktrees/task, or keep it in the trash, without what the base ignores: git agentwt remove --force task
    --- status 4
    ");
    repo.git_in(&worktree, &["rev-parse", "HEAD"]);
}

#[test]
fn a_link_in_place_of_the_worktree_is_refused_and_not_followed() {
    let (repo, worktree) = TestRepo::with_task();
    let elsewhere = repo.root().join("elsewhere");
    std::fs::rename(&worktree, &elsewhere).expect("it moves");
    std::os::unix::fs::symlink(&elsewhere, &worktree).expect("a link");
    assert_snapshot!(refused(&repo, &["remove", "task", "--force"]), @"
    --- stderr
    error: cannot remove worktree `task`: it was moved to $TMP/elsewhere
    help: move it back first: git worktree move $TMP/elsewhere $TMP/repo/.agentwt/worktrees/task, or where $TMP/repo/.agentwt/worktrees/task is a link: rm $TMP/repo/.agentwt/worktrees/task && mv $TMP/elsewhere $TMP/repo/.agentwt/worktrees/task
    --- status 4
    ");
    assert!(elsewhere.join("src/main.rs").exists());
    let back = format!(
        "rm {0} && mv {1} {0}",
        worktree.display(),
        elsewhere.display()
    );
    repo.sh(repo.root(), &back).ok();
    repo.agentwt(&["remove", "task"]).ok();
    assert!(!worktree.exists());
}

#[test]
fn each_command_says_where_a_worktree_was_moved_to() {
    let (repo, worktree) = TestRepo::with_task();
    let elsewhere = repo.root().join("elsewhere").display().to_string();
    repo.git(&[
        "worktree",
        "move",
        &worktree.display().to_string(),
        &elsewhere,
    ]);
    for command in [
        "verify task",
        "list",
        "status task",
        "doctor",
        "path task",
        "open task",
        "exec task -- true",
        "land task",
        "remove task",
        "prune -n",
    ] {
        let words: Vec<&str> = command.split(' ').collect();
        let said = repo.agentwt(&words).to_string();
        // a long line may be broken
        let text = said.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(
            text.contains("was moved to $TMP/elsewhere"),
            "{command}: {said}"
        );
        let back = "git worktree move $TMP/elsewhere $TMP/repo/.agentwt/worktrees/task";
        assert!(text.contains(back), "{command}: {said}");
        assert!(!text.contains("git agentwt prune"), "{command}: {said}");
        assert!(!text.contains("record was removed"), "{command}: {said}");
    }
    repo.git(&[
        "worktree",
        "move",
        &elsewhere,
        &worktree.display().to_string(),
    ]);
    repo.agentwt(&["verify", "task"]).ok();
}

#[test]
fn what_cannot_be_read_is_refused_and_force_keeps_it() {
    let (repo, _) = TestRepo::task_after(
        "echo work >src/main.rs; chmod 000 src/main.rs; mkdir src/closed; echo x >src/closed/f; chmod 000 src/closed",
    );
    let arguments = ["remove", "task"];
    let Some(said) = as_ordinary_user(&repo, repo.main(), &arguments) else {
        return;
    };
    assert_snapshot!(said, @"
    --- stderr
    error: cannot remove worktree `task`: it cannot be read whether work would be lost
      src/closed (it cannot be read)
      src/main.rs (it cannot be read)
    help: chmod -R u+rX $TMP/repo/.agentwt/worktrees/task, or keep it in the trash, without what the base ignores: git agentwt remove --force task
    --- status 4
    ");
    let arguments = ["remove", "task", "--force"];
    let said = as_ordinary_user(&repo, repo.main(), &arguments).expect("a user");
    assert!(kept(&repo, &said).join("src/main.rs").exists());
}

#[test]
fn a_dry_run_says_what_would_be_and_touches_nothing() {
    let (repo, _) = TestRepo::task_after("echo n >src/new.rs; echo x >b.log");
    let before = repo.fingerprint();
    assert_snapshot!(repo.agentwt(&["remove", "task", "--force", "-n"]), @"
    --- stderr
    would remove task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was af82e40edf), 1 ignored file (b.log 2 B)
      would keep it in the trash, with 1 uncommitted file
    --- status 0
    ");
    assert_eq!(repo.fingerprint(), before);
    let _ = refused(&repo, &["remove", "task", "-n"]);
    repo.add("clean");
    assert_snapshot!(repo.agentwt(&["remove", "clean", "-n"]), @"
    --- stderr
    would remove clean: $TMP/repo/.agentwt/worktrees/clean, branch agentwt/clean (was af82e40edf)
    --- status 0
    ");
}

#[test]
fn json_names_what_is_kept() {
    let (repo, _) = TestRepo::task_after("echo n >src/new.rs; git commit -q --allow-empty -m x");
    let said = repo.agentwt(&["remove", "task", "--force", "-D", "--json"]);
    let value: serde_json::Value = serde_json::from_str(&said.ok()).expect("it is JSON");
    assert_eq!(value["schema"], "agentwt.remove/1");
    let one = &value["worktrees"][0];
    assert_eq!(one["branch_fate"], "deleted");
    assert_eq!(one["saved"], serde_json::Value::Null);
    let name = one["trash"]["ref"].as_str().expect("a ref");
    assert_eq!(one["trash"]["commit"], repo.git(&["rev-parse", name]));
    let directory = one["trash"]["directory"].as_str().expect("a directory");
    assert!(repo.main().join(directory).join("src/new.rs").exists());
}

#[test]
fn a_file_in_the_place_of_a_worktree_is_never_deleted() {
    for force in [&["remove", "task"][..], &["remove", "-f", "task"]] {
        let (repo, worktree) = TestRepo::task_after("true");
        std::fs::remove_dir_all(&worktree).expect("it is ours");
        std::fs::write(&worktree, "mine\n").expect("a file");
        let said = refused(&repo, force);
        assert!(
            said.stderr.contains("something else stands in its place"),
            "{said}"
        );
        let (_, way) = said.stderr.split_once("move it away: ").expect("a way");
        assert!(
            way.starts_with("mv $TMP/repo/.agentwt/worktrees/task "),
            "{way}"
        );
        repo.sh(repo.main(), "mv .agentwt/worktrees/task ../mine")
            .ok();
        repo.agentwt(force).ok();
    }
}

#[test]
fn an_undo_says_that_the_files_were_deleted_in_the_trash() {
    let (repo, worktree) = TestRepo::task_after("echo work >src/work");
    repo.agentwt(&["remove", "-f", "task"]).ok();
    repo.git(&["clean", "-q", "-fdx"]);
    let said = repo.agentwt(&["remove", "--undo", "task"]);
    said.ok();
    assert!(
        said.stderr.contains("none of its files came back"),
        "{said}"
    );
    let (_, way) = said.stderr.split_once("comes by: ").expect("a way");
    let way = way.lines().next().expect("a line");
    let root = repo.root().to_str().expect("UTF-8");
    repo.sh(repo.main(), &way.replace("$TMP", root)).ok();
    assert!(worktree.join("src/main.rs").exists());
}
