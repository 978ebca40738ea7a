//! Copies one file or link into an open directory.

use std::fs::File;
use std::io::Write;
use std::os::fd::OwnedFd;
use std::os::unix::fs::FileExt;

use bstr::ByteSlice;
use rustix::fs::{
    AtFlags, FileType, Mode, OFlags, Timespec, Timestamps, UTIME_OMIT, fchmod, fstat, futimens,
    openat, readlinkat, statat, symlinkat, utimensat,
};

use super::clone::{Clones, clone};
use super::content::{CHUNK, Large};
use super::error::{Cause, CopyError};
use super::stage::Pair;
use super::{From as Origin, Item, Staged, Staging};
use crate::disk::stat::stat_from;
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::{Digest, PlacedKind};

const READ: OFlags = OFlags::RDONLY
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY)
    .union(OFlags::CLOEXEC);

pub(super) const CREATE: OFlags = OFlags::RDWR
    .union(OFlags::CREATE)
    .union(OFlags::EXCL)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Holds what all threads of a copy share.
pub(super) struct Copier<'a> {
    pub staging: &'a Staging<'a>,
    clones: Clones,
}

/// Holds what one thread of a copy has.
pub(super) struct Thread<'a> {
    shared: &'a Copier<'a>,
    buffer: Vec<u8>,
}

impl<'a> Copier<'a> {
    pub fn new(staging: &'a Staging<'a>) -> Self {
        Self {
            staging,
            clones: Clones::default(),
        }
    }

    pub fn thread(&'a self) -> Thread<'a> {
        Thread {
            shared: self,
            buffer: Vec::new(),
        }
    }

    /// Fails when somebody asked to stop.
    pub fn go_on(&self) -> Result<(), CopyError> {
        if (self.staging.stop)() {
            return Err(Cause::Stopped.into());
        }
        Ok(())
    }
}

impl Thread<'_> {
    /// Fails when somebody asked to stop.
    pub fn go_on(&self) -> Result<(), CopyError> {
        self.shared.go_on()
    }

    /// Makes one item, no directory, in the directory that is open.
    pub fn item(&mut self, pair: &Pair, item: &Item) -> Result<Staged, CopyError> {
        self.shared.go_on()?;
        let (kind, digest, stat) = match &item.from {
            Origin::Source(kind, chosen) => {
                let source = pair.source.as_ref();
                let source = source.expect("a directory with something of the source is open");
                let (digest, stat) = match kind {
                    PlacedKind::File => self.file(source, &pair.staged, item, chosen)?,
                    PlacedKind::Link => link(source, &pair.staged, &item.path, chosen)?,
                    PlacedKind::Directory => unreachable!("the tree has directories apart"),
                };
                (*kind, digest, stat)
            }
            Origin::Text(text) => {
                let (digest, stat) = self.text(&pair.staged, item, text)?;
                (PlacedKind::File, digest, stat)
            }
        };
        self.shared.staging.progress.add_file();
        Ok(Staged {
            path: item.path.clone(),
            kind,
            digest,
            stat,
        })
    }

    fn file(
        &mut self,
        source: &OwnedFd,
        staged: &OwnedFd,
        item: &Item,
        chosen: &Stat,
    ) -> Result<(Option<Digest>, Stat), CopyError> {
        let path = &item.path;
        let file = openat(source, path.file_name().as_bytes(), READ, Mode::empty());
        let file = File::from(file.map_err(|error| Cause::source(path, error))?);
        let on_disk = require_still(&file, path, chosen)?;
        let (copy, digest) = if chosen.size <= CHUNK as u64 {
            self.small(&file, staged, item, chosen)?
        } else {
            self.large(&file, staged, item, chosen.size, on_disk < chosen.size)?
        };
        require_still(&file, path, chosen)?;
        Ok((digest, finish(&copy, item, Some(chosen))?))
    }

    fn small(
        &mut self,
        file: &File,
        staged: &OwnedFd,
        item: &Item,
        chosen: &Stat,
    ) -> Result<(File, Option<Digest>), CopyError> {
        let bytes = self.read(file, &item.path, chosen.size)?;
        let digest = Digest(blake3::hash(&self.buffer[..bytes]).into());
        let copy = create(staged, item)?;
        self.write(&copy, &item.path, bytes)?;
        Ok((copy, Some(digest)))
    }

    fn large(
        &mut self,
        file: &File,
        staged: &OwnedFd,
        item: &Item,
        size: u64,
        sparse: bool,
    ) -> Result<(File, Option<Digest>), CopyError> {
        let clone = clone(file, staged, item, &self.shared.clones)?;
        let (copy, cloned) = match clone {
            Some(copy) => (copy, true),
            None => (create(staged, item)?, false),
        };
        let large = Large {
            copier: self.shared,
            path: &item.path,
            from: file,
            to: Some(&copy),
            size,
            sparse,
        };
        let digest = if cloned {
            large.read_clone(&copy, &mut self.buffer)?
        } else {
            Some(large.copy(&mut self.buffer)?)
        };
        Ok((copy, digest))
    }

