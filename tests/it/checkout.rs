//! Our own checkout leaves what git's would: files, modes, index, and what stands beside HEAD; and
//! where it could not, it is git that checks out.

mod broken;
mod generated;
mod reasons;

use crate::support::{Said, TestRepo, binary};

/// Runs `add` with one of the two ways and a umask, in a scope that is like most where none is said.
#[track_caller]
fn add(repo: &TestRepo, way: &str, umask: &str, arguments: &[&str]) -> Said {
    let scope: &[&str] = if arguments.contains(&"--write") {
        &[]
    } else {
        &["--write", "src/**"]
    };
    let output = repo
        .command("sh", repo.main())
        .env("GIT_AGENTWT_CHECKOUT", way)
        .args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")])
        .arg(binary())
        .args(["-v", "add"])
        .args(arguments)
        .args(scope)
        .output()
        .expect("it starts");
    repo.said(&output)
}

/// Why git checked out, as `-v` says it; none where it did not.
fn reason(said: &Said) -> Option<String> {
    let line = said
        .stderr
        .lines()
        .find(|line| line.contains("git checks out: "));
    line.and_then(|line| line.split_once("git checks out: "))
        .map(|(_, reason)| reason.to_owned())
}

/// Everything that two worktrees of one commit must have in common.
#[track_caller]
fn state(repo: &TestRepo, name: &str) -> String {
    let worktree = repo.worktree(name);
    let admin = repo.main().join(".git/worktrees").join(name);
    let directory = admin.display();
    let script = format!(
        r"git ls-files --stage --debug -t -v | sed -E 's/^  (ctime|mtime): .*//; s/ino: .*//'
        find . -path ./.git -prune -o -type f -printf 'f %m %s %p\n' -exec sha1sum {{}} + | LC_ALL=C sort
        find . -path ./.git -prune -o ! -type f -printf '%y %m %l %p\n' | LC_ALL=C sort
        cat '{directory}/ORIG_HEAD' '{directory}/logs/HEAD' '{directory}/info/sparse-checkout'
        git config --file '{directory}/config.worktree' --list | grep -v '^hook\|^core.hookspath'
        stat -c '%a' '{directory}/index' '{directory}/ORIG_HEAD' '{directory}/info/sparse-checkout'
        ls '{directory}'"
    );
    let said = repo.sh(&worktree, &script);
    assert_eq!(said.status, 0, "{said}");
    said.stdout
}

/// The bytes of the index of a worktree, but for times, inodes and the checksum.
#[track_caller]
fn index(repo: &TestRepo, name: &str) -> Vec<u8> {
    let admin = repo.main().join(".git/worktrees").join(name);
    let mut bytes = std::fs::read(admin.join("index")).expect("an index");
    let number = |at: usize, bytes: &[u8]| {
        u32::from_be_bytes(bytes[at..at + 4].try_into().expect("four")) as usize
    };
    assert_eq!(&bytes[..4], b"DIRC");
    let (version, count) = (number(4, &bytes), number(8, &bytes));
    assert!(version < 4, "git writes no such index by itself");
    let mut at = 12;
    for _ in 0..count {
        bytes[at..at + 16].fill(0);
        bytes[at + 20..at + 24].fill(0);
        let flags = u16::from_be_bytes([bytes[at + 60], bytes[at + 61]]);
        let name = at + if flags & 0x4000 == 0 { 62 } else { 64 };
        let length = bytes[name..].iter().position(|byte| *byte == 0);
        let length = name - at + length.expect("an end");
        at += (length + 8) / 8 * 8;
    }
    bytes.truncate(bytes.len() - 20);
    bytes
}

/// That git takes nothing in a worktree for changed, also without looking at the files anew, and
/// makes its tree of the index.
#[track_caller]
fn is_clean(repo: &TestRepo, name: &str, what: &str) {
    let worktree = repo.worktree(name);
    let tree = repo.git_in(&worktree, &["rev-parse", "HEAD^{tree}"]);
    assert_eq!(repo.git_in(&worktree, &["diff-files"]), "", "{what}");
    assert_eq!(
        repo.git_in(&worktree, &["status", "--porcelain"]),
        "",
        "{what}"
    );
    assert_eq!(repo.git_in(&worktree, &["write-tree"]), tree, "{what}");
    repo.git_in(&worktree, &["fsck", "--no-dangling", "--no-progress"]);
    assert_eq!(repo.findings(&worktree), "", "{what}");
}
