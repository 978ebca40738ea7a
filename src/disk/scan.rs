//! Walks a worktree and holds what is there against a manifest.
//!
//! The walk is its own: it knows no index, no ignore rule and no `.git` but the worktree's own.
//! It opens directories from the one above without following links, looks at every entry that is
//! no directory with `lstat`, and reads a file only when its stat data do not prove that it is
//! what the manifest says. A path is only put together where something is to be said of it.
//!
//! It does not say what a difference means: see `compare.rs`.

mod queue;
mod worker;

use std::collections::{BTreeSet, HashSet};
use std::io::Read;
use std::sync::atomic::{AtomicBool, Ordering};

use bstr::BStr;
use camino::Utf8Path;
use rustix::fs::{CWD, Mode as Bits, OFlags, openat};

use self::queue::Queue;
use self::worker::{Directory, Worker};
use super::drift::Proof;
use super::error::DiskError;
use crate::entry::{Entry, ObjectId};
use crate::manifest::{Manifest, Stat};
use crate::path::RepoPath;

/// Computes the id of a blob from its size and its raw bytes.
pub type HashBlob<'a> = &'a (dyn Fn(u64, &mut dyn Read) -> std::io::Result<ObjectId> + Sync);

/// Says whether the stat data that a manifest has are believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walking {
    /// They are, where they prove something (`docs/decisions/0009-settled-time.md`).
    #[default]
    Fast,
    /// Nothing is: every file is read, and git is asked wherever a short cut would do.
    Full,
}

impl Walking {
    /// Takes what `GIT_AGENTWT_WALK` says, `full` or `fast`.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "fast" => Some(Self::Fast),
            "full" => Some(Self::Full),
            _ => None,
        }
    }

    /// What the walk of a worktree believes.
    #[must_use]
    pub const fn believe(self) -> Believe {
        match self {
            Self::Fast => Believe::Manifest,
            Self::Full => Believe::Content,
        }
    }
}

/// Says what the walk believes without reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Believe {
    /// What the recorded stat data prove.
    Manifest,
    /// Not even that: every file is read, and held against what was recorded
    /// (`GIT_AGENTWT_WALK=full`).
    Content,
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

/// Walks the worktree.
///
/// # Errors
/// Fails when the root itself cannot be opened; anything below it that cannot be read is in
/// [`Scan::unreadable`].
pub fn scan(walk: &Walk<'_>) -> Result<Scan, DiskError> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let root = openat(CWD, walk.root.as_std_path(), flags, Bits::empty())
        .map_err(|error| DiskError::new(format!("open the worktree {}", walk.root), error))?;
    let items = walk.manifest.items();
    let seen: Vec<AtomicBool> = items.iter().map(|_| AtomicBool::new(false)).collect();
    let threads = std::thread::available_parallelism().map_or(2, |n| n.get().clamp(2, 8));
    let queue = Queue::new(Directory::root(root, items.len()), threads);
    let work = || {
        let mut worker = Worker::new(walk, &seen);
        queue.work(|directory, below| worker.directory(&directory, below));
        worker.scan
    };
    let parts: Vec<Scan> = std::thread::scope(|scope| {
        let handles: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        let join = |handle: std::thread::ScopedJoinHandle<'_, _>| {
            handle
                .join()
                .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        };
        let own = work();
        handles.into_iter().map(join).chain([own]).collect()
    });
    let mut all = Scan::default();
    for part in parts {
        all.found.extend(part.found);
        all.submodules.extend(part.submodules);
        all.unreadable.extend(part.unreadable);
    }
    let gone = items.iter().zip(&seen);
    let gone = gone.filter(|(item, seen)| !seen.load(Ordering::Relaxed) && item.disk.is_some());
    // what is in a directory that cannot be read is not gone
    let hidden = all.unreadable.iter().filter_map(|u| u.path.as_ref());
    let hidden: HashSet<&BStr> = hidden.map(RepoPath::as_bstr).collect();
    let is_hidden = |path: &RepoPath| {
        hidden.contains(path.as_bstr()) || path.parents().any(|parent| hidden.contains(parent))
    };
    let gone = gone.filter(|(item, _)| hidden.is_empty() || !is_hidden(&item.path));
    all.missing = gone.map(|(item, _)| item.path.clone()).collect();
    all.found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    all.submodules.sort_unstable();
    all.unreadable.sort_unstable();
    Ok(all)
}
