//! What a refusal advises is the command that helps.

use insta::assert_snapshot;
use serde_json::Value;

use super::support::{Shim, TestRepo};

const ADD: &[&str] = &["add", "task", "--write", "src/**"];

fn url(repo: &TestRepo) -> String {
    format!("file://{}", repo.main().display())
}

#[test]
fn a_directory_for_clones_asks_for_a_url() {
    let repo = TestRepo::project();
    let outside = repo.root().join("outside");
    std::fs::create_dir_all(&outside).expect("a directory");
    let url = url(&repo);
    let first = [ADD, &["--repo", &url, "--parent", "."]].concat();
    repo.agentwt_in(&outside, &first).ok();
    for strategy in ["clone", "worktree"] {
        let said = repo.agentwt_in(&outside, &["add", "p4", "--strategy", strategy]);
        assert_eq!(said.status, 2, "{said}");
        let error = "error: cannot add `p4`: $TMP/outside has no repository of its own, only clones of others\n";
        let help = "help: say of which: git agentwt add p4 --repo <URL>\n";
        assert_eq!(said.stderr, format!("{error}{help}"));
    }
    let second = ["add", "p4", "--write", "src/**", "--repo", &url];
    repo.agentwt_in(&outside, &second).ok();
}

#[test]
fn a_directory_for_clones_that_is_not_there_is_made_by_the_command_that_is_shown() {
    let repo = TestRepo::project();
    let nope = repo.root().join("nope");
    let parent = nope.to_string_lossy();
    let url = url(&repo);
    let arguments = [ADD, &["--repo", &url, "--parent", &parent]].concat();
    assert_snapshot!(repo.agentwt_in(repo.root(), &arguments), @"
    --- stderr
    error: there is no directory $TMP/nope
    help: create the directory first: mkdir -p $TMP/nope
    --- status 2
    ");
}

#[test]
fn commits_that_were_kept_of_a_clone_are_named() {
    let repo = TestRepo::project();
    let add = [ADD, &["--strategy", "clone"]].concat();
    repo.agentwt(&add).ok();
    let dir = repo.worktree("task");
    repo.sh(&dir, "echo a >src/a.rs").ok();
    let tip = repo.commit_all_in(&dir, "a");
    repo.agentwt(&["remove", "task", "--wait"]).ok();
    repo.git(&["config", "agentwt.trashExpireClean", "now"]);
    repo.agentwt(&["prune"]).ok();
    let said = repo.agentwt(&["remove", "--undo", "task"]);
    assert_snapshot!(said, @"
    --- stderr
    error: there is no removed worktree `task` to bring back
    help: commits of this name were kept; to have them on a branch: git branch <new> <ref>, of refs/agentwt/incoming/task
    --- status 4
    ");
    repo.git(&["branch", "again", "refs/agentwt/incoming/task"]);
    assert_eq!(repo.git(&["rev-parse", "again"]), tip);
}

#[test]
fn an_undo_that_was_killed_is_told_of_by_the_next_add() {
    let repo = TestRepo::project();
    repo.agentwt(ADD).ok();
    repo.sh(&repo.worktree("task"), "echo n >src/new.rs").ok();
    repo.agentwt(&["remove", "task", "--force"]).ok();
    let shim = Shim::new(repo.root(), "kill -9 $PPID; exit 77");
    let (said, call) = shim.run(&repo, &["remove", "--undo", "task"], 2);
    assert!(
        call.is_some_and(|call| call.contains("update-ref")),
        "{said}"
    );
    let said = repo.agentwt(ADD);
    said.fails(6);
    let advice = "git agentwt remove --undo task";
    assert!(said.stderr.contains(advice), "{said}");
    repo.sh(repo.main(), advice).ok();
    assert!(repo.worktree("task").join("src/new.rs").exists());
}

#[test]
fn the_owner_has_one_form_in_every_document() {
    let repo = TestRepo::project();
    let pid = std::process::id();
    let number = pid.to_string();
    let owner = ["--owner", "fleet-1", "--owner-pid", &number, "--json"];
    let of = |arguments: &[&str]| {
        let said = repo.agentwt(arguments).ok();
        let value: Value = serde_json::from_str(&said).expect("it is JSON");
        let one = value.get("owner").cloned();
        one.unwrap_or_else(|| value["worktrees"][0]["owner"].clone())
    };
    let made = of(&[ADD, &owner].concat());
    assert_eq!(made["id"], "fleet-1");
    assert_eq!(made["pid"], pid);
    assert_eq!(made["alive"], true);
    assert_eq!(
        made.as_object().map(serde_json::Map::len),
        Some(5),
        "{made}"
    );
    assert_eq!(of(&["list", "--json"]), made);
    assert_eq!(of(&["status", "task", "--json"]), made);
    assert_eq!(of(&["renew", "task", "--json"]), made);
}
