//! What `list` and `status` know of many worktrees: where their branches stand, who has them, what
//! they take; how much work that is; and the documents for programs, held against their man pages.

use std::collections::BTreeSet;

use insta::assert_snapshot;
use serde_json::Value;

use crate::support::TestRepo;

#[track_caller]
fn rows(repo: &TestRepo, arguments: &[&str]) -> Vec<Value> {
    let said = repo
        .agentwt(&[&["list", "--json"], arguments].concat())
        .ok();
    let value: Value = serde_json::from_str(&said).expect("it is JSON");
    value["worktrees"].as_array().expect("a list").clone()
}

/// Writes down who works in a worktree: a process, by its number and what only it has.
#[track_caller]
fn own(repo: &TestRepo, name: &str, host: &str, started: &str) {
    let file = repo
        .main()
        .join(format!(".git/agentwt/worktrees/{name}/record.toml"));
    let mut record = std::fs::read_to_string(&file).expect("a record");
    let pid = std::process::id();
    record.push_str(&format!(
        "\n[owner]\nid = \"fleet-1\"\nhost = \"{host}\"\nsince = \"2999-01-01T00:00:00Z\"\n\
         [owner.process]\npid = {pid}\nstarted = \"{started}\"\n\
         [claim]\nremote = \"origin\"\ncommit = \"{}\"\nlease = 600\n",
        "a".repeat(40)
    ));
    std::fs::write(&file, record).expect("written");
}

/// Worktrees that went their ways: ahead, behind, both, merged, moved elsewhere, with an upstream.
#[track_caller]
fn apart() -> TestRepo {
    let repo = TestRepo::project();
    for name in ["both", "merged", "pushed", "still", "elsewhere", "early"] {
        repo.add(name);
    }
    let commit = |name: &str, script: &str| repo.sh(&repo.worktree(name), script).ok();
    let work =
        "for i in 1 2 3; do git commit -q --allow-empty -m $(git branch --show-current)$i; done";
    commit("both", work);
    commit("merged", work);
    repo.sh(repo.main(), work).ok();
    commit("merged", "git merge -q -m m main");
    repo.sh(repo.main(), "git commit -q --allow-empty -m more")
        .ok();
    repo.agentwt(&["add", "late", "--write", "src/**"]).ok();
    commit("late", "git commit -q --allow-empty -m 1");
    commit(
        "elsewhere",
        "git checkout -q --orphan o; git commit -q -m o; git branch -q -f agentwt/elsewhere; git checkout -q agentwt/elsewhere",
    );
    let push = "git init -q --bare ../../../../remote; git remote add origin ../../../../remote
        git commit -q --allow-empty -m 1; git push -q -u origin agentwt/pushed
        git commit -q --allow-empty -m 2; git commit -q --allow-empty -m 3";
    commit("pushed", push);
    repo
}

