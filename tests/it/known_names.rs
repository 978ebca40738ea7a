//! A second verification knows the names in directories that nobody touched, and finds all the same.

use std::time::Duration;

use crate::support::{TestRepo, binary, strace_works};

/// What `verify` finds in one way of walking, the time apart.
fn findings(repo: &TestRepo, walk: &str) -> String {
    let output = repo
        .command(binary(), repo.main())
        .env("GIT_AGENTWT_WALK", walk)
        .args(["verify", "task", "--json"])
        .output()
        .expect("it starts");
    let said = repo.said(&output);
    assert!(matches!(said.status, 0 | 1), "{said}");
    said.stdout
}

/// A worktree whose directories are known.
fn known() -> Option<TestRepo> {
    let repo = TestRepo::project_on_disk();
    let script = "mkdir -p deep/a/b/c deep/a/d; for n in 1 2 3; do echo $n >deep/a/b/c/$n; echo $n >deep/a/d/$n; done
        git add -A; git commit -qm more";
    repo.sh(repo.main(), script).ok();
    repo.add("task");
    std::thread::sleep(Duration::from_millis(1_100));
    findings(&repo, "fast");
    let walked = repo.main().join(".git/agentwt/worktrees/task/walked");
    if !walked.exists() {
        eprintln!(
            "skipped: the file system of the tests is not one whose directories are believed"
        );
        return None;
    }
    Some(repo)
}

#[test]
fn whatever_changes_in_a_known_directory_is_found() {
    let Some(repo) = known() else { return };
    let worktree = repo.worktree("task");
    for line in [
        "echo new >deep/a/b/c/new",
        "rm deep/a/b/c/new",
        "mkdir deep/a/empty",
        "chmod u+w docs; mv docs/guide.md docs/Guide.md",
        "mv docs/Guide.md docs/guide.md",
        "mv deep/a/d deep/a/e",
        "mv deep/a/e deep/a/d",
        "cp -a deep/a/d elsewhere; rm -rf deep/a/d; mv elsewhere deep/a/d",
        "mv deep/a/b ../b; ln -s ../../../b deep/a/b",
        "rm deep/a/b; mv ../b deep/a/b",
        "rm -f src/main.rs; mkdir src/main.rs",
        "rmdir src/main.rs; git checkout -q src/main.rs",
        "git init -q deep/a/d/inner; rm -rf deep/a/d/inner/.git/hooks",
        "rm -rf deep/a/d/inner; echo x >deep/a/d/.hidden",
        "touch -r deep/a/b deep/a/d; echo committed >src/new.rs; git add src/new.rs; git commit -qm new",
        "git rm -q --cached src/new.rs",
        "rm -f .gitignore; echo ignored >deep/a/b/c/x.log",
        "mkfifo deep/a/b/c/pipe",
        "ln -f deep/a/b/c/1 deep/a/b/c/1.again",
        "git stash -qu; git stash pop -q",
    ] {
        let _ = repo.sh(&worktree, line);
        let (full, fast) = (findings(&repo, "full"), findings(&repo, "fast"));
        assert_eq!(fast, full, "{line}");
        assert_eq!(findings(&repo, "fast"), full, "{line}, once more");
    }
}

/// Two of three directories are not read again.
#[test]
fn a_directory_that_nobody_touched_is_not_read_again() {
    if !strace_works() {
        return;
    }
    let Some(repo) = known() else { return };
    let read = || {
        let log = repo.root().join("log");
        let output = repo
            .command("strace", repo.main())
            .env("GIT_AGENTWT_WALK", "fast")
            .args(["-f", "-y", "-e", "trace=getdents64", "-o"])
            .arg(&log)
            .arg(binary())
            .args(["verify", "task"])
            .output()
            .expect("it starts");
        assert!(output.status.success(), "{output:?}");
        let log = std::fs::read_to_string(log).expect("it was written");
        let of = |part: &str| log.lines().filter(|line| line.contains(part)).count() > 0;
        [of("task/deep/a/b/c>"), of("task/deep/a/d>"), of("task>")]
    };
    assert_eq!(read(), [false, false, true]);
    repo.sh(&repo.worktree("task"), "touch deep/a/d/x; rm deep/a/d/x")
        .ok();
    assert_eq!(read(), [false, true, true]);
}
