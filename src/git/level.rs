//! Holds one tree as it was read, without an allocation for each of its entries: [`Level`].

use std::cmp::Ordering;
use std::ops::Range;

use bstr::{BStr, ByteSlice};
use gix::objs::TreeRefIter;
use gix::objs::tree::EntryKind;

use super::error::{GitError, unreadable};
use super::objects::{ObjectFormat, id_of};
use crate::entry::{Mode, ObjectId};

/// Says what a tree has under a name; a mode of none is a tree.
pub type Held = (Option<Mode>, ObjectId);

/// Represents the direct entries of a tree, sorted by name.
#[derive(Debug, Default)]
pub struct Level {
    names: Vec<u8>,
    entries: Vec<(Range<usize>, Held)>,
}

impl Level {
    /// Reads a tree (gitformat-pack(5)) that messages call `what`. A name that no tree may have, or
    /// one twice, is damage.
    ///
    /// # Errors
    /// Fails when it is damaged.
    pub fn read(
        what: &dyn std::fmt::Display,
        data: &[u8],
        format: ObjectFormat,
    ) -> Result<Self, GitError> {
        let mut level = Self::default();
        for entry in TreeRefIter::from_bytes(data, format.kind()) {
            let entry = entry.map_err(|error| unreadable(what, &error))?;
            let name = entry.filename;
            if matches!(name.as_bytes(), b"" | b"." | b"..") || name.contains(&b'/') {
                return Err(odd(what));
            }
            let start = level.names.len();
            level.names.extend_from_slice(name);
            let held = (mode_of(entry.mode), id_of(entry.oid));
            level.entries.push((start..level.names.len(), held));
        }
        let Self { names, entries } = &mut level;
        // a tree is sorted as if the names of trees ended in `/`: nearly so
        entries.sort_by(|(one, _), (other, _)| names[one.clone()].cmp(&names[other.clone()]));
        let is_twice =
            |both: &[(Range<usize>, Held)]| names[both[0].0.clone()] == names[both[1].0.clone()];
        if entries.windows(2).any(is_twice) {
            return Err(odd(what));
        }
        Ok(level)
    }

    /// Every entry, sorted by name.
    pub fn iter(&self) -> impl Iterator<Item = (&BStr, &Held)> {
        self.entries
            .iter()
            .map(|(name, held)| (self.name(name), held))
    }

    /// What stands under a name.
    pub fn get(&self, name: &BStr) -> Option<&Held> {
        let order = |(at, _): &(Range<usize>, Held)| self.name(at).cmp(name);
        let at = self.entries.binary_search_by(order).ok()?;
        self.entries.get(at).map(|(_, held)| held)
    }

    fn name(&self, at: &Range<usize>) -> &BStr {
        self.names[at.clone()].as_bstr()
    }
}

fn odd(what: &dyn std::fmt::Display) -> GitError {
    unreadable(what, &"it has a name that no tree may have, or one twice")
}

/// Every name that two trees do not have alike, with what each has.
pub fn differences<'l>(
    before: &'l Level,
    after: &'l Level,
) -> impl Iterator<Item = (&'l BStr, Option<&'l Held>, Option<&'l Held>)> {
    let (mut before, mut after) = (before.iter().peekable(), after.iter().peekable());
    let mut next = move || {
        let order = match (before.peek(), after.peek()) {
            (Some((old, _)), Some((new, _))) => old.cmp(new),
            (Some(_), None) => Ordering::Less,
            (None, Some(_)) => Ordering::Greater,
            (None, None) => return None,
        };
        let old = (order != Ordering::Greater)
            .then(|| before.next())
            .flatten();
        let new = (order != Ordering::Less).then(|| after.next()).flatten();
        let name = old.or(new).map(|(name, _)| name)?;
        Some((name, old.map(|(_, held)| held), new.map(|(_, held)| held)))
    };
    std::iter::from_fn(move || {
        loop {
            let (name, old, new) = next()?;
            if old != new {
                return Some((name, old, new));
            }
        }
    })
}

/// The mode of what is no tree. Old modes such as `100664` read as git reads them.
pub fn mode_of(mode: gix::objs::tree::EntryMode) -> Option<Mode> {
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

    fn tree(entries: &[(&str, &str, u8)]) -> Vec<u8> {
        let mut data = Vec::new();
        for (mode, name, byte) in entries {
            data.extend(format!("{mode} {name}\0").bytes());
            data.extend([*byte; 20]);
        }
        data
    }

    fn level(entries: &[(&str, &str, u8)]) -> Level {
        Level::read(&"it", &tree(entries), ObjectFormat::Sha1).expect("it is a tree")
    }

    fn names(before: &Level, after: &Level) -> Vec<String> {
        let shown = |(name, old, new): (&BStr, Option<&Held>, Option<&Held>)| {
            let side = |held: Option<&Held>| match held {
                Some((None, _)) => 't',
                Some((Some(_), _)) => 'f',
                None => '-',
            };
            format!("{name} {}{}", side(old), side(new))
        };
        differences(before, after).map(shown).collect()
    }

    #[test]
    fn a_tree_in_the_place_of_a_file_meets_it_whatever_git_sorts_it_after() {
        // `a` as a tree comes after `a.b`, as `a/`
        let before = level(&[("100644", "a", 1), ("100644", "a.b", 1), ("100644", "z", 1)]);
        let after = level(&[("100644", "a.b", 1), ("40000", "a", 2), ("100644", "b", 1)]);
        assert_eq!(names(&before, &after), ["a ft", "b -f", "z f-"]);
        assert_eq!(names(&after, &before), ["a tf", "b f-", "z -f"]);
        assert!(names(&before, &before).is_empty());
        assert_eq!(after.get("a".into()).map(|held| held.0), Some(None));
        assert_eq!(after.get("z".into()), None);
    }

    #[test]
    fn names_that_no_tree_may_have_are_damage() {
        for bad in [
            &[("100644", "..", 1)][..],
            &[("100644", "a/b", 1)],
            &[("100644", "a", 1), ("100644", "b", 1), ("40000", "a", 2)],
        ] {
            let read = Level::read(&"it", &tree(bad), ObjectFormat::Sha1);
            assert!(read.is_err(), "{bad:?}");
        }
    }
}
