//! Replaces a file of git's as git does: under `<file>.lock`, by rename (git-update-index(1)). Finds
//! such locks, with their age.
#![expect(clippy::disallowed_methods, reason = "the boundary to the disk")]

use std::fs::File;
use std::io::Write;

use camino::{Utf8Path, Utf8PathBuf};
use ignore::WalkBuilder;

use crate::disk::DiskError;

/// Represents a lock that is held; it goes with this, and the file stays as it was.
#[derive(Debug)]
pub struct LockedFile {
    file: Utf8PathBuf,
    lock: Utf8PathBuf,
    open: File,
}

impl LockedFile {
    /// Takes the lock of a file.
    ///
    /// # Errors
    /// Fails when another process has it, or the disk refuses.
    pub fn take(file: &Utf8Path) -> Result<Self, DiskError> {
        let lock = Utf8PathBuf::from(format!("{file}.lock"));
        let failed = |error| DiskError::new(format!("make {lock}"), error);
        let open = File::create_new(&lock).map_err(failed)?;
        Ok(Self {
            file: file.to_owned(),
            lock,
            open,
        })
    }

    /// Replaces the file with one of the same permissions and modification time: git takes an entry for racy by
    /// that of the index (Documentation/technical/racy-git).
    ///
    /// # Errors
    /// As [`LockedFile::commit`].
    pub fn commit_as_of_before(mut self, content: &[u8]) -> Result<(), DiskError> {
        let mut replace = || {
            let before = std::fs::metadata(&self.file)?;
            self.open.write_all(content)?;
            // as git has created it (`core.sharedRepository`), whatever our umask
            self.open.set_permissions(before.permissions())?;
            self.open.set_modified(before.modified()?)
        };
        replace().map_err(|error| DiskError::new(format!("write {}", self.file), error))?;
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
        let made = entry.metadata().ok().and_then(|it| it.modified().ok());
        let age = made.and_then(|made| made.elapsed().ok());
        Some((path, age.unwrap_or_default().as_secs()))
    };
    let mut found: Vec<_> = walk.filter_map(Result::ok).filter_map(lock).collect();
    found.sort();
    found
}
