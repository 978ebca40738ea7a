//! Checks a tree out through gix: attributes, line endings and filters are its pipeline.
//!
//! Files are created with the write bits that most of them are to have: for the time of the checkout
//! the umask takes the write bits away. Umask and working directory belong to the process, so
//! nothing else may create a file or start a program meanwhile.
#![expect(clippy::disallowed_methods, reason = "works beside gix on the disk")]

use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex, PoisonError};

use bstr::{BStr, ByteSlice};
use camino::Utf8Path;
use gix::attrs::{Source as AttributeFile, StateRef};
use gix::index::State;
use gix::index::entry::{Flags, Mode as IndexMode, Stat as IndexStat};
use gix::objs::{Data, Find};
use gix::worktree::stack::state::attributes::Source;
use rustix::fs::Mode as Bits;
use rustix::process::{chdir, getcwd, umask};

use crate::git::error::{GitError, causes, reading, unwritable};
use crate::git::index::{nanoseconds, seconds};
use crate::git::object_format::ObjectFormat;
use crate::git::process::Git;
use crate::git::trees::CachedTree;
use crate::git::{environment, index};
use crate::scope::rule::Access;
use crate::words::entry::{Entry, Mode};
use crate::words::path::RepoPath;

/// Attributes that let a checkout write other bytes than git stores (gitattributes(5)).
const CONVERTING: [&[u8]; 4] = [b"crlf", b"ident", b"filter=", b"working-tree-encoding="];

/// Attributes that gix 0.90 applies otherwise than git: it writes `$Id: <id>$` without git's last space,
/// and UTF-8 where UTF-16 is wanted.
const ONLY_GIT: [&str; 2] = ["ident", "working-tree-encoding"];

/// What messages call what a checkout reads first.
const SETTINGS: &str = "what decides how files are checked out";

/// Holds a worktree that git has registered and that has no file yet.
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

/// Holds what was checked out.
pub struct CheckedOut {
    index: State,
    format: ObjectFormat,
    /// Whether the file of each entry has, or may have, other bytes than its blob.
    pub converted: Vec<bool>,
    /// Paths that another path of the tree took on this file system.
    pub collisions: Vec<String>,
}

/// The error of a checkout; none where a file does not fit into memory.
fn failed(path: Option<&BStr>, error: &gix::Error) -> Option<GitError> {
    use std::io::ErrorKind;
    let cause = error.downcast_any_ref::<std::io::Error>();
    let kind = cause.map(std::io::Error::kind);
    let of_disk = [
        ErrorKind::StorageFull,
        ErrorKind::QuotaExceeded,
        ErrorKind::ReadOnlyFilesystem,
        ErrorKind::PermissionDenied,
        ErrorKind::InvalidFilename,
    ];
    let kind = kind.filter(|kind| of_disk.contains(kind));
    let place = path.map(|path| format!("{path}: ")).unwrap_or_default();
    let is_memory = kind.is_none() && error.is_resource_exhausted();
    (!is_memory).then(|| GitError::Write {
        what: "the files of the worktree".to_owned(),
        detail: place + &causes(error.iter_errors()),
        kind,
    })
}

