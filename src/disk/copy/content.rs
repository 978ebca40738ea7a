//! Copies one file or link into the staging directory: content, mode and time.
#![expect(
    clippy::disallowed_methods,
    reason = "what is staged is in a directory that only this user can enter"
)]

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use bstr::ByteSlice;
use fs_extra::file::{CopyOptions, TransitProcess, copy_with_progress};
use rustix::fs::{
    AtFlags, CWD, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, fchmod, fstat,
    ftruncate, futimens, openat, readlinkat, statat, symlinkat, utimensat,
};
use rustix::io::Errno;

use super::stage::Worker;
use super::{CopyError, Item, Source, Staged, disk_error};
use crate::disk::drift::digest_of;
use crate::disk::stat::stat_from;
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::{Digest, PlacedKind};

/// From here on a clone is tried, and holes are looked for: a smaller file is read at once.
const LARGE: u64 = 256 << 10;
/// A larger clone is not read, so it has no digest.
const READ_CLONE: u64 = 16 << 20;

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

impl Worker<'_> {
    /// Stages one item that is not a directory.
    pub fn item(&mut self, item: &Item) -> Result<Staged, CopyError> {
        if (self.staging.stop)() {
            return Err(CopyError::Stopped);
        }
        let to = self.staged_path(&item.path)?;
        let (kind, digest, stat) = match &item.from {
            Source::File(PlacedKind::Link, chosen) => self.link(item, chosen, &to)?,
            Source::File(_, chosen) => self.file(item, chosen, &to)?,
            Source::Text(text) => {
                let write = || {
                    File::create(&to)?.write_all(text)?;
                    Ok((Some(digest_of(text.as_slice())?), finish(&to, item, None)?))
                };
                let written: io::Result<_> = write();
                let (digest, stat) = written.map_err(|e| disk_error("write", &item.path, e))?;
                self.staging.progress.add_bytes(text.len() as u64);
                (PlacedKind::File, digest, stat)
            }
        };
        Ok(Staged {
            path: item.path.clone(),
            kind,
            digest,
            stat,
        })
    }

    fn file(
        &mut self,
        item: &Item,
        chosen: &Stat,
        to: &Path,
    ) -> Result<(PlacedKind, Option<Digest>, Stat), CopyError> {
        let path = &item.path;
        let above = self.source.of(path).map_err(|error| changed(path, error))?;
        let from = openat(above, path.file_name().as_bytes(), READ, Mode::empty());
        let from = File::from(from.map_err(|error| changed(path, error))?);
        let on_disk = require_same_file(&from, path, chosen)?;
        let failed = |error: io::Error| disk_error("copy", path, error);
        let is_clone = chosen.size > LARGE && clone(&from, to).map_err(failed)?;
        let progress = self.staging.progress;
        if is_clone {
            progress.add_bytes(chosen.size);
        } else if chosen.size > LARGE && on_disk < chosen.size {
            copy_between_holes(&from, to, chosen.size).map_err(failed)?;
            progress.add_bytes(chosen.size);
        } else {
            // what is open already, so that no link is followed by now
            let from = format!("/dev/fd/{}", from.as_raw_fd());
            let mut before = 0;
            let count = |reached: TransitProcess| {
                progress.add_bytes(reached.copied_bytes - before);
                before = reached.copied_bytes;
            };
            let options = CopyOptions {
                overwrite: true,
                buffer_size: usize::try_from(chosen.size.clamp(1, LARGE)).unwrap_or(1),
                ..CopyOptions::new()
            };
            copy_with_progress(from, to, &options, count).map_err(|error| failed(plain(error)))?;
        }
        require_same_file(&from, path, chosen)?;
        let digest = if is_clone && chosen.size > READ_CLONE {
            None
        } else {
            Some(File::open(to).and_then(digest_of).map_err(failed)?)
        };
        let stat = finish(to, item, Some(chosen)).map_err(failed)?;
        if stat.size != chosen.size {
            return Err(CopyError::Changed { path: path.clone() });
        }
        Ok((PlacedKind::File, digest, stat))
    }

    fn link(
        &mut self,
        item: &Item,
        chosen: &Stat,
        to: &Path,
    ) -> Result<(PlacedKind, Option<Digest>, Stat), CopyError> {
        let (path, name) = (&item.path, item.path.file_name().as_bytes());
        let above = self.source.of(path).map_err(|error| changed(path, error))?;
        let require_same = || {
            let now = statat(above, name, AtFlags::SYMLINK_NOFOLLOW);
            let now = now.map_err(|error| changed(path, error))?;
            require_same(path, chosen, &stat_from(&now))
        };
        require_same()?;
        let text = readlinkat(above, name, Vec::new()).map_err(|error| changed(path, error))?;
        require_same()?;
        let create = || {
            symlinkat(&text, CWD, to)?;
            utimensat(CWD, to, &mtime(chosen), AtFlags::SYMLINK_NOFOLLOW)?;
            statat(CWD, to, AtFlags::SYMLINK_NOFOLLOW)
        };
        let stat = create().map_err(|error| disk_error("copy", path, error))?;
        let digest = digest_of(text.to_bytes()).map_err(|e| disk_error("copy", path, e))?;
        Ok((PlacedKind::Link, Some(digest), stat_from(&stat)))
    }
}

