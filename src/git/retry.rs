//! Tries again what failed because another git held one of git's own lock files.
//!
//! Git waits for hardly any of its locks: of twenty `git config` at once three to eleven fail, and
//! a `git worktree` that lists can meet an entry that another is just making. The words are git's
//! own in the C locale. Only commands that have done nothing when they fail so are repeated, and
//! no lock file is ever removed here: whose it is cannot be known.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::time::Duration;

use crate::git::error::GitError;
use crate::git::lock_message::is_contention;
use crate::git::runner::Output;

/// The pauses before each repetition, in milliseconds; each is shortened by up to a half, so that
/// those who collided once do not do so again.
const PAUSES: [u64; 5] = [40, 80, 200, 500, 800];

/// Runs a command, and again while it fails only because of a lock, unless it may have done something.
pub(super) fn retry_on_lock(
    args: &[&str],
    run: impl FnMut() -> Result<Output, GitError>,
) -> Result<Output, GitError> {
    let is_stopped = |done: &Result<Output, GitError>| {
        let stopped = |output: &Output| {
            let words = String::from_utf8_lossy(&output.stderr);
            output.status != Some(0) && is_contention(&words)
        };
        is_repeatable(args) && done.as_ref().is_ok_and(stopped)
    };
    repeat(run, is_stopped, pause)
}

/// As [`retry_on_lock`], for a method that knows by its error what has been done.
pub(super) fn retry_steps_on_lock(
    run: impl FnMut() -> Result<(), GitError>,
) -> Result<(), GitError> {
    let is_stopped = |done: &Result<(), GitError>| matches!(done, Err(GitError::Failed { words, .. }) if is_contention(words));
    repeat(run, is_stopped, pause)
}

fn repeat<T>(
    mut run: impl FnMut() -> T,
    is_stopped: impl Fn(&T) -> bool,
    mut pause: impl FnMut(u64),
) -> T {
    for longest in PAUSES {
        let done = run();
        if !is_stopped(&done) {
            return done;
        }
        pause(longest);
    }
    run()
}

fn pause(longest: u64) {
    let random = RandomState::new().build_hasher().finish();
    let shorter = random % (longest / 2 + 1);
    std::thread::sleep(Duration::from_millis(longest - shorter));
}

/// Whether a command has done nothing when a lock stops it, or does the same once more. `hook run`
/// is the user's own program, and `worktree add -b` may have made the branch.
fn is_repeatable(args: &[&str]) -> bool {
    const ALWAYS: &str = "cat-file check-ignore check-ref-format checkout-index commit-tree config \
         diff diff-tree for-each-ref ls-files ls-tree merge-base read-tree reflog reset rev-list \
         rev-parse sparse-checkout status symbolic-ref update-index update-ref var write-tree";
    match args {
        ["worktree", verb, ..] => *verb != "add",
        [verb, ..] => ALWAYS.split(' ').any(|one| one == *verb),
        [] => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_harmless_twice_is_done_twice() {
        assert!(is_repeatable(&["update-ref", "-d", "refs/x"]));
        assert!(is_repeatable(&["worktree", "list", "--porcelain"]));
        assert!(!is_repeatable(&["worktree", "add", "-b", "x"]));
        assert!(!is_repeatable(&["hook", "run", "post-checkout"]));
        assert!(!is_repeatable(&["push", "origin"]));
    }

    fn answers(words: &'static str, wins_at: u32) -> (u32, u32, Option<i32>) {
        let (mut runs, mut pauses) = (0, 0);
        let run = || {
            runs += 1;
            if runs == wins_at { "" } else { words }
        };
        let is_stopped = |said: &&str| is_contention(said);
        let said = repeat(run, is_stopped, |_| pauses += 1);
        (runs, pauses, (!said.is_empty()).then_some(128))
    }

    #[test]
    fn it_ends_with_the_lock_or_after_five_more_tries() {
        const LOCKED: &str = "fatal: Unable to create '/r/.git/index.lock': File exists.";
        assert_eq!(answers(LOCKED, 3), (3, 2, None));
        assert_eq!(answers(LOCKED, 100), (6, 5, Some(128)));
        let lost = answers("fatal: cannot lock ref 'x': is at a but expected b", 100);
        assert_eq!(lost, (1, 0, Some(128)));
    }
}
