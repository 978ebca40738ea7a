//! Lists the files of a directory of git's or of our own, such as the private one of a worktree.
#![expect(clippy::disallowed_methods, reason = "the boundary to the disk")]

use std::io::ErrorKind;
use std::os::unix::ffi::OsStrExt;

use camino::Utf8Path;

use super::error::DiskError;
use crate::path::RepoPath;

/// Lists every file and link below a directory, relative to it and sorted; what is skipped is
/// not entered. A link is not followed; no directory is an empty list.
///
/// # Errors
/// Fails when a directory cannot be read.
pub fn files_below(
    directory: &Utf8Path,
    skip: &dyn Fn(&RepoPath) -> bool,
) -> Result<Vec<RepoPath>, DiskError> {
    let mut found = Vec::new();
    let mut left: Vec<Option<RepoPath>> = vec![None];
    while let Some(next) = left.pop() {
        let there = match &next {
            None => directory.as_std_path().to_owned(),
            Some(path) => match path.to_os_path() {
                Ok(relative) => directory.as_std_path().join(relative),
                Err(_) => continue,
            },
        };
        let failed =
            |error| DiskError::new(format!("read the directory {}", there.display()), error);
        let entries = match std::fs::read_dir(&there) {
            Err(error) if next.is_none() && error.kind() == ErrorKind::NotFound => break,
            other => other.map_err(failed)?,
        };
        for entry in entries {
            let entry = entry.map_err(failed)?;
            let path = RepoPath::child(next.as_ref(), entry.file_name().as_bytes());
            if skip(&path) {
                continue;
            }
            let kind = entry.file_type().map_err(failed)?;
            if kind.is_dir() {
                left.push(Some(path));
            } else if kind.is_file() || kind.is_symlink() {
                found.push(path);
            }
        }
    }
    found.sort_unstable();
    Ok(found)
}

/// Gives a directory another name that nothing has.
///
/// # Errors
/// Fails when something has it, or the disk refuses.
pub fn rename(from: &Utf8Path, to: &Utf8Path) -> Result<(), DiskError> {
    let failed = |error| DiskError::new(format!("rename {from} to {to}"), error);
    if std::fs::symlink_metadata(to).is_ok() {
        return Err(failed(ErrorKind::AlreadyExists.into()));
    }
    std::fs::rename(from, to).map_err(failed)
}
