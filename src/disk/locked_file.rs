//! Replaces a file of git's as git does: under `<file>.lock`, by rename (git-update-index(1)).
//! Finds such locks, with their age.
#![expect(clippy::disallowed_methods, reason = "the boundary to the disk")]

use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use ignore::{DirEntry, WalkBuilder};

use crate::disk::error::{Attempt as _, DiskError};
use crate::disk::stat::is_same_file;

/// A lock that is held; it goes with this, and the file stays as it was.
#[derive(Debug)]
pub struct LockedFile {
    file: Utf8PathBuf,
    lock: Utf8PathBuf,
    open: File,
    is_committed: bool,
}

impl LockedFile {
    /// Takes the lock of a file.
    ///
    /// # Errors
    /// Fails when another process has it, or the disk refuses.
    pub fn take(file: &Utf8Path) -> Result<Self, DiskError> {
        let lock = lock_of_file(file);
        let open = File::create_new(&lock).attempting("make", &lock)?;
        Ok(Self {
            file: file.to_owned(),
            lock,
            open,
            is_committed: false,
        })
    }

    /// Replaces the file with one of the same permissions and modification time: git takes an entry
    /// for racy by that of the index (Documentation/technical/racy-git).
    ///
    /// # Errors
    /// As [`LockedFile::commit`].
    pub fn commit_as_of_before(mut self, content: &[u8]) -> Result<(), DiskError> {
        self.write_as_of_before(content)
            .attempting("write", &self.file)?;
        self.commit(b"")
    }

    fn write_as_of_before(&mut self, content: &[u8]) -> io::Result<()> {
        let before = std::fs::metadata(&self.file)?;
        self.open.write_all(content)?;
        // as git has created it (`core.sharedRepository`), whatever our umask
        self.open.set_permissions(before.permissions())?;
        self.open.set_modified(before.modified()?)
    }

    /// Replaces the file.
    ///
    /// # Errors
    /// Fails when the disk refuses; the file is then as it was.
    pub fn commit(mut self, bytes: &[u8]) -> Result<(), DiskError> {
        let written = self.open.write_all(bytes);
        written
            .and_then(|()| std::fs::rename(&self.lock, &self.file))
            .attempting("write", &self.file)?;
        self.is_committed = true;
        Ok(())
    }
}

impl Drop for LockedFile {
    fn drop(&mut self) {
        if !self.is_committed {
            let _ = std::fs::remove_file(&self.lock);
        }
    }
}

/// A lock of a file of git's that says whose it is; it goes with this.
#[derive(Debug)]
pub struct MarkedLock {
    lock: Utf8PathBuf,
}

impl MarkedLock {
    /// Takes the lock of a file, as a second name of the file `mark`: whenever we are killed, no
    /// lock is there that does not say whose it is. None while another process keeps the lock for
    /// longer than `patience`.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn take(
        file: &Utf8Path,
        mark: &Utf8Path,
        patience: Duration,
    ) -> Result<Option<Self>, DiskError> {
        let lock = lock_of_file(file);
        let deadline = Instant::now() + patience;
        loop {
            match link_or_create(mark, &lock) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
                created => {
                    created.attempting("make", &lock)?;
                    return Ok(Some(Self { lock }));
                }
            }
            if Instant::now() >= deadline {
                return Ok(None);
            }
            std::thread::sleep(POLL);
        }
    }
}

impl Drop for MarkedLock {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.lock);
    }
}

/// How often is looked whether a lock is free.
const POLL: Duration = Duration::from_millis(10);

/// Gives a file a second name that is free; on a file system that has no second names, creates a
/// file with the same content.
fn link_or_create(from: &Utf8Path, to: &Utf8Path) -> io::Result<()> {
    match std::fs::hard_link(from, to) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => {
            let content = std::fs::read(from)?;
            File::create_new(to)?.write_all(&content)
        }
        linked => linked,
    }
}

/// Replaces a file of git's by a second name of another file: that needs no room.
///
/// # Errors
/// Fails when another process has the lock of the file, or the disk refuses.
pub fn replace_by_link(file: &Utf8Path, with: &Utf8Path) -> Result<(), DiskError> {
    let lock = lock_of_file(file);
    match link_or_create(with, &lock) {
        Ok(()) => {}
        // we were killed when we had it
        Err(_) if is_one_file(&lock, with) => {}
        Err(error) => {
            if error.kind() != ErrorKind::AlreadyExists {
                let _ = std::fs::remove_file(&lock);
            }
            return Err(error).attempting("make", &lock);
        }
    }
    let renamed = std::fs::rename(&lock, file);
    if renamed.is_err() {
        let _ = std::fs::remove_file(&lock);
    }
    renamed.attempting("write", file)
}

/// True if two names are of one file.
fn is_one_file(first: &Utf8Path, second: &Utf8Path) -> bool {
    let first = std::fs::symlink_metadata(first);
    let second = std::fs::symlink_metadata(second);
    matches!((first, second), (Ok(first), Ok(second)) if is_same_file(&first, &second))
}

fn lock_of_file(file: &Utf8Path) -> Utf8PathBuf {
    Utf8PathBuf::from(format!("{file}.lock"))
}

/// Where lock files are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockDepth {
    /// In the directory itself.
    Here,
    /// Also in the directories below it.
    Below,
}

/// Returns the lock files of a directory with their age in seconds, sorted; one that cannot be read
/// has the age 0.
pub fn lock_files(directory: &Utf8Path, depth: LockDepth) -> Vec<(Utf8PathBuf, u64)> {
    let depth = match depth {
        LockDepth::Here => Some(1),
        LockDepth::Below => None,
    };
    let mut locks = Vec::new();
    let entries = WalkBuilder::new(directory)
        .standard_filters(false)
        .max_depth(depth)
        .build();
    for entry in entries.filter_map(Result::ok) {
        if !is_lock_file(&entry) {
            continue;
        }
        if let Ok(path) = Utf8PathBuf::from_path_buf(entry.path().to_owned()) {
            locks.push((path, age_of(&entry).unwrap_or_default().as_secs()));
        }
    }
    locks.sort();
    locks
}

fn is_lock_file(entry: &DirEntry) -> bool {
    let is_file = entry.file_type().is_some_and(|kind| kind.is_file());
    is_file && entry.path().extension().is_some_and(|end| end == "lock")
}

fn age_of(entry: &DirEntry) -> Option<Duration> {
    let modified = entry.metadata().ok()?.modified().ok()?;
    modified.elapsed().ok()
}
