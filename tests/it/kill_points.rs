//! Every command is killed, and every system call of it fails, at one point after another; what is
//! found then is whole, absent or known to be incomplete, and the next call puts it right.
//!
//! The ordinary suite takes a few points of each, chosen for what they once found. All of them:
//! `cargo test --test it -- --ignored kill_points` (minutes; `AGENTWT_KILL_POINTS=unlink,rename`
//! for these system calls only).

mod adding;
mod failing;
mod removing;
mod syncing;

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

/// Takes the points that are named, or all: every system call until the run ends unharmed. Says how
/// many there were.
fn each_point(named: &[Point], act: Act, mut at: impl FnMut(Point) -> Hit) -> usize {
    let mut taken = 0;
    if !named.is_empty() {
        for point in named {
            at(*point);
        }
        return named.len();
    }
    let only = std::env::var("AGENTWT_KILL_POINTS").unwrap_or_default();
    // what cannot be removed cannot be undone either
    let fails = |syscall: &str| !matches!(syscall, "unlink" | "unlinkat" | "rmdir");
    for syscall in SYSCALLS {
        if matches!(act, Act::Fail(_)) && !fails(syscall) {
            continue;
        }
        if !only.is_empty() && !only.split(',').any(|wanted| wanted == *syscall) {
            continue;
        }
        for nth in (1..).step_by(step(syscall)) {
            if at((*syscall, nth)).calls.is_empty() {
                break;
            }
            taken += 1;
        }
    }
    eprintln!("{taken} points");
    taken
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
    let said = repo.agentwt(&["list", "--porcelain"]);
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

/// Holds two fingerprints against each other; a failure shows only the lines that differ.
#[track_caller]
fn same(now: &str, wanted: &str, what: &str) {
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

/// How many errors a command said.
fn errors(said: &Said) -> usize {
    let lines = said.stderr.lines();
    lines.filter(|line| line.starts_with("error: ")).count()
}

/// Without strace(1) there are no points: `test.sh` says how to get it.
fn cannot() -> bool {
    let cannot = !strace_works();
    if cannot {
        eprintln!("strace is missing or may not trace: no point was taken");
    }
    cannot
}
