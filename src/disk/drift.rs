//! Tells whether placed files are as they were placed, and whether their sources are.
//!
//! Stat data prove most of it; what they do not prove is read and hashed. Write bits are ours and
//! count for nothing, every other permission bit counts; at the source only the owner's executable
//! bit does. A hard link to the source is not a copy. What cannot be read is never called the
//! same. Nothing is read through a link.

use std::io;
use std::os::fd::OwnedFd;

use camino::Utf8Path;
use rustix::fs::{AtFlags, readlinkat, statat};
use rustix::io::Errno;

use crate::disk::digest::digest_of;
use crate::disk::error::DiskError;
use crate::disk::open::{Directories, is_unreachable, open_regular};
use crate::disk::pool::map_parallel;
use crate::disk::stat::{device_of, stat_from};
use crate::inventory::manifest::Stat;
use crate::inventory::placed::{
    CopyState, Digest, Drift, Placed, PlacedFile, PlacedKind, PlacedOrigin, SourceState,
};
use crate::words::path::RepoPath;

/// The permissions of a copy that count: all that are not ours.
const OF_COPY: u32 = 0o7777 & !0o222;
/// The permissions of a source that count.
const OF_SOURCE: u32 = 0o100;

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
    map_parallel(
        files,
        || BothRoots::open(worktree, source),
        |roots, file| Ok(roots.drift(placed, file)),
    )
}

/// True if these stat data prove that what stands at the path of a placed file is what was placed.
/// Of a directory they prove only that it is one.
pub fn is_proven(placed: &Placed, file: &PlacedFile, now: &Stat) -> bool {
    let is_proven = file.kind == PlacedKind::Directory || placed.proves(file, now);
    is_proven && resembles(file.kind, &file.stat, now, OF_COPY)
}

/// True if what stands at the path of a placed file is what was placed, by its content: for who
/// is about to replace or remove it. Only of a large file without a digest the stat data count.
///
/// # Errors
/// Fails when it is there and cannot be read.
pub fn is_unchanged(
    root: &Utf8Path,
    source: Option<&Utf8Path>,
    file: &PlacedFile,
) -> io::Result<bool> {
    let mut worktree = Directories::open(root).map_err(|error| error.source)?;
    let Some(mut copy) = DiskEntry::at(&mut worktree, &file.path)? else {
        return Ok(false);
    };
    copy.is_proven = file.digest.is_none() && copy.stat == file.stat;
    with_source(file, source, |source| copy.is_what_was_placed(file, source))
}

/// Compares the source of a placed file with what was placed, by its content. What cannot be
/// read is something else.
pub fn at_source(source: &Utf8Path, file: &PlacedFile) -> SourceState {
    if file.kind == PlacedKind::Directory {
        // it can always be made again
        return SourceState::Same;
    }
    let recorded = match (file.source, file.origin) {
        (Some(recorded), _) => recorded,
        // what we keep of context has the same size and digest, and other times
        (None, PlacedOrigin::Context) => file.stat,
        (None, PlacedOrigin::Synced | PlacedOrigin::Setup) => return SourceState::None,
    };
    let Ok(mut directories) = Directories::open(source) else {
        return SourceState::Newer;
    };
    let entry = DiskEntry::at(&mut directories, &file.path);
    let recorded_source = RecordedSource {
        file,
        stat: recorded,
        settled: i64::MIN,
    };
    recorded_source.compare(&entry, None)
}

/// What was placed in a worktree, for a walk that comes across its files.
#[derive(Clone, Copy, Debug)]
pub struct Proof<'a> {
    /// The list.
    pub placed: &'a Placed,
    /// The root of the main worktree, if there is one.
    pub source: Option<&'a Utf8Path>,
}

