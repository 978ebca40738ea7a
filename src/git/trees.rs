//! Lists, compares and makes trees, without an index and without git.

use std::cmp::Ordering;
use std::rc::Rc;

use bstr::{BStr, ByteSlice};
use gix::objs::tree::{Editor, EntryKind};
use gix::objs::{Kind, Tree, TreeRef, Write};

use crate::git::error::{GitError, reading, unwritable};
use crate::git::object_format::{gix_id, id_of};
use crate::git::objects::Objects;
use crate::git::tree_level::{TreeEntry, TreeLevel, TreeObject, parse_tree};
use crate::judge::compare::Delta;
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::path::{Paths, RepoPath};

/// How many trees are kept as they were read.
const CACHED_LEVELS: usize = 1_000;

/// Every entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeListing {
    /// The entries, sorted by path.
    pub entries: Vec<(RepoPath, Entry)>,
    /// Its directories.
    pub trees: CachedTree,
}

/// What an index knows of a directory: how many entries are below it, and its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedTree {
    name: Vec<u8>,
    id: ObjectId,
    count: usize,
    children: Vec<Self>,
}

impl CachedTree {
    /// Renders it as the content of an index's extension (gitformat-index(5), "Cache tree").
    pub(super) fn push_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.name);
        let numbers = format!("\0{} {}\n", self.count, self.children.len());
        bytes.extend_from_slice(numbers.as_bytes());
        bytes.extend_from_slice(self.id.as_bytes());
        for child in &self.children {
            child.push_to(bytes);
        }
    }
}

impl Objects {
    fn read_level(&self, tree: &ObjectId) -> Result<TreeLevel, GitError> {
        let what = format_args!("tree {tree}");
        let mut buffer = Vec::new();
        let data = self.find(&what, &gix_id(tree), Kind::Tree, &mut buffer)?;
        parse_tree(&what, data, self.format)
    }

    /// Returns the direct entries of a tree, kept for the next question; none of none.
    ///
    /// # Errors
    /// Fails when the tree is missing or damaged.
    pub fn level(&self, tree: Option<&ObjectId>) -> Result<Rc<TreeLevel>, GitError> {
        let Some(tree) = tree else {
            return Ok(Rc::default());
        };
        if let Some(cached) = self.levels.borrow().get(tree) {
            return Ok(Rc::clone(cached));
        }
        let level = Rc::new(self.read_level(tree)?);
        let mut levels = self.levels.borrow_mut();
        if levels.len() >= CACHED_LEVELS {
            levels.clear();
        }
        levels.insert(*tree, Rc::clone(&level));
        Ok(level)
    }

    /// Compares two trees; reads only what differs. The entries are those of `to`.
    ///
    /// # Errors
    /// Fails when a tree is missing or damaged.
    pub fn difference(
        &self,
        from: Option<&ObjectId>,
        to: Option<&ObjectId>,
    ) -> Result<Delta, GitError> {
        let mut delta = Delta::new();
        self.compare_trees(None, from, to, &mut delta)?;
        Ok(delta)
    }

    /// Compares two trees that stand at a path, entry by entry, in their common order.
    fn compare_trees(
        &self,
        path: Option<&RepoPath>,
        from: Option<&ObjectId>,
        to: Option<&ObjectId>,
        delta: &mut Delta,
    ) -> Result<(), GitError> {
        if from == to {
            return Ok(());
        }
        let old_level = self.level(from)?;
        let new_level = self.level(to)?;
        let mut old_entries = old_level.iter().peekable();
        let mut new_entries = new_level.iter().peekable();
        loop {
            let order = match (old_entries.peek(), new_entries.peek()) {
                (Some(old), Some(new)) => old.order(new),
                (Some(_), None) => Ordering::Less,
                (None, Some(_)) => Ordering::Greater,
                (None, None) => return Ok(()),
            };
            let old = old_entries.next_if(|_| order.is_le());
            let new = new_entries.next_if(|_| order.is_ge());
            self.compare_entries(path, old, new, delta)?;
        }
    }

    /// Compares what two trees have under one name.
    fn compare_entries(
        &self,
        parent: Option<&RepoPath>,
        old: Option<&TreeEntry>,
        new: Option<&TreeEntry>,
        delta: &mut Delta,
    ) -> Result<(), GitError> {
        let Some(either) = old.or(new) else {
            return Ok(());
        };
        if old == new {
            return Ok(());
        }
        let path = RepoPath::child(parent, &either.name);
        let old_leaf = old.and_then(TreeEntry::leaf);
        let new_leaf = new.and_then(TreeEntry::leaf);
        if old_leaf != new_leaf {
            delta.insert(path.clone(), new_leaf);
        }
        let old_tree = old.and_then(TreeEntry::tree);
        let new_tree = new.and_then(TreeEntry::tree);
        self.compare_trees(Some(&path), old_tree, new_tree, delta)
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
        let mut entries = Vec::new();
        for path in paths {
            if let Some(TreeObject::Leaf(entry)) = self.object_at(tree, path.as_bstr())? {
                entries.push((path.clone(), entry));
            }
        }
        Ok(entries)
    }

    /// Finds what a tree has at a path.
    ///
    /// # Errors
    /// Fails when a tree is missing or damaged.
    pub fn object_at(&self, tree: &ObjectId, path: &[u8]) -> Result<Option<TreeObject>, GitError> {
        let mut object = TreeObject::Tree(*tree);
        for part in path.split_str("/") {
            // below a file there is nothing
            let level = self.level(object.tree())?;
            match level.iter().find(|entry| entry.name == part) {
                Some(entry) => object = entry.object,
                None => return Ok(None),
            }
        }
        Ok(Some(object))
    }

