//! Copies the content of a file that is not held in memory as a whole.
//!
//! The digest is taken of the very buffers that are written. Reading and writing through a buffer
//! that stays in the cache takes no more time than `copy_file_range(2)`, whose result would have
//! to be read once more (`docs/decisions/0014-copy.md`).

use std::fs::File;
use std::os::unix::fs::FileExt;

use rustix::fs::{SeekFrom, ftruncate, seek};
use rustix::io::Errno;

use super::entry::Copier;
use super::error::{Cause, CopyError};
use super::parts;
use crate::path::RepoPath;
use crate::placed::Digest;

/// What is read, hashed and written at once, and the largest file that is read as a whole.
pub(super) const CHUNK: usize = 256 << 10;

/// From here on a file is worth two threads.
const TWO_THREADS: u64 = 16 << 20;

/// A larger clone is not read, so it has no digest.
const READ_CLONE: u64 = 16 << 20;

/// Holds a file that is open, and the empty file that becomes its copy.
#[derive(Clone, Copy)]
pub(super) struct Large<'a> {
    pub copier: &'a Copier<'a>,
    pub path: &'a RepoPath,
    pub from: &'a File,
    /// None when it is only read.
    pub to: Option<&'a File>,
    pub size: u64,
    /// Whether it takes less of the disk than its size.
    pub sparse: bool,
}

impl Large<'_> {
    /// Copies the content, and returns its digest.
    pub fn copy(&self, buffer: &mut Vec<u8>) -> Result<Digest, CopyError> {
        buffer.resize(CHUNK, 0);
        if self.sparse {
            return self.sparse(buffer);
        }
        if self.size >= TWO_THREADS {
            return parts::copy(self, buffer);
        }
        let mut hasher = blake3::Hasher::new();
        self.range(0, self.size, buffer, &mut hasher)?;
        Ok(Digest(hasher.finalize().into()))
    }

    /// Reads what was cloned into the copy; no digest for a large one.
    pub fn read_clone(
        &self,
        clone: &File,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<Digest>, CopyError> {
        if self.size > READ_CLONE {
            self.reached(self.size)?;
            return Ok(None);
        }
        let only_read = Large {
            from: clone,
            to: None,
            ..*self
        };
        only_read.copy(buffer).map(Some)
    }

    /// Copies the data between holes; what is a hole is hashed as zeros and not written.
    fn sparse(&self, buffer: &mut [u8]) -> Result<Digest, CopyError> {
        let mut hasher = blake3::Hasher::new();
        let mut at = 0;
        while at < self.size {
            let data = self.next(SeekFrom::Data(at), at)?;
            while at < data {
                let bytes = &mut buffer[..length(at, data)];
                bytes.fill(0);
                hasher.update(bytes);
                at += bytes.len() as u64;
                self.reached(bytes.len() as u64)?;
            }
            at = self.next(SeekFrom::Hole(data), self.size)?;
            self.range(data, at, buffer, &mut hasher)?;
        }
        if let Some(to) = self.to {
            ftruncate(to, self.size).map_err(|error| Cause::disk("copy", self.path, error))?;
        }
        Ok(Digest(hasher.finalize().into()))
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

    fn range(
        &self,
        mut at: u64,
        end: u64,
        buffer: &mut [u8],
        hasher: &mut blake3::Hasher,
    ) -> Result<(), CopyError> {
        while at < end {
            let bytes = self.part(buffer, at, end)?;
            hasher.update(bytes);
            at += bytes.len() as u64;
        }
        Ok(())
    }

    /// Copies a buffer full, or what is left before the end; returns the bytes.
    pub fn part<'b>(&self, buffer: &'b mut [u8], at: u64, end: u64) -> Result<&'b [u8], CopyError> {
        use std::io::ErrorKind;
        let bytes = &mut buffer[..length(at, end)];
        self.from
            .read_exact_at(bytes, at)
            .map_err(|error| match error.kind() {
                ErrorKind::UnexpectedEof => Cause::Changed(self.path.clone()),
                _ => Cause::disk("read", self.path, error),
            })?;
        if let Some(to) = self.to {
            to.write_all_at(bytes, at)
                .map_err(|error| Cause::disk("copy", self.path, error))?;
        }
        self.reached(bytes.len() as u64)?;
        Ok(bytes)
    }

    fn reached(&self, bytes: u64) -> Result<(), CopyError> {
        self.copier.staging.progress.add_bytes(bytes);
        self.copier.go_on()
    }
}

fn length(at: u64, end: u64) -> usize {
    usize::try_from(end - at).map_or(CHUNK, |left| left.min(CHUNK))
}
