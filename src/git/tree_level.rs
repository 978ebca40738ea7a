//! Parses one tree object.
//!
//! A tree is sorted as an index is (git-mktree(1)): each path comes after the one before it. One that
//! is not, or has a name that no tree may have, is damage.

use bstr::{BStr, BString, ByteSlice};
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryKind;

use crate::git::error::{GitError, reading, unreadable};
use crate::git::object_format::{ObjectFormat, id_of};
use crate::words::entry::{Entry, Mode, ObjectId};

/// Says what a tree has under a name; a mode of none is a tree.
pub type Held = (Option<Mode>, ObjectId);

impl From<Entry> for Held {
    fn from(entry: Entry) -> Self {
        (Some(entry.mode), entry.id)
    }
}

/// Represents the direct entries of a tree, in its order.
pub type TreeLevel = Vec<(BString, Held)>;

/// The order of the entries of a tree: a directory's name counts as if it ended with `/`.
pub(super) fn order(
    one: &BStr,
    one_held: &Held,
    other: &BStr,
    other_held: &Held,
) -> std::cmp::Ordering {
    let slash = |held: &Held| held.0.is_none().then_some(b'/');
    let (one, other) = (one.bytes(), other.bytes());
    one.chain(slash(one_held))
        .cmp(other.chain(slash(other_held)))
}

/// Reads a tree (gitformat-pack(5)) that messages call `what`.
pub(super) fn read_entries(
    what: &dyn std::fmt::Display,
    data: &[u8],
    format: ObjectFormat,
) -> Result<TreeLevel, GitError> {
    let mut level = TreeLevel::new();
    for entry in TreeRefIter::from_bytes(data, format.0) {
        let entry = entry.map_err(reading(what))?;
        let name = entry.filename;
        let held = (mode_of(entry.mode), id_of(entry.oid));
        let is_name = !matches!(name.as_bytes(), b"" | b"." | b"..") && !name.contains(&b'/');
        // git writes no such path to the disk or to an index (`verify_path`, git's read-cache.c)
        let is_odd = !is_name || name.eq_ignore_ascii_case(b".git");
        let is_after =
            |(last, before): &(BString, Held)| order(last.as_bstr(), before, name, &held).is_lt();
        // between a file `a` and a directory `a` are such as `a.b`
        let near = level.iter().rev();
        let mut near = near.take_while(|(other, _)| other.starts_with(name));
        if is_odd || !level.last().is_none_or(is_after) || near.any(|(other, _)| other == name) {
            let odd = "it has a name that no tree may have, or one twice, or is not sorted";
            return Err(unreadable(what, &odd));
        }
        level.push((name.to_owned(), held));
    }
    Ok(level)
}

/// The mode of what is no tree. Old modes such as `100664` read as git reads them.
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
        read_entries(&"it", &data, ObjectFormat::default())
    }

    #[test]
    fn a_tree_comes_after_a_file_with_more_in_its_name() {
        // `a` as a tree comes after `a.b`, as `a/`
        let tree = level(&[("100644", "a.b", 1), ("40000", "a", 2), ("100644", "b", 1)]);
        assert_eq!(tree.expect("it is a tree")[1].1.0, None);
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
