//! Takes worktrees off the disk: renamed into `.agentwt/worktrees/.trash`, where they are kept, or
//! into `.agentwt/worktrees/.deleted`, where they are deleted later.
//!
//! Everything is reached from one open directory, `.agentwt/worktrees` of a root, each step
//! without following a link: whatever is swapped meanwhile, nothing outside is touched
//! (`docs/decisions/0018-removal.md`). Nothing in another file system is deleted.

use std::io::ErrorKind;
use std::os::fd::OwnedFd;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use camino::Utf8Path;
use rustix::fs::{AtFlags, Dir, FileType, FlockOperation, Mode};
use rustix::fs::{fchmod, flock, fstat, mkdirat, renameat, unlinkat};
use rustix::io::Errno;

use crate::disk::error::{Attempt as _, DiskError};
use crate::disk::open::{open_directory, open_root};
use crate::disk::rename::move_new;
use crate::disk::stat::stat_entry;
use crate::words::path::escape_for_terminal;

/// Where removed worktrees are kept, among the worktrees: no name of a worktree begins with a dot.
pub const KEPT: &str = ".trash";
/// Where they wait to be deleted.
pub const DELETED: &str = ".deleted";

/// How many directories are held open on the way down: what is deeper is moved up first.
const DEPTH: usize = 100;
/// So often another process may remove a directory of ours before something is in it.
const MOST_REMOVALS: usize = 100;
/// After so many entries the time is looked at.
const ENTRIES_AT_ONCE: usize = 64;

/// Represents the directory of worktrees of one root, held open.
#[derive(Debug)]
pub struct TrashBin {
    worktrees: OwnedFd,
}

impl TrashBin {
    /// Opens the directory of worktrees below a root; none when there is none.
    ///
    /// # Errors
    /// Fails when it, or `.agentwt`, is a link or not a directory, or cannot be opened.
    pub fn open(root: &Utf8Path) -> Result<Option<Self>, DiskError> {
        let mut path = root.to_owned();
        let mut directory = open_root(root)?;
        for name in [".agentwt", "worktrees"] {
            path.push(name);
            directory = match open_directory(&directory, name) {
                Err(Errno::NOENT) => return Ok(None),
                opened => opened.map_err(|error| not_used(&path, error))?,
            };
        }
        Ok(Some(Self {
            worktrees: directory,
        }))
    }

    /// Moves the directory of this name into the bin, to be deleted later. One that cannot be moved
    /// (a mount point, a lower layer of an overlay) is deleted, a link or a file is unlinked.
    ///
    /// # Errors
    /// Fails when the bin is a link or not a directory, or the disk refuses.
    pub fn put(&self, name: &str) -> Result<(), DiskError> {
        let stat = stat_entry(&self.worktrees, name.as_bytes());
        if stat.is_ok_and(|stat| !stat.is_directory()) {
            return unlink(&self.worktrees, name.as_bytes()).attempting("delete", name);
        }
        match self.move_into(DELETED, &self.worktrees, name, &unused(name)) {
            Err(error) if cannot_be_moved(&error) => {}
            moved => return moved,
        }
        self.remove_if_empty(DELETED);
        match self.delete(name, None)?.unwrap_or_default().first() {
            Some(left) => Err(std::io::Error::other(left.clone())).attempting("delete", "it"),
            None => Ok(()),
        }
    }

    /// Renames what stands under this name into the trash; nothing there is fine.
    ///
    /// # Errors
    /// Fails when the trash is a link or not a directory, or the disk refuses.
    pub fn keep(&self, name: &str, id: &str) -> Result<(), DiskError> {
        self.move_into(KEPT, &self.worktrees, name, id)
    }

