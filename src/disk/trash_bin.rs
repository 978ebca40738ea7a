//! Takes worktrees off the disk: renamed into `.agentwt/worktrees/.trash`, where they are kept, or
//! into `.agentwt/worktrees/.deleted`, where they are deleted later.
//!
//! Everything is reached from one open directory, `.agentwt/worktrees` of a root, each step
//! without following a link: whatever is swapped meanwhile, nothing outside is touched
//! (`docs/decisions/0018-removal.md`).

mod delete;

use std::os::fd::OwnedFd;
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use camino::Utf8Path;
use rustix::fs::{
    AtFlags, CWD, FileType, FlockOperation, Mode, OFlags, RenameFlags, flock, fstat, mkdirat,
    openat, renameat, renameat_with, statat, unlinkat,
};
use rustix::io::Errno;

use super::error::DiskError;
use delete::{Deletion, open_directory};

/// Where removed worktrees are kept, among the worktrees: no name of a worktree begins with a dot.
pub const KEPT: &str = ".trash";
/// Where they wait to be deleted.
pub const DELETED: &str = ".deleted";

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Represents the directory of worktrees of one root, held open.
#[derive(Debug)]
pub struct TrashBin {
    worktrees: OwnedFd,
}

/// Says what became of a worktree's directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Put {
    /// There was none.
    Nothing,
    /// It is in the bin, to be deleted.
    Moved,
    /// A link or a file stood there, which was unlinked.
    Unlinked,
    /// It cannot be moved (it is a mount point, or the bin is on another file system), and stands
    /// where it stood.
    Stands,
}

/// Says how long a caller waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Patience {
    /// Until nothing is left, or nothing more can be deleted.
    Endless,
    /// Until then, and not at all for another who is deleting.
    Until(Instant),
}

/// Says what is left in the bin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Emptied {
    /// Nothing: it is gone.
    Gone,
    /// Something that takes longer, or that another is deleting.
    Working,
    /// What cannot be deleted: its path in the bin, and why.
    Left(Vec<(String, String)>),
}

impl TrashBin {
    /// Opens the directory of worktrees below a root; none when there is none.
    ///
    /// # Errors
    /// Fails when it, or `.agentwt`, is a link or no directory, or cannot be opened.
    pub fn open(root: &Utf8Path) -> Result<Option<Self>, DiskError> {
        let follow = DIRECTORY.difference(OFlags::NOFOLLOW);
        let mut path = root.to_owned();
        let mut directory = openat(CWD, root.as_std_path(), follow, Mode::empty())
            .map_err(|error| DiskError::new(format!("open {root}"), error))?;
        for name in [".agentwt", "worktrees"] {
            path.push(name);
            directory = match openat(&directory, name, DIRECTORY, Mode::empty()) {
                Err(Errno::NOENT) => return Ok(None),
                other => other.map_err(|error| refused(&path, error))?,
            };
        }
        Ok(Some(Self {
            worktrees: directory,
        }))
    }

