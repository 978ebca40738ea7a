//! Moves what was staged to its place: [`settle`], and takes it back: [`Settled`].
//!
//! Where the destination has nothing of a name, it is renamed with everything below; where both
//! have a directory, its entries are looked at one by one. Every directory of the destination is
//! opened from the one above it without following a link, and nothing is replaced that is not
//! exactly what the caller has seen.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use bstr::{BStr, BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{AtFlags, FileType, Mode, chmodat, statat};
use rustix::io::Errno;

use super::remove::{Expected, remove_placed};
use super::rename::{Between, exchange, move_new};
use super::{CopyError, Staged, disk_error, drop_staging};
use crate::disk::DiskError;
use crate::disk::below::Directories;
use crate::disk::mode::DirectoryModes;
use crate::disk::stat::stat_from;
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::{Placed, PlacedKind};

/// Represents everything that was moved in. Until it is [done](Settled::done), what was replaced
/// is in the staging directory.
#[derive(Debug)]
#[must_use = "what was replaced is still there"]
pub struct Settled {
    /// What was placed, with the stat data that it has there, sorted by path. A directory that
    /// was there before is not in it.
    pub staged: Vec<Staged>,
    /// Directories that were created on the way, sorted by path.
    pub made: Vec<Staged>,
    staged_in: Utf8PathBuf,
    destination: Utf8PathBuf,
    replaced: Vec<RepoPath>,
    /// Read-only directories that were opened for it, with their permissions.
    closed: DirectoryModes,
    /// Why some of them could not be closed again.
    not_closed: Vec<String>,
}

/// Moves everything from the staging directory into the destination. What stands there is only
/// replaced when `over` has its path with exactly these stat data, and is kept in the staging
/// directory until the answer is [done](Settled::done). Directories in `ours`, which we placed,
/// are opened for it where they are read-only, and have their permissions again in the end.
///
/// # Errors
/// Fails when something else stands where a file or directory is to be, or the disk refuses;
/// everything is taken back then, and the staging directory removed.
pub fn settle(
    staged_in: &Utf8Path,
    destination: &Utf8Path,
    staged: Vec<Staged>,
    over: &BTreeMap<RepoPath, Stat>,
    ours: &Placed,
) -> Result<Settled, CopyError> {
    let closed = closed(destination, &staged, ours);
    let closed = closed.map_err(|error| CopyError::from(error).leaving(drop_staging(staged_in)))?;
    closed.open(destination);
    let mut settled = Settled {
        staged: Vec::with_capacity(staged.len()),
        made: Vec::new(),
        staged_in: staged_in.to_owned(),
        destination: destination.to_owned(),
        replaced: Vec::new(),
        closed,
        not_closed: Vec::new(),
    };
    match settled.move_all(staged, over) {
        Ok(()) => {
            settled.not_closed = settled.closed.close(destination);
            Ok(settled)
        }
        Err(error) => Err(error.leaving(settled.take_back())),
    }
}

/// The read-only directories of ours into which something is moved.
fn closed(
    destination: &Utf8Path,
    staged: &[Staged],
    ours: &Placed,
) -> Result<DirectoryModes, DiskError> {
    let above = staged.iter().flat_map(|staged| staged.path.parents());
    let above: BTreeSet<&BStr> = above.collect();
    let placed = ours.files().iter();
    let directories = placed.filter(|file| file.kind == PlacedKind::Directory);
    let paths = directories.map(|file| &file.path);
    let paths = paths.filter(|path| above.contains(path.as_bstr()));
    Ok(DirectoryModes::of(destination, paths)?.closed())
}

impl Settled {
    fn move_all(
        &mut self,
        staged: Vec<Staged>,
        over: &BTreeMap<RepoPath, Stat>,
    ) -> Result<(), CopyError> {
        let mut from = Directories::open(&self.staged_in)?;
        let mut to = Directories::open(&self.destination)?;
        // what was not asked for: directories on the way
        let mut nodes: BTreeMap<RepoPath, Option<Staged>> = BTreeMap::new();
        for staged in staged {
            let mut parent = staged.path.parent();
            while let Some(directory) = parent.filter(|directory| !nodes.contains_key(directory)) {
                parent = directory.parent();
                nodes.insert(directory, None);
            }
            nodes.insert(staged.path.clone(), Some(staged));
        }
        let mut moved_whole: HashSet<BString> = HashSet::new();
        for (path, staged) in nodes {
            let is_moved = path.parents().any(|above| moved_whole.contains(above));
            let staged = match staged {
                // a rename changes the stat data of what is renamed, not of what is in it
                Some(staged) if is_moved => {
                    self.staged.push(staged);
                    continue;
                }
                other => other,
            };
            let is_directory = staged
                .as_ref()
                .is_none_or(|s| s.kind == PlacedKind::Directory);
            let to = to.of(&path).map_err(|error| match error {
                Errno::NOTDIR | Errno::LOOP => CopyError::Changed { path: path.clone() },
                error => disk_error("open the directory of", &path, error),
            })?;
            let name = path.file_name().as_bytes();
            if !is_moved {
                let from = from.of(&path);
                let from = from.map_err(|error| disk_error("place", &path, error))?;
                if !self.place(Between { from, to }, &path, is_directory, over)? {
                    continue;
                }
                moved_whole.extend(is_directory.then(|| path.as_bstr().to_owned()));
            }
            let looked_at = statat(to, name, AtFlags::SYMLINK_NOFOLLOW);
            let known = staged.as_ref().map(|staged| staged.stat);
            let stat = looked_at.as_ref().ok().map(stat_from).or(known);
            match staged {
                Some(staged) => self.staged.push(Staged {
                    stat: stat.unwrap_or(staged.stat),
                    ..staged
                }),
                None => self.made.push(Staged {
                    path: path.clone(),
                    kind: PlacedKind::Directory,
                    digest: None,
                    stat: stat.unwrap_or_default(),
                }),
            }
            looked_at.map_err(|error| disk_error("look at", &path, error))?;
        }
        Ok(())
    }

