//! Looks at one directory of a walk after another.

use std::cmp::Ordering;
use std::ffi::CStr;
use std::io::{Error, ErrorKind};
use std::ops::Range;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering as Memory};

use rustix::fs::{AtFlags, FileType, fstat, readlinkat, statat};
use rustix::io::Errno;

use crate::disk::open::{open_directory, open_regular};
use crate::disk::scan::listing::DirectoryListing;
use crate::disk::scan::walk::{
    FilesToRead, FoundEntry, HashBlob, KnownDirectories, Scan, Unreadable, Walk,
};
use crate::disk::stat::{device_of, file_type, stat_entry, stat_from, stat_open};
use crate::inventory::manifest::{Item, Stat};
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::path::RepoPath;

/// What a repository is in, or what leads to one.
const GIT: &CStr = c".git";

/// A directory that waits to be looked at.
pub(super) struct QueuedDirectory {
    path: Option<RepoPath>,
    /// Which items of the manifest are below it.
    range: Range<usize>,
    /// Where the manifest has something at this very path.
    item: Option<usize>,
    parent: Arc<OwnedFd>,
}

impl QueuedDirectory {
    /// The worktree itself, with all of the manifest.
    pub fn root(root: OwnedFd, items: usize) -> Self {
        Self {
            path: None,
            range: 0..items,
            item: None,
            parent: Arc::new(root),
        }
    }

    fn open(&self) -> Result<OwnedFd, Errno> {
        let name: &[u8] = match &self.path {
            Some(path) => path.file_name(),
            None => b".",
        };
        open_directory(&*self.parent, name)
    }
}

