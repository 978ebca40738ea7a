//! Copies the content of a file that is not held in memory as a whole: as a clone where the file
//! system makes one, otherwise in chunks.
//!
//! The digest is taken of the very buffers that are written. Reading and writing through a buffer
//! that stays in the cache takes less time than `copy_file_range(2)`, whose result would have to be
//! read once more (`docs/decisions/0013-copy.md`).

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::fs::{SeekFrom, ftruncate, seek};
use rustix::io::Errno;

use super::digest::{InLine, Sums, beside};
use super::entry::Copier;
use super::error::{Cause, CopyError};
use crate::path::RepoPath;
use crate::placed::Digest;

/// What is read, hashed and written at once, and the largest file that is read as a whole.
pub(super) const CHUNK: usize = 256 << 10;

/// From here on hashing has a thread of its own.
const TWO_THREADS: u64 = 16 << 20;

/// A larger clone is not read, so it has no digest.
const READ_CLONE: u64 = 16 << 20;

/// Holds a file that is open, and the empty file that becomes its copy.
pub(super) struct Large<'a> {
    pub copier: &'a Copier<'a>,
    pub path: &'a RepoPath,
    pub from: &'a File,
    pub to: &'a File,
    pub size: u64,
    /// Whether it takes less of the disk than its size.
    pub sparse: bool,
}

impl Large<'_> {
    /// Copies the content, and returns its digest.
    pub fn copy(&self, buffer: &mut Vec<u8>) -> Result<Digest, CopyError> {
        let digest = if self.size < TWO_THREADS {
            let mut sums = InLine::new(buffer);
            self.segments(&mut sums)?;
            sums.digest()
        } else {
            beside(|sums| self.segments(sums))?
        };
        if self.sparse {
            ftruncate(self.to, self.size).map_err(|error| Cause::disk("copy", self.path, error))?;
        }
        Ok(digest)
    }

    /// Reads a clone; none for a large one.
    pub fn read_clone(&self, buffer: &mut Vec<u8>) -> Result<Option<Digest>, CopyError> {
        if self.size > READ_CLONE {
            self.copier.staging.progress.add_bytes(self.size);
            return Ok(None);
        }
        let mut sums = InLine::new(buffer);
        let clone = Large {
            from: self.to,
            ..*self
        };
        clone.chunks(0, self.size, &mut sums, Then::Nothing)?;
        Ok(Some(sums.digest()))
    }

    fn segments(&self, sums: &mut impl Sums) -> Result<(), CopyError> {
        if !self.sparse {
            return self.chunks(0, self.size, sums, Then::Write);
        }
        let mut at = 0;
        while at < self.size {
            let data = self.next(SeekFrom::Data(at), at)?;
            sums.zeros(data - at, || self.reached(0))?;
            self.copier.staging.progress.add_bytes(data - at);
            at = self.next(SeekFrom::Hole(data), self.size)?;
            self.chunks(data, at, sums, Then::Write)?;
        }
        Ok(())
    }

    /// Where the next data or the next hole begins; at the end there is neither.
    fn next(&self, from: SeekFrom, unknown: u64) -> Result<u64, CopyError> {
        match seek(self.from, from) {
            Ok(at) => Ok(at.min(self.size)),
            Err(Errno::NXIO) => Ok(self.size),
            // the file system does not tell: all of it may be data
            Err(Errno::INVAL | Errno::OPNOTSUPP) => Ok(unknown),
            Err(error) => Err(Cause::disk("read", self.path, error).into()),
        }
    }

    fn chunks(
        &self,
        start: u64,
        end: u64,
        sums: &mut impl Sums,
        then: Then,
    ) -> Result<(), CopyError> {
        let mut at = start;
        while at < end {
            let mut buffer = sums.buffer();
            let size = usize::try_from(end - at).map_or(CHUNK, |left| left.min(CHUNK));
            let read = match self.from.read_at(&mut buffer[..size], at) {
                Ok(0) => return Err(Cause::Changed(self.path.clone()).into()),
                Ok(read) => read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => 0,
                Err(error) => return Err(Cause::disk("read", self.path, error).into()),
            };
            match then {
                Then::Write => self
                    .to
                    .write_all_at(&buffer[..read], at)
                    .map_err(|error| Cause::disk("copy", self.path, error))?,
                Then::Nothing => {}
            }
            sums.take(buffer, read);
            at += read as u64;
            self.reached(read as u64)?;
        }
        Ok(())
    }

    fn reached(&self, bytes: u64) -> Result<(), CopyError> {
        self.copier.staging.progress.add_bytes(bytes);
        self.copier.go_on()
    }
}

/// Says what is done with what was read, beside hashing it.
#[derive(Clone, Copy)]
enum Then {
    Write,
    Nothing,
}
