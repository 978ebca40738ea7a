//! Walks a worktree and holds what is there against a manifest.
//!
//! The walk is its own: it knows no index, no ignore rule and no `.git` but the worktree's own.
//! It opens directories from the one above without following links, looks at every entry with
//! `lstat`, and reads a file only when its stat data do not prove that it is what the manifest
//! says. Several threads share one stack of directories.
//!
//! It does not say what a difference means: see `compare.rs`.

use std::collections::BTreeSet;
use std::io::Read;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};

use camino::Utf8Path;
use rustix::fs::{AtFlags, CWD, Dir, FileType, Mode as Bits, OFlags, openat, statat};
use rustix::io::Errno;

use super::drift::Proof;
use super::error::DiskError;
use super::stat::{is_regular, is_repository, mode_of_file, read_entry, stat_from};
use crate::entry::{Entry, Mode, ObjectId};
use crate::manifest::{Item, Manifest, Stat};
use crate::path::RepoPath;

/// Computes the id of a blob from its size and its raw bytes.
pub type HashBlob<'a> = &'a (dyn Fn(u64, &mut dyn Read) -> std::io::Result<ObjectId> + Sync);

/// Says what the walk believes without reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Believe {
    /// What the recorded stat data prove.
    Manifest,
    /// That a file whose path the base has is what the base has there: only right after git has
    /// made it, where no filter can have changed it.
    Checkout,
    /// Nothing: every file is read.
    Nothing,
}

/// Holds what a walk needs.
pub struct Walk<'a> {
    /// The worktree.
    pub root: &'a Utf8Path,
    /// What it is held against.
    pub manifest: &'a Manifest,
    /// What of it was placed, if anything: known by another digest than its id.
    pub placed: Option<Proof<'a>>,
    /// Paths at which a submodule stands: not entered when there is a repository in them.
    pub submodules: &'a BTreeSet<RepoPath>,
    /// What need not be read.
    pub believe: Believe,
    /// How content is named.
    pub hash: HashBlob<'a>,
}

/// Holds what stands at a path and is not proven to be what the manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// The path.
    pub path: RepoPath,
    /// What stands there: kind and raw content.
    pub entry: Entry,
    /// Its stat data.
    pub stat: Stat,
}

/// Holds a path that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unreadable {
    /// The path; none for the worktree itself.
    pub path: Option<RepoPath>,
    /// What the system said.
    pub detail: String,
}

/// Holds what a walk found; everything sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// What is there and was not proven unchanged.
    pub found: Vec<Found>,
    /// What the manifest says was on disk and is not there.
    pub missing: Vec<RepoPath>,
    /// Submodules with a repository in them.
    pub submodules: Vec<RepoPath>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
}

struct Directory {
    path: Option<RepoPath>,
    above: Arc<OwnedFd>,
    name: Vec<u8>,
}

struct Queue {
    waiting: Vec<Directory>,
    busy: usize,
}

