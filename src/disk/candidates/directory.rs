//! Looks at what is in one directory of the walk.

use std::os::fd::OwnedFd;
use std::sync::Arc;

use rustix::fs::{AtFlags, Dir, FileType, Mode, openat, statat};
use rustix::io::Errno;

use super::super::stat::stat_from;
use super::{Below, DIRECTORY, Enter, Entered, EntryKind, Rules, Selected, Stopped, Worker};
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::sync::CandidateKind;

/// The name of an entry, and its kind if the listing says it.
type Listed = (Vec<u8>, FileType);

/// Represents a directory that is looked at.
struct Here<'a, P> {
    fd: Arc<OwnedFd>,
    path: Option<&'a RepoPath>,
    place: &'a P,
}

impl<R: Rules> Worker<'_, R> {
    /// Looks at what is in one directory; the directories in it that are entered.
    pub(super) fn directory(&mut self, directory: Entered<R>) -> Result<Below<R>, Stopped> {
        let path = directory.path.as_ref();
        let stopped = |error| (path.cloned(), error);
        let name: &[u8] = path.map_or(b".", |path| path.file_name());
        let fd = match openat(&*directory.above, name, DIRECTORY, Mode::empty()) {
            // gone since it was listed
            Err(Errno::NOENT) => return Ok(Vec::new()),
            other => Arc::new(other.map_err(stopped)?),
        };
        let (entries, is_repository) = match self.rules.names(&directory.place) {
            Some(names) => (
                names.into_iter().map(unlisted).collect(),
                is_repository(&fd),
            ),
            None => {
                let entries = list(&fd).map_err(stopped)?;
                let is_repository = may_be_repository(&entries) && is_repository(&fd);
                (entries, is_repository)
            }
        };
        if let Some(path) = path {
            if is_repository {
                self.found.closed.push(path.clone());
                return Ok(Vec::new());
            }
            if let Some(mark) = directory.select {
                let stat = rustix::fs::fstat(&fd).map_err(stopped)?;
                self.found.selected.push(Selected {
                    path: path.clone(),
                    kind: CandidateKind::Directory,
                    stat: stat_from(&stat),
                    mark,
                });
            }
        }
        let here = Here {
            fd,
            path,
            place: &directory.place,
        };
        let mut below = Vec::new();
        for entry in entries {
            below.extend(self.entry(&here, &entry)?);
        }
        Ok(below)
    }

    /// Looks at one entry; a directory that is entered.
    fn entry(
        &mut self,
        here: &Here<'_, R::Place>,
        (name, kind): &Listed,
    ) -> Result<Option<Entered<R>>, Stopped> {
        let path = RepoPath::child(here.path, name);
        let mut known = None;
        let mut kind = *kind;
        if kind == FileType::Unknown {
            // not every file system tells it with the name (readdir(3))
            known = look(&here.fd, &path)?;
            let Some(stat) = known else { return Ok(None) };
            kind = FileType::from_raw_mode(stat.mode);
        }
        let seen = match kind {
            FileType::Directory => EntryKind::Directory,
            FileType::Symlink => EntryKind::Link,
            _other => EntryKind::Other,
        };
        let verdict = self.rules.entry(here.place, &path, seen);
        if seen == EntryKind::Directory {
            return Ok(match verdict.enter {
                Enter::No => None,
                Enter::Closed => {
                    self.found.closed.push(path);
                    None
                }
                Enter::Yes(place) => Some(Entered::<R> {
                    path: Some(path),
                    above: Arc::clone(&here.fd),
                    place,
                    select: verdict.select,
                }),
            });
        }
        if let Some(mark) = verdict.select {
            if known.is_none() {
                known = look(&here.fd, &path)?;
            }
            if let Some(stat) = known {
                self.select(path, stat, mark)?;
            }
        }
        Ok(None)
    }

    fn select(&mut self, path: RepoPath, stat: Stat, mark: R::Mark) -> Result<(), Stopped> {
        let kind = match FileType::from_raw_mode(stat.mode) {
            FileType::RegularFile => CandidateKind::File,
            FileType::Symlink => CandidateKind::Link,
            // it was none when the directory was listed
            FileType::Directory => return Err((Some(path), Errno::ISDIR)),
            FileType::Fifo => CandidateKind::Special("a FIFO"),
            FileType::Socket => CandidateKind::Special("a socket"),
            FileType::CharacterDevice | FileType::BlockDevice | FileType::Unknown => {
                CandidateKind::Special("a device")
            }
        };
        self.found.selected.push(Selected {
            path,
            kind,
            stat,
            mark,
        });
        Ok(())
    }
}

/// The stat data of an entry; none when it is gone.
fn look(above: &OwnedFd, path: &RepoPath) -> Result<Option<Stat>, Stopped> {
    let name: &[u8] = path.file_name();
    match statat(above, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => Ok(Some(stat_from(&stat))),
        Err(Errno::NOENT | Errno::NAMETOOLONG) => Ok(None),
        Err(error) => Err((Some(path.clone()), error)),
    }
}

fn unlisted(name: Vec<u8>) -> Listed {
    (name, FileType::Unknown)
}

/// Lists a directory that was just opened: the second descriptor shares its position.
fn list(fd: &OwnedFd) -> Result<Vec<Listed>, Errno> {
    let mut names = Vec::new();
    for entry in Dir::new(rustix::io::fcntl_dupfd_cloexec(fd, 0)?)? {
        let entry = entry?;
        let name = entry.file_name().to_bytes();
        if !matches!(name, b"." | b"..") {
            names.push((name.to_vec(), entry.file_type()));
        }
    }
    Ok(names)
}

/// Whether a listing leaves it possible that a directory is a repository. A file system may find
/// a name that is written otherwise, at least with other letters.
fn may_be_repository(entries: &[Listed]) -> bool {
    let may_be = |name: &[u8], one: &[u8]| !name.is_ascii() || name.eq_ignore_ascii_case(one);
    entries
        .iter()
        .any(|(name, _)| may_be(name, b".git") || may_be(name, b"HEAD"))
}

/// Whether a directory is another repository's: it has a `.git` of any kind, or is a bare one
/// (gitrepository-layout(5)).
fn is_repository(fd: &OwnedFd) -> bool {
    has(fd, b".git") || has(fd, b"HEAD") && has(fd, b"objects") && has(fd, b"refs")
}

fn has(fd: &OwnedFd, name: &[u8]) -> bool {
    statat(fd, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
}
