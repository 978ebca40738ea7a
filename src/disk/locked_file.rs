//! Replaces a file of git's as git does: under `<file>.lock`, by rename (git-update-index(1)). Finds
//! such locks, with their age.
#![expect(clippy::disallowed_methods, reason = "the boundary to the disk")]

use std::fs::{File, OpenOptions};
use std::io::Write;
use std::os::unix::fs::FileExt as _;

use camino::{Utf8Path, Utf8PathBuf};
use ignore::WalkBuilder;

use super::error::DiskError;
use super::stat::stat_of;

/// Says what is to stand at a place of a file.
pub type Patch = (usize, Vec<u8>);

/// Represents a lock that is held; it goes with this, and the file stays as it was.
#[derive(Debug)]
pub struct LockedFile {
    file: Utf8PathBuf,
    lock: Utf8PathBuf,
    open: File,
    /// When it was taken, by the clock of the file system, nanoseconds since the epoch.
    pub time: i64,
}

impl LockedFile {
    /// Takes the lock of a file.
    ///
    /// # Errors
    /// Fails when somebody has it, or the disk refuses.
    pub fn take(file: &Utf8Path) -> Result<Self, DiskError> {
        let lock = Utf8PathBuf::from(format!("{file}.lock"));
        let failed = |error| DiskError::new(format!("make {lock}"), error);
        let open = OpenOptions::new().write(true).create_new(true).open(&lock);
        let open = open.map_err(failed)?;
        let time = stat_of(&open.metadata().map_err(failed)?).mtime;
        Ok(Self {
            file: file.to_owned(),
            lock,
            open,
            time,
        })
    }

    /// Replaces the file with one of the same permissions and modification time: git takes an entry for racy by
    /// that of the index (Documentation/technical/racy-git). While `content` is written, `patches` works
    /// out what is to stand at some places of it, or behind it, instead; where there is nothing, the
    /// file stays as it was.
    ///
    /// # Errors
    /// As [`LockedFile::commit`].
    pub fn commit_as_of_before(
        self,
        content: &[u8],
        patches: impl FnOnce() -> Option<Vec<Patch>>,
    ) -> Result<(), DiskError> {
        let failed = |error| DiskError::new(format!("write {}", self.file), error);
        let mut open = &self.open;
        let before = std::fs::metadata(&self.file).map_err(failed)?;
        let modified = before.modified().map_err(failed)?;
        let (patches, written) = std::thread::scope(|threads| {
            let written = threads.spawn(|| open.write_all(content));
            let patches = patches();
            let written = written.join();
            let written = written.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            (patches, written)
        });
        let Some(patches) = patches else {
            return Ok(());
        };
        written.map_err(failed)?;
        for (at, bytes) in patches {
            self.open.write_all_at(&bytes, at as u64).map_err(failed)?;
        }
        // as git has made it (`core.sharedRepository`), whatever our umask
        let permissions = self.open.set_permissions(before.permissions());
        permissions.map_err(failed)?;
        self.open.set_modified(modified).map_err(failed)?;
        self.commit(b"")
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// Fails when the disk refuses; the file is then as it was.
    pub fn commit(mut self, bytes: &[u8]) -> Result<(), DiskError> {
        let failed = |error| DiskError::new(format!("write {}", self.file), error);
        self.open.write_all(bytes).map_err(failed)?;
        std::fs::rename(&self.lock, &self.file).map_err(failed)?;
        // nothing is left to be removed
        self.lock = Utf8PathBuf::new();
        Ok(())
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        if !self.lock.as_str().is_empty() {
            let _ = std::fs::remove_file(&self.lock);
        }
    }
}

/// Returns the lock files of a directory, and below it if it is to be looked `deep`, with their age
/// in seconds, sorted; what cannot be read has none.
pub fn lock_files(directory: &Utf8Path, deep: bool) -> Vec<(Utf8PathBuf, u64)> {
    let depth = (!deep).then_some(1);
    let walk = WalkBuilder::new(directory)
        .standard_filters(false)
        .max_depth(depth)
        .build();
    let lock = |entry: ignore::DirEntry| {
        let is_lock = entry.file_type()?.is_file() && entry.path().extension()? == "lock";
        let path = Utf8PathBuf::from_path_buf(entry.path().to_owned()).ok();
        let path = path.filter(|_| is_lock)?;
        let made = entry
            .metadata()
            .ok()
            .and_then(|metadata| metadata.modified().ok());
        let age = made
            .and_then(|made| made.elapsed().ok())
            .unwrap_or_default();
        Some((path, age.as_secs()))
    };
    let mut found: Vec<_> = walk.filter_map(Result::ok).filter_map(lock).collect();
    found.sort();
    found
}
