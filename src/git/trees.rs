//! Makes trees out of other trees and single entries, without an index and without git: reading and
//! writing only the levels that change.

use std::collections::BTreeMap;

use bstr::{BStr, ByteSlice};
use gix::objs::tree::{Editor, EntryKind};
use gix::objs::{FindExt, Kind, Tree, TreeRef, Write};

use super::error::{GitError, unreadable};
use super::level::Held;
use super::objects::{Objects, id_of, unwritable};
use crate::entry::{Entry, Mode, ObjectId};
use crate::path::RepoPath;

/// Says what stands at a path of a tree that is being made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slot {
    /// Nothing.
    Nothing,
    /// A file, a link or a submodule; what git cannot hold is nothing.
    Entry(Entry),
    /// A tree that is there.
    Tree(ObjectId),
}

/// Holds what is to stand where, by path: each is a file or a tree, and no path is inside of another.
pub type Edits = BTreeMap<Vec<u8>, Slot>;

impl Objects {
    /// Makes the tree that another one, or the empty one, is with these edits; its id.
    ///
    /// # Errors
    /// Fails when a tree is missing, damaged, or cannot be written.
    pub fn tree_with(&self, from: Option<&ObjectId>, edits: &Edits) -> Result<ObjectId, GitError> {
        let failed = |error: &dyn std::fmt::Display| unreadable(&"a tree", error);
        let mut buffer = Vec::new();
        let root = match from {
            Some(from) => {
                let oid = gix::hash::ObjectId::from_bytes_or_panic(from.as_bytes());
                let data = self.find(&format!("tree {from}"), &oid, Kind::Tree, &mut buffer)?;
                let tree = TreeRef::from_bytes(data, self.format.kind());
                tree.map_err(|error| failed(&error))?.into()
            }
            None => Tree::default(),
        };
        let find: &dyn FindExt = &self.store;
        let mut editor = Editor::new(root, find, self.format.kind());
        // what goes goes first: a file may come in the place of a directory
        let (gone, come): (Vec<_>, Vec<_>) =
            edits.iter().partition(|(_, slot)| place(slot).is_none());
        for (path, _) in gone {
            let done = editor.remove(path.split_str("/").map(ByteSlice::as_bstr));
            done.map_err(|error| failed(&error))?;
        }
        for (path, slot) in come {
            if let Some((kind, id)) = place(slot) {
                let id = gix::hash::ObjectId::from_bytes_or_panic(id.as_bytes());
                let done = editor.upsert(path.split_str("/").map(ByteSlice::as_bstr), kind, id);
                done.map_err(|error| failed(&error))?;
            }
        }
        let written = editor.write(|tree| self.store.write(tree));
        let failed = |error: &(dyn std::error::Error + 'static)| unwritable("a tree", error);
        written.map(|id| id_of(&id)).map_err(|error| failed(&error))
    }

    /// Finds what a tree has at these paths that is no tree itself.
    ///
    /// # Errors
    /// Fails when a tree is missing or damaged.
    pub fn at<'p>(
        &self,
        tree: &ObjectId,
        paths: impl IntoIterator<Item = &'p RepoPath>,
    ) -> Result<Vec<(RepoPath, Entry)>, GitError> {
        let mut found = Vec::new();
        for path in paths {
            if let Some((Some(mode), id)) = self.held_at(tree, path)? {
                found.push((path.clone(), Entry { mode, id }));
            }
        }
        Ok(found)
    }

    /// Finds what a tree has at a path.
    ///
    /// # Errors
    /// Fails when a tree is missing or damaged.
    pub fn held_at(&self, tree: &ObjectId, path: &RepoPath) -> Result<Option<Held>, GitError> {
        let mut tree = *tree;
        let mut names = path.as_bstr().split_str("/").peekable();
        while let Some(name) = names.next() {
            let level = self.level(Some(&tree))?;
            match level.get(name.as_bstr()) {
                Some(held) if names.peek().is_none() => return Ok(Some(*held)),
                Some((None, below)) => tree = *below,
                // below a file there is nothing
                Some((Some(_), _)) | None => return Ok(None),
            }
        }
        Ok(None)
    }

    /// Names the direct entries of a tree, each with the object that it is.
    ///
    /// # Errors
    /// Fails when it is missing or damaged.
    pub fn names(&self, tree: &ObjectId) -> Result<BTreeMap<String, ObjectId>, GitError> {
        let level = self.level(Some(tree))?;
        let name = |name: &BStr| String::from_utf8(name.to_vec()).ok();
        let names = level
            .iter()
            .filter_map(|(of, (_, id))| Some((name(of)?, *id)));
        Ok(names.collect())
    }

    /// Whether there is an object with this id.
    #[must_use]
    pub fn has(&self, id: &ObjectId) -> bool {
        let oid = gix::hash::ObjectId::from_bytes_or_panic(id.as_bytes());
        gix::objs::Exists::exists(&self.store, &oid)
    }

    /// Says what kind of object an id names, if there is one.
    #[must_use]
    pub fn kind_of(&self, id: &ObjectId) -> Option<Named> {
        let oid = gix::hash::ObjectId::from_bytes_or_panic(id.as_bytes());
        let mut buffer = Vec::new();
        let data = gix::objs::Find::try_find(&self.store, &oid, &mut buffer).ok()??;
        match data.kind {
            Kind::Commit => Some(Named::Commit),
            Kind::Tree => Some(Named::Tree),
            Kind::Blob => Some(Named::Blob),
            Kind::Tag => None,
        }
    }
}

/// Says what an id names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Named {
    /// A commit.
    Commit,
    /// A tree.
    Tree,
    /// A blob.
    Blob,
}

fn place(slot: &Slot) -> Option<(EntryKind, ObjectId)> {
    match slot {
        Slot::Nothing => None,
        Slot::Tree(id) => Some((EntryKind::Tree, *id)),
        Slot::Entry(entry) => {
            let kind = match entry.mode {
                Mode::File => EntryKind::Blob,
                Mode::Executable => EntryKind::BlobExecutable,
                Mode::Link => EntryKind::Link,
                Mode::Gitlink => EntryKind::Commit,
                Mode::EmptyDirectory | Mode::NestedGit | Mode::Special => return None,
            };
            Some((kind, entry.id))
        }
    }
}