#[test]
fn positions_are_those_that_git_counts() {
    let repo = apart();
    let count = |range: String| {
        let count = repo.git(&["rev-list", "--count", &range]);
        count.parse::<u64>().expect("a number")
    };
    let rows = rows(&repo, &[]);
    assert_eq!(rows.len(), 7);
    let mut lines = Vec::new();
    for row in &rows {
        let name = row["name"].as_str().expect("a name");
        let (branch, base) = (&format!("agentwt/{name}"), &row["base"]);
        let commit = base["commit"].as_str().expect("a commit");
        assert_eq!(base["branch"], "main", "{name}");
        assert_eq!(base["moved"], count(format!("{commit}..main")), "{name}");
        assert_eq!(
            row["commits"],
            count(format!("{commit}..{branch}")),
            "{name}"
        );
        assert_eq!(row["ahead"], count(format!("main..{branch}")), "{name}");
        assert_eq!(row["behind"], count(format!("{branch}..main")), "{name}");
        let numbers = [&base["moved"], &row["ahead"], &row["behind"]];
        lines.push(format!("{name} {numbers:?}").replace("Number", ""));
        let status = repo.agentwt(&["status", name, "--json"]).ok();
        let status: Value = serde_json::from_str(&status).expect("it is JSON");
        let status = &status["worktrees"][0];
        for key in ["base", "ahead", "behind", "commits", "upstream", "head"] {
            assert_eq!(status[key], row[key], "{name} {key}");
        }
    }
    assert_snapshot!(lines.join("\n"), @"
    both [(4), (3), (4)]
    early [(4), (0), (4)]
    elsewhere [(4), (1), (5)]
    late [(0), (1), (0)]
    merged [(4), (4), (1)]
    pushed [(4), (3), (4)]
    still [(4), (0), (4)]
    ");
    let pushed = rows.iter().find(|row| row["name"] == "pushed");
    let upstream = &pushed.expect("it is there")["upstream"];
    assert_eq!(
        upstream.to_string(),
        r#"{"ahead":2,"behind":0,"name":"origin/agentwt/pushed"}"#
    );
}

#[test]
fn people_see_what_is_not_as_usual() {
    let repo = apart();
    own(&repo, "both", "elsewhere", "x");
    own(
        &repo,
        "early",
        &git_agentwt::system::users::host(),
        "another boot 1",
    );
    let here = git_agentwt::system::processes::start_time(std::process::id()).expect("it runs");
    own(&repo, "merged", &git_agentwt::system::users::host(), &here);
    repo.git(&[
        "worktree",
        "lock",
        "--reason",
        "on loan",
        ".agentwt/worktrees/late",
    ]);
    repo.git(&["worktree", "lock", ".agentwt/worktrees/still"]);
    let said = repo.agentwt(&["list"]).ok();
    assert!(said.lines().all(|line| line.len() <= 100), "{said}");
    assert_snapshot!(said, @"
    NAME       VERDICT      CHANGES  UNCOMMITTED  AHEAD  BEHIND  LAST COMMIT  BASE     SCOPE
    (main)     on main      -        0            -      -       300 d ago
    both       ok           0        0            3      4       300 d ago    main +4  -
      owner fleet-1, unknown whether alive; claim on origin
    early      ok           0        0            -      4       300 d ago    main +4  -
      owner fleet-1, has ended; claim on origin
    elsewhere  1 violation  0        0            1      5       300 d ago    main +4  -
    late       ok           0        0            1      -       300 d ago    main     -
      locked on loan
    merged     ok           0        0            4      1       300 d ago    main +4  -
      owner fleet-1, alive; claim on origin
    pushed     ok           0        0            3      4       300 d ago    main +4  -
      2 ahead of origin/agentwt/pushed
    still      ok           0        0            -      4       300 d ago    main +4  -
      locked without a reason
    ");
    let status = repo.agentwt(&["status", "merged", "pushed", "late"]).ok();
    let keys = ["  beside", "  upstream", "  owner", "  claim", "  locked"];
    let lines = status
        .lines()
        .filter(|line| keys.iter().any(|key| line.starts_with(key)));
    let lines: Vec<String> = lines.map(ToOwned::to_owned).collect();
    let pid = std::process::id().to_string();
    let lines = lines.join("\n").replace(&pid, "PID");
    assert_snapshot!(lines.replace(&git_agentwt::system::users::host(), "HOST"), @"
      beside   main: 4 ahead, 1 behind
      owner    fleet-1, alive (process PID on HOST, just now)
      claim    on origin, for 10m at a time
      beside   main: 3 ahead, 4 behind
      upstream 2 ahead of origin/agentwt/pushed
      locked   on loan
    ");
}

#[test]
fn a_base_or_a_branch_that_is_gone_is_unknown_and_hides_nothing_else() {
    let repo = apart();
    repo.git(&["checkout", "-q", "--detach"]);
    repo.git(&["branch", "-q", "-m", "main", "trunk"]);
    repo.git(&["update-ref", "-d", "refs/heads/agentwt/both"]);
    let rows = rows(&repo, &[]);
    assert_eq!(rows[0]["name"], "both");
    assert_eq!(rows[0]["head"], Value::Null);
    for row in &rows {
        assert_eq!(row["base"]["branch"], "main");
        assert!(
            row["base"]["moved"].is_null() && row["ahead"].is_null(),
            "{row}"
        );
    }
    assert_eq!(
        rows[4]["commits"], 7,
        "merged: three, three of main's, one merge"
    );
}

/// How often git is started.
#[track_caller]
fn starts(repo: &TestRepo, arguments: &[&str]) -> usize {
    let said = repo.agentwt(&[&["-vv"], arguments].concat());
    assert_eq!(said.status, 0, "{said}");
    said.stderr.matches(" ms  git ").count()
}

#[test]
fn list_starts_git_as_often_for_many_as_for_a_few() {
    let repo = TestRepo::project();
    let list: &[&[&str]] = &[
        &["list"],
        &["list", "--json", "--size"],
        &["list", "--overlap"],
    ];
    let add = |name: &str| {
        let worktree = repo.add(name);
        repo.sh(&worktree, "git commit -q --allow-empty -m 1").ok();
    };
    add("one");
    add("two");
    let few: Vec<usize> = list.iter().map(|list| starts(&repo, list)).collect();
    for name in ["three", "four", "five", "six"] {
        add(name);
    }
    let many: Vec<usize> = list.iter().map(|list| starts(&repo, list)).collect();
    assert_eq!(few, many);
    assert!(few.iter().all(|starts| *starts < 20), "{few:?}");
}

#[test]
fn changes_by_class_come_from_the_last_verification() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    let script =
        "echo x >src/new.rs; echo y >>src/main.rs; rm tests/t.rs; git add -A; git commit -q -m x";
    repo.sh(&worktree, script).ok();
    repo.sh(&worktree, "echo z >src/later.rs").ok();
    let kinds = |value: &Value| value["kinds"].to_string();
    let listed = &rows(&repo, &["--stored"])[0]["verification"];
    assert_eq!(kinds(listed), r#"{"created":1,"deleted":1,"modified":1}"#);
    assert!(
        listed["age"].as_u64().is_some_and(|age| age < 1000),
        "{listed}"
    );
    let status = repo.agentwt(&["status", "task", "--json"]).ok();
    let status: Value = serde_json::from_str(&status).expect("it is JSON");
    let status = &status["worktrees"][0];
    assert_eq!(kinds(status), r#"{"created":2,"deleted":1,"modified":1}"#);
    assert_eq!(status["seen"]["untracked"], 1);
    assert_eq!(status["seen"]["commit"], 3);
    // written by a version that did not count them
    let file = repo
        .main()
        .join(".git/agentwt/worktrees/task/verification.toml");
    let text = std::fs::read_to_string(&file).expect("it is there");
    let (before, after) = text.split_once("[kinds]").expect("they are there");
    let after = after.split_once("\n\n").map_or("", |(_, rest)| rest);
    std::fs::write(&file, format!("{before}{after}")).expect("written");
    assert_eq!(rows(&repo, &["--stored"])[0]["verification"]["changed"], 4);
}

#[test]
fn size_counts_blocks_and_a_file_with_two_names_once() {
    let repo = TestRepo::project();
    let worktree = repo.add("task");
    let size = || {
        rows(&repo, &["--size"])[0]["size"]
            .as_u64()
            .expect("a number")
    };
    assert_eq!(rows(&repo, &[])[0].get("size"), None);
    let before = size();
    let script = "head -c 500000 /dev/urandom >src/big; ln src/big src/twin; ln -s / src/root";
    repo.sh(&worktree, script).ok();
    assert!(
        (500_000..600_000).contains(&(size() - before)),
        "{before} {}",
        size()
    );
    let du = repo.sh(&worktree, "du -s -B1 . | cut -f1").ok();
    assert_eq!(du, size().to_string());
    let status = repo.agentwt(&["status", "task", "--size"]).ok();
    assert!(status.contains("\n  size     "), "{status}");
    let list = repo.agentwt(&["list", "--size"]).ok();
    assert!(list.contains("SIZE") && list.contains(" KiB"), "{list}");
}

/// Every key of a document, as the man pages write it. What is counted by a word has any keys.
fn keys(value: &Value, at: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(all) => {
            for (key, value) in all {
                let at = if at.is_empty() {
                    key.clone()
                } else {
                    format!("{at}.{key}")
                };
                found.insert(at.clone());
                if key != "kinds" && key != "seen" {
                    keys(value, &at, found);
                }
            }
        }
        Value::Array(all) => all
            .iter()
            .for_each(|one| keys(one, &format!("{at}[]"), found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The keys that a man page documents: its `.B` lines in the section JSON.
#[track_caller]
fn documented(command: &str) -> BTreeSet<String> {
    let section = git_agentwt::output::schema::man_section(command);
    let heads = section.lines().filter_map(|line| line.strip_prefix(".B "));
    heads.map(|key| key.replace("\\-", "-")).collect()
}

/// One worktree in every state, and everything there is to say of one.
#[track_caller]
fn with_everything() -> TestRepo {
    let repo = TestRepo::project();
    repo.write(".env", "secret\n");
    repo.git(&["init", "-q", "--bare", "../remote"]);
    let remote = repo.root().join("remote");
    repo.git(&["remote", "add", "origin", &remote.to_string_lossy()]);
    repo.write(".git/info/exclude", ".env\n");
    let scope = ["--write", "src/**", "--sync", ".env"];
    repo.agentwt(&[&["add", "all"], &scope[..]].concat()).ok();
    own(&repo, "all", "elsewhere", "x");
    let script = "chmod u+w README.md; echo x >README.md; git add -A; git commit -q -m x; git push -q -u origin HEAD; echo >src/new";
    repo.sh(&repo.worktree("all"), script).ok();
    repo.git(&[
        "worktree",
        "lock",
        "--reason",
        "on loan",
        ".agentwt/worktrees/all",
    ]);
    repo.add("damaged");
    repo.add("begun");
    let records = repo.main().join(".git/agentwt/worktrees");
    std::fs::write(records.join("damaged/record.toml"), "x").expect("written");
    std::fs::remove_file(records.join("begun/record.toml")).expect("it is there");
    repo.write_intent("begun", "b", 1, "2999-01-02T03:04:05Z");
    repo
}

#[test]
fn the_man_pages_name_every_key_of_the_documents() {
    let repo = with_everything();
    repo.agentwt(&["add", "other", "--write", "src/**"]).ok();
    for (command, asked) in [
        (
            "list",
            &[
                &["list", "--json", "--size"][..],
                &["list", "--json", "--overlap"],
            ][..],
        ),
        ("status", &[&["status", "--json", "--size", "all"]]),
    ] {
        let mut found = BTreeSet::new();
        for arguments in asked {
            let said = repo.agentwt(arguments).ok();
            let value: Value = serde_json::from_str(&said).expect("it is JSON");
            keys(&value, "", &mut found);
        }
        let documented = documented(command);
        let missing: Vec<_> = found.difference(&documented).collect();
        assert!(
            missing.is_empty(),
            "{command}(1) does not name: {missing:#?}"
        );
    }
}
