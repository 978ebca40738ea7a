//! What `exec --json` and `run --json` report. Each document is held against its schema by the helper that runs
//! the program.

use serde_json::{Value, json};

use crate::support::{Said, allow_root_words, fenced_task};

/// The only document on standard output.
#[track_caller]
fn document(said: &Said) -> Value {
    serde_json::from_str(&said.stdout).expect("standard output is one document")
}

const COMMIT: &str = "echo 1 >src/one.rs; git add src; git commit -qm one";

#[test]
fn a_run_reports_its_verdict_and_the_move_of_its_branch() {
    let Some(repo) = fenced_task() else { return };
    let from = repo.git(&["rev-parse", "agentwt/task"]);
    let said = repo.fenced(&["--json"], &format!("echo hello; {COMMIT}; exit 3"));
    assert_eq!(said.status, 3, "{said}");
    assert!(said.stderr.contains("hello\n"), "{said}");
    let report = document(&said);
    let to = repo.git(&["rev-parse", "agentwt/task"]);
    assert_ne!(from, to);
    assert_eq!(report["name"], "task");
    assert_eq!(report["command"], json!({"ended": "exit", "number": 3}));
    assert_eq!(report["status"], 3);
    assert_eq!(report["branch"], "agentwt/task");
    assert_eq!(report["moved"], json!({"from": from, "to": to}));
    assert_eq!(report["verdict"]["valid"], true);
    assert_eq!(report["verdict"]["changed"][0]["path"], "src/one.rs");
    assert_eq!(report["kept"], json!([]));
    for absent in ["incoming", "waiting", "removed", "worktrees"] {
        assert_eq!(report.get(absent), None, "{absent}");
    }
}

#[test]
fn a_refused_run_reports_what_is_kept_and_where() {
    let Some(repo) = fenced_task() else { return };
    let script =
        "git branch side; git switch -q side; echo 2 >src/two.rs; git add src; git commit -qm two
        git switch -q agentwt/task; blob=$(echo x | git hash-object -w --stdin)
        git update-index --cacheinfo 100644,$blob,README.md; git commit -qm outside";
    let said = repo.fenced(&["--json"], script);
    assert_eq!(said.status, 120, "{said}");
    let report = document(&said);
    assert_eq!(report["command"], json!({"ended": "exit", "number": 0}));
    assert_eq!(report["status"], 120);
    assert_eq!(report["verdict"]["valid"], false);
    assert_eq!(report["verdict"]["violations"][0]["path"], "README.md");
    assert_eq!(report.get("moved"), None);
    assert_eq!(report["incoming"], "refs/agentwt/incoming/task");
    assert_eq!(report["waiting"]["state"], "commits");
    assert_eq!(report["waiting"]["next"], "git agentwt exec task -- true");
    let kept = &report["kept"][0];
    let place = kept["place"]
        .as_str()
        .expect("a branch of the command is kept");
    assert_eq!(kept["commit"], repo.git(&["rev-parse", place]).as_str());
    assert_eq!(repo.git(&["log", "-1", "--format=%s", place]), "two");
    // the next one takes what waits
    repo.agentwt(&["scope", "task", "--add-write", "README.md"])
        .ok();
    let said = repo.fenced(&["--json"], "true");
    let report = document(&said);
    let to = repo.git(&["rev-parse", "agentwt/task"]);
    assert_eq!(report["moved_before"]["to"], to.as_str(), "{said}");
    assert_eq!(report["kept"], json!([]), "{said}");
}

#[test]
fn a_run_reports_how_the_command_ended() {
    let Some(repo) = fenced_task() else { return };
    for (options, script, command, status) in [
        (
            &["--json"][..],
            "kill -9 $$",
            json!({"ended": "signal", "number": 9}),
            137,
        ),
        (
            &["--json", "--timeout", "0.2"],
            "sleep 60",
            json!({"ended": "timeout"}),
            124,
        ),
    ] {
        let said = repo.fenced(options, script);
        assert_eq!(said.status, status, "{said}");
        let report = document(&said);
        // the first process of a fence turns a signal into a status
        let is_status = report["command"] == json!({"ended": "exit", "number": status});
        assert!(report["command"] == command || is_status, "{said}");
        assert_eq!(report["status"], status, "{said}");
    }
    let said = repo.fenced(&["--json", "--print-policy"], "true").ok();
    assert!(said.contains("\"grants\""), "{said}");
}

#[test]
fn run_reports_the_same_and_whether_the_worktree_is_removed() {
    let Some(repo) = fenced_task() else { return };
    let root = allow_root_words();
    let run = |options: &[&str], script: &str| {
        let words = ["run", "other", "--write", "src/**", "--json"];
        repo.agentwt(&[&words, root, options, &["--", "sh", "-c", script]].concat())
    };
    let said = run(&["--rm"], "echo hello");
    let report = document(&said);
    assert_eq!(report["schema"], "agentwt.exec/1", "{said}");
    assert_eq!(report["removed"], true, "{said}");
    assert!(said.stderr.contains("hello\n"), "{said}");
    let said = run(&["--rm"], COMMIT);
    let report = document(&said);
    assert_eq!(report["removed"], false, "{said}");
    assert_eq!(report["name"], "other", "{said}");
    assert!(report["moved"].is_object(), "{said}");
    let said = run(&[], "exit 7");
    let report = document(&said);
    assert_eq!(report.get("removed"), None, "{said}");
    assert_eq!(report["status"], 7, "{said}");
}
