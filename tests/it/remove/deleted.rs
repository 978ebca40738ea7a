//! How a worktree is taken away: moved aside at once, deleted later, and finished by whoever
//! comes after one that was killed.

use std::path::Path;

use super::{assert_gone, refused};
use crate::support::{Shim, TestRepo, as_ordinary_user, calls, chmod, wait_until};

const KILLS_ITS_PARENT: &str = "kill -9 $PPID; exit 77";

/// Puts so many files into a worktree that they are not deleted at once.
fn fill(worktree: &Path) {
    for directory in 0..200 {
        let directory = worktree.join(format!("target/{directory}"));
        std::fs::create_dir_all(&directory).expect("a directory");
        for file in 0..150 {
            std::fs::write(directory.join(file.to_string()), "").expect("a file");
        }
    }
}

/// Where an older version put what it was about to delete.
fn old_bin(repo: &TestRepo) -> std::path::PathBuf {
    repo.main().join(".agentwt/worktrees/.deleted")
}

/// What waits in the trash to be deleted.
fn expired(repo: &TestRepo) -> Vec<String> {
    let trash = repo.main().join(".agentwt/worktrees/.trash");
    let mut names = Vec::new();
    for entry in std::fs::read_dir(trash).into_iter().flatten().flatten() {
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    names.retain(|name| name.starts_with(".expired-"));
    names
}

#[test]
fn what_takes_long_is_deleted_in_the_background() {
    let (repo, worktree) = TestRepo::with_task();
    fill(&worktree);
    chmod(&worktree.join("target/7"), 0o500);
    repo.agentwt(&["remove", "task"]).ok();
    assert_gone(&repo, "task");
    let kept = repo
        .sh(repo.main(), "ls -d .agentwt/worktrees/.trash/task-*")
        .ok();
    let output = repo.main().join(kept).join("target");
    wait_until("the background deletes it", || !output.exists());
}

#[test]
fn who_waits_finds_nothing_left() {
    let (repo, worktree) = TestRepo::with_task();
    fill(&worktree);
    repo.agentwt(&["remove", "task", "--wait"]).ok();
    assert_gone(&repo, "task");
    let left = "find .agentwt/worktrees/.trash -name target";
    assert_eq!(repo.sh(repo.main(), left).ok(), "");
    repo.git(&["config", "agentwt.trashExpireClean", "now"]);
    repo.agentwt(&["prune"]).ok();
    wait_until("the background deletes it", || expired(&repo).is_empty());
}

#[test]
fn what_a_dead_one_left_in_the_trash_goes_with_the_next() {
    for bin in [".trash/.expired-old-1-2", ".deleted/old-1-2"] {
        let (repo, _) = TestRepo::with_task();
        let left = repo.main().join(".agentwt/worktrees").join(bin);
        std::fs::create_dir_all(left.join("deep")).expect("a directory");
        std::os::unix::fs::symlink(repo.main().join("src"), left.join("link")).expect("a link");
        repo.agentwt(&["remove", "task"]).ok();
        assert!(!left.exists(), "{bin}");
        assert!(!old_bin(&repo).exists() && expired(&repo).is_empty());
        assert!(repo.main().join("src/main.rs").exists());
    }
}

#[test]
fn links_on_the_way_are_refused_and_nothing_behind_them_is_touched() {
    let (repo, worktree) = TestRepo::with_task();
    let elsewhere = repo.root().join("elsewhere");
    let kept = repo.main().join(".agentwt/worktrees/.trash");
    std::os::unix::fs::symlink(repo.main().join("docs"), &kept).expect("a link");
    let said = repo.agentwt(&["remove", "task"]);
    assert_eq!(said.status, 6, "{said}");
    assert!(worktree.join(".git").exists() && repo.main().join("docs/api.md").exists());
    std::fs::remove_file(&kept).expect("a link");
    let worktrees = repo.main().join(".agentwt/worktrees");
    std::fs::rename(&worktrees, &elsewhere).expect("it moves");
    std::os::unix::fs::symlink(&elsewhere, &worktrees).expect("a link");
    let said = repo.agentwt(&["remove", "-ff", "task"]);
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stderr.contains("is a link"), "{said}");
    assert!(elsewhere.join("task/src/main.rs").exists());
}

#[test]
fn a_record_that_names_another_place_removes_nothing() {
    let (repo, _) = TestRepo::with_task();
    let precious = repo.root().join("precious");
    repo.script(repo.root(), "mkdir precious; echo x >precious/f");
    let record = repo.main().join(".git/agentwt/worktrees/task/record.toml");
    let text = std::fs::read_to_string(&record).expect("a record");
    let own = repo.worktree("task").display().to_string();
    let text = text.replace(
        &format!("path = \"{own}\""),
        &format!("path = \"{}\"", precious.display()),
    );
    std::fs::write(&record, text).expect("a record");
    let said = repo.agentwt(&["remove", "-ff", "task"]);
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stderr.contains("names another place"), "{said}");
    assert!(precious.join("f").exists());
}

