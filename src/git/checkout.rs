//! Checks a tree out through gix: attributes, line endings and filters are its pipeline.
//!
//! Where most files are to be read-only they are created so, by the umask of the threads that
//! check out; filters run in the worktree, as git starts them. Both are set for those threads
//! alone (`own_thread`). Where that is impossible, files get their bits afterwards, and git checks
//! out what has filters.
#![expect(clippy::disallowed_methods, reason = "works beside gix on the disk")]

use std::collections::HashMap;
use std::io::ErrorKind;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use bstr::{BStr, ByteSlice};
use camino::Utf8Path;
use gix::index::State;
use gix::index::entry::{Flags, Mode as IndexMode, Stat as IndexStat};
use gix::objs::{Data, Find};
use gix_worktree_state::checkout::Outcome;

use crate::git::checkout_options::{Filters, read_options};
use crate::git::conversions::{SETTINGS, filtered};
use crate::git::error::{GitError, causes, reading, unwritable};
use crate::git::index;
use crate::git::index::{nanoseconds, seconds};
use crate::git::object_format::ObjectFormat;
use crate::git::own_thread;
use crate::git::own_thread::OwnState;
use crate::git::process::Git;
use crate::git::trees::CachedTree;
use crate::scope::rule::Access;
use crate::words::entry::{Entry, Mode};
use crate::words::path::RepoPath;

/// A worktree that git has registered and that has no file yet.
pub struct NewWorktree<'a> {
    /// Git on its private git directory.
    pub git: &'a Git,
    /// Its directory.
    pub root: &'a Utf8Path,
    /// The hash function.
    pub format: ObjectFormat,
    /// Every entry of the tree, sorted by path.
    pub entries: &'a [(RepoPath, Entry)],
    /// The access to each.
    pub accesses: &'a [Access],
}

/// What became of the files of a new worktree.
pub enum Creation {
    /// The files are there.
    Done(Box<CheckedOut>),
    /// Git has to check out, for this reason; some files may be there.
    NeedsGit(&'static str),
}

/// What was checked out.
pub struct CheckedOut {
    index: State,
    format: ObjectFormat,
    /// True for each entry whose file has, or may have, other bytes than its blob.
    pub converted: Vec<bool>,
    /// Paths that another path of the tree took on this file system.
    pub collisions: Vec<String>,
}

/// What messages call what a checkout writes.
const FILES: &str = "the files of the worktree";

/// The sizes of the blobs that were read.
type BlobSizes = HashMap<gix::hash::ObjectId, u64>;

impl NewWorktree<'_> {
    /// Creates every file, link and directory that is not excluded. Directories come first, by us:
    /// the threads of gix may create everything read-only.
    ///
    /// # Errors
    /// Fails at the first path that cannot be created; what was created by then stays. A checkout
    /// that `stop` ends early does not fail.
    pub fn create_files(&self, stop: &AtomicBool) -> Result<Creation, GitError> {
        let repo = self.git.repo()?.local();
        let mut index = self.index(repo.object_hash());
        let filtered = filtered(&repo, &index).map_err(reading(SETTINGS))?;
        let filters = if filtered.contains(&true) {
            Filters::Run
        } else {
            Filters::Unused
        };
        let options = read_options(&repo, filters).map_err(reading(SETTINGS))?;
        self.create_directories()
            .map_err(|error| unwritable(FILES, &error))?;
        let objects = repo
            .objects
            .into_arc()
            .map_err(|error| unwritable(FILES, &error))?;
        let sizes: Arc<Mutex<BlobSizes>> = Arc::default();
        let sized_objects = SizedObjects {
            objects,
            sizes: Arc::clone(&sizes),
        };
        let root = self.root.as_std_path();
        let silent = gix::progress::Discard;
        let check_out = || {
            gix_worktree_state::checkout(
                &mut index,
                root,
                sized_objects,
                &silent,
                &silent,
                stop,
                options,
            )
        };
        let outcome = match own_thread::run(self.thread_state(filters), check_out) {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(error)) => return Creation::failed(None, &error),
            // only with filters the thread needs a directory of its own, which not each system has
            Err(_) => return Ok(Creation::NeedsGit("filters run in the worktree")),
        };
        if let Some(first) = outcome.errors.first() {
            return Creation::failed(Some(first.path.as_ref()), &first.error);
        }
        let blob_sizes = sizes.lock().unwrap_or_else(PoisonError::into_inner);
        Ok(Creation::Done(Box::new(CheckedOut {
            converted: converted(&index, &filtered, &blob_sizes),
            collisions: colliding_paths(&outcome),
            index,
            format: self.format,
        })))
    }

    /// The index of the new worktree, without stat data. Excluded files are marked as left out.
    fn index(&self, format: gix::hash::Kind) -> State {
        let mut index = State::new(format);
        for ((path, entry), access) in self.entries.iter().zip(self.accesses) {
            let flags = match access {
                Access::Excluded => Flags::SKIP_WORKTREE | Flags::EXTENDED,
                Access::Read | Access::Write => Flags::empty(),
            };
            let mode = match entry.mode {
                Mode::File => IndexMode::FILE,
                Mode::Executable => IndexMode::FILE_EXECUTABLE,
                Mode::Link => IndexMode::SYMLINK,
                Mode::Gitlink | Mode::EmptyDirectory | Mode::NestedGit | Mode::Special => {
                    IndexMode::COMMIT
                }
            };
            let id = gix::hash::ObjectId::from_bytes_or_panic(entry.id.as_bytes());
            index.dangerously_push_entry(IndexStat::default(), id, flags, mode, path.as_bstr());
        }
        index
    }

    /// Creates the directories with the ordinary umask, those of submodules too, which gix leaves
    /// out.
    fn create_directories(&self) -> std::io::Result<()> {
        let mut created = None;
        for ((path, entry), access) in self.entries.iter().zip(self.accesses) {
            if *access == Access::Excluded {
                continue;
            }
            let directory = match entry.mode {
                Mode::Gitlink => Some(path.as_bstr()),
                Mode::File
                | Mode::Executable
                | Mode::Link
                | Mode::EmptyDirectory
                | Mode::NestedGit
                | Mode::Special => path.parents().next(),
            };
            if let Some(directory) = directory
                && created != Some(directory)
            {
                let relative = directory.to_path().map_err(std::io::Error::other)?;
                std::fs::create_dir_all(self.root.as_std_path().join(relative))?;
                created = Some(directory);
            }
        }
        Ok(())
    }

    /// What is set for the threads that check out, and not for the process.
    fn thread_state(&self, filters: Filters) -> OwnState<'_> {
        match filters {
            Filters::Run => OwnState::WorksIn(self.root),
            Filters::Unused if self.is_mostly_read() => OwnState::CreatesReadOnly,
            Filters::Unused => OwnState::AsProcess,
        }
    }

    /// True if most files are to be read-only.
    fn is_mostly_read(&self) -> bool {
        let mut read_only = 0;
        let mut writable = 0;
        for access in self.accesses {
            match access {
                Access::Read => read_only += 1,
                Access::Write => writable += 1,
                Access::Excluded => {}
            }
        }
        read_only > writable
    }
}

