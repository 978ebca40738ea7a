//! Takes content from a file of another worktree that is known to have it: [`Originals`].
//!
//! The file's stat data being those that git recorded (gitformat-index(5)) say that it is worth
//! reading, and no more: who takes it hashes it. A filter that is gone has left files which git takes
//! for unchanged, and on some file systems a file is written to without a trace.

use std::fs::File;
use std::io::Read;
use std::sync::atomic::{AtomicBool, AtomicIsize, Ordering};

use bstr::ByteSlice;
use camino::Utf8Path;
use rustix::fs::{FileType, Mode as Bits, OFlags, fstat, openat};
use rustix::io::Errno;

use super::super::directories::Directories;
use crate::path::RepoPath;

/// Holds the stat data under which a file is likely to have the content that it is wanted for, as an
/// index has them: 32 bits of each number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Known {
    /// Size in bytes.
    pub size: u32,
    /// Modification time, seconds and nanoseconds.
    pub modified: (u32, u32),
    /// Change time, seconds and nanoseconds.
    pub changed: (u32, u32),
    /// Inode number.
    pub inode: u32,
}

/// Holds a worktree from which content may be taken.
#[derive(Debug)]
pub struct Originals<'a> {
    /// It.
    pub root: &'a Utf8Path,
    /// For each task what is known of the file at its path; none where nothing is.
    pub known: Vec<Option<Known>>,
    /// Which files are read where they cannot be cloned.
    pub read: Reads,
    no_clones: AtomicBool,
    /// How many more files had to be waited for than were there to be read.
    misses: AtomicIsize,
}

/// Says which files are read where they cannot be cloned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reads {
    /// All.
    All,
    /// Those that the system holds in memory: objects stand side by side, so that they are had more
    /// quickly from a disk.
    InMemory,
}

/// After so many files that are not in memory, none is looked at any more.
const MISSES: isize = 64;

impl<'a> Originals<'a> {
    /// Takes what is known.
    #[must_use]
    pub const fn new(root: &'a Utf8Path, known: Vec<Option<Known>>, read: Reads) -> Self {
        Self {
            root,
            known,
            read,
            no_clones: AtomicBool::new(false),
            misses: AtomicIsize::new(0),
        }
    }

    /// Whether there is anything to be taken as far as is known by now.
    pub(super) fn are_of_use(&self) -> bool {
        let reads = match self.read {
            Reads::All => true,
            Reads::InMemory => self.misses.load(Ordering::Relaxed) < MISSES,
        };
        reads || self.may_clone()
    }

    /// Whether a file of this size is read before there is a new one that it could be cloned into.
    pub(super) fn are_read(&self, known: &Known) -> bool {
        !self.may_clone() && known.size <= LONGEST
    }

    fn may_clone(&self) -> bool {
        !self.no_clones.load(Ordering::Relaxed)
    }
}

/// Holds the open directories of one thread on the way to the last file.
pub(super) struct Source<'a> {
    originals: &'a Originals<'a>,
    directories: Option<Directories>,
}

/// What came of a file.
#[derive(Clone, Copy)]
pub(super) enum Taken {
    /// All of it is in the new one, and was when it began to be read.
    Cloned,
    /// All of it is in the new one, piece by piece.
    Copied,
    /// All of it is in the buffer.
    Read,
    /// Nothing: it is to be had elsewhere.
    Nothing,
}

/// The longest file that is read at once.
const LONGEST: u32 = 16 * 1024 * 1024;

impl<'a> Source<'a> {
    pub fn new(originals: &'a Originals<'a>) -> Self {
        Self {
            originals,
            directories: Directories::open(originals.root).ok(),
        }
    }

    /// Opens the file at a path if it is as known.
    pub fn open(&mut self, path: &RepoPath, known: &Known) -> Option<File> {
        let above = self.directories.as_mut()?.of(path).ok()?;
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        let fd = openat(above, path.file_name().as_bytes(), flags, Bits::empty()).ok()?;
        is(&fd, known).then(|| File::from(fd))
    }

