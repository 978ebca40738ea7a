//! Walks a worktree and holds what is there against a manifest.
//!
//! The walk is its own: it knows no index, no ignore rule and no `.git` but the worktree's own.
//! It opens directories from the one above without following links, looks at every entry that is
//! no directory with `lstat`, and reads a file only when its stat data do not prove that it is
//! what the manifest says. A directory that had what the base has and nothing else, and was not
//! touched since, is not read again ([`Names`]). A path is only put together where something is to
//! be said of it.
//!
//! It does not say what a difference means: see `compare.rs`.

pub mod listing;
pub mod worker;

use std::collections::{BTreeSet, HashSet};
use std::io::Read;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

use bstr::BStr;
use camino::Utf8Path;
use rustix::fs::{CWD, Mode as Bits, openat, stat};

use crate::disk::DiskError;
use crate::disk::below::DIRECTORY;
use crate::disk::drift::Proof;
use crate::disk::file_system::{leaves_no_trace, notes_names};
use crate::disk::pool::{WorkQueue, threads as pool_size};
use crate::disk::scan::worker::{Directory, Worker};
use crate::disk::stat::device_of;
use crate::inventory::manifest::{Manifest, Stat};
use crate::inventory::walked::Walked;
use crate::words::entry::{Entry, ObjectId};
use crate::words::path::RepoPath;

/// Computes the id of a blob from its size and its raw bytes.
pub type HashBlob<'a> = &'a (dyn Fn(u64, &mut dyn Read) -> std::io::Result<ObjectId> + Sync);

/// Says whether the stat data that a manifest has are believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Walking {
    /// They are, where they prove something (`docs/decisions/0009-settled-time.md`); on a file
    /// system on which they do not, every file is read.
    #[default]
    Auto,
    /// They are, on whatever file system.
    Fast,
    /// They are not: every file is read.
    Full,
}

impl Walking {
    /// Takes what `GIT_AGENTWT_WALK` says, `full` or `fast`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "fast" => Some(Self::Fast),
            "full" => Some(Self::Full),
            _ => None,
        }
    }

    /// Whether the stat data of what stands in a directory prove anything.
    pub fn believes_in(self, directory: &Utf8Path) -> bool {
        match self {
            Self::Auto => !leaves_no_trace(directory),
            Self::Fast => true,
            Self::Full => false,
        }
    }

    /// What the walk of a worktree believes.
    pub const fn believe(self) -> Believe {
        match self {
            Self::Auto | Self::Fast => Believe::Manifest,
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
    /// Nothing: every file is read.
    Nothing,
}

/// Holds what a walk needs.
#[derive(Clone, Copy)]
pub struct Walk<'a> {
    /// The worktree.
    pub root: &'a Utf8Path,
    /// What it is held against.
    pub manifest: &'a Manifest,
    /// What of it was placed, if anything: known by another digest than its id.
    pub placed: Option<Proof<'a>>,
    /// Paths at which a submodule stands: not entered when there is a repository in them. None
    /// while they are not known: then nothing is entered that has a repository in it.
    pub submodules: Option<&'a BTreeSet<RepoPath>>,
    /// What need not be read.
    pub believe: Believe,
    /// The directories whose names are known, and may be learned; none where nothing is to be
    /// believed of them.
    pub names: Option<Names<'a>>,
    /// From how many bytes on a file is not read whose size is not the recorded one: its id is none.
    pub unread_above: Option<u64>,
    /// How content is named.
    pub hash: HashBlob<'a>,
}

/// Holds the directories whose names are known.
#[derive(Clone, Copy)]
pub struct Names<'a> {
    /// Which.
    pub walked: &'a Walked,
    /// What was changed before this can be told from what is changed from now on; nanoseconds since
    /// the epoch.
    pub before: i64,
    /// The device of the worktree: of another file system that is mounted in it nothing is known.
    pub device: u64,
}

impl<'a> Names<'a> {
    /// Those of a worktree that is walked from now on; none where directories do not tell.
    pub fn known(walked: &'a Walked, root: &Utf8Path) -> Option<Self> {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let now = i64::try_from(now.as_nanos()).ok()?;
        let device = device_of(&stat(root.as_std_path()).ok()?);
        notes_names(root).then_some(Self {
            walked,
            before: now - MARGIN,
            device,
        })
    }
}

/// Clocks of file systems tick in hundredths of a second.
const MARGIN: i64 = 1_000_000_000;

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

impl Found {
    /// Whether it is a file that was not read.
    pub fn is_unread(&self) -> bool {
        self.entry.mode.is_regular() && self.entry.id == ObjectId::none()
    }
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
    /// Directories that were read and have what the base has there, and nothing else.
    pub walked: Vec<(RepoPath, Stat)>,
}

