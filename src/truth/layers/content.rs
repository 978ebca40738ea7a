//! Reads the content of a file on disk, and lists the submodules and files of a tree.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Read;

use camino::Utf8Path;

use crate::disk::error::DiskError;
use crate::disk::open::{Opened, open_below};
use crate::git::object_format::ObjectFormat;
use crate::git::objects::Objects;
use crate::inventory::manifest::Manifest;
use crate::judge::compare::{Delta, entry_in};
use crate::words::entry::{Entry, Mode, ObjectId};
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

/// Reads the content of a regular file in the worktree; none of a [`LARGE`] one.
///
/// # Errors
/// Fails when the file cannot be read.
pub fn read_small_file(root: &Utf8Path, path: &RepoPath) -> Result<Option<Vec<u8>>, DiskError> {
    let failed = |error| DiskError::new(format!("read {path}"), error);
    match open_below(root, path).map_err(failed)? {
        Opened::File { size, content, .. } if size <= LARGE => {
            let mut bytes = Vec::new();
            content
                .take(LARGE)
                .read_to_end(&mut bytes)
                .map_err(failed)?;
            Ok(Some(bytes))
        }
        Opened::File { .. } | Opened::Link(_) | Opened::Other => Ok(None),
    }
}

/// Lists the paths at which the base or one of these references has a submodule, with its commits.
pub fn gitlinks(
    manifest: &Manifest,
    references: &[Delta],
) -> BTreeMap<RepoPath, BTreeSet<ObjectId>> {
    let mut commits = BTreeMap::new();
    for item in manifest.items() {
        add_gitlink(&mut commits, &item.path, item.base);
    }
    for reference in references {
        for (path, entry) in reference {
            add_gitlink(&mut commits, path, *entry);
        }
    }
    commits
}

/// Adds the commit of an entry, if that is a submodule.
fn add_gitlink(
    commits: &mut BTreeMap<RepoPath, BTreeSet<ObjectId>>,
    path: &RepoPath,
    entry: Option<Entry>,
) {
    if let Some(entry) = entry
        && entry.mode == Mode::Gitlink
    {
        commits.entry(path.clone()).or_default().insert(entry.id);
    }
}

/// True if one of these trees, each a difference from the base, has a blob of this size at a path.
///
/// # Errors
/// Fails when a blob cannot be read.
pub fn is_size_of_blob<'d>(
    objects: &Objects,
    manifest: &Manifest,
    trees: impl IntoIterator<Item = &'d Delta>,
    path: &RepoPath,
    size: u64,
) -> Result<bool, Error> {
    for tree in trees {
        if let Some(blob) = entry_in(manifest, tree, path)
            && blob.mode.is_regular()
            && objects.size(&blob.id)? == size
        {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Lists the wanted files of a tree with their entries. The tree is a difference from the base.
pub fn files_of_tree<'t>(
    manifest: &'t Manifest,
    tree: &'t Delta,
    is_wanted: impl Fn(&RepoPath) -> bool,
) -> BTreeMap<&'t RepoPath, Entry> {
    let paths_of_base = manifest.items().iter().map(|item| &item.path);
    let mut files = BTreeMap::new();
    for path in paths_of_base.chain(tree.keys()) {
        if is_wanted(path)
            && let Some(entry) = entry_in(manifest, tree, path)
            && entry.mode.is_regular()
        {
            files.insert(path, entry);
        }
    }
    files
}
