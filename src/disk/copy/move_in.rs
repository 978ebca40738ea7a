//! Moves what was staged into the destination, and takes it back.
//!
//! Nothing is written through a link, and nothing is replaced but what the caller has seen: a file
//! that is replaced is exchanged with its copy and looked at once more.

use std::collections::BTreeMap;
use std::os::fd::OwnedFd;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{AtFlags, CWD, Mode, chmodat, mkdirat, utimensat};
use rustix::io::Errno;

use crate::disk::copy::content::mtime;
use crate::disk::copy::error::{CopyError, changed};
use crate::disk::copy::removal::remove_placed;
use crate::disk::copy::staging::{Staged, Staging, drop_staging};
use crate::disk::error::{Attempt as _, DiskError};
use crate::disk::mode::DirectoryModes;
use crate::disk::open::{Directories, open_directory};
use crate::disk::rename::{exchange, move_new};
use crate::disk::stat::{mode_from, stat_entry};
use crate::inventory::manifest::Stat;
use crate::inventory::placed::{Placed, PlacedKind};
use crate::words::error::Error;
use crate::words::path::RepoPath;

/// The permissions of a directory that are kept: all but set-user-id.
const OF_DIRECTORY: u32 = 0o3777;

/// Represents what was moved in; what it replaced is still in the staging directory.
#[derive(Debug)]
#[must_use = "what was replaced is still there"]
pub struct MovedIn {
    /// What was placed, with the directories that were created on the way.
    pub staged: Vec<Staged>,
    staging: Utf8PathBuf,
    destination: Utf8PathBuf,
    /// What was replaced, with its name in the staging directory.
    replaced: Vec<(RepoPath, String)>,
    closed: DirectoryModes,
}

/// Moves what was staged into the destination. `staged` is what `stage` returned, in the same
/// order: the position of an entry is its name in the staging directory. `over` has the files that
/// may be replaced, as they were seen. `ours` is what we placed earlier: a directory of it that its
/// owner cannot write to is made writable meanwhile.
///
/// # Errors
/// Fails when something else stands there, a file to be replaced has changed, or the disk refuses;
/// then all is taken back.
pub fn move_in(
    staging: &Staging<'_>,
    destination: &Utf8Path,
    staged: Vec<Staged>,
    over: &BTreeMap<RepoPath, Stat>,
    ours: &Placed,
) -> Result<MovedIn, Error> {
    let closed = closed_directories(destination, &staged, ours)
        .map_err(|error| Error::from(error).leaving(drop_staging(staging.directory)))?;
    closed.open(destination);
    let mut moved = MovedIn {
        staged: Vec::with_capacity(staged.len()),
        staging: staging.directory.to_owned(),
        destination: destination.to_owned(),
        replaced: Vec::new(),
        closed,
    };
    match moved.move_all(staging.source, staged, over) {
        Ok(()) => {
            // what refuses is reported by `done`
            let _ = moved.closed.close(destination);
            Ok(moved)
        }
        Err(error) => Err(error.leaving(moved.take_back())),
    }
}

/// Returns the directories of ours above what was staged that their owner cannot write to.
fn closed_directories(
    destination: &Utf8Path,
    staged: &[Staged],
    ours: &Placed,
) -> Result<DirectoryModes, DiskError> {
    let mut directories = Vec::new();
    for entry in staged {
        for parent in entry.path.parents() {
            if let Ok(path) = RepoPath::parse(parent)
                && let Some(file) = ours.get(&path)
                && file.kind == PlacedKind::Directory
            {
                directories.push(&file.path);
            }
        }
    }
    let modes = DirectoryModes::of(destination, directories.into_iter())?;
    Ok(modes.closed())
}

/// Says what is moved or made at a path.
enum MoveStep {
    /// A file or a link, with its number in the staging directory.
    File(usize, Staged),
    /// A directory that was asked for.
    Directory(Staged),
    /// A directory on the way to something.
    DirectoryOnTheWay,
}

/// Sorts what was staged by path, each directory before what is in it.
fn steps(staged: Vec<Staged>) -> BTreeMap<RepoPath, MoveStep> {
    let mut steps = BTreeMap::new();
    for (number, entry) in staged.into_iter().enumerate() {
        let mut parent = entry.path.parent();
        while let Some(directory) = parent.filter(|directory| !steps.contains_key(directory)) {
            parent = directory.parent();
            steps.insert(directory, MoveStep::DirectoryOnTheWay);
        }
        let path = entry.path.clone();
        let step = match entry.kind {
            PlacedKind::Directory => MoveStep::Directory(entry),
            PlacedKind::File | PlacedKind::Link => MoveStep::File(number, entry),
        };
        steps.insert(path, step);
    }
    steps
}

