//! Stages files, links and texts with their final content, mode and time.
#![expect(clippy::disallowed_methods, reason = "only this user enters staging")]

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd, AsRawFd};
use std::path::Path;

use bstr::ByteSlice;
use camino::Utf8Path;
use fs_extra::file::{CopyOptions, TransitProcess, copy_with_progress};
use rustix::fs::{AtFlags, CWD, Mode, Timespec, Timestamps, UTIME_OMIT, fchmod, fstat};
use rustix::fs::{ftruncate, futimens, mkdirat, readlinkat, statat, symlinkat, utimensat};
use rustix::io::Errno;

use crate::disk::DiskError;
use crate::disk::below::{Directories, open_regular};
use crate::disk::copy::{CopyItem, Source, Staged, Staging, changed, disk_error, drop_staging};
use crate::disk::drift::digest_of;
use crate::disk::pool::map_parallel;
use crate::disk::stat::{file_type, stat_from};
use crate::inventory::manifest::Stat;
use crate::inventory::placed::{Digest, PlacedKind};
use crate::words::error::Error;

/// From this many bytes on a clone is tried, and holes are looked for.
const LARGE: u64 = 256 << 10;
/// Up to this many bytes a clone is read for its digest.
const READ_CLONE: u64 = 16 << 20;

type Copied = io::Result<(Option<Digest>, Stat)>;

/// Makes a staging directory, which only this user can enter.
///
/// # Errors
/// Fails when it is there, or the disk refuses.
pub fn make_staging(directory: &Utf8Path) -> Result<(), DiskError> {
    mkdirat(CWD, directory.as_std_path(), Mode::RWXU)
        .map_err(|error| disk_error("make the directory", directory, error))
}

/// Stages items. Returns them sorted by path; the files and links are in the staging directory,
/// named by their position.
///
/// # Errors
/// Fails when a source is not what was chosen, the disk refuses, or the copy is stopped; then
/// nothing is left.
pub fn stage(staging: &Staging<'_>, items: &[CopyItem]) -> Result<Vec<Staged>, Error> {
    let size = |item: &CopyItem| match &item.from {
        Source::File(PlacedKind::File, stat) => stat.size,
        Source::File(PlacedKind::Link | PlacedKind::Directory, _) => 0,
        Source::Text(text) => text.len() as u64,
    };
    staging.progress.begin(items.iter().map(size).sum());
    let mut items: Vec<&CopyItem> = items.iter().collect();
    items.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let items: Vec<(usize, &CopyItem)> = items.into_iter().enumerate().collect();
    make_staging(staging.directory)?;
    let start = || Ok(Directories::open(staging.source)?);
    map_parallel(&items, start, |source, (at, item)| {
        stage_item(staging, source, *at, item)
    })
    .map_err(|error: Error| error.leaving(drop_staging(staging.directory).into_iter().collect()))
}