impl Proof<'_> {
    /// True if the entry of an open directory is what was placed at this path.
    pub(super) fn holds(
        &self,
        path: &RepoPath,
        directory: &OwnedFd,
        name: &[u8],
    ) -> io::Result<bool> {
        let Some(file) = self.placed.get(path) else {
            return Ok(false);
        };
        let mut copy = DiskEntry::stat(directory, name)?;
        copy.is_proven = self.placed.proves(file, &copy.stat);
        with_source(file, self.source, |source| {
            copy.is_what_was_placed(file, source)
        })
    }

    /// Says what of a regular file is not as it was placed. What cannot be read is other content.
    pub fn difference(&self, worktree: &Utf8Path, file: &PlacedFile) -> Difference {
        self.find_difference(worktree, file)
            .unwrap_or(Difference::Content)
    }

    fn find_difference(&self, worktree: &Utf8Path, file: &PlacedFile) -> io::Result<Difference> {
        let mut directories = Directories::open(worktree).map_err(|error| error.source)?;
        let Some(copy) = DiskEntry::at(&mut directories, &file.path)? else {
            return Ok(Difference::Content);
        };
        with_source(file, self.source, |source| {
            if copy.is_linked_to(source) {
                return Ok(Difference::Linked);
            }
            if copy.stat.size == file.stat.size && copy.has_content(file, source)? {
                return Ok(Difference::Mode);
            }
            Ok(Difference::Content)
        })
    }
}

/// What of a placed file is not as it was placed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Difference {
    /// It is another name of its source.
    Linked,
    /// Only its permissions.
    Mode,
    /// Its content.
    Content,
}

/// An entry of an open directory.
struct DiskEntry<'d> {
    directory: &'d OwnedFd,
    name: &'d [u8],
    stat: Stat,
    device: u64,
    /// True if its stat data prove that it is what was placed.
    is_proven: bool,
}

impl<'d> DiskEntry<'d> {
    fn stat(directory: &'d OwnedFd, name: &'d [u8]) -> Result<Self, Errno> {
        let stat = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(Self {
            directory,
            name,
            stat: stat_from(&stat),
            device: device_of(&stat),
            is_proven: false,
        })
    }

    fn at(directories: &'d mut Directories, path: &'d RepoPath) -> io::Result<Option<Self>> {
        let directory = directories.of(path);
        match directory.and_then(|directory| Self::stat(directory, path.file_name())) {
            Ok(entry) => Ok(Some(entry)),
            Err(error) if is_unreachable(error) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Computes the digest of its content, or of the text of a link.
    fn digest(&self) -> io::Result<Digest> {
        if has_kind(&self.stat, PlacedKind::Link) {
            let text = readlinkat(self.directory, self.name, Vec::new())?;
            return digest_of(text.as_bytes());
        }
        digest_of(open_regular(self.directory, self.name)?)
    }

    /// True if it is another name of the same file.
    fn is_linked_to(&self, other: Option<&DiskEntry<'_>>) -> bool {
        match other {
            Some(other) if self.stat.is_file() => {
                self.stat.inode == other.stat.inode && self.device == other.device
            }
            Some(_) | None => false,
        }
    }

    /// True if it is what was placed, given what stands at its source.
    fn is_what_was_placed(
        &self,
        file: &PlacedFile,
        source: Option<&DiskEntry<'_>>,
    ) -> io::Result<bool> {
        if !resembles(file.kind, &file.stat, &self.stat, OF_COPY) {
            return Ok(false);
        }
        if self.is_proven || file.kind == PlacedKind::Directory {
            return Ok(true);
        }
        if self.is_linked_to(source) {
            return Ok(false);
        }
        self.has_content(file, source)
    }

    /// True if it has the content of what was placed.
    fn has_content(&self, file: &PlacedFile, source: Option<&DiskEntry<'_>>) -> io::Result<bool> {
        if let Some(digest) = file.digest {
            return Ok(self.digest()? == digest);
        }
        match source {
            Some(source) if Some(source.stat) == file.source => {
                Ok(source.digest()? == self.digest()?)
            }
            Some(_) | None => Ok(false),
        }
    }
}

/// Does something with what stands at the source of a placed file, where it has one.
fn with_source<T>(
    file: &PlacedFile,
    source: Option<&Utf8Path>,
    work: impl FnOnce(Option<&DiskEntry<'_>>) -> io::Result<T>,
) -> io::Result<T> {
    match source {
        Some(root) if file.source.is_some() => {
            let mut directories = Directories::open(root).map_err(|error| error.source)?;
            let entry = DiskEntry::at(&mut directories, &file.path)?;
            work(entry.as_ref())
        }
        Some(_) | None => work(None),
    }
}

fn has_kind(stat: &Stat, kind: PlacedKind) -> bool {
    PlacedKind::of(stat) == kind && (kind != PlacedKind::File || stat.is_file())
}

/// True if something can be what was placed: kind, size, and those of the permissions that count.
fn resembles(kind: PlacedKind, recorded: &Stat, now: &Stat, counting: u32) -> bool {
    if !has_kind(now, kind) {
        return false;
    }
    match kind {
        PlacedKind::Directory => true,
        PlacedKind::Link => now.size == recorded.size,
        PlacedKind::File => {
            now.size == recorded.size && now.mode & counting == recorded.mode & counting
        }
    }
}

/// What is recorded of the source of a placed file.
struct RecordedSource<'a> {
    file: &'a PlacedFile,
    stat: Stat,
    /// Up to when stat data prove nothing.
    settled: i64,
}

impl RecordedSource<'_> {
    /// Compares it with what stands there now. `proven` is what stands in the worktree, where stat
    /// data prove that it is what was placed.
    fn compare(
        &self,
        source: &io::Result<Option<DiskEntry<'_>>>,
        proven: Option<&DiskEntry<'_>>,
    ) -> SourceState {
        let source = match source {
            Ok(None) => return SourceState::Gone,
            Ok(Some(source)) => source,
            Err(_) => return SourceState::Newer,
        };
        if resembles(self.file.kind, &self.stat, &source.stat, OF_SOURCE)
            && self.is_same(source, proven).unwrap_or(false)
        {
            SourceState::Same
        } else {
            SourceState::Newer
        }
    }

    /// True if the source has the content that was placed: by its stat data, by the digest, or by
    /// the copy that is proven.
    fn is_same(&self, source: &DiskEntry<'_>, proven: Option<&DiskEntry<'_>>) -> io::Result<bool> {
        if self.file.kind == PlacedKind::Directory {
            return Ok(true);
        }
        let is_as_recorded = source.stat == self.stat;
        if is_as_recorded && self.stat.ctime < self.settled {
            return Ok(true);
        }
        if let Some(digest) = self.file.digest {
            return Ok(source.digest()? == digest);
        }
        match proven {
            Some(copy) => Ok(copy.digest()? == source.digest()?),
            None => Ok(is_as_recorded),
        }
    }
}

/// Keeps the directories open that lead to a placed file and to its source.
struct BothRoots {
    worktree: Directories,
    source: Option<Directories>,
}

impl BothRoots {
    fn open(worktree: &Utf8Path, source: Option<&Utf8Path>) -> Result<Self, DiskError> {
        Ok(Self {
            source: source.map(Directories::open).transpose()?,
            worktree: Directories::open(worktree)?,
        })
    }

