//! Sets and clears the write bits of files, never those of directories or links, and opens
//! read-only directories for the moment ([`DirectoryModes`]).
//!
//! A read-only directory would stop git itself in the middle of a checkout
//! (`docs/decisions/0005-write-bits.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;

use bstr::ByteSlice;
use camino::Utf8Path;
use rustix::fs::{AtFlags, Mode, fchmod, fstat, statat};
use rustix::io::Errno;

use crate::disk::entries::stat_entries;
use crate::disk::error::{Attempt as _, DiskError};
#[cfg(target_os = "linux")]
use crate::disk::open::chmod_handle;
use crate::disk::open::{Directories, is_unreachable, open_directory};
use crate::disk::pool::map_parallel;
use crate::disk::stat::{mode_from, stat_entry, stat_from};
use crate::inventory::manifest::Stat;
use crate::words::path::RepoPath;

/// Which write bits a file shall have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteBits {
    /// None (`a-w`).
    Cleared,
    /// The owner's (`u+w`); the others as they are.
    Owner,
}

/// What a change of write bits did, or would do ([`BitsChange::Preview`]).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ChangedBits {
    /// Files whose bits were changed.
    pub changed: Vec<RepoPath>,
    /// What each of them was before and is now.
    pub seen: Vec<SeenBits>,
    /// Files that keep their bits, and why: what the system said, or that they have other names,
    /// which may be files of the user's.
    pub refused: RefusedBits,
}

/// The files whose write bits cannot be set, each with the reason.
pub type RefusedBits = Vec<(RepoPath, String)>;

/// Leaves out the files whose write bits cannot be set.
pub fn remove_refused(files: &mut Vec<RepoPath>, refused: &RefusedBits) {
    let refused_paths: BTreeSet<&RepoPath> = refused.iter().map(|(path, _)| path).collect();
    files.retain(|path| !refused_paths.contains(path));
}

/// What a file was before its bits were changed, and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenBits {
    /// Before.
    pub before: Stat,
    /// After.
    pub after: Stat,
}

/// Whether bits are changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BitsChange {
    /// They are.
    Apply,
    /// They are not: the files whose bits would change are listed.
    Preview,
}

/// Gives each of these files, sorted by path, its write bits. What is absent, no regular file,
/// or behind a link is passed over.
///
/// # Errors
/// Fails when the root cannot be opened; a single file that refuses is in the answer.
pub fn set_write_bits(
    root: &Utf8Path,
    files: &[(RepoPath, WriteBits)],
    change: BitsChange,
) -> Result<ChangedBits, DiskError> {
    let results = map_parallel(
        files,
        || Directories::open(root),
        |directories, (path, bits)| Ok(set_bits(directories, path, *bits, change)),
    )?;
    let mut answer = ChangedBits::default();
    for ((path, _), result) in files.iter().zip(results) {
        match result {
            Ok(None) => {}
            Ok(Some(SeenBits { before, after })) => {
                if after.mode != before.mode {
                    answer.changed.push(path.clone());
                    answer.seen.push(SeenBits { before, after });
                }
            }
            Err(Errno::MLINK) => {
                let why = "it has other names (hard links), and they share its mode";
                answer.refused.push((path.clone(), why.to_owned()));
            }
            Err(error) => answer.refused.push((path.clone(), error.to_string())),
        }
    }
    Ok(answer)
}

/// Gives files, sorted by path, their permission bits, and returns the stat data of each file
/// then; none for an absent path and for one without bits.
///
/// # Errors
/// Fails when the root cannot be opened or a file refuses.
pub fn set_all_bits(
    root: &Utf8Path,
    files: &[(&RepoPath, Option<WriteBits>)],
) -> Result<Vec<Option<Stat>>, DiskError> {
    map_parallel(
        files,
        || Directories::open(root),
        |directories, (path, bits)| {
            let Some(bits) = bits else {
                return Ok(None);
            };
            let result = set_bits(directories, path, *bits, BitsChange::Apply);
            let shown = format_args!("{root}/{path}");
            let seen = result.attempting("set the permissions of", shown)?;
            Ok(seen.map(|seen| seen.after))
        },
    )
}