/// Walks the worktree.
///
/// # Errors
/// Fails when the root itself cannot be opened; anything below it that cannot be read is in
/// [`Scan::unreadable`].
pub fn scan(walk: &Walk<'_>) -> Result<Scan, DiskError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = openat(CWD, walk.root.as_std_path(), flags, Bits::empty())
        .map_err(|error| DiskError::new(format!("open the worktree {}", walk.root), error))?;
    let seen: Vec<AtomicBool> = walk
        .manifest
        .items()
        .iter()
        .map(|item| AtomicBool::new(item.disk.is_none()))
        .collect();
    let first = Directory {
        path: None,
        above: Arc::new(root),
        name: b".".to_vec(),
    };
    let queue = (
        Mutex::new(Queue {
            waiting: vec![first],
            busy: 0,
        }),
        Condvar::new(),
    );
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8));
    let parts: Vec<Scan> = std::thread::scope(|scope| {
        let work = || {
            scope.spawn(|| {
                Worker {
                    walk,
                    seen: &seen,
                    scan: Scan::default(),
                }
                .run(&queue)
            })
        };
        let handles: Vec<_> = (0..threads).map(|_| work()).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, _>| {
            handle
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        handles.into_iter().map(join).collect()
    });
    let mut all = Scan::default();
    for part in parts {
        all.found.extend(part.found);
        all.submodules.extend(part.submodules);
        all.unreadable.extend(part.unreadable);
    }
    let gone = walk.manifest.items().iter().zip(&seen);
    let gone = gone.filter(|(_, seen)| !seen.load(Ordering::Relaxed));
    all.missing = gone.map(|(item, _)| item.path.clone()).collect();
    // what is in a directory that cannot be read is not gone
    let hidden: Vec<&RepoPath> = all
        .unreadable
        .iter()
        .filter_map(|u| u.path.as_ref())
        .collect();
    all.missing.retain(|path| {
        !hidden
            .iter()
            .any(|directory| *directory == path || path.is_below(directory.as_bstr()))
    });
    all.found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    all.submodules.sort_unstable();
    all.unreadable.sort_unstable();
    Ok(all)
}

struct Worker<'a> {
    walk: &'a Walk<'a>,
    seen: &'a [AtomicBool],
    scan: Scan,
}