impl MovedIn {
    /// Moves in everything, and notes each step as soon as it is taken, so that it can be taken
    /// back. Directories get their final modes last: some may not be writable then.
    fn move_all(
        &mut self,
        source: &Utf8Path,
        staged: Vec<Staged>,
        over: &BTreeMap<RepoPath, Stat>,
    ) -> Result<(), Error> {
        let staging = open_staging(&self.staging)?;
        let mut source_directories = Directories::open(source)?;
        let mut directories = Directories::open(&self.destination)?;
        for (path, step) in steps(staged) {
            let directory = directories.of(&path).map_err(|error| match error {
                Errno::NOTDIR | Errno::LOOP => changed(&path),
                error => DiskError::new(format!("open the directory of {path}"), error).into(),
            })?;
            match step {
                MoveStep::File(number, file) => {
                    self.place(&staging, &number.to_string(), directory, &path, over)?;
                    // noted first: if the look at it fails, the user is told that it stays
                    self.staged.push(file);
                    let placed = stat_entry(directory, path.file_name());
                    let stat = placed.attempting("look at", &path)?;
                    self.staged.last_mut().expect("because it was pushed").stat = stat;
                }
                MoveStep::Directory(entry) => {
                    let source_bits = entry.stat.permissions() & OF_DIRECTORY;
                    if create_directory(directory, &path, source_bits)? {
                        self.staged.push(entry);
                    }
                }
                MoveStep::DirectoryOnTheWay => {
                    let source_bits = bits_at_source(&mut source_directories, &path);
                    if create_directory(directory, &path, source_bits)? {
                        self.staged.push(directory_on_the_way(path));
                    }
                }
            }
        }
        self.finish_directories(&mut directories)
    }

    /// Gives the directories that were asked for the modes and times of their sources, those below
    /// first: a directory may not be writable in the end.
    fn finish_directories(&mut self, directories: &mut Directories) -> Result<(), Error> {
        for staged in self.staged.iter_mut().rev() {
            if staged.kind == PlacedKind::Directory {
                let finished = finish_directory(directories, staged);
                staged.stat = finished.attempting("make the directory", &staged.path)?;
            }
        }
        Ok(())
    }

    /// Moves one staged file to its path. A file that stands there is replaced if `over` has it as
    /// it is; a directory never is.
    fn place(
        &mut self,
        from: &OwnedFd,
        staged_name: &str,
        to: &OwnedFd,
        path: &RepoPath,
        over: &BTreeMap<RepoPath, Stat>,
    ) -> Result<(), Error> {
        let name = path.file_name().as_bytes();
        match move_new(from, staged_name.as_bytes(), to, name) {
            Err(Errno::EXIST | Errno::NOTEMPTY) => {}
            moved => return Ok(moved.attempting("place", path)?),
        }
        let there = stat_entry(to, name).attempting("place", path)?;
        let Some(seen) = over.get(path) else {
            return Err(in_the_way(path, &there));
        };
        if there.is_directory() {
            return Err(in_the_way(path, &there));
        }
        if *seen != there {
            return Err(changed(path));
        }
        match exchange_if_same(from, staged_name, to, path, there)? {
            Exchanged::Wholly => {
                self.replaced.push((path.clone(), staged_name.to_owned()));
                Ok(())
            }
            Exchanged::NotAtAll => Err(changed(path)),
            Exchanged::ForAnother => {
                // as something replaced, it is not removed with the staging directory
                self.replaced.push((path.clone(), staged_name.to_owned()));
                Err(changed(path))
            }
        }
    }

    /// Removes what was placed and puts back what it replaced. Returns what could not be done.
    #[must_use = "they are warnings for the user"]
    pub fn take_back(self) -> Vec<String> {
        self.closed.open(&self.destination);
        let mut warnings = self.move_back();
        warnings.extend(self.closed.close(&self.destination));
        warnings
    }

    /// Removes what was placed, then puts back what it replaced; called only while the directories
    /// are writable. If not all can be put back, the rest stays in the staging directory, and the
    /// warnings say where.
    fn move_back(&self) -> Vec<String> {
        let mut warnings = Vec::new();
        match remove_placed(&self.destination, &self.staged) {
            Ok(removal) => {
                for (path, reason) in removal.stayed {
                    warnings.push(format!("cannot remove {path} again: {reason}"));
                }
            }
            Err(error) => warnings.push(error.to_string()),
        }
        match self.put_back() {
            Ok(failures) if failures.is_empty() => warnings.extend(drop_staging(&self.staging)),
            Ok(failures) => warnings.extend(failures),
            Err(error) if self.replaced.is_empty() => warnings.push(error.to_string()),
            Err(error) => {
                let kept = &self.staging;
                warnings.push(format!("{error}; what was replaced is in {kept}"));
            }
        }
        warnings
    }