impl NewWorktree<'_> {
    /// Creates every file, link and directory that is not excluded; none where a file does not fit into
    /// memory.
    ///
    /// # Errors
    /// Fails at the first path that cannot be created; what was created by then stays. A checkout
    /// that `stop` ends early does not fail.
    pub fn create_files(&self, stop: &AtomicBool) -> Result<Option<CheckedOut>, GitError> {
        let disk = |error: std::io::Error| unwritable("the files of the worktree", &error);
        let repo = self.git.repo()?.local();
        let mut index = self.index(repo.object_hash());
        let filtered = filtered(&repo, &index).map_err(reading(SETTINGS))?;
        let options = repo.checkout_options(Source::IdMapping);
        let mut options = options.map_err(reading(SETTINGS))?;
        options.destination_is_initially_empty = true;
        // as git, which sets the bit whatever `core.fileMode` says
        options.fs.executable_bit = true;
        // only the errors that are collected name their path
        let runs_filters = filtered.contains(&true);
        options.keep_going = runs_filters;
        // gix deals out a few chunks for each thread; of two, one would end long before the other
        let threads = std::thread::available_parallelism().map_or(1, |cores| cores.get() * 4);
        options.thread_limit = options.thread_limit.or((!runs_filters).then_some(threads));
        self.create_directories().map_err(disk)?;
        let sizes = Arc::default();
        let objects = SizedObjects {
            objects: repo.objects.clone().into_arc().map_err(disk)?,
            sizes: Arc::clone(&sizes),
        };
        let none = gix::progress::Discard;
        let outcome = {
            let read_only = !runs_filters && self.is_mostly_read();
            let _mask = ProcessState::set(self.root, runs_filters, read_only)
                .map_err(|error| disk(error.into()))?;
            let root = self.root.as_std_path();
            gix::worktree::state::checkout(&mut index, root, objects, &none, &none, stop, options)
        };
        let outcome = match outcome {
            Ok(outcome) => outcome,
            Err(error) => return failed(None, &error).map_or(Ok(None), Err),
        };
        if let Some(first) = outcome.errors.first() {
            let path = first.path.as_bstr();
            return failed(Some(path), &first.error).map_or(Ok(None), Err);
        }
        let sizes = sizes.lock().unwrap_or_else(PoisonError::into_inner);
        let converted = index.entries().iter().enumerate().map(|(at, entry)| {
            let is_filtered = filtered.get(at).is_some_and(|filtered| *filtered);
            #[expect(
                clippy::cast_possible_truncation,
                reason = "the index has 32 bits of a size"
            )]
            let differs = |size: &u64| *size as u32 != entry.stat.size;
            is_filtered
                || entry.mode != IndexMode::COMMIT
                    && sizes.get(&entry.id).is_some_and(differs)
                    && !entry.flags.contains(Flags::SKIP_WORKTREE)
        });
        let converted = converted.collect();
        let collisions = outcome.collisions.iter();
        Ok(Some(CheckedOut {
            converted,
            collisions: collisions.map(|one| one.path.to_string()).collect(),
            index,
            format: self.format,
        }))
    }

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

    /// Creates the directories with the ordinary umask, those of submodules too, which gix leaves out.
    fn create_directories(&self) -> std::io::Result<()> {
        let mut last = None;
        for (path, entry) in self.present() {
            let is_own = entry.mode == Mode::Gitlink;
            let above = path.parents().next();
            let directory = is_own.then(|| path.as_bstr()).or(above);
            if let Some(directory) = directory.filter(|_| last != directory) {
                let relative = directory.to_path().map_err(std::io::Error::other)?;
                std::fs::create_dir_all(self.root.as_std_path().join(relative))?;
                last = Some(directory);
            }
        }
        Ok(())
    }

    fn present(&self) -> impl Iterator<Item = &(RepoPath, Entry)> {
        let all = self.entries.iter().zip(self.accesses);
        all.filter(|(_, access)| **access != Access::Excluded)
            .map(|(entry, _)| entry)
    }

    /// Whether most files are to be read-only.
    fn is_mostly_read(&self) -> bool {
        let all = self.accesses.iter();
        let count = |wanted| all.clone().filter(|one| **one == wanted).count();
        count(Access::Read) > count(Access::Write)
    }
}

/// Which entries a filter converts; empty where no filter is configured.
fn filtered(repo: &gix::Repository, index: &State) -> Result<Vec<bool>, gix::Error> {
    let snapshot = repo.config_snapshot();
    let filters = snapshot.plumbing().sections_by_name("filter");
    let mut filters = filters.into_iter().flatten();
    if !filters
        .any(|section| section.value("smudge").is_some() || section.value("process").is_some())
    {
        return Ok(Vec::new());
    }
    let mut attributes = repo.attributes_only(index, Source::IdMapping)?;
    let mut found = attributes.selected_attribute_matches(["filter"]);
    let mut filtered = Vec::with_capacity(index.entries().len());
    for entry in index.entries() {
        let is_file = matches!(entry.mode, IndexMode::FILE | IndexMode::FILE_EXECUTABLE);
        if !is_file || entry.flags.contains(Flags::SKIP_WORKTREE) {
            filtered.push(false);
            continue;
        }
        let place = attributes.at_entry(entry.path(index), Some(entry.mode))?;
        place.matching_attributes(&mut found);
        let mut values = found.iter_selected();
        filtered.push(values.any(|one| matches!(one.assignment.state, StateRef::Value(_))));
    }
    Ok(filtered)
}

