//! Recognizes in git's own words that another git holds a lock; every call runs in the C locale.
//!
//! No fact says it. Git has no exit status of its own for it. When git has failed, the lock may be
//! gone, and a lock that lies there may have stopped nothing: beside a dead one, each ordinary "no"
//! of git would be tried six times. So words decide, but only whether to wait and what is advised:
//! where they are not understood, what would have been tried again fails at once.

/// True if git says that another git holds a lock, or is half-way through making a worktree.
///
/// ```text
/// error: could not lock config file .git/config: File exists
/// fatal: Unable to create '/r/.git/index.lock': File exists.
/// fatal: failed to read .git/worktrees/task-5/commondir: Success
/// ```
/// `cannot lock ref …: is at X but expected Y` is none: another process has won.
pub(super) fn is_contention(stderr: &str) -> bool {
    stderr
        .lines()
        .any(|line| lock_file_in_line(line).is_some() || is_half_made_worktree(line))
}

/// Returns the lock file that git could not create because it is there.
pub(super) fn lock_file(stderr: &str) -> Option<String> {
    stderr.lines().find_map(lock_file_in_line)
}

fn is_half_made_worktree(line: &str) -> bool {
    line.contains("failed to read ") && line.contains("/commondir: ")
}

fn lock_file_in_line(line: &str) -> Option<String> {
    if let Some((_, rest)) = line.split_once("could not lock config file ") {
        let (file, _) = rest.rsplit_once(": File exists")?;
        return Some(format!("{file}.lock"));
    }
    let (_, rest) = line.split_once("nable to create '")?;
    let (file, _) = rest.rsplit_once("': File exists")?;
    let name = file.strip_suffix(".lock")?;
    if name.is_empty() {
        return None;
    }
    Some(file.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_passes_by_itself_is_told_from_what_does_not() {
        for (words, is) in [
            (
                "error: could not lock config file .git/config: File exists",
                true,
            ),
            (
                "fatal: Unable to create '/r/.git/index.lock': File exists.\n\nAnother git process",
                true,
            ),
            (
                "fatal: cannot lock ref 'refs/heads/a': Unable to create '/r/.git/refs/heads/a.lock': File exists.",
                true,
            ),
            (
                "error: unable to create '/r/.git/packed-refs.lock': File exists",
                true,
            ),
            (
                "fatal: failed to read .git/worktrees/x/commondir: Success",
                true,
            ),
            (
                "fatal: failed to read .git/worktrees/x/commondir: No such file or directory",
                true,
            ),
            // a lost compare-and-swap
            (
                "fatal: cannot lock ref 'refs/x': is at aa but expected bb",
                false,
            ),
            (
                "fatal: cannot lock ref 'refs/x': reference already exists",
                false,
            ),
            (
                "fatal: cannot lock ref 'refs/a/b': 'refs/a' exists; cannot create 'refs/a/b'",
                false,
            ),
            // what stays
            (
                "error: could not lock config file .git/config: Permission denied",
                false,
            ),
            (
                "fatal: Unable to create '/r/.git/index.lock': No space left on device",
                false,
            ),
            ("error: unable to create file src/a: File exists", false),
            (
                "fatal: Unable to create '/r/.git/index': File exists.",
                false,
            ),
            ("fatal: a branch named 'x' already exists", false),
            ("", false),
        ] {
            assert_eq!(is_contention(words), is, "{words}");
        }
    }

    #[test]
    fn the_lock_file_is_found_in_the_words() {
        let index = "fatal: Unable to create '/a b/it's/.git/index.lock': File exists.\nmore";
        assert_eq!(
            lock_file(index).as_deref(),
            Some("/a b/it's/.git/index.lock")
        );
        let config = "error: could not lock config file .git/config: File exists";
        assert_eq!(lock_file(config).as_deref(), Some(".git/config.lock"));
        assert_eq!(
            lock_file("fatal: failed to read .git/worktrees/x/commondir: Success"),
            None
        );
    }
}
