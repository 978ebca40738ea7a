//! Says what one thing on the disk is: its stat data and its kind.

use std::fs::Metadata;
use std::os::fd::AsFd;
use std::os::unix::fs::MetadataExt as _;

use rustix::fs::{AtFlags, FileType, Mode, fstat, statat};
use rustix::io::Errno;

use crate::inventory::manifest::Stat;

/// Returns the kind of a file (inode(7)). A mode has 16 bits on macOS, and the kind is in these.
pub(super) fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.mode as _)
}

/// Returns permission bits in the form of the system.
pub(super) fn mode_from(bits: u32) -> Mode {
    Mode::from_raw_mode(bits as _)
}

/// Returns the stat data of an entry of an open directory; a link is not followed.
pub(super) fn stat_entry(directory: impl AsFd, name: &[u8]) -> Result<Stat, Errno> {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(stat_from(&stat))
}

/// Returns the stat data of what is open.
pub(super) fn stat_open(file: impl AsFd) -> Result<Stat, Errno> {
    Ok(stat_from(&fstat(file)?))
}

#[allow(
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    clippy::cast_sign_loss,
    clippy::cast_possible_wrap,
    reason = "the types of struct stat differ between systems"
)]
pub(super) fn stat_from(stat: &rustix::fs::Stat) -> Stat {
    Stat {
        size: stat.st_size as u64,
        mtime: time(stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        ctime: time(stat.st_ctime as i64, stat.st_ctime_nsec as i64),
        inode: stat.st_ino as u64,
        mode: stat.st_mode.into(),
    }
}

/// Returns the device of what has these stat data.
#[allow(
    clippy::unnecessary_cast,
    clippy::cast_sign_loss,
    reason = "the types of struct stat differ between systems"
)]
pub(super) const fn device_of(stat: &rustix::fs::Stat) -> u64 {
    stat.st_dev as u64
}

/// Takes the stat data out of the standard library's form.
pub fn stat_of(metadata: &Metadata) -> Stat {
    Stat {
        size: metadata.size(),
        mtime: time(metadata.mtime(), metadata.mtime_nsec()),
        ctime: time(metadata.ctime(), metadata.ctime_nsec()),
        inode: metadata.ino(),
        mode: metadata.mode(),
    }
}

/// True if two names are of one file.
pub(super) fn is_same_file(first: &Metadata, second: &Metadata) -> bool {
    first.dev() == second.dev() && first.ino() == second.ino()
}

const fn time(seconds: i64, nanoseconds: i64) -> i64 {
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds)
}
