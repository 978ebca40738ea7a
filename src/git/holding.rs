//! Keeps objects from `git gc` that no ref names: an index, or a file of a git directory, has them.
//!
//! Git follows the index and the reflogs of a registered worktree. Of a private git directory that
//! is not registered, one commit has all of that: commits are its parents, the rest is in its tree.

use std::collections::{BTreeSet, HashMap};

use bstr::ByteSlice as _;
use gix::index::entry::Mode as IndexMode;
use gix::index::{Entry as IndexEntry, State, extension};
use gix::objs::tree::{Entry, EntryKind};
use gix::objs::{Kind, Tree, Write as _};
use gix::odb::Header as _;

use crate::git::error::{GitError, unwritable};
use crate::git::index::OpenIndex;
use crate::git::index_trees::IndexTrees;
use crate::git::object_format::{ObjectFormat, commit_id_of, gix_id, id_of};
use crate::git::objects::Objects;
use crate::git::tree_level::TreeEntry;
use crate::words::entry::{Mode, ObjectId};
use crate::words::name::CommitId;

/// The extension of an index with the sides of conflicts that were resolved (gitformat-index(5)).
const RESOLVED: &[u8] = b"REUC";

/// What has objects that are to be kept.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Holder {
    /// The commit that has all that is to be kept but the tags, or that is all of it; none if
    /// only tags are kept.
    pub commit: Option<CommitId>,
    /// Annotated tags, which no commit can have.
    pub tags: Vec<CommitId>,
}

impl Objects {
    /// Writes a commit from which those of these objects that exist can be reached, but for tags.
    /// The same objects give the same commit. A single commit is its own holder, and nothing is
    /// written: a clean worktree can be removed on a full disk.
    ///
    /// # Errors
    /// Fails when writing does.
    pub fn write_holder(&self, ids: &BTreeSet<ObjectId>) -> Result<Holder, GitError> {
        let mut commits = Vec::new();
        let mut tags = Vec::new();
        let mut tree = Tree::default();
        // in order, as a tree has to be: an entry is called after its id
        for id in ids {
            let oid = gix_id(id);
            let Ok(Some(header)) = self.store.try_header(&oid) else {
                continue;
            };
            match header.kind() {
                Kind::Commit => commits.push(commit_id_of(&oid)),
                Kind::Tag => tags.push(commit_id_of(&oid)),
                Kind::Blob => tree.entries.push(entry_of(oid, EntryKind::Blob)),
                Kind::Tree => tree.entries.push(entry_of(oid, EntryKind::Tree)),
            }
        }
        if tree.entries.is_empty() && commits.len() <= 1 {
            let commit = commits.pop();
            return Ok(Holder { commit, tags });
        }
        let tree_id = self
            .store
            .write(&tree)
            .map_err(|error| unwritable("a tree", &error))?;
        let message = "what the private git directory of a removed worktree names";
        let commit = self.write_own_commit(&tree_id, &commits, message)?;
        Ok(Holder {
            commit: Some(commit),
            tags,
        })
    }
}

impl OpenIndex {
    /// Lists the objects that `git gc` keeps for an index and that a tree does not have at the same
    /// path: of its entries, of the trees that it says to be theirs, and of conflicts that were
    /// resolved. Only the directories are read in which they differ.
    ///
    /// # Errors
    /// Fails when a tree is missing or damaged.
    pub fn ids_beside(
        &self,
        objects: &Objects,
        tree: Option<&ObjectId>,
    ) -> Result<BTreeSet<ObjectId>, GitError> {
        let mut beside = IdsBeside {
            state: &self.state,
            trees: IndexTrees::compute(&self.state, self.format),
            objects,
            ids: BTreeSet::new(),
        };
        let root = IndexDirectory {
            entries: self.state.entries(),
            first_entry: 0,
            path_length: 0,
            tree: tree.copied(),
        };
        beside.add_entries(root)?;
        if let Some(cached) = self.state.tree() {
            beside.add_cached_trees(cached, tree)?;
        }
        let resolved = resolved_conflicts(&self.bytes, self.format);
        beside.ids.extend(resolved);
        Ok(beside.ids)
    }
}

