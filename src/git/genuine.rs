//! Checks that the objects which git will read have the content that their ids say.
//!
//! Git does not compute the id of what it reads, and may read an object from another place than we
//! do: from a pack with a forged index, though the true object is there too, as a loose file. What
//! verification reads is checked where it is read; what git is about to merge is read here by git.

use std::collections::BTreeSet;

use bstr::{BStr, ByteSlice as _};
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
const READ_OBJECTS: &str = "--no-replace-objects cat-file --batch";

impl Objects {
    /// Adds to `found` the trees that a comparison of two trees reads.
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

    /// Adds a tree and all trees below it.
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
                let forged = self.first_forged_at_once(&asked, objects.format)?;
                if forged.is_some() {
                    return Ok(forged);
                }
                asked.clear();
                size = 0;
            }
            asked.push(*id);
            size += next;
        }
        self.first_forged_at_once(&asked, objects.format)
    }

    /// Lets git read these objects in one call, and returns the first that is not what its id says.
    fn first_forged_at_once(
        &self,
        ids: &[ObjectId],
        format: ObjectFormat,
    ) -> Result<Option<ObjectId>, GitError> {
        let lines: String = ids.iter().map(|id| format!("{id}\n")).collect();
        let what = "read what is merged";
        let output = self.perform_with(what, READ_OBJECTS, &[], lines.as_bytes())?;
        let mut rest = output.as_slice();
        for id in ids {
            let Some(object) = next_object(&mut rest)? else {
                return Ok(Some(*id));
            };
            let computed = compute_hash(format.0, object.kind, object.content)
                .map_err(reading(format_args!("object {id}")))?;
            if id_of(&computed) != *id {
                return Ok(Some(*id));
            }
        }
        Ok(None)
    }
}

/// An object as git read it.
struct ReadObject<'o> {
    kind: Kind,
    content: &'o [u8],
}

/// Takes the first object from the output of git; none if git does not have it.
fn next_object<'o>(output: &mut &'o [u8]) -> Result<Option<ReadObject<'o>>, GitError> {
    // `<id> <kind> <size>\n<content>\n`, or `<id> missing\n`
    let (line, after_line) = output.split_once_str("\n").ok_or_else(ends_early)?;
    let line = line.to_str().map_err(|_| ends_early())?;
    let mut words = line.split(' ').skip(1);
    let kind = words.next().unwrap_or_default();
    let Ok(kind) = Kind::from_bytes(kind.as_bytes()) else {
        return Ok(None);
    };
    let size = words.next().and_then(|size| size.parse().ok());
    let (content, after_content) = size
        .and_then(|size| after_line.split_at_checked(size))
        .ok_or_else(ends_early)?;
    *output = after_content.get(1..).ok_or_else(ends_early)?;
    Ok(Some(ReadObject { kind, content }))
}

fn ends_early() -> GitError {
    odd_output(READ_OBJECTS, "it ends early")
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
