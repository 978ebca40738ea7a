//! Moves one name from one open directory into another, where nothing of that name is.

use std::os::fd::OwnedFd;

use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, RenameFlags, chmodat, fchmod, linkat, openat, renameat,
    renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

/// Holds the directories between which names are moved.
#[derive(Clone, Copy)]
pub(super) struct Between<'a> {
    pub from: &'a OwnedFd,
    pub to: &'a OwnedFd,
}

/// Says that a file system does not know a way of renaming.
const UNKNOWN: [Errno; 3] = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP];

/// Moves a name; `EXIST` when something of that name is there.
pub(super) fn move_new(between: Between<'_>, name: &[u8]) -> Result<(), Errno> {
    let rename =
        || match renameat_with(between.from, name, between.to, name, RenameFlags::NOREPLACE) {
            Err(error) if UNKNOWN.contains(&error) => move_checked(between, name),
            other => other,
        };
    with_way(between, name, rename)
}

/// Moves a name where the file system cannot rename without replacing: a file gets its second
/// name, which fails when there is one, before it loses the first.
fn move_checked(between: Between<'_>, name: &[u8]) -> Result<(), Errno> {
    let Between { from, to } = between;
    if !is_directory(from, name)? {
        match linkat(from, name, to, name, AtFlags::empty()) {
            Ok(()) => return unlinkat(from, name, AtFlags::empty()),
            Err(Errno::EXIST) => return Err(Errno::EXIST),
            // it knows no second names, or not of this file
            Err(_) => {}
        }
    }
    match statat(to, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => renameat(from, name, to, name),
        Ok(_) => Err(Errno::EXIST),
        Err(error) => Err(error),
    }
}

/// Exchanges what has the name in both directories. Where the file system cannot, the one there
/// is first moved aside, to a name where ours is.
pub(super) fn exchange(between: Between<'_>, name: &[u8]) -> Result<(), Errno> {
    let Between { from, to } = between;
    let exchange = || match renameat_with(from, name, to, name, RenameFlags::EXCHANGE) {
        Err(error) if UNKNOWN.contains(&error) => {
            let aside = [b".agentwt-replaced-", name].concat();
            renameat(to, name, from, &aside)?;
            if let Err(error) = move_checked(between, name) {
                renameat(from, &aside, to, name)?;
                return Err(error);
            }
            renameat(from, &aside, from, name)
        }
        other => other,
    };
    with_way(between, name, exchange)
}

/// A directory changes its `..` when it is moved, so its owner must be able to write to it.
fn with_way(
    between: Between<'_>,
    name: &[u8],
    rename: impl Fn() -> Result<(), Errno>,
) -> Result<(), Errno> {
    match rename() {
        Err(Errno::ACCESS) if is_directory(between.from, name)? => {}
        other => return other,
    }
    let stat = statat(between.from, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let mode = Mode::from_raw_mode(stat.st_mode);
    chmodat(between.from, name, mode | Mode::RWXU, AtFlags::empty())?;
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let directory = openat(between.from, name, flags, Mode::empty())?;
    let renamed = rename();
    fchmod(&directory, mode)?;
    renamed
}

fn is_directory(directory: &OwnedFd, name: &[u8]) -> Result<bool, Errno> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
}
