//! Reads small files that worktrees and git directories have.

use camino::{Utf8Component, Utf8Path, Utf8PathBuf};

use crate::disk::error::DiskError;
use crate::disk::files;
use crate::words::toml_file::from_text;

/// The private git directory of a removed worktree, in its record.
pub const TRASHED_GIT_DIR: &str = "git";

/// Reads where the `.git` file of a worktree is, as its private git directory says in `gitdir`
/// (gitrepository-layout(5)); none where that says nothing yet. Newer gits write a relative path.
///
/// # Errors
/// Fails when it is there and cannot be read.
pub fn read_gitdir(admin_dir: &Utf8Path) -> Result<Option<Utf8PathBuf>, DiskError> {
    let bytes = files::read(&admin_dir.join("gitdir"))?.unwrap_or_default();
    let text = String::from_utf8_lossy(bytes.trim_ascii_end());
    if text.is_empty() {
        return Ok(None);
    }
    Ok(Some(without_dots(&admin_dir.join(&*text))))
}

/// True if the text of the `.git` file of a worktree names a private git directory, by its own path
/// or by a relative one, and by no link.
pub fn names_git_dir(dot_git: &[u8], worktree: &Utf8Path, admin_dir: &Utf8Path) -> bool {
    let target = dot_git
        .strip_prefix(b"gitdir: ")
        .map(<[u8]>::trim_ascii_end);
    let path = target.and_then(|target| std::str::from_utf8(target).ok());
    path.is_some_and(|path| without_dots(&worktree.join(path)) == admin_dir)
}

/// A path without `.` and `..`. The disk is not asked: a directory of the path may be gone.
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

/// Reads a TOML file of ours; none if it is missing, damaged, or cannot be read.
pub fn read_if_whole<T: serde::de::DeserializeOwned>(file: &Utf8Path) -> Option<T> {
    let bytes = files::read(file).ok()??;
    from_text(std::str::from_utf8(&bytes).ok()?).ok()
}
