//! Deletes trees below an open directory, never through a link and never into another file
//! system: [`Deletion`].

use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use rustix::fs::{AtFlags, Dir, FileType, Mode, OFlags, fchmod, fstat, openat, renameat, unlinkat};
use rustix::io::Errno;

/// How many directories are held open on the way down: what is deeper is moved up first.
const DEPTH: usize = 100;

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Deletes trees, and remembers what cannot be deleted.
pub(super) struct Deletion<'a> {
    /// Where a tree that is too deep is moved to.
    top: &'a OwnedFd,
    until: Option<Instant>,
    depth: usize,
    moved_up: u64,
    /// Whether the time was over before all was done.
    pub stopped: bool,
    /// What stays, and why.
    pub failed: Vec<(String, String)>,
}

impl<'a> Deletion<'a> {
    pub fn new(top: &'a OwnedFd, until: Option<Instant>) -> Self {
        Self {
            top,
            until,
            depth: 0,
            moved_up: 0,
            stopped: false,
            failed: Vec::new(),
        }
    }

    fn is_over(&mut self) -> bool {
        self.stopped = self.stopped || self.until.is_some_and(|until| Instant::now() >= until);
        self.stopped
    }

    /// Deletes what has this name, a directory with all below it. `shown` is its path for people.
    pub fn entry(&mut self, above: &OwnedFd, name: &[u8], shown: &str) {
        if let Err(error) = self.tree(above, name, shown)
            && !self.stopped
        {
            let why = std::io::Error::from(error).to_string();
            self.failed.push((shown.to_owned(), why));
        }
    }

    fn tree(&mut self, above: &OwnedFd, name: &[u8], shown: &str) -> Result<(), Errno> {
        if self.depth >= DEPTH {
            return self.move_up(above, name);
        }
        let directory = match open_directory(above, name) {
            Err(Errno::NOENT) => return Ok(()),
            // a link, or no directory by now
            Err(Errno::LOOP | Errno::NOTDIR) => return unlink(above, name),
            other => other?,
        };
        if is_mount_point(above, &directory)? {
            return Err(Errno::BUSY);
        }
        self.depth += 1;
        let failures = self.failed.len();
        let content = self.content(&directory, shown);
        self.depth -= 1;
        content?;
        if self.stopped || self.failed.len() > failures {
            // what is in it was named
            return Ok(());
        }
        match unlinkat(above, name, AtFlags::REMOVEDIR) {
            Err(Errno::NOENT) => Ok(()),
            other => other,
        }
    }

    /// Deletes all that is in a directory.
    pub fn content(&mut self, directory: &OwnedFd, shown: &str) -> Result<(), Errno> {
        let mut names: Vec<(Vec<u8>, FileType)> = Vec::new();
        for entry in Dir::read_from(directory)? {
            let entry = entry?;
            let name = entry.file_name().to_bytes();
            if !matches!(name, b"." | b"..") {
                names.push((name.to_vec(), entry.file_type()));
            }
        }
        for (at, (name, kind)) in names.iter().enumerate() {
            if at % 64 == 0 && self.is_over() {
                return Ok(());
            }
            let below = || {
                let name = crate::path::escape_for_terminal(name);
                if shown.is_empty() {
                    name
                } else {
                    format!("{shown}/{name}")
                }
            };
            let is_file = !matches!(kind, FileType::Directory | FileType::Unknown);
            match is_file.then(|| unlink(directory, name)) {
                Some(Ok(())) => {}
                Some(Err(Errno::ISDIR | Errno::PERM)) | None => {
                    self.entry(directory, name, &below());
                }
                Some(Err(error)) => {
                    let why = std::io::Error::from(error).to_string();
                    self.failed.push((below(), why));
                }
            }
            if self.stopped {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Moves a tree that is too deep to the top, where the next round finds it.
    fn move_up(&mut self, above: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
        self.moved_up += 1;
        let there = format!("{}-{}", super::unused("deep"), self.moved_up);
        drop(open_directory(above, name)?);
        renameat(above, name, self.top, &*there)
    }
}

/// Unlinks what is no directory; a directory that is not writable is made so.
fn unlink(above: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    match unlinkat(above, name, AtFlags::empty()) {
        Err(Errno::ACCESS) => {
            let mode = Mode::from_raw_mode(fstat(above)?.st_mode);
            fchmod(above, mode | Mode::RWXU)?;
            match unlinkat(above, name, AtFlags::empty()) {
                Err(Errno::NOENT) => Ok(()),
                other => other,
            }
        }
        Err(Errno::NOENT) => Ok(()),
        other => other,
    }
}

/// Opens a directory without following a link, so that what is in it can be unlinked: its owner
/// is let in where it is closed.
pub(super) fn open_directory(above: &OwnedFd, name: &[u8]) -> Result<OwnedFd, Errno> {
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
