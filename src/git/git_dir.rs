//! Reads the small files of a git directory, and only where they are files.
#![expect(clippy::disallowed_methods, reason = "looks at git's files before gix")]

use std::fs::symlink_metadata;
use std::io::ErrorKind;
use std::path::Path;

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use crate::git::error::{GitError, unreadable};

/// Refuses a git directory in which something else stands for a file that git opens: to open a FIFO
/// waits for ever, and a device can be without end.
pub(super) fn require_files(git_dir: &Utf8Path) -> Result<(), GitError> {
    const FILES: &str = "HEAD commondir config config.worktree gitdir index logs/HEAD \
     objects/info/alternates \
     objects/pack/multi-pack-index packed-refs shallow";
    let mut files = FILES.split(' ');
    files.try_for_each(|file| require_file(git_dir.join(file)))
}

/// Reads a whole file of git's; none where there is no file.
pub(super) fn read_file(path: impl AsRef<Path>) -> Result<Option<Vec<u8>>, GitError> {
    let path = path.as_ref();
    require_file(path)?;
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(bytes)),
        Err(error) => match error.kind() {
            ErrorKind::NotFound | ErrorKind::IsADirectory | ErrorKind::NotADirectory => Ok(None),
            _ => Err(unreadable(&path.display(), &error)),
        },
    }
}

/// Refuses what is neither a file nor a directory nor missing; links are followed.
///
/// # Errors
/// Fails where a FIFO, a socket or a device stands.
pub fn require_file(path: impl AsRef<Path>) -> Result<(), GitError> {
    let path = path.as_ref();
    let odd = std::fs::metadata(path).is_ok_and(|meta| !meta.is_file() && !meta.is_dir());
    // an empty file of settings
    let is_null = || path.canonicalize().ok().as_deref() == Some(Path::new("/dev/null"));
    if odd && !is_null() {
        return Err(unreadable(&path.display(), "it is not a file"));
    }
    Ok(())
}

/// The common git directory of a private one: what its `commondir` says (gitrepository-layout(5)).
pub(super) fn common_dir(git_dir: &Utf8Path) -> Option<Utf8PathBuf> {
    let file = git_dir.join("commondir");
    if symlink_metadata(&file).is_err() {
        return Some(git_dir.to_owned());
    }
    let named = git_dir.join(read_line(&file, b"")?);
    named.canonicalize_utf8().ok()
}

/// The path that a file of one line consists of, after this word; none where git may read another in it (`\r` and
/// blanks at the end).
pub(super) fn read_line(file: &Utf8Path, word: &[u8]) -> Option<Utf8PathBuf> {
    let bytes = read_file(file).ok()??;
    let path = bytes.strip_prefix(word)?.trim_end_with(|end| end == '\n');
    let path = path.to_str().ok()?;
    let is_odd = |end: char| end.is_whitespace() || end.is_control();
    let is_plain = !path.is_empty() && !path.contains('\0') && !path.ends_with(is_odd);
    is_plain.then(|| path.into())
}
