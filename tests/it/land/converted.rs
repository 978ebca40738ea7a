//! Committed files with other bytes than git stores: git calls them clean, and a checkout would
//! write others.

use std::path::PathBuf;

use crate::support::{Said, TestRepo};

/// How git converts what it stores: what main is set up with, what the agent does, and the file in
/// question.
struct Conversion {
    set_up: &'static str,
    work: &'static str,
    file: &'static str,
}

const CONVERSIONS: [Conversion; 8] = [
    Conversion {
        set_up: "echo '* text=auto' >.gitattributes",
        work: "printf 'a\\r\\nb\\r\\n' >src/new.c",
        file: "src/new.c",
    },
    Conversion {
        set_up: "echo '* text=auto eol=lf' >.gitattributes",
        work: "printf 'a\\r\\nb\\r\\n' >src/new.c",
        file: "src/new.c",
    },
    Conversion {
        set_up: "echo '*.bat eol=crlf' >.gitattributes",
        work: "printf 'a\\r\\nb\\n' >src/run.bat",
        file: "src/run.bat",
    },
    Conversion {
        set_up: "git config core.autocrlf input",
        work: "printf 'a\\r\\nb\\r\\n' >src/new.c",
        file: "src/new.c",
    },
    Conversion {
        set_up: "git config core.autocrlf true; rm src/main.rs; git checkout -q src/main.rs",
        work: "echo appended >>src/main.rs",
        file: "src/main.rs",
    },
    Conversion {
        set_up: "echo '*.id ident' >.gitattributes",
        work: "echo '$Id: mine $' >src/new.id",
        file: "src/new.id",
    },
    Conversion {
        set_up: "echo '*.up filter=case' >.gitattributes; git config filter.case.clean 'tr A-Z a-z'",
        work: "echo Loud >src/new.up",
        file: "src/new.up",
    },
    Conversion {
        set_up: "echo '*.rs text=auto eol=crlf' >~/attributes
            git config core.attributesFile ~/attributes",
        work: "printf 'a\\nb\\r\\n' >src/new.rs",
        file: "src/new.rs",
    },
];

/// A worktree in which this was done and committed, so that git calls it clean; what the file
/// holds.
#[track_caller]
fn committed(conversion: &Conversion, strategy: &str) -> (TestRepo, PathBuf, Vec<u8>) {
    let repo = TestRepo::project();
    let set_up = conversion.set_up;
    let commit = "git add -A; git commit -q --allow-empty -m conversion";
    repo.script(repo.main(), &format!("{set_up}; {commit}"));
    let add = ["add", "task", "--write", "src/**", "--strategy", strategy];
    repo.agentwt(&add).ok();
    let worktree = repo.worktree("task");
    let commit = "git add -A 2>&1; git commit -qm work 2>&1";
    repo.script(&worktree, &format!("{}; {commit}", conversion.work));
    assert_eq!(repo.git_in(&worktree, &["status", "--porcelain"]), "");
    let bytes = std::fs::read(worktree.join(conversion.file)).expect("it is there");
    (repo, worktree, bytes)
}

/// That the worktree went into the trash for the long term, and comes back byte by byte.
#[track_caller]
fn assert_kept(repo: &TestRepo, conversion: &Conversion, said: &Said, bytes: &[u8]) {
    let set_up = conversion.set_up;
    let file = conversion.file;
    assert_eq!(said.status, 0, "{set_up}: {said}");
    let note = format!("a checkout would write 1 committed file otherwise ({file}), so");
    assert!(said.stderr.contains(&note), "{set_up}: {said}");
    repo.git(&["config", "agentwt.trashExpireClean", "now"]);
    repo.agentwt(&["prune"]).ok();
    repo.agentwt(&["remove", "--undo", "task"]).ok();
    let now = std::fs::read(repo.worktree("task").join(file)).expect("it is back");
    assert_eq!(now, bytes, "{set_up}");
}

