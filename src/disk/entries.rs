//! Looks at, removes and writes single entries of a worktree, never through a link.
//!
//! Every directory on the way is opened from the one above it without following links, so that
//! nothing outside of the worktree is ever touched (openat(2), `O_NOFOLLOW`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, OwnedFd};

use camino::Utf8Path;
use rustix::fs::{AtFlags, CWD, Mode, OFlags};
use rustix::fs::{fchmod, fstat, mkdirat, openat, symlinkat, unlinkat};
use rustix::io::Errno;

use crate::disk::error::{Attempt as _, DiskError};
use crate::disk::open::{Directories, is_unreachable, last_component, open_directory};
use crate::disk::pool::map_parallel;
use crate::disk::rename::move_new;
use crate::disk::stat::{mode_from, stat_entry};
use crate::inventory::manifest::Stat;
use crate::words::entry::Mode as Kind;
use crate::words::path::RepoPath;

/// What stands at some paths.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EntryStats {
    /// What stands at a path that was asked for; a link is not followed.
    pub entries: BTreeMap<RepoPath, Stat>,
    /// What is not a directory and stands above a path that was asked for: a link or a file.
    pub in_the_way: BTreeSet<RepoPath>,
}

/// What stands at one path.
enum AtPath {
    Nothing,
    Entry(Stat),
    /// A link or a file stands where a directory would lead to it.
    Behind(RepoPath),
}

/// Looks at every path, with several threads where there are many; it is fast when they are
/// sorted.
///
/// # Errors
/// Fails when the root, or something on the way, cannot be looked at.
pub fn stat_entries<'p>(
    root: &Utf8Path,
    paths: impl Iterator<Item = &'p RepoPath>,
) -> Result<EntryStats, DiskError> {
    let paths: Vec<&RepoPath> = paths.collect();
    let looked_at = map_parallel(
        &paths,
        || Directories::open(root),
        |directories, path| {
            look_at(directories, path).attempting("look at", format_args!("{root}/{path}"))
        },
    )?;
    let mut stats = EntryStats::default();
    for (path, at_path) in paths.into_iter().zip(looked_at) {
        match at_path {
            AtPath::Nothing => {}
            AtPath::Entry(stat) => {
                stats.entries.insert(path.clone(), stat);
            }
            AtPath::Behind(other) => {
                stats.in_the_way.insert(other);
            }
        }
    }
    Ok(stats)
}

/// Looks at one path.
fn look_at(directories: &mut Directories, path: &RepoPath) -> Result<AtPath, Errno> {
    let directory = match directories.of(path) {
        Err(Errno::NOENT) => return Ok(AtPath::Nothing),
        Err(Errno::NOTDIR | Errno::LOOP) => {
            let other = directories.first_unopened().map(RepoPath::parse);
            return Ok(match other {
                Some(Ok(other)) => AtPath::Behind(other),
                Some(Err(_)) | None => AtPath::Nothing,
            });
        }
        opened => opened?,
    };
    match stat_entry(directory, path.file_name()) {
        Ok(stat) => Ok(AtPath::Entry(stat)),
        Err(Errno::NOENT) => Ok(AtPath::Nothing),
        Err(error) => Err(error),
    }
}

/// Removes what stands at a path, and leaves the directories above; true if anything was removed.
/// Nothing there, or a link or file on the way, is fine: then nothing of ours is there.
///
/// # Errors
/// Fails when it cannot be removed, also when it is a directory with something in it.
pub fn remove_alone(root: &Utf8Path, path: &RepoPath) -> Result<bool, DiskError> {
    match unlink(root, path.as_bstr()) {
        Ok(()) => Ok(true),
        Err(error) if is_unreachable(error) => Ok(false),
        Err(error) => Err(error).attempting("remove", path),
    }
}

/// As [`remove_alone`], with the directories above that are empty then.
///
/// # Errors
/// As [`remove_alone`].
pub fn remove_entry(root: &Utf8Path, path: &RepoPath) -> Result<(), DiskError> {
    if remove_alone(root, path)? {
        for directory in path.parents() {
            if unlink(root, directory).is_err() {
                break;
            }
        }
    }
    Ok(())
}

/// Makes the directories on the way to a path that are there writable for their owner, so that
/// git can write into them. What cannot be made so is reported by git.
pub fn make_way(root: &Utf8Path, path: &RepoPath) {
    let _ = open_parent(root, path.as_bstr(), IfMissing::Fail);
}

/// Returns the permission bits of the file that stands at a path; none when no file does.
///
/// # Errors
/// As [`stat_entries`].
pub fn permissions(root: &Utf8Path, path: &RepoPath) -> Result<Option<u32>, DiskError> {
    let stats = stat_entries(root, std::iter::once(path))?;
    match stats.entries.get(path) {
        Some(stat) if stat.is_file() => Ok(Some(stat.permissions())),
        Some(_) | None => Ok(None),
    }
}

/// What is put at a path.
#[derive(Clone, Copy, Debug)]
pub struct NewEntry<'a> {
    /// Its kind.
    pub kind: Kind,
    /// Its content, or the text of the link.
    pub bytes: &'a [u8],
    /// The permission bits of a file or directory; none for the usual ones.
    pub permissions: Option<u32>,
}