    /// Takes the content into a new, empty file or into the buffer.
    pub fn take(&self, from: &mut File, known: &Known, to: &File, buffer: &mut Vec<u8>) -> Taken {
        if self.originals.may_clone() {
            match clone(from, to) {
                Ok(()) => return Taken::Cloned,
                Err(
                    Errno::OPNOTSUPP | Errno::NOTTY | Errno::NOSYS | Errno::XDEV | Errno::INVAL,
                ) => {
                    self.originals.no_clones.store(true, Ordering::Relaxed);
                }
                Err(_) => {}
            }
        }
        if known.size > LONGEST {
            if self.originals.read == Reads::InMemory {
                return Taken::Nothing;
            }
            let (mut from, mut to) = (&*from, to);
            return match std::io::copy(&mut from, &mut to) {
                Ok(copied) if copied == u64::from(known.size) => Taken::Copied,
                Ok(_) | Err(_) => Taken::Nothing,
            };
        }
        if self.read(from, known, buffer) {
            Taken::Read
        } else {
            Taken::Nothing
        }
    }

    /// Reads all of it into the buffer; whether it could be had.
    pub fn read(&self, from: &mut File, known: &Known, buffer: &mut Vec<u8>) -> bool {
        buffer.resize(known.size as usize, 0);
        match self.originals.read {
            Reads::All => from.read_exact(buffer).is_ok(),
            Reads::InMemory => {
                let is_there = read_at_once(from, buffer) == Some(buffer.len());
                let step = if is_there { -1 } else { 1 };
                let misses = &self.originals.misses;
                // what was there does not outweigh all that comes
                let _ = misses.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |before| {
                    Some((before + step).max(-MISSES))
                });
                is_there
            }
        }
    }
}

/// Whether an open file is as known.
#[allow(
    clippy::unnecessary_cast,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "an index has 32 bits of each number, and struct stat differs between systems"
)]
pub(super) fn is(file: impl std::os::fd::AsFd, known: &Known) -> bool {
    let Ok(stat) = fstat(file) else { return false };
    let now = Known {
        size: stat.st_size as u32,
        modified: (stat.st_mtime as u32, stat.st_mtime_nsec as u32),
        changed: (stat.st_ctime as u32, stat.st_ctime_nsec as u32),
        inode: stat.st_ino as u32,
    };
    let is_small = stat.st_size as u64 == u64::from(known.size);
    is_small && now == *known && FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile
}

/// Reads what is in memory, without waiting for the disk (preadv2(2), `RWF_NOWAIT`); how much.
#[cfg(target_os = "linux")]
fn read_at_once(from: &File, buffer: &mut [u8]) -> Option<usize> {
    use rustix::io::{ReadWriteFlags, preadv2};
    if buffer.is_empty() {
        return Some(0);
    }
    let into = &mut [std::io::IoSliceMut::new(buffer)];
    preadv2(from, into, 0, ReadWriteFlags::NOWAIT).ok()
}

#[cfg(not(target_os = "linux"))]
fn read_at_once(_: &File, _: &mut [u8]) -> Option<usize> {
    None
}

#[cfg(target_os = "linux")]
fn clone(from: &File, to: &File) -> Result<(), Errno> {
    rustix::fs::ioctl_ficlone(to, from)
}

#[cfg(not(target_os = "linux"))]
fn clone(_: &File, _: &File) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn what_is_not_in_memory_is_given_up_after_a_while() {
        let mut file = tempfile::tempfile().expect("a file");
        file.write_all(b"abc").expect("it is written");
        let longer = Known {
            size: 4,
            modified: (1, 1),
            changed: (1, 1),
            inode: 1,
        };
        let root = Utf8Path::new("/");
        for (reads, is_of_use) in [(Reads::All, true), (Reads::InMemory, false)] {
            let originals = Originals::new(root, Vec::new(), reads);
            assert!(originals.are_of_use());
            originals.no_clones.store(true, Ordering::Relaxed);
            let source = Source::new(&originals);
            let mut buffer = Vec::new();
            for _ in 0..MISSES {
                assert!(originals.are_of_use());
                assert!(!source.read(&mut file, &longer, &mut buffer));
            }
            assert_eq!(originals.are_of_use(), is_of_use);
            let right = Known { size: 3, ..longer };
            std::io::Seek::rewind(&mut file).expect("it is a file");
            let read = source.read(&mut file, &right, &mut buffer);
            assert!(
                read || reads == Reads::InMemory,
                "some file systems cannot tell"
            );
            assert!(!read || buffer == b"abc");
        }
    }
}