impl Worker<'_> {
    fn run(mut self, (queue, wake): &(Mutex<Queue>, Condvar)) -> Scan {
        let mut state = queue.lock().unwrap_or_else(PoisonError::into_inner);
        loop {
            if let Some(directory) = state.waiting.pop() {
                state.busy += 1;
                drop(state);
                let below = self.directory(&directory);
                state = queue.lock().unwrap_or_else(PoisonError::into_inner);
                state.waiting.extend(below);
                state.busy -= 1;
                wake.notify_all();
            } else if state.busy == 0 {
                return self.scan;
            } else {
                state = wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            }
        }
    }

    fn unreadable(&mut self, path: Option<&RepoPath>, error: &dyn std::fmt::Display) {
        self.scan.unreadable.push(Unreadable {
            path: path.cloned(),
            detail: error.to_string(),
        });
    }

    /// Looks at what is in one directory; the directories in it.
    fn directory(&mut self, directory: &Directory) -> Vec<Directory> {
        let mut below = Vec::new();
        let path = directory.path.as_ref();
        if let Err(error) = self.list(directory, &mut below) {
            // what is gone since it was listed is not there: the manifest knows if it should be
            if error != Errno::NOENT {
                self.unreadable(path, &error);
            }
        }
        below
    }

    fn list(&mut self, directory: &Directory, below: &mut Vec<Directory>) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&*directory.above, &*directory.name, flags, Bits::empty())?;
        let fd = Arc::new(fd);
        let path = directory.path.as_ref();
        let mut names: Vec<Vec<u8>> = Vec::new();
        for entry in Dir::read_from(&*fd)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                names.push(name.to_vec());
            }
        }
        if names.is_empty()
            && let Some(path) = path
        {
            self.empty_directory(path, &fd)?;
        } else if let Some(path) = path {
            self.mark_directory(path);
        }
        if let Some(path) = path
            && self.walk.submodules.contains(path)
            && names.iter().any(|name| name == b".git")
        {
            self.scan.submodules.push(path.clone());
            self.mark(path);
            return Ok(());
        }
        let range = self.walk.manifest.below(path);
        for name in names {
            if path.is_none() && name == b".git" {
                continue;
            }
            let child = RepoPath::child(path, &name);
            let stat = match statat(&*fd, &*name, AtFlags::SYMLINK_NOFOLLOW) {
                Ok(stat) => stat,
                Err(Errno::NOENT) => continue,
                Err(error) => {
                    self.unreadable(Some(&child), &error);
                    continue;
                }
            };
            if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
                if name == b".git" && is_repository(&fd, &name) {
                    let entry = Entry {
                        mode: Mode::NestedGit,
                        id: ObjectId::none(),
                    };
                    self.scan.found.push(Found {
                        path: child,
                        entry,
                        stat: stat_from(&stat),
                    });
                } else {
                    below.push(Directory {
                        path: Some(child),
                        above: Arc::clone(&fd),
                        name,
                    });
                }
                continue;
            }
            self.entry(child, &fd, &name, &stat_from(&stat), range.clone());
        }
        Ok(())
    }

    /// An empty directory is something only where the base has no directory: git itself leaves
    /// one behind when somebody stands in it.
    fn empty_directory(&mut self, path: &RepoPath, fd: &OwnedFd) -> Result<(), Errno> {
        self.mark(path);
        if self.walk.manifest.has_directory(path) {
            return Ok(());
        }
        let entry = Entry {
            mode: Mode::EmptyDirectory,
            id: ObjectId::none(),
        };
        let stat = stat_from(&rustix::fs::fstat(fd)?);
        let known = self.walk.manifest.get(path).and_then(|item| item.disk);
        if known.is_none_or(|disk| disk.entry != entry) || self.walk.believe != Believe::Manifest {
            self.scan.found.push(Found {
                path: path.clone(),
                entry,
                stat,
            });
        }
        Ok(())
    }

    /// A directory that was empty is there also with something in it; that of a submodule which
    /// was not filled is something else then.
    fn mark_directory(&self, path: &RepoPath) {
        let item = self.walk.manifest.get(path);
        let known = item
            .filter(|item| item.base.is_none())
            .and_then(|item| item.disk);
        if known.is_some_and(|disk| disk.entry.mode == Mode::EmptyDirectory) {
            self.mark(path);
        }
    }

    /// Notes that what the manifest says of a path is there, and gives it.
    fn mark(&self, path: &RepoPath) -> Option<&Item> {
        let at = self.walk.manifest.position(path.as_bstr()).ok()?;
        self.seen[at].store(true, Ordering::Relaxed);
        Some(&self.walk.manifest.items()[at])
    }

    fn entry(
        &mut self,
        path: RepoPath,
        above: &OwnedFd,
        name: &[u8],
        stat: &Stat,
        range: std::ops::Range<usize>,
    ) {
        let items = &self.walk.manifest.items()[range.clone()];
        let at = items.binary_search_by(|item| item.path.cmp(&path)).ok();
        let item = at.map(|at| &items[at]);
        if let Some(at) = at {
            self.seen[range.start + at].store(true, Ordering::Relaxed);
        }
        let disk = item.and_then(|item| item.disk);
        // of what is tracked nothing may be proven yet; of what was placed it is
        let believes =
            self.walk.believe == Believe::Manifest || item.is_some_and(|i| i.base.is_none());
        if believes && disk.is_some_and(|disk| self.walk.manifest.proves(&disk.stat, stat)) {
            return;
        }
        let base = item.and_then(|item| item.base);
        let entry = match (self.walk.believe, base) {
            (Believe::Checkout, Some(base)) if base.mode.is_regular() && is_regular(stat) => {
                Ok(Entry {
                    mode: mode_of_file(stat),
                    id: base.id,
                })
            }
            (Believe::Checkout | Believe::Manifest | Believe::Nothing, _) => {
                let proof = self.walk.placed.filter(|_| base.is_none());
                match (proof.map(|p| p.holds(&path, above, name, stat)), disk) {
                    (Some(Ok(true)), Some(disk)) => Ok(disk.entry),
                    (Some(Err(error)), _) => Err(error),
                    (Some(Ok(_)) | None, _) => read_entry(above, name, stat, self.walk.hash),
                }
            }
        };
        match entry {
            Ok(entry) => self.scan.found.push(Found {
                path,
                entry,
                stat: *stat,
            }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if let Some(at) = at {
                    self.seen[range.start + at].store(disk.is_none(), Ordering::Relaxed);
                }
            }
            Err(error) => self.unreadable(Some(&path), &error),
        }
    }
}
