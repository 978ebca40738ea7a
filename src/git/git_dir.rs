//! Reads the small files of a git directory, and only where they are files.
#![expect(clippy::disallowed_methods, reason = "looks at git's files before gix")]

use std::fs::symlink_metadata;
use std::io::ErrorKind;
use std::path::Path;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use crate::git::error::{GitError, unreadable};

/// The file that says where history ends (gitrepository-layout(5)).
pub const SHALLOW: &str = "shallow";
/// The file that names the directories whose objects a repository borrows
/// (gitrepository-layout(5)).
pub const ALTERNATES: &str = "objects/info/alternates";

/// The files of a git directory that git opens at most calls.
const OPENED_FILES: [&str; 11] = [
    "HEAD",
    "commondir",
    "config",
    "config.worktree",
    "gitdir",
    "index",
    "logs/HEAD",
    ALTERNATES,
    "objects/pack/multi-pack-index",
    "packed-refs",
    SHALLOW,
];

/// Refuses a git directory in which a special file stands for a file that git opens.
pub(super) fn refuse_special_files(git_dir: &Utf8Path) -> Result<(), GitError> {
    for file in OPENED_FILES {
        refuse_special_file(git_dir.join(file))?;
    }
    Ok(())
}

/// Refuses what is neither a file nor a directory nor missing: to open a FIFO waits for ever, and a
/// device can be without end. Links are followed.
///
/// # Errors
/// Fails where a FIFO, a socket or a device stands.
pub fn refuse_special_file(path: impl AsRef<Path>) -> Result<(), GitError> {
    let path = path.as_ref();
    let Ok(metadata) = std::fs::metadata(path) else {
        return Ok(());
    };
    if metadata.is_file() || metadata.is_dir() || is_dev_null(path) {
        return Ok(());
    }
    Err(unreadable(&path.display(), "it is not a file"))
}

/// True for `/dev/null`, which is an empty file of settings.
fn is_dev_null(path: &Path) -> bool {
    match path.canonicalize() {
        Ok(real) => real == Path::new("/dev/null"),
        Err(_) => false,
    }
}

/// Reads a whole file of git's; none if there is no file.
pub(super) fn read_file(path: impl AsRef<Path>) -> Result<Option<Vec<u8>>, GitError> {
    let path = path.as_ref();
    refuse_special_file(path)?;
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory => Ok(None),
            _ => Err(unreadable(&path.display(), &error)),
        },
    }
}

/// Returns the common git directory of a private one: what its `commondir` says
/// (gitrepository-layout(5)).
pub(super) fn common_dir(git_dir: &Utf8Path) -> Option<Utf8PathBuf> {
    let file = git_dir.join("commondir");
    if symlink_metadata(&file).is_err() {
        return Some(git_dir.to_owned());
    }
    let path = read_path(&file, b"")?;
    git_dir.join(path).canonicalize_utf8().ok()
}

/// Returns the path of which a file of one line consists, after this prefix; none if git may
/// read another path in it (`\r` and blanks at the end).
pub(super) fn read_path(file: &Utf8Path, prefix: &[u8]) -> Option<Utf8PathBuf> {
    let bytes = read_file(file).ok()??;
    let path = bytes
        .strip_prefix(prefix)?
        .trim_end_with(|last| last == '\n')
        .to_str()
        .ok()?;
    let last = path.chars().next_back()?;
    if last.is_whitespace() || last.is_control() || path.contains('\0') {
        return None;
    }
    Some(path.into())
}
