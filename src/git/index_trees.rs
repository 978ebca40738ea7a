//! Computes the trees that `git write-tree` would write of an index, without writing them.
//!
//! An index says itself which trees its directories have (gitformat-index(5), "Cache tree"), but
//! nobody verifies that. What is computed here from the entries can be believed.

use std::collections::HashMap;

use bstr::ByteSlice as _;
use gix::index::State;

use crate::git::index::checksum_of;
use crate::git::object_format::ObjectFormat;
use crate::words::entry::ObjectId;

/// The mode of a directory, in a tree.
const MODE_OF_TREE: u32 = 0o40000;

/// The trees of the directories of an index.
#[derive(Default)]
pub(super) struct IndexTrees {
    ids: HashMap<IndexDirectoryKey, ObjectId>,
}

/// Names a directory of an index.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct IndexDirectoryKey {
    /// The number of its first entry.
    first_entry: usize,
    /// The length of its path, with the slash at the end.
    path_length: usize,
}

/// A directory whose entries are being read.
struct UnfinishedTree {
    key: IndexDirectoryKey,
    /// The content of its tree so far.
    content: Vec<u8>,
}

impl IndexTrees {
    /// Computes the tree of each directory, from all its entries. Where one of them is of a
    /// conflict or of `git add --intent-to-add`, that is not a tree that git would write.
    ///
    /// A path may have very many directories, so nothing here takes time for each part of a path
    /// that two entries have in common.
    pub(super) fn compute(state: &State, format: ObjectFormat) -> Self {
        let mut trees = Self::default();
        let mut open = vec![UnfinishedTree::new(0, 0)];
        let mut path_before: &[u8] = &[];
        for (number, entry) in state.entries().iter().enumerate() {
            let path: &[u8] = entry.path(state);
            let common = common_length(path_before, path);
            while open
                .last()
                .is_some_and(|tree| tree.key.path_length > common)
            {
                trees.close_last(&mut open, path_before, format);
            }
            let mut begin = open.last().map_or(0, |tree| tree.key.path_length);
            while let Some(slash) = path[begin..].find_byte(b'/') {
                begin += slash + 1;
                open.push(UnfinishedTree::new(number, begin));
            }
            if let Some(tree) = open.last_mut() {
                tree.push(entry.mode.bits(), &path[begin..], entry.id.as_bytes());
            }
            path_before = path;
        }
        while !open.is_empty() {
            trees.close_last(&mut open, path_before, format);
        }
        trees
    }

    /// Returns the tree of the directory that begins with this entry and whose path, with the slash
    /// at the end, has this length.
    pub(super) fn id(&self, first_entry: usize, path_length: usize) -> Option<&ObjectId> {
        let key = IndexDirectoryKey {
            first_entry,
            path_length,
        };
        self.ids.get(&key)
    }

    /// Computes the tree of the last directory, and adds it to the one that it is in. `path` is of
    /// an entry in it.
    fn close_last(&mut self, open: &mut Vec<UnfinishedTree>, path: &[u8], format: ObjectFormat) {
        let Some(closed) = open.pop() else {
            return;
        };
        let id = closed.id(format).unwrap_or(ObjectId::none());
        self.ids.insert(closed.key, id);
        if let Some(parent) = open.last_mut() {
            let name = &path[parent.key.path_length..closed.key.path_length - 1];
            parent.push(MODE_OF_TREE, name, id.as_bytes());
        }
    }
}

impl UnfinishedTree {
    const fn new(first_entry: usize, path_length: usize) -> Self {
        Self {
            key: IndexDirectoryKey {
                first_entry,
                path_length,
            },
            content: Vec::new(),
        }
    }

    /// Computes the id. Who forges a collision deceives nobody but himself: the search for that,
    /// which takes ten times as long, is not needed.
    fn id(&self, format: ObjectFormat) -> Option<ObjectId> {
        let mut object = format!("tree {}\0", self.content.len()).into_bytes();
        object.extend_from_slice(&self.content);
        ObjectId::from_bytes(&checksum_of(&object, format)?)
    }

    /// Adds an entry, as a tree has it (gitformat-pack(5)).
    fn push(&mut self, mode: u32, name: &[u8], id: &[u8]) {
        self.content
            .extend_from_slice(format!("{mode:o} ").as_bytes());
        self.content.extend_from_slice(name);
        self.content.push(0);
        self.content.extend_from_slice(id);
    }
}

/// How many bytes two paths have in common at their beginning.
fn common_length(one: &[u8], other: &[u8]) -> usize {
    one.iter()
        .zip(other)
        .take_while(|(byte, other_byte)| byte == other_byte)
        .count()
}

#[cfg(test)]
mod tests {
    use gix::index::entry::{Flags, Mode, Stat};

    use super::*;

    /// The empty blob, and a blob with one letter.
    const EMPTY: &str = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
    const LETTER: &str = "c1b0730e0133447badcfd47fd144e254807b06e1";

    /// What `git write-tree` writes of an index with the same entries.
    #[test]
    fn the_trees_of_an_index_are_those_that_git_writes() {
        let entries = [
            ("README", Mode::FILE, EMPTY),
            ("bin/run", Mode::FILE_EXECUTABLE, EMPTY),
            ("docs/a-b/d", Mode::FILE, EMPTY),
            ("docs/a.md", Mode::FILE, EMPTY),
            ("docs/a/b/c.md", Mode::FILE, EMPTY),
            ("link", Mode::SYMLINK, LETTER),
        ];
        let mut state = State::new(ObjectFormat::default().0);
        for (path, mode, id) in entries {
            let oid = gix::ObjectId::from_hex(id.as_bytes()).expect("an id");
            state.dangerously_push_entry(Stat::default(), oid, Flags::empty(), mode, path.into());
        }
        let trees = IndexTrees::compute(&state, ObjectFormat::default());
        for (first_entry, directory, id) in [
            (0, "", "3070a3bf6304077e3e4123e63bd4a13c5fec6aeb"),
            (2, "docs/", "292406606bb72d2956746298112c5e06d23f832c"),
            (4, "docs/a/", "5aa5778bf00df54ac33bd0d43eda6b1c49f178a9"),
        ] {
            let expected = ObjectId::from_hex(id.as_bytes());
            let computed = trees.id(first_entry, directory.len()).copied();
            assert_eq!(computed, expected, "{directory}");
        }
    }
}