impl Creation {
    /// Says what becomes of a checkout that gix could not finish; `path` is where, if that is
    /// known.
    fn failed(path: Option<&BStr>, error: &gix::Error) -> Result<Self, GitError> {
        let of_disk = [
            ErrorKind::StorageFull,
            ErrorKind::QuotaExceeded,
            ErrorKind::ReadOnlyFilesystem,
            ErrorKind::PermissionDenied,
            ErrorKind::InvalidFilename,
        ];
        let kind = error
            .downcast_any_ref::<std::io::Error>()
            .map(std::io::Error::kind)
            .filter(|kind| of_disk.contains(kind));
        if kind.is_none() && error.is_resource_exhausted() {
            return Ok(Self::NeedsGit("a file does not fit into memory"));
        }
        let causes = causes(error.iter_errors());
        Err(GitError::Write {
            what: FILES.to_owned(),
            detail: match path {
                Some(path) => format!("{path}: {causes}"),
                None => causes,
            },
            kind,
        })
    }
}

fn colliding_paths(outcome: &Outcome) -> Vec<String> {
    let collisions = outcome.collisions.iter();
    collisions
        .map(|collision| collision.path.to_string())
        .collect()
}

/// Says of each entry whether its file may have other bytes than its blob: by a filter, or because
/// its size differs.
fn converted(index: &State, filtered: &[bool], sizes: &BlobSizes) -> Vec<bool> {
    let mut converted = Vec::with_capacity(index.entries().len());
    for (at, entry) in index.entries().iter().enumerate() {
        let is_filtered = filtered.get(at) == Some(&true);
        let is_file =
            entry.mode != IndexMode::COMMIT && !entry.flags.contains(Flags::SKIP_WORKTREE);
        #[expect(
            clippy::cast_possible_truncation,
            reason = "the index has 32 bits of a size"
        )]
        let size_differs = sizes
            .get(&entry.id)
            .is_some_and(|size| *size as u32 != entry.stat.size);
        converted.push(is_filtered || is_file && size_differs);
    }
    converted
}

impl CheckedOut {
    /// Renders the index (gitformat-index(5)), with the change times that the files have by now,
    /// nanoseconds since the epoch, and the cache tree of the tree that was checked out.
    ///
    /// # Errors
    /// Fails when an entry cannot stand in an index.
    pub fn index_bytes(
        mut self,
        change_times: impl Iterator<Item = Option<i64>>,
        trees: &CachedTree,
    ) -> Result<Vec<u8>, GitError> {
        for (entry, time) in self.index.entries_mut().iter_mut().zip(change_times) {
            if let Some(time) = time {
                entry.stat.ctime.secs = seconds(time);
                entry.stat.ctime.nsecs = nanoseconds(time);
            }
        }
        let mut tree = Vec::new();
        trees.push_to(&mut tree);
        let length = u32::try_from(tree.len()).unwrap_or(u32::MAX);
        let extension = [b"TREE", &length.to_be_bytes()[..], &tree].concat();
        index::render(&self.index, &extension, self.format)
    }
}

/// Gives objects, and keeps how long each blob is.
#[derive(Clone)]
struct SizedObjects<O> {
    objects: O,
    sizes: Arc<Mutex<BlobSizes>>,
}

impl<O: Find> Find for SizedObjects<O> {
    fn try_find<'a>(
        &self,
        id: &gix::hash::oid,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Option<Data<'a>>, gix::Error> {
        let object = self.objects.try_find(id, buffer)?;
        if let Some(object) = &object {
            let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
            sizes.insert(id.to_owned(), object.data.len() as u64);
        }
        Ok(object)
    }
}
