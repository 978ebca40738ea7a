//! Takes worktrees off the disk: renamed into `.agentwt/worktrees/.trash`, where they are kept
//! until they expire. An entry that has expired gets a name that begins with `.expired-`, and is
//! deleted later.
//!
//! Everything is reached from one open directory, `.agentwt/worktrees` of a root, each step
//! without following a link: whatever is swapped meanwhile, nothing outside is touched
//! (`docs/decisions/0018-removal.md`). Nothing in another file system is deleted.

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

/// Where removed worktrees are, among the worktrees: no name of a worktree begins with a dot.
pub const TRASH: &str = ".trash";
/// How the name of an expired entry begins: no name of a worktree begins with a dot.
pub const EXPIRED: &str = ".expired-";
/// Where an older version put what it was about to delete.
pub const OLD_BIN: &str = ".deleted";

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

    /// Renames what stands under this name into the trash; nothing there is fine.
    ///
    /// # Errors
    /// Fails when the trash is a link or not a directory, or the disk refuses.
    pub fn keep(&self, name: &str, id: &str) -> Result<(), DiskError> {
        let moved = format_args!("{name} into {TRASH}");
        // another may remove the trash at any moment until something is in it
        for _ in 0..MOST_REMOVALS {
            if is_absent(&self.worktrees, name) {
                return Ok(());
            }
            match mkdirat(&self.worktrees, TRASH, Mode::RWXU) {
                Ok(()) | Err(Errno::EXIST) => {}
                refused => return refused.attempting("move", moved),
            }
            let Some(trash) = self.directory(TRASH)? else {
                continue;
            };
            match rename(&self.worktrees, name, &trash, id) {
                Err(Errno::NOENT) => {}
                renamed => return renamed.attempting("move", moved),
            }
        }
        // not BUSY: that is a directory that can never be renamed
        Err(Errno::AGAIN).attempting("move", moved)
    }

    /// Renames an entry of the trash back among the worktrees; nothing there is fine.
    ///
    /// # Errors
    /// Fails when something stands there, or the disk refuses.
    pub fn bring_back(&self, id: &str, name: &str) -> Result<(), DiskError> {
        let Some(trash) = self.directory(TRASH)? else {
            return Ok(());
        };
        match rename(&trash, id, &self.worktrees, name) {
            Ok(()) | Err(Errno::NOENT) => {}
            Err(error) => {
                let attempt = format!("move {name} out of {TRASH}");
                return Err(DiskError::new(attempt, error));
            }
        }
        self.remove_if_empty(TRASH);
        Ok(())
    }

    /// Marks an entry of the trash as expired: [`TrashBin::delete_expired`] deletes it. Nothing
    /// there is fine.
    ///
    /// # Errors
    /// Fails when the trash is a link or not a directory, or the disk refuses.
    pub fn expire(&self, id: &str) -> Result<(), DiskError> {
        let Some(trash) = self.directory(TRASH)? else {
            return Ok(());
        };
        match rename(&trash, id, &trash, &unused(&format!("{EXPIRED}{id}"))) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(error) => Err(error).attempting("expire", id),
        }
    }

    /// Names the directory in which something waits for [`TrashBin::delete_expired`], if any.
    ///
    /// # Errors
    /// Fails when the trash is a link or not a directory, or cannot be read.
    pub fn place_of_expired(&self) -> Result<Option<&'static str>, DiskError> {
        if self.directory(OLD_BIN)?.is_some() {
            return Ok(Some(OLD_BIN));
        }
        let Some(trash) = self.directory(TRASH)? else {
            return Ok(None);
        };
        Ok((!expired_names(&trash)?.is_empty()).then_some(TRASH))
    }

    /// Deletes the expired entries of the trash, and what an older version left to be deleted.
    /// Returns what cannot be deleted, and why; or none if it stopped before the end, which it does
    /// only if there is a `deadline`: when that has passed, or while another process deletes.
    ///
    /// # Errors
    /// Fails when the trash is a link or not a directory, or cannot be opened.
    pub fn delete_expired(
        &self,
        deadline: Option<Instant>,
    ) -> Result<Option<Vec<String>>, DiskError> {
        let mut failures = Vec::new();
        if let Some(old_bin) = self.directory(OLD_BIN)? {
            if !lock(&old_bin, OLD_BIN, deadline)? {
                return Ok(None);
            }
            match delete(&self.worktrees, OLD_BIN, OLD_BIN, deadline)? {
                Some(in_old_bin) => failures.extend(in_old_bin),
                None => return Ok(None),
            }
        }
        let Some(trash) = self.directory(TRASH)? else {
            return Ok(Some(failures));
        };
        let expired = expired_names(&trash)?;
        if !expired.is_empty() && !lock(&trash, TRASH, deadline)? {
            return Ok(None);
        }
        for name in expired {
            match delete(&trash, &name, &format!("{TRASH}/{name}"), deadline)? {
                Some(in_entry) => failures.extend(in_entry),
                None => return Ok(None),
            }
        }
        self.remove_if_empty(TRASH);
        Ok(Some(failures))
    }

    /// Deletes the directory of this name where it stands, as it cannot be moved (a mount point, a
    /// lower layer of an overlay); a link or a file is unlinked, nothing there is fine.
    ///
    /// # Errors
    /// Fails when something of it cannot be deleted, or it is a mount point, which is emptied.
    pub fn delete_in_place(&self, name: &str) -> Result<(), DiskError> {
        let failures = delete(&self.worktrees, name, "", None)?.unwrap_or_default();
        match failures.first() {
            Some(failure) => Err(std::io::Error::other(failure.clone())).attempting("delete", "it"),
            None => Ok(()),
        }
    }

    /// Opens a directory; none when there is none.
    fn directory(&self, name: &str) -> Result<Option<OwnedFd>, DiskError> {
        open_if_there(&self.worktrees, name)
    }

    fn remove_if_empty(&self, name: &str) {
        let _ = unlinkat(&self.worktrees, name, AtFlags::REMOVEDIR);
    }
}

