//! Puts a placed file back from its source, if that still is what was placed.
//!
//! Nothing is read or written through a link. Where the source turns out to be something else,
//! nothing is left behind.

use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;

use bstr::ByteSlice;
use camino::Utf8Path;
use rustix::fs::{
    AtFlags, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, fchmod, futimens, mkdirat, openat,
    statat, symlinkat, unlinkat,
};

use super::below::open_below;
use super::drift::digest_of;
use super::error::DiskError;
use super::files::Opened;
use super::put::{Missing, parent_of};
use super::stat::{stat_from, stat_of};
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::{Placed, PlacedFile, PlacedKind};

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Puts what was placed where nothing stands; its stat data then. It is read-only: what may be
/// edited is nobody's to put back. A directory may stand there already.
///
/// # Errors
/// Fails when something stands there, the source is not what was placed, or the disk refuses.
pub fn put_back(
    root: &Utf8Path,
    source: &Utf8Path,
    placed: &Placed,
    file: &PlacedFile,
) -> Result<Stat, DiskError> {
    let failed = |error: io::Error| DiskError::new(format!("put back {}", file.path), error);
    make_directories(root, placed, &file.path).map_err(failed)?;
    let above = parent_of(root, file.path.as_bstr(), Missing::Make);
    let above = above.map_err(|error| failed(error.into()))?;
    let name = file.path.file_name().as_bytes();
    let made = match file.kind {
        PlacedKind::Directory => match make_directory(&above, name, file.stat.mode) {
            // git has made it for what is tracked in it
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                open_directory(&above, name)
            }
            other => other,
        },
        PlacedKind::Link => make_link(&above, name, source, file),
        PlacedKind::File => copy(&above, name, source, file),
    };
    made.map_err(failed)?;
    let stat = statat(&above, name, AtFlags::SYMLINK_NOFOLLOW);
    Ok(stat_from(&stat.map_err(|error| failed(error.into()))?))
}

/// Makes the directories on the way that are not there, with the permissions that were placed.
fn make_directories(root: &Utf8Path, placed: &Placed, path: &RepoPath) -> io::Result<()> {
    let mut above = path.parent();
    let mut listed = Vec::new();
    while let Some(directory) = above {
        listed.extend(placed.get(&directory));
        above = directory.parent();
    }
    for directory in listed.into_iter().rev() {
        let parent = parent_of(root, directory.path.as_bstr(), Missing::Make)?;
        let name = directory.path.file_name().as_bytes();
        match make_directory(&parent, name, directory.stat.mode) {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => return Err(error),
            Ok(()) | Err(_) => {}
        }
    }
    Ok(())
}

fn make_directory(above: &OwnedFd, name: &[u8], mode: u32) -> io::Result<()> {
    // another umask than that of the source's owner must not open it
    let bits = Mode::from_raw_mode((mode & 0o777) as _);
    mkdirat(above, name, bits)?;
    Ok(fchmod(
        openat(above, name, DIRECTORY, Mode::empty())?,
        bits,
    )?)
}

/// Fails when something else stands there.
fn open_directory(above: &OwnedFd, name: &[u8]) -> io::Result<()> {
    openat(above, name, DIRECTORY, Mode::empty())?;
    Ok(())
}

fn make_link(above: &OwnedFd, name: &[u8], source: &Utf8Path, file: &PlacedFile) -> io::Result<()> {
    let Opened::Link(text) = open_below(source, &file.path)? else {
        return Err(changed());
    };
    if file.digest != Some(digest_of(text.as_bytes())?) {
        return Err(changed());
    }
    Ok(symlinkat(text.as_slice(), above, name)?)
}

fn copy(above: &OwnedFd, name: &[u8], source: &Utf8Path, file: &PlacedFile) -> io::Result<()> {
    let Opened::File { content, .. } = open_below(source, &file.path)? else {
        return Err(changed());
    };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
    let bits = Mode::from_raw_mode((file.stat.mode & 0o777 & !0o222) as _);
    let to = std::fs::File::from(openat(above, name, flags, bits)?);
    let mut tee = Tee {
        from: &content,
        to: &to,
    };
    let written = (|| {
        let digest = digest_of(&mut tee)?;
        let same = match file.digest {
            Some(wanted) => digest == wanted,
            None => file.source == Some(stat_of(&content.metadata()?)),
        };
        if !same {
            return Err(changed());
        }
        fchmod(&to, bits)?;
        let times = Timestamps {
            last_access: Timespec {
                tv_sec: 0,
                tv_nsec: UTIME_OMIT,
            },
            last_modification: Timespec {
                tv_sec: file.stat.mtime.div_euclid(1_000_000_000) as _,
                tv_nsec: file.stat.mtime.rem_euclid(1_000_000_000) as _,
            },
        };
        Ok(futimens(&to, &times)?)
    })();
    if written.is_err() {
        let _ = unlinkat(above, name, AtFlags::empty());
    }
    written
}

/// Writes all that is read from one file to another.
struct Tee<'f> {
    from: &'f std::fs::File,
    to: &'f std::fs::File,
}

impl Read for Tee<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let length = self.from.read(buffer)?;
        self.to.write_all(&buffer[..length])?;
        Ok(length)
    }
}

fn changed() -> io::Error {
    io::Error::other("its source is not what was placed any more")
}
