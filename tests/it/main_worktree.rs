//! What `add` notes of the main worktree and `verify` says of it, where stat data tell it and where git
//! has to be asked.

use crate::support::{TestRepo, binary};

/// How many files of the main worktree changed, when `task` was made between the two lines; with
/// the short cut and without.
#[track_caller]
fn changed(before: &str, after: &str) -> [String; 2] {
    let repo = TestRepo::project();
    repo.sh(repo.main(), before).ok();
    repo.add("task");
    repo.sh(repo.main(), after).ok();
    ["fast", "full"].map(|walk| {
        let mut command = repo.command(binary(), repo.main());
        command.env("GIT_AGENTWT_WALK", walk);
        command.args(["verify", "task", "--json"]);
        let output = command.output().expect("it starts");
        let value: serde_json::Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
        value["worktrees"][0]["main_changed"].to_string()
    })
}

#[test]
fn what_was_not_touched_since_is_not_counted() {
    let before = "echo x >>README.md; echo x >new; mkdir -p o/p; echo x >o/p/q; ln -s nowhere l";
    for after in [
        "true",
        "touch docs/guide.md",
        "mkdir -p empty/one",
        "git status -s",
    ] {
        assert_eq!(changed(before, after), ["0", "0"], "{after}");
    }
}

#[test]
fn every_way_to_change_a_file_is_counted() {
    let before = "echo x >>README.md; echo x >new; mkdir -p o/p empty; echo x >o/p/q
        echo out >>.gitignore; mkdir out; git commit -qm ignore .gitignore";
    for (after, count) in [
        ("echo y >>docs/guide.md", 1),
        (
            "cp -p docs/guide.md g; echo 'A guide' >docs/guide.md; touch -r g docs/guide.md; rm g",
            1,
        ),
        ("echo y >>README.md", 1),
        ("git checkout -q README.md", 1),
        ("git commit -qm r README.md", 0),
        ("rm docs/guide.md", 1),
        ("rm new", 1),
        ("git rm -q docs/guide.md", 1),
        ("echo y >>docs/guide.md; git add docs/guide.md", 1),
        ("echo y >>docs/guide.md; git commit -qm d docs/guide.md", 0),
        ("echo y >docs/y", 1),
        ("echo y >new2; mkdir -p d/e; echo y >d/e/f", 2),
        ("echo y >o/p/r", 1),
        ("echo y >o/p/q", 1),
        ("echo y >empty/y", 1),
        ("echo y >out/y", 0),
        ("chmod +x docs/guide.md", 1),
        ("rm docs/guide.md; ln -s x docs/guide.md", 1),
        ("mv docs docs2; ln -s docs2 docs", 3),
        ("mv new newer", 2),
    ] {
        let [fast, full] = changed(before, after);
        assert_eq!(fast, full, "{after}");
        assert!(count == 0 || fast != "0", "{after}: {fast}");
        assert!(count != 0 || fast == "0", "{after}: {fast}");
    }
}

#[test]
fn directories_that_change_places_are_seen() {
    let before = "mkdir a b; echo 1 >a/f; echo 2 >b/f; git add -A; git commit -qm ab";
    let after = "mv a c; mv b a; mv c b";
    assert_eq!(changed(before, after), ["2", "2"]);
}

/// What the record says of the main worktree's files, and the git commands that were started.
fn added(repo: &TestRepo, name: &str, walk: &str) -> (String, String) {
    let output = repo
        .command(binary(), repo.main())
        .env("GIT_AGENTWT_WALK", walk)
        .args(["add", name, "-vv", "--write", "src/**"])
        .output()
        .expect("it starts");
    let said = repo.said(&output);
    assert_eq!(said.status, 0, "{said}");
    let file = format!(".git/agentwt/worktrees/{name}/shared.toml");
    let text = std::fs::read_to_string(repo.main().join(file)).expect("it was written");
    let noted: toml::Table = text.parse().expect("it is TOML");
    (noted["main"].to_string(), said.stderr)
}

#[test]
fn untracked_files_are_noted_as_by_gits_status() {
    for script in [
        "git agentwt init",
        "echo x >new",
        "echo x >new; echo more >>README.md; chmod +x docs/guide.md",
        "mkdir -p a/b/c 'odd [x]*' empty/below; echo x | tee a/b/c/1 a/2 'odd [x]*/:(top)' docs/y",
        "mkdir build; echo build/ >.gitignore; echo x >build/x; mkdir a; echo '*.o' >a/.gitignore; touch a/1.o a/1.c",
        "git init -q a/nested; git -C a/nested commit -q --allow-empty -m x; echo x >a/nested/x; git init -q bare --bare",
        "git init -q nested; git -C nested commit -q --allow-empty -m x; git init -q unborn; echo x >unborn/x; git worktree add -q sub/wt 2>&1",
        "ln -s nowhere link; mkfifo pipe; mkdir d; ln -s ../docs d/link; mkfifo d/pipe",
        "printf x >\"$(printf 'n\\377')\"; mkdir \"$(printf 'd\\377')\"; echo x >\"$(printf 'd\\377/x')\"",
        "git rm -q README.md; mkdir README.md; echo x >README.md/x",
        "echo x >docs/staged; git add docs/staged; echo x >loose",
    ] {
        let repo = TestRepo::project_on_disk();
        repo.sh(repo.main(), script).ok();
        let (full, _) = added(&repo, "full", "full");
        let (fast, _) = added(&repo, "fast", "fast");
        assert_eq!(fast, full, "{script}");
    }
}

#[test]
fn git_is_not_asked_for_its_status_where_stat_data_tell() {
    let repo = TestRepo::project_on_disk();
    repo.sh(
        repo.main(),
        "mkdir a; echo x >a/1; echo x >new; sleep 1.1; git status",
    )
    .ok();
    let (_, full) = added(&repo, "full", "full");
    assert!(full.contains("status --porcelain"), "{full}");
    let (noted, fast) = added(&repo, "fast", "fast");
    assert!(!fast.contains("status --porcelain"), "{fast}");
    assert!(noted.contains("a/1") && noted.contains("new"), "{noted}");
}
