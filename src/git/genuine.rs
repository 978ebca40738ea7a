//! Holds what git reads of objects against their ids.
//!
//! Git computes no id of what it reads, and may read an object from another place than we do: from a pack
//! whose index lies, where the true one lies beside it as a loose file. What verification read has its
//! ids; what git is to merge is asked of git.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice};
use gix::objs::{Kind, compute_hash};
use gix::odb::Header as _;

use crate::git::error::{GitError, reading};
use crate::git::object_format::{ObjectFormat, id_of, oid_of};
use crate::git::objects::Objects;
use crate::git::process::{Git, odd_output};
use crate::git::tree_level::TreeLevel;
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
        for (name, tree) in trees(&before) {
            match tree_at(&after, name) {
                Some(other) => self.compared_trees(tree, other, found)?,
                None => self.all_trees(tree, found)?,
            }
        }
        for (name, tree) in trees(&after) {
            if tree_at(&before, name).is_none() {
                self.all_trees(tree, found)?;
            }
        }
        Ok(())
    }

    /// Collects a tree and those below.
    fn all_trees(&self, tree: &ObjectId, found: &mut BTreeSet<ObjectId>) -> Result<(), GitError> {
        found.insert(*tree);
        let level = self.level(Some(tree))?;
        for (_, below) in trees(&level) {
            self.all_trees(below, found)?;
        }
        Ok(())
    }

    fn size_of(&self, id: &ObjectId) -> Result<u64, GitError> {
        let oid = gix::hash::ObjectId::from_bytes_or_panic(id.as_bytes());
        let header = self.store.try_header(&oid);
        let header = header.map_err(reading(format_args!("object {id}")))?;
        Ok(header.map_or(0, |header| header.size()))
    }
}

impl Git {
    /// The first of these objects that is not what its id says where git reads it; none if all are.
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
            let odd = || odd_output(READ, "it ends early");
            let (line, after) = rest.split_once_str("\n").ok_or_else(odd)?;
            let line = line.to_str_lossy();
            let mut words = line.split(' ').skip(1);
            let kind = words.next().unwrap_or_default();
            let Ok(kind) = Kind::from_bytes(kind.as_bytes()) else {
                // `<id> missing`
                return Ok(Some(*id));
            };
            let size = words.next().and_then(|size| size.parse::<usize>().ok());
            let size = size.ok_or_else(odd)?;
            let content = after.get(..size).ok_or_else(odd)?;
            let read = compute_hash(format.0, kind, content);
            let read = read.map_err(reading(format_args!("object {id}")))?;
            if id_of(&read) != *id {
                return Ok(Some(*id));
            }
            rest = after.get(size + 1..).ok_or_else(odd)?;
        }
        Ok(None)
    }
}

/// The entries of a tree that are trees.
fn trees(level: &TreeLevel) -> impl Iterator<Item = (&BString, &ObjectId)> {
    let trees = level.iter().filter(|(_, (mode, _))| mode.is_none());
    trees.map(|(name, (_, tree))| (name, tree))
}

/// The tree that a tree has under a name.
fn tree_at<'l>(level: &'l TreeLevel, name: &BString) -> Option<&'l ObjectId> {
    let found = trees(level).find(|(other, _)| *other == name);
    found.map(|(_, tree)| tree)
}

/// The id of a commit, as that of any object.
pub fn object_of(id: &CommitId) -> ObjectId {
    id_of(&oid_of(id))
}
