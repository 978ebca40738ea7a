//! Changes files of git's directories, with the file in each error.
#![expect(clippy::disallowed_methods, reason = "writes git's own directories")]

use std::fs;
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;

use camino::{Utf8Path, Utf8PathBuf};

use crate::git::error::{GitError, unwritable};

/// Turns the error of a change on the disk into one that names the file.
pub(super) fn written<T>(path: &Utf8Path, done: io::Result<T>) -> Result<T, GitError> {
    done.map_err(|error| unwritable(path.as_str(), &error))
}

/// Writes a file beside its place and moves it in.
pub(super) fn write_whole(path: &Utf8Path, text: &[u8]) -> Result<(), GitError> {
    let new = Utf8PathBuf::from(format!("{path}.new"));
    let moved = fs::write(&new, text).and_then(|()| fs::rename(&new, path));
    written(path, moved)
}

/// Removes a file, or a directory with all in it; nothing there is fine.
pub(super) fn remove(path: &Utf8Path) -> Result<(), GitError> {
    let removed = match fs::symlink_metadata(path) {
        Ok(metadata) if metadata.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
        Err(error) => Err(error),
    };
    match removed {
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(()),
        other => written(path, other),
    }
}

pub(super) fn is_executable(path: &Utf8Path) -> bool {
    path.metadata()
        .is_ok_and(|metadata| metadata.permissions().mode() & 0o111 != 0)
}
