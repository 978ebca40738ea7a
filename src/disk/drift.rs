//! Tells whether placed files are as they were placed, and whether their sources are.
//!
//! Stat data prove most of it; what they do not prove is read and hashed. Write bits are ours and
//! count for nothing, every other permission bit counts; at the source only the owner's executable
//! bit does. A hard link to the source is not a copy. What cannot be read is never called the
//! same. Nothing is read through a link.

use std::io;
use std::os::fd::OwnedFd;

use bstr::ByteSlice;
use camino::Utf8Path;
use rustix::fs::{AtFlags, readlinkat, statat};
use rustix::io::Errno;

use crate::disk::DiskError;
use crate::disk::below::{Directories, open_below, open_regular};
use crate::disk::files::Opened;
use crate::disk::pool::map_parallel;
use crate::disk::stat::{device_of, is_regular, stat_from};
use crate::inventory::manifest::Stat;
use crate::inventory::placed::{
    Digest, Drift, Here, Placed, PlacedFile, PlacedKind, PlacedOrigin, There,
};
use crate::words::path::RepoPath;

/// Returns what stands at a path below a root, with its digest; none where nothing with content
/// does.
///
/// # Errors
/// Fails when it is there and cannot be read.
pub fn digest_below(root: &Utf8Path, path: &RepoPath) -> io::Result<Option<(PlacedKind, Digest)>> {
    Ok(match open_below(root, path)? {
        Opened::File { content, .. } => Some((PlacedKind::File, digest_of(content)?)),
        Opened::Link(text) => Some((PlacedKind::Link, digest_of(text.as_bytes())?)),
        Opened::Other => None,
    })
}

/// Hashes everything that can be read.
///
/// # Errors
/// Fails when it cannot be read.
pub fn digest_of(content: impl io::Read) -> io::Result<Digest> {
    let mut hasher = blake3::Hasher::new();
    hasher.update_reader(content)?;
    Ok(Digest(*hasher.finalize().as_bytes()))
}

/// Looks at every placed file; the answers are in the order of the list. `source` is the root of
/// the main worktree, if there is one.
///
/// # Errors
/// Fails when one of the roots cannot be opened.
pub fn drift(
    worktree: &Utf8Path,
    source: Option<&Utf8Path>,
    placed: &Placed,
) -> Result<Vec<Drift>, DiskError> {
    let files: Vec<&PlacedFile> = placed.files().iter().collect();
    drift_of(worktree, source, placed, &files)
}

/// As [`drift`], of some of the placed files.
///
/// # Errors
/// As [`drift`].
pub fn drift_of(
    worktree: &Utf8Path,
    source: Option<&Utf8Path>,
    placed: &Placed,
    files: &[&PlacedFile],
) -> Result<Vec<Drift>, DiskError> {
    let start = || {
        let there = source.map(Directories::open).transpose()?;
        Ok((Directories::open(worktree)?, there))
    };
    map_parallel(files, start, |(here, there), file| {
        Ok(drift_between(placed, file, here, there.as_mut()))
    })
}

/// Whether these stat data of what stands at the path of a placed file prove that it is what was
/// placed. Of a directory only that it is one.
pub fn is_proven(placed: &Placed, file: &PlacedFile, now: &Stat) -> bool {
    let proven = file.kind == PlacedKind::Directory || placed.proves(file, now);
    proven && resembles(file.kind, &file.stat, now, OF_COPY)
}

/// Whether what stands at the path of a placed file is what was placed, by its content: for who
/// is about to replace or remove it. Only of a large file without a digest the stat data count.
///
/// # Errors
/// Fails when it is there and cannot be read.
pub fn is_unchanged(
    root: &Utf8Path,
    source: Option<&Utf8Path>,
    file: &PlacedFile,
) -> io::Result<bool> {
    let mut here = Directories::open(root).map_err(|error| error.source)?;
    let Some(spot) = Spot::at(&mut here, &file.path)? else {
        return Ok(false);
    };
    let proven = file.digest.is_none() && spot.stat == file.stat;
    with_source(file, source, |there| is_same(file, &spot, proven, there))
}

