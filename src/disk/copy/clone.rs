//! Copies a file without its content, where the file system lets two files have the same.

use std::fs::File;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::io::Errno;

use super::Item;
use super::error::CopyError;

/// Remembers whether the file system has said that it makes no clones.
#[derive(Debug, Default)]
pub(super) struct Clones {
    none: AtomicBool,
}

impl Clones {
    fn possible(&self) -> bool {
        !self.none.load(Ordering::Relaxed)
    }

    fn failed(&self, error: Errno) {
        // any other answer may be about this one file
        if matches!(
            error,
            Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS | Errno::XDEV
        ) {
            self.none.store(true, Ordering::Relaxed);
        }
    }
}

/// Makes the copy of a file as a clone (`ioctl_ficlone(2)`); none when that is not possible.
#[cfg(target_os = "linux")]
pub(super) fn clone(
    source: &File,
    staged: &OwnedFd,
    item: &Item,
    clones: &Clones,
) -> Result<Option<File>, CopyError> {
    use bstr::ByteSlice;
    use rustix::fs::{AtFlags, ioctl_ficlone, unlinkat};
    if !clones.possible() {
        return Ok(None);
    }
    let copy = super::entry::create(staged, item)?;
    if let Err(error) = ioctl_ficlone(&copy, source) {
        clones.failed(error);
        let name = item.path.file_name().as_bytes();
        let removed = unlinkat(staged, name, AtFlags::empty());
        removed.map_err(|error| super::Cause::disk("copy", &item.path, error))?;
        return Ok(None);
    }
    Ok(Some(copy))
}

/// Makes the copy of a file as a clone (clonefile(2)); none when that is not possible.
#[cfg(target_vendor = "apple")]
pub(super) fn clone(
    source: &File,
    staged: &OwnedFd,
    item: &Item,
    clones: &Clones,
) -> Result<Option<File>, CopyError> {
    use bstr::ByteSlice;
    use rustix::fs::{CloneFlags, Mode, OFlags, fclonefileat, openat};
    if !clones.possible() {
        return Ok(None);
    }
    let name = item.path.file_name().as_bytes();
    if let Err(error) = fclonefileat(source, staged, name, CloneFlags::NOOWNERCOPY) {
        clones.failed(error);
        return Ok(None);
    }
    // it may be read-only, as its source is
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let copy = openat(staged, name, flags, Mode::empty());
    let copy = copy.map_err(|error| super::Cause::disk("copy", &item.path, error))?;
    Ok(Some(copy.into()))
}

/// Says that no clone can be made.
#[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
pub(super) fn clone(
    _: &File,
    _: &OwnedFd,
    _: &Item,
    clones: &Clones,
) -> Result<Option<File>, CopyError> {
    debug_assert!(clones.possible());
    clones.failed(Errno::OPNOTSUPP);
    Ok(None)
}
