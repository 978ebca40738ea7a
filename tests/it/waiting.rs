//! What waits of a command in a fence is told by every command that judges its worktree.

use insta::assert_snapshot;

use serde_json::Value;

use crate::support::{Said, TestRepo, allow_root, fenced_task, is_root};

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
        assert!(waiting["process"].is_u64(), "{status}");
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
      waits: a stash of a command; to go on: git agentwt exec task -- git stash pop
    --- status 0
    ");
    let waiting = waiting(&repo);
    assert_eq!(waiting["state"], "left");
    assert_eq!(waiting["why"], "stash");
}

/// What `status --json` says of it.
fn waiting(repo: &TestRepo) -> Value {
    let status = json(&repo.agentwt(&["status", "task", "--json"]).ok());
    let verify = json(&repo.agentwt(&["verify", "task", "--json"]).ok());
    let list = json(&repo.agentwt(&["list", "--json"]).ok());
    let [status, verify, list] =
        [status, verify, list].map(|said| said["worktrees"][0]["waiting"].clone());
    assert_eq!(status, verify, "all say the same");
    assert_eq!(status, list, "all say the same");
    status
}

#[test]
fn why_it_waits_is_told_by_all_in_the_same_words() {
    let Some(repo) = fenced_task() else { return };
    // out of scope
    repo.fenced(&[], COMMIT_OUTSIDE).fails(120);
    assert_eq!(waiting(&repo)["why"], "violations");
    repo.fenced(&[], "git reset -q --soft HEAD~1; git reset -q")
        .ok();
    // killed
    let private = repo.main().join(".git/agentwt/worktrees/task/private/git");
    let line = format!(
        "git-agentwt exec task {} -- sh -c 'git commit -q --allow-empty -m one; sleep 5' & run=$!
        for n in $(seq 200); do test -e {}/refs/heads/agentwt/task && break; sleep 0.05; done
        kill -9 $run; wait $run",
        if is_root() { "--allow-root" } else { "" },
        private.display()
    );
    let _ = repo.sh(repo.main(), &line);
    let killed = waiting(&repo);
    assert_eq!(killed["why"], "killed", "{killed}");
    assert_eq!(killed["state"], "left", "{killed}");
    assert_eq!(killed.get("process"), None, "{killed}");
    let verified = repo.agentwt(&["verify", "task"]).ok();
    assert!(
        verified.contains("waits: work of a command that was killed;"),
        "{verified}"
    );
    // what the user did
    let lock = repo.main().join(".git/worktrees/task/index.lock");
    repo.fenced(&[], "true").ok();
    std::fs::write(&lock, "").expect("it is ours");
    repo.fenced(&[], "git commit -q --allow-empty -m two")
        .fails(120);
    std::fs::remove_file(&lock).expect("it is ours");
    let kept = waiting(&repo);
    assert_eq!(kept["why"], "index-locked", "{kept}");
    assert_eq!(kept["state"], "commits", "{kept}");
}

#[test]
fn what_could_not_be_imported_is_told_though_nothing_else_waits() {
    let Some(repo) = fenced_task() else { return };
    let damage = "cd $AGENTWT_PRIVATE_GIT/objects; git commit -q --allow-empty -m broken
        tip=$(git rev-parse HEAD | sed 's#..#&/#'); chmod u+w $tip; : >$tip";
    repo.fenced(&[], damage).fails(5);
    assert_eq!(waiting(&repo)["why"], "import-stopped");
    repo.fenced(&[], "true").ok();
    let place = "$TMP/repo/.git/agentwt/worktrees/task/damaged0";
    let apart = waiting(&repo);
    assert_eq!(apart["state"], "apart", "{apart}");
    assert_eq!(apart["set_apart"][0], place, "{apart}");
    for command in ["verify", "list", "status"] {
        let said = repo.agentwt_in(&repo.worktree("task"), &[command]).ok();
        assert!(said.contains("could not be imported, kept at"), "{said}");
    }
    let rows = repo.agentwt(&["list", "--porcelain"]).ok();
    assert!(rows.ends_with("\tapart"), "{rows}");
}

