//! Gives files exactly these permission bits.

use bstr::ByteSlice;
use camino::Utf8Path;
use rustix::fs::{AtFlags, FileType, Mode, chmodat, statat};

use super::directories::Directories;
use super::error::DiskError;
use crate::path::RepoPath;

/// Gives each of these regular files, sorted by path, its permission bits; what is absent or
/// something else, or behind a link, is passed over.
///
/// # Errors
/// Fails when the root cannot be opened, or a file refuses.
pub fn set_permissions(root: &Utf8Path, files: &[(RepoPath, u32)]) -> Result<(), DiskError> {
    let mut directories = Directories::open(root)?;
    for (path, bits) in files {
        let failed = |error| DiskError::new(format!("set the permissions of {root}/{path}"), error);
        let Ok(directory) = directories.of(path) else {
            continue;
        };
        let name = path.file_name().as_bytes();
        let Ok(stat) = statat(directory, name, AtFlags::SYMLINK_NOFOLLOW) else {
            continue;
        };
        let is_file = FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
        let wanted = Mode::from_raw_mode(*bits as _);
        if is_file && Mode::from_raw_mode(stat.st_mode) != wanted {
            chmodat(directory, name, wanted, AtFlags::empty()).map_err(failed)?;
        }
    }
    Ok(())
}