    /// Puts back what was replaced. Returns what could not be put back, and where it is.
    fn put_back(&self) -> Result<Vec<String>, DiskError> {
        let mut failures = Vec::new();
        let staging = open_staging(&self.staging)?;
        let mut directories = Directories::open(&self.destination)?;
        for (path, staged_name) in self.replaced.iter().rev() {
            let moved = directories.of(path).and_then(|directory| {
                move_new(
                    &staging,
                    staged_name.as_bytes(),
                    directory,
                    path.file_name(),
                )
            });
            if let Err(error) = moved {
                let why = std::io::Error::from(error);
                let kept = self.staging.join(staged_name);
                failures.push(format!(
                    "cannot put {path} back: {why}; what was there is {kept}"
                ));
            }
        }
        Ok(failures)
    }

    /// Removes what was replaced. Returns what could not be done.
    #[must_use = "they are warnings for the user"]
    pub fn done(self) -> Vec<String> {
        let mut warnings = self.closed.close(&self.destination);
        warnings.extend(drop_staging(&self.staging));
        warnings
    }
}

/// Says which file is under the name of a staged one after an exchange.
enum Exchanged {
    /// The one that was replaced.
    Wholly,
    /// The staged one: what stood at its path was changed in the moment before, and stands there
    /// again.
    NotAtAll,
    /// Neither: what stood at its path was replaced once more, meanwhile.
    ForAnother,
}

/// Exchanges a staged file with the one at its path, and exchanges them again if the one that came
/// back is not the one that was `there`.
fn exchange_if_same(
    from: &OwnedFd,
    staged_name: &str,
    to: &OwnedFd,
    path: &RepoPath,
    there: Stat,
) -> Result<Exchanged, Error> {
    let name = path.file_name().as_bytes();
    let staged = stat_entry(from, staged_name.as_bytes()).attempting("place", path)?;
    exchange(from, staged_name, to, name).attempting("place", path)?;
    if is_under_name(from, staged_name, there) {
        return Ok(Exchanged::Wholly);
    }
    exchange(from, staged_name, to, name).attempting("place", path)?;
    if is_under_name(from, staged_name, staged) {
        Ok(Exchanged::NotAtAll)
    } else {
        Ok(Exchanged::ForAnother)
    }
}

/// True if a name is that of a file as it was before a rename, which changes its ctime only.
fn is_under_name(directory: &OwnedFd, name: &str, before: Stat) -> bool {
    let Ok(now) = stat_entry(directory, name.as_bytes()) else {
        return false;
    };
    let renamed = Stat {
        ctime: now.ctime,
        ..before
    };
    now == renamed
}

fn open_staging(directory: &Utf8Path) -> Result<OwnedFd, DiskError> {
    open_directory(CWD, directory.as_std_path()).attempting("open", directory)
}

/// Returns the permissions of a directory on the way: no more open than its source.
fn bits_at_source(source: &mut Directories, path: &RepoPath) -> u32 {
    let stat = source
        .of(path)
        .and_then(|directory| stat_entry(directory, path.file_name()));
    stat.map_or(0o777, |stat| stat.permissions() & 0o777)
}

fn directory_on_the_way(path: RepoPath) -> Staged {
    Staged {
        path,
        kind: PlacedKind::Directory,
        digest: None,
        stat: Stat::default(),
    }
}

/// Creates a directory, in which its owner may write for now. True if there was none.
fn create_directory(parent: &OwnedFd, path: &RepoPath, bits: u32) -> Result<bool, Error> {
    let name = path.file_name().as_bytes();
    match mkdirat(parent, name, mode_from(bits) | Mode::RWXU) {
        Ok(()) => Ok(true),
        Err(Errno::EXIST) => {
            let there = stat_entry(parent, name).attempting("make the directory", path)?;
            if there.is_directory() {
                Ok(false)
            } else {
                Err(in_the_way(path, &there))
            }
        }
        Err(error) => Ok(Err(error).attempting("make the directory", path)?),
    }
}

fn finish_directory(directories: &mut Directories, staged: &Staged) -> Result<Stat, Errno> {
    let parent = directories.of(&staged.path)?;
    let name = staged.path.file_name().as_bytes();
    if staged.stat != Stat::default() {
        let mode = mode_from(staged.stat.permissions() & OF_DIRECTORY);
        let time = mtime(&staged.stat);
        utimensat(parent, name, &time, AtFlags::SYMLINK_NOFOLLOW)?;
        chmodat(parent, name, mode, AtFlags::empty())?;
    }
    stat_entry(parent, name)
}

fn in_the_way(path: &RepoPath, there: &Stat) -> Error {
    Error::from(CopyError::InTheWay {
        path: path.clone(),
        found: PlacedKind::of(there),
    })
}
