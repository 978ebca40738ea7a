//! Looks at one directory of a walk after another.

use std::cmp::Ordering;
use std::ffi::CStr;
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};

use rustix::fs::{AtFlags, FileType, Mode as Bits, OFlags, openat, statat};
use rustix::io::Errno;

use super::super::listing::Listing;
use super::super::stat::{is_regular, is_repository, mode_of_file, read_entry, stat_from};
use super::{Believe, Found, Scan, Unreadable, Walk};
use crate::entry::{Entry, Mode, ObjectId};
use crate::manifest::{Item, Stat};
use crate::path::RepoPath;

/// Holds a directory that waits to be looked at.
pub(super) struct Directory {
    path: Option<RepoPath>,
    /// What of the manifest is below it.
    range: Range<usize>,
    above: Arc<OwnedFd>,
    name: Vec<u8>,
}

impl Directory {
    /// The worktree itself, with all of the manifest.
    pub fn root(root: OwnedFd, items: usize) -> Self {
        Self {
            path: None,
            range: 0..items,
            above: Arc::new(root),
            name: b".".to_vec(),
        }
    }
}

/// Looks at directories, and remembers what was found.
pub(super) struct Worker<'a> {
    walk: &'a Walk<'a>,
    seen: &'a [AtomicBool],
    listing: Listing,
    pub scan: Scan,
}

impl<'a> Worker<'a> {
    pub fn new(walk: &'a Walk<'a>, seen: &'a [AtomicBool]) -> Self {
        Self {
            walk,
            seen,
            listing: Listing::default(),
            scan: Scan::default(),
        }
    }

    fn unreadable(&mut self, path: Option<&RepoPath>, error: &dyn std::fmt::Display) {
        self.scan.unreadable.push(Unreadable {
            path: path.cloned(),
            detail: error.to_string(),
        });
    }

    /// Looks at what is in one directory, and adds the directories in it to those below.
    pub fn directory(&mut self, directory: &Directory, below: &mut Vec<Directory>) {
        let mut listing = std::mem::take(&mut self.listing);
        if let Err(error) = self.list(directory, &mut listing, below) {
            // what is gone since it was listed is not there: the manifest knows if it should be
            if error != Errno::NOENT {
                self.unreadable(directory.path.as_ref(), &error);
            }
        }
        self.listing = listing;
    }