impl CheckedOut {
    /// Renders the index (gitformat-index(5)), with the change times that the files have by now,
    /// nanoseconds since the epoch, and the cache tree of the tree that was checked out.
    ///
    /// # Errors
    /// Fails when an entry cannot stand in an index.
    pub fn index_bytes(
        mut self,
        changed: impl Iterator<Item = Option<i64>>,
        trees: &CachedTree,
    ) -> Result<Vec<u8>, GitError> {
        for (entry, changed) in self.index.entries_mut().iter_mut().zip(changed) {
            if let Some(time) = changed {
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

/// Says what a checkout in a repository may convert, now or after a merge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Conversions {
    /// Whether it may write other bytes than git stores.
    pub possible: bool,
    /// Why gix would write other bytes than git, if it would.
    pub only_git: Option<String>,
}

/// Reads what a checkout may convert: by settings, by attributes beside the tree, or by those of the
/// tree (`tracked`).
///
/// # Errors
/// Fails when the repository cannot be opened.
pub fn read_conversions(git: &Git, tracked: Vec<Vec<u8>>) -> Result<Conversions, GitError> {
    let repo = git.repo()?.local();
    let config = repo.config_snapshot();
    let mut files = vec![repo.common_dir().join("info/attributes")];
    let mut variable = |name: &str| std::env::var_os(name);
    let allowed = environment::permissions().attributes;
    let sources = [
        (allowed.git_binary, AttributeFile::GitInstallation),
        (allowed.system, AttributeFile::System),
        (true, AttributeFile::Git),
    ];
    let sources = sources.into_iter().filter(|(is_read, _)| *is_read);
    files.extend(sources.filter_map(|(_, source)| source.storage_location(&mut variable)));
    let named = config.trusted_path("core.attributesFile");
    files.extend(named.map_err(reading(SETTINGS))?);
    let mut texts = tracked;
    texts.extend(files.iter().filter_map(|file| std::fs::read(file).ok()));
    let has = |word: &&[u8]| texts.iter().any(|text| text.contains_str(word));
    let line_end = config.string("core.eol");
    let from_tree = std::env::var_os("GIT_ATTR_SOURCE").is_some();
    let set = line_end.is_some_and(|end| end.eq_ignore_ascii_case(b"crlf"))
        || config.boolean("core.autocrlf") == Some(true)
        || config.string("attr.tree").is_some()
        || from_tree;
    Ok(Conversions {
        possible: set || CONVERTING.iter().any(has),
        only_git: if from_tree {
            Some("attributes come from another tree".to_owned())
        } else {
            let named = ONLY_GIT.into_iter().find(|word| has(&word.as_bytes()));
            named.map(|attribute| format!("an attribute file names `{attribute}`"))
        },
    })
}

/// Holds the umask and the working directory of before, and sets them again at its end.
struct ProcessState {
    mask: Option<Bits>,
    directory: Option<std::ffi::CString>,
}

impl ProcessState {
    /// Filters are started in the worktree, as git starts them, and with the ordinary umask; without
    /// filters files can be created read-only.
    fn set(root: &Utf8Path, runs_filters: bool, read_only: bool) -> rustix::io::Result<Self> {
        let directory = runs_filters.then(|| getcwd(Vec::new())).transpose()?;
        if runs_filters {
            chdir(root.as_std_path())?;
        }
        let write = Bits::WUSR | Bits::WGRP | Bits::WOTH;
        let mask = read_only.then(|| {
            let before = umask(write);
            umask(before | write);
            before
        });
        Ok(Self { mask, directory })
    }
}

impl Drop for ProcessState {
    fn drop(&mut self) {
        if let Some(mask) = self.mask {
            umask(mask);
        }
        if let Some(directory) = &self.directory {
            let _ = chdir(directory);
        }
    }
}

/// Gives objects, and keeps how long each blob is.
#[derive(Clone)]
struct SizedObjects<O> {
    objects: O,
    sizes: Arc<Mutex<HashMap<gix::hash::ObjectId, u64>>>,
}

impl<O: Find> Find for SizedObjects<O> {
    fn try_find<'a>(
        &self,
        id: &gix::hash::oid,
        buffer: &'a mut Vec<u8>,
    ) -> Result<Option<Data<'a>>, gix::Error> {
        let found = self.objects.try_find(id, buffer)?;
        if let Some(data) = &found {
            let mut sizes = self.sizes.lock().unwrap_or_else(PoisonError::into_inner);
            sizes.insert(id.to_owned(), data.data.len() as u64);
        }
        Ok(found)
    }
}
