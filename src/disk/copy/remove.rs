//! Removes placed files again, and the directories that were created for them.

use bstr::ByteSlice;
use camino::Utf8Path;
use rustix::fs::{AtFlags, FileType, Mode, fchmod, fstat, statat, unlinkat};
use rustix::io::Errno;

use crate::disk::DiskError;
use crate::disk::below::Directories;
use crate::disk::mode::DirectoryModes;
use crate::disk::stat::stat_from;
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::PlacedKind;

/// Holds one placed file, and how it must be to be removed.
#[derive(Clone, Copy, Debug)]
pub struct Expected<'a> {
    /// Its path.
    pub path: &'a RepoPath,
    /// What it is.
    pub kind: PlacedKind,
    /// Its stat data now; of a directory only that it is one.
    pub stat: Stat,
}

/// Holds what was removed, and what was not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// What was removed, in that order. What was not there is in neither list.
    pub removed: Vec<RepoPath>,
    /// What stayed, and why.
    pub stayed: Vec<(RepoPath, String)>,
}

/// Removes placed files that are as expected, the entries of a directory before it; a directory
/// only when it is empty then, and with the permissions that it had where it is not. Never through
/// a link.
///
/// # Errors
/// Fails when the destination cannot be opened; what stays is in the answer.
pub fn remove_placed(destination: &Utf8Path, files: &[Expected<'_>]) -> Result<Removed, DiskError> {
    let mut files = files.to_vec();
    // a directory is before its entries, so the other way round
    files.sort_unstable_by(|a, b| b.path.cmp(a.path));
    let mut directories = Directories::open(destination)?;
    let mut done = Removed::default();
    let mut opened = Vec::new();
    for file in &files {
        match remove(&mut directories, file, &files, &mut opened) {
            Ok(true) => done.removed.push(file.path.clone()),
            Ok(false) => {
                let reason = "it was changed".to_owned();
                done.stayed.push((file.path.clone(), reason));
            }
            Err(Errno::NOENT) => {}
            Err(error) => done.stayed.push((file.path.clone(), reason(error))),
        }
    }
    // one that cannot be closed is somebody else's by now
    let _ = DirectoryModes::new(opened.into_iter()).close(destination);
    Ok(done)
}

fn reason(error: Errno) -> String {
    match error {
        Errno::NOTEMPTY | Errno::EXIST => "other files are in it".to_owned(),
        // of a directory on the way
        Errno::NOTDIR | Errno::LOOP => "something else stands where its directory was".to_owned(),
        error => std::io::Error::from(error).to_string(),
    }
}

/// Removes one, unless it is not as expected; `opened` gets the directory that it is in where that
/// had to be opened for it.
fn remove(
    directories: &mut Directories,
    file: &Expected<'_>,
    ours: &[Expected<'_>],
    opened: &mut Vec<(RepoPath, u32)>,
) -> Result<bool, Errno> {
    let name = file.path.file_name().as_bytes();
    let above = directories.of(file.path)?;
    let found = stat_from(&statat(above, name, AtFlags::SYMLINK_NOFOLLOW)?);
    let (is_same, flags) = match file.kind {
        PlacedKind::Directory => (
            FileType::from_raw_mode(found.mode) == FileType::Directory,
            AtFlags::REMOVEDIR,
        ),
        PlacedKind::File | PlacedKind::Link => (found == file.stat, AtFlags::empty()),
    };
    if !is_same {
        return Ok(false);
    }
    // the directory that it is in, if that is one of those to be removed
    let parent = file.path.parent().filter(|parent| {
        let at = ours.binary_search_by(|ours| parent.cmp(ours.path));
        at.is_ok_and(|at| ours[at].kind == PlacedKind::Directory)
    });
    match (unlinkat(above, name, flags), parent) {
        (Err(Errno::ACCESS), Some(parent)) => {
            let mode = Mode::from_raw_mode(fstat(above)?.st_mode);
            fchmod(above, mode | Mode::RWXU)?;
            opened.push((parent, mode.bits() as u32));
            unlinkat(above, name, flags)?;
        }
        (removed, _) => removed?,
    }
    Ok(true)
}
