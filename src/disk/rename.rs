//! Moves a file or a directory to a name that is free, or exchanges two.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, RenameFlags, linkat, renameat, renameat_with, unlinkat};
use rustix::io::Errno;

use crate::disk::stat::stat_entry;

/// True if a file system that says this cannot rename in this way.
fn is_unsupported(error: Errno) -> bool {
    matches!(error, Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP)
}

/// Moves a file or a directory to a name that is free.
///
/// # Errors
/// Fails when something has that name, or the disk refuses.
pub fn move_new(from: &OwnedFd, old: &[u8], to: &OwnedFd, new: &[u8]) -> Result<(), Errno> {
    match renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        Err(error) if is_unsupported(error) => {}
        renamed => return renamed,
    }
    match linkat(from, old, to, new, AtFlags::empty()) {
        Ok(()) => return unlinkat(from, old, AtFlags::empty()),
        Err(Errno::EXIST) => return Err(Errno::EXIST),
        // it knows no second names, or not of this file
        Err(_) => {}
    }
    match stat_entry(to, new) {
        Ok(_) => Err(Errno::EXIST),
        Err(Errno::NOENT) => renameat(from, old, to, new),
        Err(error) => Err(error),
    }
}

/// Exchanges a staged file with what stands in its place.
pub(super) fn exchange(
    from: &OwnedFd,
    staged: &str,
    to: &OwnedFd,
    name: &[u8],
) -> Result<(), Errno> {
    match renameat_with(from, staged, to, name, RenameFlags::EXCHANGE) {
        Err(error) if is_unsupported(error) => {}
        exchanged => return exchanged,
    }
    let aside = format!("{staged}-replaced");
    renameat(to, name, from, &aside)?;
    if let Err(error) = move_new(from, staged.as_bytes(), to, name) {
        renameat(from, &aside, to, name)?;
        return Err(error);
    }
    renameat(from, &aside, from, staged)
}
