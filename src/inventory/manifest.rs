//! Holds [`Manifest`]: what the base has and what was on disk when a worktree was made.
//!
//! A later walk of the disk is held against it: an entry whose stat data are the same is the
//! same, everything else is read again. It also lists what the base has at paths that are absent
//! from the disk, so that an index or a tree can be compared with the base without reading it.
//!
//! Stat data can be trusted up to [`Manifest::settled`]: a file changed after the manifest was
//! made has a ctime of at least that, whatever was done to its mtime. This only holds for the
//! change time, which no call can set (inode(7)); an entry whose recorded ctime is not older
//! than `settled` is read again every time.

pub mod codec;

use crate::words::entry::{Entry, Mode};
use crate::words::path::RepoPath;

/// The stat data that prove a file unchanged (stat(2)).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Stat {
    /// Size in bytes.
    pub size: u64,
    /// Modification time, nanoseconds since the epoch.
    pub mtime: i64,
    /// Change time, nanoseconds since the epoch.
    pub ctime: i64,
    /// Inode number.
    pub inode: u64,
    /// File type and permission bits.
    pub mode: u32,
}

impl Stat {
    /// True if this is a regular file.
    pub const fn is_file(&self) -> bool {
        self.mode & 0o170_000 == 0o100_000
    }

    /// True if this is a directory.
    pub const fn is_directory(&self) -> bool {
        self.mode & 0o170_000 == 0o040_000
    }

    /// Returns the permission bits.
    pub const fn permissions(&self) -> u32 {
        self.mode & 0o7777
    }

    /// Returns the mode that git gives a regular file with these permissions.
    pub const fn file_mode(&self) -> Mode {
        if self.mode & 0o100 == 0 {
            Mode::File
        } else {
            Mode::Executable
        }
    }
}

/// What an index remembers of a file's stat data (gitformat-index(5)): enough to see that it
/// was not replaced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexStat {
    /// Change time, nanoseconds since the epoch, as far as 32 bits of seconds tell.
    pub ctime: i64,
    /// Modification time, likewise.
    pub mtime: i64,
    /// The lower 32 bits of the inode number.
    pub inode: u32,
    /// The lower 32 bits of the size.
    pub size: u32,
}

impl IndexStat {
    /// True if the index was written when the file had these stat data.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the index has no more than 32 bits of them"
    )]
    pub const fn is_of(&self, stat: &Stat) -> bool {
        self.mtime == stat.mtime
            && self.ctime == stat.ctime
            && self.size == stat.size as u32
            && self.inode == stat.inode as u32
    }
}

/// What was on disk at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OnDisk {
    /// Its kind and the id of its raw bytes, before any filter.
    pub entry: Entry,
    /// Its stat data.
    pub stat: Stat,
}

/// One path: what the base has there, and what was on disk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The path.
    pub path: RepoPath,
    /// What the tree that was checked out has there (that of the base, or of the branch that was
    /// there); none for an untracked file.
    pub base: Option<Entry>,
    /// What was on disk there; none when it was absent.
    pub disk: Option<OnDisk>,
}

/// Every path of the base and of the disk at `add`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    items: Vec<Item>,
    settled: i64,
}

impl Manifest {
    /// Takes the items in any order; two of one path are not allowed.
    pub fn new(mut items: Vec<Item>, settled: i64) -> Self {
        items.sort_unstable_by(|a, b| a.path.cmp(&b.path));
        debug_assert!(
            items.windows(2).all(|w| w[0].path < w[1].path),
            "a path stands once"
        );
        Self { items, settled }
    }

    /// Creates a manifest of a tree that says nothing of the disk.
    pub fn of_tree(entries: impl IntoIterator<Item = (RepoPath, Entry)>) -> Self {
        let mut items = Vec::new();
        for (path, entry) in entries {
            items.push(Item {
                path,
                base: Some(entry),
                disk: None,
            });
        }
        Self::new(items, i64::MIN)
    }

    /// Returns all items, sorted by path.
    pub fn items(&self) -> &[Item] {
        &self.items
    }

    /// Returns all items, to make another manifest of.
    pub fn into_items(self) -> Vec<Item> {
        self.items
    }

    /// Returns the file system's time at which everything recorded here was already there, in
    /// nanoseconds since the epoch.
    pub const fn settled(&self) -> i64 {
        self.settled
    }

    /// Returns the item of a path.
    pub fn get(&self, path: &RepoPath) -> Option<&Item> {
        let at = self.position(path.as_bstr()).ok()?;
        Some(&self.items[at])
    }

    /// Returns what the base has at a path.
    pub fn base(&self, path: &RepoPath) -> Option<Entry> {
        self.get(path)?.base
    }

    /// Returns the range of the items below a directory, or of all for the root.
    pub fn below(&self, directory: Option<&RepoPath>) -> std::ops::Range<usize> {
        let Some(directory) = directory else {
            return 0..self.items.len();
        };
        let first = RepoPath::child(Some(directory), b"");
        let start = self.items.partition_point(|item| item.path < first);
        let rest = &self.items[start..];
        let count = rest.partition_point(|item| item.path.is_below(directory.as_bstr()));
        start..start + count
    }

    /// True if the base or the recorded disk has anything below this path.
    pub fn has_directory(&self, path: &RepoPath) -> bool {
        !self.below(Some(path)).is_empty()
    }

    /// Returns the same manifest, whose stat data prove nothing.
    pub fn unproven(mut self) -> Self {
        self.settled = i64::MIN;
        self
    }

    /// True if these stat data prove that a file is what was recorded.
    pub fn proves(&self, recorded: &Stat, now: &Stat) -> bool {
        recorded == now && recorded.ctime < self.settled
    }

    /// Returns the position of a path.
    ///
    /// # Errors
    /// Returns the position at which the path would have to be inserted.
    pub fn position(&self, path: &bstr::BStr) -> Result<usize, usize> {
        self.items
            .binary_search_by(|item| item.path.as_bstr().cmp(path))
    }
}
