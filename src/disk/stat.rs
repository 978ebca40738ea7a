//! Says what one thing on the disk is: its stat data, its kind, and the id of its content.

use std::os::fd::OwnedFd;

use rustix::fs::{AtFlags, FileType, readlinkat, statat};

use crate::disk::below::open_regular;
use crate::disk::scan::HashBlob;
use crate::inventory::manifest::Stat;
use crate::words::entry::{Entry, Mode, ObjectId};

/// The kind of a file (inode(7)). A mode has 16 bits on macOS, and the kind is in these.
pub(super) fn file_type(stat: &Stat) -> FileType {
    FileType::from_raw_mode(stat.mode as _)
}

pub(super) fn is_regular(stat: &Stat) -> bool {
    file_type(stat) == FileType::RegularFile
}

pub(super) fn mode_of_file(stat: &Stat) -> Mode {
    if stat.mode & 0o100 == 0 {
        Mode::File
    } else {
        Mode::Executable
    }
}

pub(super) fn read_entry(
    above: &OwnedFd,
    name: &[u8],
    stat: &Stat,
    hash: HashBlob<'_>,
) -> std::io::Result<Entry> {
    match file_type(stat) {
        FileType::RegularFile => {
            let mut file = open_regular(above, name)?;
            Ok(Entry {
                mode: mode_of_file(stat),
                id: hash(file.metadata()?.len(), &mut file)?,
            })
        }
        FileType::Symlink => {
            let text = readlinkat(above, name, Vec::new())?;
            let text = text.to_bytes();
            Ok(Entry {
                mode: Mode::Link,
                id: hash(text.len() as u64, &mut &*text)?,
            })
        }
        _other => Ok(Entry {
            mode: Mode::Special,
            id: ObjectId::none(),
        }),
    }
}

/// Whether a directory named `.git` is a repository (gitrepository-layout(5)) and not merely a
/// place to hide files in.
pub(super) fn is_repository(above: &OwnedFd, name: &[u8]) -> bool {
    let has = |part: &[u8]| {
        let path = [name, b"/", part].concat();
        statat(above, path, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    };
    has(b"HEAD") && has(b"objects") && has(b"refs")
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

/// The device of what has these stat data.
#[allow(
    clippy::unnecessary_cast,
    clippy::cast_sign_loss,
    reason = "the types of struct stat differ between systems"
)]
pub(super) const fn device_of(stat: &rustix::fs::Stat) -> u64 {
    stat.st_dev as u64
}

/// Takes the stat data out of the standard library's form.
pub fn stat_of(metadata: &std::fs::Metadata) -> Stat {
    use std::os::unix::fs::MetadataExt;
    Stat {
        size: metadata.size(),
        mtime: time(metadata.mtime(), metadata.mtime_nsec()),
        ctime: time(metadata.ctime(), metadata.ctime_nsec()),
        inode: metadata.ino(),
        mode: metadata.mode(),
    }
}

const fn time(seconds: i64, nanoseconds: i64) -> i64 {
    seconds
        .saturating_mul(1_000_000_000)
        .saturating_add(nanoseconds)
}
