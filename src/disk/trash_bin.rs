//! Takes worktrees off the disk: moved into `.agentwt/worktrees/.trash` at once, deleted there later.
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

/// The name of the bin among the worktrees: none of a worktree begins with a dot.
pub const TRASH: &str = ".trash";

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

    /// Moves the directory of this name into the bin, which is made for it.
    ///
    /// # Errors
    /// Fails when the bin is a link or no directory, or the disk refuses.
    pub fn put(&self, name: &str) -> Result<Put, DiskError> {
        let failed = |error: Errno| DiskError::new(format!("move {name} into {TRASH}"), error);
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
            match mkdirat(&self.worktrees, TRASH, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
            let Some(trash) = self.trash()? else {
                continue;
            };
            match self.rename(name, &trash) {
                Ok(()) => return Ok(Put::Moved),
                Err(Errno::XDEV | Errno::BUSY) => {
                    let _ = unlinkat(&self.worktrees, TRASH, AtFlags::REMOVEDIR);
                    return Ok(Put::Stands);
                }
                // of the name, or of the bin: the next round sees which
                Err(Errno::NOENT | Errno::EXIST) => {}
                Err(error) => return Err(failed(error)),
            }
        }
        Err(failed(Errno::BUSY))
    }

    fn rename(&self, name: &str, trash: &OwnedFd) -> Result<(), Errno> {
        let there = unused(name);
        let rename = || match renameat_with(
            &self.worktrees,
            name,
            trash,
            &*there,
            RenameFlags::NOREPLACE,
        ) {
            // a file system that does not know it; the name is new all the same
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => {
                renameat(&self.worktrees, name, trash, &*there)
            }
            other => other,
        };
        match rename() {
            // a directory changes its `..` when it is moved: its owner must be able to write to it
            Err(Errno::ACCESS | Errno::PERM) => {
                drop(open_directory(&self.worktrees, name.as_bytes())?);
                rename()
            }
            other => other,
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
        let failed = |error: Errno| DiskError::new(format!("empty {TRASH}"), error);
        let (operation, until) = match patience {
            Patience::Endless => (FlockOperation::LockExclusive, None),
            Patience::Until(time) => (FlockOperation::NonBlockingLockExclusive, Some(time)),
        };
        let mut before: Option<Vec<(String, String)>> = None;
        loop {
            let Some(trash) = self.trash()? else {
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
            match unlinkat(&self.worktrees, TRASH, AtFlags::REMOVEDIR) {
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

    /// Opens the bin; none when there is none.
    fn trash(&self) -> Result<Option<OwnedFd>, DiskError> {
        loop {
            let trash = match openat(&self.worktrees, TRASH, DIRECTORY, Mode::empty()) {
                Err(Errno::NOENT) => return Ok(None),
                other => other.map_err(|error| refused(Utf8Path::new(TRASH), error))?,
            };
            let failed = |error: Errno| DiskError::new(format!("look at {TRASH}"), error);
            // one that was removed since it was opened is another's
            match statat(&self.worktrees, TRASH, AtFlags::SYMLINK_NOFOLLOW) {
                Err(Errno::NOENT) => return Ok(None),
                Err(error) => return Err(failed(error)),
                Ok(there) => {
                    let ours = fstat(&trash).map_err(failed)?;
                    if (there.st_dev, there.st_ino) == (ours.st_dev, ours.st_ino) {
                        return Ok(Some(trash));
                    }
                }
            }
        }
    }
}

/// Says why a directory of ours is not used.
fn refused(path: &Utf8Path, error: Errno) -> DiskError {
    let error = match error {
        Errno::LOOP | Errno::NOTDIR => {
            std::io::Error::other("it is a link or no directory, and nothing behind it is ours")
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