    /// Moves one name; whether it was moved, and not a directory that stands there already.
    fn place(
        &mut self,
        between: Between<'_>,
        path: &RepoPath,
        is_directory: bool,
        over: &BTreeMap<RepoPath, Stat>,
    ) -> Result<bool, CopyError> {
        let name = path.file_name().as_bytes();
        let failed = |error| disk_error("place", path, error);
        match move_new(between, name) {
            Ok(()) => return Ok(true),
            Err(Errno::EXIST | Errno::NOTEMPTY) => {}
            Err(error) => return Err(failed(error)),
        }
        let lstat = |directory| statat(directory, name, AtFlags::SYMLINK_NOFOLLOW);
        let found = stat_from(&lstat(between.to).map_err(failed)?);
        if is_directory && found.is_directory() {
            // its entries are moved out one by one, and then it is removed
            let opened = chmodat(between.from, name, Mode::RWXU, AtFlags::empty());
            opened.map_err(failed)?;
            return Ok(false);
        }
        match over.get(path) {
            Some(seen) if *seen == found && !found.is_directory() => {}
            Some(_) if !found.is_directory() => {
                return Err(CopyError::Changed { path: path.clone() });
            }
            Some(_) | None => return Err(stands_there(path, is_directory, &found)),
        }
        exchange(between, name).map_err(failed)?;
        let took = lstat(between.from).map(|stat| stat_from(&stat));
        // a rename changes this time
        let ctime = found.ctime;
        if took.map(|took| Stat { ctime, ..took }) != Ok(found) {
            exchange(between, name).map_err(failed)?;
            return Err(CopyError::Changed { path: path.clone() });
        }
        self.replaced.push(path.clone());
        Ok(true)
    }

    /// Takes everything back: removes what was moved in and is still the same, then the
    /// directories that were created and are empty, and puts back what was replaced. Returns what
    /// could not be done, a sentence each.
    #[must_use = "they are warnings for the user"]
    pub fn take_back(self) -> Vec<String> {
        self.closed.open(&self.destination);
        let mut warnings = self
            .move_back()
            .unwrap_or_else(|error| vec![error.to_string()]);
        warnings.extend(self.closed.close(&self.destination));
        warnings
    }

    fn move_back(&self) -> Result<Vec<String>, DiskError> {
        let ours = self.staged.iter().chain(&self.made);
        let expected = ours.map(|staged| Expected {
            path: &staged.path,
            kind: staged.kind,
            stat: staged.stat,
        });
        let removed = remove_placed(&self.destination, &expected.collect::<Vec<_>>())?;
        let stayed = removed.stayed.into_iter();
        let mut warnings: Vec<String> = stayed
            .map(|(path, reason)| format!("cannot remove {path} again: {reason}"))
            .collect();
        let mut from = Directories::open(&self.staged_in)?;
        let mut to = Directories::open(&self.destination)?;
        let mut is_all_back = true;
        for path in self.replaced.iter().rev() {
            let mut put_back = || {
                let (from, to) = (from.of(path)?, to.of(path)?);
                move_new(Between { from, to }, path.file_name())
            };
            if let Err(error) = put_back() {
                is_all_back = false;
                let error = std::io::Error::from(error);
                let held = self.staged_in.as_str();
                warnings.push(format!(
                    "cannot put {path} back: {error}; what was there is {held}/{path}"
                ));
            }
        }
        if is_all_back {
            warnings.extend(drop_staging(&self.staged_in));
        }
        Ok(warnings)
    }

    /// Forgets what was replaced, and removes the staging directory. Returns what could not be
    /// done, a sentence each.
    #[must_use = "they are warnings for the user"]
    pub fn done(self) -> Vec<String> {
        let mut warnings = self.not_closed;
        warnings.extend(drop_staging(&self.staged_in));
        warnings
    }
}

fn stands_there(path: &RepoPath, is_directory: bool, found: &Stat) -> CopyError {
    let path = path.clone();
    let found = match FileType::from_raw_mode(found.mode as _) {
        FileType::Directory => "a directory",
        FileType::Symlink => "a symbolic link",
        FileType::RegularFile => "a file",
        FileType::Fifo
        | FileType::Socket
        | FileType::CharacterDevice
        | FileType::BlockDevice
        | FileType::Unknown => "something that is not a file",
    };
    let wanted = match is_directory {
        true => "a directory",
        false if found == "a file" => return CopyError::Appeared { path },
        false => "a file",
    };
    CopyError::InTheWay {
        path,
        wanted,
        found,
    }
}