#[test]
fn what_git_calls_clean_is_landed_and_its_bytes_are_kept() {
    for conversion in &CONVERSIONS {
        let (repo, _, bytes) = committed(conversion, "worktree");
        let planned = repo.agentwt(&["land", "-n", "task"]);
        assert_eq!(planned.status, 0, "{}: {planned}", conversion.set_up);
        let said = repo.agentwt(&["land", "task"]);
        assert_kept(&repo, conversion, &said, &bytes);
    }
}

#[test]
fn what_git_calls_clean_is_removed_and_its_bytes_are_kept() {
    for strategy in ["worktree", "clone"] {
        for conversion in &CONVERSIONS[..3] {
            let (repo, worktree, bytes) = committed(conversion, strategy);
            repo.git(&["fetch", "-q", &worktree.display().to_string(), "HEAD"]);
            repo.git(&["merge", "-q", "FETCH_HEAD"]);
            let said = repo.agentwt(&["remove", "task"]);
            assert_kept(&repo, conversion, &said, &bytes);
        }
    }
}

/// A file that has the very bytes that git stores where a checkout would write others: git has all
/// of it.
#[test]
fn the_bytes_that_git_stores_are_landed_as_planned_and_nothing_is_kept() {
    for set_up in [
        "echo '*.bat text eol=crlf' >.gitattributes",
        "git config core.autocrlf true",
    ] {
        let repo = TestRepo::project();
        let write = "printf 'q\\r\\n' >src/run.bat; git add -A 2>&1; git commit -qm conversion";
        repo.script(repo.main(), &format!("{set_up}; {write}"));
        repo.agentwt(&["add", "task", "--write", "src/**"]).ok();
        let work = "printf 'a\\nb\\n' >src/run.bat; git add -A 2>&1; git commit -qm work";
        repo.script(&repo.worktree("task"), work);
        let planned = repo.agentwt(&["land", "-n", "task"]);
        assert_eq!(planned.status, 0, "{set_up}: {planned}");
        let said = repo.agentwt(&["land", "task"]);
        assert_eq!(said.status, 0, "{set_up}: {said}");
        assert!(!said.stderr.contains("kept"), "{set_up}: {said}");
        assert!(!repo.worktree("task").exists(), "{set_up}");
        repo.git(&["config", "agentwt.trashExpireClean", "now"]);
        repo.agentwt(&["prune"]).ok();
        let undone = repo.agentwt(&["remove", "--undo", "task"]);
        assert_ne!(undone.status, 0, "{set_up}: {undone}");
    }
}

/// What is not committed stays a reason, also beside what only looks so, and what is staged.
#[test]
fn what_git_calls_changed_is_refused() {
    for work in [
        "printf 'a\\r\\nc\\r\\n' >src/new.c",
        "printf 'a\\nb\\nc\\n' >src/new.c; git add src/new.c; printf 'a\\r\\nb\\r\\n' >src/new.c",
        "chmod +x src/new.c",
    ] {
        let (repo, worktree, _) = committed(&CONVERSIONS[0], "worktree");
        repo.script(&worktree, work);
        assert_ne!(repo.git_in(&worktree, &["status", "--porcelain"]), "");
        super::refused(&repo, &["task"], "src/new.c");
    }
}

/// A filter that came into the configuration since `add` is never run to say so.
#[test]
fn a_planted_filter_does_not_run() {
    let repo = TestRepo::project();
    repo.write(".gitattributes", "*.up filter=case\n");
    repo.commit_all("attributes");
    repo.agentwt(&["add", "task", "--write", "src/**"]).ok();
    let worktree = repo.worktree("task");
    repo.script(
        &worktree,
        "echo loud >src/new.up; git add -A; git commit -qm work
        git config filter.case.clean 'touch \"$HOME/ran\"; tr A-Z a-z'; echo Loud >src/new.up",
    );
    let said = repo.agentwt(&["remove", "--keep-branch", "task"]);
    assert_eq!(said.status, 4, "{said}");
    assert!(said.stderr.contains("src/new.up"), "{said}");
    assert!(!repo.home().join("ran").exists());
}