/// Kills a removal at each call of git; the next one finishes, and loses nothing.
fn killed_at_any_call(remove: &[&str], script: &str, kept: &[&str]) {
    let (repo, _) = TestRepo::task_after(script);
    repo.keep_as("pristine");
    let shim = Shim::new(repo.root(), KILLS_ITS_PARENT);
    for at in calls(1) {
        repo.bring_back("pristine");
        let (said, call) = shim.run(&repo, remove, at);
        let Some(call) = call else {
            said.ok();
            assert!(at > 2, "git was called: {at}");
            break;
        };
        assert_eq!(said.status, 137, "call {at}, git {call}: {said}");
        let again = repo.agentwt(remove);
        // killed when all was done, there is nothing left to remove
        assert!(
            matches!(again.status, 0 | 7),
            "killed at {at}, git {call}: {again}"
        );
        assert_gone(&repo, "task");
        assert_eq!(
            repo.git(&["branch", "--list", "agentwt/*"]),
            "",
            "{at}, git {call}"
        );
        let left = repo.sh(
            repo.main(),
            "ls -A .agentwt/worktrees .git/agentwt/worktrees 2>/dev/null; true",
        );
        assert!(
            !left.stdout.contains("task") && !left.stdout.contains("deleted"),
            "{at}, git {call}: {left}"
        );
        if !kept.is_empty() {
            repo.git(&["gc", "-q", "--prune=now"]);
            let undone = repo.agentwt(&["remove", "--undo", "task"]);
            assert_eq!(undone.status, 0, "killed at {at}, git {call}: {undone}");
        }
        for what in kept {
            let path = repo.worktree("task").join(what);
            assert!(path.exists(), "killed at {at}, git {call}: {what} is lost");
        }
    }
}

#[test]
fn killed_at_any_call_the_next_removal_finishes() {
    killed_at_any_call(&["remove", "task"], "echo x >b.log", &[]);
}

#[test]
fn killed_at_any_call_nothing_is_lost_that_was_forced() {
    killed_at_any_call(
        &["remove", "task", "-f", "-D"],
        "echo 1 >src/one; git add .; git commit -qm one; echo 2 >src/two; rm docs/guide.md",
        &["src/one", "src/two"],
    );
}

#[test]
fn a_removal_that_was_interrupted_after_it_was_decided_is_finished() {
    let (repo, worktree) = TestRepo::task_after("echo n >notes");
    let head = repo.git(&["rev-parse", "agentwt/task"]);
    let record = repo.main().join(".git/agentwt/worktrees/task");
    let text = std::fs::read_to_string(record.join("record.toml")).expect("a record");
    let created = text
        .lines()
        .find(|line| line.starts_with("created"))
        .expect("a time");
    let marker = format!(
        "version = 4\nbegan = \"2026-11-22T10:00:00Z\"\n{created}\nbranch_at = \"{head}\"\nsaved = \"refs/agentwt/rescue/task/t\"\n"
    );
    std::fs::write(record.join("removing"), marker).expect("a file");
    // as long as the directory stands, all is looked at again
    let _ = refused(&repo, &["remove", "task"]);
    std::fs::create_dir_all(old_bin(&repo)).expect("a directory");
    std::fs::rename(&worktree, old_bin(&repo).join("task-1-2")).expect("it moves");
    let said = repo.agentwt(&["remove", "task"]);
    assert_eq!(said.status, 0, "{said}");
    assert!(
        said.stderr.contains(
            "finished a removal that was interrupted; its commits are in refs/agentwt/rescue/task/t"
        ),
        "{said}"
    );
    assert_gone(&repo, "task");
    assert!(!old_bin(&repo).exists());
    assert_eq!(repo.git(&["branch", "--list", "agentwt/*"]), "");
}

#[test]
fn a_branch_that_moved_meanwhile_stays() {
    let (repo, _) = TestRepo::with_task();
    let late = repo.git(&["commit-tree", "-p", "HEAD", "-m", "late", "HEAD^{tree}"]);
    repo.keep_as("pristine");
    let main = repo.main().display();
    let act = format!("git -C '{main}' update-ref refs/heads/agentwt/task {late}");
    let shim = Shim::new(repo.root(), &act);
    let is_it = |call: String| call.contains("update-ref -d");
    let moved = (1..100).find_map(|at| {
        repo.bring_back("pristine");
        let (said, call) = shim.run(&repo, &["remove", "task"], at);
        call.is_some_and(is_it).then_some(said)
    });
    let said = moved.expect("git deletes the branch");
    assert_eq!(said.status, 0, "{said}");
    assert!(said.stderr.contains("branch agentwt/task stays"), "{said}");
    assert_eq!(repo.git(&["rev-parse", "agentwt/task"]), late);
}

#[test]
fn as_an_ordinary_user_closed_directories_go_too() {
    let (repo, worktree) =
        TestRepo::task_after("mkdir -p target/closed/deep; echo x >target/closed/deep/f");
    for path in ["target/closed/deep", "target/closed", "target", "src", ""] {
        chmod(&worktree.join(path), 0o555);
    }
    let Some(said) = as_ordinary_user(&repo, repo.main(), &["remove", "task"]) else {
        return;
    };
    assert_eq!(said.status, 0, "{said}");
    // git itself would refuse the repository to root now
    assert!(!worktree.exists());
    let record = repo.main().join(".git/agentwt/worktrees/task");
    assert!(!record.exists());
}
