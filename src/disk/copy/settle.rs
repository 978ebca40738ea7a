//! Moves what was staged into the destination, and takes it back.
//!
//! Nothing is written through a link, and nothing is replaced but what the caller has seen: a file
//! that is replaced is exchanged with its copy and looked at once more.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{AtFlags, CWD, Mode, RenameFlags, chmodat, linkat};
use rustix::fs::{mkdirat, openat, renameat, renameat_with, statat, unlinkat, utimensat};
use rustix::io::Errno;

use crate::disk::DiskError;
use crate::disk::below::{DIRECTORY, Directories};
use crate::disk::copy::content::mtime;
use crate::disk::copy::{CopyError, Staged, Staging, changed, disk_error, drop_staging};
use crate::disk::mode::DirectoryModes;
use crate::disk::stat::stat_from;
use crate::inventory::manifest::Stat;
use crate::inventory::placed::{Placed, PlacedKind};
use crate::words::error::Error;
use crate::words::path::RepoPath;

/// Represents what was moved in; what it replaced is still in the staging directory.
#[derive(Debug)]
#[must_use = "what was replaced is still there"]
pub struct Settled {
    /// What was placed, with the directories that were created on the way.
    pub staged: Vec<Staged>,
    staged_in: Utf8PathBuf,
    destination: Utf8PathBuf,
    replaced: Vec<(RepoPath, String)>,
    closed: DirectoryModes,
}

/// Moves in what was staged. `over` is what may be replaced, as it was seen; the directories of
/// `ours` are opened for it where their mode forbids it.
///
/// # Errors
/// Fails when something else stands there, a file to be replaced has changed, or the disk refuses;
/// then all is taken back.
pub fn settle(
    staging: &Staging<'_>,
    destination: &Utf8Path,
    staged: Vec<Staged>,
    over: &BTreeMap<RepoPath, Stat>,
    ours: &Placed,
) -> Result<Settled, Error> {
    let above = staged.iter().flat_map(|staged| staged.path.parents());
    let above = above.filter_map(|path| ours.get(&RepoPath::parse(path).ok()?));
    let directories = above.filter(|file| file.kind == PlacedKind::Directory);
    let closed = DirectoryModes::of(destination, directories.map(|file| &file.path));
    let closed = closed.map_err(|error| {
        Error::from(error).leaving(drop_staging(staging.directory).into_iter().collect())
    })?;
    let closed = closed.closed();
    closed.open(destination);
    let mut settled = Settled {
        staged: Vec::with_capacity(staged.len()),
        staged_in: staging.directory.to_owned(),
        destination: destination.to_owned(),
        replaced: Vec::new(),
        closed,
    };
    match settled.move_all(staging, staged, over) {
        Ok(()) => {
            // what refuses is reported by `done`
            let _ = settled.closed.close(destination);
            Ok(settled)
        }
        Err(error) => Err(error.leaving(settled.take_back())),
    }
}

impl Settled {
    fn move_all(
        &mut self,
        staging: &Staging<'_>,
        staged: Vec<Staged>,
        over: &BTreeMap<RepoPath, Stat>,
    ) -> Result<(), Error> {
        let from = open(&self.staged_in)?;
        let mut source = Directories::open(staging.source)?;
        let mut to = Directories::open(&self.destination)?;
        let mut all: BTreeMap<RepoPath, Option<(usize, Staged)>> = BTreeMap::new();
        for (at, staged) in staged.into_iter().enumerate() {
            let mut parent = staged.path.parent();
            while let Some(directory) = parent.filter(|directory| !all.contains_key(directory)) {
                parent = directory.parent();
                all.insert(directory, None);
            }
            all.insert(staged.path.clone(), Some((at, staged)));
        }
        for (path, staged) in all {
            let above = to.of(&path).map_err(|error| match error {
                Errno::NOTDIR | Errno::LOOP => changed(&path),
                error => disk_error("open the directory of", &path, error).into(),
            })?;
            match staged {
                Some((at, staged)) if staged.kind != PlacedKind::Directory => {
                    self.place(&from, &at.to_string(), above, &path, over)?;
                    self.staged.push(staged);
                    let staged = self.staged.last_mut();
                    let now = look(above, path.file_name());
                    let now = now.map_err(|error| disk_error("look at", &path, error))?;
                    staged.into_iter().for_each(|staged| staged.stat = now);
                }
                asked => {
                    let asked = asked.map(|(_, staged)| staged);
                    let bits = match &asked {
                        Some(asked) => asked.stat.permissions() & 0o3777,
                        // no more open than its source
                        None => source
                            .of(&path)
                            .and_then(|above| look(above, path.file_name()))
                            .map_or(0o777, |stat| stat.permissions() & 0o777),
                    };
                    if create_directory(above, &path, bits)? {
                        self.staged.push(asked.unwrap_or_else(|| Staged {
                            path,
                            kind: PlacedKind::Directory,
                            digest: None,
                            stat: Stat::default(),
                        }));
                    }
                }
            }
        }
        self.finish_directories(&mut to)
    }