/// An entry of a tree that is called after its object, so that no two are called alike.
fn entry_of(oid: gix::ObjectId, kind: EntryKind) -> Entry {
    Entry {
        mode: kind.into(),
        filename: oid.to_string().into(),
        oid,
    }
}

/// A directory of an index.
struct IndexDirectory<'i> {
    /// The entries below it, sorted.
    entries: &'i [IndexEntry],
    /// The number of the first of them.
    first_entry: usize,
    /// The length of its path, with the slash at the end.
    path_length: usize,
    /// The tree that has the same path.
    tree: Option<ObjectId>,
}

/// Collects the objects of an index that a tree does not have at the same path.
struct IdsBeside<'i> {
    state: &'i State,
    trees: IndexTrees,
    objects: &'i Objects,
    ids: BTreeSet<ObjectId>,
}

impl<'i> IdsBeside<'i> {
    /// Adds what an index has below a directory and the tree that has the same path has not. A tree
    /// that has exactly the entries is not read.
    ///
    /// Directories wait in a list: a path of an index may have more of them than calls have room
    /// on the stack.
    fn add_entries(&mut self, root: IndexDirectory<'i>) -> Result<(), GitError> {
        let mut waiting = vec![root];
        while let Some(directory) = waiting.pop() {
            let tree_of_entries = self.trees.id(directory.first_entry, directory.path_length);
            if directory.tree.is_none() {
                for entry in directory.entries {
                    self.add_file(entry, None);
                }
            } else if directory.tree.as_ref() != tree_of_entries {
                waiting.extend(self.add_files(&directory)?);
            }
        }
        Ok(())
    }

    /// Adds the files that are in a directory itself, and returns the directories in it.
    fn add_files(
        &mut self,
        directory: &IndexDirectory<'i>,
    ) -> Result<Vec<IndexDirectory<'i>>, GitError> {
        let level = self.objects.level(directory.tree.as_ref())?;
        let in_tree = by_name(&level);
        let mut children = Vec::new();
        let mut remaining = directory.entries;
        while let Some(first) = remaining.first() {
            let path: &[u8] = first.path(self.state);
            let path_in_directory = &path[directory.path_length..];
            let Some(slash) = path_in_directory.find_byte(b'/') else {
                self.add_file(first, in_tree.get(path_in_directory).copied());
                remaining = &remaining[1..];
                continue;
            };
            let name = &path_in_directory[..slash];
            let prefix = &path[..=directory.path_length + slash];
            // entries are sorted: those of one child directory stand together
            let number =
                remaining.partition_point(|entry| entry.path(self.state).starts_with(prefix));
            let (entries_below, entries_after) = remaining.split_at(number);
            let number_before = directory.entries.len() - remaining.len();
            children.push(IndexDirectory {
                entries: entries_below,
                first_entry: directory.first_entry + number_before,
                path_length: prefix.len(),
                tree: in_tree.get(name).and_then(|entry| entry.tree()).copied(),
            });
            remaining = entries_after;
        }
        Ok(children)
    }

    /// Adds the trees of which the index says that entries of it are in them (gitformat-index(5),
    /// "Cache tree"), unless the tree at the same path is this one. What is in a tree, `git gc`
    /// keeps with it. Nobody verifies what the index says, so the entries are compared all the same.
    fn add_cached_trees(
        &mut self,
        root: &extension::Tree,
        tree_of_root: Option<&ObjectId>,
    ) -> Result<(), GitError> {
        let mut waiting = vec![(root, tree_of_root.copied())];
        while let Some((cached, tree)) = waiting.pop() {
            if cached.num_entries.is_some() {
                let id = id_of(&cached.id);
                if tree != Some(id) {
                    self.ids.insert(id);
                }
                continue;
            }
            let level = self.objects.level(tree.as_ref())?;
            let in_tree = by_name(&level);
            for child in &cached.children {
                let entry = in_tree.get(child.name.as_slice());
                let tree_of_child = entry.and_then(|entry| entry.tree()).copied();
                waiting.push((child, tree_of_child));
            }
        }
        Ok(())
    }

    /// Adds the blob of an entry of the index, unless a tree has it under the same name.
    fn add_file(&mut self, file: &IndexEntry, in_tree: Option<&TreeEntry>) {
        let id = id_of(&file.id);
        let is_in_tree = in_tree
            .and_then(TreeEntry::leaf)
            .is_some_and(|leaf| leaf.mode != Mode::Gitlink && leaf.id == id);
        if file.mode != IndexMode::COMMIT && !is_in_tree {
            self.ids.insert(id);
        }
    }
}