/// Walks the worktree.
///
/// # Errors
/// Fails when the root itself cannot be opened; anything below it that cannot be read is in
/// [`Scan::unreadable`].
pub fn scan(walk: &Walk<'_>) -> Result<Scan, DiskError> {
    let none = BTreeSet::new();
    let submodules = walk.submodules.unwrap_or(&none);
    std::thread::scope(|threads| Ok(Begun::begin(threads, *walk)?.finish(submodules)))
}

/// Represents a walk that other threads are at. Dropped, it ends unfinished.
pub struct Begun<'scope, 'a> {
    walk: Walk<'a>,
    common: Arc<WalkShared>,
    threads: Vec<ScopedJoinHandle<'scope, Part>>,
}

/// Holds what the threads of a walk share.
struct WalkShared {
    queue: WorkQueue<Directory>,
    seen: Arc<[AtomicBool]>,
}

/// Holds what one thread found, and what it did not enter.
type Part = (Scan, Vec<Directory>);

impl<'scope, 'a: 'scope> Begun<'scope, 'a> {
    /// Begins a walk while this thread does something else: it takes part in it when it comes to
    /// [`Begun::finish`].
    ///
    /// # Errors
    /// As [`scan`].
    pub fn begin(threads: &'scope Scope<'scope, '_>, walk: Walk<'a>) -> Result<Self, DiskError> {
        let root = openat(CWD, walk.root.as_std_path(), DIRECTORY, Bits::empty())
            .map_err(|error| DiskError::new(format!("open the worktree {}", walk.root), error))?;
        let items = walk.manifest.items();
        let seen = items.iter().map(|_| AtomicBool::new(false)).collect();
        let first = vec![Directory::root(root, items.len())];
        Ok(Self::at(threads, walk, first, seen))
    }

    fn at(
        threads: &'scope Scope<'scope, '_>,
        walk: Walk<'a>,
        first: Vec<Directory>,
        seen: Arc<[AtomicBool]>,
    ) -> Self {
        let queue = WorkQueue::new(first);
        let mut begun = Self {
            walk,
            common: Arc::new(WalkShared { queue, seen }),
            threads: Vec::new(),
        };
        let spawn = || {
            let common = Arc::clone(&begun.common);
            threads.spawn(move || common.work(walk))
        };
        let first = spawn();
        // asked while the first is at work already
        let more = (2..pool_size()).map(|_| spawn());
        begun.threads = [first].into_iter().chain(more).collect();
        begun
    }

    /// Takes part until there is nothing left, and returns what was found.
    pub fn finish(mut self, submodules: &BTreeSet<RepoPath>) -> Scan {
        let walk = Walk {
            submodules: Some(submodules),
            ..self.walk
        };
        let (mut all, undecided) = self.join(walk);
        if !undecided.is_empty() {
            let seen = Arc::clone(&self.common.seen);
            let rest =
                std::thread::scope(|threads| Begun::at(threads, walk, undecided, seen).join(walk));
            all.extend(rest.0);
        }
        all.missing = self.missing(&all);
        all.found.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        all.submodules.sort_unstable();
        all.unreadable.sort_unstable();
        all
    }

    /// Works with the other threads, and takes what all of them found.
    fn join(&mut self, walk: Walk<'_>) -> Part {
        let (mut all, mut undecided) = self.common.work(walk);
        for thread in std::mem::take(&mut self.threads) {
            let part = thread.join();
            let part = part.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            all.extend(part.0);
            undecided.extend(part.1);
        }
        (all, undecided)
    }

    /// What the manifest says was on disk and was not seen; what is in a directory that cannot be
    /// read is not gone.
    fn missing(&self, all: &Scan) -> Vec<RepoPath> {
        let hidden = all.unreadable.iter().filter_map(|u| u.path.as_ref());
        let hidden: HashSet<&BStr> = hidden.map(RepoPath::as_bstr).collect();
        let is_hidden = |path: &RepoPath| {
            hidden.contains(path.as_bstr()) || path.parents().any(|parent| hidden.contains(parent))
        };
        let all = self.walk.manifest.items().iter().zip(&*self.common.seen);
        let unseen = all.filter(|(_, seen)| !seen.load(Ordering::Relaxed));
        let gone = unseen.filter(|(item, _)| item.disk.is_some());
        let gone = gone.filter(|(item, _)| hidden.is_empty() || !is_hidden(&item.path));
        gone.map(|(item, _)| item.path.clone()).collect()
    }
}

impl Drop for Begun<'_, '_> {
    fn drop(&mut self) {
        self.common.queue.give_up();
    }
}

impl WalkShared {
    /// Looks at directories until there is none left.
    fn work(&self, walk: Walk<'_>) -> Part {
        let mut worker = Worker::new(walk, &self.seen);
        self.queue
            .work(|directory, below| worker.directory(directory, below));
        (worker.scan, worker.undecided)
    }
}

impl Scan {
    fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
        self.submodules.extend(other.submodules);
        self.unreadable.extend(other.unreadable);
        self.walked.extend(other.walked);
    }
}
