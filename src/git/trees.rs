//! Reads, lists, compares and makes trees, without an index and without git.

use std::rc::Rc;

use bstr::{BStr, BString, ByteSlice};
use gix::objs::tree::{Editor, EntryKind};
use gix::objs::{Kind, Tree, TreeRef, Write};

use crate::git::error::{GitError, reading, unwritable};
use crate::git::object_format::id_of;
use crate::git::objects::Objects;
use crate::git::tree_level::{Held, TreeLevel, order, read_entries};
use crate::judge::compare::Delta;
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::path::{Paths, RepoPath};

/// How many trees are kept as they were read.
const KEPT_LEVELS: usize = 1_000;

/// Holds every entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeListing {
    /// The entries, sorted by path.
    pub entries: Vec<(RepoPath, Entry)>,
    /// Its directories.
    pub trees: CachedTree,
}

/// Holds what an index knows of a directory: how many entries are below it, and its tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CachedTree {
    name: Vec<u8>,
    id: ObjectId,
    count: usize,
    below: Vec<Self>,
}

impl CachedTree {
    /// Renders it as the content of an index's extension (gitformat-index(5), "Cache tree").
    pub(super) fn push_to(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.name);
        let numbers = format!("\0{} {}\n", self.count, self.below.len());
        bytes.extend_from_slice(numbers.as_bytes());
        bytes.extend_from_slice(self.id.as_bytes());
        self.below.iter().for_each(|one| one.push_to(bytes));
    }
}

/// The kind of entry that git has for a mode, none for what git cannot hold.
const fn kind_of(mode: Option<Mode>) -> Option<EntryKind> {
    match mode {
        None => Some(EntryKind::Tree),
        Some(Mode::File) => Some(EntryKind::Blob),
        Some(Mode::Executable) => Some(EntryKind::BlobExecutable),
        Some(Mode::Link) => Some(EntryKind::Link),
        Some(Mode::Gitlink) => Some(EntryKind::Commit),
        Some(Mode::EmptyDirectory | Mode::NestedGit | Mode::Special) => None,
    }
}

impl Objects {
    fn read_level(&self, tree: &ObjectId) -> Result<TreeLevel, GitError> {
        let what = format_args!("tree {tree}");
        let oid = gix::hash::ObjectId::from_bytes_or_panic(tree.as_bytes());
        let mut buffer = Vec::new();
        let data = self.find(&what, &oid, Kind::Tree, &mut buffer)?;
        read_entries(&what, data, self.format)
    }

    /// The direct entries of a tree, kept for the next question; none of none.
    ///
    /// # Errors
    /// Fails when the tree is missing or damaged.
    pub fn level(&self, tree: Option<&ObjectId>) -> Result<Rc<TreeLevel>, GitError> {
        let Some(tree) = tree else {
            return Ok(Rc::default());
        };
        if let Some(known) = self.levels.borrow().get(tree) {
            return Ok(Rc::clone(known));
        }
        let level = Rc::new(self.read_level(tree)?);
        let mut levels = self.levels.borrow_mut();
        if levels.len() >= KEPT_LEVELS {
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
        self.descend(None, from, to, &mut delta)?;
        Ok(delta)
    }

    fn descend(
        &self,
        parent: Option<&RepoPath>,
        from: Option<&ObjectId>,
        to: Option<&ObjectId>,
        delta: &mut Delta,
    ) -> Result<(), GitError> {
        if from == to {
            return Ok(());
        }
        let (before, after) = (self.level(from)?, self.level(to)?);
        let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
        loop {
            let next = match (before.peek(), after.peek()) {
                (Some((old, held)), Some((new, other))) => {
                    order(old.as_bstr(), held, new.as_bstr(), other)
                }
                (Some(_), None) => std::cmp::Ordering::Less,
                (None, Some(_)) => std::cmp::Ordering::Greater,
                (None, None) => return Ok(()),
            };
            let old = before.next_if(|_| next.is_le());
            let new = after.next_if(|_| next.is_ge());
            let held = |side: Option<&(BString, Held)>| side.map(|(_, held)| *held);
            let (was, is) = (held(old), held(new));
            if let Some((name, _)) = old.or(new)
                && was != is
            {
                let path = RepoPath::child(parent, name);
                let entry = |(mode, id): Held| mode.map(|mode| Entry { mode, id });
                let tree = |(mode, id): Held| mode.is_none().then_some(id);
                let file = is.and_then(entry);
                if was.and_then(entry) != file {
                    delta.insert(path.clone(), file);
                }
                let (from, to) = (was.and_then(tree), is.and_then(tree));
                self.descend(Some(&path), from.as_ref(), to.as_ref(), delta)?;
            }
        }
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
            if let Some((Some(mode), id)) = self.held_at(tree, path.as_bstr())? {
                found.push((path.clone(), Entry { mode, id }));
            }
        }
        Ok(found)
    }