    /// Renames what is in the trash back among the worktrees; nothing there is fine.
    ///
    /// # Errors
    /// Fails when something stands there, or the disk refuses.
    pub fn bring_back(&self, id: &str, name: &str) -> Result<(), DiskError> {
        let Some(trash) = self.directory(KEPT)? else {
            return Ok(());
        };
        match rename(&trash, id, &self.worktrees, name) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => {
                let attempt = format!("move {name} out of {KEPT}");
                return Err(DiskError::new(attempt, error));
            }
        }
        self.remove_if_empty(KEPT);
        Ok(())
    }

    /// Moves what is in the trash into the bin, to be deleted; nothing there is fine.
    ///
    /// # Errors
    /// As [`TrashBin::put`].
    pub fn discard(&self, id: &str) -> Result<(), DiskError> {
        if let Some(trash) = self.directory(KEPT)? {
            self.move_into(DELETED, &trash, id, &unused(id))?;
            self.remove_if_empty(KEPT);
        }
        Ok(())
    }

    /// Renames an entry into a directory of ours, which is created; nothing there is fine.
    fn move_into(
        &self,
        target: &str,
        from: &OwnedFd,
        name: &str,
        new_name: &str,
    ) -> Result<(), DiskError> {
        let moved = format_args!("{name} into {target}");
        // another may remove the directory at any moment until something is in it
        for _ in 0..MOST_REMOVALS {
            if is_absent(from, name) {
                return Ok(());
            }
            match mkdirat(&self.worktrees, target, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                refused => return refused.attempting("move", moved),
            }
            let Some(directory) = self.directory(target)? else {
                continue;
            };
            match rename(from, name, &directory, new_name) {
                Err(Errno::NOENT) => {}
                renamed => return renamed.attempting("move", moved),
            }
        }
        Err(Errno::BUSY).attempting("move", moved)
    }

    /// Deletes a directory with all that is in it, mostly the bin: until then if a time is given, and
    /// then not at all while another deletes. The lock for that is one that the system takes back.
    /// Returns what cannot be deleted, and why; none where more can be.
    ///
    /// # Errors
    /// Fails when it is a link or not a directory, or cannot be opened.
    pub fn delete(
        &self,
        name: &str,
        until: Option<Instant>,
    ) -> Result<Option<Vec<String>>, DiskError> {
        let mut left_before = Vec::new();
        loop {
            let Some(directory) = self.directory(name)? else {
                return Ok(Some(Vec::new()));
            };
            match self.delete_once(&directory, name, until) {
                Ok(Deleted::Unfinished) => return Ok(None),
                Ok(Deleted::Whole) => return Ok(Some(Vec::new())),
                Ok(Deleted::But(left)) => {
                    if !left.is_empty() && left == left_before {
                        return Ok(Some(left));
                    }
                    left_before = left;
                }
                Err(error) => return Err(error).attempting("empty", name),
            }
        }
    }

    fn delete_once(
        &self,
        directory: &OwnedFd,
        name: &str,
        until: Option<Instant>,
    ) -> Result<Deleted, Errno> {
        // a process that works in a worktree may hold a lock on its directory
        if name == DELETED {
            let operation = match until {
                None => FlockOperation::LockExclusive,
                Some(_) => FlockOperation::NonBlockingLockExclusive,
            };
            match flock(directory, operation) {
                Err(Errno::WOULDBLOCK) => return Ok(Deleted::Unfinished),
                locked => locked?,
            }
        }
        let mut deletion = Deletion {
            top: directory,
            until,
            is_stopped: false,
            left: Vec::new(),
        };
        deletion.delete_content(directory, "", 0)?;
        if deletion.is_stopped {
            return Ok(Deleted::Unfinished);
        }
        // still locked: what was moved in, or up, since keeps the directory
        match unlinkat(&self.worktrees, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => Ok(Deleted::Whole),
            Err(Errno::NOTEMPTY | Errno::EXIST) => Ok(Deleted::But(deletion.left)),
            Err(error) => Err(error),
        }
    }

    /// Opens a directory; none when there is none.
    fn directory(&self, name: &str) -> Result<Option<OwnedFd>, DiskError> {
        match open_to_change(&self.worktrees, name.as_bytes()) {
            Ok(directory) => Ok(Some(directory)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(not_used(Utf8Path::new(name), error)),
        }
    }

    fn remove_if_empty(&self, name: &str) {
        let _ = unlinkat(&self.worktrees, name, AtFlags::REMOVEDIR);
    }
}

/// True if a directory has to be deleted where it is.
fn cannot_be_moved(error: &DiskError) -> bool {
    matches!(
        error.source.kind(),
        ErrorKind::CrossesDevices | ErrorKind::ResourceBusy
    )
}

/// Says how far a directory was deleted.
enum Deleted {
    Whole,
    /// All but these entries, with the reasons, and what came since.
    But(Vec<String>),
    /// The time was over, or another process deletes.
    Unfinished,
}

/// Deletes trees, and remembers what cannot be deleted.
struct Deletion<'a> {
    /// Where a tree that is too deep is moved to.
    top: &'a OwnedFd,
    until: Option<Instant>,
    /// Whether the time was over before all was done.
    is_stopped: bool,
    /// What stays, and why.
    left: Vec<String>,
}

impl Deletion<'_> {
    /// Deletes all that is in a directory. `shown` is its path for people.
    fn delete_content(
        &mut self,
        directory: &OwnedFd,
        shown: &str,
        depth: usize,
    ) -> Result<(), Errno> {
        let entries = Dir::read_from(directory)?.collect::<Result<Vec<_>, Errno>>()?;
        for (number, entry) in entries.iter().enumerate() {
            if number % ENTRIES_AT_ONCE == 0 {
                self.look_at_the_time();
            }
            if self.is_stopped {
                return Ok(());
            }
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let deleted = match entry.file_type() {
                FileType::Directory | FileType::Unknown => {
                    self.delete_tree(directory, name, shown, depth)
                }
                _file => match unlink(directory, name) {
                    Err(Errno::ISDIR | Errno::PERM) => {
                        self.delete_tree(directory, name, shown, depth)
                    }
                    unlinked => unlinked,
                },
            };
            if let Err(error) = deleted {
                let why = std::io::Error::from(error);
                self.left.push(format!("{}: {why}", join(shown, name)));
            }
        }
        Ok(())
    }

    fn look_at_the_time(&mut self) {
        if self.until.is_some_and(|until| Instant::now() >= until) {
            self.is_stopped = true;
        }
    }

    fn delete_tree(
        &mut self,
        parent: &OwnedFd,
        name: &[u8],
        shown: &str,
        depth: usize,
    ) -> Result<(), Errno> {
        let directory = match open_to_change(parent, name) {
            Err(Errno::NOENT) => return Ok(()),
            // a link, or not a directory by now
            Err(Errno::LOOP | Errno::NOTDIR) => return unlink(parent, name),
            opened => opened?,
        };
        if is_mount_point(parent, &directory)? {
            return Err(Errno::BUSY);
        }
        if depth >= DEPTH {
            // to the top, where the next round finds it
            return renameat(parent, name, self.top, unused("deep"));
        }
        let left_before = self.left.len();
        self.delete_content(&directory, &join(shown, name), depth + 1)?;
        if self.is_stopped || self.left.len() > left_before {
            // what is in it was named
            return Ok(());
        }
        match unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOENT) => Ok(()),
            removed => removed,
        }
    }
}