    /// Gives the directories that were asked for the modes and times of their sources, those below
    /// first: a directory may not be writable in the end.
    fn finish_directories(&mut self, to: &mut Directories) -> Result<(), Error> {
        let all = self.staged.iter_mut().rev();
        for staged in all.filter(|staged| staged.kind == PlacedKind::Directory) {
            let mut finish = || {
                let (above, name) = (to.of(&staged.path)?, staged.path.file_name().as_bytes());
                if staged.stat != Stat::default() {
                    let mode = Mode::from_raw_mode((staged.stat.permissions() & 0o3777) as _);
                    utimensat(above, name, &mtime(&staged.stat), AtFlags::SYMLINK_NOFOLLOW)?;
                    chmodat(above, name, mode, AtFlags::empty())?;
                }
                look(above, name)
            };
            let failed = |error| disk_error("make the directory", &staged.path, error);
            staged.stat = finish().map_err(failed)?;
        }
        Ok(())
    }

    fn place(
        &mut self,
        from: &OwnedFd,
        staged: &str,
        to: &OwnedFd,
        path: &RepoPath,
        over: &BTreeMap<RepoPath, Stat>,
    ) -> Result<(), Error> {
        let name = path.file_name().as_bytes();
        let failed = |error| disk_error("place", path, error);
        match move_new(from, staged.as_bytes(), to, name) {
            Err(Errno::EXIST | Errno::NOTEMPTY) => {}
            other => return Ok(other.map_err(failed)?),
        }
        let found = look(to, name).map_err(failed)?;
        match over.get(path) {
            Some(_) if found.is_directory() => return Err(in_the_way(path, &found)),
            None => return Err(in_the_way(path, &found)),
            Some(seen) if *seen != found => return Err(changed(path)),
            Some(_) => {}
        }
        exchange(from, staged, to, name).map_err(failed)?;
        let took = look(from, staged.as_bytes());
        // a rename changes this time
        let ctime = found.ctime;
        if took.map(|took| Stat { ctime, ..took }) != Ok(found) {
            exchange(from, staged, to, name).map_err(failed)?;
            return Err(changed(path));
        }
        self.replaced.push((path.clone(), staged.to_owned()));
        Ok(())
    }

    /// Removes what was placed and puts back what it replaced. Returns what could not be done.
    #[must_use = "they are warnings for the user"]
    pub fn take_back(self) -> Vec<String> {
        self.closed.open(&self.destination);
        let moved = self.move_back();
        let mut warnings = moved.unwrap_or_else(|error| vec![error.to_string()]);
        warnings.extend(self.closed.close(&self.destination));
        warnings
    }

    fn move_back(&self) -> Result<Vec<String>, DiskError> {
        let stayed = remove_placed(&self.destination, &self.staged)?.stayed;
        let stayed = stayed.into_iter();
        let stayed = stayed.map(|(path, reason)| format!("cannot remove {path} again: {reason}"));
        let mut warnings: Vec<String> = stayed.collect();
        let from = open(&self.staged_in)?;
        let mut to = Directories::open(&self.destination)?;
        let mut is_all_back = true;
        for (path, staged) in self.replaced.iter().rev() {
            let to = to.of(path);
            let back = to.and_then(|to| move_new(&from, staged.as_bytes(), to, path.file_name()));
            if let Err(error) = back {
                is_all_back = false;
                let (error, held) = (std::io::Error::from(error), self.staged_in.join(staged));
                warnings.push(format!(
                    "cannot put {path} back: {error}; what was there is {held}"
                ));
            }
        }
        if is_all_back {
            warnings.extend(drop_staging(&self.staged_in));
        }
        Ok(warnings)
    }

    /// Removes what was replaced. Returns what could not be done.
    #[must_use = "they are warnings for the user"]
    pub fn done(self) -> Vec<String> {
        let mut warnings = self.closed.close(&self.destination);
        warnings.extend(drop_staging(&self.staged_in));
        warnings
    }
}

fn open(directory: &Utf8Path) -> Result<OwnedFd, DiskError> {
    let opened = openat(CWD, directory.as_std_path(), DIRECTORY, Mode::empty());
    opened.map_err(|error| disk_error("open", directory, error))
}

fn look(directory: &OwnedFd, name: &[u8]) -> Result<Stat, Errno> {
    let found = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW)?;
    Ok(stat_from(&found))
}

