//! The JSON documents and their schemas: each document that a test reads is held against its schema
//! (`support/schema.rs`); here are those of answers in which most is left out.

use serde_json::json;

use crate::support::{TestRepo, faults_of};

#[test]
fn a_document_that_is_not_as_its_schema_is_found() {
    let document = json!({"schema": "agentwt.path/1", "path": 1, "more": true});
    let faults = faults_of(&document).join("\n");
    assert_eq!(
        faults,
        "path.more: not in the schema\npath.path: not a \"string\": 1"
    );
    let nothing = faults_of(&json!({"schema": "agentwt.path/1"}));
    assert_eq!(nothing, ["path.path: required, and not there"]);
    let unknown = faults_of(&json!({"schema": "agentwt.nothing/1"}));
    assert_eq!(unknown, ["there is no schema of agentwt.nothing/1"]);
}

#[test]
fn documents_in_which_most_is_left_out_are_as_their_schemas() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    std::fs::write(worktree.join("src/new.rs"), "x").expect("it is ours");
    for words in [
        "verify task",
        "changed task",
        "changed task --commits",
        "list",
        "list --size",
        "list --overlap",
        "list --trash",
        "status task",
        "scope task",
        "env task",
        "clients",
        "doctor",
        "hooks status",
        "sync task",
        "prune -n",
        "restore task -n",
        "land task -n",
        "accept task --all -n",
        "remove task",
        "list",
        "list --trash",
        "remove task --undo",
        "add task",
        "path nothing",
    ] {
        let mut words: Vec<&str> = words.split(' ').collect();
        words.push("--json");
        let said = repo.agentwt(&words);
        assert!(said.stdout.starts_with('{'), "{words:?}: {said}");
    }
}

#[test]
fn the_schemas_are_printed_by_the_program() {
    let repo = TestRepo::empty();
    let names = repo.agentwt(&["schema"]).ok();
    assert!(names.lines().any(|name| name == "verify"), "{names}");
    let directory = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/schema");
    for name in names.lines() {
        let printed = repo.agentwt(&["schema", name]);
        assert_eq!(printed.status, 0, "{printed}");
        let file = directory.join(format!("{name}.json"));
        let text = std::fs::read_to_string(file).expect("each has its file");
        assert_eq!(printed.stdout, text, "{name}");
    }
    let unknown = repo.agentwt(&["schema", "nothing"]);
    assert_eq!(unknown.status, 2, "{unknown}");
    assert!(unknown.stderr.contains("git agentwt schema"), "{unknown}");
}
