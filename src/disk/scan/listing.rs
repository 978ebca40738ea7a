//! Lists the names in an open directory, in one piece of memory that is used again; and knows which
//! names a directory has by what the base has there.

use std::ffi::CStr;
use std::os::fd::OwnedFd;

use bstr::ByteSlice as _;
use rustix::fs::FileType;
use rustix::io::Errno;

use crate::inventory::manifest::Item;
use crate::words::entry::Mode;

/// How much of a directory the system hands over at once.
#[cfg(any(target_os = "linux", target_os = "android"))]
const AT_ONCE: usize = 32 * 1024;

/// The names of one directory after another.
#[derive(Debug, Default)]
pub(super) struct DirectoryListing {
    names: Vec<u8>,
    entries: Vec<ListedName>,
    #[cfg(any(target_os = "linux", target_os = "android"))]
    buffer: Vec<u8>,
}

/// One name of a directory.
#[derive(Clone, Copy, Debug)]
struct ListedName {
    /// Where it begins among the names; it ends with NUL.
    start: usize,
    kind: FileType,
}

impl DirectoryListing {
    /// Reads a directory from its beginning, without `.` and `..`; forgets the one before it.
    pub fn read(&mut self, directory: &OwnedFd) -> Result<(), Errno> {
        self.clear();
        self.read_names(directory)
    }

    /// Lists the names that a directory has by what the base has below it. In the paths of these
    /// items the names begin at `name_start`.
    pub fn fill(&mut self, items: &[Item], name_start: usize) {
        self.clear();
        for (name, kind) in names(items, name_start).flatten() {
            self.push_name(name, kind);
        }
    }

    /// True if the listed names are exactly those of the base, each of the kind that it should be.
    /// The items are as for [`DirectoryListing::fill`].
    pub fn is_of(&self, items: &[Item], name_start: usize) -> bool {
        let mut expected = Vec::new();
        for name in names(items, name_start) {
            match name {
                // fewer than there are will do to say no
                Some(name) if expected.len() < self.entries.len() => expected.push(name),
                Some(_) | None => return false,
            }
        }
        if expected.len() != self.entries.len() {
            return false;
        }
        let mut listed = Vec::with_capacity(self.entries.len());
        for (name, kind) in self.entries() {
            listed.push((name.to_bytes(), kind));
        }
        listed.sort_unstable_by_key(|(name, _)| *name);
        expected.sort_unstable_by_key(|(name, _)| *name);
        listed == expected
    }

    fn clear(&mut self) {
        self.names.clear();
        self.entries.clear();
    }

    /// Adds a name without NUL.
    fn push_name(&mut self, name: &[u8], kind: FileType) {
        self.entries.push(ListedName {
            start: self.names.len(),
            kind,
        });
        self.names.extend_from_slice(name);
        self.names.push(0);
    }

    #[cfg(any(target_os = "linux", target_os = "android"))]
    fn read_names(&mut self, directory: &OwnedFd) -> Result<(), Errno> {
        let mut buffer = std::mem::take(&mut self.buffer);
        buffer.clear();
        buffer.reserve(AT_ONCE);
        let mut entries = rustix::fs::RawDir::new(directory, buffer.spare_capacity_mut());
        let mut result = Ok(());
        while let Some(entry) = entries.next() {
            match entry {
                Ok(entry) => self.push(entry.file_name(), entry.file_type()),
                Err(error) => {
                    result = Err(error);
                    break;
                }
            }
        }
        self.buffer = buffer;
        result
    }

    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    fn read_names(&mut self, directory: &OwnedFd) -> Result<(), Errno> {
        for entry in rustix::fs::Dir::read_from(directory)? {
            let entry = entry?;
            self.push(entry.file_name(), entry.file_type());
        }
        Ok(())
    }

    fn push(&mut self, name: &CStr, kind: FileType) {
        if name != c"." && name != c".." {
            self.push_name(name.to_bytes(), kind);
        }
    }

    /// True if there is nothing in it.
    pub const fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns each name, and of what kind the directory says that it is: [`FileType::Unknown`]
    /// where the file system does not say.
    pub fn entries(&self) -> impl Iterator<Item = (&CStr, FileType)> {
        self.entries.iter().map(|listed| {
            let name = CStr::from_bytes_until_nul(&self.names[listed.start..]);
            (name.expect("because each ends with NUL"), listed.kind)
        })
    }

    /// True if it has a name.
    pub fn has(&self, name: &CStr) -> bool {
        let wanted = name.to_bytes_with_nul();
        for listed in &self.entries {
            let rest = &self.names[listed.start..];
            // most names differ in the first byte
            if rest.first() == wanted.first() && rest.starts_with(wanted) {
                return true;
            }
        }
        false
    }
}

/// Returns each name of a directory with its kind, once, by what the base has below the directory;
/// none for what has no kind of its own (a submodule, a directory that the base has nothing in).
fn names(items: &[Item], name_start: usize) -> impl Iterator<Item = Option<(&[u8], FileType)>> {
    let mut previous: Option<&[u8]> = None;
    items.iter().filter_map(move |item| {
        let mode = item.base.and(item.disk)?.entry.mode;
        let rest: &[u8] = &item.path.as_bstr()[name_start..];
        let (name, kind) = match rest.find_byte(b'/') {
            Some(end) => (&rest[..end], Some(FileType::Directory)),
            None => (rest, kind_of(mode)),
        };
        // what is below one directory stands together
        if previous == Some(name) {
            return None;
        }
        previous = Some(name);
        Some(kind.map(|kind| (name, kind)))
    })
}

/// The kind of file that stands for an entry of the base, where that is certain.
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
    use crate::inventory::manifest::{OnDisk, Stat};
    use crate::words::entry::{Entry, ObjectId};
    use crate::words::path::RepoPath;

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

    fn listing(names: &[(&str, FileType)]) -> DirectoryListing {
        let mut listing = DirectoryListing::default();
        for (name, kind) in names {
            listing.push_name(name.as_bytes(), *kind);
        }
        listing
    }

    #[test]
    fn what_the_base_has_on_disk_makes_up_the_names() {
        let mut filled = listing(&[("before", FileType::Fifo)]);
        filled.fill(&below(), 2);
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
        assert!(filled.is_of(&below(), 2));
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
            assert!(!listing(names).is_of(&below(), 2), "{names:?}");
        }
        let any_order = [("z", Symlink), ("b", Directory), ("a", RegularFile)];
        assert!(listing(&any_order).is_of(&below(), 2));
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
        assert!(!listing(&all).is_of(&submodule, 2));
    }
}
