//! Finds the files that an index knows to be as they were stored, with their stat data.
#![expect(
    clippy::disallowed_methods,
    reason = "git's own file is read past git, with the time at which it was written"
)]

use std::fs::File;
use std::io::Read;

use bstr::BStr;
use camino::Utf8Path;
use gix::index::entry::Flags;

use super::{RawIndex, mode_of, open};
use crate::entry::{Entry, ObjectId};
use crate::git::error::GitError;
use crate::git::objects::ObjectFormat;

/// Holds what the index says of a file that was its blob when git last looked, and which no one can
/// have changed since without changing one of these (gitformat-index(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Looked<'a> {
    /// Its path.
    pub path: &'a BStr,
    /// What it named.
    pub entry: Entry,
    /// Its size.
    pub size: u32,
    /// Modification time, seconds and nanoseconds.
    pub modified: (u32, u32),
    /// Change time, seconds and nanoseconds.
    pub changed: (u32, u32),
    /// Inode number.
    pub inode: u32,
}

impl Looked<'_> {
    /// Whether nobody can have changed the file since the index was written in this second without
    /// another time (git's own rule, "racy git"); times without nanoseconds do not tell.
    const fn is_proof(&self, written: u32) -> bool {
        let is_old = self.modified.0 < written && self.changed.0 < written;
        is_old && self.modified.1 != 0 && self.changed.1 != 0
    }
}

/// Hands over the files of an index that were unchanged when it was written, sorted by path, with
/// their stat data to the nanosecond. Left out is what was changed in the second in which the index
/// was written, or later, and what has no nanoseconds. A missing index has none.
///
/// # Errors
/// Fails as [`super::read_index`] does.
pub fn looked<T>(
    file: &Utf8Path,
    format: ObjectFormat,
    take: impl FnOnce(&[Looked<'_>]) -> T,
) -> Result<T, GitError> {
    if let Some((index, written)) = raw(file, format)
        && let Some(found) = in_raw(&index, format, written)
    {
        return Ok(take(&found));
    }
    let index = open(file, format)?;
    if index.is_sparse() {
        return Ok(take(&[]));
    }
    let written = u32::try_from(index.timestamp().unix_seconds()).unwrap_or(0);
    let one = |entry: &gix::index::Entry| {
        let plain = entry.flags.difference(Flags::PATH_LEN).is_empty();
        let mode = mode_of(entry.mode).filter(|mode| mode.is_regular())?;
        let id = ObjectId::from_bytes(entry.id.as_bytes())?;
        let (stat, entry_of) = (entry.stat, Entry { mode, id });
        let looked = Looked {
            path: entry.path(&index),
            entry: entry_of,
            size: stat.size,
            modified: (stat.mtime.secs, stat.mtime.nsecs),
            changed: (stat.ctime.secs, stat.ctime.nsecs),
            inode: stat.ino,
        };
        (plain && looked.is_proof(written)).then_some(looked)
    };
    let found: Vec<Looked<'_>> = index.entries().iter().filter_map(one).collect();
    Ok(take(&found))
}

/// The index as it stands, and the second in which it was written; none where it is not plain.
fn raw(file: &Utf8Path, format: ObjectFormat) -> Option<(RawIndex, u32)> {
    let mut open = File::open(file).ok()?;
    let written = open.metadata().ok()?.modified().ok()?;
    let written = written
        .duration_since(std::time::UNIX_EPOCH)
        .ok()?
        .as_secs();
    let mut bytes = Vec::new();
    open.read_to_end(&mut bytes).ok()?;
    let index = RawIndex::new(bytes, format.length()).ok()?;
    let whole = index.is_whole(format);
    whole.then(|| Some((index, u32::try_from(written).ok()?)))?
}

fn in_raw(index: &RawIndex, format: ObjectFormat, written: u32) -> Option<Vec<Looked<'_>>> {
    let mut found = Vec::with_capacity(index.len());
    let split = |time: i64| {
        let (seconds, rest) = (time.div_euclid(SECOND), time.rem_euclid(SECOND));
        Some((u32::try_from(seconds).ok()?, u32::try_from(rest).ok()?))
    };
    let bytes = index.bytes();
    let mut is_read = true;
    let extensions = index.each(|entry| {
        // after the stat data and the id; whatever is set there but the length of the name
        let flags = bytes.get(entry.at + STAT + format.length()..);
        let is_plain = flags.is_some_and(|flags| flags[0] & 0xf0 == 0);
        let (Some(modified), Some(changed)) = (split(entry.stat.mtime), split(entry.stat.ctime))
        else {
            is_read = false;
            return;
        };
        let looked = Looked {
            path: entry.path,
            entry: entry.entry,
            size: entry.stat.size,
            modified,
            changed,
            inode: entry.stat.inode,
        };
        if is_plain && entry.entry.mode.is_regular() && looked.is_proof(written) {
            found.push(looked);
        }
    });
    (extensions.is_ok() && is_read).then_some(found)
}

/// Nanoseconds.
const SECOND: i64 = 1_000_000_000;

/// How many bytes of stat data stand before the id of an entry.
const STAT: usize = 40;
