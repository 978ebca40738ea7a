//! Makes directories of ours writable for their owner, so that what is in them can be changed or
//! removed.
#![expect(clippy::disallowed_methods, reason = "the boundary to the disk")]

use std::fs::{self, FileType, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use camino::Utf8Path;

use crate::disk::error::DiskError;

/// Whether what stands at a path is to be kept.
type IsKept<'a> = &'a dyn Fn(&Path, FileType) -> bool;

/// Makes every directory below this one, and itself, readable and writable for its owner, so
/// that it can be removed. Links are not followed.
///
/// # Errors
/// Fails when one cannot be changed or read.
pub fn make_directories_writable(directory: &Utf8Path) -> Result<(), DiskError> {
    open_up(directory, None)
}

/// As [`make_directories_writable`], files too, and removes what is not to be kept.
///
/// # Errors
/// Fails when something cannot be changed, read or removed.
pub fn make_writable(directory: &Utf8Path, is_kept: IsKept<'_>) -> Result<(), DiskError> {
    open_up(directory, Some(is_kept))
}

fn open_up(directory: &Utf8Path, is_kept: Option<IsKept<'_>>) -> Result<(), DiskError> {
    open_up_all(directory.as_std_path(), is_kept)
        .map_err(|error| DiskError::new(format!("make {directory} writable"), error))
}

/// Makes each directory from `top` down writable. With `is_kept` it does so with files too, and
/// removes what is not kept; without, files stay as they are.
fn open_up_all(top: &Path, is_kept: Option<IsKept<'_>>) -> io::Result<()> {
    let mut waiting = vec![top.to_owned()];
    while let Some(directory) = waiting.pop() {
        match allow(&directory, 0o700) {
            // nothing that git made
            Err(error) if error.kind() == ErrorKind::InvalidFilename => continue,
            allowed => allowed?,
        }
        for entry in fs::read_dir(&directory)? {
            let entry = entry?;
            let path = entry.path();
            let kind = entry.file_type()?;
            if is_kept.is_some_and(|is_kept| !is_kept(&path, kind)) {
                remove(&path, kind)?;
            } else if kind.is_dir() {
                waiting.push(path);
            } else if is_kept.is_some() {
                allow(&path, 0o600)?;
            }
        }
    }
    Ok(())
}

/// Adds permission bits, where one of them is missing.
fn allow(path: &Path, bits: u32) -> io::Result<()> {
    let mode = fs::symlink_metadata(path)?.permissions().mode();
    if mode & bits == bits {
        return Ok(());
    }
    fs::set_permissions(path, Permissions::from_mode(mode | bits))
}

fn remove(path: &Path, kind: FileType) -> io::Result<()> {
    if kind.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}
