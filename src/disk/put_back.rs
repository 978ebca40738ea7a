//! Puts a placed file back from its source, if that still is what was placed.
//!
//! Nothing is read or written through a link.

use std::io;

use bstr::ByteSlice;
use camino::Utf8Path;
use rustix::fs::{AtFlags, statat};

use super::below::open_below;
use super::drift::digest_of;
use super::error::DiskError;
use super::files::Opened;
use super::put::{Content, Missing, parent_of, put_entry, set_modified};
use super::stat::{stat_from, stat_of};
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::{Placed, PlacedFile, PlacedKind};

/// Puts what was placed where nothing stands; its stat data then. It is read-only: `restore` leaves
/// alone what may be edited. A directory may stand there already.
///
/// # Errors
/// Fails when something stands there, the source is not what was placed, or the disk refuses.
pub fn put_back(
    root: &Utf8Path,
    source: &Utf8Path,
    placed: &Placed,
    file: &PlacedFile,
) -> Result<Stat, DiskError> {
    let path = &file.path;
    let failed = |error: io::Error| DiskError::new(format!("put back {path}"), error);
    let above: Vec<RepoPath> = std::iter::successors(path.parent(), RepoPath::parent).collect();
    let above = above.iter().rev().filter_map(|path| placed.get(path));
    for directory in above.chain(Some(file)) {
        if directory.kind == PlacedKind::Directory {
            // another umask than that of the source's owner must not open it
            put_directory(root, directory)?;
        }
    }
    if file.kind != PlacedKind::Directory {
        let content = content(source, file).map_err(failed)?;
        let mode = file.stat.mode & 0o777 & !0o222;
        put_entry(root, path, &content, Some(mode))?;
        if file.kind == PlacedKind::File {
            set_modified(root, path, file.stat.mtime)?;
        }
    }
    let above = parent_of(root, path.as_bstr(), Missing::Leave);
    let stat = above.and_then(|above| {
        statat(
            &above,
            path.file_name().as_bytes(),
            AtFlags::SYMLINK_NOFOLLOW,
        )
    });
    Ok(stat_from(&stat.map_err(|error| failed(error.into()))?))
}

/// Makes a directory; git may have made it for what is tracked in it.
fn put_directory(root: &Utf8Path, directory: &PlacedFile) -> Result<(), DiskError> {
    let mode = directory.stat.mode & 0o777;
    match put_entry(root, &directory.path, &Content::Directory, Some(mode)) {
        Err(error) if error.source.kind() == io::ErrorKind::AlreadyExists => Ok(()),
        done => done,
    }
}

/// Reads what was placed from its source.
fn content(source: &Utf8Path, file: &PlacedFile) -> io::Result<Content> {
    let changed = || io::Error::other("its source is not what was placed any more");
    let is_placed = |bytes: &[u8], stat: Option<Stat>| -> io::Result<bool> {
        Ok(match file.digest {
            Some(wanted) => digest_of(bytes)? == wanted,
            None => stat.is_some() && file.source == stat,
        })
    };
    let (found, is_placed) = match (open_below(source, &file.path)?, file.kind) {
        (Opened::Link(text), PlacedKind::Link) => {
            let is_placed = is_placed(&text, None)?;
            (Content::Link(text.into()), is_placed)
        }
        (Opened::File { mut content, .. }, PlacedKind::File) => {
            let mut bytes = Vec::new();
            io::Read::read_to_end(&mut content, &mut bytes)?;
            let is_placed = is_placed(&bytes, Some(stat_of(&content.metadata()?)))?;
            (Content::File(bytes), is_placed)
        }
        (Opened::File { .. } | Opened::Link(_) | Opened::Other, _) => return Err(changed()),
    };
    if is_placed { Ok(found) } else { Err(changed()) }
}
