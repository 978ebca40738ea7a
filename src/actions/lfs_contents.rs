//! Copies the contents of large files that git-lfs stored in a fenced run or a clone (git-lfs,
//! docs/spec.md), each named by its SHA-256.

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::open::{Opened, open_entry};
use crate::git::lfs::has_sha256;

/// The directory of the contents, in a git directory.
const CONTENTS: &str = "lfs/objects";
/// How many names the path of a directory with contents has: `lfs/objects/ab/cd`.
const DEPTH: usize = 4;
/// How many digits a SHA-256 has.
const DIGITS: usize = 64;

/// Copies what is new from the git directory of a run or a clone to that of the repository.
///
/// # Errors
/// Fails when the disk refuses.
pub fn copy_lfs_contents(from: &Utf8Path, to: &Utf8Path) -> Result<(), DiskError> {
    let mut pending = vec![Utf8PathBuf::from(CONTENTS)];
    while let Some(directory) = pending.pop() {
        for name in files::names(&from.join(&directory))? {
            let below = directory.join(&name);
            if files::is_directory(&from.join(&below)) && directory.iter().count() < DEPTH {
                pending.push(below);
            } else if is_new_content(from, to, &below) {
                files::create_directories(&to.join(&directory))?;
                files::copy_beside(&from.join(&below), &to.join(&below))?;
            }
        }
    }
    Ok(())
}

/// True if an entry is a file whose name is the SHA-256 of its content, and that is not there yet.
fn is_new_content(from: &Utf8Path, to: &Utf8Path, below: &Utf8Path) -> bool {
    let name = below.file_name().unwrap_or_default();
    if name.len() != DIGITS || files::exists(&to.join(below)) {
        return false;
    }
    match open_entry(from.join(below).as_std_path()) {
        Ok(Opened::File {
            size, mut content, ..
        }) => has_sha256(&mut content, size, name.as_bytes()),
        Ok(_) | Err(_) => false,
    }
}
