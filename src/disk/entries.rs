//! Looks at, removes and writes single entries of a worktree, never through a link.
//!
//! Every directory on the way is opened from the one above it without following links, so that
//! nothing outside of the worktree is ever touched (openat(2), `O_NOFOLLOW`).

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::os::fd::OwnedFd;

use bstr::ByteSlice;
use camino::Utf8Path;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use rustix::fs::{fchmod, fstat, mkdirat, openat, statat, symlinkat, unlinkat};
use rustix::io::Errno;

use crate::disk::DiskError;
use crate::disk::below::{DIRECTORY, Directories};
use crate::disk::copy::settle::move_new;
use crate::disk::pool::map_parallel;
use crate::disk::stat::{is_regular, stat_from};
use crate::inventory::manifest::Stat;
use crate::words::entry::Mode as Kind;
use crate::words::path::RepoPath;

/// Holds what stands where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stands {
    /// What stands at a path that was asked for; a link is not followed.
    pub entries: BTreeMap<RepoPath, Stat>,
    /// What is not a directory and stands above a path that was asked for: a link or a file.
    pub in_the_way: BTreeSet<RepoPath>,
}

/// Looks at every path, with several threads where there are many; it is fast when they are
/// sorted.
///
/// # Errors
/// Fails when the root, or something on the way, cannot be looked at.
pub fn standing<'p>(
    root: &Utf8Path,
    paths: impl Iterator<Item = &'p RepoPath>,
) -> Result<Stands, DiskError> {
    let paths: Vec<&RepoPath> = paths.collect();
    let start = || Directories::open(root);
    let found = map_parallel(&paths, start, |directories, path| {
        look_at(directories, path)
            .map_err(|error| DiskError::new(format!("look at {root}/{path}"), error))
    })?;
    let mut stands = Stands::default();
    for (path, stand) in paths.into_iter().zip(found) {
        match stand {
            Some(Ok(found)) => drop(stands.entries.insert(path.clone(), found)),
            Some(Err(above)) => drop(stands.in_the_way.insert(above)),
            None => {}
        }
    }
    Ok(stands)
}

/// What stands at a path, or above it where that is not a directory.
fn look_at(
    directories: &mut Directories,
    path: &RepoPath,
) -> Result<Option<Result<Stat, RepoPath>>, Errno> {
    let above = match directories.of(path) {
        Err(Errno::NOENT) => return Ok(None),
        Err(Errno::NOTDIR | Errno::LOOP) => {
            let above = directories.closed();
            return Ok(above.and_then(|above| Some(Err(RepoPath::parse(above).ok()?))));
        }
        other => other?,
    };
    let name = path.file_name().as_bytes();
    match statat(above, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(Ok(stat_from(&stat)))),
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(error),
    }
}

/// Removes what stands at a path, and leaves the directories above; whether anything was removed.
/// Nothing there, or a link or file on the way, is fine: then nothing of ours is there.
///
/// # Errors
/// Fails when it cannot be removed, also when it is a directory with something in it.
pub fn remove_alone(root: &Utf8Path, path: &RepoPath) -> Result<bool, DiskError> {
    match unlink(root, path.as_bstr()) {
        Ok(()) => Ok(true),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(false),
        Err(error) => Err(DiskError::new(format!("remove {path}"), error)),
    }
}

/// As [`remove_alone`], with the directories above that are empty then.
///
/// # Errors
/// As [`remove_alone`].
pub fn remove_entry(root: &Utf8Path, path: &RepoPath) -> Result<(), DiskError> {
    if remove_alone(root, path)? {
        let _ = path.parents().try_for_each(|above| unlink(root, above));
    }
    Ok(())
}

/// Makes the directories on the way to a path that are there writable for their owner, so that
/// git can write into them. What cannot be made so is told by git.
pub fn make_way(root: &Utf8Path, path: &RepoPath) {
    let _ = parent_of(root, path.as_bstr(), false);
}

/// The permission bits of the file that stands at a path; none when no file does.
///
/// # Errors
/// As [`standing`].
pub fn permissions(root: &Utf8Path, path: &RepoPath) -> Result<Option<u32>, DiskError> {
    let stands = standing(root, std::iter::once(path))?;
    let file = stands.entries.get(path).filter(|stat| is_regular(stat));
    Ok(file.map(|stat| stat.mode & 0o7777))
}

