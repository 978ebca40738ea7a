//! Stages files, links and texts with their final content, mode and time.
#![expect(clippy::disallowed_methods, reason = "only this user enters staging")]

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::path::Path;

use camino::Utf8Path;
use fs_extra::file::{CopyOptions, TransitProcess, copy_with_progress};
use rustix::fs::{AtFlags, CWD, Mode, Timespec, Timestamps, UTIME_OMIT, fchmod, fstat};
use rustix::fs::{ftruncate, futimens, mkdirat, readlinkat, statat, symlinkat, utimensat};
use rustix::io::Errno;

use crate::disk::copy::error::changed;
use crate::disk::copy::staging::{CopyItem, Source, Staged, Staging, drop_staging};
use crate::disk::digest::digest_of;
use crate::disk::error::{Attempt as _, DiskError};
use crate::disk::open::{Directories, open_regular};
use crate::disk::pool::map_parallel;
use crate::disk::stat::{file_type, mode_from, stat_entry, stat_from, stat_open};
use crate::inventory::manifest::Stat;
use crate::inventory::placed::{Digest, PlacedKind};
use crate::words::error::Error;
use crate::words::path::RepoPath;

/// From this many bytes on a clone is tried, and holes are looked for.
const LARGE: u64 = 256 << 10;
/// Up to this many bytes a clone is read for its digest.
const READ_CLONE: u64 = 16 << 20;

/// Makes a staging directory, which only this user can enter.
///
/// # Errors
/// Fails when it is there, or the disk refuses.
pub fn make_staging(directory: &Utf8Path) -> Result<(), DiskError> {
    let made = mkdirat(CWD, directory.as_std_path(), Mode::RWXU);
    made.attempting("make the directory", directory)
}

/// Stages items. Returns them sorted by path; the files and links are in the staging directory,
/// named by their position.
///
/// # Errors
/// Fails when a source is not what was chosen, the disk refuses, or the copy is stopped; then
/// nothing is left.
pub fn stage(staging: &Staging<'_>, items: &[CopyItem]) -> Result<Vec<Staged>, Error> {
    staging.progress.begin(items.iter().map(size_of).sum());
    let mut sorted: Vec<&CopyItem> = items.iter().collect();
    sorted.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    let numbered: Vec<(usize, &CopyItem)> = sorted.into_iter().enumerate().collect();
    make_staging(staging.directory)?;
    let staged = map_parallel(
        &numbered,
        || Ok(Directories::open(staging.source)?),
        |source, (number, item)| stage_item(staging, source, *number, item),
    );
    staged.map_err(|error: Error| error.leaving(drop_staging(staging.directory)))
}

/// Returns how many bytes of content an item has.
fn size_of(item: &CopyItem) -> u64 {
    match &item.from {
        Source::File(PlacedKind::File, stat) => stat.size,
        Source::File(PlacedKind::Link | PlacedKind::Directory, _) => 0,
        Source::Text(text) => text.len() as u64,
    }
}

/// Copies one item into the staging directory, where its number is its name. Of a directory nothing
/// is made there: only its stat data are returned.
fn stage_item(
    staging: &Staging<'_>,
    source: &mut Directories,
    number: usize,
    item: &CopyItem,
) -> Result<Staged, Error> {
    (staging.stop)()?;
    let path = &item.path;
    let staged_file = staging.directory.join(number.to_string());
    let to = staged_file.as_std_path();
    let copy = match &item.from {
        Source::Text(text) => write(staging, to, text, item.bits).attempting("copy", path)?,
        Source::File(kind, chosen) => {
            let directory = source.of(path).map_err(|error| unreadable(path, error))?;
            let original = Original {
                directory,
                path,
                kind: *kind,
                chosen,
            };
            original.copy(staging, to, item.bits)?
        }
    };
    Ok(Staged {
        path: path.clone(),
        kind: item.from.kind(),
        digest: copy.digest,
        stat: copy.stat,
    })
}