    /// Lists every entry of a tree, sorted by path.
    ///
    /// # Errors
    /// Fails when a tree is missing or damaged.
    pub fn list(&self, tree: &ObjectId) -> Result<Vec<(RepoPath, Entry)>, GitError> {
        Ok(self.listing(tree)?.entries)
    }

    /// Lists a tree with its directories.
    ///
    /// # Errors
    /// Fails when a tree is missing or damaged.
    pub fn listing(&self, tree: &ObjectId) -> Result<TreeListing, GitError> {
        let mut reader = TreeReader {
            objects: self,
            paths: Paths::default(),
            entries: Vec::new(),
            path: Vec::new(),
            shared: 0,
        };
        let trees = reader.read(Vec::new(), tree)?;
        let entries = reader.paths.into_paths().zip(reader.entries).collect();
        Ok(TreeListing { entries, trees })
    }

    /// Writes the tree that another tree, or the empty one, becomes by these edits. An entry takes
    /// the place of what has its path, a directory too. None removes the entry at its path, but no
    /// directory; so does an entry that no tree can have.
    ///
    /// # Errors
    /// Fails when a tree is missing, damaged, or cannot be written.
    pub fn write_tree<P: AsRef<[u8]>>(
        &self,
        from: Option<&ObjectId>,
        edits: impl IntoIterator<Item = (P, Option<Entry>)>,
    ) -> Result<ObjectId, GitError> {
        let root = match from {
            Some(from) => self.editable_tree(from)?,
            None => Tree::default(),
        };
        let mut editor = Editor::new(root, &self.store, self.format.0);
        // removals come first: a file may come in the place of a directory
        let mut added = Vec::new();
        for (path, edit) in edits {
            if let Some(entry) = edit
                && let Some(kind) = kind_of(entry.mode)
            {
                added.push((path, kind, entry.id));
                continue;
            }
            editor
                .remove_if_leaf(names(path.as_ref()))
                .map_err(reading("a tree"))?;
        }
        for (path, kind, id) in added {
            editor
                .upsert(names(path.as_ref()), kind, gix_id(&id))
                .map_err(reading("a tree"))?;
        }
        match editor.write(|tree| self.store.write(tree)) {
            Ok(id) => Ok(id_of(&id)),
            Err(error) => Err(unwritable("a tree", &error)),
        }
    }

    fn editable_tree(&self, id: &ObjectId) -> Result<Tree, GitError> {
        let what = format_args!("tree {id}");
        let mut buffer = Vec::new();
        let data = self.find(&what, &gix_id(id), Kind::Tree, &mut buffer)?;
        let tree = TreeRef::from_bytes(data, self.format.0).map_err(reading("a tree"))?;
        Ok(tree.into())
    }
}

/// Returns the kind of entry that git has for a mode, none for what git cannot hold.
const fn kind_of(mode: Mode) -> Option<EntryKind> {
    match mode {
        Mode::File => Some(EntryKind::Blob),
        Mode::Executable => Some(EntryKind::BlobExecutable),
        Mode::Link => Some(EntryKind::Link),
        Mode::Gitlink => Some(EntryKind::Commit),
        Mode::EmptyDirectory | Mode::NestedGit | Mode::Special => None,
    }
}

fn names(path: &[u8]) -> impl Iterator<Item = &BStr> {
    path.split_str("/").map(ByteSlice::as_bstr)
}

/// Collects every entry of a tree.
struct TreeReader<'a> {
    objects: &'a Objects,
    paths: Paths,
    entries: Vec<Entry>,
    /// The directory that is read, with a slash at its end; empty for the root.
    path: Vec<u8>,
    /// How many bytes `path` has in common with the path that was added last: [`Paths`] keeps only
    /// the rest.
    shared: usize,
}

impl TreeReader<'_> {
    /// Adds all entries of the tree at `self.path`, which has this last `name`, and of the trees
    /// below it. Leaves `self.path` as it was.
    fn read(&mut self, name: Vec<u8>, tree: &ObjectId) -> Result<CachedTree, GitError> {
        let first = self.entries.len();
        let mut children = Vec::new();
        let directory_length = self.path.len();
        for entry in self.objects.read_level(tree)? {
            self.path.extend_from_slice(&entry.name);
            match entry.object {
                TreeObject::Leaf(leaf) => {
                    self.paths
                        .push(self.shared, &self.path[self.shared..])
                        .map_err(reading(format_args!("tree {tree}")))?;
                    // the next path has at least this directory in common
                    self.shared = directory_length;
                    self.entries.push(leaf);
                }
                TreeObject::Tree(id) => {
                    self.path.push(b'/');
                    children.push(self.read(entry.name.into(), &id)?);
                    self.shared = self.shared.min(directory_length);
                }
            }
            self.path.truncate(directory_length);
        }
        children.sort_unstable_by(order_in_index);
        Ok(CachedTree {
            name,
            id: *tree,
            count: self.entries.len() - first,
            children,
        })
    }
}

/// Compares the places of two directories in the cache tree of an index: the shorter name comes
/// first.
fn order_in_index(left: &CachedTree, right: &CachedTree) -> Ordering {
    left.name
        .len()
        .cmp(&right.name.len())
        .then_with(|| left.name.cmp(&right.name))
}
