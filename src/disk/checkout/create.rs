//! Creates one thing after another, with the directories on the way.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::{
    AtFlags, CWD, Mode as Bits, OFlags, Timespec, Timestamps, UTIME_OMIT, fchmod, fstat, futimens,
    mkdirat, openat, statat, symlinkat, utimensat,
};
use rustix::io::Errno;

use super::{Checkout, CheckoutError, Created, Reader, Task};
use crate::disk::error::DiskError;
use crate::disk::mode::WriteBits;
use crate::disk::stat::stat_from;
use crate::entry::Mode;
use crate::path::RepoPath;

/// A directory is only opened to reach what is in it.
#[cfg(target_os = "linux")]
const DIRECTORY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

const NEW_FILE: OFlags = OFlags::WRONLY
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Holds what one thread needs.
pub(super) struct Worker<'a, E> {
    checkout: &'a Checkout<'a, E>,
    root: OwnedFd,
    open: Vec<(BString, OwnedFd)>,
    reader: Reader<'a, E>,
    buffer: Vec<u8>,
    times: Timestamps,
}

impl<'a, E> Worker<'a, E> {
    pub fn new(checkout: &'a Checkout<'a, E>) -> Result<Self, CheckoutError<E>> {
        let root = openat(CWD, checkout.root.as_std_path(), DIRECTORY, Bits::empty());
        let failed = |error| DiskError::new(format!("open {}", checkout.root), error);
        Ok(Self {
            checkout,
            root: root.map_err(|error| CheckoutError::Disk(failed(error)))?,
            open: Vec::new(),
            reader: (checkout.reader)(),
            buffer: Vec::new(),
            times: times(checkout.time),
        })
    }

    pub fn create(&mut self, task: &Task<'a>) -> Result<Created, CheckoutError<E>> {
        if (self.checkout.stop)() {
            return Err(CheckoutError::Stopped);
        }
        let failed = |error: std::io::Error| {
            let path = self.checkout.root.join(task.path.to_string());
            CheckoutError::Disk(DiskError::new(format!("write {path}"), error))
        };
        self.go_to(task.path)
            .map_err(|error| failed(error.into()))?;
        let above = self.open.last().map_or(&self.root, |(_, fd)| fd);
        let name = task.path.file_name();
        let content = match task.entry.mode {
            Mode::File | Mode::Executable | Mode::Link => {
                let content = (self.reader)(&task.entry.id, &mut self.buffer);
                content.map_err(CheckoutError::Content)?
            }
            Mode::Gitlink | Mode::EmptyDirectory | Mode::NestedGit | Mode::Special => &[],
        };
        let created = match task.entry.mode {
            Mode::File => file(above, name, content, 0o666, task.bits, &self.times),
            Mode::Executable => file(above, name, content, 0o777, task.bits, &self.times),
            Mode::Link => link(above, name, content, &self.times),
            Mode::Gitlink | Mode::EmptyDirectory | Mode::NestedGit | Mode::Special => {
                directory(above, name)
            }
        };
        created.map_err(failed)
    }

    /// Makes and opens what is missing on the way, and closes what is not on it.
    fn go_to(&mut self, path: &RepoPath) -> Result<(), Errno> {
        let above = path.parents().next();
        if self.open.last().map(|(open, _)| open.as_bstr()) == above {
            return Ok(());
        }
        let mut wanted: Vec<&BStr> = path.parents().collect();
        wanted.reverse();
        let shared = self.open.iter().zip(&wanted);
        let shared = shared.take_while(|((have, _), want)| have == *want).count();
        self.open.truncate(shared);
        for directory in &wanted[shared..] {
            let above = self.open.last().map_or(&self.root, |(_, fd)| fd);
            let name = directory.rsplit(|b| *b == b'/').next().unwrap_or(directory);
            // another thread may have made it
            match mkdirat(above, name, Bits::from_raw_mode(0o777)) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(error),
            }
            let fd = openat(above, name, DIRECTORY, Bits::empty())?;
            self.open.push(((*directory).to_owned(), fd));
        }
        Ok(())
    }
}

/// Creates a file as git does (0666 or 0777, less what the umask takes), with the write bits that
/// `set_write_bits` would give it afterwards.
fn file(
    above: &OwnedFd,
    name: &BStr,
    content: &[u8],
    mode: rustix::fs::RawMode,
    bits: WriteBits,
    times: &Timestamps,
) -> std::io::Result<Created> {
    let mode = match bits {
        WriteBits::Cleared => mode & !0o222,
        WriteBits::Owner => mode,
    };
    let fd = openat(above, name.as_bytes(), NEW_FILE, Bits::from_raw_mode(mode))?;
    let mut file = File::from(fd);
    file.write_all(content)?;
    futimens(&file, times)?;
    let mut stat = fstat(&file)?;
    if bits == WriteBits::Owner && stat.st_mode & 0o200 == 0 {
        // a umask has taken even the owner's
        fchmod(&file, Bits::from_raw_mode(stat.st_mode) | Bits::WUSR)?;
        stat = fstat(&file)?;
    }
    Ok(created(&stat))
}

fn link(
    above: &OwnedFd,
    name: &BStr,
    content: &[u8],
    times: &Timestamps,
) -> std::io::Result<Created> {
    // as git, which hands it to symlink(2) as a string of C
    let text = content.split(|byte| *byte == 0).next().unwrap_or(content);
    symlinkat(text, above, name.as_bytes())?;
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    utimensat(above, name.as_bytes(), times, flags)?;
    Ok(created(&statat(above, name.as_bytes(), flags)?))
}

fn directory(above: &OwnedFd, name: &BStr) -> std::io::Result<Created> {
    mkdirat(above, name.as_bytes(), Bits::from_raw_mode(0o777))?;
    let flags = AtFlags::SYMLINK_NOFOLLOW;
    Ok(created(&statat(above, name.as_bytes(), flags)?))
}

#[allow(
    clippy::unnecessary_cast,
    clippy::useless_conversion,
    clippy::cast_sign_loss,
    reason = "the types of struct stat differ between systems"
)]
fn created(stat: &rustix::fs::Stat) -> Created {
    Created {
        stat: stat_from(stat),
        device: stat.st_dev as u64,
        uid: stat.st_uid,
        gid: stat.st_gid,
    }
}

fn times(modified: i64) -> Timestamps {
    let nanoseconds = modified.rem_euclid(1_000_000_000);
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT.into(),
        },
        last_modification: Timespec {
            tv_sec: modified.div_euclid(1_000_000_000),
            tv_nsec: nanoseconds.try_into().unwrap_or(0),
        },
    }
}
