//! Looks at what stands in git's directories, without following links.
#![expect(
    clippy::disallowed_methods,
    reason = "git's own files are read past git here and in files.rs"
)]

use std::io::ErrorKind;
use std::path::Path;

use bstr::{BString, ByteVec};

use super::answer::{Answer, AskGit};

/// Says what stands at a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    /// Nothing.
    Nothing,
    /// A file with this content.
    File(Vec<u8>),
    /// A directory.
    Directory,
}

/// Looks at a path; a link, and what cannot be read, is for git to judge.
pub(super) fn look(path: &Path) -> Answer<Entry> {
    let found = match std::fs::symlink_metadata(path) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Entry::Nothing),
        found => found?,
    };
    if found.is_dir() {
        return Ok(Entry::Directory);
    }
    if !found.is_file() {
        return Err(AskGit);
    }
    match std::fs::read(path) {
        // packed or deleted in this moment
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Entry::Nothing),
        content => Ok(Entry::File(content?)),
    }
}

/// Whether a directory, or a link to one, stands there.
pub(super) fn is_directory(path: &Path) -> bool {
    path.is_dir()
}

/// Lists the names in a directory, in no order; none where there is no directory.
pub(super) fn names(directory: &Path) -> Answer<Vec<BString>> {
    let entries = match std::fs::read_dir(directory) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let name = |entry: std::io::Result<std::fs::DirEntry>| {
        let name = Vec::from_os_string(entry?.file_name()).map_err(|_| AskGit)?;
        Ok(name.into())
    };
    entries.map(name).collect()
}
