//! `list`: every worktree, in every state; and what holds for every command's printing.

use std::process::Stdio;

use insta::assert_snapshot;

use crate::support::{TestRepo, binary};

#[test]
fn without_worktrees_it_says_how_to_make_one() {
    assert_snapshot!(TestRepo::project().agentwt(&["list"]), @"
    --- stderr
    no worktrees yet; to create one: git agentwt add task-1
    --- status 0
    ");
    assert_snapshot!(TestRepo::project().agentwt(&["list", "--porcelain"]), @"--- status 0");
    assert_snapshot!(TestRepo::project().agentwt(&["list", "--json"]), @r#"
    {
      "schema": "agentwt.list/1",
      "worktrees": []
    }
    --- status 0
    "#);
}

/// A repository with a worktree in every state.
#[track_caller]
fn every_state() -> TestRepo {
    let repo = TestRepo::project();
    for name in [
        "a-ready",
        "b-missing",
        "c-damaged",
        "d-verified",
        "e-silent",
    ] {
        repo.add(name);
    }
    std::fs::remove_dir_all(repo.worktree("b-missing")).expect("it is there");
    let records = repo.main().join(".git/agentwt/worktrees");
    std::fs::write(records.join("c-damaged/record.toml"), "version = 9\n").expect("written");
    repo.sh(
        &repo.worktree("d-verified"),
        "echo n >docs/n; git add -A; git commit -q -m n",
    )
    .ok();
    repo.sh(
        &repo.worktree("e-silent"),
        "git -c core.hooksPath=/dev/null commit -q --allow-empty -m n",
    )
    .ok();
    repo.write_intent("f-incomplete", "agentwt/f", 1, "2999-01-02T03:04:05Z");
    repo
}

#[test]
fn every_state_is_a_row() {
    let repo = every_state();
    assert_snapshot!(repo.agentwt(&["list"]), @"
    NAME          BRANCH              BASE  AHEAD  BEHIND  SCOPE  CHANGES  VERIFIED
    a-ready       agentwt/a-ready     main  -      -       -      -        never
    b-missing     agentwt/b-missing   main  -      -       -      -        directory is gone
    c-damaged                                                              damaged
      cannot read the record of worktree `c-damaged`: it has version 9, and this program writes version 3
    d-verified    agentwt/d-verified  main  1      -       -      1        1 violation, just now
    e-silent      agentwt/e-silent    main  1      -       -      -        never, hooks silent
    f-incomplete  agentwt/f                                                incomplete
      its `add` runs, or was killed: process 1, began just now
    --- status 0
    ");
    let inside = repo.agentwt_in(&repo.worktree("a-ready").join("src"), &["list"]);
    assert_eq!(inside, repo.agentwt(&["list"]));
}

#[test]
fn porcelain_has_every_state() {
    let said = every_state().agentwt(&["list", "--porcelain"]).ok();
    let states: Vec<String> = said
        .lines()
        .map(|line| line.split('\t').take(3).collect::<Vec<_>>().join(" "))
        .collect();
    assert_snapshot!(states.join("\n"), @"
    a-ready ready agentwt/a-ready
    b-missing missing agentwt/b-missing
    c-damaged damaged 
    d-verified ready agentwt/d-verified
    e-silent ready agentwt/e-silent
    f-incomplete incomplete agentwt/f
    ");
    assert!(
        said.lines().all(|line| line.matches('\t').count() == 19),
        "{said}"
    );
}

#[test]
fn with_nul_records_end_with_nul() {
    let repo = TestRepo::project();
    repo.add("task");
    let said = repo.agentwt(&["list", "-z"]).ok();
    assert!(
        said.starts_with("task\tready\tagentwt/task\t") && said.ends_with("\tworktree\t\t\t\t\t\0"),
        "{said:?}"
    );
}

#[test]
fn json_has_every_state() {
    let said = every_state().agentwt(&["list", "--json"]).ok();
    let value: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
    assert_eq!(value["schema"], "agentwt.list/1");
    let rows = value["worktrees"].as_array().expect("a list");
    let states: Vec<_> = rows
        .iter()
        .map(|row| row["state"].as_str().unwrap_or(""))
        .collect();
    assert_eq!(
        states,
        [
            "ready",
            "missing",
            "damaged",
            "ready",
            "ready",
            "incomplete"
        ]
    );
    assert_eq!(rows[3]["verification"]["violations"], 1);
    assert_eq!(rows[0]["verification"], serde_json::Value::Null);
    assert_eq!(rows[4]["hooks_silent"], true);
    assert_eq!(rows[0]["hooks_silent"], false);
}

#[test]
fn a_branch_with_commits_that_were_there_before_is_no_silence_of_hooks() {
    let repo = TestRepo::project();
    repo.git(&["switch", "-q", "-c", "mine"]);
    repo.write("src/more.rs", "more\n");
    repo.commit_all("more");
    repo.git(&["switch", "-q", "main"]);
    repo.agentwt(&[
        "add", "task", "-b", "mine", "--base", "main", "--write", "src/**",
    ])
    .ok();
    let list = repo.agentwt(&["list"]).ok();
    assert!(!list.contains("hooks silent"), "{list}");
}

// ---- what holds for all of them --------------------------------------------------------------

#[test]
fn a_reader_that_goes_away_ends_it_quietly() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    repo.sh(
        &worktree,
        "for i in $(seq 2000); do echo x >docs/a-long-name-of-a-file-$i; done",
    )
    .ok();
    for (line, status) in [
        (
            "git-agentwt changed task | head -n 1; echo ${PIPESTATUS[0]}",
            "0",
        ),
        (
            "git-agentwt verify task | head -n 1; echo ${PIPESTATUS[0]}",
            "1",
        ),
        (
            "git-agentwt verify task --json | head -c 1 >/dev/null; echo ${PIPESTATUS[0]}",
            "1",
        ),
        (
            "(sleep 0.3; git-agentwt verify tusk; echo $? >status) 2>&1 | true; cat status",
            "7",
        ),
        (
            "(sleep 0.3; git-agentwt changed task -z; echo $? >status) | true; cat status",
            "0",
        ),
    ] {
        let mut command = repo.command("bash", repo.main());
        let output = command
            .args(["-c", line])
            .stdin(Stdio::null())
            .output()
            .expect("bash");
        let said = repo.said(&output);
        let hint = "to restore these paths: git agentwt restore task\n";
        assert!(["", hint].contains(&&*said.stderr), "{line}: {said}");
        assert_eq!(said.stdout.lines().last(), Some(status), "{line}: {said}");
    }
}

#[test]
fn a_disk_that_is_full_is_told() {
    let repo = TestRepo::project();
    repo.add("task");
    let mut command = repo.command("sh", repo.main());
    let output = command
        .args(["-c", "git-agentwt list >/dev/full"])
        .output()
        .expect("sh");
    let said = repo.said(&output);
    assert_eq!(said.status, 6, "{said}");
    assert!(
        said.stderr.contains("cannot write to standard output"),
        "{said}"
    );
}

/// Runs the program with a terminal for stdout, by script(1); none where there is none.
fn on_a_terminal(repo: &TestRepo, line: &str) -> Option<String> {
    let mut command = repo.command("script", repo.main());
    command.env_remove("NO_COLOR").env("TERM", "xterm");
    let line = format!("{} {line}", binary().display());
    let output = command
        .args(["-q", "-e", "-c", &line, "/dev/null"])
        .stdin(Stdio::null())
        .output();
    Some(String::from_utf8_lossy(&output.ok()?.stdout).into_owned())
}

#[test]
fn there_is_colour_on_a_terminal_only_and_not_where_the_user_does_not_want_it() {
    let repo = TestRepo::project();
    repo.add("task");
    let Some(said) = on_a_terminal(&repo, "list") else {
        eprintln!("SKIPPED: there is no script(1)");
        return;
    };
    assert!(said.contains("\x1b["), "{said:?}");
    let wish = format!("env NO_COLOR=1 {}", binary().display());
    let mut command = repo.command("script", repo.main());
    command
        .env_remove("NO_COLOR")
        .env("TERM", "xterm")
        .stdin(Stdio::null());
    let output = command
        .args(["-q", "-e", "-c", &format!("{wish} list"), "/dev/null"])
        .output()
        .expect("it starts");
    assert!(
        !String::from_utf8_lossy(&output.stdout).contains("\x1b["),
        "NO_COLOR"
    );
    repo.git(&["config", "color.ui", "false"]);
    let said = on_a_terminal(&repo, "list").unwrap_or_default();
    assert!(!said.contains("\x1b["), "color.ui: {said:?}");
    let mut piped = repo.command(binary(), repo.main());
    let piped = piped
        .env_remove("NO_COLOR")
        .arg("list")
        .output()
        .expect("it starts");
    assert!(!piped.stdout.contains(&0x1b), "a pipe");
}
