//! A worktree of git's inside a removed worktree stays known to git until it is deleted.

use crate::support::TestRepo;

/// Removes `task` with a detached worktree inside, in which work was committed and staged, and
/// returns the ids of both.
#[track_caller]
fn removed_with_inner_worktree(repo: &TestRepo) -> Vec<String> {
    let worktree = repo.add("task");
    let script = "git worktree add -q --detach src/inner; cd src/inner
        echo work >>src/main.rs; git commit -q -a -m work; echo staged >src/staged; git add src/staged
        rm src/staged; git rev-parse HEAD :src/staged";
    let ids = repo.sh(&worktree, script).ok();
    assert_eq!(repo.agentwt(&["remove", "task"]).status, 4);
    repo.agentwt(&["remove", "--force", "task"]).ok();
    ids.lines().map(ToOwned::to_owned).collect()
}

/// Lets git forget what it may.
fn collect_garbage(repo: &TestRepo) {
    repo.git(&["worktree", "prune", "--expire=now"]);
    repo.git(&["gc", "-q", "--prune=now"]);
}

/// The reason why the worktree inside is locked, as git says it.
fn lock_of_inner(repo: &TestRepo) -> Option<String> {
    let listed = repo.git(&["worktree", "list", "--porcelain"]);
    let (_, inner) = listed.split_once("src/inner\n")?;
    let block = inner.split("\n\n").next()?;
    let mut lines = block.lines();
    let lock = lines.find_map(|line| line.strip_prefix("locked"))?;
    Some(lock.trim().to_owned())
}

#[test]
fn nobody_forgets_a_worktree_inside_of_one_that_may_come_back() {
    let repo = TestRepo::project();
    let ids = removed_with_inner_worktree(&repo);
    let reason = lock_of_inner(&repo).expect("it is locked");
    assert!(reason.contains(".trash/task-"), "{reason}");
    for command in ["prune", "doctor"] {
        let said = repo.agentwt(&[command]);
        let text = format!("{}{}", said.stdout, said.stderr);
        assert!(!text.contains("inner"), "{said}");
    }
    collect_garbage(&repo);
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    assert_eq!(lock_of_inner(&repo), None);
    let inner = repo.worktree("task").join("src/inner");
    assert_eq!(repo.git_in(&inner, &["rev-parse", "HEAD"]), ids[0]);
    repo.git_in(&inner, &["checkout", "-q", "--", "src/staged"]);
    assert_eq!(
        repo.git_in(&inner, &["status", "--porcelain"]),
        "A  src/staged"
    );
}

#[test]
fn a_worktree_inside_is_forgotten_with_what_it_is_in() {
    let repo = TestRepo::project();
    removed_with_inner_worktree(&repo);
    repo.git(&["config", "agentwt.trashExpire", "now"]);
    repo.agentwt(&["prune"]).ok();
    assert_eq!(lock_of_inner(&repo), None);
    collect_garbage(&repo);
    let listed = repo.git(&["worktree", "list", "--porcelain"]);
    assert!(!listed.contains("inner"), "{listed}");
}

#[test]
fn a_worktree_inside_that_the_user_locked_stays_locked() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    let script =
        "git worktree add -q --detach src/inner; git worktree lock --reason mine src/inner";
    repo.sh(&worktree, script).ok();
    repo.agentwt(&["remove", "--force", "task"]).ok();
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    assert_eq!(lock_of_inner(&repo).as_deref(), Some("mine"));
}

#[test]
fn a_lock_elsewhere_that_cannot_be_read_stops_no_undo() {
    let repo = TestRepo::project();
    repo.add("task");
    repo.git(&["worktree", "add", "-q", "--detach", "../plain"]);
    repo.agentwt(&["remove", "task"]).ok();
    repo.sh(repo.main(), "mkdir .git/worktrees/plain/locked")
        .ok();
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    assert!(repo.worktree("task").join("src/main.rs").exists());
}
