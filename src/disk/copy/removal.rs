//! Removes files that are still as they were placed.

use bstr::ByteSlice as _;
use camino::Utf8Path;
use rustix::fs::{AtFlags, unlinkat};
use rustix::io::Errno;

use crate::disk::copy::staging::Staged;
use crate::disk::error::DiskError;
use crate::disk::mode::DirectoryModes;
use crate::disk::open::Directories;
use crate::disk::stat::stat_entry;
use crate::inventory::placed::PlacedKind;
use crate::words::path::RepoPath;

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
    let mut entries: Vec<&Staged> = placed.iter().collect();
    // a directory is before its entries, so the other way round
    entries.sort_unstable_by(|a, b| b.path.cmp(&a.path));
    let own_directories = entries
        .iter()
        .filter(|entry| entry.kind == PlacedKind::Directory)
        .map(|entry| &entry.path);
    let closed = DirectoryModes::of(destination, own_directories)?.closed();
    closed.open(destination);
    let mut directories = Directories::open(destination)?;
    let mut result = Removed::default();
    for entry in entries {
        match remove(&mut directories, entry) {
            Removal::Absent => {}
            Removal::Done => result.removed.push(entry.path.clone()),
            Removal::Stays(reason) => result.stayed.push((entry.path.clone(), reason)),
        }
    }
    // one that cannot be closed has another owner by now
    let _ = closed.close(destination);
    Ok(result)
}

enum Removal {
    Done,
    Absent,
    Stays(String),
}

/// Removes one entry, or says why it stays.
fn remove(directories: &mut Directories, placed: &Staged) -> Removal {
    let reason = match try_remove(directories, placed) {
        Ok(removal) => return removal,
        Err(Errno::NOENT) => return Removal::Absent,
        Err(Errno::NOTEMPTY | Errno::EXIST) => "other files are in it".to_owned(),
        // of a directory on the way
        Err(Errno::NOTDIR | Errno::LOOP) => {
            "something else stands where its directory was".to_owned()
        }
        Err(error) => std::io::Error::from(error).to_string(),
    };
    Removal::Stays(reason)
}

/// Removes an entry that is as it was placed.
fn try_remove(directories: &mut Directories, placed: &Staged) -> Result<Removal, Errno> {
    let name = placed.path.file_name().as_bytes();
    let directory = directories.of(&placed.path)?;
    let now = stat_entry(directory, name)?;
    match placed.kind {
        PlacedKind::Directory if now.is_directory() => {
            unlinkat(directory, name, AtFlags::REMOVEDIR)?;
        }
        PlacedKind::File | PlacedKind::Link if now == placed.stat => {
            unlinkat(directory, name, AtFlags::empty())?;
        }
        PlacedKind::Directory | PlacedKind::File | PlacedKind::Link => {
            return Ok(Removal::Stays("it was changed".to_owned()));
        }
    }
    Ok(Removal::Done)
}
