//! Sets and clears the write bits of files, never those of directories or links, and opens
//! read-only directories for the moment ([`DirectoryModes`]).
//!
//! A read-only directory would stop git itself in the middle of a checkout
//! (`docs/decisions/0005-write-bits.md`).

use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use bstr::ByteSlice;
use camino::Utf8Path;
use rustix::fs::{AtFlags, FileType, Mode, chmodat, fchmod, fstat, openat, statat};
use rustix::io::Errno;

use crate::disk::DiskError;
use crate::disk::below::{DIRECTORY, Directories};
use crate::disk::entries::standing;
use crate::disk::pool::map_parallel;
use crate::disk::stat::stat_from;
use crate::inventory::manifest::Stat;
use crate::words::path::RepoPath;

/// Says which write bits a file shall have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum WriteBits {
    /// None (`a-w`).
    Cleared,
    /// The owner's (`u+w`); the others as they are.
    Owner,
}

/// Holds what a change of write bits did.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Applied {
    /// Files whose bits were changed.
    pub changed: Vec<RepoPath>,
    /// What each of them was before and is now.
    pub seen: Vec<SeenBits>,
    /// Files that keep their bits, and why: what the system said, or that they have other names,
    /// which may be files of the user's.
    pub refused: Vec<(RepoPath, String)>,
}

/// Holds what a file was before its bits were changed, and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SeenBits {
    /// Before.
    pub before: Stat,
    /// After.
    pub after: Stat,
}

/// Says whether bits are changed or only looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Doing {
    /// Change them.
    Change,
    /// Only list the files whose bits would change.
    Look,
}

/// Gives each of these files, sorted by path, its write bits. What is absent, no regular file,
/// or behind a link is passed over.
///
/// # Errors
/// Fails when the root cannot be opened; a single file that refuses is in the answer.
pub fn set_write_bits(
    root: &Utf8Path,
    files: &[(RepoPath, WriteBits)],
    doing: Doing,
) -> Result<Applied, DiskError> {
    let start = || Directories::open(root);
    let all = map_parallel(files, start, |directories, (path, bits)| {
        Ok::<_, DiskError>(set(directories, path, *bits, doing))
    })?;
    let mut applied = Applied::default();
    for ((path, _), (before, after)) in files.iter().zip(all).filter_map(|(f, a)| Some((f, a?))) {
        match after {
            Ok(after) if after.mode == before.mode => {}
            Ok(after) => {
                applied.changed.push(path.clone());
                applied.seen.push(SeenBits { before, after });
            }
            Err(Errno::MLINK) => {
                let why = "it has other names (hard links), and they share its mode";
                applied.refused.push((path.clone(), why.to_owned()));
            }
            Err(error) => applied.refused.push((path.clone(), error.to_string())),
        }
    }
    Ok(applied)
}

/// Gives files, sorted by path, their permission bits, and says what stands on disk of each path
/// then; nothing for an absent path and for one without bits.
///
/// # Errors
/// Fails when the root cannot be opened or a file refuses.
pub fn set_all_bits(
    root: &Utf8Path,
    files: &[(&RepoPath, Option<WriteBits>)],
) -> Result<Vec<Option<Stat>>, DiskError> {
    let start = || Directories::open(root);
    map_parallel(files, start, |directories, (path, bits)| {
        let changed = bits.and_then(|bits| set(directories, path, bits, Doing::Change));
        let after = changed.map(|(_, after)| after).transpose();
        let failed = |error| DiskError::new(format!("set the permissions of {root}/{path}"), error);
        after.map_err(failed)
    })
}

/// Returns what stood at a path before its bits were set, and what stands there now; none where
/// nothing does. `MLINK` says that the bits are those of other names too.
fn set(
    directories: &mut Directories,
    path: &RepoPath,
    bits: WriteBits,
    doing: Doing,
) -> Option<(Stat, Result<Stat, Errno>)> {
    let directory = directories.of(path).ok()?;
    let name = path.file_name().as_bytes();
    let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
    let now = Mode::from_raw_mode(stat.st_mode);
    let wanted = match bits {
        WriteBits::Cleared => now - (Mode::WUSR | Mode::WGRP | Mode::WOTH),
        WriteBits::Owner => now | Mode::WUSR,
    };
    let before = stat_from(&stat);
    let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    if !is_file || wanted == now {
        return Some((before, Ok(before)));
    }
    if stat.st_nlink > 1 && bits == WriteBits::Cleared {
        return Some((before, Err(Errno::MLINK)));
    }
    if doing == Doing::Look {
        let mode = before.mode ^ (now ^ wanted).bits() as u32;
        return Some((before, Ok(Stat { mode, ..before })));
    }
    let set = chmodat(directory, name, wanted, AtFlags::empty());
    let after = set.and_then(|()| statat(directory, name, AtFlags::SYMLINK_NOFOLLOW));
    Some((before, after.map(|stat| stat_from(&stat))))
}

