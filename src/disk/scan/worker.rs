//! Looks at one directory of a walk after another.

use std::cmp::Ordering;
use std::ffi::CStr;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};

use rustix::fs::{AtFlags, FileType, Mode as Bits, fstat, openat, statat};
use rustix::io::Errno;

use crate::disk::below::DIRECTORY;
use crate::disk::scan::listing::{DirectoryListing, are_in, fill};
use crate::disk::scan::{Believe, Found, Scan, Unreadable, Walk};
use crate::disk::stat::{
    device_of, is_regular, is_repository, mode_of_file, read_entry, stat_from,
};
use crate::inventory::manifest::{Item, Stat};
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::path::RepoPath;

/// What a repository is in, or what leads to one.
const GIT: &CStr = c".git";

/// Holds a directory that waits to be looked at.
pub(super) struct Directory {
    path: Option<RepoPath>,
    /// What of the manifest is below it.
    range: Range<usize>,
    /// Where the manifest has something at this very path.
    at: Option<usize>,
    above: Arc<OwnedFd>,
}

impl Directory {
    /// The worktree itself, with all of the manifest.
    pub fn root(root: OwnedFd, items: usize) -> Self {
        Self {
            path: None,
            range: 0..items,
            at: None,
            above: Arc::new(root),
        }
    }

    fn open(&self) -> Result<OwnedFd, Errno> {
        let name: &[u8] = self.path.as_ref().map_or(b".", |path| path.file_name());
        openat(&*self.above, name, DIRECTORY, Bits::empty())
    }
}

/// Looks at directories, and remembers what was found.
pub(super) struct Worker<'a> {
    walk: Walk<'a>,
    seen: &'a [AtomicBool],
    listing: DirectoryListing,
    /// Where in its range the next file of a directory stands if names come in order.
    next: usize,
    pub scan: Scan,
    /// Directories with a `.git` in them, while it is not known which are submodules.
    pub undecided: Vec<Directory>,
}

impl<'a> Worker<'a> {
    pub fn new(walk: Walk<'a>, seen: &'a [AtomicBool]) -> Self {
        Self {
            walk,
            seen,
            listing: DirectoryListing::default(),
            next: 0,
            scan: Scan::default(),
            undecided: Vec::new(),
        }
    }

    fn unreadable(&mut self, path: Option<&RepoPath>, error: &dyn std::fmt::Display) {
        self.scan.unreadable.push(Unreadable {
            path: path.cloned(),
            detail: error.to_string(),
        });
    }

    /// Looks at what is in one directory, and adds the directories in it to those below.
    pub fn directory(&mut self, directory: Directory, below: &mut Vec<Directory>) {
        let mut listing = std::mem::take(&mut self.listing);
        let opened = directory.open().and_then(|fd| {
            self.list(&directory, &fd, &mut listing)?;
            Ok(fd)
        });
        let is_undecided = directory.path.is_some() && listing.has(GIT);
        match opened {
            Ok(_) if is_undecided && self.walk.submodules.is_none() => {
                self.undecided.push(directory);
            }
            Ok(fd) => self.listed(&directory, fd, &listing, below),
            // what is gone since it was listed is not there: the manifest knows if it should be
            Err(Errno::NOENT) => {}
            Err(error) => self.unreadable(directory.path.as_ref(), &error),
        }
        self.listing = listing;
    }

    /// Finds out which names a directory has: from the manifest where its stat data prove that it has
    /// those, else by reading it.
    fn list(
        &mut self,
        directory: &Directory,
        fd: &OwnedFd,
        listing: &mut DirectoryListing,
    ) -> Result<(), Errno> {
        let walk = self.walk;
        let names = walk.names.filter(|_| walk.believe == Believe::Manifest);
        let (Some(names), Some(path)) = (names, &directory.path) else {
            return listing.read(fd);
        };
        let below = &self.walk.manifest.items()[directory.range.clone()];
        let skip = path.as_bstr().len() + 1;
        // before it is read: what changes from then on shows
        let stat = fstat(fd)?;
        if device_of(&stat) != names.device {
            return listing.read(fd);
        }
        let stat = stat_from(&stat);
        if names.walked.proves(path, &stat) {
            fill(listing, below, skip);
            return Ok(());
        }
        listing.read(fd)?;
        if stat.ctime < names.before && are_in(listing, below, skip) {
            self.scan.walked.push((path.clone(), stat));
        }
        Ok(())
    }

