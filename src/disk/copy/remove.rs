//! Removes placed files again, and the directories that were made for them.

use std::os::fd::{AsFd, OwnedFd};

use bstr::{BStr, BString, ByteSlice};
use camino::Utf8Path;
use rustix::fs::{AtFlags, CWD, FileType, Mode, fchmod, fstat, openat, statat, unlinkat};
use rustix::io::Errno;

use super::stage::DIRECTORY;
use crate::disk::DiskError;
use crate::disk::directory_modes::DirectoryModes;
use crate::disk::stat::stat_from;
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::PlacedKind;

/// Holds one placed file, and how it must be to be removed.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Its path.
    pub path: &'a RepoPath,
    /// What it is.
    pub kind: PlacedKind,
    /// Its stat data now; of a directory only that it is one.
    pub stat: Stat,
}

/// Holds what was removed, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// What was removed, in that order. What was not there is in neither list.
    pub removed: Vec<RepoPath>,
    /// What stayed, and why.
    pub stayed: Vec<(RepoPath, String)>,
}

/// Removes placed files that are as expected, what is in a directory before it; a directory only
/// when it is empty then, and with the permissions that it had where it is not. Never through a
/// link.
///
/// # Errors
/// Fails when the destination cannot be opened; what stays is in the answer.
pub fn remove_placed(destination: &Utf8Path, files: &[Expected<'_>]) -> Result<Removed, DiskError> {
    let mut files = files.to_vec();
    // a directory is before what is in it, so the other way round
    files.sort_unstable_by(|a, b| b.path.cmp(a.path));
    let open = openat(CWD, destination.as_std_path(), DIRECTORY, Mode::empty());
    let root = open.map_err(|error| DiskError::new(format!("open {destination}"), error))?;
    let mut way = Way::new(root);
    let mut done = Removed::default();
    let mut opened = Vec::new();
    for file in &files {
        match remove(&mut way, file, &files, &mut opened) {
            Ok(()) => done.removed.push(file.path.clone()),
            Err(Stays::Gone) => {}
            Err(Stays::Because(reason)) => done.stayed.push((file.path.clone(), reason)),
        }
    }
    // one that cannot be closed is somebody else's by now
    let _ = DirectoryModes::new(opened.into_iter()).close(destination);
    Ok(done)
}

enum Stays {
    Gone,
    Because(String),
}

impl From<Errno> for Stays {
    fn from(error: Errno) -> Self {
        match error {
            Errno::NOENT => Self::Gone,
            Errno::NOTEMPTY | Errno::EXIST => Self::Because("other files are in it".to_owned()),
            // of a directory on the way
            Errno::NOTDIR | Errno::LOOP => {
                Self::Because("something else stands where its directory was".to_owned())
            }
            error => Self::Because(std::io::Error::from(error).to_string()),
        }
    }
}

/// Removes one; `opened` gets the directory that it is in where that had to be made writable.
fn remove(
    way: &mut Way,
    file: &Expected<'_>,
    ours: &[Expected<'_>],
    opened: &mut Vec<(RepoPath, u32)>,
) -> Result<(), Stays> {
    let name = file.path.file_name().as_bytes();
    let above = way.to(file.path)?;
    let found = stat_from(&statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?);
    let is = FileType::from_raw_mode(found.mode);
    let (same, flags) = match file.kind {
        PlacedKind::Directory => (is == FileType::Directory, AtFlags::REMOVEDIR),
        PlacedKind::File | PlacedKind::Link => (found == file.stat, AtFlags::empty()),
    };
    if !same {
        return Err(Stays::Because("it was changed".to_owned()));
    }
    match unlinkat(above, name, flags) {
        Err(Errno::ACCESS) if is_ours(file.path, ours) => {
            let before = make_writable(above)?;
            opened.extend(file.path.parent().map(|parent| (parent, before)));
            unlinkat(above, name, flags)?;
        }
        other => other?,
    }
    Ok(())
}

/// Whether the directory that a path is in is one of those to be removed.
fn is_ours(path: &RepoPath, ours: &[Expected<'_>]) -> bool {
    path.parent().is_some_and(|parent| {
        ours.binary_search_by(|file| parent.cmp(file.path))
            .is_ok_and(|at| ours[at].kind == PlacedKind::Directory)
    })
}

/// Returns the permissions that it had.
fn make_writable(directory: &OwnedFd) -> Result<u32, Errno> {
    let mode = Mode::from_raw_mode(fstat(directory)?.st_mode);
    fchmod(directory, mode | Mode::RWXU)?;
    Ok(mode.bits() as u32)
}

/// Holds open directories on the way to the last path, each opened from the one above it without
/// following a link.
pub(super) struct Way {
    root: OwnedFd,
    open: Vec<(BString, OwnedFd)>,
}

impl Way {
    pub fn new(root: OwnedFd) -> Self {
        Self {
            root,
            open: Vec::new(),
        }
    }

    /// The directory that a path is in.
    pub fn to(&mut self, path: &RepoPath) -> Result<&OwnedFd, Errno> {
        let mut wanted: Vec<&BStr> = path.parents().collect();
        wanted.reverse();
        let same = self.open.iter().zip(&wanted);
        let shared = same.take_while(|((have, _), want)| have == *want).count();
        self.open.truncate(shared);
        for directory in &wanted[shared..] {
            let above = self.open.last().map_or(&self.root, |(_, fd)| fd);
            let name = directory.rsplit(|b| *b == b'/').next().unwrap_or(directory);
            let fd = openat(above.as_fd(), name, DIRECTORY, Mode::empty())?;
            self.open.push(((*directory).to_owned(), fd));
        }
        Ok(self.open.last().map_or(&self.root, |(_, fd)| fd))
    }
}