    fn list(
        &mut self,
        directory: &Directory,
        listing: &mut Listing,
        below: &mut Vec<Directory>,
    ) -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let fd = openat(&*directory.above, &*directory.name, flags, Bits::empty())?;
        listing.read(&fd)?;
        let path = directory.path.as_ref();
        if let Some(path) = path {
            if listing.is_empty() {
                self.empty_directory(path, &fd, &directory.range)?;
            } else {
                self.mark_directory(path);
            }
            let has_git = || listing.names().any(|name| name == c".git");
            if self.walk.submodules.contains(path) && has_git() {
                self.scan.submodules.push(path.clone());
                self.mark(path);
                return Ok(());
            }
        }
        let here = Here {
            path,
            fd: Arc::new(fd),
            range: directory.range.clone(),
        };
        for at in 0..listing.len() {
            let (name, kind) = listing.get(at);
            if path.is_some() || name != c".git" {
                self.name(&here, name, kind, below);
            }
        }
        Ok(())
    }

    /// Looks at one name. What the directory itself calls a directory is one; of everything else
    /// the stat data say what it is.
    fn name(&mut self, here: &Here<'_>, name: &CStr, kind: FileType, below: &mut Vec<Directory>) {
        if kind == FileType::Directory && name != c".git" {
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
        } else if name == c".git" && is_repository(&here.fd, name.to_bytes()) {
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

    fn below(&self, here: &Here<'_>, name: &CStr) -> Directory {
        let name = name.to_bytes();
        let items = &self.walk.manifest.items()[here.range.clone()];
        let start = items.partition_point(|item| here.compare(item, name, Some(b'/')).is_lt());
        let size =
            items[start..].partition_point(|item| here.compare(item, name, Some(b'/')).is_le());
        let start = here.range.start + start;
        Directory {
            path: Some(RepoPath::child(here.path, name)),
            range: start..start + size,
            above: Arc::clone(&here.fd),
            name: name.to_vec(),
        }
    }

    /// An empty directory is something only where the base has no directory: git itself leaves
    /// one behind when somebody stands in it.
    fn empty_directory(
        &mut self,
        path: &RepoPath,
        fd: &OwnedFd,
        range: &Range<usize>,
    ) -> Result<(), Errno> {
        let known = self.mark(path).and_then(|item| item.disk);
        if !range.is_empty() {
            return Ok(());
        }
        let entry = Entry {
            mode: Mode::EmptyDirectory,
            id: ObjectId::none(),
        };
        let stat = stat_from(&rustix::fs::fstat(fd)?);
        let believes = match self.walk.believe {
            Believe::Manifest | Believe::Content => true,
            Believe::Checkout | Believe::Nothing => false,
        };
        if known.is_none_or(|disk| disk.entry != entry) || !believes {
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
    fn mark(&self, path: &RepoPath) -> Option<&'a Item> {
        let at = self.walk.manifest.position(path.as_bstr()).ok()?;
        self.seen[at].store(true, Memory::Relaxed);
        Some(&self.walk.manifest.items()[at])
    }

    fn entry(&mut self, here: &Here<'_>, name: &CStr, stat: &Stat) {
        let walk = self.walk;
        let raw = name.to_bytes();
        let items = &walk.manifest.items()[here.range.clone()];
        let at = items
            .binary_search_by(|item| here.compare(item, raw, None))
            .ok();
        let item = at.map(|at| &items[at]);
        if let Some(at) = at {
            self.seen[here.range.start + at].store(true, Memory::Relaxed);
        }
        let (base, disk) = item.map_or((None, None), |item| (item.base, item.disk.as_ref()));
        let believes = match walk.believe {
            Believe::Manifest => true,
            // of what is tracked nothing may be proven yet; of what was placed it is
            Believe::Checkout | Believe::Nothing => base.is_none(),
            Believe::Content => false,
        };
        if believes && disk.is_some_and(|disk| walk.manifest.proves(&disk.stat, stat)) {
            return;
        }
        let path = here.child(name);
        let as_checked_out = base.filter(|base| {
            walk.believe == Believe::Checkout && base.mode.is_regular() && is_regular(stat)
        });
        let entry = match as_checked_out {
            Some(base) => Ok(Entry {
                mode: mode_of_file(stat),
                id: base.id,
            }),
            None => {
                let proof = walk.placed.filter(|_| base.is_none());
                match (proof.map(|p| p.holds(&path, &here.fd, raw, stat)), disk) {
                    (Some(Ok(true)), Some(disk)) => Ok(disk.entry),
                    (Some(Err(error)), _) => Err(error),
                    (Some(Ok(_)) | None, _) => read_entry(&here.fd, raw, stat, walk.hash),
                }
            }
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
struct Here<'a> {
    path: Option<&'a RepoPath>,
    fd: Arc<OwnedFd>,
    range: Range<usize>,
}

impl Here<'_> {
    fn child(&self, name: &CStr) -> RepoPath {
        RepoPath::child(self.path, name.to_bytes())
    }

    /// How an item of the range stands to a name in this directory, with what follows the name:
    /// a `/` for all that is below it.
    fn compare(&self, item: &Item, name: &[u8], after: Option<u8>) -> Ordering {
        let skip = self.path.map_or(0, |path| path.as_bstr().len() + 1);
        let rest = &item.path.as_bstr()[skip..];
        let (same, more) = rest.split_at(rest.len().min(name.len()));
        let next = || match after {
            // nothing else counts: what comes after the `/` is below the name
            Some(after) => more.first().copied().cmp(&Some(after)),
            None => more.len().cmp(&0),
        };
        same.cmp(name).then_with(next)
    }
}
