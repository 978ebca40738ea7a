//! The hooks in a worktree of more files than are looked at after each commit: what was committed is
//! reported all the same, what is only on disk is left to `verify`, and `list` says so.

use std::path::PathBuf;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::{Said, TestRepo};

const FILES: u32 = 3_000;

struct World {
    repo: TestRepo,
    worktree: PathBuf,
}

impl World {
    fn new() -> Self {
        let repo = TestRepo::project();
        for number in 0..FILES {
            let name = format!("lib/{}/number_{number:05}_of_many.txt", number / 50);
            repo.write(&name, &format!("{number}\n"));
        }
        repo.commit_all("many files");
        let worktree = repo.add("task");
        Self { repo, worktree }
    }

    fn does(&self, script: &str) -> Said {
        self.repo.sh(
            &self.worktree,
            &format!("set -e; export GIT_AGENTWT_WALK=fast\n{script}"),
        )
    }

    #[track_caller]
    fn listed(&self) -> String {
        let list = self.repo.agentwt(&["list", "--stored"]).ok();
        let line = list.lines().find(|line| line.starts_with("task "));
        let cells = line.expect("it is listed").split("  ").map(str::trim);
        let verdict = cells.filter(|cell| !cell.is_empty()).nth(1);
        verdict.unwrap_or_default().to_owned()
    }

    #[track_caller]
    fn looked(&self) -> Value {
        let said = self.repo.agentwt(&["list", "--stored", "--json"]).ok();
        let json: Value = serde_json::from_str(&said).expect("it is JSON");
        json["worktrees"][0]["verification"]["looked"].clone()
    }
}

#[test]
fn a_commit_is_reported_whatever_the_number_of_files() {
    let world = World::new();
    let said = world.does(
        "chmod u+w README.md; echo more >>README.md; echo x >docs/new.md; git rm -q docs/api.md
        git add -A; git commit -q -m work",
    );
    assert_snapshot!(said, @"
    --- stderr
    agentwt: NO task: 3 new violations: modified README.md, deleted docs/api.md, created docs/new.md; git agentwt restore task
    --- status 0
    ");
    assert_eq!(world.listed(), "3 violations (commits) just now");
    assert_eq!(world.looked(), "commits");
    assert_eq!(
        world
            .does("git reset -q --hard HEAD~; git commit -q --allow-empty -m z")
            .stderr,
        ""
    );
    assert_eq!(world.listed(), "ok (commits) just now");
}

#[test]
fn what_is_only_on_disk_is_left_to_verify() {
    let world = World::new();
    let edits = "chmod u+w README.md; echo more >>README.md; echo more >>src/main.rs
        git commit -q -m work src/main.rs";
    assert_eq!(world.does(edits).stderr, "");
    assert_eq!(world.listed(), "ok (commits) just now");
    let verified = world.repo.agentwt(&["verify", "task"]);
    assert_eq!(verified.status, 1);
    assert!(verified.stdout.contains("README.md"), "{verified}");
    assert_eq!(world.listed(), "1 violation just now");
    assert_eq!(world.looked(), "everything");
    // who wants to wait for it has it
    let whole = "echo n >docs/n; echo more >>src/main.rs; GIT_AGENTWT_WALK=full git commit -q -m more src/main.rs";
    let said = world.does(whole);
    assert!(
        said.stderr.contains("1 new violation: created docs/n;"),
        "{said}"
    );
    assert_eq!(world.listed(), "2 violations just now");
}

#[test]
fn content_of_an_excluded_file_is_seen_in_a_commit() {
    let world = World::new();
    let secret = "git show HEAD:secrets/key.pem >src/copy.txt; git add src; git commit -q -m copy";
    let said = world.does(secret);
    assert!(said.stderr.contains("src/copy.txt"), "{said}");
    assert_eq!(world.listed(), "1 violation (commits) just now");
    let back = "git rm -q src/copy.txt; git commit -q -m back; git commit -q --allow-empty -m z";
    world.does(back).ok();
    assert_eq!(world.listed(), "ok (commits) just now");
}

#[test]
fn what_upstream_did_is_no_change_in_a_large_worktree_either() {
    let world = World::new();
    let main = world.repo.main();
    let upstream = "echo v2 >docs/api.md; git rm -q README.md; git commit -q -a -m up";
    world.repo.sh(main, upstream).ok();
    let merged = "echo more >>src/main.rs; git commit -q -a -m work; git merge -q -m merge main";
    assert_eq!(world.does(merged).stderr, "");
    assert_eq!(world.listed(), "ok (commits) just now");
    let undone = "git checkout -q agentwt/task~ -- README.md; git commit -q -m 'put back'";
    let said = world.does(undone);
    assert!(said.stderr.contains("README.md"), "{said}");
}
