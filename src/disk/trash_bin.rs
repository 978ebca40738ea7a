//! Takes worktrees off the disk: renamed into `.agentwt/worktrees/.trash`, where they are kept, or
//! into `.agentwt/worktrees/.deleted`, where they are deleted later.
//!
//! Everything is reached from one open directory, `.agentwt/worktrees` of a root, each step
//! without following a link: whatever is swapped meanwhile, nothing outside is touched
//! (`docs/decisions/0018-removal.md`). Nothing in another file system is deleted.

use std::os::fd::{AsFd, OwnedFd};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use camino::Utf8Path;
use rustix::fs::{AtFlags, CWD, Dir, FileType, FlockOperation, Mode, OFlags, RenameFlags};
use rustix::fs::{
    fchmod, flock, fstat, mkdirat, openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use crate::disk::DiskError;
use crate::disk::below::DIRECTORY;

/// Where removed worktrees are kept, among the worktrees: no name of a worktree begins with a dot.
pub const KEPT: &str = ".trash";
/// Where they wait to be deleted.
pub const DELETED: &str = ".deleted";

/// How many directories are held open on the way down: what is deeper is moved up first.
const DEPTH: usize = 100;

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
        let follow = DIRECTORY.difference(OFlags::NOFOLLOW);
        let mut path = root.to_owned();
        let mut worktrees = openat(CWD, root.as_std_path(), follow, Mode::empty())
            .map_err(|error| DiskError::new(format!("open {root}"), error))?;
        for name in [".agentwt", "worktrees"] {
            path.push(name);
            worktrees = match openat(&worktrees, name, DIRECTORY, Mode::empty()) {
                Err(Errno::NOENT) => return Ok(None),
                other => other.map_err(|error| refused(&path, error))?,
            };
        }
        Ok(Some(Self { worktrees }))
    }

    /// Moves the directory of this name into the bin, to be deleted later. One that cannot be moved
    /// (a mount point, a lower layer of an overlay) is deleted, a link or a file is unlinked.
    ///
    /// # Errors
    /// Fails when the bin is a link or not a directory, or the disk refuses.
    pub fn put(&self, name: &str) -> Result<(), DiskError> {
        use std::io::ErrorKind::{CrossesDevices, ResourceBusy};
        if let Ok(stat) = statat(&self.worktrees, name, AtFlags::SYMLINK_NOFOLLOW)
            && FileType::from_raw_mode(stat.st_mode) != FileType::Directory
        {
            return unlink(&self.worktrees, name.as_bytes())
                .map_err(|error| DiskError::new(format!("delete {name}"), error));
        }
        match self.carry(&self.worktrees, name, DELETED, &unused(name)) {
            Err(error) if matches!(error.source.kind(), CrossesDevices | ResourceBusy) => {
                let _ = unlinkat(&self.worktrees, DELETED, AtFlags::REMOVEDIR);
                match self.delete(name, None)?.into_iter().flatten().next() {
                    Some(left) => Err(DiskError::new("delete it", std::io::Error::other(left))),
                    None => Ok(()),
                }
            }
            other => other,
        }
    }

    /// Renames what stands under this name into the trash; nothing there is fine.
    ///
    /// # Errors
    /// Fails when the trash is a link or not a directory, or the disk refuses.
    pub fn keep(&self, name: &str, id: &str) -> Result<(), DiskError> {
        self.carry(&self.worktrees, name, KEPT, id)
    }

    /// Renames what is in the trash back among the worktrees; nothing there is fine.
    ///
    /// # Errors
    /// Fails when something stands there, or the disk refuses.
    pub fn bring_back(&self, id: &str, name: &str) -> Result<(), DiskError> {
        let failed = |error: Errno| DiskError::new(format!("move {name} out of {KEPT}"), error);
        let Some(trash) = self.directory(KEPT)? else {
            return Ok(());
        };
        match rename(&trash, id, &self.worktrees, name) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => return Err(failed(error)),
        }
        let _ = unlinkat(&self.worktrees, KEPT, AtFlags::REMOVEDIR);
        Ok(())
    }

    /// Moves what is in the trash into the bin, to be deleted; nothing there is fine.
    ///
    /// # Errors
    /// As [`TrashBin::put`].
    pub fn discard(&self, id: &str) -> Result<(), DiskError> {
        if let Some(trash) = self.directory(KEPT)? {
            self.carry(&trash, id, DELETED, &unused(id))?;
            let _ = unlinkat(&self.worktrees, KEPT, AtFlags::REMOVEDIR);
        }
        Ok(())
    }

    /// Renames an entry into a directory of ours, which is created; nothing there is fine.
    fn carry(&self, from: &OwnedFd, name: &str, to: &str, id: &str) -> Result<(), DiskError> {
        let failed = |error: Errno| DiskError::new(format!("move {name} into {to}"), error);
        // another may remove the directory at any moment until something is in it
        for _ in 0..100 {
            if is_absent(from, name) {
                return Ok(());
            }
            match mkdirat(&self.worktrees, to, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
            let Some(directory) = self.directory(to)? else {
                continue;
            };
            match rename(from, name, &directory, id) {
                Err(Errno::NOENT) => {}
                other => return other.map_err(failed),
            }
        }
        Err(failed(Errno::BUSY))
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
        let failed = |error: Errno| DiskError::new(format!("empty {name}"), error);
        let operation = match until {
            None => FlockOperation::LockExclusive,
            Some(_) => FlockOperation::NonBlockingLockExclusive,
        };
        let mut before = None;
        loop {
            let Some(directory) = self.directory(name)? else {
                return Ok(Some(Vec::new()));
            };
            // a process that works in a worktree may hold a lock on its directory
            match (name == DELETED).then(|| flock(&directory, operation)) {
                Some(Err(Errno::WOULDBLOCK)) => return Ok(None),
                other => other.unwrap_or(Ok(())).map_err(failed)?,
            }
            let mut deletion = Deletion {
                top: &directory,
                until,
                stopped: false,
                failed: Vec::new(),
            };
            deletion.content(&directory, "", 0).map_err(failed)?;
            if deletion.stopped {
                return Ok(None);
            }
            // still locked: what was moved in, or up, since keeps the directory
            match unlinkat(&self.worktrees, name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => return Ok(Some(Vec::new())),
                Err(Errno::NOTEMPTY | Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
            let left = Some(deletion.failed).filter(|left| !left.is_empty());
            if left.is_some() && before == left {
                return Ok(left);
            }
            before = left;
        }
    }

    /// Opens a directory; none when there is none.
    fn directory(&self, name: &str) -> Result<Option<OwnedFd>, DiskError> {
        match open_directory(&self.worktrees, name.as_bytes()) {
            Err(Errno::NOENT) => Ok(None),
            other => Ok(Some(
                other.map_err(|error| refused(Utf8Path::new(name), error))?,
            )),
        }
    }
}

/// Deletes trees, and remembers what cannot be deleted.
struct Deletion<'a> {
    /// Where a tree that is too deep is moved to.
    top: &'a OwnedFd,
    until: Option<Instant>,
    /// Whether the time was over before all was done.
    stopped: bool,
    /// What stays, and why.
    failed: Vec<String>,
}

impl Deletion<'_> {
    /// Deletes all that is in a directory. `shown` is its path for people.
    fn content(&mut self, directory: &OwnedFd, shown: &str, depth: usize) -> Result<(), Errno> {
        let entries: Result<Vec<_>, Errno> = Dir::read_from(directory)?.collect();
        for (at, entry) in entries?.iter().enumerate() {
            let name = entry.file_name().to_bytes();
            let is_due = || self.until.is_some_and(|until| Instant::now() >= until);
            self.stopped = self.stopped || at % 64 == 0 && is_due();
            if self.stopped {
                return Ok(());
            }
            if matches!(name, b"." | b"..") {
                continue;
            }
            let below = || {
                let name = crate::words::path::escape_for_terminal(name);
                let above = if shown.is_empty() { "" } else { "/" };
                format!("{shown}{above}{name}")
            };
            let is_file = !matches!(entry.file_type(), FileType::Directory | FileType::Unknown);
            let deleted = match is_file.then(|| unlink(directory, name)) {
                Some(Err(Errno::ISDIR | Errno::PERM)) | None => {
                    self.tree(directory, name, &below(), depth)
                }
                Some(other) => other,
            };
            if let Err(error) = deleted {
                let why = std::io::Error::from(error);
                self.failed.push(format!("{}: {why}", below()));
            }
        }
        Ok(())
    }

    fn tree(
        &mut self,
        above: &OwnedFd,
        name: &[u8],
        shown: &str,
        depth: usize,
    ) -> Result<(), Errno> {
        let directory = match open_directory(above, name) {
            Err(Errno::NOENT) => return Ok(()),
            // a link, or not a directory by now
            Err(Errno::LOOP | Errno::NOTDIR) => return unlink(above, name),
            other => other?,
        };
        if is_mount_point(above, &directory)? {
            return Err(Errno::BUSY);
        }
        if depth >= DEPTH {
            // to the top, where the next round finds it
            return renameat(above, name, self.top, unused("deep"));
        }
        let failures = self.failed.len();
        self.content(&directory, shown, depth + 1)?;
        if self.stopped || self.failed.len() > failures {
            // what is in it was named
            return Ok(());
        }
        match unlinkat(above, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOENT) => Ok(()),
            other => other,
        }
    }
}