fn stage_item(
    staging: &Staging<'_>,
    source: &mut Directories,
    at: usize,
    item: &CopyItem,
) -> Result<Staged, Error> {
    (staging.stop)()?;
    let path = &item.path;
    let to = staging.directory.join(at.to_string()).into_std_path_buf();
    let unreadable = |error: io::Error| match Errno::from_io_error(&error) {
        Some(
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO | Errno::NODEV | Errno::INVAL,
        )
        | None => changed(path),
        Some(_) => disk_error("read", path, error).into(),
    };
    let name = path.file_name().as_bytes();
    let (kind, copied) = match &item.from {
        Source::Text(text) => (PlacedKind::File, write(staging, &to, text, item.bits)),
        Source::File(kind, chosen) => {
            let above = source.of(path).map_err(|error| unreadable(error.into()))?;
            let look = || {
                let now = statat(above, name, AtFlags::SYMLINK_NOFOLLOW);
                let now = stat_from(&now.map_err(|error| unreadable(error.into()))?);
                let is_same = match kind {
                    // its entries may have become more or less: what was chosen is copied
                    PlacedKind::Directory => chosen.inode == now.inode && now.is_directory(),
                    PlacedKind::File | PlacedKind::Link => is_same(chosen, &now),
                };
                if is_same { Ok(()) } else { Err(changed(path)) }
            };
            look()?;
            let copied = match kind {
                PlacedKind::Directory => Ok((None, *chosen)),
                PlacedKind::Link => {
                    let text = readlinkat(above, name, Vec::new());
                    let text = text.map_err(|error| unreadable(error.into()))?;
                    copy_link(text.to_bytes(), &to, chosen)
                }
                PlacedKind::File => {
                    let from = open_regular(above, name).map_err(unreadable)?;
                    if !fstat(&from).is_ok_and(|now| is_same(chosen, &stat_from(&now))) {
                        return Err(changed(path));
                    }
                    copy_file(staging, &from, &to, chosen, item.bits)
                }
            };
            if copied.is_ok() {
                look()?;
            }
            (*kind, copied)
        }
    };
    let (digest, stat) = copied.map_err(|error| disk_error("copy", path, error))?;
    match &item.from {
        Source::File(PlacedKind::File, chosen) if chosen.size != stat.size => Err(changed(path)),
        _ => Ok(Staged {
            path: path.clone(),
            kind,
            digest,
            stat,
        }),
    }
}

fn write(staging: &Staging<'_>, to: &Path, text: &[u8], bits: u32) -> Copied {
    File::create(to)?.write_all(text)?;
    staging.progress.add_bytes(text.len() as u64);
    Ok((Some(digest_of(text)?), finish(to, bits, None)?))
}

fn copy_link(text: &[u8], to: &Path, chosen: &Stat) -> Copied {
    symlinkat(text, CWD, to)?;
    utimensat(CWD, to, &mtime(chosen), AtFlags::SYMLINK_NOFOLLOW)?;
    let stat = statat(CWD, to, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok((Some(digest_of(text)?), stat_from(&stat)))
}

/// Copies an open file: as a clone, without its holes, or with progress. A large clone has no
/// digest, as reading takes longer than cloning.
fn copy_file(staging: &Staging<'_>, from: &File, to: &Path, chosen: &Stat, bits: u32) -> Copied {
    let progress = staging.progress;
    let is_clone = chosen.size > LARGE && clone(from, to)?;
    // in units of 512 bytes, whatever the block size (stat(2))
    let on_disk = u64::try_from(fstat(from)?.st_blocks).unwrap_or(0) * 512;
    if is_clone {
        progress.add_bytes(chosen.size);
    } else if chosen.size > LARGE && on_disk < chosen.size {
        copy_between_holes(from, to, chosen.size)?;
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
        copy_with_progress(from, to, &options, count).map_err(plain)?;
    }
    let is_read = !is_clone || chosen.size <= READ_CLONE;
    let digest = is_read.then(|| File::open(to).and_then(digest_of));
    let digest = digest.transpose()?;
    Ok((digest, finish(to, bits, Some(chosen))?))
}

/// The system's error in one of `fs_extra`, which calls a write that wrote nothing `Other`.
fn plain(error: fs_extra::error::Error) -> io::Error {
    let words = error.to_string();
    match error.kind {
        fs_extra::error::ErrorKind::Io(error) => error,
        fs_extra::error::ErrorKind::Other => Errno::NOSPC.into(),
        _other => io::Error::other(words),
    }
}

/// Whether a file or link is as it was chosen; its mode may be another.
fn is_same(chosen: &Stat, now: &Stat) -> bool {
    chosen.size == now.size
        && chosen.mtime == now.mtime
        && chosen.inode == now.inode
        && file_type(chosen) == file_type(now)
}

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

fn finish(copy: &Path, bits: u32, source: Option<&Stat>) -> io::Result<Stat> {
    let copy = File::open(copy)?;
    if let Some(source) = source {
        futimens(&copy, &mtime(source))?;
    }
    fchmod(&copy, Mode::from_raw_mode((bits & 0o777) as _))?;
    Ok(stat_from(&fstat(&copy)?))
}

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
