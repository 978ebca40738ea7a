//! Holds [`Progress`]: how far a long copy is, for whoever draws it.

use std::sync::atomic::{AtomicU64, Ordering};

/// Counts what is to be done and what is done. Shared between threads.
#[derive(Debug, Default)]
pub struct Progress {
    files: AtomicU64,
    bytes: AtomicU64,
    files_done: AtomicU64,
    bytes_done: AtomicU64,
}

/// Holds the counts at one moment.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reached {
    /// Files to copy; 0 before it is known.
    pub files: u64,
    /// Bytes to copy.
    pub bytes: u64,
    /// Files copied.
    pub files_done: u64,
    /// Bytes copied.
    pub bytes_done: u64,
}

impl Progress {
    /// Says what is to be done, from now on.
    pub fn begin(&self, files: u64, bytes: u64) {
        self.files_done.store(0, Ordering::Relaxed);
        self.bytes_done.store(0, Ordering::Relaxed);
        self.bytes.store(bytes, Ordering::Relaxed);
        self.files.store(files, Ordering::Relaxed);
    }

    /// Says that nothing more is to be done.
    pub fn end(&self) {
        self.begin(0, 0);
    }

    /// Counts bytes.
    pub fn add_bytes(&self, bytes: u64) {
        self.bytes_done.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a file that is whole.
    pub fn add_file(&self) {
        self.files_done.fetch_add(1, Ordering::Relaxed);
    }

    /// Reads the counts.
    #[must_use]
    pub fn reached(&self) -> Reached {
        Reached {
            files: self.files.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            files_done: self.files_done.load(Ordering::Relaxed),
            bytes_done: self.bytes_done.load(Ordering::Relaxed),
        }
    }
}