/// Makes every directory below this one, and itself, readable and writable for its owner, so
/// that it can be removed. Links are not followed.
///
/// # Errors
/// Fails when one cannot be changed or read.
pub fn make_directories_writable(directory: &Utf8Path) -> Result<(), DiskError> {
    make_writable(directory, None)
}

/// As [`make_directories_writable`], files too, and removes what else stands there and is not to be kept.
///
/// # Errors
/// Fails when something cannot be changed, read or removed.
#[expect(clippy::disallowed_methods, reason = "the boundary to the disk")]
pub fn make_writable(directory: &Utf8Path, is_kept: Option<IsKept<'_>>) -> Result<(), DiskError> {
    let failed = |error| DiskError::new(format!("make {directory} writable"), error);
    let mut left = vec![directory.as_std_path().to_owned()];
    let allow = |path: &Path, bits: u32| {
        let mode = std::fs::symlink_metadata(path)?.permissions().mode();
        if mode & bits == bits {
            return Ok(());
        }
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode | bits))
    };
    while let Some(next) = left.pop() {
        match allow(&next, 0o700) {
            // nothing that git made
            Err(error) if error.kind() == std::io::ErrorKind::InvalidFilename => continue,
            done => done.map_err(failed)?,
        }
        for entry in std::fs::read_dir(&next).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let (path, kind) = (entry.path(), entry.file_type().map_err(failed)?);
            let is_kept = is_kept.map(|is_kept| is_kept(&path, kind));
            let done = match is_kept {
                None | Some(true) if kind.is_dir() => {
                    left.push(path);
                    Ok(())
                }
                Some(true) => allow(&path, 0o600),
                Some(false) if kind.is_dir() => std::fs::remove_dir_all(&path),
                Some(false) => std::fs::remove_file(&path),
                None => Ok(()),
            };
            done.map_err(failed)?;
        }
    }
    Ok(())
}

/// Says whether something is to be kept; of what is, only files and directories are made writable.
type IsKept<'a> = &'a dyn Fn(&Path, std::fs::FileType) -> bool;

/// Holds the permissions that directories are to have in the end, sorted by path, so that each is
/// after those above it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DirectoryModes(pub BTreeMap<RepoPath, u32>);

impl DirectoryModes {
    /// Those that these directories have now; what is none is left out.
    ///
    /// # Errors
    /// Fails when the root, or something on the way, cannot be looked at.
    pub fn of<'p>(
        root: &Utf8Path,
        paths: impl Iterator<Item = &'p RepoPath>,
    ) -> Result<Self, DiskError> {
        let paths: BTreeSet<&RepoPath> = paths.collect();
        let stands = standing(root, paths.into_iter())?.entries;
        let directories = stands.into_iter().filter(|(_, stat)| stat.is_directory());
        let modes = directories.map(|(path, stat)| (path, stat.permissions()));
        Ok(Self(modes.collect()))
    }

    /// Gives a directory that has none of these permissions yet.
    pub fn add(&mut self, path: RepoPath, mode: u32) {
        self.0.entry(path).or_insert(mode);
    }

    /// Keeps only those that their owner cannot write to.
    pub fn closed(mut self) -> Self {
        self.0.retain(|_, mode| *mode & 0o700 != 0o700);
        self
    }

    /// Lets the owner write to each. What refuses is told by the step that needs it.
    pub fn open(&self, root: &Utf8Path) {
        let _ = self.set(root, true);
    }

    /// Gives each its permissions; what could not be done, a sentence each. What is gone is fine.
    #[must_use = "they are warnings for the user"]
    pub fn close(&self, root: &Utf8Path) -> Vec<String> {
        self.set(root, false)
    }

    fn set(&self, root: &Utf8Path, open: bool) -> Vec<String> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let mut directories = match Directories::open(root) {
            Ok(directories) => directories,
            Err(error) => return vec![error.to_string()],
        };
        let mut set_one = |path: &RepoPath, mode: &u32| -> Result<(), Errno> {
            let above = directories.of(path)?;
            let name = path.file_name().as_bytes();
            let directory = openat(above, name, DIRECTORY, Mode::empty())?;
            let now = Mode::from_raw_mode(fstat(&directory)?.st_mode);
            let wanted = if open {
                now | Mode::RWXU
            } else {
                Mode::from_raw_mode(*mode as _)
            };
            if wanted == now {
                return Ok(());
            }
            fchmod(&directory, wanted)
        };
        let mut set_one = |(path, mode)| match set_one(path, mode) {
            Ok(()) | Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => None,
            Err(error) => {
                let error = std::io::Error::from(error);
                Some(format!("cannot set the permissions of {path}: {error}"))
            }
        };
        // from a closed directory nothing below it can be reached
        if open {
            self.0.iter().filter_map(&mut set_one).collect()
        } else {
            self.0.iter().rev().filter_map(&mut set_one).collect()
        }
    }
}
