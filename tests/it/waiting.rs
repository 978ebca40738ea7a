//! What waits of a command in a fence is told by every command that judges its worktree.

use insta::assert_snapshot;

use serde_json::Value;

use crate::support::fenced_task;

fn json(text: &str) -> Value {
    serde_json::from_str(text).expect("it is JSON")
}

/// Commits a file that is out of scope, past the write bits.
const COMMIT_OUTSIDE: &str = "blob=$(echo x | git hash-object -w --stdin)
    git update-index --cacheinfo 100644,$blob,README.md; git commit -qm outside";

#[test]
fn commits_of_a_refused_run_are_told_by_each_verdict() {
    let Some(repo) = fenced_task() else { return };
    repo.fenced(&[], COMMIT_OUTSIDE).fails(120);
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    ok task: in scope, 0 paths changed
      waits: commits of a command, which are not verified here; to go on: git agentwt exec task -- true
    --- status 0
    ");
    let list = repo.agentwt(&["list"]).ok();
    let told = "commits of a command, which are not verified here; to go on: git agentwt exec task -- true";
    assert!(list.contains(told), "{list}");
    let status = repo.agentwt(&["status", "task"]).ok();
    assert!(status.contains(told), "{status}");
    for command in ["verify", "list", "status"] {
        let said = json(
            &repo
                .agentwt_in(&repo.worktree("task"), &[command, "--json"])
                .ok(),
        );
        let waiting = &said["worktrees"][0]["waiting"];
        assert_eq!(waiting["state"], "commits", "{command}: {said}");
        let kept = &waiting["ref"];
        assert_eq!(kept, "refs/agentwt/incoming/task", "{command}: {said}");
        let next = &waiting["next"];
        assert_eq!(next, "git agentwt exec task -- true", "{command}: {said}");
    }
    let rows = repo.agentwt(&["list", "--porcelain"]).ok();
    assert!(rows.ends_with("\tcommits"), "{rows}");
    let rows = repo.agentwt(&["status", "task", "--porcelain"]).ok();
    assert!(rows.ends_with("task\twaiting\tcommits"), "{rows}");
    // taken, nothing waits
    repo.agentwt(&["scope", "task", "--add-write", "README.md"])
        .ok();
    repo.fenced(&[], "true").ok();
    let said = repo.agentwt(&["verify", "task"]);
    assert_eq!(said.stdout, "ok task: in scope, 1 path changed\n");
}

#[test]
fn a_command_that_runs_is_told_by_each_verdict() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let (started, end) = (worktree.join("src/started"), worktree.join("src/end"));
    std::thread::scope(|threads| {
        let script =
            "touch src/started; until [ -e src/end ]; do sleep 0.05; done; rm src/*ed src/end";
        let run = threads.spawn(|| repo.fenced(&[], script));
        while !started.exists() && !run.is_finished() {
            std::thread::yield_now();
        }
        let verified = repo.agentwt(&["verify", "task"]);
        let list = repo.agentwt(&["list"]).ok();
        let status = repo.agentwt(&["status", "task", "--json"]).ok();
        std::fs::write(end, "").expect("it is there");
        run.join().expect("it ends").ok();
        assert_snapshot!(verified, @"
        ok task: in scope, 1 path changed
          waits: a command that is running; its commits are not here yet
        --- status 0
        ");
        assert!(list.contains("waits: a command that is running"), "{list}");
        let waiting = &json(&status)["worktrees"][0]["waiting"];
        assert_eq!(waiting["state"], "running", "{status}");
    });
    let status = json(&repo.agentwt(&["status", "task", "--json"]).ok());
    assert_eq!(status["worktrees"][0].get("waiting"), None, "{status}");
}

#[test]
fn an_operation_in_which_a_command_ended_is_told_and_so_is_what_is_left() {
    let Some(repo) = fenced_task() else { return };
    let begin = "git -c user.name=a -c user.email=b rebase -q --exec false HEAD~0 2>/dev/null
        git commit -q --allow-empty -m one; git rebase -q --exec false HEAD~1 2>/dev/null; true";
    repo.fenced(&[], begin).ok();
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    ok task: in scope, 0 paths changed
      waits: a rebase that a command left unfinished; to go on: git agentwt exec task
    --- status 0
    ");
    let stash = "git rebase --abort; echo 1 >>src/main.rs; git stash -q";
    repo.fenced(&[], stash).ok();
    assert_snapshot!(repo.agentwt(&["verify", "task"]), @"
    ok task: in scope, 0 paths changed
      waits: work of a command that was killed, or a stash of it; to go on: git agentwt exec task -- true
    --- status 0
    ");
}
