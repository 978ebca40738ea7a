//! Parses one tree object.
//!
//! A tree is sorted as an index is (git-mktree(1)): each path comes after the one before it. One
//! that is not, or has a name that no tree may have, is damage.

use std::cmp::Ordering;
use std::fmt;

use bstr::{BStr, BString, ByteSlice};
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryKind;

use crate::git::error::{GitError, reading, unreadable};
use crate::git::object_format::{ObjectFormat, id_of};
use crate::words::entry::{Entry, Mode, ObjectId};

/// The direct entries of a tree, in its order.
pub type TreeLevel = Vec<TreeEntry>;

/// One entry of a tree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TreeEntry {
    /// Its name.
    pub name: BString,
    /// What stands there.
    pub object: TreeObject,
}

/// What stands in a tree under a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TreeObject {
    /// A directory.
    Tree(ObjectId),
    /// A file, a link or the commit of a submodule.
    Leaf(Entry),
}

impl TreeObject {
    /// Returns the tree, if it is one.
    pub const fn tree(&self) -> Option<&ObjectId> {
        match self {
            Self::Tree(id) => Some(id),
            Self::Leaf(_) => None,
        }
    }

    /// Returns what is no tree.
    pub const fn leaf(&self) -> Option<Entry> {
        match self {
            Self::Tree(_) => None,
            Self::Leaf(entry) => Some(*entry),
        }
    }
}

impl TreeEntry {
    /// Returns the tree, if it is one.
    pub const fn tree(&self) -> Option<&ObjectId> {
        self.object.tree()
    }

    /// Returns what is no tree.
    pub const fn leaf(&self) -> Option<Entry> {
        self.object.leaf()
    }

    /// Compares the places of two entries in a tree: a directory's name counts as if it ended with
    /// `/`.
    pub(super) fn order(&self, other: &Self) -> Ordering {
        self.sorted_name().cmp(other.sorted_name())
    }

    fn sorted_name(&self) -> impl Iterator<Item = u8> {
        let slash = match self.object {
            TreeObject::Tree(_) => Some(b'/'),
            TreeObject::Leaf(_) => None,
        };
        self.name.bytes().chain(slash)
    }
}

/// Parses a tree (gitformat-pack(5)) that messages call `what`.
pub(super) fn parse_tree(
    what: &dyn fmt::Display,
    data: &[u8],
    format: ObjectFormat,
) -> Result<TreeLevel, GitError> {
    let mut level = TreeLevel::new();
    for parsed in TreeRefIter::from_bytes(data, format.0) {
        let raw = parsed.map_err(reading(what))?;
        let id = id_of(raw.oid);
        let entry = TreeEntry {
            name: raw.filename.to_owned(),
            object: match mode_of(raw.mode) {
                None => TreeObject::Tree(id),
                Some(mode) => TreeObject::Leaf(Entry { mode, id }),
            },
        };
        if !is_tree_name(raw.filename) || !comes_last(&level, &entry) {
            let odd = "it has a name that no tree may have, or one twice, or is not sorted";
            return Err(unreadable(what, odd));
        }
        level.push(entry);
    }
    Ok(level)
}

/// True if a tree may have this name. Git writes no `.git` to the disk or to an index
/// (`verify_path`, git's read-cache.c).
fn is_tree_name(name: &BStr) -> bool {
    match name.as_bytes() {
        b"" | b"." | b".." => false,
        _ => !name.contains(&b'/') && !name.eq_ignore_ascii_case(b".git"),
    }
}

/// True if an entry comes after those of a level, and its name is new there.
fn comes_last(level: &TreeLevel, entry: &TreeEntry) -> bool {
    if let Some(last) = level.last()
        && last.order(entry).is_ge()
    {
        return false;
    }
    // between a file `a` and a directory `a` are such as `a.b`
    for earlier in level.iter().rev() {
        if earlier.name == entry.name {
            return false;
        }
        if !earlier.name.starts_with(&entry.name) {
            break;
        }
    }
    true
}

/// Returns the mode of what is no tree. Old modes such as `100664` read as git reads them.
fn mode_of(mode: gix::objs::tree::EntryMode) -> Option<Mode> {
    match mode.kind() {
        EntryKind::Tree => None,
        EntryKind::Blob => Some(Mode::File),
        EntryKind::BlobExecutable => Some(Mode::Executable),
        EntryKind::Link => Some(Mode::Link),
        EntryKind::Commit => Some(Mode::Gitlink),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(entries: &[(&str, &str, u8)]) -> Result<TreeLevel, GitError> {
        let mut data = Vec::new();
        for (mode, name, byte) in entries {
            data.extend(format!("{mode} {name}\0").bytes());
            data.extend([*byte; 20]);
        }
        parse_tree(&"it", &data, ObjectFormat::default())
    }

    #[test]
    fn a_tree_comes_after_a_file_with_more_in_its_name() {
        // `a` as a tree comes after `a.b`, as `a/`
        let tree = level(&[("100644", "a.b", 1), ("40000", "a", 2), ("100644", "b", 1)]);
        assert!(tree.expect("it is a tree")[1].tree().is_some());
        let file = level(&[("100644", "a", 1), ("100644", "a.b", 1), ("100644", "z", 1)]);
        assert_eq!(file.expect("it is a tree").len(), 3);
    }

    #[test]
    fn names_that_no_tree_may_have_are_damage() {
        for bad in [
            &[("100644", "..", 1)][..],
            &[("40000", ".git", 1)],
            &[("100644", ".GiT", 1)],
            &[("100644", "a/b", 1)],
            &[("100644", "b", 1), ("100644", "a", 1)],
            &[("100644", "a", 1), ("100644", "a", 1)],
            &[("100644", "a", 1), ("100644", "a.b", 1), ("40000", "a", 2)],
        ] {
            assert!(level(bad).is_err(), "{bad:?}");
        }
    }
}
