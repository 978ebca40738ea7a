//! Runs again what failed because another git held one of git's own lock files.
//!
//! Git waits for hardly any of its locks: of twenty `git config` at once three to eleven fail, and
//! a `git worktree` that lists can meet an entry that another is just making. Only commands that
//! have done nothing when they fail so are repeated, and no lock file is ever removed here: whose
//! it is cannot be known.

#![expect(clippy::disallowed_methods, reason = "locks git's own files")]

use std::fs::File;
use std::io;
use std::io::ErrorKind;
use std::time::Duration;

use camino::Utf8Path;

use crate::git::error::GitError;
use crate::git::lock_message::is_contention;
use crate::git::runner::Output;
use crate::system::random;

/// The pauses before each repetition, in milliseconds; each is shortened by up to a half, so that
/// those who collided once do not do so again.
const PAUSES: [u64; 5] = [40, 80, 200, 500, 800];

/// Runs a git command, and again while only the lock of another git stops it. A command that may
/// have done something by then runs once.
pub(super) fn retry_on_lock(
    args: &[&str],
    run: impl FnMut() -> Result<Output, GitError>,
) -> Result<Output, GitError> {
    let is_repeatable = is_repeatable(args);
    repeat_while(
        run,
        |result| is_repeatable && is_stopped_by_lock(result),
        pause,
    )
}

/// Runs several steps, and again while only the lock of another git stops them. The steps know by
/// themselves what they have done already.
pub(super) fn retry_steps_on_lock(
    steps: impl FnMut() -> Result<(), GitError>,
) -> Result<(), GitError> {
    repeat_while(steps, has_met_lock, pause)
}

/// Creates the lock file of a file of git's, and waits as long as for a git that holds it.
///
/// # Errors
/// Fails when the lock file stays there (`AlreadyExists`), or the disk refuses it.
pub(super) fn create_lock_file(lock: &Utf8Path) -> io::Result<File> {
    repeat_while(|| File::create_new(lock), has_met_lock_file, pause)
}

fn has_met_lock_file(created: &io::Result<File>) -> bool {
    match created {
        Err(error) => error.kind() == ErrorKind::AlreadyExists,
        Ok(_) => false,
    }
}

fn is_stopped_by_lock(result: &Result<Output, GitError>) -> bool {
    match result {
        Ok(output) if output.status == Some(0) => false,
        Ok(output) => is_contention(&String::from_utf8_lossy(&output.stderr)),
        Err(_) => false,
    }
}

fn has_met_lock(result: &Result<(), GitError>) -> bool {
    match result {
        Err(GitError::Failed { words, .. }) => is_contention(words),
        Ok(()) | Err(_) => false,
    }
}

fn repeat_while<T>(
    mut attempt: impl FnMut() -> T,
    is_stopped: impl Fn(&T) -> bool,
    mut pause: impl FnMut(u64),
) -> T {
    for longest in PAUSES {
        let result = attempt();
        if !is_stopped(&result) {
            return result;
        }
        pause(longest);
    }
    attempt()
}

fn pause(longest: u64) {
    let shortened_by = random::number() % (longest / 2 + 1);
    std::thread::sleep(Duration::from_millis(longest - shortened_by));
}

/// Commands that have done nothing when a lock stops them, or do the same once more.
const REPEATABLE: [&str; 24] = [
    "cat-file",
    "check-ignore",
    "check-ref-format",
    "checkout-index",
    "commit-tree",
    "config",
    "diff",
    "diff-tree",
    "for-each-ref",
    "ls-files",
    "ls-tree",
    "merge-base",
    "read-tree",
    "reflog",
    "reset",
    "rev-list",
    "rev-parse",
    "sparse-checkout",
    "status",
    "symbolic-ref",
    "update-index",
    "update-ref",
    "var",
    "write-tree",
];

/// True if a command may run once more after a lock stopped it. `hook run` is the user's own
/// program, and `worktree add` may have begun one.
fn is_repeatable(args: &[&str]) -> bool {
    match args {
        [] | ["worktree", "add", ..] => false,
        ["worktree", ..] => true,
        [verb, ..] => REPEATABLE.contains(verb),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_harmless_twice_is_done_twice() {
        assert!(is_repeatable(&["update-ref", "-d", "refs/x"]));
        assert!(is_repeatable(&["worktree", "list", "--porcelain"]));
        assert!(is_repeatable(&["write-tree"]));
        assert!(!is_repeatable(&["worktree", "add", "-b", "x"]));
        assert!(!is_repeatable(&["hook", "run", "post-checkout"]));
        assert!(!is_repeatable(&["push", "origin"]));
    }

    fn answers(words: &'static str, wins_at: u32) -> (u32, u32, Option<i32>) {
        let mut runs = 0;
        let mut pauses = 0;
        let run = || {
            runs += 1;
            if runs == wins_at { "" } else { words }
        };
        let is_stopped = |said: &&str| is_contention(said);
        let said = repeat_while(run, is_stopped, |_| pauses += 1);
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
