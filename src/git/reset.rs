//! Leaves beside HEAD what `git reset --hard` leaves (git-reset(1)): `ORIG_HEAD`, and a line in the
//! log of HEAD.

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use super::error::GitError;
use super::process::Git;
use crate::name::CommitId;

/// Returns the line that a reset to the commit that HEAD is at adds to this log of HEAD, by the
/// one who wrote its last line; none where that line is not of this commit.
#[must_use]
pub fn log_line(log: &[u8], head: &CommitId) -> Option<Vec<u8>> {
    let last = log
        .strip_suffix(b"\n")?
        .rsplit(|byte| *byte == b'\n')
        .next()?;
    let (ids, _) = last.split_once_str("\t").unwrap_or((last, b""));
    let (_, rest) = ids.split_once_str(" ")?;
    let who = rest.strip_prefix(head.as_str().as_bytes())?;
    let who = who
        .strip_prefix(b" ")
        .filter(|who| who.contains_str("> "))?;
    let id = head.as_str().as_bytes();
    Some([id, b" ", id, b" ", who, b"\treset: moving to HEAD\n"].concat())
}

impl Git {
    /// Does of [`Git::reset_hard`] only what it does beside the index and the files.
    ///
    /// # Errors
    /// Fails when git fails.
    pub fn reset_soft(&self) -> Result<(), GitError> {
        let args = ["reset", "--soft", "--quiet"];
        self.output("check the files out", &args).map(drop)
    }
}

/// Where the log of HEAD and `ORIG_HEAD` are in a private git directory whose refs are files.
#[must_use]
pub fn traces(admin_dir: &Utf8Path) -> (Utf8PathBuf, Utf8PathBuf) {
    (admin_dir.join("logs/HEAD"), admin_dir.join("ORIG_HEAD"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_that_of_whoever_made_the_worktree() {
        let id = "1".repeat(40);
        let head = CommitId::parse(&id).expect("an id");
        let zero = "0".repeat(40);
        let log = format!("{zero} {id} A B <a@b> 17 +0000\n");
        let wanted = format!("{id} {id} A B <a@b> 17 +0000\treset: moving to HEAD\n");
        assert_eq!(log_line(log.as_bytes(), &head), Some(wanted.into_bytes()));
        let log = format!("{zero} {id} A B <a@b> 17 +0000\tcheckout: x > y\n");
        assert!(log_line(log.as_bytes(), &head).is_some());
        for odd in [
            String::new(),
            format!("{zero} {id} A <a@b> 17 +0000"),
            format!("{id} {zero} A <a@b> 17 +0000\n"),
            format!("{zero} {id}\n"),
        ] {
            assert_eq!(log_line(odd.as_bytes(), &head), None, "{odd}");
        }
    }
}