#[test]
fn the_command_to_go_on_with_ends_what_waits() {
    for (script, last) in [
        ("git switch -qc side", ""),
        ("git checkout -q --detach", ""),
        ("echo 1 >>src/main.rs; git stash -q", ""),
        (
            "git worktree add -q target/made -b made",
            "git worktree remove target/made",
        ),
    ] {
        let Some(repo) = fenced_task() else { return };
        repo.fenced(&[], script).ok();
        let next = waiting(&repo)["next"].to_string().replace('"', "");
        let command = next.split_once(" -- ").expect("a command").1;
        let said = repo.fenced(&[], command).ok();
        if !last.is_empty() {
            assert!(said.contains("target/made"), "{script}: {said}");
            repo.fenced(&[], last).ok();
        }
        assert_eq!(waiting(&repo), Value::Null, "{script}: {next}");
    }
}

/// What `exec` prints to leave out of the branch what is out of scope, to be typed after `--`.
fn commands_to_leave_out(said: &Said) -> Vec<String> {
    let printed = said.stderr.lines().find(|line| line.contains("git reset"));
    let line = printed.unwrap_or_else(|| panic!("no way out: {said}"));
    let mut commands = Vec::new();
    for one in line.split("; ") {
        if let Some((_, command)) = one.split_once(" -- ") {
            commands.push(command.to_owned());
        }
    }
    commands
}

#[test]
fn what_is_out_of_scope_is_left_out_of_the_branch_and_of_no_other() {
    for elsewhere in [
        "git symbolic-ref HEAD refs/heads/other",
        "git checkout -q --detach; git update-ref HEAD other",
    ] {
        let Some(repo) = fenced_task() else { return };
        let script = format!(
            "git switch -qc other; echo 1 >src/other; git add src; git commit -qm other
            git switch -q -; {COMMIT_OUTSIDE}; {elsewhere}"
        );
        let said = repo.fenced(&[], &script);
        said.fails(120);
        let commands = commands_to_leave_out(&said);
        let (last, first) = commands.split_last().expect("a command");
        for command in first {
            repo.fenced(&[], command).fails(120);
        }
        repo.fenced(&[], last).ok();
        assert_eq!(repo.log_of_task(), "");
        let kept = repo.git(&["log", "--format=%s", "--glob=refs/agentwt/kept"]);
        assert!(kept.contains("other"), "{elsewhere}: {commands:?}: {kept}");
    }
}

#[test]
fn what_is_out_of_scope_can_be_left_out_by_the_command_that_is_printed() {
    let staged = "blob=$(echo x | git hash-object -w --stdin)
        git update-index --cacheinfo 100644,$blob,README.md";
    for script in [COMMIT_OUTSIDE, staged] {
        for user in ["", "git commit -q --allow-empty -m user"] {
            let Some(repo) = fenced_task() else { return };
            let said = repo.fenced(&[], script);
            said.fails(120);
            let commands = commands_to_leave_out(&said);
            repo.sh(&repo.worktree("task"), user).ok();
            repo.fenced(&[], &commands.join("; ")).ok();
            assert_eq!(waiting(&repo), Value::Null, "{script}: {commands:?}");
            let kept = if user.is_empty() { "" } else { "user" };
            assert_eq!(repo.log_of_task(), kept, "{script}: {commands:?}");
        }
    }
}

#[test]
fn nothing_out_of_scope_is_to_be_merged_or_reset_in_the_middle_of_an_operation() {
    let Some(repo) = fenced_task() else { return };
    let rebase = format!(
        "git commit -q --allow-empty -m one; git rebase -q --exec false HEAD~1 2>/dev/null
        {COMMIT_OUTSIDE}"
    );
    let said = repo.fenced(&[], &rebase);
    said.fails(120);
    assert!(!said.stderr.contains("git reset"), "{said}");
    assert!(said.stderr.contains("end the rebase first"), "{said}");
    let Some(repo) = fenced_task() else { return };
    let line = format!(
        "(until [ -e src/started ]; do sleep 0.05; done; git commit -q --allow-empty -m user
        touch src/end) & git-agentwt exec task {} -- sh -c 'touch src/started
        until [ -e src/end ]; do sleep 0.05; done; {COMMIT_OUTSIDE}'",
        allow_root()
    );
    let said = repo.sh(&repo.worktree("task"), &line);
    said.fails(120);
    assert!(!said.stderr.contains("git merge"), "{said}");
    assert!(!said.stderr.contains(" merge refs/agentwt"), "{said}");
}