fn is_absent(directory: &OwnedFd, name: &str) -> bool {
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
    matches!(stat, Err(Errno::NOENT))
}

/// Renames, and replaces nothing. A directory that its owner may not write to is made writable: its
/// `..` changes.
fn rename(from: &OwnedFd, name: &str, to: &OwnedFd, there: &str) -> Result<(), Errno> {
    let attempt = || match renameat_with(from, name, to, there, RenameFlags::NOREPLACE) {
        // a file system that does not know the flag
        Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) if is_absent(to, there) => {
            renameat(from, name, to, there)
        }
        other => other,
    };
    match attempt() {
        Err(Errno::ACCESS | Errno::PERM) => {
            drop(open_directory(from, name.as_bytes())?);
            attempt()
        }
        other => other,
    }
}

/// Says why a directory of ours is not used.
fn refused(path: &Utf8Path, error: Errno) -> DiskError {
    let error = match error {
        Errno::LOOP | Errno::NOTDIR => {
            std::io::Error::other("it is a link or not a directory, and nothing behind it is ours")
        }
        error => error.into(),
    };
    DiskError::new(format!("use {path}"), error)
}

/// A name in the bin that nothing has.
fn unused(name: &str) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |since| since.as_nanos());
    format!("{name}-{}-{now:x}", std::process::id())
}

