//! `status`: one worktree in full.

use insta::assert_snapshot;

use crate::support::{Shim, TestRepo};

/// What is not the same in every run: where the program is, and how git's hooks are installed.
#[track_caller]
fn shown(repo: &TestRepo, arguments: &[&str]) -> String {
    let said = repo.agentwt(arguments).to_string();
    let lines = said
        .lines()
        .filter(|line| !line.starts_with("  program  ") && !line.starts_with("  hooks  "));
    lines.map(|line| format!("{line}\n")).collect()
}

#[track_caller]
fn with_work() -> TestRepo {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    let script = "echo more >>src/main.rs; git commit -q -a -m work; echo n >src/new.rs; echo n >docs/n; echo x >a.log";
    repo.sh(&worktree, script).ok();
    repo
}

#[test]
fn it_shows_branch_base_scope_hooks_and_changes() {
    let repo = with_work();
    assert_snapshot!(shown(&repo, &["status", "task"]), @"
    task
      verdict  NO, 1 violation
      path     $TMP/repo/.agentwt/worktrees/task
      branch   agentwt/task, 1 commit since the base
      head     on agentwt/task at 691043535c, committed 300 d ago
      base     af82e40edf (main), just now
      scope    given on the command line
      write    src/**  tests/**  /package.json
      read     **
      exclude  **/secrets/**
      user's   $TMP/repo/.git/hooks
      changed  3 paths (2 created, 1 modified), 2 not committed, 1 ignored file
        !  created   docs/n       read-only: read ** (default)
           modified  src/main.rs
           created   src/new.rs
    --- status 0
    ");
}

#[test]
fn it_needs_no_name_inside() {
    let repo = with_work();
    let inside = repo.agentwt_in(&repo.worktree("task").join("src/mod"), &["status"]);
    assert_eq!(inside, repo.agentwt(&["status", "task"]));
    assert_snapshot!(repo.agentwt(&["status"]), @"
    --- stderr
    error: not inside a worktree of git-agentwt, so a name is needed
    help: there are: task; `git agentwt list` shows them
    --- status 2
    ");
}

#[test]
fn several_are_shown_in_the_order_that_was_asked_for() {
    let repo = with_work();
    repo.add("other");
    let said = repo.agentwt(&["status", "task", "other", "task"]).ok();
    let heads: Vec<&str> = said
        .lines()
        .filter(|line| matches!(*line, "task" | "other"))
        .collect();
    assert_eq!(heads, ["task", "other"]);
    let _ = repo.agentwt(&["status", "task", "tusk"]).fails(7);
}

#[test]
fn git_is_asked_once_for_the_main_worktree() {
    let repo = with_work();
    repo.add("other");
    let shim = Shim::new(repo.root(), "");
    shim.run(&repo, &["status", "task", "other"], 0).0.ok();
    let calls = std::fs::read_dir(repo.root().join("shim/calls")).expect("it was started");
    let calls = calls.map(|call| std::fs::read_to_string(call.expect("a call").path()));
    let calls: Vec<String> = calls.map(|call| call.expect("its words")).collect();
    let asked = calls.iter().filter(|call| call.contains(" status "));
    assert_eq!(asked.count(), 1, "{calls:?}");
}

#[test]
fn it_marks_violations_and_says_where_head_is() {
    let repo = with_work();
    let worktree = repo.worktree("task");
    repo.sh(&worktree, "rm docs/n").ok();
    assert!(
        repo.agentwt(&["status", "task"])
            .ok()
            .contains("verdict  ok\n")
    );
    let script =
        "chmod u+w README.md; echo x >>README.md; git update-index --assume-unchanged docs/api.md
        git checkout -q --detach; git commit -q -a -m more";
    repo.sh(&worktree, script).ok();
    let said = shown(&repo, &["status", "task"]);
    let lines = said.lines().filter(|line| {
        let keys = ["  verdict", "  head", "  branch", "  changed", "      "];
        keys.iter().any(|key| line.starts_with(key))
    });
    assert_snapshot!(lines.collect::<Vec<_>>().join("\n"), @"
    verdict  NO, 2 violations, 1 notice
    branch   agentwt/task, 2 commits since the base
    head     detached at 1fbdaf5925, committed 300 d ago
    changed  4 paths (1 created, 1 integrity, 2 modified), 1 not committed, 1 ignored file
         modified   src/main.rs
         created    src/new.rs
    ");
}

#[test]
fn everything_about_the_position_is_that_of_head() {
    let repo = with_work();
    let worktree = repo.worktree("task");
    let script = "GIT_COMMITTER_DATE=2020-01-01T00:00:00Z git commit -q --allow-empty -m old
        git checkout -q --detach HEAD~1";
    repo.sh(&worktree, script).ok();
    let said = repo.agentwt(&["status", "task", "--porcelain"]).ok();
    let value = |key: &str| {
        let found = said.lines().find_map(|line| {
            let mut fields = line.split('\t').skip(1);
            (fields.next() == Some(key)).then(|| fields.next().expect("a value").to_owned())
        });
        found.unwrap_or_else(|| panic!("{key}: {said}"))
    };
    assert!(!value("committed").starts_with("2020"), "{said}");
    assert_eq!(value("ahead"), value("commits"), "{said}");
    let said = repo.agentwt(&["status", "task"]).ok();
    assert!(!said.contains("beside"), "{said}");
}

#[test]
fn porcelain_is_a_field_a_line() {
    let repo = with_work();
    let said = repo.agentwt(&["status", "task", "--porcelain"]).ok();
    let stable: Vec<&str> = said
        .lines()
        .filter(|line| !line.contains("\tverified\t"))
        .collect();
    assert_snapshot!(stable.join("\n"), @"
    task	path	$TMP/repo/.agentwt/worktrees/task
    task	branch	agentwt/task
    task	base	af82e40edf386d673bb6f4292ab3a4faea3c91e5
    task	head	691043535cd35ad2782e2c130e8ff41230632813
    task	paths	3
    task	violations	1
    task	base-branch	main
    task	moved	0
    task	ahead	1
    task	behind	0
    task	strategy	worktree
    task	notices	0
    task	commits	1
    task	committed	2026-01-02T03:04:05Z
    task	uncommitted	2
    task	ignored	1
    task	kind	created	2
    task	kind	modified	1
    task	change	created	docs/n
    task	change	modified	src/main.rs
    task	change	created	src/new.rs
    task	violation	created	docs/n
    ");
    let said = repo.agentwt(&["status", "task", "-z"]).ok();
    assert!(said.contains("task\tuncommitted\t2\0"), "{said:?}");
}

#[test]
fn json_has_facts() {
    let repo = with_work();
    let said = repo.agentwt(&["status", "task", "--json"]).ok();
    let value: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
    assert_eq!(value["schema"], "agentwt.status/1");
    let one = &value["worktrees"][0];
    assert_eq!(one["branch"], "agentwt/task");
    assert_eq!(
        (&one["commits"], &one["uncommitted"], &one["ignored"]),
        (&1.into(), &2.into(), &1.into())
    );
    assert_eq!(one["changed"].as_array().map(Vec::len), Some(3));
    assert_eq!(one["hooks"]["state"], "complete");
    assert_eq!(one["verification"]["violations"], 1);
    assert_eq!(one["violations"][0]["path"], "docs/n");
    assert_eq!(one["live"], true);
}

#[test]
fn a_damaged_worktree_is_shown_as_far_as_it_goes() {
    let repo = with_work();
    std::fs::remove_file(repo.worktree("task").join(".git")).expect("it is there");
    assert!(repo.agentwt(&["status", "task"]).ok().contains("@worktree"));
    std::fs::remove_dir_all(repo.worktree("task")).expect("it is there");
    let said = repo.agentwt(&["status", "task"]);
    assert!(said.ok().contains("@worktree"), "{said}");
    std::fs::remove_dir_all(repo.main().join(".git/worktrees/task")).expect("it is there");
    let said = repo.agentwt(&["status", "task"]);
    assert!(said.ok().contains("@worktree"), "{said}");
}