/// Looks at directories, and remembers what was found.
pub(super) struct Worker<'a> {
    walk: Walk<'a>,
    /// Which items of the manifest are there.
    seen: &'a [AtomicBool],
    listing: DirectoryListing,
    /// Where in its range the next file of a directory stands if names come in order.
    next: usize,
    pub scan: Scan,
    /// Directories with a `.git` in them, while it is not known which are submodules.
    pub undecided: Vec<QueuedDirectory>,
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

    fn add_found(&mut self, path: RepoPath, entry: Entry, stat: Stat) {
        self.scan.found.push(FoundEntry { path, entry, stat });
    }

    fn add_unreadable(&mut self, path: Option<RepoPath>, error: impl Into<Error>) {
        self.scan.unreadable.push(Unreadable {
            path,
            detail: error.into().to_string(),
        });
    }

    /// Looks at what is in one directory, and adds the directories in it to `subdirectories`.
    pub fn look_at_directory(
        &mut self,
        directory: QueuedDirectory,
        subdirectories: &mut Vec<QueuedDirectory>,
    ) {
        let mut listing = std::mem::take(&mut self.listing);
        match self.open_and_list(&directory, &mut listing) {
            Ok(opened) => self.look_at_listing(directory, opened, &listing, subdirectories),
            // what is gone since it was listed is not there: the manifest knows if it should be
            Err(Errno::NOENT) => {}
            Err(error) => self.add_unreadable(directory.path, error),
        }
        self.listing = listing;
    }

    /// Opens a directory and lists its names.
    fn open_and_list(
        &mut self,
        directory: &QueuedDirectory,
        listing: &mut DirectoryListing,
    ) -> Result<OwnedFd, Errno> {
        let opened = directory.open()?;
        self.list(directory, &opened, listing)?;
        Ok(opened)
    }

    /// Lists the names of a directory: from the manifest where its stat data prove that it has
    /// those, else by reading it. A directory that was read and has just those is noted for the
    /// next walk.
    fn list(
        &mut self,
        directory: &QueuedDirectory,
        opened: &OwnedFd,
        listing: &mut DirectoryListing,
    ) -> Result<(), Errno> {
        let Some(known_directories) = self.believed_directories() else {
            return listing.read(opened);
        };
        let Some(path) = &directory.path else {
            return listing.read(opened);
        };
        // before the names are read: a change from now on gives the directory another stat
        let stat = fstat(opened)?;
        if device_of(&stat) != known_directories.device {
            return listing.read(opened);
        }
        let now = stat_from(&stat);
        let items = &self.walk.manifest.items()[directory.range.clone()];
        let name_start = path.as_bstr().len() + 1;
        if known_directories.clean.proves(path, &now) {
            listing.fill(items, name_start);
            return Ok(());
        }
        listing.read(opened)?;
        // the next walk need not read it; not if it changed just now, as a change in the same tick
        // of the clock would not show
        if now.ctime < known_directories.before && listing.is_of(items, name_start) {
            self.scan.clean_directories.push((path.clone(), now));
        }
        Ok(())
    }

    /// The directories whose stat data may prove their names; none for a walk that reads all.
    fn believed_directories(&self) -> Option<KnownDirectories<'a>> {
        if self.walk.files_to_read == FilesToRead::Unproven {
            self.walk.known_directories
        } else {
            None
        }
    }

    /// Looks at each name of a directory, but at no name in a submodule. A directory with a `.git`
    /// waits in `undecided` while it is not known which are submodules.
    fn look_at_listing(
        &mut self,
        directory: QueuedDirectory,
        opened: OwnedFd,
        listing: &DirectoryListing,
        subdirectories: &mut Vec<QueuedDirectory>,
    ) {
        if let Some(path) = &directory.path {
            if listing.has(GIT) {
                let Some(submodules) = self.walk.submodules else {
                    self.undecided.push(directory);
                    return;
                };
                if submodules.contains(path) {
                    self.scan.submodules.push(path.clone());
                    self.mark_seen(directory.item);
                    return;
                }
            }
            if listing.is_empty() {
                self.look_at_empty_directory(&directory, path, &opened);
                return;
            }
            self.mark_filled_directory(directory.item);
        }
        let is_root = directory.path.is_none();
        let current = CurrentDirectory::new(directory, opened);
        self.next = 0;
        for (name, kind) in listing.entries() {
            if !is_root || name != GIT {
                self.look_at_name(&current, name, kind, subdirectories);
            }
        }
    }

    /// Looks at one name: queues a directory, and looks at anything else at once. What the listing
    /// calls a directory is one; of everything else the stat data say what it is. A `.git` that is
    /// a repository is found as such, and never entered.
    fn look_at_name(
        &mut self,
        directory: &CurrentDirectory,
        name: &CStr,
        kind: FileType,
        subdirectories: &mut Vec<QueuedDirectory>,
    ) {
        if kind == FileType::Directory && name != GIT {
            subdirectories.push(self.queued_directory(directory, name));
            return;
        }
        let stat = match statat(&*directory.opened, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => stat_from(&stat),
            Err(Errno::NOENT) => return,
            Err(error) => {
                self.add_unreadable(Some(directory.child(name)), error);
                return;
            }
        };
        if !stat.is_directory() {
            self.look_at_entry(directory, name, &stat);
        } else if name == GIT && is_repository(&directory.opened, name.to_bytes()) {
            self.add_found(
                directory.child(name),
                without_content(Mode::NestedGit),
                stat,
            );
        } else {
            subdirectories.push(self.queued_directory(directory, name));
        }
    }

    /// Finds what of the manifest is at and below a directory that waits now.
    fn queued_directory(&self, directory: &CurrentDirectory, name: &CStr) -> QueuedDirectory {
        let items = self.items(directory);
        let start = items.partition_point(|item| directory.compare_below(item, name).is_lt());
        let count =
            items[start..].partition_point(|item| directory.compare_below(item, name).is_le());
        // what is at the path itself stands before all that is below it
        let item = items[..start].binary_search_by(|item| directory.compare(item, name));
        let first = directory.range.start + start;
        QueuedDirectory {
            path: Some(directory.child(name)),
            range: first..first + count,
            item: item.ok().map(|position| directory.range.start + position),
            parent: Arc::clone(&directory.opened),
        }
    }

    /// Returns what of the manifest is below a directory.
    fn items(&self, directory: &CurrentDirectory) -> &'a [Item] {
        &self.walk.manifest.items()[directory.range.clone()]
    }

    /// An empty directory is something only where the base has no directory: git itself leaves
    /// one behind when a process works in it.
    fn look_at_empty_directory(
        &mut self,
        directory: &QueuedDirectory,
        path: &RepoPath,
        opened: &OwnedFd,
    ) {
        let recorded = self.mark_seen(directory.item).and_then(|item| item.disk);
        if !directory.range.is_empty() {
            return;
        }
        let entry = without_content(Mode::EmptyDirectory);
        let stat = match stat_open(opened) {
            Ok(stat) => stat,
            Err(error) => {
                self.add_unreadable(Some(path.clone()), error);
                return;
            }
        };
        let is_recorded = recorded.is_some_and(|disk| disk.entry == entry);
        if !is_recorded || self.walk.files_to_read == FilesToRead::AllButPlaced {
            self.add_found(path.clone(), entry, stat);
        }
    }

    /// A directory that was empty is there also with something in it; that of a submodule which
    /// was not filled is something else then.
    fn mark_filled_directory(&self, position: Option<usize>) {
        let Some(position) = position else {
            return;
        };
        let item = &self.walk.manifest.items()[position];
        if item.base.is_none()
            && let Some(disk) = &item.disk
            && disk.entry.mode == Mode::EmptyDirectory
        {
            self.mark_seen(Some(position));
        }
    }

    /// Notes that what the manifest says of a path is there, and returns it.
    fn mark_seen(&self, position: Option<usize>) -> Option<&'a Item> {
        let position = position?;
        self.seen[position].store(true, Memory::Relaxed);
        Some(&self.walk.manifest.items()[position])
    }

    /// Looks at what is not a directory.
    fn look_at_entry(&mut self, directory: &CurrentDirectory, name: &CStr, stat: &Stat) {
        let position = self.position_of(directory, name);
        let item = self.mark_seen(position);
        if item.is_some_and(|item| self.is_proven(item, stat)) {
            return;
        }
        let path = directory.child(name);
        match self.read(directory, &path, item, stat) {
            Ok(entry) => self.add_found(path, entry, *stat),
            Err(error) if error.kind() == ErrorKind::NotFound => {
                if let Some(position) = position {
                    self.seen[position].store(false, Memory::Relaxed);
                }
            }
            Err(error) => self.add_unreadable(Some(path), error),
        }
    }

    /// Returns where the manifest has something at a name. The system often lists names in order.
    fn position_of(&mut self, directory: &CurrentDirectory, name: &CStr) -> Option<usize> {
        let items = self.items(directory);
        let next = items.get(self.next);
        let position = if next.is_some_and(|item| directory.compare(item, name).is_eq()) {
            self.next
        } else {
            items
                .binary_search_by(|item| directory.compare(item, name))
                .ok()?
        };
        self.next = position + 1;
        Some(directory.range.start + position)
    }

    /// True if a file need not be read.
    fn is_proven(&self, item: &Item, stat: &Stat) -> bool {
        let Some(disk) = &item.disk else {
            return false;
        };
        let may_be_proven = match self.walk.files_to_read {
            FilesToRead::Unproven => true,
            FilesToRead::All => false,
            FilesToRead::AllButPlaced => item.base.is_none(),
        };
        may_be_proven && self.walk.manifest.proves(&disk.stat, stat)
    }

    /// Returns what stands at a path: the recorded entry of a placed file that is proven to be as
    /// it was placed, an entry without content for a file that is too large to be read, else what
    /// its content says.
    fn read(
        &self,
        directory: &CurrentDirectory,
        path: &RepoPath,
        item: Option<&Item>,
        stat: &Stat,
    ) -> std::io::Result<Entry> {
        if let Some(item) = item
            && let Some(recorded) = &item.disk
            && item.base.is_none()
            && self.is_as_placed(directory, path)?
        {
            return Ok(recorded.entry);
        }
        if self.is_too_large(item, stat) {
            return Ok(without_content(stat.file_mode()));
        }
        let name = path.file_name();
        read_entry(&directory.opened, name, stat, self.walk.hash)
    }

    /// True if a placed file is proven to be as it was placed.
    fn is_as_placed(&self, directory: &CurrentDirectory, path: &RepoPath) -> std::io::Result<bool> {
        match self.walk.placed {
            Some(proof) => proof.holds(path, &directory.opened, path.file_name()),
            None => Ok(false),
        }
    }

    /// True if a file is not read because of its size. One that has the recorded size is read: only
    /// its content tells whether it was changed.
    fn is_too_large(&self, item: Option<&Item>, stat: &Stat) -> bool {
        let Some(limit) = self.walk.unread_above else {
            return false;
        };
        let recorded = item.and_then(|item| item.disk.as_ref());
        let has_recorded_size = recorded.is_some_and(|disk| disk.stat.size == stat.size);
        stat.is_file() && stat.size > limit && !has_recorded_size
    }
}