/// Takes the lock of a directory that is emptied, which the system takes back from who has ended.
/// False if another process has it and there is a deadline.
fn lock(directory: &OwnedFd, name: &str, deadline: Option<Instant>) -> Result<bool, DiskError> {
    let operation = match deadline {
        None => FlockOperation::LockExclusive,
        Some(_) => FlockOperation::NonBlockingLockExclusive,
    };
    match flock(directory, operation) {
        Err(Errno::WOULDBLOCK) => Ok(false),
        locked => locked.map(|()| true).attempting("empty", name),
    }
}

/// The names of the expired entries of the trash.
fn expired_names(trash: &OwnedFd) -> Result<Vec<String>, DiskError> {
    let mut names = Vec::new();
    for entry in Dir::read_from(trash).attempting("read", TRASH)? {
        let entry = entry.attempting("read", TRASH)?;
        if let Ok(name) = entry.file_name().to_str()
            && name.starts_with(EXPIRED)
        {
            names.push(name.to_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// Deletes a directory with all that is in it, or unlinks a link or a file; nothing there is fine.
/// Returns what cannot be deleted, and why; or none if the `deadline` passed before the end.
/// `shown` is its path for people. A directory that is a mount point is emptied, and is itself what
/// cannot be deleted; what is mounted below it stays as it is.
///
/// It takes rounds: the next one deletes what came meanwhile, and what was too deep and was moved
/// to the top. It gives up when a round moved nothing there and failed as the one before did.
fn delete(
    parent: &OwnedFd,
    name: &str,
    shown: &str,
    deadline: Option<Instant>,
) -> Result<Option<Vec<String>>, DiskError> {
    let mut failures_before = Vec::new();
    loop {
        let directory = match open_to_change(parent, name.as_bytes()) {
            Ok(directory) => directory,
            Err(Errno::NOENT) => return Ok(Some(Vec::new())),
            Err(Errno::LOOP | Errno::NOTDIR) => {
                unlink(parent, name.as_bytes()).attempting("delete", name)?;
                return Ok(Some(Vec::new()));
            }
            Err(error) => return Err(error).attempting("empty", name),
        };
        let mut deletion = Deletion {
            top: &directory,
            deadline,
            is_stopped: false,
            has_moved_up: false,
            failures: Vec::new(),
        };
        deletion
            .delete_content(&directory, shown, 0)
            .attempting("empty", name)?;
        if deletion.is_stopped {
            return Ok(None);
        }
        match unlinkat(parent, name, AtFlags::REMOVEDIR) {
            Ok(()) | Err(Errno::NOENT) => return Ok(Some(Vec::new())),
            Err(Errno::NOTEMPTY | Errno::EXIST) => {}
            Err(error) => {
                let why = std::io::Error::from(error);
                deletion.failures.push(format!("{name}: {why}"));
            }
        }
        let failed_twice = !deletion.failures.is_empty() && deletion.failures == failures_before;
        if failed_twice && !deletion.has_moved_up {
            return Ok(Some(deletion.failures));
        }
        failures_before = deletion.failures;
    }
}

/// Opens a directory; none when there is none.
fn open_if_there(parent: &OwnedFd, name: &str) -> Result<Option<OwnedFd>, DiskError> {
    match open_to_change(parent, name.as_bytes()) {
        Ok(directory) => Ok(Some(directory)),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(not_used(Utf8Path::new(name), error)),
    }
}

/// Deletes trees, and remembers what cannot be deleted.
struct Deletion<'a> {
    /// Where a tree that is too deep is moved to.
    top: &'a OwnedFd,
    deadline: Option<Instant>,
    /// Whether the time was over before all was done.
    is_stopped: bool,
    /// Whether a tree was moved to the top.
    has_moved_up: bool,
    /// The path of each entry that cannot be deleted, and why.
    failures: Vec<String>,
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
                self.check_deadline();
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
                    // by now it may be a directory: Linux and POSIX have other errors for that
                    Err(Errno::ISDIR | Errno::PERM) => {
                        self.delete_tree(directory, name, shown, depth)
                    }
                    unlinked => unlinked,
                },
            };
            if let Err(error) = deleted {
                let why = std::io::Error::from(error);
                self.failures.push(format!("{}: {why}", join(shown, name)));
            }
        }
        Ok(())
    }

    /// Stops the deletion when the time is over.
    fn check_deadline(&mut self) {
        if let Some(deadline) = self.deadline
            && Instant::now() >= deadline
        {
            self.is_stopped = true;
        }
    }

    /// Deletes a directory with all that is in it, or unlinks what took its place meanwhile. One
    /// that is too deep is moved to the top instead, for the next round; one in which something
    /// cannot be deleted stays, and only that is reported.
    fn delete_tree(
        &mut self,
        parent: &OwnedFd,
        name: &[u8],
        shown: &str,
        depth: usize,
    ) -> Result<(), Errno> {
        let directory = match open_to_change(parent, name) {
            Err(Errno::NOENT) => return Ok(()),
            Err(Errno::LOOP | Errno::NOTDIR) => return unlink(parent, name),
            opened => opened?,
        };
        if is_mount_point(parent, &directory)? {
            return Err(Errno::BUSY);
        }
        if depth >= DEPTH {
            renameat(parent, name, self.top, unused("deep"))?;
            self.has_moved_up = true;
            return Ok(());
        }
        let failures_before = self.failures.len();
        self.delete_content(&directory, &join(shown, name), depth + 1)?;
        if self.is_stopped || self.failures.len() > failures_before {
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

/// Returns a name in the trash that nothing has.
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
    crate::disk::open::chmod_handle(&handle, Mode::RWXU)
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
