//! Looks at what stands at a path, without reading it.
#![expect(
    clippy::disallowed_methods,
    reason = "beside files.rs, the one place that looks at git's own files past git"
)]

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::MetadataExt as _;

use camino::{Utf8Path, Utf8PathBuf};
use rustix::fs::{Access, access};

/// Says what stands at a path; a link is not followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing.
    Missing,
    /// A file.
    File,
    /// A directory.
    Directory,
    /// A symbolic link.
    Link,
    /// A device, a socket, a FIFO.
    Other,
}

/// What stands there.
///
/// # Errors
/// Fails when that cannot be found out.
pub(super) fn kind(path: &Utf8Path) -> io::Result<Kind> {
    Ok(match there(std::fs::symlink_metadata(path))? {
        None => Kind::Missing,
        Some(meta) if meta.is_file() => Kind::File,
        Some(meta) if meta.is_dir() => Kind::Directory,
        Some(meta) if meta.is_symlink() => Kind::Link,
        Some(_) => Kind::Other,
    })
}

/// Whether reading it gives the same again and never waits: a file, the empty device, or nothing;
/// links are followed.
pub(super) fn reads_as_file(path: &Utf8Path) -> bool {
    let meta = there(std::fs::metadata(path));
    path == "/dev/null" || meta.is_ok_and(|meta| meta.is_none_or(|meta| meta.is_file()))
}

/// The path without links in it, none when it is not there or not UTF-8.
pub(super) fn canonical(path: &Utf8Path) -> Option<Utf8PathBuf> {
    let there = path.as_std_path().canonicalize().ok()?;
    Utf8PathBuf::from_path_buf(there).ok()
}

/// The device that a directory is on.
pub(super) fn device(path: &Utf8Path) -> Option<u64> {
    std::fs::metadata(path).ok().map(|meta| meta.dev())
}

/// Whether it belongs to who runs this program; a link is not followed.
pub(super) fn is_ours(path: &Utf8Path) -> bool {
    let us = rustix::process::geteuid().as_raw();
    std::fs::symlink_metadata(path).is_ok_and(|meta| meta.uid() == us)
}

/// Whether a directory may be entered, or a file started (access(2)); links are followed.
pub(super) fn may_execute(path: &Utf8Path) -> bool {
    access(path.as_std_path(), Access::EXEC_OK).is_ok()
}

/// Whether it is a program itself, and no script (elf(5)).
pub(super) fn is_elf(path: &Utf8Path) -> bool {
    let mut first = [0; 4];
    let read = File::open(path).and_then(|mut file| file.read_exact(&mut first));
    read.is_ok() && first == *b"\x7fELF"
}

fn there(found: io::Result<Metadata>) -> io::Result<Option<Metadata>> {
    match found {
        Ok(meta) => Ok(Some(meta)),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            Ok(None)
        }
        Err(error) => Err(error),
    }
}