/// The directory that is being looked at.
struct CurrentDirectory {
    path: Option<RepoPath>,
    opened: Arc<OwnedFd>,
    range: Range<usize>,
    /// How much of the paths in the range is the path of this directory, with the `/` after it.
    skip: usize,
}

impl CurrentDirectory {
    fn new(directory: QueuedDirectory, opened: OwnedFd) -> Self {
        let skip = match &directory.path {
            Some(path) => path.as_bstr().len() + 1,
            None => 0,
        };
        Self {
            path: directory.path,
            opened: Arc::new(opened),
            range: directory.range,
            skip,
        }
    }

    fn child(&self, name: &CStr) -> RepoPath {
        RepoPath::child(self.path.as_ref(), name.to_bytes())
    }

    /// Compares an item of the range with what is at a name in this directory.
    fn compare(&self, item: &Item, name: &CStr) -> Ordering {
        let rest: &[u8] = &item.path.as_bstr()[self.skip..];
        rest.cmp(name.to_bytes())
    }

    /// Compares an item of the range with all that is below a name in this directory.
    fn compare_below(&self, item: &Item, name: &CStr) -> Ordering {
        let directory = name.to_bytes();
        let rest: &[u8] = &item.path.as_bstr()[self.skip..];
        let (start, end) = rest.split_at(rest.len().min(directory.len()));
        // what comes after the `/` is below the name
        start
            .cmp(directory)
            .then_with(|| end.first().cmp(&Some(&b'/')))
    }
}