    /// Moves the directory of this name into the bin, which is created for it.
    ///
    /// # Errors
    /// Fails when the bin is a link or no directory, or the disk refuses.
    pub fn put(&self, name: &str) -> Result<Put, DiskError> {
        let failed = |error: Errno| DiskError::new(format!("move {name} into {DELETED}"), error);
        // whoever empties the bin removes it at the end, at any moment until something is in it
        for _ in 0..100 {
            let stat = match statat(&self.worktrees, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => return Ok(Put::Nothing),
                other => other.map_err(failed)?,
            };
            if FileType::from_raw_mode(stat.st_mode) != FileType::Directory {
                unlinkat(&self.worktrees, name, AtFlags::empty()).map_err(failed)?;
                return Ok(Put::Unlinked);
            }
            let Some(bin) = self.create(DELETED)? else {
                continue;
            };
            match rename(&self.worktrees, name, &bin, &unused(name)) {
                Ok(()) => return Ok(Put::Moved),
                Err(Errno::XDEV | Errno::BUSY) => {
                    let _ = unlinkat(&self.worktrees, DELETED, AtFlags::REMOVEDIR);
                    return Ok(Put::Stands);
                }
                // of the name, or of the bin: the next round sees which
                Err(Errno::NOENT | Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(Errno::BUSY))
    }

    /// Renames what stands under this name into the trash; nothing there is fine.
    ///
    /// # Errors
    /// Fails when the trash is a link or not a directory, or the disk refuses.
    pub fn keep(&self, name: &str, id: &str) -> Result<(), DiskError> {
        let failed = |error: Errno| DiskError::new(format!("move {name} into {KEPT}"), error);
        if is_absent(&self.worktrees, name) {
            return Ok(());
        }
        for _ in 0..100 {
            // an undo removes it at its end, when it is empty
            let Some(trash) = self.create(KEPT)? else {
                continue;
            };
            match rename(&self.worktrees, name, &trash, id) {
                Err(Errno::NOENT) => {}
                other => return other.map_err(failed),
            }
        }
        Err(failed(Errno::BUSY))
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
            let of_trash = Self { worktrees: trash };
            let failed = |error: Errno| DiskError::new(format!("delete {id}"), error);
            for _ in 0..100 {
                let Some(bin) = self.create(DELETED)? else {
                    continue;
                };
                match rename(&of_trash.worktrees, id, &bin, &unused(id)) {
                    Ok(()) => break,
                    Err(Errno::NOENT) if is_absent(&of_trash.worktrees, id) => break,
                    Err(Errno::NOENT) => {}
                    Err(error) => return Err(failed(error)),
                }
            }
            let _ = unlinkat(&self.worktrees, KEPT, AtFlags::REMOVEDIR);
        }
        Ok(())
    }

    /// Creates and opens a directory of ours; none when another has removed it in between.
    fn create(&self, name: &str) -> Result<Option<OwnedFd>, DiskError> {
        match mkdirat(&self.worktrees, name, Mode::RWXU) {
            Ok(()) | Err(Errno::EXIST) => self.directory(name),
            Err(error) => Err(DiskError::new(format!("create {name}"), error)),
        }
    }

    /// Deletes the directory of this name where it stands, without crossing into another file
    /// system.
    ///
    /// # Errors
    /// Fails when something in it cannot be deleted; all else is.
    pub fn delete_in_place(&self, name: &str) -> Result<(), DiskError> {
        let failed = |error: Errno| DiskError::new(format!("delete {name}"), error);
        let directory = match open_directory(&self.worktrees, name.as_bytes()) {
            Err(Errno::NOENT) => return Ok(()),
            other => other.map_err(failed)?,
        };
        loop {
            let mut deletion = Deletion::new(&directory, None);
            deletion.content(&directory, name).map_err(failed)?;
            if let Some((path, why)) = deletion.failed.into_iter().next() {
                let why = std::io::Error::other(why);
                return Err(DiskError::new(format!("delete {path}"), why));
            }
            match unlinkat(&self.worktrees, name, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => return Ok(()),
                // what was too deep is at its top now
                Err(Errno::NOTEMPTY | Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
        }
    }

    /// Deletes what is in the bin, and the bin. One does so at a time, under a lock that the
    /// system takes back when that one dies.
    ///
    /// # Errors
    /// Fails when the bin is a link or no directory, or cannot be opened.
    pub fn empty(&self, patience: Patience) -> Result<Emptied, DiskError> {
        let failed = |error: Errno| DiskError::new(format!("empty {DELETED}"), error);
        let (operation, until) = match patience {
            Patience::Endless => (FlockOperation::LockExclusive, None),
            Patience::Until(time) => (FlockOperation::NonBlockingLockExclusive, Some(time)),
        };
        let mut before: Option<Vec<(String, String)>> = None;
        loop {
            let Some(trash) = self.directory(DELETED)? else {
                return Ok(Emptied::Gone);
            };
            match flock(&trash, operation) {
                Err(Errno::WOULDBLOCK) => return Ok(Emptied::Working),
                other => other.map_err(failed)?,
            }
            let mut deletion = Deletion::new(&trash, until);
            deletion.content(&trash, "").map_err(failed)?;
            if deletion.stopped {
                return Ok(Emptied::Working);
            }
            // still locked: what was moved in since keeps the directory
            match unlinkat(&self.worktrees, DELETED, AtFlags::REMOVEDIR) {
                Ok(()) | Err(Errno::NOENT) => return Ok(Emptied::Gone),
                Err(Errno::NOTEMPTY | Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
            let left = deletion.failed;
            if !left.is_empty() && before.as_ref() == Some(&left) {
                return Ok(Emptied::Left(left));
            }
            before = Some(left);
        }
    }

    /// Opens a directory of ours; none when there is none.
    fn directory(&self, name: &str) -> Result<Option<OwnedFd>, DiskError> {
        loop {
            let opened = match openat(&self.worktrees, name, DIRECTORY, Mode::empty()) {
                Err(Errno::NOENT) => return Ok(None),
                other => other.map_err(|error| refused(Utf8Path::new(name), error))?,
            };
            let failed = |error: Errno| DiskError::new(format!("look at {name}"), error);
            // one that was removed since it was opened is another's
            match statat(&self.worktrees, name, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(failed(error)),
                Ok(there) => {
                    let ours = fstat(&opened).map_err(failed)?;
                    if (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino) {
                        return Ok(Some(opened));
                    }
                }
            }
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

#[cfg(test)]
mod tests;
