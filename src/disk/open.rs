//! Opens single entries of a worktree, never through a link.
//!
//! Every directory on the way is opened from the one above it without following links: what
//! stands behind a link is not in the worktree, whatever the path says (openat(2), `O_NOFOLLOW`).

use std::fs::File;
use std::io::Error;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

use bstr::{BStr, BString, ByteSlice};
use camino::Utf8Path;
use rustix::fs::{CWD, FileType, Mode, OFlags, openat, readlinkat};
use rustix::io::Errno;
use rustix::path::Arg;

use crate::disk::error::{Attempt as _, DiskError, is_missing};
use crate::disk::stat::{file_type, stat_entry, stat_of};
use crate::words::path::RepoPath;

/// How a directory is opened that is to be listed: never through a link.
pub(super) const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

/// Opens an entry of an open directory that is a directory itself, and not a link to one.
pub(super) fn open_directory(directory: impl AsFd, name: impl Arg) -> Result<OwnedFd, Errno> {
    openat(directory, name, DIRECTORY, Mode::empty())
}

/// Opens a directory whose name may be that of a link.
pub(super) fn open_root(root: &Utf8Path) -> Result<OwnedFd, DiskError> {
    let flags = DIRECTORY.difference(OFlags::NOFOLLOW);
    openat(CWD, root.as_std_path(), flags, Mode::empty()).attempting("open", root)
}

/// Opens a regular file without following a link; a FIFO put there since does not block.
///
/// # Errors
/// Fails when it cannot be opened, or something else stands there.
pub(super) fn open_regular(directory: impl AsFd, name: &[u8]) -> std::io::Result<File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = File::from(openat(directory, name, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(Error::other("it changed while it was read"));
    }
    Ok(file)
}

/// What stands at a path, opened for reading.
#[derive(Debug)]
pub enum Opened {
    /// A regular file.
    File {
        /// Its size in bytes.
        size: u64,
        /// True if its owner may execute it.
        executable: bool,
        /// Its content.
        content: File,
    },
    /// A symbolic link, with its text.
    Link(BString),
    /// Nothing, a directory, or what has no content.
    Other,
}

/// Opens what stands at a path of a worktree. Where a link or a file stands on the way, nothing
/// of the worktree does.
///
/// # Errors
/// Fails when it is there and cannot be read.
pub fn open_below(root: &Utf8Path, path: &RepoPath) -> std::io::Result<Opened> {
    let root = match open_directory(CWD, root.as_std_path()) {
        Err(error) if is_missing(&error.into()) => return Ok(Opened::Other),
        opened => opened?,
    };
    match Directories::below(root).of(path) {
        Err(error) if is_unreachable(error) => Ok(Opened::Other),
        directory => open_at(directory?, path.file_name()),
    }
}

/// Opens what stands at a path; a link at its end is not followed.
///
/// # Errors
/// Fails when it is there and cannot be read.
pub fn open_entry(path: &Path) -> std::io::Result<Opened> {
    open_at(CWD, path.as_os_str().as_encoded_bytes())
}

/// Opens an entry of an open directory.
fn open_at(directory: impl AsFd, name: &[u8]) -> std::io::Result<Opened> {
    let stat = match stat_entry(&directory, name) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Opened::Other),
        stat => stat?,
    };
    match file_type(&stat) {
        FileType::Symlink => {
            let text = readlinkat(&directory, name, Vec::new())?;
            Ok(Opened::Link(text.into_bytes().into()))
        }
        FileType::RegularFile => {
            let content = open_regular(&directory, name)?;
            let metadata = content.metadata()?;
            Ok(Opened::File {
                size: metadata.len(),
                executable: stat_of(&metadata).mode & 0o100 != 0,
                content,
            })
        }
        _other => Ok(Opened::Other),
    }
}

