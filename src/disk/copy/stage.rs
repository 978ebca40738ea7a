//! Creates everything in the staging directory: the directories, their entries by several threads,
//! then modes and times of the directories from below.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

use bstr::{BStr, ByteSlice};
use rustix::fs::{AtFlags, CWD, Mode, chmodat, mkdirat, statat, utimensat};

use super::content::{changed, mtime};
use super::{CopyError, Item, Source, Staged, Staging, disk_error, drop_staging};
use crate::disk::below::Directories;
use crate::disk::pool::map_parallel;
use crate::disk::stat::stat_from;
use crate::path::RepoPath;
use crate::placed::PlacedKind;

/// Copies all items into the staging directory, each under its own path. Returns what became of
/// each, sorted by path; directories that items need and that are none are created too.
///
/// The copy of a file has exactly the bits that are given, without those that would lend
/// rights (setuid, setgid): it belongs to the user who copies.
///
/// # Errors
/// Fails when a source is not what was chosen or cannot be read, when the disk refuses, and when
/// it is stopped; the staging directory is removed then.
pub fn stage(staging: &Staging<'_>, items: &[Item]) -> Result<Vec<Staged>, CopyError> {
    let size = |item: &Item| match &item.from {
        Source::File(PlacedKind::File, stat) => stat.size,
        Source::File(PlacedKind::Link | PlacedKind::Directory, _) => 0,
        Source::Text(text) => text.len() as u64,
    };
    let bytes = items.iter().map(size).sum();
    staging.progress.begin(bytes);
    let failed = |error| disk_error("make the directory", staging.directory, error);
    let path = staging.directory.as_std_path();
    mkdirat(CWD, path, Mode::from_raw_mode(0o777)).map_err(failed)?;
    fill(staging, items).map_err(|error| error.leaving(drop_staging(staging.directory)))
}

/// Holds what one thread of a copy has.
pub(super) struct Worker<'a> {
    pub staging: &'a Staging<'a>,
    pub source: Directories,
}

impl<'a> Worker<'a> {
    fn new(staging: &'a Staging<'a>) -> Result<Self, CopyError> {
        let source = Directories::open(staging.source)?;
        Ok(Self { staging, source })
    }

    /// Where an item is staged.
    pub fn staged_path(&self, path: &RepoPath) -> Result<PathBuf, CopyError> {
        let below = path.to_os_path();
        let below = below.map_err(|e| disk_error("copy", path, std::io::Error::other(e)))?;
        Ok(self.staging.directory.as_std_path().join(below))
    }

    /// Creates a directory, and returns the bits that it has in the end: those of its item, or, of
    /// one that only others need, those of the source's that the umask leaves, so that it opens
    /// nothing that was closed.
    fn directory(
        &mut self,
        path: &RepoPath,
        item: Option<&Item>,
        umask: Mode,
    ) -> Result<Mode, CopyError> {
        let above = self.source.of(path);
        let name = path.file_name().as_bytes();
        let there = above.and_then(|above| statat(above, name, AtFlags::SYMLINK_NOFOLLOW));
        let there = there.map(|stat| stat_from(&stat));
        let mode = match item.map(|item| (&item.from, item.bits)) {
            Some((Source::File(_, chosen), bits)) => {
                let there = there.map_err(|error| changed(path, error))?;
                // its entries may have become more or less: what was chosen is copied
                if there.inode != chosen.inode || !there.is_directory() {
                    return Err(CopyError::Changed { path: path.clone() });
                }
                Mode::from_raw_mode((bits & 0o3777) as _)
            }
            Some((Source::Text(_), _)) | None => {
                let bits = there.map_or(0o777, |stat| stat.permissions() & 0o777);
                Mode::from_raw_mode(bits as _) & umask | Mode::RWXU
            }
        };
        let to = self.staged_path(path)?;
        let created = mkdirat(CWD, &to, mode | Mode::RWXU);
        created.map_err(|error| disk_error("make the directory", path, error))?;
        Ok(mode)
    }
}

fn fill(staging: &Staging<'_>, items: &[Item]) -> Result<Vec<Staged>, CopyError> {
    let umask = close(staging)?;
    let mut worker = Worker::new(staging)?;
    let is_directory = |item: &&Item| matches!(item.from, Source::File(PlacedKind::Directory, _));
    let (own, entries): (Vec<&Item>, Vec<&Item>) = items.iter().partition(is_directory);
    let own: BTreeMap<&BStr, &Item> = own
        .iter()
        .map(|item| (item.path.as_bstr(), *item))
        .collect();
    let parents = items.iter().flat_map(|item| item.path.parents());
    let all: BTreeSet<&BStr> = parents.chain(own.keys().copied()).collect();
    let mut directories = Vec::with_capacity(all.len());
    for path in all {
        if (staging.stop)() {
            return Err(CopyError::Stopped);
        }
        let item = own.get(path).copied();
        let path = RepoPath::parse(path).expect("because a directory of a path is a path");
        let mode = worker.directory(&path, item, umask)?;
        directories.push((path, item, mode));
    }
    let start = || Worker::new(staging);
    let mut staged = map_parallel(&entries, start, |worker, item| worker.item(item))?;
    // those below first: a directory may not be writable in the end
    for (path, item, mode) in directories.into_iter().rev() {
        let to = worker.staged_path(&path)?;
        let finish = || {
            if let Some(Source::File(_, stat)) = item.map(|item| &item.from) {
                utimensat(CWD, &to, &mtime(stat), AtFlags::SYMLINK_NOFOLLOW)?;
            }
            let now = Mode::from_raw_mode(statat(CWD, &to, AtFlags::SYMLINK_NOFOLLOW)?.st_mode);
            let inherited = match item {
                Some(_) => Mode::empty(),
                None => now & Mode::SGID,
            };
            chmodat(CWD, &to, mode | inherited, AtFlags::empty())?;
            statat(CWD, &to, AtFlags::SYMLINK_NOFOLLOW)
        };
        let now = finish().map_err(|error| disk_error("make the directory", &path, error))?;
        staged.extend(item.map(|_| Staged {
            path,
            kind: PlacedKind::Directory,
            digest: None,
            stat: stat_from(&now),
        }));
    }
    staged.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    Ok(staged)
}

/// Closes the new directory for others, and returns what the umask leaves of all bits.
fn close(staging: &Staging<'_>) -> Result<Mode, CopyError> {
    let path = staging.directory.as_std_path();
    let close = || {
        let created = Mode::from_raw_mode(statat(CWD, path, AtFlags::SYMLINK_NOFOLLOW)?.st_mode);
        // what is inherited with the group (setgid) goes on to what is created in it
        chmodat(
            CWD,
            path,
            (created & Mode::SGID) | Mode::RWXU,
            AtFlags::empty(),
        )?;
        Ok(created & Mode::from_raw_mode(0o777))
    };
    let closed: rustix::io::Result<Mode> = close();
    closed.map_err(|error| disk_error("open", staging.directory, error))
}