    /// What cannot be read is taken for something else: then it is not overwritten unasked.
    fn drift(&mut self, placed: &Placed, file: &PlacedFile) -> Drift {
        let mut copy = DiskEntry::at(&mut self.worktree, &file.path);
        if let Ok(Some(entry)) = &mut copy {
            entry.is_proven = placed.proves(file, &entry.stat);
        }
        if let Some(stat) = file.source
            && let Some(directories) = &mut self.source
        {
            let source = DiskEntry::at(directories, &file.path);
            let recorded_source = RecordedSource {
                file,
                stat,
                settled: placed.settled(),
            };
            let proven = entry_of(&copy).filter(|entry| entry.is_proven);
            return Drift {
                copy: compare_copy(file, &copy, entry_of(&source)),
                source: recorded_source.compare(&source, proven),
            };
        }
        Drift {
            copy: compare_copy(file, &copy, None),
            source: SourceState::None,
        }
    }
}

/// Returns the entry that was found, if one was.
fn entry_of<'e, 'd>(looked_at: &'e io::Result<Option<DiskEntry<'d>>>) -> Option<&'e DiskEntry<'d>> {
    looked_at.as_ref().ok()?.as_ref()
}

/// Compares what stands in the worktree with what was placed.
fn compare_copy(
    file: &PlacedFile,
    copy: &io::Result<Option<DiskEntry<'_>>>,
    source: Option<&DiskEntry<'_>>,
) -> CopyState {
    match copy {
        Ok(None) => CopyState::Missing,
        Ok(Some(copy)) if copy.is_what_was_placed(file, source).unwrap_or(false) => CopyState::Same,
        Ok(Some(_)) | Err(_) => CopyState::Edited,
    }
}

#[cfg(test)]
mod tests;