/// Says why a source cannot be read: where something else stands there, it changed.
fn unreadable(path: &RepoPath, error: impl Into<io::Error>) -> Error {
    let error: io::Error = error.into();
    match Errno::from_io_error(&error) {
        None
        | Some(
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO | Errno::NODEV | Errno::INVAL,
        ) => changed(path),
        Some(_) => DiskError::new(format!("read {path}"), error).into(),
    }
}

/// What is copied.
struct Original<'a> {
    directory: &'a OwnedFd,
    path: &'a RepoPath,
    kind: PlacedKind,
    /// Its stat data when it was chosen.
    chosen: &'a Stat,
}

impl Original<'_> {
    fn name(&self) -> &[u8] {
        self.path.file_name()
    }

    /// Fails where it is not what was chosen.
    fn check(&self) -> Result<(), Error> {
        let stat = stat_entry(self.directory, self.name());
        let now = stat.map_err(|error| unreadable(self.path, error))?;
        let is_as_chosen = match self.kind {
            // its entries may have become more or less: what was chosen is copied
            PlacedKind::Directory => self.chosen.inode == now.inode && now.is_directory(),
            PlacedKind::File | PlacedKind::Link => is_same(self.chosen, &now),
        };
        if is_as_chosen {
            Ok(())
        } else {
            Err(changed(self.path))
        }
    }

    /// Copies it, and looks before and after that whether it is what was chosen.
    fn copy(&self, staging: &Staging<'_>, to: &Path, bits: u32) -> Result<FinishedCopy, Error> {
        self.check()?;
        let copy = match self.kind {
            PlacedKind::Directory => FinishedCopy {
                digest: None,
                stat: *self.chosen,
            },
            PlacedKind::Link => self.copy_link(to)?,
            PlacedKind::File => self.copy_file(staging, to, bits)?,
        };
        self.check()?;
        Ok(copy)
    }

    fn copy_link(&self, to: &Path) -> Result<FinishedCopy, Error> {
        let text = readlinkat(self.directory, self.name(), Vec::new())
            .map_err(|error| unreadable(self.path, error))?;
        let copy = create_link(text.as_bytes(), to, self.chosen).attempting("copy", self.path)?;
        Ok(copy)
    }

    fn copy_file(
        &self,
        staging: &Staging<'_>,
        to: &Path,
        bits: u32,
    ) -> Result<FinishedCopy, Error> {
        let from = open_regular(self.directory, self.name())
            .map_err(|error| unreadable(self.path, error))?;
        if !stat_open(&from).is_ok_and(|now| is_same(self.chosen, &now)) {
            return Err(changed(self.path));
        }
        let copy =
            copy_open_file(staging, &from, to, self.chosen, bits).attempting("copy", self.path)?;
        if copy.stat.size != self.chosen.size {
            return Err(changed(self.path));
        }
        Ok(copy)
    }
}

/// What a copy has become.
struct FinishedCopy {
    digest: Option<Digest>,
    stat: Stat,
}

/// Writes a text as a file.
fn write(staging: &Staging<'_>, to: &Path, text: &[u8], bits: u32) -> io::Result<FinishedCopy> {
    let mut copy = File::create(to)?;
    copy.write_all(text)?;
    staging.progress.add_bytes(text.len() as u64);
    Ok(FinishedCopy {
        digest: Some(digest_of(text)?),
        stat: finish(&copy, bits)?,
    })
}

