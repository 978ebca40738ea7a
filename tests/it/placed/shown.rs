//! What `status` and `list` show of placed files.

use insta::assert_snapshot;

use super::World;
use crate::support::TestRepo;

/// One of each state, and both sides at once.
const MOVED: &str = "
    chmod u+w certs/a.log; echo edited >certs/a.log; echo '{2}' >$MAIN/src/local.json
    echo '{1}' >src/local.json; rm -f run.sh $MAIN/certs/link; touch $MAIN/.env";

/// The lines of a human `status` that are about placed files.
fn lines(world: &World) -> String {
    let text = world.agentwt(&["status", "task"]).ok();
    let from = text
        .lines()
        .skip_while(|line| !line.starts_with("  placed"));
    let lines: Vec<_> = from
        .take_while(|line| !line.starts_with("  changed"))
        .collect();
    lines.join("\n")
}

fn json(said: &str) -> serde_json::Value {
    let all: serde_json::Value = serde_json::from_str(said).expect("it is JSON");
    all["worktrees"][0]["placed"].clone()
}

#[test]
fn status_names_what_is_not_the_same() {
    let world = World::new();
    assert_eq!(lines(&world), "  placed   5 files, same");
    world.sh(MOVED);
    world.repo.place_context("task", "AGENTS.md", "do this\n");
    assert_snapshot!(lines(&world), @"
      placed   6 files, 2 same
        1 edited here: certs/a.log
        1 edited here, source newer: src/local.json
        1 gone at source: certs/link
        1 missing: run.sh
    ");
    let records = world.agentwt(&["status", "task", "--porcelain"]).ok();
    let placed: Vec<_> = records
        .lines()
        .filter(|line| line.contains("\tplaced\t"))
        .collect();
    assert_snapshot!(placed.join("\n").replace('\t', "|"), @"
    task|placed|same|.env
    task|placed|same|AGENTS.md
    task|placed|edited-here|certs/a.log
    task|placed|gone-at-source|certs/link
    task|placed|missing|run.sh
    task|placed|edited-here,source-newer|src/local.json
    ");
}

#[test]
fn status_has_every_file_for_programs() {
    let world = World::after(MOVED);
    world.repo.place_context("task", "AGENTS.md", "do this\n");
    let all = json(&world.agentwt(&["status", "task", "--json"]).ok());
    let all = all.as_array().expect("a list");
    let lines: Vec<_> = all
        .iter()
        .map(|one| {
            format!(
                "{} {} {} {}",
                one["path"], one["kind"], one["origin"], one["state"]
            )
        })
        .collect();
    assert_snapshot!(lines.join("\n").replace('"', ""), @"
    .env file synced [same]
    AGENTS.md file context [same]
    certs/a.log file synced [edited-here]
    certs/link link synced [gone-at-source]
    run.sh file synced [missing]
    src/local.json file synced [edited-here,source-newer]
    ");
}

#[test]
fn without_placed_files_nothing_is_said() {
    let repo = TestRepo::project();
    repo.add("task");
    let text = repo.agentwt(&["status", "task"]).ok();
    assert!(!text.contains("placed"), "{text}");
    let all = json(&repo.agentwt(&["status", "task", "--json"]).ok());
    assert_eq!(all, serde_json::json!([]));
}

#[test]
fn list_counts_them_for_programs() {
    let world = World::new();
    let counts = || json(&world.agentwt(&["list", "--json"]).ok()).to_string();
    assert_snapshot!(counts(), @r#"{"edited":0,"files":5,"missing":0,"source_gone":0,"source_newer":0}"#);
    world.sh(MOVED);
    assert_snapshot!(counts(), @r#"{"edited":2,"files":5,"missing":1,"source_gone":1,"source_newer":1}"#);
    // tracked by now: a file like any other
    world.sh("git add -f certs/a.log");
    assert_snapshot!(counts(), @r#"{"edited":1,"files":4,"missing":1,"source_gone":1,"source_newer":1}"#);
    let list = world.repo.placed_list("task");
    std::fs::write(&list, "damaged").expect("a list");
    assert_eq!(counts(), "null");
    std::fs::remove_file(&list).expect("a list");
    world.sh("rm -rf \"$PWD\"");
    let gone = world.agentwt(&["list", "--json"]).ok();
    assert!(!gone.contains("placed"), "{gone}");
    assert_eq!(
        json(&world.agentwt(&["status", "task", "--json"]).ok()).to_string(),
        "null"
    );
}