/// Unlinks what is not a directory; a directory that is not writable is made so.
fn unlink(above: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    let unlinked = match unlinkat(above, name, AtFlags::empty()) {
        Err(Errno::ACCESS) => {
            let mode = Mode::from_raw_mode(fstat(above)?.st_mode);
            fchmod(above, mode | Mode::RWXU)?;
            unlinkat(above, name, AtFlags::empty())
        }
        other => other,
    };
    match unlinked {
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

/// Opens a directory without following a link, so that what is in it can be unlinked: its owner
/// is let in where it is closed.
fn open_directory(above: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
    let directory = match openat(above, name, DIRECTORY, Mode::empty()) {
        Err(Errno::ACCESS) => {
            let_in(above, name)?;
            openat(above, name, DIRECTORY, Mode::empty())?
        }
        other => other?,
    };
    let mode = Mode::from_raw_mode(fstat(&directory)?.st_mode);
    if !mode.contains(Mode::RWXU) {
        fchmod(&directory, mode | Mode::RWXU)?;
    }
    Ok(directory)
}

/// Lets the owner into a directory that cannot be opened.
#[cfg(target_os = "linux")]
fn let_in(above: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(above, name, flags, Mode::empty())?;
    // a path handle takes no fchmod(2); its name in /proc is followed to it and nowhere else
    let itself = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(&handle));
    rustix::fs::chmod(itself, Mode::RWXU)
}

/// Lets the owner into a directory that cannot be opened.
#[cfg(not(target_os = "linux"))]
fn let_in(above: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    rustix::fs::chmodat(above, name, Mode::RWXU, AtFlags::SYMLINK_NOFOLLOW)
}

/// Whether something is mounted on a directory, also from the same file system.
fn is_mount_point(above: &OwnedFd, directory: &OwnedFd) -> Result<bool, Errno> {
    if fstat(above.as_fd())?.st_dev != fstat(directory.as_fd())?.st_dev {
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
