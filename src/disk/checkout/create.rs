//! Creates one thing after another, with the directories on the way.

use std::fs::File;
use std::io::{Seek as _, Write};
use std::os::fd::OwnedFd;

use bstr::{BStr, BString, ByteSlice};
use rustix::fs::{
    AtFlags, CWD, Mode as Bits, OFlags, Timespec, Timestamps, UTIME_OMIT, fchmod, fstat, futimens,
    mkdirat, openat, statat, symlinkat, unlinkat, utimensat,
};
use rustix::io::Errno;

use super::original::{Source, Taken, is};
use super::{Checkout, CheckoutError, Content, Created, Task};
use crate::disk::error::DiskError;
use crate::disk::mode::WriteBits;
use crate::disk::stat::{device_of, stat_from};
use crate::entry::Mode;
use crate::path::RepoPath;

/// A directory is only opened to reach what is in it.
#[cfg(target_os = "linux")]
pub(super) const DIRECTORY: OFlags = OFlags::PATH
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);
#[cfg(not(target_os = "linux"))]
pub(super) const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

const NEW_FILE: OFlags = OFlags::RDWR
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// The largest object that is held in memory.
const LARGEST: u64 = 16 * 1024 * 1024;

/// Holds what one thread needs.
pub(super) struct Worker<'a, C> {
    checkout: &'a Checkout<'a, C>,
    root: OwnedFd,
    open: Vec<(BString, OwnedFd)>,
    content: C,
    source: Option<Source<'a>>,
    buffer: Vec<u8>,
    times: Timestamps,
}

impl<'a, C: Content> Worker<'a, C> {
    pub fn new(checkout: &'a Checkout<'a, C>) -> Result<Self, CheckoutError<C::Error>> {
        let root = openat(CWD, checkout.root.as_std_path(), DIRECTORY, Bits::empty());
        let failed = |error| DiskError::new(format!("open {}", checkout.root), error);
        Ok(Self {
            checkout,
            root: root.map_err(|error| CheckoutError::Disk(failed(error)))?,
            open: Vec::new(),
            content: (checkout.content)(),
            source: checkout.originals.as_ref().map(Source::new),
            buffer: Vec::new(),
            times: times(checkout.time),
        })
    }

    /// Creates what the task at this position says; none where it is too large for that.
    pub fn create(&mut self, at: usize) -> Result<Option<Created>, CheckoutError<C::Error>> {
        if (self.checkout.stop)() {
            return Err(CheckoutError::Stopped);
        }
        let task = &self.checkout.tasks[at];
        let failed = |error: std::io::Error| {
            let path = self.checkout.root.join(task.path.to_string());
            CheckoutError::Disk(DiskError::new(format!("write {path}"), error))
        };
        self.go_to(task.path)
            .map_err(|error| failed(error.into()))?;
        let created = match task.entry.mode {
            Mode::File | Mode::Executable => {
                if let Some(created) = self.copy(at)? {
                    return Ok(Some(created));
                }
                let size = self.content.size(&task.entry.id);
                if size.map_err(CheckoutError::Content)? > LARGEST {
                    return Ok(None);
                }
                let (content, buffer) = (&mut self.content, &mut self.buffer);
                let content = content.read(&task.entry.id, buffer);
                let content = content.map_err(CheckoutError::Content)?;
                let above = self.open.last().map_or(&self.root, |(_, fd)| fd);
                let mut file = new_file(above, task).map_err(failed)?;
                file.write_all(content).map_err(failed)?;
                finish(&file, task, &self.times).map_err(failed)
            }
            Mode::Link => {
                let (content, buffer) = (&mut self.content, &mut self.buffer);
                let content = content.read(&task.entry.id, buffer);
                let content = content.map_err(CheckoutError::Content)?;
                let above = self.open.last().map_or(&self.root, |(_, fd)| fd);
                link(above, task.path.file_name(), content, &self.times).map_err(failed)
            }
            Mode::Gitlink | Mode::EmptyDirectory | Mode::NestedGit | Mode::Special => {
                let above = self.open.last().map_or(&self.root, |(_, fd)| fd);
                directory(above, task.path.file_name()).map_err(failed)
            }
        };
        created.map(Some)
    }