/// True if a path that failed so has nothing in the worktree: nothing is there, or a file or a link
/// stands on the way.
pub(super) fn is_unreachable(error: Errno) -> bool {
    matches!(error, Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
}

/// Sets the permissions of what a path handle (`O_PATH`) is of. Such a handle takes no fchmod(2): its
/// name in /proc is followed to it and nowhere else.
#[cfg(target_os = "linux")]
pub(super) fn chmod_handle(handle: &OwnedFd, mode: Mode) -> Result<(), Errno> {
    let itself = format!("/proc/self/fd/{}", std::os::fd::AsRawFd::as_raw_fd(handle));
    rustix::fs::chmod(itself, mode)
}

/// Keeps the directories open that lead to the last path, for paths that come sorted.
pub(super) struct Directories {
    root: OwnedFd,
    steps: Vec<Step>,
}

/// A directory on the way, or why it could not be opened.
struct Step {
    path: BString,
    directory: Result<OwnedFd, Errno>,
}

impl Directories {
    /// Starts at a root, which may be named by a link.
    pub fn open(root: &Utf8Path) -> Result<Self, DiskError> {
        Ok(Self::below(open_root(root)?))
    }

    const fn below(root: OwnedFd) -> Self {
        Self {
            root,
            steps: Vec::new(),
        }
    }

    /// Returns the directory that a path is in, or why it cannot be opened.
    pub fn of(&mut self, path: &RepoPath) -> Result<&OwnedFd, Errno> {
        let last = self.steps.last().map(|step| step.path.as_bstr());
        if last != path.parents().next() {
            self.go_to(path);
        }
        self.last()
    }

    /// Returns the first directory on the way to the last path that could not be opened.
    pub fn first_unopened(&self) -> Option<&BStr> {
        let step = self.steps.iter().find(|step| step.directory.is_err())?;
        Some(step.path.as_bstr())
    }

    fn last(&self) -> Result<&OwnedFd, Errno> {
        match self.steps.last() {
            Some(step) => step.directory.as_ref().map_err(|error| *error),
            None => Ok(&self.root),
        }
    }

    /// Opens what is missing on the way, and closes what is not on it.
    fn go_to(&mut self, path: &RepoPath) {
        let mut wanted: Vec<&BStr> = path.parents().collect();
        wanted.reverse();
        let mut shared = 0;
        while shared < wanted.len().min(self.steps.len())
            && self.steps[shared].path == wanted[shared]
        {
            shared += 1;
        }
        self.steps.truncate(shared);
        for directory in &wanted[shared..] {
            let name = last_component(directory);
            let opened = self.last().and_then(|above| open_directory(above, name));
            self.steps.push(Step {
                path: (*directory).to_owned(),
                directory: opened,
            });
        }
    }
}

/// Returns what stands after the last `/` of a path.
pub(super) fn last_component(path: &[u8]) -> &[u8] {
    match path.rfind_byte(b'/') {
        Some(slash) => &path[slash + 1..],
        None => path,
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make what they look at")]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_through_a_link() {
        let temporary = tempfile::tempdir().expect("a directory");
        let tmp = Utf8Path::from_path(temporary.path()).expect("it is UTF-8");
        let root = tmp.join("root");
        for directory in [tmp.join("out"), root.join("in/side")] {
            std::fs::create_dir_all(&directory).expect("a directory");
            std::fs::write(directory.join("f"), "text").expect("a file");
        }
        std::os::unix::fs::symlink(tmp.join("out"), root.join("link")).expect("a link");
        std::os::unix::fs::symlink("in", root.join("near")).expect("a link");
        let read = |text: &str| {
            let path = RepoPath::parse(text).expect("a path");
            match open_below(&root, &path).expect("it can be read") {
                Opened::File { size, .. } => format!("file {size}"),
                Opened::Link(_) => "link".to_owned(),
                Opened::Other => "nothing".to_owned(),
            }
        };
        for (path, stands) in [
            ("in/side/f", "file 4"),
            ("in/side", "nothing"),
            ("in/side/g", "nothing"),
            ("in/side/f/g", "nothing"),
            ("link", "link"),
            ("link/f", "nothing"),
            ("near/side/f", "nothing"),
        ] {
            assert_eq!(read(path), stands, "{path}");
        }
    }
}
