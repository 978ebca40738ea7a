//! Opens read-only directories for the moment, and closes them again: [`DirectoryModes`].

use bstr::ByteSlice;
use camino::Utf8Path;
use rustix::fs::{Mode, OFlags, fchmod, fstat, openat};
use rustix::io::Errno;

use super::directories::Directories;
use super::error::DiskError;
use super::standing::standing;
use crate::path::RepoPath;

/// Holds the permissions that directories are to have in the end.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryModes {
    /// Sorted by path, so that each is after those above it.
    modes: Vec<(RepoPath, u32)>,
}

impl DirectoryModes {
    /// Those that these directories have now; what is none is left out.
    ///
    /// # Errors
    /// Fails when the root, or something on the way, cannot be looked at.
    pub fn of<'p>(
        root: &Utf8Path,
        paths: impl Iterator<Item = &'p RepoPath>,
    ) -> Result<Self, DiskError> {
        let mut paths: Vec<&RepoPath> = paths.collect();
        paths.sort_unstable();
        paths.dedup();
        let stands = standing(root, paths.into_iter())?.entries;
        let directories = stands.into_iter().filter(|(_, stat)| stat.is_directory());
        Ok(Self::new(
            directories.map(|(path, stat)| (path, stat.permissions())),
        ))
    }

    /// These ones, each once.
    #[must_use]
    pub fn new(modes: impl Iterator<Item = (RepoPath, u32)>) -> Self {
        let mut modes: Vec<_> = modes.collect();
        modes.sort_unstable();
        modes.dedup_by(|a, b| a.0 == b.0);
        Self { modes }
    }

    /// Gives a directory that has none of these permissions yet.
    pub fn add(&mut self, path: RepoPath, mode: u32) {
        if let Err(at) = self.modes.binary_search_by(|(have, _)| have.cmp(&path)) {
            self.modes.insert(at, (path, mode));
        }
    }

    /// Keeps only those that their owner cannot write to.
    #[must_use]
    pub fn closed(mut self) -> Self {
        let all = Mode::RWXU;
        self.modes
            .retain(|(_, mode)| !Mode::from_raw_mode(*mode as _).contains(all));
        self
    }

    /// Lets the owner write to each. What refuses is told by the step that needs it.
    pub fn open(&self, root: &Utf8Path) {
        let all = self.modes.iter();
        let _ = set(root, all, |now, _| now | Mode::RWXU);
    }

    /// Gives each its permissions; what could not be done, a sentence each. What is gone is fine.
    #[must_use = "they are warnings for the user"]
    pub fn close(&self, root: &Utf8Path) -> Vec<String> {
        // from one that is closed nothing below it can be reached
        let all = self.modes.iter().rev();
        set(root, all, |_, wanted| wanted)
    }
}

fn set<'m>(
    root: &Utf8Path,
    modes: impl Iterator<Item = &'m (RepoPath, u32)>,
    wanted: impl Fn(Mode, Mode) -> Mode,
) -> Vec<String> {
    let mut modes = modes.peekable();
    if modes.peek().is_none() {
        return Vec::new();
    }
    let mut directories = match Directories::open(root) {
        Ok(directories) => directories,
        Err(error) => return vec![error.to_string()],
    };
    let mut one = |path: &RepoPath, mode: u32| -> Result<(), Errno> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let above = directories.of(path)?;
        let directory = openat(above, path.file_name().as_bytes(), flags, Mode::empty())?;
        let now = Mode::from_raw_mode(fstat(&directory)?.st_mode);
        let wanted = wanted(now, Mode::from_raw_mode(mode as _));
        if wanted == now {
            return Ok(());
        }
        fchmod(&directory, wanted)
    };
    let mut failed = Vec::new();
    for (path, mode) in modes {
        match one(path, *mode) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => {}
            Err(error) => {
                let error = std::io::Error::from(error);
                failed.push(format!("cannot set the permissions of {path}: {error}"));
            }
        }
    }
    failed
}
