//! Reads small files that worktrees and git directories have.

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use crate::disk::error::DiskError;
use crate::disk::files;
use crate::words::toml_file::from_text;

/// The private git directory of a removed worktree, in its record.
pub const TRASHED_GIT_DIR: &str = "git";

/// Reads the `.git` file that a private git directory names (gitrepository-layout(5)), which newer
/// gits write relative to it; none when it names nothing yet.
///
/// # Errors
/// Fails when it is there and cannot be read.
pub fn read_gitdir(admin_dir: &Utf8Path) -> Result<Option<Utf8PathBuf>, DiskError> {
    let bytes = files::read(&admin_dir.join("gitdir"))?.unwrap_or_default();
    let text = String::from_utf8_lossy(bytes.trim_ascii_end()).into_owned();
    Ok((!text.is_empty()).then(|| without_dots(&admin_dir.join(&text))))
}

/// A path without `.` and `..`, by its names alone: what it leads through may be gone.
pub fn without_dots(path: &Utf8Path) -> Utf8PathBuf {
    let mut plain = Utf8PathBuf::new();
    for part in path.components() {
        match part {
            Utf8Component::ParentDir => drop(plain.pop()),
            Utf8Component::CurDir => {}
            part => plain.push(part),
        }
    }
    plain
}

/// Reads a file of ours; none where there is none, or it cannot be read.
pub fn read_if_whole<T: serde::de::DeserializeOwned>(file: &Utf8Path) -> Option<T> {
    let bytes = files::read(file).ok()??;
    from_text(std::str::from_utf8(&bytes).ok()?).ok()
}