/// Sets the write bits of one file; none if nothing stands at the path. What is not a regular file
/// stays as it is. The bits of a file with other names, which share them, are not cleared: that
/// fails with `MLINK`.
fn set_bits(
    directories: &mut Directories,
    path: &RepoPath,
    bits: WriteBits,
    change: BitsChange,
) -> Result<Option<SeenBits>, Errno> {
    let directory = match directories.of(path) {
        Err(error) if is_unreachable(error) => return Ok(None),
        opened => opened?,
    };
    let name = path.file_name().as_bytes();
    let stat = match statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT) => return Ok(None),
        looked_at => looked_at?,
    };
    let before = stat_from(&stat);
    let mode = Mode::from_raw_mode(stat.st_mode);
    let wanted = match bits {
        WriteBits::Cleared => mode - (Mode::WUSR | Mode::WGRP | Mode::WOTH),
        WriteBits::Owner => mode | Mode::WUSR,
    };
    let after = if !before.is_file() || wanted == mode {
        before
    } else if stat.st_nlink > 1 && bits == WriteBits::Cleared {
        return Err(Errno::MLINK);
    } else if change == BitsChange::Preview {
        let changed_bits = (mode ^ wanted).bits() as u32;
        Stat {
            mode: before.mode ^ changed_bits,
            ..before
        }
    } else {
        chmod_file(directory, name, &stat, wanted)?;
        stat_entry(directory, name)?
    };
    Ok(Some(SeenBits { before, after }))
}

/// Sets the permissions of the file that was looked at, and of no other: a link, or another name of
/// the user's file, may stand there by now.
#[cfg(target_os = "linux")]
fn chmod_file(
    directory: &OwnedFd,
    name: &[u8],
    looked_at: &rustix::fs::Stat,
    mode: Mode,
) -> Result<(), Errno> {
    use rustix::fs::{OFlags, openat};
    let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let handle = openat(directory, name, flags, Mode::empty())?;
    let opened = fstat(&handle)?;
    if opened.st_dev != looked_at.st_dev || opened.st_ino != looked_at.st_ino {
        return Err(Errno::BUSY);
    }
    chmod_handle(&handle, mode)
}

/// Sets the permissions of a file, and not through a link.
#[cfg(not(target_os = "linux"))]
fn chmod_file(
    directory: &OwnedFd,
    name: &[u8],
    _looked_at: &rustix::fs::Stat,
    mode: Mode,
) -> Result<(), Errno> {
    rustix::fs::chmodat(directory, name, mode, AtFlags::SYMLINK_NOFOLLOW)
}

/// The permissions that directories are to have in the end, sorted by path, so that each is
/// after those above it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryModes(pub BTreeMap<RepoPath, u32>);

impl DirectoryModes {
    /// Returns those that these directories have now; what is not a directory is left out.
    ///
    /// # Errors
    /// Fails when the root, or something on the way, cannot be looked at.
    pub fn of<'p>(
        root: &Utf8Path,
        paths: impl Iterator<Item = &'p RepoPath>,
    ) -> Result<Self, DiskError> {
        let sorted: BTreeSet<&RepoPath> = paths.collect();
        let stats = stat_entries(root, sorted.into_iter())?;
        let mut modes = Self::default();
        for (path, stat) in stats.entries {
            if stat.is_directory() {
                modes.add_if_missing(path, stat.permissions());
            }
        }
        Ok(modes)
    }

    /// Adds a directory; the permissions that were added first stay.
    pub fn add_if_missing(&mut self, path: RepoPath, mode: u32) {
        self.0.entry(path).or_insert(mode);
    }

    /// Keeps only those that their owner cannot write to.
    pub fn closed(mut self) -> Self {
        self.0.retain(|_, mode| *mode & 0o700 != 0o700);
        self
    }

    /// Lets the owner write to each. What refuses is reported by the step that needs it.
    pub fn open(&self, root: &Utf8Path) {
        if self.0.is_empty() {
            return;
        }
        if let Ok(mut directories) = Directories::open(root) {
            // from a closed directory nothing below it can be reached
            for path in self.0.keys() {
                let _ = change_mode(&mut directories, path, |mode| mode | Mode::RWXU);
            }
        }
    }

    /// Gives each its permissions; what could not be done, a sentence each. What is gone is fine.
    #[must_use = "they are warnings for the user"]
    pub fn close(&self, root: &Utf8Path) -> Vec<String> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let mut directories = match Directories::open(root) {
            Ok(directories) => directories,
            Err(error) => return vec![error.to_string()],
        };
        let mut warnings = Vec::new();
        for (path, mode) in self.0.iter().rev() {
            match change_mode(&mut directories, path, |_| mode_from(*mode)) {
                Err(error) if !is_unreachable(error) => {
                    let why = std::io::Error::from(error);
                    warnings.push(format!("cannot set the permissions of {path}: {why}"));
                }
                Ok(()) | Err(_) => {}
            }
        }
        warnings
    }
}

/// Changes the mode of a directory, unless it is as wanted.
fn change_mode(
    directories: &mut Directories,
    path: &RepoPath,
    wanted: impl FnOnce(Mode) -> Mode,
) -> Result<(), Errno> {
    let parent = directories.of(path)?;
    let directory = open_directory(parent, path.file_name().as_bytes())?;
    let mode = Mode::from_raw_mode(fstat(&directory)?.st_mode);
    let wanted_mode = wanted(mode);
    if wanted_mode != mode {
        fchmod(&directory, wanted_mode)?;
    }
    Ok(())
}