/// Whether the source of a placed file still is what was placed, by its content. What cannot be
/// read is something else.
pub fn at_source(source: &Utf8Path, file: &PlacedFile) -> There {
    if file.kind == PlacedKind::Directory {
        // it can always be made again
        return There::Same;
    }
    let recorded = match (file.source, file.origin) {
        (Some(recorded), _) => recorded,
        // what we keep of context has the same size and digest, and other times
        (None, PlacedOrigin::Context) => file.stat,
        (None, PlacedOrigin::Synced | PlacedOrigin::Setup) => return There::None,
    };
    let Ok(mut directories) = Directories::open(source) else {
        return There::Newer;
    };
    let spot = Spot::at(&mut directories, &file.path);
    there(file, &recorded, i64::MIN, &spot, None)
}

/// Holds what was placed in a worktree, for a walk that comes across its files.
#[derive(Clone, Copy, Debug)]
pub struct Proof<'a> {
    /// The list.
    pub placed: &'a Placed,
    /// The root of the main worktree, if there is one.
    pub source: Option<&'a Utf8Path>,
}

impl Proof<'_> {
    /// Whether the entry of an open directory is what was placed at this path.
    pub(super) fn holds(&self, path: &RepoPath, above: &OwnedFd, name: &[u8]) -> io::Result<bool> {
        let Some(file) = self.placed.get(path) else {
            return Ok(false);
        };
        let spot = Spot::look(above, name)?;
        let proven = self.placed.proves(file, &spot.stat);
        with_source(file, self.source, |there| {
            is_same(file, &spot, proven, there)
        })
    }

    /// What of a regular file is not as it was placed. What cannot be read is other content.
    pub fn difference(&self, worktree: &Utf8Path, file: &PlacedFile) -> Difference {
        let look = || -> io::Result<Difference> {
            let mut here = Directories::open(worktree).map_err(|error| error.source)?;
            let Some(spot) = Spot::at(&mut here, &file.path)? else {
                return Ok(Difference::Content);
            };
            with_source(file, self.source, |there| {
                if spot.is_also(there) {
                    return Ok(Difference::Linked);
                }
                let same = spot.stat.size == file.stat.size && has_content(file, &spot, there)?;
                Ok(if same {
                    Difference::Mode
                } else {
                    Difference::Content
                })
            })
        };
        look().unwrap_or(Difference::Content)
    }
}

/// Says what of a placed file is not as it was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It is another name of its source.
    Linked,
    /// Only its permissions.
    Mode,
    /// Its content.
    Content,
}

/// Holds an entry of an open directory.
struct Spot<'d> {
    above: &'d OwnedFd,
    name: &'d [u8],
    stat: Stat,
    device: u64,
}

impl<'d> Spot<'d> {
    fn look(above: &'d OwnedFd, name: &'d [u8]) -> Result<Self, Errno> {
        let found = statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Self {
            above,
            name,
            stat: stat_from(&found),
            device: device_of(&found),
        })
    }

    fn at(directories: &'d mut Directories, path: &'d RepoPath) -> io::Result<Option<Self>> {
        let above = directories.of(path);
        match above.and_then(|above| Self::look(above, path.file_name())) {
            Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => Ok(None),
            other => Ok(Some(other?)),
        }
    }

    fn digest(&self) -> io::Result<Digest> {
        if is(&self.stat, PlacedKind::Link) {
            let text = readlinkat(self.above, self.name, Vec::new())?;
            return digest_of(text.to_bytes());
        }
        digest_of(open_regular(self.above, self.name)?)
    }

    /// Whether it is another name of the same file.
    fn is_also(&self, other: Option<&Spot<'_>>) -> bool {
        is_regular(&self.stat)
            && other.is_some_and(|other| {
                (self.stat.inode, self.device) == (other.stat.inode, other.device)
            })
    }
}

/// The permissions that count of a copy: all that are not ours.
const OF_COPY: u32 = 0o7777 & !0o222;
/// Those that count of a source.
const OF_SOURCE: u32 = 0o100;

