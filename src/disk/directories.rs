//! Keeps the directories open that lead to a path, for paths that come sorted: [`Directories`].
//!
//! Each is opened from the one above it without following a link, so that whatever is looked at
//! is below the root (openat(2), `O_NOFOLLOW`).

use std::os::fd::OwnedFd;

use bstr::{BStr, BString, ByteSlice};
use camino::Utf8Path;
use rustix::fs::{CWD, Mode, OFlags, openat};
use rustix::io::Errno;

use super::error::DiskError;
use crate::path::RepoPath;

/// Holds open directories on the way to the last path.
pub(super) struct Directories {
    root: OwnedFd,
    open: Vec<(BString, Result<OwnedFd, Errno>)>,
}

/// How a directory is opened that is to be listed: never through a link.
pub(super) const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Directories {
    pub fn open(root: &Utf8Path) -> Result<Self, DiskError> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let root = openat(CWD, root.as_std_path(), flags, Mode::empty())
            .map_err(|error| DiskError::new(format!("open {root}"), error))?;
        Ok(Self {
            root,
            open: Vec::new(),
        })
    }

    /// The directory that a path is in; why not, where it is none or cannot be opened.
    pub fn of(&mut self, path: &RepoPath) -> Result<&OwnedFd, Errno> {
        let open = self.open.last().map(|(open, _)| open.as_bstr());
        if open != path.parents().next() {
            self.go_to(path);
        }
        match self.open.last() {
            Some((_, fd)) => fd.as_ref().map_err(|error| *error),
            None => Ok(&self.root),
        }
    }

    /// The first directory on the way to the last path that could not be opened.
    pub fn closed(&self) -> Option<&BStr> {
        let closed = self.open.iter().find(|(_, fd)| fd.is_err());
        closed.map(|(path, _)| path.as_bstr())
    }

    /// Opens what is missing on the way, and closes what is not on it.
    fn go_to(&mut self, path: &RepoPath) {
        let mut wanted: Vec<&BStr> = path.parents().collect();
        wanted.reverse();
        let shared = self
            .open
            .iter()
            .zip(&wanted)
            .take_while(|((have, _), want)| have == *want);
        let shared = shared.count();
        self.open.truncate(shared);
        for directory in &wanted[shared..] {
            let above = match self.open.last() {
                Some((_, above)) => above.as_ref().map_err(|error| *error),
                None => Ok(&self.root),
            };
            let name = directory.rsplit(|b| *b == b'/').next().unwrap_or(directory);
            let fd = above.and_then(|fd| openat(fd, name, DIRECTORY, Mode::empty()));
            self.open.push(((*directory).to_owned(), fd));
        }
    }
}
