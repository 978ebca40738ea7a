//! A fenced run has one state, in one file beside its private git directory.

use std::path::PathBuf;

use crate::support::TestRepo;

/// A worktree with this name, where a fence works here.
fn project() -> Option<TestRepo> {
    let repo = TestRepo::project();
    repo.add("task");
    repo.has_fence(&[]).then_some(repo)
}

fn private(repo: &TestRepo) -> PathBuf {
    repo.main().join(".git/agentwt/worktrees/task/private")
}

/// The lines of the state of the run, from the table on.
fn state(repo: &TestRepo) -> String {
    let text = std::fs::read_to_string(private(repo).join("run.toml")).expect("a state");
    let (_, table) = text.split_once("[state]\n").expect("a table");
    table.lines().collect::<Vec<_>>().join("; ")
}

#[test]
fn a_run_of_which_nothing_is_left_has_no_state() {
    let Some(repo) = project() else { return };
    repo.fenced(&[], "git commit -q --allow-empty -m one").ok();
    assert!(!private(&repo).exists());
}

#[test]
fn each_end_of_a_run_is_a_state() {
    let Some(repo) = project() else { return };
    repo.fenced(&[], "echo 1 >src/main.rs; git stash -q").ok();
    assert_eq!(state(&repo), "name = \"imported\"; left = [\"stash\"]");
    repo.fenced(&[], "git stash drop -q; git switch -qc other")
        .ok();
    assert_eq!(state(&repo), "name = \"imported\"; left = [\"other-head\"]");
    let outside = "git switch -q agentwt/task; blob=$(echo x | git hash-object -w --stdin)
        git update-index --add --cacheinfo 100644,$blob,README.md; git commit -qm outside";
    repo.fenced(&[], outside).fails(120);
    assert_eq!(state(&repo), "name = \"kept\"; why = \"violations\"");
    repo.fenced(&[], "git reset -q --soft HEAD~1; git reset -q")
        .ok();
    let lock = repo.main().join(".git/worktrees/task/index.lock");
    std::fs::write(&lock, "").expect("it is ours");
    repo.fenced(&[], "git commit -q --allow-empty -m one")
        .fails(120);
    let kept = state(&repo);
    assert!(kept.starts_with("name = \"kept\""), "{kept}");
    assert!(kept.contains("conflict = \"index-locked\""), "{kept}");
    std::fs::remove_file(&lock).expect("it is ours");
    repo.fenced(&[], "true").ok();
    assert!(!private(&repo).exists());
    assert_eq!(repo.log_of_task(), "one");
}

#[test]
fn while_it_runs_and_after_its_import_was_stopped_a_run_says_so() {
    let Some(repo) = project() else { return };
    let script = "cp $AGENTWT_PRIVATE_GIT/../run.toml src/run.toml; exit 3";
    repo.fenced(&[], script).fails(3);
    let copy = repo.worktree("task").join("src/run.toml");
    let running = std::fs::read_to_string(&copy).expect("it can be read inside");
    assert!(running.contains("name = \"running\""), "{running}");
    assert!(running.contains("pid = "), "{running}");
    std::fs::remove_file(&copy).expect("it is ours");
    let lock = repo.main().join(".git/refs/heads/agentwt/task.lock");
    std::fs::write(&lock, "").expect("it is ours");
    repo.fenced(&[], "git commit -q --allow-empty -m one; exit 7")
        .fails(5);
    let ended = state(&repo);
    assert!(ended.starts_with("name = \"ended\""), "{ended}");
    assert!(ended.contains("exit = 7"), "{ended}");
    std::fs::remove_file(&lock).expect("it is ours");
    repo.fenced(&[], "true").ok();
    assert_eq!(repo.log_of_task(), "one");
}

#[test]
fn a_command_cannot_write_the_state_of_its_run() {
    let Some(repo) = project() else { return };
    let script = "cd $AGENTWT_PRIVATE_GIT/..; echo x >run.toml || rm -f run.toml || mv run.toml git/x; test -s run.toml";
    repo.fenced(&[], script).ok();
}

#[test]
fn what_an_older_version_left_is_read_as_it_was_meant() {
    let Some(repo) = project() else { return };
    let script =
        "echo 1 >src/one.rs; git add -A; git commit -qm one; echo 2 >src/one.rs; git stash -q";
    let lock = repo.main().join(".git/refs/heads/agentwt/task.lock");
    std::fs::write(&lock, "").expect("it is ours");
    repo.fenced(&[], script).fails(5);
    std::fs::remove_file(&lock).expect("it is ours");
    std::fs::remove_file(private(&repo).join("run.toml")).expect("it is ours");
    let began = repo.git(&["rev-parse", "agentwt/task"]);
    std::fs::write(private(&repo).join("began"), &began).expect("it is ours");
    let list = repo.agentwt(&["list"]).ok();
    assert!(list.contains("waits: "), "{list}");
    repo.fenced(&[], "git stash pop -q && git commit -qam two")
        .ok();
    assert_eq!(repo.log_of_task(), "two\none");
    // of one made without the excluded objects, the next has them neither
    repo.fenced(&["--withhold"], "git stash list; git switch -qc side")
        .ok();
    std::fs::remove_file(private(&repo).join("run.toml")).expect("it is ours");
    let tip = repo.git(&["rev-parse", "agentwt/task"]);
    std::fs::write(private(&repo).join("began"), tip).expect("it is ours");
    std::fs::write(private(&repo).join("withheld"), "").expect("it is ours");
    let said = repo.fenced(&[], "git config remote.withheld.url");
    assert_eq!(said.ok(), "/nonexistent");
}

#[test]
fn with_a_damaged_state_no_branch_moves_and_nothing_is_lost() {
    let Some(repo) = project() else { return };
    let script = "echo 1 >src/one.rs; git add -A; git commit -qm one";
    let lock = repo.main().join(".git/refs/heads/agentwt/task.lock");
    std::fs::write(&lock, "").expect("it is ours");
    repo.fenced(&[], script).fails(5);
    std::fs::remove_file(&lock).expect("it is ours");
    std::fs::write(private(&repo).join("run.toml"), "junk").expect("it is ours");
    let list = repo.agentwt(&["list"]).ok();
    assert!(list.contains("waits: "), "{list}");
    let said = repo.fenced(&[], "true");
    said.ok();
    assert!(said.stderr.contains("is without the commits"), "{said}");
    assert_eq!(repo.log_of_task(), "");
    let kept = ["log", "-1", "--format=%s", "--glob=refs/agentwt/kept/task"];
    assert_eq!(repo.git(&kept), "one");
}
