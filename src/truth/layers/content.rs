//! Reads the content of a file on disk, and lists where submodules may stand.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;

use crate::disk::error::DiskError;
use crate::disk::open::{Opened, open_below};
use crate::git::object_format::ObjectFormat;
use crate::inventory::manifest::Manifest;
use crate::judge::compare::Delta;
use crate::words::entry::{Mode, ObjectId};
use crate::words::error::Error;
use crate::words::path::RepoPath;

/// Above this many bytes, the content of a file on disk is only read where its size does not tell
/// that the file is changed.
pub const LARGE: u64 = 64 << 20;

/// Reads the id of the content of a file in the worktree.
///
/// # Errors
/// Fails when the file cannot be read.
pub fn read_content(
    root: &Utf8Path,
    format: ObjectFormat,
    path: &RepoPath,
) -> Result<ObjectId, Error> {
    let failed = |error| DiskError::new(format!("read {path}"), error);
    match open_below(root, path).map_err(failed)? {
        Opened::File {
            size, mut content, ..
        } => Ok(format.hash_blob(size, &mut content).map_err(failed)?),
        Opened::Link(_) | Opened::Other => Ok(ObjectId::none()),
    }
}

/// Every path at which a tree or one of these differences from it has a submodule, with the
/// commits.
pub fn gitlinks(
    manifest: &Manifest,
    references: &[Delta],
) -> BTreeMap<RepoPath, BTreeSet<ObjectId>> {
    let base = manifest.items().iter().map(|item| (&item.path, item.base));
    let later = references.iter().flatten();
    let later = later.map(|(path, entry)| (path, *entry));
    let mut all: BTreeMap<RepoPath, BTreeSet<ObjectId>> = BTreeMap::new();
    for (path, entry) in base.chain(later) {
        if let Some(entry) = entry.filter(|entry| entry.mode == Mode::Gitlink) {
            all.entry(path.clone()).or_default().insert(entry.id);
        }
    }
    all
}
