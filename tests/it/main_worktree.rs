//! What `add` notes of the main worktree and `verify` says of it, where stat data tell it and where git
//! has to be asked.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use sha1::Digest;

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

/// Where stat data alone would mislead: git is asked.
#[test]
fn what_only_git_can_tell_is_asked() {
    for (before, after, count) in [
        // a file, a directory and a link in each other's places
        (
            "true",
            "rm README.md; mkdir README.md; echo x | tee README.md/a README.md/b",
            3,
        ),
        (
            "mkdir d; echo x | tee d/a d/b; git add d; git commit -qm d",
            "rm -r d; echo x >d",
            3,
        ),
        (
            "mkdir d; echo x | tee d/a d/b; git add d; git commit -qm d",
            "rm -r d; ln -s docs d",
            3,
        ),
        // what git is told to have absent, and what is beside it
        (
            "git sparse-checkout set --no-cone '/*' '!/docs/'",
            "true",
            0,
        ),
        (
            "git sparse-checkout set --no-cone '/*' '!/docs/'",
            "mkdir docs; echo y >docs/guide.md",
            1,
        ),
        (
            "git sparse-checkout set --no-cone '/*' '!/docs/'; mkdir docs; echo y >docs/guide.md",
            "echo z >docs/guide.md",
            1,
        ),
        (
            "git sparse-checkout set --no-cone '/*' '!/docs/*.md'; mkdir -p docs; echo '*.o' >docs/.gitignore; echo >docs/x.o",
            "echo y >docs/new",
            1,
        ),
        (
            "git sparse-checkout set --no-cone '/*' '!/docs/'",
            "mkdir docs; echo y >docs/new",
            1,
        ),
        (
            "git sparse-checkout set --no-cone '/*' '!/docs/'",
            "echo y >docs",
            1,
        ),
        (
            "git update-index --assume-unchanged docs/guide.md",
            "echo y >docs/guide.md",
            0,
        ),
        // what takes a file for a link, and what no longer ignores the executable bit
        (
            "ln -s docs l; git add l; git commit -qm l; git config core.symlinks false; rm l; printf docs >l; git status",
            "touch l",
            0,
        ),
        (
            "git config core.fileMode false; chmod +x README.md; git status",
            "git config core.fileMode true",
            1,
        ),
        // rules that say what is ignored
        (
            "echo out >.gitignore; git add .gitignore; git commit -qm i; echo x >out",
            "echo >.gitignore",
            2,
        ),
        ("echo out >.gitignore; echo x >out", "echo >.gitignore", 2),
        (
            "echo out >.git/info/exclude; echo x >out",
            "echo >.git/info/exclude",
            1,
        ),
        (
            "mkdir -p \"$HOME/.config/git\"; echo out >\"$HOME/.config/git/ignore\"; echo x >out",
            "echo >\"$HOME/.config/git/ignore\"",
            1,
        ),
        (
            "echo out >../mine; git config core.excludesFile \"$PWD/../mine\"; echo x >out",
            "echo >../mine",
            1,
        ),
        (
            "echo out >../mine; git config core.excludesFile \"$PWD/../mine\"; echo x >out; touch ../other",
            "git config core.excludesFile \"$PWD/../other\"",
            1,
        ),
        (
            "echo out >../mine; ln -s mine ../link; git config core.excludesFile \"$PWD/../link\"; echo x >out",
            "echo >../mine",
            1,
        ),
        (
            "echo out >.git/info/exclude; echo x >out",
            "rm .git/info/exclude",
            1,
        ),
        (
            "echo out >../mine; git config --global core.excludesFile \"$PWD/../mine\"; echo x >out; touch ../other",
            "git config --global core.excludesFile \"$PWD/../other\"",
            1,
        ),
        // repositories in it
        (
            "git init -q n; git -C n commit -q --allow-empty -m x; echo x >n/x",
            "rm -rf n/.git",
            2,
        ),
        (
            "git init -q a/n; git -C a/n commit -q --allow-empty -m x; echo x >a/n/x; echo x >a/x",
            "rm -rf a/n/.git",
            2,
        ),
        (
            "echo x >new",
            "rm new; mkdir new; echo x | tee new/a new/b",
            3,
        ),
        // what is converted on its way
        (
            "sleep 1.1; git update-index --refresh; echo '*.md filter=up' >.git/info/attributes; git config filter.up.clean 'tr a-z A-Z'",
            "touch README.md",
            1,
        ),
    ] {
        let [fast, full] = changed(before, after);
        assert_eq!(
            (&*fast, &*full),
            (&*count.to_string(), &*full),
            "{before} {after}"
        );
        assert_eq!(fast, full, "{before} {after}");
    }
}

/// A file that was written in the moment in which the index was, is read (racy-git).
#[test]
fn what_was_changed_in_the_moment_in_which_the_index_was_written_is_noted() {
    let repo = TestRepo::project_on_disk();
    let script = "echo one >racy; git add racy; git commit -qm racy; sleep 0.02; echo two >racy";
    repo.sh(repo.main(), script).ok();
    // the index has the stat data of the second content, and the id of the first
    let (index, racy) = (repo.main().join(".git/index"), repo.main().join("racy"));
    let stat = std::fs::metadata(&racy).expect("it is there");
    let mut bytes = std::fs::read(&index).expect("it can be read");
    let name = bytes.windows(6).position(|six| six == b"\x04racy\0");
    let entry = name.expect("it has the file") + 1 - 62; // Documentation/gitformat-index
    let fields = [
        (0, stat.ctime()),
        (4, stat.ctime_nsec()),
        (8, stat.mtime()),
        (12, stat.mtime_nsec()),
        (20, i64::try_from(stat.ino()).expect("it is small")),
    ];
    for (at, value) in fields {
        let low = u32::try_from(value & 0xffff_ffff).expect("these are 32 bits");
        bytes[entry + at..entry + at + 4].copy_from_slice(&low.to_be_bytes());
    }
    let end = bytes.len() - 20;
    let checksum = sha1::Sha1::digest(&bytes[..end]);
    bytes[end..].copy_from_slice(&checksum);
    for (written, count) in [(Duration::ZERO, 1), (Duration::from_secs(1), 0)] {
        std::fs::write(&index, &bytes).expect("it can be written");
        let file = std::fs::File::open(&index).expect("it is there");
        let time = stat.modified().expect("it has one") + written;
        file.set_modified(time).expect("it can be set");
        for walk in ["fast", "full"] {
            let (noted, _) = added(&repo, &format!("{walk}-{count}"), walk);
            assert_eq!(noted.matches("racy").count(), count, "{walk}: {noted}");
        }
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
