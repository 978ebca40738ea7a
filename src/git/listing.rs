//! Lists a tree once for all who ask: every entry, and what a new index says of the directories.
//!
//! Trees are sorted as an index is (git-mktree(1)), so that each path comes after the one before it
//! and all of them can stand in one place of memory. A tree that is not sorted, or has a name that
//! none may have, is read the slow way, which says what is wrong with it.

use bstr::ByteSlice;
use gix::objs::tree::EntryKind;
use gix::objs::{Kind, TreeRefIter};

use super::error::GitError;
use super::error::unreadable;
use super::level::mode_of;
use super::objects::{Objects, id_of};
use super::passing::Passing;
use crate::entry::{Entry, ObjectId};
use crate::path::{Paths, RepoPath};

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
    pub(super) name: Vec<u8>,
    pub(super) id: ObjectId,
    pub(super) count: usize,
    pub(super) below: Vec<Self>,
}

impl CachedTree {
    /// Renders it as the content of an index's extension (gitformat-index(5), "Cache tree").
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.push(&mut bytes);
        bytes
    }

    fn push(&self, bytes: &mut Vec<u8>) {
        bytes.extend_from_slice(&self.name);
        let numbers = format!("\0{} {}\n", self.count, self.below.len());
        bytes.extend_from_slice(numbers.as_bytes());
        bytes.extend_from_slice(self.id.as_bytes());
        for one in &self.below {
            one.push(bytes);
        }
    }

    /// Git has the shorter names first.
    fn sort(below: &mut [Self]) {
        below.sort_unstable_by(|a, b| (a.name.len(), &a.name).cmp(&(b.name.len(), &b.name)));
    }
}

impl Objects {
    /// Lists a tree with its directories.
    ///
    /// # Errors
    /// Fails when a tree is missing or damaged.
    pub fn listing(&self, tree: &ObjectId) -> Result<TreeListing, GitError> {
        let mut reading = Reading::new(self);
        if let Some(trees) = reading.read(Vec::new(), tree)? {
            let entries = reading.paths.into_paths().zip(reading.entries);
            let entries = entries.collect();
            return Ok(TreeListing { entries, trees });
        }
        let delta = self.difference(None, Some(tree))?.into_iter();
        let entries = delta.filter_map(|(path, entry)| Some((path, entry?)));
        let entries = entries.collect();
        let trees = self.cached(Vec::new(), tree)?;
        Ok(TreeListing { entries, trees })
    }

    /// Lists every entry of a tree, sorted by path.
    ///
    /// # Errors
    /// Fails when a tree is missing or damaged.
    pub fn list(&self, tree: &ObjectId) -> Result<Vec<(RepoPath, Entry)>, GitError> {
        Ok(self.listing(tree)?.entries)
    }

    fn cached(&self, name: Vec<u8>, tree: &ObjectId) -> Result<CachedTree, GitError> {
        let what = format!("tree {tree}");
        let oid = gix::hash::ObjectId::from_bytes_or_panic(tree.as_bytes());
        let mut buffer = Vec::new();
        let data = self.find(&what, &oid, Kind::Tree, &mut buffer)?;
        let (mut count, mut below) = (0, Vec::new());
        for entry in TreeRefIter::from_bytes(data, self.format.kind()) {
            let entry = entry.map_err(|error| unreadable(&what, &error))?;
            if entry.mode.kind() == EntryKind::Tree {
                let one = self.cached(entry.filename.to_vec(), &id_of(entry.oid))?;
                count += one.count;
                below.push(one);
            } else {
                count += 1;
            }
        }
        CachedTree::sort(&mut below);
        let id = *tree;
        Ok(CachedTree {
            name,
            id,
            count,
            below,
        })
    }
}

/// Holds what was read of a sorted tree.
struct Reading<'a> {
    objects: &'a Objects,
    passing: Option<Passing>,
    paths: Paths,
    entries: Vec<Entry>,
    /// The directory that is read, with a slash at its end.
    path: Vec<u8>,
    /// How much of its beginning the last path that was added has as well.
    shared: usize,
}

impl<'a> Reading<'a> {
    fn new(objects: &'a Objects) -> Self {
        Self {
            objects,
            passing: objects.passing(),
            paths: Paths::default(),
            entries: Vec::new(),
            path: Vec::new(),
            shared: 0,
        }
    }

