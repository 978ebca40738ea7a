//! Renders a new index as git would write it (gitformat-index(5)): version 2, or 3 where an entry
//! has the skip-worktree flag, with the cache tree of a tree that was just checked out.

use super::error::GitError;
use super::error::unreadable;
use super::index::checksum_of;
use super::listing::CachedTree;
use super::objects::Objects;
use crate::entry::{Entry, Mode};
use crate::manifest::Stat;
use crate::path::RepoPath;

/// Holds the stat data of an entry; the owner and the device are what only the index has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IndexStat {
    /// What a manifest has too.
    pub stat: Stat,
    /// The device.
    pub device: u64,
    /// The owner.
    pub uid: u32,
    /// The group.
    pub gid: u32,
}

/// Holds an entry of the index that is to be written.
#[derive(Clone, Copy, Debug)]
pub struct NewEntry<'a> {
    /// Its path.
    pub path: &'a RepoPath,
    /// What the tree has there.
    pub entry: Entry,
    /// What stands on disk; none where nothing does on purpose (the skip-worktree flag).
    pub disk: Option<IndexStat>,
}

const EXTENDED: u16 = 0x4000;
const SKIP_WORKTREE: u16 = 0x4000;
const LONGEST_NAME: usize = 0xfff;

impl Objects {
    /// Renders the index of a tree of which these are all the entries, sorted by path.
    ///
    /// # Errors
    /// Fails when the tree has not as many entries.
    pub fn new_index<'a>(
        &self,
        trees: &CachedTree,
        entries: impl Iterator<Item = NewEntry<'a>> + Clone,
    ) -> Result<Vec<u8>, GitError> {
        let failed = |detail: &dyn std::fmt::Display| unreadable(&"the trees of HEAD", detail);
        let count = u32::try_from(trees.count()).map_err(|error| failed(&error))?;
        let mut bytes = Vec::with_capacity(trees.count() * 112 + 4096);
        let version: u32 = if entries.clone().any(|entry| entry.disk.is_none()) {
            3
        } else {
            2
        };
        bytes.extend_from_slice(b"DIRC");
        bytes.extend_from_slice(&version.to_be_bytes());
        bytes.extend_from_slice(&count.to_be_bytes());
        let mut pushed = 0;
        for entry in entries {
            push_entry(&mut bytes, &entry);
            pushed += 1;
        }
        if pushed != trees.count() {
            return Err(failed(&"they have other entries"));
        }
        let mut extension = Vec::new();
        trees.push(&mut extension);
        bytes.extend_from_slice(b"TREE");
        let length = u32::try_from(extension.len()).map_err(|error| failed(&error))?;
        bytes.extend_from_slice(&length.to_be_bytes());
        bytes.extend_from_slice(&extension);
        let checksum = checksum_of([&*bytes], self.format);
        bytes.extend(checksum.ok_or_else(|| failed(&"their index has no checksum"))?);
        Ok(bytes)
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the format has 32 bits of each number (gitformat-index(5))"
)]
fn push_entry(bytes: &mut Vec<u8>, entry: &NewEntry<'_>) {
    let start = bytes.len();
    let mut number = |number: u32| bytes.extend_from_slice(&number.to_be_bytes());
    let disk = entry.disk.unwrap_or_default();
    for time in [disk.stat.ctime, disk.stat.mtime] {
        number(time.div_euclid(1_000_000_000) as u32);
        number(time.rem_euclid(1_000_000_000) as u32);
    }
    number(disk.device as u32);
    number(disk.stat.inode as u32);
    number(mode_of(entry.entry.mode));
    number(disk.uid);
    number(disk.gid);
    number(size_of(disk.stat.size));
    bytes.extend_from_slice(entry.entry.id.as_bytes());
    let path: &[u8] = entry.path.as_bstr();
    let length = path.len().min(LONGEST_NAME) as u16;
    match entry.disk {
        Some(_) => bytes.extend_from_slice(&length.to_be_bytes()),
        None => {
            bytes.extend_from_slice(&(length | EXTENDED).to_be_bytes());
            bytes.extend_from_slice(&SKIP_WORKTREE.to_be_bytes());
        }
    }
    bytes.extend_from_slice(path);
    // one to eight NUL end the entry at a multiple of eight
    let length = bytes.len() - start;
    bytes.resize(start + (length + 8) / 8 * 8, 0);
}

const fn mode_of(mode: Mode) -> u32 {
    match mode {
        Mode::File => 0o100_644,
        Mode::Executable => 0o100_755,
        Mode::Link => 0o120_000,
        Mode::Gitlink => 0o160_000,
        Mode::EmptyDirectory | Mode::NestedGit | Mode::Special => 0,
    }
}

/// Git takes a size of zero for "look again", so that a multiple of 2^32 needs another number.
#[expect(clippy::cast_possible_truncation, reason = "as git cuts it")]
const fn size_of(size: u64) -> u32 {
    if size != 0 && size as u32 == 0 {
        0x8000_0000
    } else {
        size as u32
    }
}
