//! A new worktree has what git's own checkout would have: files, modes, links, directories, index;
//! and where only git can check out, git does.

mod broken;
mod generated;
mod reasons;
#[cfg(target_os = "linux")]
mod threads;

use crate::support::{Said, TestRepo, binary};

/// Runs `add` with a umask, in a scope that is like most where none is said.
#[track_caller]
fn add(repo: &TestRepo, umask: &str, arguments: &[&str]) -> Said {
    let scope: &[&str] = if arguments.contains(&"--write") {
        &[]
    } else {
        &["--write", "src/**"]
    };
    let output = repo
        .command("sh", repo.main())
        .args(["-c", &format!("umask {umask}; exec \"$0\" \"$@\"")])
        .arg(binary())
        .args(["-v", "add"])
        .args(arguments)
        .args(scope)
        .output()
        .expect("it starts");
    repo.said(&output)
}

/// Why git checked out, as `-v` says; none where it did not.
fn reason(said: &Said) -> Option<String> {
    let line = said
        .stderr
        .lines()
        .find(|line| line.contains("git checks out: "));
    line.and_then(|line| line.split_once("git checks out: "))
        .map(|(_, reason)| reason.to_owned())
}

/// Checks the commit of worktree `ours` out by git alone, with the same sparse patterns, as `git`.
#[track_caller]
fn check_out_by_git(repo: &TestRepo, umask: &str) {
    let script = format!(
        "set -e; umask {umask}
        git worktree add -q --detach --no-checkout .agentwt/worktrees/git \"$(git rev-parse agentwt/ours)\"
        mkdir -p .git/worktrees/git/info
        cp .git/worktrees/ours/info/sparse-checkout .git/worktrees/git/info/
        git -C .agentwt/worktrees/git config --worktree core.sparseCheckout true
        git -C .agentwt/worktrees/git config --worktree core.sparseCheckoutCone false
        git -C .agentwt/worktrees/git reset -q --hard"
    );
    repo.sh(repo.main(), &script).ok();
}

/// Everything that two worktrees of one commit must have in common.
#[track_caller]
fn state(repo: &TestRepo, name: &str) -> String {
    let worktree = repo.worktree(name);
    let script = r"git ls-files --stage -t -v
        find . -path ./.git -prune -o -type f -printf 'f %p\n' -exec sha1sum {} + | LC_ALL=C sort
        find . -path ./.git -prune -o ! -type f -printf '%y %m %l %p\n' | LC_ALL=C sort
        find . -path ./.git -prune -o -type f -perm /111 -printf 'x %p\n' | LC_ALL=C sort";
    let said = repo.sh(&worktree, script);
    assert_eq!(said.status, 0, "{said}");
    said.stdout
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
