//! `land` verifies, merges into the base branch and removes; or it changes nothing.

mod branches;
mod converted;
mod forged;
mod half;
mod push;
mod stopped;

use std::path::{Path, PathBuf};

use crate::support::{TestRepo, fenced_task};

/// A worktree with two commits in its scope.
#[track_caller]
fn with_work() -> (TestRepo, PathBuf) {
    let repo = TestRepo::project();
    let dir = repo.add("task");
    work(&repo, &dir, "one");
    work(&repo, &dir, "two");
    (repo, dir)
}

/// Commits a new file in the scope.
#[track_caller]
fn work(repo: &TestRepo, dir: &Path, name: &str) {
    let line = format!("echo {name} >src/{name}.rs; git add -A; git commit -qm 'add {name}'");
    repo.sh(dir, &line).ok();
}

/// Lets main go on.
#[track_caller]
fn go_on(repo: &TestRepo) {
    repo.write("docs/api.md", "api v2\n");
    repo.commit_all("on main");
}

/// What there is: refs, files of the main worktree and what git says of it.
#[track_caller]
fn state(repo: &TestRepo) -> String {
    let script = "git for-each-ref; git worktree list; git status --porcelain; git stash list
        cat docs/api.md src/*; ls .git; find .git/objects -type f | sort";
    repo.sh(repo.main(), script).ok()
}

/// That it is refused in these words, and nothing was changed.
#[track_caller]
fn refused(repo: &TestRepo, arguments: &[&str], words: &str) -> String {
    let before = state(repo);
    let said = repo.agentwt(&[&["land"], arguments].concat());
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stderr.contains(words), "{words}: {said}");
    assert!(said.stderr.starts_with("error: "), "{said}");
    assert_eq!(said.stderr.matches("error: ").count(), 1, "{said}");
    assert_eq!(state(repo), before, "nothing was changed: {said}");
    said.to_string()
}

#[track_caller]
fn log(repo: &TestRepo) -> String {
    repo.git(&["log", "--format=%an %s %p", "--topo-order", "main"])
}

/// That the worktree and its branch are gone, and that the main worktree is clean and has the work.
#[track_caller]
fn assert_landed(repo: &TestRepo) {
    assert!(!repo.worktree("task").exists());
    assert_eq!(repo.git(&["branch", "--list", "agentwt/task"]), "");
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
    for name in ["one", "two"] {
        let file = repo.main().join(format!("src/{name}.rs"));
        let text = std::fs::read_to_string(file).expect("it is landed");
        assert_eq!(text, format!("{name}\n"));
    }
    let left = repo.sh(
        repo.main(),
        "find .git/objects -name 'tmp_*'; ls .git/agentwt | grep -vx locks",
    );
    // for a while, as nothing was in it; what empties the trash may hold a lock at the moment
    assert_eq!(left.stdout, "trash\n", "nothing is left");
}

#[test]
fn a_branch_that_is_ahead_is_fast_forwarded() {
    let (repo, _) = with_work();
    let said = repo.agentwt(&["land", "task"]);
    assert_landed(&repo);
    insta::assert_snapshot!(said, @r"
    ok task: in scope, 2 paths changed
    landed task in main by fast-forward: af82e40edf..cc2d3ba874
    --- stderr
    removed task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was cc2d3ba874)
    --- status 0
    ");
    assert_eq!(log(&repo).lines().count(), 3);
}

#[test]
fn a_dry_run_says_what_would_be_merged_and_changes_nothing() {
    let (repo, _) = with_work();
    go_on(&repo);
    let before = state(&repo);
    let said = repo.agentwt(&["land", "-n", "task"]);
    insta::assert_snapshot!(said, @r"
    ok task: in scope, 2 paths changed
    would land task in main by merge: 9f9bc20860..a new commit
    --- stderr
    would remove task: $TMP/repo/.agentwt/worktrees/task, branch agentwt/task (was cc2d3ba874)
    --- status 0
    ");
    let json = repo
        .agentwt(&["land", "-n", "--json", "--squash", "task"])
        .ok();
    let json: serde_json::Value = serde_json::from_str(&json).expect("a document");
    let one = &json["worktrees"][0];
    assert_eq!(one["how"], "squash");
    assert_eq!(one["commit"], serde_json::Value::Null);
    assert_eq!(one["verdict"]["valid"], true);
    assert_eq!(state(&repo), before);
}

#[test]
fn where_main_went_on_a_merge_commit_is_made_without_a_checkout() {
    let (repo, _) = with_work();
    go_on(&repo);
    let said = repo.agentwt(&["land", "task"]);
    assert_landed(&repo);
    assert_eq!(said.status, 0, "{said}");
    insta::assert_snapshot!(log(&repo), @r"
    Ada Merge branch 'agentwt/task' 9f9bc20 cc2d3ba
    Ada add two 478612f
    Ada add one af82e40
    Ada on main af82e40
    Ada one
    ");
    let fsck = repo.git(&["fsck", "--no-dangling", "--no-progress"]);
    assert_eq!(fsck, "");
}

#[test]
fn a_squash_lists_the_commits_and_keeps_the_branch_reachable() {
    let (repo, dir) = with_work();
    go_on(&repo);
    let tip = repo.git_in(&dir, &["rev-parse", "HEAD"]);
    let said = repo.agentwt(&["land", "--squash", "-m", "Add both", "task"]);
    assert_landed(&repo);
    assert!(said.stderr.contains("merged by squash in"), "{said}");
    let message = repo.git(&["log", "-1", "--format=%an%n%B", "main"]);
    assert_eq!(message, "Ada\nAdd both\n\n* add one\n* add two");
    let kept = repo.own_refs();
    assert!(kept.len() == 1 && kept[0].ends_with(&tip), "{kept:?}");
}

#[test]
fn a_squash_of_one_commit_keeps_author_and_message() {
    let repo = TestRepo::project();
    let dir = repo.add("task");
    let line = "echo 1 >src/1; git add -A; git commit -qm 'one' -m 'why' --author 'Bo <bo@x>'";
    repo.sh(&dir, line).ok();
    repo.agentwt(&["land", "--squash", "task"]).ok();
    let message = repo.git(&["log", "-1", "--format=%an %cn%n%B", "main"]);
    assert_eq!(message, "Bo Ada\none\n\nwhy");
}

#[test]
fn a_rebase_creates_each_commit_again_with_its_author() {
    let (repo, dir) = with_work();
    let line = "echo 3 >src/three.rs; git add -A
        GIT_AUTHOR_DATE='2020-01-02T03:04:05+0200' git commit -qm 'add three' --author 'Bo <bo@x>'
        git commit -q --allow-empty -m 'empty from the start'";
    repo.sh(&dir, line).ok();
    // the same change as the first commit, and one in a file that the second changes
    repo.write("src/one.rs", "one\n");
    repo.write("docs/api.md", "api v2\n");
    repo.commit_all("on main");
    repo.agentwt(&["land", "--rebase", "task"]).ok();
    assert_landed(&repo);
    let said = repo.git(&["log", "--format=%an %ai %cn %s", "main"]);
    insta::assert_snapshot!(said, @r"
    Ada 2026-01-02 03:04:05 +0000 Ada empty from the start
    Bo 2020-01-02 03:04:05 +0200 Ada add three
    Ada 2026-01-02 03:04:05 +0000 Ada add two
    Ada 2026-01-02 03:04:05 +0000 Ada on main
    Ada 2026-01-02 03:04:05 +0000 Ada one
    ");
}

#[test]
fn a_rebase_that_would_drop_a_merge_is_refused() {
    let (repo, dir) = with_work();
    go_on(&repo);
    repo.git_in(&dir, &["merge", "-q", "--no-edit", "main"]);
    work(&repo, &dir, "three");
    let dropped = "is a merge, which a rebase would drop";
    // also where the base branch could go forward to it
    refused(&repo, &["--rebase", "task"], dropped);
    go_on(&repo);
    repo.write("docs/api.md", "api v3\n");
    repo.commit_all("on main again");
    let said = refused(&repo, &["--rebase", "task"], dropped);
    assert!(said.contains("git agentwt land --squash task"), "{said}");
    repo.agentwt(&["land", "--squash", "task"]).ok();
    assert_landed(&repo);
}

#[test]
fn violations_refuse_with_the_findings() {
    let (repo, dir) = with_work();
    repo.sh(
        &dir,
        "chmod u+w README.md; echo x >>README.md; git commit -qam readme",
    )
    .ok();
    let before = state(&repo);
    let said = repo.agentwt(&["land", "task"]);
    assert_eq!(said.status, 1, "{said}");
    assert!(said.stdout.contains("README.md"), "{said}");
    assert_eq!(state(&repo), before);
}

#[test]
fn what_is_not_committed_refuses() {
    let (repo, dir) = with_work();
    std::fs::write(dir.join("src/new.rs"), "new\n").expect("a file");
    let said = refused(
        &repo,
        &["task"],
        "work that is not committed:\n  src/new.rs",
    );
    assert!(said.contains("add -A && git -C"), "{said}");
    assert!(dir.join("src/new.rs").exists());
    // also where the worktree would stay
    refused(&repo, &["--keep", "task"], "not committed");
}

#[test]
fn an_operation_in_progress_refuses_and_names_its_commands() {
    let (repo, dir) = with_work();
    repo.write("src/one.rs", "another\n");
    repo.commit_all("on main");
    repo.sh(&dir, "git merge -q main >/dev/null || true").ok();
    let said = refused(&repo, &["--squash", "task"], "a merge is in progress there");
    for way in ["merge --continue; or drop it", "merge --abort"] {
        assert!(said.contains(way), "{said}");
    }
    assert!(said.contains("git agentwt land --squash task"), "{said}");
    let status = repo.agentwt(&["status", "task"]).ok();
    assert!(status.contains(", a merge is in progress"), "{status}");
}

#[test]
fn a_revert_of_two_that_stopped_is_called_so() {
    let (repo, dir) = with_work();
    let script = "for i in 1 2 3; do echo $i >src/new.rs; git add -A; git commit -q -m $i; done
        git revert --no-edit HEAD~1 HEAD~2 >/dev/null 2>&1 || true
        echo r >src/new.rs; git commit -q -a -m r; test -d $(git rev-parse --git-dir)/sequencer";
    repo.sh(&dir, script).ok();
    let said = refused(&repo, &["task"], "a revert is in progress there");
    assert!(said.contains("revert --continue; or drop it"), "{said}");
}

#[test]
fn a_command_that_runs_refuses() {
    let Some(repo) = fenced_task() else { return };
    let worktree = repo.worktree("task");
    let script = "echo 1 >src/one.rs; for n in $(seq 400); do test -e src/go && break; sleep 0.05; done; rm src/go";
    std::thread::scope(|threads| {
        let run = threads.spawn(|| repo.fenced(&[], script));
        while !worktree.join("src/one.rs").exists() && !run.is_finished() {
            std::thread::yield_now();
        }
        let said = repo.agentwt(&["land", "--keep", "task"]);
        std::fs::write(worktree.join("src/go"), "").expect("it is ours");
        assert_eq!(said.status, 4, "{said}");
        assert!(said.stderr.contains("a command is running"), "{said}");
        assert!(!said.stderr.contains("add -A"), "{said}");
        run.join().expect("it ends").ok();
    });
}

/// Its files are in the worktree, and to commit them there would land marks of a conflict.
#[test]
fn an_operation_that_a_command_in_a_fence_left_refuses() {
    let Some(repo) = fenced_task() else { return };
    let conflict = "echo 1 >src/one.rs; git add -A; git commit -qm one
        git switch -qc side HEAD~; echo 2 >src/one.rs; git add -A; git commit -qm two
        git switch -q -; git cherry-pick side; true";
    repo.fenced(&[], conflict).ok();
    for options in [&["task"][..], &["-n", "task"], &["--keep", "task"]] {
        let said = refused(&repo, options, "left a cherry-pick unfinished");
        assert!(said.contains("git agentwt exec task"), "{said}");
        assert!(!said.contains("add -A"), "{said}");
    }
    repo.fenced(&[], "git cherry-pick --abort").ok();
    repo.agentwt(&["land", "task"]).ok();
    assert_eq!(repo.git(&["show", "main:src/one.rs"]), "1");
}

#[test]
fn a_file_that_main_ignores_is_not_written_over() {
    let repo = TestRepo::project();
    repo.write(".gitignore", "*.log\n");
    repo.commit_all("ignore");
    let dir = repo.add("task");
    repo.sh(
        &dir,
        "echo n >src/x.log; git add -f src/x.log; git commit -qm n",
    )
    .ok();
    repo.write("src/x.log", "mine\n");
    let said = repo.agentwt(&["land", "task"]);
    assert_eq!(said.status, 4, "{said}");
    assert_eq!(
        std::fs::read(repo.main().join("src/x.log")).ok().as_deref(),
        Some(&b"mine\n"[..])
    );
}

#[test]
fn a_conflict_changes_nothing_and_says_how_to_resolve_it() {
    let (repo, dir) = with_work();
    repo.write("src/one.rs", "another\n");
    repo.commit_all("on main");
    let said = refused(&repo, &["task"], "it conflicts with main:\n  src/one.rs");
    insta::assert_snapshot!(said, @r"
    --- stderr
    error: cannot land worktree `task`: it conflicts with main:
      src/one.rs
    help: resolve it in the worktree: git -C $TMP/repo/.agentwt/worktrees/task merge main, edit the files, git -C $TMP/repo/.agentwt/worktrees/task add -A && git -C $TMP/repo/.agentwt/worktrees/task commit --no-edit; then: git agentwt land task
    --- status 4
    ");
    refused(&repo, &["--squash", "task"], "conflicts");
    let said = refused(&repo, &["--rebase", "task"], "conflicts");
    assert!(said.contains("rebase main"), "{said}");
    // the commands that it printed
    let line =
        "git merge main 2>/dev/null >&2; echo one >src/one.rs; git add -A && git commit -qm both";
    repo.sh(&dir, line).ok();
    repo.agentwt(&["land", "task"]).ok();
    assert_landed(&repo);
}

#[test]
fn only_a_fast_forward_is_made_where_nothing_else_is_allowed() {
    let (repo, _) = with_work();
    go_on(&repo);
    refused(
        &repo,
        &["--ff-only", "task"],
        "main went on, so it cannot be fast-forwarded",
    );
    repo.git(&["config", "merge.ff", "only"]);
    refused(&repo, &["task"], "main went on");
    repo.git(&["config", "merge.ff", "false"]);
    repo.git(&["reset", "-q", "--hard", "HEAD~"]);
    repo.agentwt(&["land", "--ff-only", "task"]).ok();
    assert_eq!(log(&repo).lines().count(), 3);
    let dir = repo.add("task");
    work(&repo, &dir, "four");
    repo.agentwt(&["land", "task"]).ok();
    assert!(
        log(&repo).contains("Merge branch 'agentwt/task'"),
        "{}",
        log(&repo)
    );
}

#[test]
fn a_worktree_that_is_kept_has_the_same_branch() {
    let (repo, dir) = with_work();
    repo.agentwt(&["land", "--keep", "task"]).ok();
    assert!(dir.join("src/one.rs").exists());
    assert_eq!(
        repo.git(&["rev-parse", "main"]),
        repo.git(&["rev-parse", "agentwt/task"])
    );
    // what is landed already is only removed
    let said = repo.agentwt(&["land", "task"]);
    assert!(
        said.stdout.contains("main has the work of task already"),
        "{said}"
    );
    assert_landed(&repo);
}

#[test]
fn several_are_landed_in_order_and_verified_again() {
    let repo = TestRepo::project();
    for name in ["a", "b", "c"] {
        let dir = repo.add(name);
        work(&repo, &dir, name);
    }
    // two that conflict with each other, not with main
    repo.sh(
        &repo.worktree("b"),
        "echo 1 >src/both; git add -A; git commit -qm both",
    )
    .ok();
    repo.sh(
        &repo.worktree("c"),
        "echo 2 >src/both; git add -A; git commit -qm both",
    )
    .ok();
    let said = repo.agentwt(&["land", "a", "b", "c"]);
    assert_eq!(said.status, 4, "{said}");
    assert!(
        said.stderr
            .contains("cannot land worktree `c`: it conflicts"),
        "{said}"
    );
    assert!(said.stdout.contains("landed b in main by merge"), "{said}");
    for (name, is_there) in [("a", false), ("b", false), ("c", true)] {
        assert_eq!(repo.worktree(name).exists(), is_there, "{said}");
    }
    assert_eq!(repo.git(&["status", "--porcelain"]), "");
}

#[test]
fn with_several_a_violation_in_one_lands_none() {
    let repo = TestRepo::project();
    for name in ["a", "b"] {
        let dir = repo.add(name);
        work(&repo, &dir, name);
    }
    let line = "chmod u+w README.md; echo x >>README.md; git commit -qam readme";
    repo.sh(&repo.worktree("b"), line).ok();
    let before = state(&repo);
    let said = repo.agentwt(&["land", "a", "b"]);
    assert_eq!(said.status, 1, "{said}");
    assert_eq!(state(&repo), before);
}

#[test]
fn the_base_branch_is_pushed() {
    let (repo, _) = with_work();
    repo.git_in(
        repo.root(),
        &["clone", "-q", "--bare", "repo", "server.git"],
    );
    repo.git(&["remote", "add", "origin", "../server.git"]);
    repo.agentwt(&["land", "--push", "origin", "task"]).ok();
    assert_landed(&repo);
    let there = repo.git_in(&repo.root().join("server.git"), &["rev-parse", "main"]);
    assert_eq!(there, repo.git(&["rev-parse", "main"]));
}

#[test]
fn a_remote_that_does_not_exist_is_one_error_before_anything_is_landed() {
    let (repo, _) = with_work();
    let before = state(&repo);
    let said = repo.agentwt(&["land", "--push", "elsewhere", "task"]);
    insta::assert_snapshot!(said, @r"
    --- stderr
    error: cannot push: there is no remote `elsewhere`
    help: nothing was landed; to see the remotes: git remote -v
    --- status 2
    ");
    assert_eq!(state(&repo), before);
}

#[test]
fn a_command_that_is_printed_works_where_the_path_has_a_blank() {
    let repo = TestRepo::project();
    let line =
        "git clone -q . '../my repo' && cd '../my repo' && git agentwt add task --write 'src/**' &&
        echo x >>.agentwt/worktrees/task/src/one.rs && ! git agentwt land task";
    let said = repo.sh(repo.main(), line);
    let (_, help) = said
        .stderr
        .split_once("help: ")
        .unwrap_or_else(|| panic!("no help: {said}"));
    let (command, _) = help.split_once(" commit, then: ").expect("a command");
    let root = repo.root().display().to_string();
    let commit = format!("{command} commit -qm done").replace("$TMP", &root);
    repo.sh(repo.main(), &commit).ok();
    repo.sh(repo.main(), "cd '../my repo' && git agentwt land task")
        .ok();
}