    fn listed(
        &mut self,
        directory: &Directory,
        fd: OwnedFd,
        listing: &DirectoryListing,
        below: &mut Vec<Directory>,
    ) {
        if let Some(path) = &directory.path {
            if listing.is_empty() {
                return self.empty_directory(directory, path, &fd);
            }
            self.mark_directory(directory.at);
            let submodules = self.walk.submodules;
            if listing.has(GIT) && submodules.is_some_and(|all| all.contains(path)) {
                self.scan.submodules.push(path.clone());
                self.mark(directory.at);
                return;
            }
        }
        let path = directory.path.as_ref();
        let here = CurrentDirectory {
            path,
            fd: Arc::new(fd),
            range: directory.range.clone(),
            skip: path.map_or(0, |path| path.as_bstr().len() + 1),
        };
        self.next = 0;
        for (name, kind) in listing.entries() {
            if path.is_some() || name != GIT {
                self.name(&here, name, kind, below);
            }
        }
    }

    /// Looks at one name. What the directory itself calls a directory is one; of everything else
    /// the stat data say what it is.
    fn name(
        &mut self,
        here: &CurrentDirectory<'_>,
        name: &CStr,
        kind: FileType,
        below: &mut Vec<Directory>,
    ) {
        if kind == FileType::Directory && name != GIT {
            below.push(self.below(here, name));
            return;
        }
        let stat = match statat(&*here.fd, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat,
            Err(Errno::NOENT) => return,
            Err(error) => {
                self.unreadable(Some(&here.child(name)), &error);
                return;
            }
        };
        let stat = stat_from(&stat);
        if !stat.is_directory() {
            self.entry(here, name, &stat);
        } else if name == GIT && is_repository(&here.fd, name.to_bytes()) {
            let (mode, id) = (Mode::NestedGit, ObjectId::none());
            self.scan.found.push(Found {
                path: here.child(name),
                entry: Entry { mode, id },
                stat,
            });
        } else {
            below.push(self.below(here, name));
        }
    }

    fn below(&self, here: &CurrentDirectory<'_>, name: &CStr) -> Directory {
        let name = name.to_bytes();
        let items = &self.walk.manifest.items()[here.range.clone()];
        let start = items.partition_point(|item| here.compare_below(item, name).is_lt());
        let size = items[start..].partition_point(|item| here.compare_below(item, name).is_le());
        // what is at the path itself stands before all that is below it
        let at = items[..start].binary_search_by(|item| here.compare(item, name));
        let start = here.range.start + start;
        Directory {
            path: Some(RepoPath::child(here.path, name)),
            range: start..start + size,
            at: at.ok().map(|at| here.range.start + at),
            above: Arc::clone(&here.fd),
        }
    }

    /// An empty directory is something only where the base has no directory: git itself leaves
    /// one behind when a process works in it.
    fn empty_directory(&mut self, directory: &Directory, path: &RepoPath, fd: &OwnedFd) {
        let known = self.mark(directory.at).and_then(|item| item.disk);
        if !directory.range.is_empty() {
            return;
        }
        let (mode, id) = (Mode::EmptyDirectory, ObjectId::none());
        let entry = Entry { mode, id };
        let stat = match fstat(fd) {
            Ok(stat) => stat_from(&stat),
            Err(error) => return self.unreadable(Some(path), &error),
        };
        let believes = self.walk.believe != Believe::Nothing;
        if known.is_none_or(|disk| disk.entry != entry) || !believes {
            self.scan.found.push(Found {
                path: path.clone(),
                entry,
                stat,
            });
        }
    }