/// Does something with what stands at the source of a placed file, where it has one.
fn with_source<T>(
    file: &PlacedFile,
    source: Option<&Utf8Path>,
    work: impl FnOnce(Option<&Spot<'_>>) -> io::Result<T>,
) -> io::Result<T> {
    let Some(source) = source.filter(|_| file.source.is_some()) else {
        return work(None);
    };
    let mut there = Directories::open(source).map_err(|error| error.source)?;
    work(Spot::at(&mut there, &file.path)?.as_ref())
}

fn is(stat: &Stat, kind: PlacedKind) -> bool {
    PlacedKind::of(stat) == kind && (kind != PlacedKind::File || is_regular(stat))
}

/// Whether something can be what was placed: kind, size, and those of the permissions that count.
fn resembles(kind: PlacedKind, recorded: &Stat, now: &Stat, counting: u32) -> bool {
    let bits = |stat: &Stat| stat.mode & counting;
    is(now, kind)
        && match kind {
            PlacedKind::Directory => true,
            PlacedKind::Link => now.size == recorded.size,
            PlacedKind::File => now.size == recorded.size && bits(now) == bits(recorded),
        }
}

/// Whether what stands there is what was placed, given what stands at its source. `proven` says
/// that stat data prove it.
fn is_same(
    file: &PlacedFile,
    spot: &Spot<'_>,
    proven: bool,
    source: Option<&Spot<'_>>,
) -> io::Result<bool> {
    if !resembles(file.kind, &file.stat, &spot.stat, OF_COPY) {
        return Ok(false);
    }
    if proven || file.kind == PlacedKind::Directory {
        return Ok(true);
    }
    Ok(!spot.is_also(source) && has_content(file, spot, source)?)
}

/// Whether what stands there has the content of what was placed.
fn has_content(file: &PlacedFile, spot: &Spot<'_>, source: Option<&Spot<'_>>) -> io::Result<bool> {
    match (file.digest, source) {
        (Some(digest), _) => Ok(spot.digest()? == digest),
        (None, Some(source)) if Some(source.stat) == file.source => {
            Ok(source.digest()? == spot.digest()?)
        }
        (None, _) => Ok(false),
    }
}

/// How the source stands to what was placed. `proven` is what stands in the worktree, where stat
/// data prove that it is that.
fn there(
    file: &PlacedFile,
    recorded: &Stat,
    settled: i64,
    there: &io::Result<Option<Spot<'_>>>,
    proven: Option<&Spot<'_>>,
) -> There {
    let there = match there {
        Ok(None) => return There::Gone,
        Ok(Some(there)) if resembles(file.kind, recorded, &there.stat, OF_SOURCE) => there,
        Err(_) | Ok(Some(_)) => return There::Newer,
    };
    let as_recorded = there.stat == *recorded;
    let is_same = match (file.digest, proven) {
        (_, _) if file.kind == PlacedKind::Directory => Ok(true),
        (_, _) if as_recorded && recorded.ctime < settled => Ok(true),
        (Some(digest), _) => there.digest().map(|now| now == digest),
        (None, Some(here)) => here.digest().and_then(|here| Ok(there.digest()? == here)),
        (None, None) => Ok(as_recorded),
    };
    if is_same.unwrap_or(false) {
        There::Same
    } else {
        There::Newer
    }
}

/// What cannot be read is taken for something else: then it is not overwritten unasked.
fn drift_between(
    placed: &Placed,
    file: &PlacedFile,
    here: &mut Directories,
    source: Option<&mut Directories>,
) -> Drift {
    let here = Spot::at(here, &file.path);
    let at = here.as_ref().ok().and_then(Option::as_ref);
    let proven = at.filter(|spot| placed.proves(file, &spot.stat));
    let source = source.filter(|_| file.source.is_some());
    let source = source.map(|source| Spot::at(source, &file.path));
    let there = match (file.source, &source) {
        (Some(recorded), Some(source)) => there(file, &recorded, placed.settled(), source, proven),
        (_, _) => There::None,
    };
    let source = source
        .as_ref()
        .and_then(|source| source.as_ref().ok()?.as_ref());
    let here = match &here {
        Ok(None) => Here::Missing,
        Ok(Some(spot)) if is_same(file, spot, proven.is_some(), source).unwrap_or(false) => {
            Here::Same
        }
        Ok(Some(_)) | Err(_) => Here::Edited,
    };
    Drift { here, there }
}

#[cfg(test)]
mod tests;
