//! Knows which names a directory has by what the base has there.

use std::ffi::CStr;

use rustix::fs::FileType;

use super::super::listing::Listing;
use crate::entry::Mode;
use crate::manifest::Item;

/// Fills a listing with the names that what the base has on disk makes up, and of what kind each is:
/// of all that is below one directory, whose path with the `/` after it is so long.
pub(super) fn fill(listing: &mut Listing, below: &[Item], skip: usize) {
    listing.clear();
    for (name, kind) in names(below, skip).flatten() {
        listing.push_name(name, kind);
    }
}

/// Whether a directory has exactly these names, each of the kind that it should be.
pub(super) fn are_in(listing: &Listing, below: &[Item], skip: usize) -> bool {
    let mut expected = Vec::new();
    for one in names(below, skip) {
        match one {
            // fewer than there are will do to say no
            Some(one) if expected.len() < listing.len() => expected.push(one),
            Some(_) | None => return false,
        }
    }
    if expected.len() != listing.len() {
        return false;
    }
    let mut found: Vec<_> = listing
        .entries()
        .map(|(name, kind)| (CStr::to_bytes(name), kind))
        .collect();
    found.sort_unstable_by_key(|(name, _)| *name);
    expected.sort_unstable_by_key(|(name, _)| *name);
    found == expected
}

/// Each name, once; none for what is not to be known by its name (a submodule, a directory that the
/// base has nothing in).
fn names(below: &[Item], skip: usize) -> impl Iterator<Item = Option<(&[u8], FileType)>> {
    let mut before: Option<&[u8]> = None;
    let there = below
        .iter()
        .filter_map(|item| Some((item, item.base.and(item.disk)?)));
    there.filter_map(move |(item, disk)| {
        let rest: &[u8] = &item.path.as_bstr()[skip..];
        let (name, kind) = match rest.iter().position(|byte| *byte == b'/') {
            Some(end) => (&rest[..end], Some(FileType::Directory)),
            None => (rest, kind_of(disk.entry.mode)),
        };
        // what is below one directory stands together
        if before == Some(name) {
            return None;
        }
        before = Some(name);
        Some(kind.map(|kind| (name, kind)))
    })
}

const fn kind_of(mode: Mode) -> Option<FileType> {
    match mode {
        Mode::File | Mode::Executable => Some(FileType::RegularFile),
        Mode::Link => Some(FileType::Symlink),
        Mode::Gitlink | Mode::EmptyDirectory | Mode::NestedGit | Mode::Special => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::entry::{Entry, ObjectId};
    use crate::manifest::{OnDisk, Stat};
    use crate::path::RepoPath;

    fn item(path: &str, mode: Mode, is_base: bool, is_there: bool) -> Item {
        let entry = Entry {
            mode,
            id: ObjectId::none(),
        };
        let stat = Stat::default();
        Item {
            path: RepoPath::parse(path).expect("it is a path"),
            base: is_base.then_some(entry),
            disk: is_there.then_some(OnDisk { entry, stat }),
        }
    }

    fn below() -> Vec<Item> {
        vec![
            item("d/a", Mode::File, true, true),
            item("d/b/x", Mode::File, true, true),
            item("d/b/y", Mode::Executable, true, true),
            item("d/c/excluded", Mode::File, true, false),
            item("d/new", Mode::File, false, true),
            item("d/z", Mode::Link, true, true),
        ]
    }

    fn listing(names: &[(&str, FileType)]) -> Listing {
        let mut listing = Listing::default();
        for (name, kind) in names {
            listing.push_name(name.as_bytes(), *kind);
        }
        listing
    }

    #[test]
    fn what_the_base_has_on_disk_makes_up_the_names() {
        let mut filled = listing(&[("before", FileType::Fifo)]);
        fill(&mut filled, &below(), 2);
        let names: Vec<_> = filled
            .entries()
            .map(|(name, kind)| (name.to_str().expect("UTF-8").to_owned(), kind))
            .collect();
        let expected = [
            ("a", FileType::RegularFile),
            ("b", FileType::Directory),
            ("z", FileType::Symlink),
        ];
        assert_eq!(names, expected.map(|(name, kind)| (name.to_owned(), kind)));
        assert!(are_in(&filled, &below(), 2));
    }

    #[test]
    fn one_more_or_fewer_or_of_another_kind_is_told() {
        use FileType::{Directory, RegularFile, Symlink, Unknown};
        for names in [
            &[("a", RegularFile), ("b", Directory)][..],
            &[
                ("a", RegularFile),
                ("b", Directory),
                ("z", Symlink),
                ("new", RegularFile),
            ],
            &[
                ("a", RegularFile),
                ("b", Directory),
                ("c", Directory),
                ("z", Symlink),
            ],
            &[("a", Symlink), ("b", Directory), ("z", Symlink)],
            &[("a", Unknown), ("b", Directory), ("z", Symlink)],
            &[("A", RegularFile), ("b", Directory), ("z", Symlink)],
            &[],
        ] {
            assert!(!are_in(&listing(names), &below(), 2), "{names:?}");
        }
        let any_order = [("z", Symlink), ("b", Directory), ("a", RegularFile)];
        assert!(are_in(&listing(&any_order), &below(), 2));
        let submodule = [
            below(),
            vec![item("d/zz", Mode::EmptyDirectory, true, true)],
        ]
        .concat();
        let all = [
            ("a", RegularFile),
            ("b", Directory),
            ("z", Symlink),
            ("zz", Directory),
        ];
        assert!(!are_in(&listing(&all), &submodule, 2));
    }
}