    /// A directory that was empty is there also with something in it; that of a submodule which
    /// was not filled is something else then.
    fn mark_directory(&self, at: Option<usize>) {
        let item = at.map(|at| &self.walk.manifest.items()[at]);
        let known = item.filter(|item| item.base.is_none());
        let known = known.and_then(|item| item.disk);
        if known.is_some_and(|disk| disk.entry.mode == Mode::EmptyDirectory) {
            self.mark(at);
        }
    }

    /// Notes that what the manifest says of a path is there, and gives it.
    fn mark(&self, at: Option<usize>) -> Option<&'a Item> {
        let at = at?;
        self.seen[at].store(true, Memory::Relaxed);
        Some(&self.walk.manifest.items()[at])
    }

    fn entry(&mut self, here: &CurrentDirectory<'_>, name: &CStr, stat: &Stat) {
        let walk = self.walk;
        let raw = name.to_bytes();
        let items = &walk.manifest.items()[here.range.clone()];
        let is_next = |item: &Item| here.compare(item, raw).is_eq();
        let at = if items.get(self.next).is_some_and(is_next) {
            Some(self.next)
        } else {
            items.binary_search_by(|item| here.compare(item, raw)).ok()
        };
        self.next = at.map_or(self.next, |at| at + 1);
        let item = at.map(|at| &items[at]);
        if let Some(at) = at {
            self.seen[here.range.start + at].store(true, Memory::Relaxed);
        }
        let (base, disk) = item.map_or((None, None), |item| (item.base, item.disk.as_ref()));
        let believes = match walk.believe {
            Believe::Manifest => true,
            // of what is tracked nothing may be proven yet; of what was placed it is
            Believe::Nothing => base.is_none(),
            Believe::Content => false,
        };
        if believes && disk.is_some_and(|disk| walk.manifest.proves(&disk.stat, stat)) {
            return;
        }
        let path = here.child(name);
        let has_other_size = disk.is_none_or(|disk| disk.stat.size != stat.size);
        let is_unread = has_other_size
            && is_regular(stat)
            && walk.unread_above.is_some_and(|limit| stat.size > limit);
        let proof = walk.placed.filter(|_| base.is_none());
        let held = proof.map(|proof| proof.holds(&path, &here.fd, raw));
        let entry = match (held, disk) {
            (Some(Ok(true)), Some(disk)) => Ok(disk.entry),
            (Some(Err(error)), _) => Err(error),
            (_, _) if is_unread => Ok(Entry {
                mode: mode_of_file(stat),
                id: ObjectId::none(),
            }),
            (_, _) => read_entry(&here.fd, raw, stat, walk.hash),
        };
        let stat = *stat;
        match entry {
            Ok(entry) => self.scan.found.push(Found { path, entry, stat }),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                if let Some(at) = at {
                    self.seen[here.range.start + at].store(false, Memory::Relaxed);
                }
            }
            Err(error) => self.unreadable(Some(&path), &error),
        }
    }
}

/// Holds the directory that is being looked at.
struct CurrentDirectory<'a> {
    path: Option<&'a RepoPath>,
    fd: Arc<OwnedFd>,
    range: Range<usize>,
    /// How much of the paths in the range is the path of this directory, with the `/` after it.
    skip: usize,
}

impl CurrentDirectory<'_> {
    fn child(&self, name: &CStr) -> RepoPath {
        RepoPath::child(self.path, name.to_bytes())
    }

    /// How an item of the range stands to what is at a name in this directory.
    fn compare(&self, item: &Item, name: &[u8]) -> Ordering {
        let rest: &[u8] = &item.path.as_bstr()[self.skip..];
        rest.cmp(name)
    }

    /// How an item of the range stands to all that is below a name in this directory.
    fn compare_below(&self, item: &Item, name: &[u8]) -> Ordering {
        let rest = &item.path.as_bstr()[self.skip..];
        let (same, more) = rest.split_at(rest.len().min(name.len()));
        // what comes after the `/` is below the name
        let next = || more.first().copied().cmp(&Some(b'/'));
        same.cmp(name).then_with(next)
    }
}
