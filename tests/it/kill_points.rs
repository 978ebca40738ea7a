//! Every command is killed, and every system call of it fails, at one point after another; what is
//! found then is whole, absent or known to be incomplete, and the next call puts it right.
//!
//! The ordinary suite takes a few points of each, chosen for what they once found. All of them:
//! `cargo test --test it -- --ignored kill_points` (minutes; `AGENTWT_KILL_POINTS=unlink,rename`
//! for these system calls only).

mod adding;
mod failing;
mod landing;
mod pruning;
mod removing;
mod restoring;
mod reviving;
mod syncing;

use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::support::{Act, Hit, Said, TestRepo, strace_works};

/// The system calls that change the disk, or start what does.
const SYSCALLS: &[&str] = &[
    "mkdir",
    "mkdirat",
    "rename",
    "renameat",
    "renameat2",
    "unlink",
    "unlinkat",
    "rmdir",
    "symlink",
    "symlinkat",
    "link",
    "linkat",
    "chmod",
    "fchmod",
    "fchmodat",
    "ftruncate",
    "fsync",
    "utimensat",
    "ioctl",
    "write",
    "openat",
    "execve",
    "clone",
];

/// Of calls that are made by the hundred, not every one is a point: most of them only read.
fn step(syscall: &str) -> usize {
    match syscall {
        "openat" => 7,
        "write" | "clone" => 3,
        _ => 1,
    }
}

/// Names a point: a system call and which of them.
type Point = (&'static str, usize);

/// Takes the points that are named, or all: every system call until the run ends unharmed. Of all,
/// one that fails does not hide those behind it.
#[track_caller]
fn each_point(named: &[Point], mut at: impl FnMut(Point) -> Hit) {
    if !strace_works() {
        return;
    }
    if !named.is_empty() {
        for point in named {
            at(*point);
        }
        return;
    }
    let (mut taken, mut wrong) = (0, Vec::new());
    let only = std::env::var("AGENTWT_KILL_POINTS").unwrap_or_default();
    for syscall in SYSCALLS {
        if !only.is_empty() && !only.split(',').any(|wanted| wanted == *syscall) {
            continue;
        }
        for nth in (1..).step_by(step(syscall)) {
            match catch_unwind(AssertUnwindSafe(|| at((*syscall, nth)))) {
                Ok(hit) if hit.calls.is_empty() => break,
                Ok(_) => {}
                Err(_) => wrong.push((*syscall, nth)),
            }
            taken += 1;
            assert!(wrong.len() < 50, "{wrong:?}");
        }
    }
    eprintln!("{taken} points");
    assert!(taken > 0, "nothing was hit");
    assert!(wrong.is_empty(), "{} of {taken}: {wrong:?}", wrong.len());
}

/// A project with files to sync; its config is committed.
fn world() -> TestRepo {
    let repo = TestRepo::project();
    repo.write(
        ".agentwt/config.toml",
        "schema_version = \"1.0\"\n[worktree.file_sync]\noptional_patterns = ['.env', 'deps/**']\n\
        [scope.default]\nwrite = ['src/**']\nexclude = ['**/secrets/**']\n",
    );
    repo.write(".gitignore", "target/\n*.log\n.env\ndeps/\n");
    repo.commit_all("a config");
    repo.write(".env", "A=1\n");
    for n in 0..4 {
        repo.write(&format!("deps/a/{n}"), &format!("dependency {n}\n"));
    }
    repo
}

const ADD: &[&str] = &[
    "add",
    "task",
    "--client",
    "claude-code",
    "--prompt",
    "Do it",
];

const ADD_CLONE: &[&str] = &["add", "task", "--strategy", "clone"];

/// Whatever happened, git works and the list can be had; how the worktree is in it.
#[track_caller]
fn state(repo: &TestRepo, name: &str, what: &str) -> String {
    for command in [
        &["status", "--porcelain"][..],
        &["worktree", "list"],
        &["branch"],
    ] {
        let said = repo.try_git(repo.main(), command);
        assert_eq!(said.status, 0, "{what}: git {command:?}: {said}");
        assert_eq!(said.stderr, "", "{what}: git {command:?}");
    }
    let config = repo.try_git(repo.main(), &["config", "--list"]);
    assert_eq!(config.status, 0, "{what}: {config}");
    let said = repo.agentwt(&["list", "--stored", "--porcelain"]);
    assert_eq!(said.status, 0, "{what}: {said}");
    let row = said
        .stdout
        .lines()
        .find(|row| row.split('\t').next() == Some(name));
    let words = ["ready", "missing", "incomplete", "damaged"];
    let state = row.and_then(|row| row.split('\t').find(|cell| words.contains(cell)));
    state.unwrap_or("absent").to_owned()
}

/// The point as it is named in a failure.
fn named(act: Act, (syscall, nth): Point, hit: &Hit) -> String {
    format!("{act:?} at {syscall} {nth} {:?}\n{}\n", hit.calls, hit.said)
}

/// Empty directories, and the file of a lock that nobody holds: they go with the next call.
const NOTHING: &[&str] = &[
    "./.git/agentwt",
    "./.git/agentwt/locks",
    "./.git/agentwt/locks/task",
    "./.git/agentwt/worktrees",
    "./.git/agentwt/worktrees/task",
    "./.git/refs/heads/agentwt",
];

fn without_nothing(fingerprint: &str) -> String {
    let lines = fingerprint.lines().filter(|line| !NOTHING.contains(line));
    lines.collect::<Vec<_>>().join("\n")
}

/// Holds two fingerprints against each other; a failure shows only the lines that differ. Git goes on
/// without some files of its own when they cannot be written.
#[track_caller]
fn same(now: &str, wanted: &str, what: &str) {
    let [now, wanted] = [now, wanted].map(|all| {
        let is_needless =
            |line: &&str| line.ends_with("/ORIG_HEAD") || line.ends_with("/worktrees/task/refs");
        let lines = all.lines().filter(|line| !is_needless(line));
        lines.collect::<Vec<_>>().join("\n")
    });
    let (now, wanted) = (now.as_str(), wanted.as_str());
    let without = |all: &str, others: &str| {
        let others: Vec<&str> = others.lines().collect();
        let only: Vec<&str> = all.lines().filter(|line| !others.contains(line)).collect();
        only.join("\n")
    };
    let (more, less) = (without(now, wanted), without(wanted, now));
    assert_eq!(
        now, wanted,
        "there is more:\n{more}\nthere is less:\n{less}\n{what}"
    );
}

/// That a command which was not killed ended well, or with one error and its status: the disk's, or
/// git's.
#[track_caller]
fn is_one_error(hit: &Hit, what: &str) {
    if !hit.killed_us() && hit.said.status != 0 {
        // 4: git takes a directory of refs that it cannot read for an empty one
        assert!(matches!(hit.said.status, 4..=6), "{what}");
        let is_heard = !hit
            .calls
            .iter()
            .any(|call| call.contains("write(2, \"error"));
        assert!(!is_heard || errors(&hit.said) == 1, "{what}");
    }
}

/// Whether a point is at a call that takes something away: where that fails, nothing can be undone.
fn takes_away((syscall, _): Point) -> bool {
    matches!(syscall, "unlink" | "unlinkat" | "rmdir")
}

/// How many errors a command said.
fn errors(said: &Said) -> usize {
    let lines = said.stderr.lines();
    lines.filter(|line| line.starts_with("error: ")).count()
}
