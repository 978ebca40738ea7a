//! Opens single entries of a worktree, never through a link.
//!
//! Every directory on the way is opened from the one above it without following links: what
//! stands behind a link is not in the worktree, whatever the path says (openat(2),
//! `O_NOFOLLOW`). [`resolve`] resolves the links in a path, also of one that does not exist (yet).
#![expect(clippy::disallowed_methods, reason = "reads links, part by part")]

use std::ffi::OsString;
use std::io::{Error, ErrorKind};
use std::os::fd::{AsFd, OwnedFd};
use std::path::{Component, Path, PathBuf};

use bstr::{BStr, BString, ByteSlice};
use camino::Utf8Path;
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, openat, readlinkat, statat};
use rustix::io::Errno;

use crate::disk::DiskError;
use crate::disk::files::{Opened, is_missing};
use crate::disk::stat::{file_type, stat_from, stat_of};
use crate::words::path::RepoPath;

/// Opens a regular file without following a link; a FIFO put there since does not block.
///
/// # Errors
/// Fails when it cannot be opened, or something else stands there.
pub(super) fn open_regular(above: impl AsFd, name: &[u8]) -> std::io::Result<std::fs::File> {
    let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let file = std::fs::File::from(openat(above, name, flags, Mode::empty())?);
    if !file.metadata()?.is_file() {
        return Err(Error::other("it changed while it was read"));
    }
    Ok(file)
}

/// Opens what stands at a path of a worktree. Where a link or a file stands on the way, nothing
/// of the worktree does.
///
/// # Errors
/// Fails when it is there and cannot be read.
pub fn open_below(root: &Utf8Path, path: &RepoPath) -> std::io::Result<Opened> {
    let mut directories = match Directories::at(root, DIRECTORY) {
        Err(error) if is_missing(&error.source) => return Ok(Opened::Other),
        other => other.map_err(|error| error.source)?,
    };
    match directories.of(path) {
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(Opened::Other),
        above => open_at(above?, path.file_name().as_bytes()),
    }
}

/// Opens what stands at a path; a link at its end is not followed.
///
/// # Errors
/// Fails when it is there and cannot be read.
pub fn open_entry(path: &Path) -> std::io::Result<Opened> {
    open_at(CWD, path.as_os_str().as_encoded_bytes())
}

fn open_at(above: impl AsFd, name: &[u8]) -> std::io::Result<Opened> {
    let above = above.as_fd();
    let stat = match statat(above, name, AtFlags::SYMLINK_NOFOLLOW) {
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Opened::Other),
        other => stat_from(&other?),
    };
    match file_type(&stat) {
        FileType::Symlink => Ok(Opened::Link(
            readlinkat(above, name, Vec::new())?.to_bytes().into(),
        )),
        FileType::RegularFile => {
            let content = open_regular(above, name)?;
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

/// Keeps the directories open that lead to the last path, for paths that come sorted.
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
    /// Starts at a root, which may be named by a link.
    pub fn open(root: &Utf8Path) -> Result<Self, DiskError> {
        Self::at(root, DIRECTORY.difference(OFlags::NOFOLLOW))
    }

    fn at(root: &Utf8Path, flags: OFlags) -> Result<Self, DiskError> {
        let root = openat(CWD, root.as_std_path(), flags, Mode::empty())
            .map_err(|error| DiskError::new(format!("open {root}"), error))?;
        let open = Vec::new();
        Ok(Self { root, open })
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
        let both = self.open.iter().zip(&wanted);
        let shared = both.take_while(|((have, _), want)| have == *want);
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
/// As many links as Linux follows in one path (`path_resolution(7)`).
const MOST_LINKS: usize = 40;

/// Resolves `.`, `..` and links in an absolute path. What does not exist stays as it is named. A
/// link at the very end of the path, also of one that a link led to, stays where `keep` says so
/// of its place.
///
/// # Errors
/// Fails when a directory cannot be searched, or links go in a circle.
pub fn resolve(path: &Path, keep: &dyn Fn(&Path) -> bool) -> Result<PathBuf, DiskError> {
    let shown = crate::words::path::escape_for_terminal(path.as_os_str().as_encoded_bytes());
    let failed = |error: Error| DiskError::new(format!("resolve {shown}"), error);
    let mut waiting: Vec<OsString> = components(path).collect();
    let mut at = PathBuf::from("/");
    let mut links = 0;
    while let Some(next) = waiting.pop() {
        if next == ".." {
            at.pop();
            continue;
        }
        let here = at.join(&next);
        if waiting.is_empty() && keep(&here) {
            return Ok(here);
        }
        match std::fs::read_link(&here) {
            Ok(text) => {
                links += 1;
                if links > MOST_LINKS {
                    return Err(failed(Error::other("too many links")));
                }
                if text.is_absolute() {
                    at = PathBuf::from("/");
                }
                waiting.extend(components(&text));
            }
            // no link, or nothing at all
            Err(error) if is_missing(&error) || error.kind() == ErrorKind::InvalidInput => {
                at = here;
            }
            Err(error) => return Err(failed(error)),
        }
    }
    Ok(at)
}

/// The components of a path, the last one first.
fn components(path: &Path) -> impl Iterator<Item = OsString> + '_ {
    path.components().rev().filter_map(|part| match part {
        Component::Normal(_) | Component::ParentDir => Some(part.as_os_str().to_owned()),
        Component::Prefix(_) | Component::RootDir | Component::CurDir => None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_is_read_through_a_link() {
        let tmp = tempfile::tempdir().expect("a directory");
        let tmp = Utf8Path::from_path(tmp.path()).expect("it is UTF-8");
        let root = tmp.join("root");
        for directory in [tmp.join("out"), root.join("in/side")] {
            std::fs::create_dir_all(&directory).expect("a directory");
            std::fs::write(directory.join("f"), "text").expect("a file");
        }
        std::os::unix::fs::symlink(tmp.join("out"), root.join("link")).expect("a link");
        std::os::unix::fs::symlink("in", root.join("near")).expect("a link");
        let read = |path: &str| {
            let path = RepoPath::parse(path).expect("a path");
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

#[cfg(test)]
mod resolve_tests {
    use super::*;

    #[test]
    fn links_are_resolved_and_what_is_not_there_is_kept() {
        let tmp = tempfile::tempdir().expect("a directory");
        let root = tmp.path().canonicalize().expect("it is there");
        let link = |to: &str, at: &str| {
            std::os::unix::fs::symlink(to, root.join(at)).expect("a link");
        };
        std::fs::create_dir(root.join("d")).expect("a directory");
        link("d", "to-d");
        link("gone/deeper", "dangling");
        link("to-d", "twice");
        link("loop", "loop");
        let all = |path: &str| resolve(&root.join(path), &|_| false);
        let but_last = |path: &str| resolve(&root.join(path), &|_| true);
        let at = |path: &str| root.join(path);
        for (path, whole, parents) in [
            ("d/x", "d/x", "d/x"),
            ("to-d", "d", "to-d"),
            ("to-d/new/x", "d/new/x", "d/new/x"),
            ("twice", "d", "twice"),
            ("twice/../y", "y", "y"),
            ("dangling/x", "gone/deeper/x", "gone/deeper/x"),
            ("./d/./x", "d/x", "d/x"),
        ] {
            assert_eq!(all(path).ok(), Some(at(whole)), "{path}");
            assert_eq!(but_last(path).ok(), Some(at(parents)), "{path}");
        }
        assert!(all("loop/x").is_err());
        assert_eq!(but_last("loop").ok(), Some(at("loop")));
    }
}