const fn without_content(mode: Mode) -> Entry {
    Entry {
        mode,
        id: ObjectId::none(),
    }
}

/// Reads what is not a directory: its kind, and the id of its content.
fn read_entry(
    directory: &OwnedFd,
    name: &[u8],
    stat: &Stat,
    hash: HashBlob<'_>,
) -> std::io::Result<Entry> {
    match file_type(stat) {
        FileType::RegularFile => {
            let mut file = open_regular(directory, name)?;
            let size = file.metadata()?.len();
            Ok(Entry {
                mode: stat.file_mode(),
                id: hash(size, &mut file)?,
            })
        }
        FileType::Symlink => {
            let text = readlinkat(directory, name, Vec::new())?.into_bytes();
            Ok(Entry {
                mode: Mode::Link,
                id: hash(text.len() as u64, &mut text.as_slice())?,
            })
        }
        _other => Ok(without_content(Mode::Special)),
    }
}

/// True if a directory named `.git` is a repository (gitrepository-layout(5)) and not merely a
/// place to hide files in.
fn is_repository(directory: &OwnedFd, name: &[u8]) -> bool {
    for part in ["/HEAD", "/objects", "/refs"] {
        let path = [name, part.as_bytes()].concat();
        if stat_entry(directory, &path).is_err() {
            return false;
        }
    }
    true
}