    /// Reads what is below a tree; none where something is not in order.
    fn read(&mut self, name: Vec<u8>, tree: &ObjectId) -> Result<Option<CachedTree>, GitError> {
        let what = format!("tree {tree}");
        let oid = gix::hash::ObjectId::from_bytes_or_panic(tree.as_bytes());
        let (mut buffer, format) = (Vec::new(), self.objects.format.kind());
        let data = match &mut self.passing {
            Some(passing) => passing.find(&what, &oid, Kind::Tree, &mut buffer)?,
            None => self.objects.find(&what, &oid, Kind::Tree, &mut buffer)?,
        };
        let (first, mut below) = (self.entries.len(), Vec::new());
        let mut order = Order::default();
        for entry in TreeRefIter::from_bytes(data, format) {
            let entry = entry.map_err(|error| unreadable(&what, &error))?;
            let (name, mode, id) = (entry.filename, mode_of(entry.mode), id_of(entry.oid));
            if !order.takes(name, mode.is_none()) {
                return Ok(None);
            }
            let directory = self.path.len();
            self.path.extend_from_slice(name);
            if let Some(mode) = mode {
                if !self.add(directory) {
                    return Ok(None);
                }
                self.entries.push(Entry { mode, id });
            } else {
                self.path.push(b'/');
                match self.read(name.to_vec(), &id)? {
                    Some(one) => below.push(one),
                    None => return Ok(None),
                }
                self.shared = self.shared.min(directory);
            }
            self.path.truncate(directory);
        }
        CachedTree::sort(&mut below);
        Ok(Some(CachedTree {
            name,
            id: *tree,
            count: self.entries.len() - first,
            below,
        }))
    }

    /// Adds the path that was put together, in a directory whose name is so long; whether it is one
    /// and comes after the one before it.
    fn add(&mut self, directory: usize) -> bool {
        let is_first = self.paths.is_empty();
        let pushed = self.paths.push(self.shared, &self.path[self.shared..]);
        self.shared = directory;
        matches!(pushed, Ok(Some(order)) if order.is_gt() || is_first)
    }
}

/// Holds the names that a tree had so far: each must come after the one before it, a directory's as
/// if it ended with a slash.
#[derive(Default)]
struct Order<'t> {
    names: Vec<(&'t [u8], bool)>,
}

impl<'t> Order<'t> {
    fn takes(&mut self, name: &'t [u8], is_directory: bool) -> bool {
        let odd = matches!(name, b"" | b"." | b"..") || name.find_byteset(b"/\0").is_some();
        let key = |name: &'t [u8], slash: bool| name.iter().chain(slash.then_some(&b'/'));
        let last = self.names.last();
        let is_next =
            last.is_none_or(|(last, slash)| key(last, *slash).lt(key(name, is_directory)));
        // between a file `a` and a directory `a` are such as `a.b`
        let mut near = self.names.iter().rev();
        let mut near = near
            .by_ref()
            .take_while(|(other, _)| other.starts_with(name));
        let is_twice = near.any(|(other, _)| other.len() == name.len());
        self.names.push((name, is_directory));
        !odd && is_next && !is_twice
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn takes(names: &[(&str, bool)]) -> bool {
        let mut order = Order::default();
        let mut all = names.iter();
        all.all(|(name, directory)| order.takes(name.as_bytes(), *directory))
    }

    #[test]
    fn names_come_in_gits_order_and_once() {
        assert!(takes(&[("a", false), ("a.b", false), ("b", true)]));
        assert!(takes(&[("a-b", false), ("a", true), ("a0", false)]));
        assert!(takes(&[("a", false), ("ab", false), ("b", false)]));
        for wrong in [
            [("b", false), ("a", false)],
            [("a", false), ("a", false)],
            [("a", true), ("a", true)],
            [("a", false), ("a", true)],
            [("a", true), ("a-b", false)],
            [("", false), ("a", false)],
            [(".", false), ("a", false)],
            [("..", true), ("a", false)],
            [("a/b", false), ("b", false)],
        ] {
            assert!(!takes(&wrong), "{wrong:?}");
        }
        assert!(!takes(&[("a", false), ("a.b", false), ("a", true)]));
    }
}