/// The error of `fs_extra`, as the system gave it where it did. A write that took less than all is
/// reported without the system's error: then the disk is full.
fn plain(error: fs_extra::error::Error) -> io::Error {
    let words = error.to_string();
    match error.kind {
        fs_extra::error::ErrorKind::Io(error) => error,
        fs_extra::error::ErrorKind::Other => Errno::NOSPC.into(),
        _other => io::Error::other(words),
    }
}

/// A source could not be opened: it is gone, or a link or a special file stands there or on the
/// way; or the disk refuses.
pub(super) fn changed(path: &RepoPath, error: Errno) -> CopyError {
    match error {
        Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO | Errno::NODEV | Errno::INVAL => {
            CopyError::Changed { path: path.clone() }
        }
        _ => disk_error("read", path, error),
    }
}

/// Fails when a source that is open is not, or no longer, what was chosen. Returns the bytes that
/// it takes on the disk.
fn require_same_file(file: &File, path: &RepoPath, chosen: &Stat) -> Result<u64, CopyError> {
    let stat = fstat(file).map_err(|error| changed(path, error))?;
    require_same(path, chosen, &stat_from(&stat))?;
    // in units of 512 bytes, whatever the block size (stat(2))
    Ok(u64::try_from(stat.st_blocks).unwrap_or(0) * 512)
}

fn require_same(path: &RepoPath, chosen: &Stat, now: &Stat) -> Result<(), CopyError> {
    let kind = |stat: &Stat| FileType::from_raw_mode(stat.mode);
    let is_same = chosen.size == now.size
        && chosen.mtime == now.mtime
        && chosen.inode == now.inode
        && kind(chosen) == kind(now);
    if is_same {
        return Ok(());
    }
    Err(CopyError::Changed { path: path.clone() })
}

/// Copies a file without its content, where the file system lets two files share it
/// (`ioctl_ficlone(2)`, `clonefile(2)`); whether it does.
fn clone(from: &File, to: &Path) -> io::Result<bool> {
    #[cfg(target_os = "linux")]
    return Ok(rustix::fs::ioctl_ficlone(File::create(to)?, from).is_ok());
    #[cfg(target_vendor = "apple")]
    return Ok(
        rustix::fs::fclonefileat(from, CWD, to, rustix::fs::CloneFlags::NOOWNERCOPY).is_ok(),
    );
    #[cfg(not(any(target_os = "linux", target_vendor = "apple")))]
    Ok(false)
}

/// Copies the data between holes, and leaves the holes.
fn copy_between_holes(from: &File, to: &Path, size: u64) -> io::Result<()> {
    let (mut from, mut to) = (from, File::create(to)?);
    let seek = |at| match rustix::fs::seek(from.as_fd(), at) {
        Ok(at) => Ok(at.min(size)),
        Err(Errno::NXIO) => Ok(size),
        Err(error) => Err(error),
    };
    let mut at = 0;
    while at < size {
        // a file system that does not tell has data only
        let data = seek(rustix::fs::SeekFrom::Data(at)).unwrap_or(at);
        at = seek(rustix::fs::SeekFrom::Hole(data)).unwrap_or(size);
        from.seek(SeekFrom::Start(data))?;
        to.seek(SeekFrom::Start(data))?;
        io::copy(&mut from.take(at - data), &mut to)?;
    }
    Ok(ftruncate(&to, size)?)
}

/// Gives a copy its time and bits. A copy belongs to the user who copies, so it never lends rights
/// (setuid, setgid).
fn finish(copy: &Path, item: &Item, source: Option<&Stat>) -> io::Result<Stat> {
    let copy = File::open(copy)?;
    if let Some(source) = source {
        futimens(&copy, &mtime(source))?;
    }
    fchmod(&copy, Mode::from_raw_mode((item.bits & 0o777) as _))?;
    Ok(stat_from(&fstat(&copy)?))
}

/// The modification time as it is set; the time of the last access stays.
pub(super) fn mtime(stat: &Stat) -> Timestamps {
    const SECOND: i64 = 1_000_000_000;
    Timestamps {
        last_access: Timespec {
            tv_sec: 0,
            tv_nsec: UTIME_OMIT,
        },
        last_modification: Timespec {
            tv_sec: stat.mtime.div_euclid(SECOND),
            tv_nsec: stat.mtime.rem_euclid(SECOND),
        },
    }
}