/// Puts something where nothing stands; the directories above it are made. A file or directory
/// gets exactly these permission bits, if any are given, and never more: it may be a key.
///
/// # Errors
/// Fails when something stands there or on the way, or the disk refuses.
pub fn put_entry(root: &Utf8Path, path: &RepoPath, entry: NewEntry<'_>) -> Result<(), DiskError> {
    let created = open_parent(root, path.as_bstr(), IfMissing::Create)
        .map_err(io::Error::from)
        .and_then(|directory| entry.create(&directory, path.file_name()));
    created.attempting("write", path)
}

impl NewEntry<'_> {
    /// Creates what is to be put under this name.
    fn create(self, directory: &OwnedFd, name: &[u8]) -> io::Result<()> {
        match self.kind {
            Kind::Link => Ok(symlinkat(self.bytes, directory, name)?),
            Kind::EmptyDirectory => Ok(self.create_directory(directory, name)?),
            Kind::Executable => self.create_file(directory, name, 0o777),
            Kind::File | Kind::Gitlink | Kind::NestedGit | Kind::Special => {
                self.create_file(directory, name, 0o666)
            }
        }
    }

    /// Creates a file with its permissions, or with the usual ones less the umask.
    fn create_file(self, directory: &OwnedFd, name: &[u8], usual: u32) -> io::Result<()> {
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::CLOEXEC;
        let mode = mode_from(self.permissions.unwrap_or(usual) & 0o777);
        let mut file = File::from(openat(directory, name, flags, mode)?);
        let written = file.write_all(self.bytes);
        let finished = written.and_then(|()| Ok(self.set_permissions(&file)?));
        if finished.is_err() {
            // half a file would be taken for newer work
            let _ = unlinkat(directory, name, AtFlags::empty());
        }
        finished
    }

    fn create_directory(self, directory: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
        let mode = self.permissions.map_or(0o777, |bits| bits & 0o777 | 0o700);
        mkdirat(directory, name, mode_from(mode))?;
        self.set_permissions(open_directory(directory, name)?)
    }

    /// Sets the bits that the umask has taken off, and those that a write takes off (setuid).
    fn set_permissions(self, file: impl AsFd) -> Result<(), Errno> {
        match self.permissions {
            Some(bits) => fchmod(file, mode_from(bits)),
            None => Ok(()),
        }
    }
}

/// What came of moving an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryMove {
    /// It was moved.
    Moved,
    /// It was not: something stands where it was to go.
    Occupied,
    /// It was not: it is not there, or on another file system, or the disk refuses.
    Impossible,
}

/// Moves what stands at a path of one directory to the same path of another, where nothing stands,
/// and makes the directories above it.
pub fn move_entry(from: &Utf8Path, to: &Utf8Path, path: &RepoPath) -> EntryMove {
    match try_move(from, to, path) {
        Ok(()) => EntryMove::Moved,
        Err(Errno::EXIST) => EntryMove::Occupied,
        Err(_) => EntryMove::Impossible,
    }
}

fn try_move(from: &Utf8Path, to: &Utf8Path, path: &RepoPath) -> Result<(), Errno> {
    let from = open_parent(from, path.as_bstr(), IfMissing::Fail)?;
    let to = open_parent(to, path.as_bstr(), IfMissing::Create)?;
    let name = path.file_name();
    move_new(&from, name, &to, name)
}

/// Removes a file, a link or an empty directory.
fn unlink(root: &Utf8Path, path: &[u8]) -> Result<(), Errno> {
    let directory = open_parent(root, path, IfMissing::Fail)?;
    let name = last_component(path);
    let flags = if stat_entry(&directory, name)?.is_directory() {
        AtFlags::REMOVEDIR
    } else {
        AtFlags::empty()
    };
    unlinkat(&directory, name, flags)
}

/// What is done where a directory on the way is not there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IfMissing {
    Create,
    Fail,
}

/// Opens the directory that a path is in, and makes it and those above it writable for their owner.
fn open_parent(root: &Utf8Path, path: &[u8], if_missing: IfMissing) -> Result<OwnedFd, Errno> {
    let mut directory = open_directory(CWD, root.as_std_path())?;
    let mut components: Vec<&[u8]> = path.split(|byte| *byte == b'/').collect();
    components.pop();
    for name in components {
        make_directory_writable(&directory);
        directory = match open_directory(&directory, name) {
            Err(Errno::NOENT) if if_missing == IfMissing::Create => {
                mkdirat(&directory, name, mode_from(0o777))?;
                open_directory(&directory, name)?
            }
            opened => opened?,
        };
    }
    make_directory_writable(&directory);
    Ok(directory)
}

/// Lets the owner write. What refuses is reported by the step that needs it.
fn make_directory_writable(directory: &OwnedFd) {
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
        let stands = stat_entries(root, paths.iter()).expect("it can be read");
        let found: Vec<_> = stands.entries.keys().map(ToString::to_string).collect();
        assert_eq!(found, ["a", "a-file", "a/b/file", "dangling", "link"]);
        let in_the_way: Vec<_> = stands.in_the_way.iter().map(ToString::to_string).collect();
        assert_eq!(in_the_way, ["a-file", "link"]);
    }
}