/// The entries of a directory of a tree by their names.
fn by_name(level: &[TreeEntry]) -> HashMap<&[u8], &TreeEntry> {
    let mut entries: HashMap<&[u8], &TreeEntry> = HashMap::new();
    for entry in level {
        entries.insert(&entry.name, entry);
    }
    entries
}

/// The sides of conflicts that were resolved, as the extension of an index has them. Where it is,
/// the index does not say: whatever looks like one is read, as a name of a file may, too.
fn resolved_conflicts(index: &[u8], format: ObjectFormat) -> Vec<ObjectId> {
    let mut ids = Vec::new();
    for begin in index.find_iter(RESOLVED) {
        let Some((size, content)) = index[begin + RESOLVED.len()..].split_first_chunk() else {
            break;
        };
        let size = u32::from_be_bytes(*size) as usize;
        add_sides(&content[..size.min(content.len())], format, &mut ids);
    }
    ids
}

/// Adds the sides of the conflicts in an extension, as far as it is one: for each, a path, three
/// modes, and an id for each mode that is not 0.
fn add_sides(extension: &[u8], format: ObjectFormat, ids: &mut Vec<ObjectId>) {
    let mut rest = extension;
    while let Some((_path, after_path)) = rest.split_once_str("\0") {
        rest = after_path;
        let mut sides = 0;
        for _ in 0..3 {
            let Some((mode, after_mode)) = rest.split_once_str("\0") else {
                return;
            };
            if mode.is_empty() || !mode.iter().all(u8::is_ascii_digit) {
                return;
            }
            sides += usize::from(mode != b"0");
            rest = after_mode;
        }
        for _ in 0..sides {
            let Some((id, after_id)) = rest.split_at_checked(format.length()) else {
                return;
            };
            ids.extend(ObjectId::from_bytes(id));
            rest = after_id;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sides_of_resolved_conflicts_are_read() {
        let mut content = b"src/a\x00100644\x000\x00100755\x00".to_vec();
        content.extend([1; 20]);
        content.extend([2; 20]);
        let mut index = b"DIRC and entries".to_vec();
        index.extend(RESOLVED);
        index.extend(u32::try_from(content.len()).expect("short").to_be_bytes());
        index.extend(&content);
        index.extend([9; 20]);
        let ids = resolved_conflicts(&index, ObjectFormat::default());
        let expected = [[1; 20], [2; 20]].map(|bytes| ObjectId::from_bytes(&bytes));
        let expected = expected.map(|id| id.expect("20 bytes"));
        assert_eq!(ids, expected);
        // git also writes the names of untracked files there, behind it
        let mut with_untracked = index.clone();
        with_untracked.extend(b"UNTR\0\0\0\x0ea file of REUC\0");
        let ids = resolved_conflicts(&with_untracked, ObjectFormat::default());
        assert_eq!(ids, expected);
        for length in 0..index.len() {
            let cut = resolved_conflicts(&index[..length], ObjectFormat::default());
            assert!(cut.len() <= 2, "{length}");
        }
        assert_eq!(resolved_conflicts(b"DIRC", ObjectFormat::default()), []);
    }
}
