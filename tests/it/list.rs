//! `list`: every worktree, in every state; and what holds for every command's printing.

use std::process::Stdio;

use insta::assert_snapshot;

use crate::support::{TestRepo, binary, write};

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
    NAME          VERDICT      CHANGES  UNCOMMITTED  AHEAD  BEHIND  LAST COMMIT  BASE  SCOPE  BRANCH
    (main)        on main      -        0            -      -       300 d ago
    a-ready       ok           0        0            -      -       300 d ago    main  -
    b-missing     missing      0        0            -      -       300 d ago    main  -
      its directory is gone; to remove its record: git agentwt prune
    c-damaged     damaged
      cannot read the record of worktree `c-damaged`: it has version 9, and this program writes version
      4
    d-verified    1 violation  1        0            1      -       300 d ago    main  -
    e-silent      1 violation  0        0            1      -       300 d ago    main  -
      hooks silent
    f-incomplete  incomplete                                                                  agentwt/f
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
        said.lines().all(|line| line.matches('\t').count() == 22),
        "{said}"
    );
}

#[test]
fn with_nul_records_end_with_nul() {
    let repo = TestRepo::project();
    repo.add("task");
    let said = repo.agentwt(&["list", "-z"]).ok();
    assert!(
        said.starts_with("task\tready\tagentwt/task\t")
            && said.ends_with("\tworktree\t\t\t\t\t\t0\t2026-01-02T03:04:05Z\t\0"),
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
    assert_eq!(rows[0]["verification"]["violations"], 0);
    assert_eq!(rows[0]["verified_at"], rows[0]["verification"]["at"]);
    assert_eq!(
        (&rows[0]["live"], &rows[0]["uncommitted"]),
        (&true.into(), &0.into())
    );
    assert_eq!(value["main"]["branch"], "main");
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

/// A worktree with a stored verdict that an edit has made wrong.
#[track_caller]
fn with_an_old_green() -> TestRepo {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    repo.agentwt(&["verify", "task"]).ok();
    repo.sh(&worktree, "chmod u+w README.md; echo x >>README.md")
        .ok();
    repo
}

#[test]
fn a_verdict_is_that_of_this_moment_and_a_stored_one_has_an_age() {
    let repo = with_an_old_green();
    assert_snapshot!(repo.agentwt(&["list", "--stored"]), @"
    NAME    VERDICT      CHANGES  UNCOMMITTED  AHEAD  BEHIND  LAST COMMIT  BASE  SCOPE
    (main)  on main      -        -            -      -       300 d ago
    task    ok just now  0        -            -      -       300 d ago    main  -
    --- status 0
    ");
    let stored = repo.agentwt(&["list", "--stored", "--json"]).ok();
    let stored: serde_json::Value = serde_json::from_str(&stored).expect("it is JSON");
    let one = &stored["worktrees"][0];
    assert_eq!(
        (&one["live"], one.get("uncommitted")),
        (&false.into(), None)
    );
    assert_snapshot!(repo.agentwt(&["list"]), @"
    NAME    VERDICT      CHANGES  UNCOMMITTED  AHEAD  BEHIND  LAST COMMIT  BASE  SCOPE
    (main)  on main      -        0            -      -       300 d ago
    task    1 violation  1        1            -      -       300 d ago    main  -
    --- status 0
    ");
    // a look renews what is stored, and is no activity
    assert_snapshot!(repo.agentwt(&["list", "--stored"]), @"
    NAME    VERDICT               CHANGES  UNCOMMITTED  AHEAD  BEHIND  LAST COMMIT  BASE  SCOPE
    (main)  on main               -        -            -      -       300 d ago
    task    1 violation just now  1        -            -      -       300 d ago    main  -
    --- status 0
    ");
}

#[test]
fn our_own_commands_leave_no_stored_verdict_that_they_made_stale() {
    let repo = with_an_old_green();
    let stored = || {
        let list = repo.agentwt(&["list", "--stored", "--json"]).ok();
        let list: serde_json::Value = serde_json::from_str(&list).expect("it is JSON");
        list["worktrees"][0]["verification"]["violations"].as_u64()
    };
    repo.agentwt(&["list"]).ok();
    assert_eq!(stored(), Some(1));
    repo.agentwt(&["restore", "task"]).ok();
    assert_eq!(stored(), Some(0));
    for command in [
        &["restore", "task", "--undo"][..],
        &["reapply", "task"],
        &["sync", "task"],
        &["hooks", "uninstall", "task"],
        &["hooks", "install", "task"],
    ] {
        repo.agentwt(&["list"]).ok();
        assert!(stored().is_some(), "{command:?}");
        repo.agentwt(command).ok();
        assert_eq!(stored(), None, "{command:?}");
    }
    repo.agentwt(&["list"]).ok();
    repo.agentwt(&["remove", "task", "--force"]).ok();
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    assert_eq!(stored(), None, "remove --undo");
    assert!(repo.agentwt(&["list"]).ok().contains("1 violation"));
}

#[test]
fn a_worktree_that_cannot_be_verified_is_a_row_that_says_so() {
    let repo = with_an_old_green();
    repo.add("other");
    let record = repo.main().join(".git/agentwt/worktrees/task");
    std::fs::remove_file(record.join("manifest")).expect("it is there");
    assert_snapshot!(repo.agentwt(&["list"]), @"
    NAME    VERDICT        CHANGES  UNCOMMITTED  AHEAD  BEHIND  LAST COMMIT  BASE  SCOPE
    (main)  on main        -        0            -      -       300 d ago
    other   ok             0        0            -      -       300 d ago    main  -
    task    cannot verify  -        -            -      -       300 d ago    main  -
      cannot read the manifest of worktree `task`: it is missing
    --- status 0
    ");
    let said = repo.agentwt(&["list", "--json"]).ok();
    let said: serde_json::Value = serde_json::from_str(&said).expect("it is JSON");
    let one = &said["worktrees"][1];
    assert_eq!(one["live"], false);
    assert!(one["not_verified"].is_string(), "{one}");
}

#[test]
fn it_fits_the_width_and_shows_a_branch_only_where_it_is_another() {
    let repo = TestRepo::project();
    let scope = "the-scope-profile-of-this-project";
    let config = format!(
        "schema_version = \"1.0\"\n[worktree]\nbranch_prefix = \"w/\"\n[scope.{scope}]\nwrite = [\"src/**\"]\n"
    );
    repo.write(".agentwt/config.toml", &config);
    repo.agentwt(&["add", "task-with-a-name", "--scope", scope])
        .ok();
    repo.git(&["branch", "a-branch-of-my-own"]);
    repo.agentwt(&["add", "t", "-b", "a-branch-of-my-own", "--scope", scope])
        .ok();
    let mut shown = Vec::new();
    for width in ["200", "100", "80", "40"] {
        let mut command = repo.command(binary(), repo.main());
        let output = command.env("COLUMNS", width).arg("list").output();
        let said = repo.said(&output.expect("it starts")).ok();
        let most = width.parse::<usize>().expect("a number");
        assert!(
            said.lines().all(|line| line.len() <= most),
            "{width}: {said}"
        );
        shown.push(said);
    }
    assert_snapshot!(shown.join("\n\n"), @"
    NAME              VERDICT  CHANGES  UNCOMMITTED  AHEAD  BEHIND  LAST COMMIT  BASE  SCOPE                              BRANCH
    (main)            on main  -        1            -      -       300 d ago
    t                 ok       0        0            -      -       300 d ago    main  the-scope-profile-of-this-project  a-branch-of-my-own
    task-with-a-name  ok       0        0            -      -       300 d ago    main  the-scope-profile-of-this-project

    NAME              VERDICT  CHANGES  UNCOMMITTED  AHEAD  BEHIND  LAST COMMIT  BRANCH
    (main)            on main  -        1            -      -       300 d ago
    t                 ok       0        0            -      -       300 d ago    a-branch-of-my-own
    task-with-a-name  ok       0        0            -      -       300 d ago

    NAME              VERDICT  CHANGES  UNCOMMITTED  AHEAD  BEHIND  LAST COMMIT
    (main)            on main  -        1            -      -       300 d ago
    t                 ok       0        0            -      -       300 d ago
    task-with-a-name  ok       0        0            -      -       300 d ago

    NAME              VERDICT  UNCOMMITTED
    (main)            on main  1
    t                 ok       0
    task-with-a-name  ok       0
    ");
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
        let hint = "to restore these paths: git agentwt restore task
to accept these paths as they are: git agentwt accept task docs/
to let the agent edit these paths: git agentwt scope task --add-write '<pattern>'
";
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

#[test]
fn there_is_colour_on_a_terminal_only_and_not_where_the_user_does_not_want_it() {
    let repo = TestRepo::project();
    repo.add("task");
    let Some(said) = repo.on_a_terminal("git-agentwt list") else {
        return;
    };
    assert!(said.contains("\x1b["), "{said:?}");
    let said = repo.on_a_terminal("NO_COLOR=1 git-agentwt list");
    assert!(!said.unwrap_or_default().contains("\x1b["), "NO_COLOR");
    repo.git(&["config", "color.ui", "false"]);
    let said = repo.on_a_terminal("git-agentwt list").unwrap_or_default();
    assert!(!said.contains("\x1b["), "color.ui: {said:?}");
    let mut piped = repo.command(binary(), repo.main());
    let piped = piped
        .env_remove("NO_COLOR")
        .arg("list")
        .output()
        .expect("it starts");
    assert!(!piped.stdout.contains(&0x1b), "a pipe");
}

#[test]
fn each_stream_has_colour_where_it_is_a_terminal_itself() {
    let repo = TestRepo::project();
    repo.agentwt(&["add", "task", "--write", "src/**"]).ok();
    let talk = repo.main().join("talk");
    let coloured = "\u{1b}[";
    let Some(said) = repo.on_a_terminal("git-agentwt add task --write 'src/**' 2>talk") else {
        return;
    };
    assert!(said.contains("worktrees/task"), "{said}");
    let talked = std::fs::read_to_string(&talk).expect("it was talked");
    assert!(!talked.contains(coloured), "{talked}");
    let said = repo.on_a_terminal("git-agentwt add task --write 'src/**' >answer");
    assert!(said.is_some_and(|said| said.contains(coloured)));
    let answer = std::fs::read_to_string(repo.main().join("answer")).expect("an answer");
    assert!(!answer.contains(coloured), "{answer}");
}

#[test]
fn on_a_terminal_a_row_is_filled_in_as_soon_as_its_worktree_is_verified() {
    let repo = TestRepo::project();
    // git takes as many seconds for the file as a file in the home says
    let filter = "read -r name; sleep 0$(cat ~/$name 2>/dev/null); echo $name";
    repo.git(&["config", "filter.slow.smudge", filter]);
    repo.write(".gitattributes", "/src/slow filter=slow\n");
    for (name, seconds) in [("quick", "0.3"), ("slowest", "2.0")] {
        repo.write("src/slow", name);
        repo.commit_all(name);
        write(&repo.add(name), b"src/slow", b"edited\n");
        std::fs::write(repo.home().join(name), seconds).expect("written");
    }
    let Some(said) = repo.on_a_terminal("stty rows 24 cols 100; NO_COLOR=1 git-agentwt list")
    else {
        return;
    };
    // a frame replaces the one before: the cursor goes up, and what is below is cleared
    let frames: Vec<&str> = said.split("\x1b[J").collect();
    let is_pending = |frame: &str, name: &str| {
        let row = frame.lines().find(|line| line.starts_with(name));
        let row = row.unwrap_or_else(|| panic!("no row {name}: {said:?}"));
        row.contains('…')
    };
    let states = frames
        .iter()
        .map(|frame| ["quick", "slowest"].map(|name| is_pending(frame, name)));
    let mut states: Vec<[bool; 2]> = states.collect();
    states.dedup();
    assert_eq!(states, [[false, true], [false, false]], "{said:?}");
    let before = frames[0];
    let rows = before.lines().filter(|line| !line.starts_with("\x1b["));
    let up = format!("\x1b[{}F", rows.count());
    assert!(before.ends_with(&up), "{said:?}");
}
