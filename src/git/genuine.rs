//! Holds what git reads of objects against their ids.
//!
//! Git computes no id of what it reads, and may read an object from another place than we do: from
//! a pack whose index lies, where the true one lies beside it as a loose file. What verification
//! read has its ids; what git is to merge is asked of git.

use std::collections::BTreeSet;

use bstr::{BStr, ByteSlice};
use gix::objs::{Kind, compute_hash};
use gix::odb::Header as _;

use crate::git::error::{GitError, reading};
use crate::git::object_format::{ObjectFormat, gix_id, id_of, oid_of};
use crate::git::objects::Objects;
use crate::git::process::{Git, odd_output};
use crate::git::tree_level::{TreeEntry, TreeLevel};
use crate::words::entry::ObjectId;
use crate::words::name::CommitId;

/// How many bytes of objects are asked for at once; a larger one alone.
const AT_ONCE: u64 = 16 * 1024 * 1024;
/// The command that reads objects.
const READ: &str = "--no-replace-objects cat-file --batch";

impl Objects {
    /// Collects the trees that a comparison of two trees reads.
    ///
    /// # Errors
    /// Fails when a tree is missing or damaged.
    pub fn compared_trees(
        &self,
        from: &ObjectId,
        to: &ObjectId,
        found: &mut BTreeSet<ObjectId>,
    ) -> Result<(), GitError> {
        if from == to {
            return Ok(());
        }
        found.extend([*from, *to]);
        let before = self.level(Some(from))?;
        let after = self.level(Some(to))?;
        for entry in before.iter() {
            let Some(tree) = entry.tree() else { continue };
            match tree_at(&after, entry.name.as_bstr()) {
                Some(other) => self.compared_trees(tree, other, found)?,
                None => self.trees_below(tree, found)?,
            }
        }
        for entry in after.iter() {
            let Some(tree) = entry.tree() else { continue };
            if tree_at(&before, entry.name.as_bstr()).is_none() {
                self.trees_below(tree, found)?;
            }
        }
        Ok(())
    }

    /// Collects a tree and those below.
    fn trees_below(&self, tree: &ObjectId, found: &mut BTreeSet<ObjectId>) -> Result<(), GitError> {
        found.insert(*tree);
        let level = self.level(Some(tree))?;
        for child in level.iter().filter_map(TreeEntry::tree) {
            self.trees_below(child, found)?;
        }
        Ok(())
    }

    fn size_of(&self, id: &ObjectId) -> Result<u64, GitError> {
        let header = self
            .store
            .try_header(&gix_id(id))
            .map_err(reading(format_args!("object {id}")))?;
        Ok(header.map_or(0, |header| header.size()))
    }
}

impl Git {
    /// Returns the first of these objects that is not what its id says where git reads it; none if
    /// all are.
    ///
    /// # Errors
    /// Fails when git does, or one cannot be read.
    pub fn first_forged(
        &self,
        objects: &Objects,
        ids: &BTreeSet<ObjectId>,
    ) -> Result<Option<ObjectId>, GitError> {
        let mut asked = Vec::new();
        let mut size = 0;
        for id in ids {
            let next = objects.size_of(id)?;
            if size + next > AT_ONCE && !asked.is_empty() {
                let forged = self.forged_of(&asked, objects.format)?;
                if forged.is_some() {
                    return Ok(forged);
                }
                asked.clear();
                size = 0;
            }
            asked.push(*id);
            size += next;
        }
        self.forged_of(&asked, objects.format)
    }

    /// Asks git for objects at once; the first that is not what its id says.
    fn forged_of(
        &self,
        ids: &[ObjectId],
        format: ObjectFormat,
    ) -> Result<Option<ObjectId>, GitError> {
        let lines: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let what = "read what is merged";
        let output = self.perform_with(what, READ, &[], lines.as_bytes())?;
        let mut rest = output.as_slice();
        for id in ids {
            let (line, after) = rest.split_once_str("\n").ok_or_else(ends_early)?;
            // `<id> <kind> <size>`, or `<id> missing`
            let words: Vec<&[u8]> = line.split_str(" ").collect();
            let word = words.get(1).copied().unwrap_or_default();
            let Ok(kind) = Kind::from_bytes(word) else {
                return Ok(Some(*id));
            };
            let size = words
                .get(2)
                .and_then(|word| number(word))
                .ok_or_else(ends_early)?;
            let content = after.get(..size).ok_or_else(ends_early)?;
            let computed = compute_hash(format.0, kind, content)
                .map_err(reading(format_args!("object {id}")))?;
            if id_of(&computed) != *id {
                return Ok(Some(*id));
            }
            rest = after.get(size + 1..).ok_or_else(ends_early)?;
        }
        Ok(None)
    }
}

fn ends_early() -> GitError {
    odd_output(READ, "it ends early")
}

fn number(word: &[u8]) -> Option<usize> {
    word.to_str().ok()?.parse().ok()
}

/// Returns the tree that a tree has under a name.
fn tree_at<'l>(level: &'l TreeLevel, name: &BStr) -> Option<&'l ObjectId> {
    level
        .iter()
        .filter(|entry| entry.name == name)
        .find_map(TreeEntry::tree)
}

/// Returns the id of a commit, as that of any object.
pub fn object_of(id: &CommitId) -> ObjectId {
    id_of(&oid_of(id))
}