    /// Reads a small file whole into the buffer.
    fn read(&mut self, file: &File, path: &RepoPath, size: u64) -> Result<usize, CopyError> {
        let size = usize::try_from(size).expect("a small file fits into memory");
        if self.buffer.len() < size {
            self.buffer.resize(CHUNK, 0);
        }
        let mut have = 0;
        // what is read at once is all that there is; that it has not grown is seen by its size
        while have < size {
            match file.read_at(&mut self.buffer[have..size], have as u64) {
                Ok(0) => break,
                Ok(more) => have += more,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(Cause::disk("read", path, error).into()),
            }
        }
        if have == size {
            Ok(have)
        } else {
            Err(Cause::Changed(path.clone()).into())
        }
    }

    fn write(&self, copy: &File, path: &RepoPath, bytes: usize) -> Result<(), CopyError> {
        let mut copy = copy;
        copy.write_all(&self.buffer[..bytes])
            .map_err(|error| Cause::disk("copy", path, error))?;
        self.shared.staging.progress.add_bytes(bytes as u64);
        Ok(())
    }

    fn text(
        &self,
        staged: &OwnedFd,
        item: &Item,
        text: &[u8],
    ) -> Result<(Option<Digest>, Stat), CopyError> {
        let copy = create(staged, item)?;
        (&copy)
            .write_all(text)
            .map_err(|error| Cause::disk("write", &item.path, error))?;
        self.shared.staging.progress.add_bytes(text.len() as u64);
        let digest = Digest(blake3::hash(text).into());
        Ok((Some(digest), finish(&copy, item, None)?))
    }
}

/// Fails when a source that is open is not, or no longer, what was chosen. Returns the bytes that
/// it takes on the disk.
fn require_still(file: &File, path: &RepoPath, chosen: &Stat) -> Result<u64, CopyError> {
    let stat = fstat(file).map_err(|error| Cause::source(path, error))?;
    require_same(path, chosen, &stat_from(&stat))?;
    // in units of 512 bytes, whatever the block size (stat(2))
    Ok(u64::try_from(stat.st_blocks).unwrap_or(0) * 512)
}

fn require_same(path: &RepoPath, chosen: &Stat, now: &Stat) -> Result<(), CopyError> {
    let kind = |stat: &Stat| FileType::from_raw_mode(stat.mode);
    let same = chosen.size == now.size
        && chosen.mtime == now.mtime
        && chosen.inode == now.inode
        && kind(chosen) == kind(now);
    if same {
        Ok(())
    } else {
        Err(Cause::Changed(path.clone()).into())
    }
}

/// The bits of a file. A copy belongs to who copies, so it never lends rights (setuid, setgid).
pub(super) fn bits(item: &Item) -> Mode {
    Mode::from_raw_mode((item.bits & 0o777) as _)
}

pub(super) fn create(staged: &OwnedFd, item: &Item) -> Result<File, CopyError> {
    let file = openat(staged, item.path.file_name().as_bytes(), CREATE, bits(item));
    let file = file.map_err(|error| Cause::disk("copy", &item.path, error))?;
    Ok(file.into())
}

/// Gives a copy its time and, where the umask has taken some off, its bits.
fn finish(copy: &File, item: &Item, source: Option<&Stat>) -> Result<Stat, CopyError> {
    let finish = || {
        if let Some(source) = source {
            futimens(copy, &mtime(source))?;
        }
        let stat = stat_from(&fstat(copy)?);
        if Mode::from_raw_mode(stat.mode as _) == bits(item) {
            return Ok(stat);
        }
        fchmod(copy, bits(item))?;
        fstat(copy).map(|stat| stat_from(&stat))
    };
    finish().map_err(|error| Cause::disk("copy", &item.path, error).into())
}

fn link(
    source: &OwnedFd,
    staged: &OwnedFd,
    path: &RepoPath,
    chosen: &Stat,
) -> Result<(Option<Digest>, Stat), CopyError> {
    let name = path.file_name().as_bytes();
    let still = || {
        let now = statat(source, name, AtFlags::SYMLINK_NOFOLLOW);
        let now = now.map_err(|error| Cause::source(path, error))?;
        require_same(path, chosen, &stat_from(&now))
    };
    still()?;
    let text = readlinkat(source, name, Vec::new()).map_err(|error| match error {
        rustix::io::Errno::INVAL => Cause::Changed(path.clone()),
        error => Cause::source(path, error),
    })?;
    still()?;
    let make = || {
        symlinkat(&text, staged, name)?;
        utimensat(staged, name, &mtime(chosen), AtFlags::SYMLINK_NOFOLLOW)?;
        statat(staged, name, AtFlags::SYMLINK_NOFOLLOW)
    };
    let stat = make().map_err(|error| Cause::disk("copy", path, error))?;
    let digest = Digest(blake3::hash(text.to_bytes()).into());
    Ok((Some(digest), stat_from(&stat)))
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
