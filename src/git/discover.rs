//! Finds the repository of a directory as git does (`setup_git_directory_gently_1`, git's setup.c).
//!
//! What is usual is found here: a `.git` directory, or a `.git` file that leads to one. Git itself
//! is asked where it may refuse or look closer: a file of another owner, another file system on the
//! way up, `core.worktree`, a directory that is a git directory, and no repository at all.
//! `GIT_CEILING_DIRECTORIES` does not count, as no git that we start inherits it.
#![expect(clippy::disallowed_methods, reason = "looks at .git before all else")]

use std::fs::symlink_metadata;
use std::os::unix::fs::MetadataExt as _;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use crate::git::error::GitError;
use crate::git::git_dir::{common_dir, read_line, require_file, require_files};

/// Looks at a directory and at those above; none where git has to be asked.
pub(super) fn discover(
    directory: &Utf8Path,
) -> Result<Option<(Utf8PathBuf, Utf8PathBuf)>, GitError> {
    // a variable of git's own tests
    if std::env::var_os("GIT_TEST_ASSUME_DIFFERENT_OWNER").is_some() {
        return Ok(None);
    }
    let Ok(directory) = directory.canonicalize_utf8() else {
        return Ok(None);
    };
    let us = rustix::process::geteuid().as_raw();
    let look = |path: &Utf8Path| symlink_metadata(path).ok();
    let device = look(&directory).map(|meta| meta.dev());
    for level in directory.ancestors() {
        let entry = level.join(".git");
        require_file(&entry)?;
        // git stops where another file system begins, and takes a bare repository as well
        if look(level).map(|meta| meta.dev()) != device {
            return Ok(None);
        }
        let named = match look(&entry) {
            None if look(&level.join("HEAD")).is_some() => return Ok(None),
            None => continue,
            Some(meta) if meta.is_dir() => Some(entry.clone()),
            Some(_) => read_line(&entry, b"gitdir: "),
        };
        let git_dir = named.and_then(|named| level.join(named).canonicalize_utf8().ok());
        let Some(git_dir) = git_dir else {
            return Ok(None);
        };
        let is_ours = |path: &Utf8Path| look(path).is_some_and(|meta| meta.uid() == us);
        require_files(&git_dir)?;
        // git takes no directory for a repository whose HEAD it cannot read
        let head = std::fs::read(git_dir.join("HEAD")).unwrap_or_default();
        let is_id = head.trim().len() >= 40 && head.trim().iter().all(u8::is_ascii_hexdigit);
        let is_whole = common_dir(&git_dir).is_some_and(|common_dir| {
            common_dir.join("objects").is_dir() && common_dir.join("refs").is_dir()
        });
        let is_usual = [level, &entry, &git_dir].into_iter().all(is_ours)
            && (head.starts_with(b"ref: refs/") || is_id)
            && is_whole;
        return Ok(is_usual.then(|| (level.to_owned(), git_dir)));
    }
    Ok(None)
}
