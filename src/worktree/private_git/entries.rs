//! Writes entries of a git directory in which a command can have put anything: each in the place of
//! what stands there, never through a link.

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::error::DiskError;
use crate::disk::files;

/// Writes an entry of a directory in the place of whatever stands there.
pub(super) fn put(directory: &Utf8Path, name: &str, bytes: &[u8]) -> Result<(), DiskError> {
    let file = without_directory(directory, name)?;
    files::write_beside(&file, bytes)
}

/// Copies a file into a directory, if it is there.
pub(super) fn copy(from: &Utf8Path, directory: &Utf8Path, name: &str) -> Result<(), DiskError> {
    let file = without_directory(directory, name)?;
    files::copy_beside(from, &file)
}

/// Returns the path of an entry, after the removal of a directory that stands there.
fn without_directory(directory: &Utf8Path, name: &str) -> Result<Utf8PathBuf, DiskError> {
    let file = directory.join(name);
    if files::is_directory(&file) {
        clear(&file)?;
    }
    Ok(file)
}

/// Removes a file or a directory, or the link that stands in its place.
pub(super) fn clear(entry: &Utf8Path) -> Result<(), DiskError> {
    if files::is_link(entry) || !files::is_directory(entry) {
        return files::remove_file(entry);
    }
    files::remove_directory(entry)
}