    /// Finds what a tree has at a path.
    ///
    /// # Errors
    /// Fails when a tree is missing or damaged.
    pub fn held_at(&self, tree: &ObjectId, path: &[u8]) -> Result<Option<Held>, GitError> {
        let mut held = (None, *tree);
        for part in path.split_str("/") {
            // below a file there is nothing
            let level = self.level(Some(&held.1).filter(|_| held.0.is_none()))?;
            match level.iter().find(|(name, _)| name == part) {
                Some((_, next)) => held = *next,
                None => return Ok(None),
            }
        }
        Ok(Some(held))
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
        let mut reading = Reading {
            objects: self,
            paths: Paths::default(),
            entries: Vec::new(),
            path: Vec::new(),
            shared: 0,
        };
        let trees = reading.read(Vec::new(), tree)?;
        let entries = reading.paths.into_paths().zip(reading.entries);
        let entries = entries.collect();
        Ok(TreeListing { entries, trees })
    }

    /// Writes the tree that another one, or the empty one, becomes by these edits: an entry replaces
    /// a directory of its name, and none removes only itself.
    ///
    /// # Errors
    /// Fails when a tree is missing, damaged, or cannot be written.
    pub fn write_tree<P: AsRef<[u8]>, H: Into<Held>>(
        &self,
        from: Option<&ObjectId>,
        edits: impl IntoIterator<Item = (P, Option<H>)>,
    ) -> Result<ObjectId, GitError> {
        let mut buffer = Vec::new();
        let root = match from {
            Some(from) => {
                let oid = gix::hash::ObjectId::from_bytes_or_panic(from.as_bytes());
                let data = self.find(&format!("tree {from}"), &oid, Kind::Tree, &mut buffer)?;
                let tree = TreeRef::from_bytes(data, self.format.0);
                tree.map_err(reading("a tree"))?.into()
            }
            None => Tree::default(),
        };
        let mut editor = Editor::new(root, &self.store, self.format.0);
        let mut come = Vec::new();
        for (path, held) in edits {
            let held: Option<Held> = held.map(Into::into);
            match held.and_then(|(mode, id)| Some((kind_of(mode)?, id))) {
                Some((kind, id)) => come.push((path, kind, id)),
                // what goes goes first: a file may come in the place of a directory
                None => {
                    let done = editor.remove_if_leaf(names(path.as_ref()));
                    done.map_err(reading("a tree"))?;
                }
            }
        }
        for (path, kind, id) in come {
            let id = gix::hash::ObjectId::from_bytes_or_panic(id.as_bytes());
            let done = editor.upsert(names(path.as_ref()), kind, id);
            done.map_err(reading("a tree"))?;
        }
        let written = editor.write(|tree| self.store.write(tree));
        let id = written.map_err(|error| unwritable("a tree", &error))?;
        Ok(id_of(&id))
    }
}

fn names(path: &[u8]) -> impl Iterator<Item = &BStr> {
    path.split_str("/").map(ByteSlice::as_bstr)
}

/// Holds what was read of a tree.
struct Reading<'a> {
    objects: &'a Objects,
    paths: Paths,
    entries: Vec<Entry>,
    /// The directory that is read, with a slash at its end.
    path: Vec<u8>,
    /// How much of its beginning the last path that was added has as well.
    shared: usize,
}

impl Reading<'_> {
    fn read(&mut self, name: Vec<u8>, tree: &ObjectId) -> Result<CachedTree, GitError> {
        let (first, mut below) = (self.entries.len(), Vec::new());
        for (name, (mode, id)) in self.objects.read_level(tree)? {
            let directory = self.path.len();
            self.path.extend_from_slice(&name);
            if let Some(mode) = mode {
                let pushed = self.paths.push(self.shared, &self.path[self.shared..]);
                pushed.map_err(reading(format_args!("tree {tree}")))?;
                self.shared = directory;
                self.entries.push(Entry { mode, id });
            } else {
                self.path.push(b'/');
                below.push(self.read(name.into(), &id)?);
                self.shared = self.shared.min(directory);
            }
            self.path.truncate(directory);
        }
        // git has the shorter names first
        below.sort_unstable_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
        Ok(CachedTree {
            name,
            id: *tree,
            count: self.entries.len() - first,
            below,
        })
    }
}