/// Creates a link with this text, and the time of its source.
fn create_link(text: &[u8], to: &Path, chosen: &Stat) -> io::Result<FinishedCopy> {
    symlinkat(text, CWD, to)?;
    utimensat(CWD, to, &mtime(chosen), AtFlags::SYMLINK_NOFOLLOW)?;
    let stat = statat(CWD, to, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(FinishedCopy {
        digest: Some(digest_of(text)?),
        stat: stat_from(&stat),
    })
}

/// Copies an open file: as a clone; else with its holes, if it has any; else byte by byte, with
/// progress. A large clone has no digest, as reading takes longer than cloning.
fn copy_open_file(
    staging: &Staging<'_>,
    from: &File,
    to: &Path,
    chosen: &Stat,
    bits: u32,
) -> io::Result<FinishedCopy> {
    // where no clone can be made, an empty file may be left, which the other ways write over
    let is_clone = chosen.size > LARGE && clone(from, to)?;
    if is_clone {
        staging.progress.add_bytes(chosen.size);
    } else if chosen.size > LARGE && has_holes(from, chosen.size)? {
        copy_between_holes(from, to, chosen.size)?;
        staging.progress.add_bytes(chosen.size);
    } else {
        copy_bytes(staging, from, to, chosen.size)?;
    }
    let copy = File::open(to)?;
    let mut digest = None;
    if !is_clone || chosen.size <= READ_CLONE {
        digest = Some(digest_of(&copy)?);
    }
    futimens(&copy, &mtime(chosen))?;
    Ok(FinishedCopy {
        digest,
        stat: finish(&copy, bits)?,
    })
}

/// True if a file takes less of the disk than its size.
fn has_holes(file: &File, size: u64) -> io::Result<bool> {
    // in units of 512 bytes, whatever the block size (stat(2))
    let blocks = u64::try_from(fstat(file)?.st_blocks).unwrap_or(0);
    Ok(blocks * 512 < size)
}

/// Copies all bytes, and reports how many are done.
fn copy_bytes(staging: &Staging<'_>, from: &File, to: &Path, size: u64) -> io::Result<()> {
    // what is open already, so that no link is followed by now
    let opened = format!("/dev/fd/{}", from.as_raw_fd());
    let options = CopyOptions {
        overwrite: true,
        buffer_size: usize::try_from(size.clamp(1, LARGE)).unwrap_or(1),
        ..CopyOptions::new()
    };
    let mut before = 0;
    let copied = copy_with_progress(opened, to, &options, |progress: TransitProcess| {
        staging.progress.add_bytes(progress.copied_bytes - before);
        before = progress.copied_bytes;
    });
    copied.map_err(plain)?;
    Ok(())
}

/// Returns the system's error in one of `fs_extra`, which calls a write that wrote nothing `Other`.
fn plain(error: fs_extra::error::Error) -> io::Error {
    let message = error.to_string();
    match error.kind {
        fs_extra::error::ErrorKind::Io(error) => error,
        fs_extra::error::ErrorKind::Other => Errno::NOSPC.into(),
        _other => io::Error::other(message),
    }
}

/// True if a file or link is as it was chosen; its mode may be another.
fn is_same(chosen: &Stat, now: &Stat) -> bool {
    chosen.size == now.size
        && chosen.mtime == now.mtime
        && chosen.inode == now.inode
        && file_type(chosen) == file_type(now)
}

/// Lets a new file share the blocks of this one. False where the file system cannot do that.
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

/// Copies the bytes of a file that has holes, and leaves the same holes.
fn copy_between_holes(mut from: &File, to: &Path, size: u64) -> io::Result<()> {
    let mut copy = File::create(to)?;
    let mut at = 0;
    while at < size {
        // a file system that does not tell has data only
        let data = seek(from, rustix::fs::SeekFrom::Data(at), size).unwrap_or(at);
        at = seek(from, rustix::fs::SeekFrom::Hole(data), size).unwrap_or(size);
        from.seek(SeekFrom::Start(data))?;
        copy.seek(SeekFrom::Start(data))?;
        io::copy(&mut from.take(at - data), &mut copy)?;
    }
    Ok(ftruncate(&copy, size)?)
}

/// Finds data or a hole; where none follows, the end of the file.
fn seek(file: &File, to: rustix::fs::SeekFrom, size: u64) -> Result<u64, Errno> {
    match rustix::fs::seek(file.as_fd(), to) {
        Ok(position) => Ok(position.min(size)),
        Err(Errno::NXIO) => Ok(size),
        Err(error) => Err(error),
    }
}

/// Sets the permissions of a copy, and returns its stat data.
fn finish(copy: &File, bits: u32) -> io::Result<Stat> {
    fchmod(copy, mode_from(bits & 0o777))?;
    Ok(stat_open(copy)?)
}

/// The times for a copy: the modification time of its source.
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