/// Puts something where nothing stands; the directories above it are made. A file or directory
/// gets exactly these permission bits, if any are given, and never more: it may be a key.
///
/// # Errors
/// Fails when something stands there or on the way, or the disk refuses.
pub fn put_entry(
    root: &Utf8Path,
    path: &RepoPath,
    (kind, bytes): (Kind, &[u8]),
    permissions: Option<u32>,
) -> Result<(), DiskError> {
    let failed = |error: std::io::Error| DiskError::new(format!("write {path}"), error);
    let above = parent_of(root, path.as_bstr(), true).map_err(|e| failed(e.into()))?;
    let name = path.file_name().as_bytes();
    // what the umask has taken off, and what a write takes off (setuid)
    let finish = |opened: OwnedFd| {
        permissions.map_or(Ok(()), |bits| {
            fchmod(opened, Mode::from_raw_mode(bits as _))
        })
    };
    let create = |usual: u32| -> std::io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = Mode::from_raw_mode((permissions.unwrap_or(usual) & 0o777) as _);
        let mut file = std::fs::File::from(openat(&above, name, flags, mode)?);
        let written = file.write_all(bytes);
        let finished = written.and_then(|()| Ok(finish(file.into())?));
        // half a file would be taken for newer work
        finished.inspect_err(|_| unlinkat(&above, name, AtFlags::empty()).unwrap_or(()))
    };
    let create_directory = || -> std::io::Result<()> {
        let mode = permissions.map_or(0o777, |bits| bits & 0o777 | 0o700);
        mkdirat(&above, name, Mode::from_raw_mode(mode as _))?;
        Ok(finish(openat(&above, name, DIRECTORY, Mode::empty())?)?)
    };
    match kind {
        Kind::Executable => create(0o777),
        Kind::Link => symlinkat(bytes, &above, name).map_err(Into::into),
        Kind::EmptyDirectory => create_directory(),
        _file => create(0o666),
    }
    .map_err(failed)
}

/// Moves what stands at a path of one directory to the same path of another, where nothing stands,
/// and makes the directories above it. Returns whether it was moved: it is not from another file
/// system.
pub fn move_entry(from: &Utf8Path, to: &Utf8Path, path: &RepoPath) -> bool {
    let moved = || {
        let from = parent_of(from, path.as_bstr(), false)?;
        let to = parent_of(to, path.as_bstr(), true)?;
        let name = path.file_name().as_bytes();
        move_new(&from, name, &to, name)
    };
    moved().is_ok()
}

fn unlink(root: &Utf8Path, path: &[u8]) -> Result<(), Errno> {
    let above = parent_of(root, path, false)?;
    let name = path.rsplit(|byte| *byte == b'/').next().unwrap_or(path);
    let stat = statat(&above, name, AtFlags::SYMLINK_NOFOLLOW)?;
    let flags = if FileType::from_raw_mode(stat.st_mode) == FileType::Directory {
        AtFlags::REMOVEDIR
    } else {
        AtFlags::empty()
    };
    unlinkat(&above, name, flags)
}

/// Opens the directory that a path is in, created if that is asked for, and makes it writable for its
/// owner.
fn parent_of(root: &Utf8Path, path: &[u8], creates: bool) -> Result<OwnedFd, Errno> {
    let mut directory = openat(CWD, root.as_std_path(), DIRECTORY, Mode::empty())?;
    let mut components: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    components.pop();
    for name in components {
        writable(&directory);
        let open = match openat(&directory, name, DIRECTORY, Mode::empty()) {
            Err(Errno::NOENT) if creates => {
                mkdirat(&directory, name, Mode::from_raw_mode(0o777))?;
                openat(&directory, name, DIRECTORY, Mode::empty())
            }
            other => other,
        };
        directory = open?;
    }
    writable(&directory);
    Ok(directory)
}

/// What cannot be made so is told by the step that needs it.
fn writable(directory: &OwnedFd) {
    if let Ok(stat) = fstat(directory) {
        let mode = Mode::from_raw_mode(stat.st_mode);
        if !mode.contains(Mode::WUSR | Mode::XUSR) {
            let _ = fchmod(directory, mode | Mode::RWXU);
        }
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make what they look at")]
mod tests {
    use super::*;

    #[test]
    fn what_stands_is_told_and_nothing_is_seen_through_a_link() {
        let tmp = tempfile::tempdir().expect("a directory");
        let root = Utf8Path::from_path(tmp.path()).expect("it is UTF-8");
        std::fs::create_dir_all(root.join("a/b")).expect("directories");
        std::fs::write(root.join("a/b/file"), "x").expect("a file");
        std::fs::write(root.join("a-file"), "x").expect("a file");
        std::os::unix::fs::symlink("a", root.join("link")).expect("a link");
        std::os::unix::fs::symlink("gone", root.join("dangling")).expect("a link");
        let paths: Vec<RepoPath> = [
            "a",
            "a-file",
            "a-file/x",
            "a/b/file",
            "a/b/gone",
            "a/c/d/e",
            "dangling",
            "link",
            "link/b/file",
            "none",
        ]
        .iter()
        .map(|path| RepoPath::parse(*path).expect("it is normal"))
        .collect();
        let stands = standing(root, paths.iter()).expect("it can be read");
        let found: Vec<_> = stands.entries.keys().map(ToString::to_string).collect();
        assert_eq!(found, ["a", "a-file", "a/b/file", "dangling", "link"]);
        let in_the_way: Vec<_> = stands.in_the_way.iter().map(ToString::to_string).collect();
        assert_eq!(in_the_way, ["a-file", "link"]);
    }
}
