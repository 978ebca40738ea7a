//! Walks a worktree and holds what is there against a manifest.
//!
//! The walk is its own: it knows no index, no ignore rule and no `.git` but the worktree's own.
//! It opens directories from the one above without following links, looks at every entry that is
//! no directory with `lstat`, and reads a file only when its stat data do not prove that it is
//! what the manifest says. A directory that had what the base has and nothing else, and was not
//! touched since, is not read again ([`walk::KnownDirectories`]). A path is only put together where
//! something is to be said of it.
//!
//! It does not say what a difference means: see `judge/compare.rs`.

pub mod listing;
pub mod walk;
pub mod worker;

use std::collections::{BTreeSet, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};

use bstr::BStr;
use rustix::fs::CWD;

use crate::disk::error::{Attempt as _, DiskError};
use crate::disk::open::open_directory;
use crate::disk::pool::{WorkQueue, join, threads as pool_size};
use crate::disk::scan::walk::{Scan, Walk};
use crate::disk::scan::worker::{QueuedDirectory, Worker};
use crate::words::path::RepoPath;

/// Walks the worktree.
///
/// # Errors
/// Fails when the root itself cannot be opened; anything below it that cannot be read is in
/// [`Scan::unreadable`].
pub fn scan(walk: &Walk<'_>) -> Result<Scan, DiskError> {
    let none = BTreeSet::new();
    let submodules = walk.submodules.unwrap_or(&none);
    std::thread::scope(|threads| {
        let running = RunningWalk::begin(threads, *walk)?;
        Ok(running.finish(submodules))
    })
}

/// A walk that other threads are at. Dropped, it ends unfinished.
pub struct RunningWalk<'scope, 'a> {
    walk: Walk<'a>,
    shared: Arc<WalkShared>,
    threads: Vec<ScopedJoinHandle<'scope, WalkPart>>,
}

/// What the threads of a walk share.
struct WalkShared {
    queue: WorkQueue<QueuedDirectory>,
    /// Which items of the manifest are there.
    seen: Arc<[AtomicBool]>,
}

/// What a thread found, and what it did not enter.
struct WalkPart {
    scan: Scan,
    undecided: Vec<QueuedDirectory>,
}

impl<'scope, 'a: 'scope> RunningWalk<'scope, 'a> {
    /// Begins a walk while this thread does something else: it takes part in it when it comes to
    /// [`RunningWalk::finish`].
    ///
    /// # Errors
    /// As [`scan`].
    pub fn begin(threads: &'scope Scope<'scope, '_>, walk: Walk<'a>) -> Result<Self, DiskError> {
        let root = open_directory(CWD, walk.root.as_std_path())
            .attempting("open the worktree", walk.root)?;
        let items = walk.manifest.items();
        let seen = items.iter().map(|_| AtomicBool::new(false)).collect();
        let first = vec![QueuedDirectory::root(root, items.len())];
        Ok(Self::start(threads, walk, first, seen))
    }

    /// Starts all threads but one: the caller itself is the last.
    fn start(
        threads: &'scope Scope<'scope, '_>,
        walk: Walk<'a>,
        first: Vec<QueuedDirectory>,
        seen: Arc<[AtomicBool]>,
    ) -> Self {
        let queue = WorkQueue::new(first);
        let mut running = Self {
            walk,
            shared: Arc::new(WalkShared { queue, seen }),
            threads: Vec::new(),
        };
        running.add_thread(threads);
        // asked while the first is at work already
        for _ in 2..pool_size() {
            running.add_thread(threads);
        }
        running
    }

    fn add_thread(&mut self, threads: &'scope Scope<'scope, '_>) {
        let shared = Arc::clone(&self.shared);
        let walk = self.walk;
        self.threads.push(threads.spawn(move || shared.work(walk)));
    }

    /// Takes part until nothing is left to be walked, and returns what was found.
    pub fn finish(mut self, submodules: &BTreeSet<RepoPath>) -> Scan {
        let walk = Walk {
            submodules: Some(submodules),
            ..self.walk
        };
        let WalkPart {
            mut scan,
            undecided,
        } = self.work_until_done(walk);
        if !undecided.is_empty() {
            let seen = Arc::clone(&self.shared.seen);
            let rest = std::thread::scope(|threads| {
                RunningWalk::start(threads, walk, undecided, seen).work_until_done(walk)
            });
            scan.extend(rest.scan);
        }
        scan.missing = self.missing(&scan);
        scan.found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        scan.submodules.sort_unstable();
        scan.unreadable.sort_unstable();
        scan
    }

    /// Works with the other threads, and takes what all of them found.
    fn work_until_done(&mut self, walk: Walk<'_>) -> WalkPart {
        let mut whole = self.shared.work(walk);
        for thread in std::mem::take(&mut self.threads) {
            let part = join(thread);
            whole.scan.extend(part.scan);
            whole.undecided.extend(part.undecided);
        }
        whole
    }

    /// Returns what the manifest says was on disk and was not seen. What is in a directory that
    /// cannot be read is not gone.
    fn missing(&self, scan: &Scan) -> Vec<RepoPath> {
        let mut unreadable = HashSet::new();
        for entry in &scan.unreadable {
            if let Some(path) = &entry.path {
                unreadable.insert(path.as_bstr());
            }
        }
        let mut missing = Vec::new();
        for (item, seen) in self.walk.manifest.items().iter().zip(&*self.shared.seen) {
            if item.disk.is_some()
                && !seen.load(Ordering::Relaxed)
                && !is_hidden(&item.path, &unreadable)
            {
                missing.push(item.path.clone());
            }
        }
        missing
    }
}

/// True if a path, or a directory above it, could not be read.
fn is_hidden(path: &RepoPath, unreadable: &HashSet<&BStr>) -> bool {
    if unreadable.is_empty() {
        return false;
    }
    unreadable.contains(path.as_bstr()) || path.parents().any(|above| unreadable.contains(above))
}

impl Drop for RunningWalk<'_, '_> {
    fn drop(&mut self) {
        self.shared.queue.give_up();
    }
}

impl WalkShared {
    /// Looks at directories until none is left.
    fn work(&self, walk: Walk<'_>) -> WalkPart {
        let mut worker = Worker::new(walk, &self.seen);
        self.queue
            .work(|directory, below| worker.look_at_directory(directory, below));
        WalkPart {
            scan: worker.scan,
            undecided: worker.undecided,
        }
    }
}
