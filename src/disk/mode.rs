//! Sets and clears the write bits of files; never those of directories or links.
//!
//! A read-only directory would stop git itself in the middle of a checkout
//! (`docs/decisions/0005-write-bits.md`).

use bstr::ByteSlice;
use camino::Utf8Path;
use rustix::fs::{AtFlags, FileType, Mode, chmodat, statat};

use super::directories::Directories;
use super::error::DiskError;
use super::pool::in_blocks;
use super::stat::stat_from;
use crate::manifest::Stat;
use crate::path::RepoPath;

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
    /// What each of them was before and is now ([`Doing::Watched`]).
    pub seen: Vec<Seen>,
    /// Files that keep their bits, and why: what the system said, or that they have other names,
    /// which may be files of the user's.
    pub refused: Vec<(RepoPath, String)>,
}

/// Holds what a file was before its bits were changed, and after.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
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
    /// Change them, and look at each file afterwards.
    Watched,
    /// Only list the files whose bits would change.
    Look,
}

/// How many files a thread takes at once.
const BLOCK: usize = 512;

const OTHER_NAMES: &str = "it has other names (hard links), and they share its mode";

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
    let mut all = Applied::default();
    for part in in_blocks(files, BLOCK, |part| set_in_order(root, part, doing)) {
        let part = part?;
        all.changed.extend(part.changed);
        all.seen.extend(part.seen);
        all.refused.extend(part.refused);
    }
    Ok(all)
}

/// Gives the files of a checkout, sorted by path, their write bits, and says what stands on disk of
/// each path then; nothing for an absent path and for one without bits.
///
/// # Errors
/// Fails when the root cannot be opened or a file refuses.
pub fn set_bits_of_checkout(
    root: &Utf8Path,
    files: &[(&RepoPath, Option<WriteBits>)],
) -> Result<Vec<Option<Stat>>, DiskError> {
    let set_part = |part: &[(&RepoPath, Option<WriteBits>)]| {
        let mut directories = Directories::open(root)?;
        let mut set = |(path, bits): &(&RepoPath, Option<WriteBits>)| {
            let Some(bits) = bits else { return Ok(None) };
            let Ok(directory) = directories.of(path) else {
                return Ok(None);
            };
            let name = path.file_name().as_bytes();
            let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
                return Ok(None);
            };
            let wanted = bits.of(Mode::from_raw_mode(stat.st_mode));
            let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
            if !is_file || wanted == Mode::from_raw_mode(stat.st_mode) {
                return Ok(Some(stat_from(&stat)));
            }
            let set = chmodat(directory, name, wanted, AtFlags::empty());
            let stat = set.and_then(|()| statat(directory, name, AtFlags::SYMLINK_NOFOLLOW));
            let failed =
                |error| DiskError::new(format!("set the permissions of {root}/{path}"), error);
            stat.map(|stat| Some(stat_from(&stat))).map_err(failed)
        };
        part.iter().map(&mut set).collect::<Result<Vec<_>, _>>()
    };
    let parts: Result<Vec<_>, _> = in_blocks(files, BLOCK, set_part).into_iter().collect();
    Ok(parts?.concat())
}

impl WriteBits {
    fn of(self, now: Mode) -> Mode {
        match self {
            Self::Cleared => now - (Mode::WUSR | Mode::WGRP | Mode::WOTH),
            Self::Owner => now | Mode::WUSR,
        }
    }
}

fn set_in_order(
    root: &Utf8Path,
    files: &[(RepoPath, WriteBits)],
    doing: Doing,
) -> Result<Applied, DiskError> {
    let mut directories = Directories::open(root)?;
    let mut applied = Applied::default();
    for (path, bits) in files {
        let Ok(directory) = directories.of(path) else {
            continue;
        };
        let name = path.file_name().as_bytes();
        let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
            continue;
        }
        let now = Mode::from_raw_mode(stat.st_mode);
        let wanted = bits.of(now);
        if wanted == now {
            continue;
        }
        if stat.st_nlink > 1 && bits == &WriteBits::Cleared {
            // its mode is that of its other names
            applied.refused.push((path.clone(), OTHER_NAMES.to_owned()));
            continue;
        }
        let set = || chmodat(directory, name, wanted, AtFlags::empty());
        let done = match doing {
            Doing::Change => set().map(|()| None),
            Doing::Watched => {
                set().and_then(|()| statat(directory, name, AtFlags::SYMLINK_NOFOLLOW).map(Some))
            }
            Doing::Look => Ok(None),
        };
        match done {
            Ok(after) => {
                applied.changed.push(path.clone());
                applied.seen.extend(after.map(|after| Seen {
                    before: stat_from(&stat),
                    after: stat_from(&after),
                }));
            }
            Err(error) => applied.refused.push((path.clone(), error.to_string())),
        }
    }
    Ok(applied)
}

/// Makes every directory below this one, and itself, readable and writable for its owner, so
/// that it can be removed. Links are not followed.
///
/// # Errors
/// Fails when one cannot be changed or read.
#[expect(clippy::disallowed_methods, reason = "the boundary to the disk")]
pub fn make_directories_writable(directory: &Utf8Path) -> Result<(), DiskError> {
    use std::os::unix::fs::PermissionsExt;
    let failed = |error| DiskError::new(format!("make {directory} writable"), error);
    let mut left = vec![directory.as_std_path().to_owned()];
    while let Some(next) = left.pop() {
        let metadata = std::fs::symlink_metadata(&next).map_err(failed)?;
        if metadata.permissions().mode() & 0o700 != 0o700 {
            let mode = metadata.permissions().mode() | 0o700;
            std::fs::set_permissions(&next, std::fs::Permissions::from_mode(mode))
                .map_err(failed)?;
        }
        for entry in std::fs::read_dir(&next).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            if entry.file_type().map_err(failed)?.is_dir() {
                left.push(entry.path());
            }
        }
    }
    Ok(())
}
