//! Says what a walk needs and what it finds.

use std::collections::BTreeSet;
use std::io::Read;
use std::time::{SystemTime, UNIX_EPOCH};

use camino::Utf8Path;
use rustix::fs::stat;

use crate::disk::drift::Proof;
use crate::disk::file_system::{leaves_no_trace, notes_names};
use crate::disk::stat::device_of;
use crate::inventory::clean_directories::CleanDirectories;
use crate::inventory::manifest::{Manifest, Stat};
use crate::words::entry::{Entry, ObjectId};
use crate::words::path::RepoPath;

/// Computes the id of a blob from its size and its raw bytes.
pub type HashBlob<'a> = &'a (dyn Fn(u64, &mut dyn Read) -> std::io::Result<ObjectId> + Sync);

/// Whether the stat data that a manifest has are believed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WalkMode {
    /// They are, where they prove something (`docs/decisions/0009-settled-time.md`); on a file
    /// system on which they do not, every file is read.
    #[default]
    Auto,
    /// They are, on whatever file system.
    Fast,
    /// They are, and so are the names in a directory, on whatever file system and as soon as its
    /// clock can tell a later change: for tests, whose directories are young and often in memory.
    Names,
    /// They are not: every file is read.
    Full,
}

impl WalkMode {
    /// Takes what `GIT_AGENTWT_WALK` says, `full`, `fast` or `names`.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "fast" => Some(Self::Fast),
            "names" => Some(Self::Names),
            "full" => Some(Self::Full),
            _ => None,
        }
    }

    /// True if the stat data of what stands in a directory prove anything.
    pub fn believes_in(self, directory: &Utf8Path) -> bool {
        match self {
            Self::Auto => !leaves_no_trace(directory),
            Self::Fast | Self::Names => true,
            Self::Full => false,
        }
    }

    /// Returns which files a walk of the worktree reads.
    pub const fn files_to_read(self) -> FilesToRead {
        match self {
            Self::Auto | Self::Fast | Self::Names => FilesToRead::Unproven,
            Self::Full => FilesToRead::All,
        }
    }
}

/// Which files a walk reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilesToRead {
    /// Those whose stat data do not prove that they are as recorded.
    Unproven,
    /// All (`GIT_AGENTWT_WALK=full`).
    All,
    /// All but placed files whose stat data prove that they are as placed. An empty directory is
    /// always reported: of what stands there now nothing is recorded yet.
    AllButPlaced,
}

/// What a walk needs.
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
    /// Which files are read.
    pub files_to_read: FilesToRead,
    /// The directories that need not be read; none if all are, and none is noted for later.
    pub known_directories: Option<KnownDirectories<'a>>,
    /// From how many bytes on a file is not read whose size is not the recorded one: its id is
    /// none.
    pub unread_above: Option<u64>,
    /// How content is named.
    pub hash: HashBlob<'a>,
}

/// The directories whose names are known.
#[derive(Clone, Copy)]
pub struct KnownDirectories<'a> {
    /// Which.
    pub clean: &'a CleanDirectories,
    /// A change before this time has another stat than a change from now on; nanoseconds since the
    /// epoch.
    pub before: i64,
    /// The device of the worktree: of another file system that is mounted in it nothing is known.
    pub device: u64,
}

impl<'a> KnownDirectories<'a> {
    /// Returns those of a worktree that is walked from now on; none if the file system does not
    /// note changes of names.
    pub fn of(clean: &'a CleanDirectories, root: &Utf8Path, mode: WalkMode) -> Option<Self> {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
        let now = i64::try_from(since_epoch.as_nanos()).ok()?;
        let device = device_of(&stat(root.as_std_path()).ok()?);
        let margin = match mode {
            WalkMode::Names => TICK,
            WalkMode::Auto | WalkMode::Fast | WalkMode::Full if notes_names(root) => MARGIN,
            WalkMode::Auto | WalkMode::Fast | WalkMode::Full => return None,
        };
        Some(Self {
            clean,
            before: now - margin,
            device,
        })
    }
}

/// How long ago a directory must have changed for its names to be learned, in nanoseconds: clocks
/// of file systems tick in hundredths of a second.
const MARGIN: i64 = 1_000_000_000;

/// The same where a test says that the clock ticks as on Linux.
const TICK: i64 = 20_000_000;

/// What stands at a path and is not proven to be what the manifest says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundEntry {
    /// The path.
    pub path: RepoPath,
    /// What stands there: kind and raw content.
    pub entry: Entry,
    /// Its stat data.
    pub stat: Stat,
}

impl FoundEntry {
    /// True if it is a file that was not read.
    pub fn is_unread(&self) -> bool {
        self.entry.mode.is_regular() && self.entry.id == ObjectId::none()
    }
}

/// A path that could not be read, and why.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Unreadable {
    /// The path; none for the worktree itself.
    pub path: Option<RepoPath>,
    /// What the system said.
    pub detail: String,
}

/// What a walk found; everything sorted by path.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scan {
    /// What is there and was not proven unchanged.
    pub found: Vec<FoundEntry>,
    /// What the manifest says was on disk and is not there.
    pub missing: Vec<RepoPath>,
    /// Submodules with a repository in them.
    pub submodules: Vec<RepoPath>,
    /// What could not be read.
    pub unreadable: Vec<Unreadable>,
    /// Directories that were read and have what the base has there, and nothing else.
    pub clean_directories: Vec<(RepoPath, Stat)>,
}

impl Scan {
    /// Adds what another thread found.
    pub(super) fn extend(&mut self, other: Self) {
        self.found.extend(other.found);
        self.submodules.extend(other.submodules);
        self.unreadable.extend(other.unreadable);
        self.clean_directories.extend(other.clean_directories);
    }
}