/// Creates a directory, in which its owner may write for now. Returns whether there was none.
fn create_directory(above: &OwnedFd, path: &RepoPath, bits: u32) -> Result<bool, Error> {
    let name = path.file_name().as_bytes();
    let failed = |error| disk_error("make the directory", path, error);
    match mkdirat(above, name, Mode::from_raw_mode(bits as _) | Mode::RWXU) {
        Err(Errno::EXIST) => match look(above, name).map_err(failed)? {
            found if found.is_directory() => Ok(false),
            found => Err(in_the_way(path, &found)),
        },
        created => Ok(created.map(|()| true).map_err(failed)?),
    }
}

fn in_the_way(path: &RepoPath, found: &Stat) -> Error {
    let (path, found) = (path.clone(), PlacedKind::of(found));
    CopyError::InTheWay { path, found }.into()
}

/// What a file system says that cannot rename in this way.
const UNKNOWN: [Errno; 3] = [Errno::INVAL, Errno::NOSYS, Errno::OPNOTSUPP];

/// Moves a file to a name that is free.
///
/// # Errors
/// Fails when something has that name, or the disk refuses.
pub fn move_new(from: &OwnedFd, old: &[u8], to: &OwnedFd, new: &[u8]) -> Result<(), Errno> {
    match renameat_with(from, old, to, new, RenameFlags::NOREPLACE) {
        Err(error) if UNKNOWN.contains(&error) => {}
        other => return other,
    }
    match linkat(from, old, to, new, AtFlags::empty()) {
        Ok(()) => return unlinkat(from, old, AtFlags::empty()),
        Err(Errno::EXIST) => return Err(Errno::EXIST),
        // it knows no second names, or not of this file
        Err(_) => {}
    }
    match look(to, new) {
        Err(Errno::NOENT) => renameat(from, old, to, new),
        other => Err(other.err().unwrap_or(Errno::EXIST)),
    }
}

/// Exchanges a staged file with what stands in its place.
fn exchange(from: &OwnedFd, staged: &str, to: &OwnedFd, name: &[u8]) -> Result<(), Errno> {
    match renameat_with(from, staged, to, name, RenameFlags::EXCHANGE) {
        Err(error) if UNKNOWN.contains(&error) => {}
        other => return other,
    }
    let aside = format!("{staged}-replaced");
    renameat(to, name, from, &aside)?;
    if let Err(error) = move_new(from, staged.as_bytes(), to, name) {
        renameat(from, &aside, to, name)?;
        return Err(error);
    }
    renameat(from, &aside, from, staged)
}

/// Lists what became of entries to be removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// What is gone.
    pub removed: Vec<RepoPath>,
    /// What stayed, and why.
    pub stayed: Vec<(RepoPath, String)>,
}

/// Removes entries that are still as they were placed, and directories that are empty then.
///
/// # Errors
/// Fails when the destination cannot be opened.
pub fn remove_placed(destination: &Utf8Path, placed: &[Staged]) -> Result<Removed, DiskError> {
    let mut placed: Vec<&Staged> = placed.iter().collect();
    // a directory is before its entries, so the other way round
    placed.sort_unstable_by(|a, b| b.path.cmp(&a.path));
    let own = placed
        .iter()
        .filter(|one| one.kind == PlacedKind::Directory);
    let closed = DirectoryModes::of(destination, own.map(|one| &one.path))?.closed();
    closed.open(destination);
    let mut directories = Directories::open(destination)?;
    let mut done = Removed::default();
    for one in placed {
        let reason = match remove(&mut directories, one) {
            Err(Errno::NOENT) => continue,
            Ok(true) => {
                done.removed.push(one.path.clone());
                continue;
            }
            Ok(false) => "it was changed".to_owned(),
            Err(Errno::NOTEMPTY | Errno::EXIST) => "other files are in it".to_owned(),
            // of a directory on the way
            Err(Errno::NOTDIR | Errno::LOOP) => {
                "something else stands where its directory was".to_owned()
            }
            Err(error) => std::io::Error::from(error).to_string(),
        };
        done.stayed.push((one.path.clone(), reason));
    }
    // one that cannot be closed has another owner by now
    let _ = closed.close(destination);
    Ok(done)
}

fn remove(directories: &mut Directories, placed: &Staged) -> Result<bool, Errno> {
    let name = placed.path.file_name().as_bytes();
    let above = directories.of(&placed.path)?;
    let found = look(above, name)?;
    let (is_same, flags) = match placed.kind {
        PlacedKind::Directory => (found.is_directory(), AtFlags::REMOVEDIR),
        PlacedKind::File | PlacedKind::Link => (found == placed.stat, AtFlags::empty()),
    };
    if is_same {
        unlinkat(above, name, flags)?;
    }
    Ok(is_same)
}