    /// Creates a file from one that has its content, if there is one. That its stat data are known
    /// makes it likely; what it has is hashed: git takes a file for unchanged that a filter wrote
    /// which is gone since, and a file can be written to through a map without a trace.
    fn copy(&mut self, at: usize) -> Result<Option<Created>, CheckoutError<C::Error>> {
        let task = &self.checkout.tasks[at];
        let (Some(source), Some(originals)) = (&mut self.source, &self.checkout.originals) else {
            return Ok(None);
        };
        let Some(known) = originals.known[at].filter(|_| originals.are_of_use()) else {
            return Ok(None);
        };
        let Some(mut from) = source.open(task.path, &known) else {
            return Ok(None);
        };
        let above = self.open.last().map_or(&self.root, |(_, fd)| fd);
        let (buffer, content, id) = (&mut self.buffer, &self.content, &task.entry.id);
        let mut copied = || -> std::io::Result<Option<Created>> {
            if originals.are_read(&known) {
                if !source.read(&mut from, &known, buffer)
                    || !content.is(id, buffer.len() as u64, &mut buffer.as_slice())
                {
                    return Ok(None);
                }
                let mut file = new_file(above, task)?;
                file.write_all(buffer)?;
                return finish(&file, task, &self.times).map(Some);
            }
            let mut file = new_file(above, task)?;
            let size = u64::from(known.size);
            let taken = source.take(&mut from, &known, &file, buffer);
            let is_whole = match taken {
                Taken::Nothing => false,
                Taken::Read => content.is(id, size, &mut buffer.as_slice()),
                Taken::Copied => {
                    file.rewind()?;
                    content.is(id, size, &mut file)
                }
                // what is new is not in memory yet; to clone writes out what was written through a
                // map, and to write there once more leaves a trace
                Taken::Cloned => content.is(id, size, &mut from) && is(&from, &known),
            };
            if !is_whole {
                unlinkat(above, task.path.file_name().as_bytes(), AtFlags::empty())?;
                return Ok(None);
            }
            match taken {
                Taken::Read => file.write_all(buffer)?,
                Taken::Nothing | Taken::Copied | Taken::Cloned => {}
            }
            finish(&file, task, &self.times).map(Some)
        };
        copied().map_err(|error| {
            let path = self.checkout.root.join(task.path.to_string());
            CheckoutError::Disk(DiskError::new(format!("write {path}"), error))
        })
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
fn new_file(above: &OwnedFd, task: &Task<'_>) -> std::io::Result<File> {
    let all = match task.entry.mode {
        Mode::Executable => 0o777,
        Mode::File
        | Mode::Link
        | Mode::Gitlink
        | Mode::EmptyDirectory
        | Mode::NestedGit
        | Mode::Special => 0o666,
    };
    let mode = match task.bits {
        WriteBits::Cleared => all & !0o222,
        WriteBits::Owner => all,
    };
    let name = task.path.file_name().as_bytes();
    let fd = openat(above, name, NEW_FILE, Bits::from_raw_mode(mode))?;
    Ok(File::from(fd))
}

fn finish(file: &File, task: &Task<'_>, times: &Timestamps) -> std::io::Result<Created> {
    futimens(file, times)?;
    let mut stat = fstat(file)?;
    if task.bits == WriteBits::Owner && stat.st_mode & 0o200 == 0 {
        // a umask has taken even the owner's
        fchmod(file, Bits::from_raw_mode(stat.st_mode) | Bits::WUSR)?;
        stat = fstat(file)?;
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

fn created(stat: &rustix::fs::Stat) -> Created {
    Created {
        stat: stat_from(stat),
        device: device_of(stat),
        uid: stat.st_uid,
        gid: stat.st_gid,
    }
}

fn times(modified: i64) -> Timestamps {
    let nanoseconds = modified.rem_euclid(1_000_000_000);
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: modified.div_euclid(1_000_000_000),
            tv_nsec: nanoseconds,
        },
    }
}