/// Returns the path of an entry for people.
fn join(directory: &str, name: &[u8]) -> String {
    let shown = escape_for_terminal(name);
    if directory.is_empty() {
        shown
    } else {
        format!("{directory}/{shown}")
    }
}

fn is_absent(directory: &OwnedFd, name: &str) -> bool {
    stat_entry(directory, name.as_bytes()) == Err(Errno::NOENT)
}

/// Renames, and replaces nothing. A directory that its owner may not write to is made writable: its
/// `..` changes.
fn rename(from: &OwnedFd, name: &str, to: &OwnedFd, new_name: &str) -> Result<(), Errno> {
    match move_new(from, name.as_bytes(), to, new_name.as_bytes()) {
        Err(Errno::ACCESS | Errno::PERM) => {
            drop(open_to_change(from, name.as_bytes())?);
            move_new(from, name.as_bytes(), to, new_name.as_bytes())
        }
        renamed => renamed,
    }
}

/// Says why a directory of ours is not used.
fn not_used(path: &Utf8Path, error: Errno) -> DiskError {
    let why = match error {
        Errno::LOOP | Errno::NOTDIR => {
            std::io::Error::other("it is a link or not a directory, and nothing behind it is ours")
        }
        error => error.into(),
    };
    DiskError::new(format!("use {path}"), why)
}

/// Returns a name in the bin that nothing has.
fn unused(name: &str) -> String {
    let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH);
    let nanoseconds = since_epoch.map_or(0, |since_epoch| since_epoch.as_nanos());
    format!("{name}-{}-{nanoseconds:x}", std::process::id())
}

/// Unlinks what is not a directory; a directory that is not writable is made so.
fn unlink(parent: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    let unlinked = match unlinkat(parent, name, AtFlags::empty()) {
        Err(Errno::ACCESS) => {
            let_owner_write(parent)?;
            unlinkat(parent, name, AtFlags::empty())
        }
        unlinked => unlinked,
    };
    match unlinked {
        Err(Errno::NOENT) => Ok(()),
        unlinked => unlinked,
    }
}

/// Opens a directory without following a link, so that what is in it can be unlinked: its owner
/// is let in where it is closed.
fn open_to_change(parent: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    let directory = match open_directory(parent, name) {
        Err(Errno::ACCESS) => {
            let_in(parent, name)?;
            open_directory(parent, name)?
        }
        opened => opened?,
    };
    let_owner_write(&directory)?;
    Ok(directory)
}

/// Lets the owner list, change and enter an open directory.
fn let_owner_write(directory: &OwnedFd) -> Result<(), Errno> {
    let mode = Mode::from_raw_mode(fstat(directory)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        fchmod(directory, mode | Mode::RWXU)?;
    }
    Ok(())
}

/// Lets the owner into a directory that cannot be opened.
#[cfg(target_os = "linux")]
fn let_in(parent: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    use rustix::fs::{OFlags, openat};
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(parent, name, flags, Mode::empty())?;
    // a path handle takes no fchmod(2); its name in /proc is followed to it and nowhere else
    let itself = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&handle));
    rustix::fs::chmod(itself, Mode::RWXU)
}

/// Lets the owner into a directory that cannot be opened.
#[cfg(not(target_os = "linux"))]
fn let_in(parent: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    rustix::fs::chmodat(parent, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}

/// True if something is mounted on a directory, also from the same file system.
fn is_mount_point(parent: &OwnedFd, directory: &OwnedFd) -> Result<bool, Errno> {
    if fstat(parent)?.st_dev != fstat(directory)?.st_dev {
        return Ok(true);
    }
    #[cfg(target_os = "linux")]
    {
        use rustix::fs::{StatxAttributes, StatxFlags, statx};
        let root = StatxAttributes::MOUNT_ROOT;
        match statx(directory, "", AtFlags::EMPTY_PATH, StatxFlags::empty()) {
            Ok(stat) => Ok(stat.stx_attributes.contains(root)),
            // an old kernel, or a sandbox without it
            Err(Errno::NOSYS | Errno::PERM | Errno::INVAL) => Ok(false),
            Err(error) => Err(error),
        }
    }
    #[cfg(not(target_os = "linux"))]
    Ok(false)
}

#[cfg(test)]
mod tests;
