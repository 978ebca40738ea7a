//! Reads the entries of an index file one after another, where they stand (gitformat-index(5)).
//!
//! Nothing is kept of what was read but the bytes. What is not plain is left to `gix`: version 4,
//! a split index, whole directories as one entry, an extension that must be understood. The
//! checksum is looked at by itself ([`RawIndex::is_whole`]): git does not look at it when it reads.

use std::cmp::Ordering;

use bstr::{BStr, ByteSlice};
use sha1::Digest;

use super::super::objects::ObjectFormat;
use super::Stage;
use crate::entry::{Entry, Mode, ObjectId};
use crate::manifest::IndexStat;
use crate::path::RepoPath;

const HEADER: usize = 12;
/// What stands before the id of each entry.
const STAT: usize = 40;

/// Holds one entry of an index, where it stands.
#[derive(Clone, Copy, Debug)]
pub struct RawEntry<'a> {
    /// Where its stat data begin in the file; 0 where it was not read as it stands.
    pub at: usize,
    /// Its path; not looked at yet (see [`RawEntry::repo_path`]).
    pub path: &'a BStr,
    /// What it names.
    pub entry: Entry,
    /// Its side of a conflict.
    pub stage: Stage,
    /// Whether git takes it as absent from the disk on purpose.
    pub skip_worktree: bool,
    /// Whether git was told to take it as unchanged.
    pub assume_unchanged: bool,
    /// What git saw on disk.
    pub stat: IndexStat,
}

impl RawEntry<'_> {
    /// Its path, if it is one.
    pub fn repo_path(&self) -> Option<RepoPath> {
        RepoPath::parse(self.path).ok()
    }
}

/// Says why the entries were not read to the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NotRaw {
    /// It is no index that is plain enough: `gix` knows.
    Special,
    /// It is damaged.
    Damaged,
}

/// Represents an index file whose entries can be read where they stand.
pub struct RawIndex {
    bytes: Vec<u8>,
    version: u32,
    count: u32,
    /// The length of an id.
    hash: usize,
}

impl RawIndex {
    /// Takes the bytes of an index with ids of so many bytes.
    ///
    /// # Errors
    /// Fails when it is not plain.
    pub fn new(bytes: Vec<u8>, hash: usize) -> Result<Self, NotRaw> {
        if bytes.get(..4) != Some(b"DIRC") || bytes.len() < HEADER + hash {
            return Err(NotRaw::Special);
        }
        let (version, count) = (number(&bytes[4..]), number(&bytes[8..]));
        if !(2..=3).contains(&version) {
            return Err(NotRaw::Special);
        }
        Ok(Self {
            bytes,
            version,
            count,
            hash,
        })
    }

    /// How many entries it says that it has, as far as there is room for them.
    pub fn len(&self) -> usize {
        let room = self.bytes.len() / (STAT + self.hash);
        usize::try_from(self.count).map_or(room, |count| count.min(room))
    }

    /// Whether it says that it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Whether its checksum is that of its bytes. One of zeros says that there is none
    /// (`index.skipHash`, git-config(1)).
    pub fn is_whole(&self, format: ObjectFormat) -> bool {
        is_whole(&self.bytes, format)
    }

    /// What stands before the checksum.
    pub fn content(&self) -> &[u8] {
        &self.bytes[..self.bytes.len() - self.hash]
    }

    /// What has to stand where for these entries (by [`RawEntry::at`], in order) to have these change
    /// times (nanoseconds since the epoch), with the checksum: zeros where the index says that there is
    /// none (`index.skipHash`, git-config(1)). None where that cannot be.
    pub fn with_ctimes(
        &self,
        ctimes: &[(usize, i64)],
        format: ObjectFormat,
    ) -> Option<Vec<(usize, Vec<u8>)>> {
        let mut patches = Vec::with_capacity(ctimes.len() + 1);
        for (at, ctime) in ctimes {
            let (seconds, rest) = (ctime.div_euclid(SECOND), ctime.rem_euclid(SECOND));
            // as git does, of the seconds only 32 bits are kept
            let seconds = u32::try_from(seconds & i64::from(u32::MAX)).ok()?;
            let rest = u32::try_from(rest).ok()?;
            let both = [seconds.to_be_bytes(), rest.to_be_bytes()];
            patches.push((*at, both.concat()));
        }
        let end = self.bytes.len() - self.hash;
        let noted = &self.bytes[end..];
        let checksum = if is_none(noted) {
            noted.to_vec()
        } else {
            let mut pieces = Vec::with_capacity(2 * patches.len() + 1);
            let mut done = 0;
            for (at, bytes) in &patches {
                pieces.extend([self.bytes.get(done..*at)?, bytes]);
                done = at + bytes.len();
            }
            pieces.push(self.bytes.get(done..end)?);
            checksum_of(pieces, format)?
        };
        patches.push((end, checksum));
        Some(patches)
    }

    /// Hands over each entry. They come in order of path and stage. Returns the extensions that
    /// follow.
    ///
    /// # Errors
    /// Fails at the first thing that is not plain: what was handed over until then means nothing.
    pub fn each<'a>(&'a self, mut take: impl FnMut(RawEntry<'a>)) -> Result<&'a [u8], NotRaw> {
        let end = self.bytes.len() - self.hash;
        let mut rest = &self.bytes[HEADER..end];
        let fixed = STAT + self.hash + 2;
        let mut before: (&[u8], u8) = (b"", 0);
        for _ in 0..self.count {
            let head = rest.get(..fixed).ok_or(NotRaw::Damaged)?;
            let seen = rest.first_chunk::<STAT>().ok_or(NotRaw::Damaged)?;
            let flags = u16::from_be_bytes([head[fixed - 2], head[fixed - 1]]);
            let second = if flags & EXTENDED == 0 {
                None
            } else {
                let second = rest.get(fixed..fixed + 2).filter(|_| self.version > 2);
                Some(second.ok_or(NotRaw::Damaged)?)
            };
            let start = fixed + second.map_or(0, <[u8]>::len);
            let path = name_in(&rest[start..], flags).ok_or(NotRaw::Damaged)?;
            let (stage, number_of_stage) = stage_of(flags);
            let is_after = match path.cmp(before.0) {
                Ordering::Greater => true,
                Ordering::Equal => before.1 < number_of_stage,
                Ordering::Less => false,
            };
            if path.is_empty() || !is_after {
                return Err(NotRaw::Damaged);
            }
            before = (path, number_of_stage);
            let id = ObjectId::from_bytes(&head[STAT..fixed - 2]).ok_or(NotRaw::Damaged)?;
            let mode = mode_of(number(&seen[24..28]))?;
            take(RawEntry {
                at: end - rest.len(),
                path: path.as_bstr(),
                entry: Entry { mode, id },
                stage,
                skip_worktree: second.is_some_and(|second| second[0] & SKIP_WORKTREE != 0),
                assume_unchanged: flags & ASSUME_VALID != 0,
                stat: stat_of(seen),
            });
            // one to eight NUL bytes, up to a multiple of eight
            let used = (start + path.len() + 8) & !7;
            rest = rest.get(used..).ok_or(NotRaw::Damaged)?;
        }
        only_optional(rest)?;
        Ok(rest)
    }
}

/// As [`RawIndex::is_whole`], of the bytes of any index.
pub(super) fn is_whole(bytes: &[u8], format: ObjectFormat) -> bool {
    let end = bytes.len().checked_sub(format.length());
    let parts = end.and_then(|end| bytes.split_at_checked(end));
    parts.is_some_and(|(content, checksum)| {
        is_none(checksum) || checksum_of([content], format).is_some_and(|sum| sum == checksum)
    })
}

/// Nanoseconds.
const SECOND: i64 = 1_000_000_000;

fn is_none(checksum: &[u8]) -> bool {
    checksum.iter().all(|byte| *byte == 0)
}

/// It guards against damage, not against forgery: no search for collisions is needed, which takes
/// ten times as long.
pub(in crate::git) fn checksum_of<'a>(
    content: impl IntoIterator<Item = &'a [u8]>,
    format: ObjectFormat,
) -> Option<Vec<u8>> {
    match format {
        ObjectFormat::Sha1 => {
            let mut hasher = sha1::Sha1::new();
            content.into_iter().for_each(|piece| hasher.update(piece));
            Some(hasher.finalize().to_vec())
        }
        ObjectFormat::Sha256 => {
            let mut hasher = gix::hash::hasher(format.kind());
            content.into_iter().for_each(|piece| hasher.update(piece));
            let id = hasher.try_finalize().ok()?;
            Some(id.as_bytes().to_vec())
        }
    }
}

const EXTENDED: u16 = 0x4000;
const ASSUME_VALID: u16 = 0x8000;
/// In the upper byte of the second flags.
const SKIP_WORKTREE: u8 = 0x40;

#[inline]
fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}

#[inline]
fn stat_of(head: &[u8; STAT]) -> IndexStat {
    let time =
        |seconds: &[u8], rest: &[u8]| i64::from(number(seconds)) * SECOND + i64::from(number(rest));
    IndexStat {
        ctime: time(&head[..4], &head[4..8]),
        mtime: time(&head[8..12], &head[12..16]),
        inode: number(&head[20..24]),
        size: number(&head[36..40]),
    }
}

/// The name at the front: its length stands in the flags, unless it is too long for them.
fn name_in(bytes: &[u8], flags: u16) -> Option<&[u8]> {
    let told = usize::from(flags & 0xfff);
    let length = if told < 0xfff {
        told
    } else {
        bytes.find_byte(0)?
    };
    let (name, rest) = bytes.split_at_checked(length)?;
    // git ends each with NUL, which no name has in it
    let whole = rest.first() == Some(&0) && name.find_byte(0).is_none();
    whole.then_some(name)
}

fn stage_of(flags: u16) -> (Stage, u8) {
    match (flags >> 12) & 3 {
        0 => (Stage::Normal, 0),
        1 => (Stage::Ancestor, 1),
        2 => (Stage::Ours, 2),
        _three => (Stage::Theirs, 3),
    }
}

pub(super) fn mode_of(bits: u32) -> Result<Mode, NotRaw> {
    match bits {
        0o100_644 => Ok(Mode::File),
        0o100_755 => Ok(Mode::Executable),
        0o120_000 => Ok(Mode::Link),
        0o160_000 => Ok(Mode::Gitlink),
        // a whole directory of a sparse index, or an old spelling
        _other => Err(NotRaw::Special),
    }
}

/// Extensions whose names begin with a capital letter may be passed over.
fn only_optional(mut rest: &[u8]) -> Result<(), NotRaw> {
    while !rest.is_empty() {
        let head = rest.get(..8).ok_or(NotRaw::Damaged)?;
        if !head[0].is_ascii_uppercase() {
            return Err(NotRaw::Special);
        }
        let length = usize::try_from(number(&head[4..])).map_err(|_| NotRaw::Damaged)?;
        let after = length.checked_add(8).and_then(|used| rest.get(used..));
        rest = after.ok_or(NotRaw::Damaged)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An index with these names, each with its stage.
    fn index(names: &[(&str, u16)]) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0\x02\0\0\0".to_vec();
        bytes.push(u8::try_from(names.len()).expect("a few"));
        for (name, stage) in names {
            let begin = bytes.len();
            bytes.extend([0; 24]);
            bytes.extend(0o100_644_u32.to_be_bytes());
            bytes.extend([0; 12]);
            bytes.extend([7; 20]);
            let length = u16::try_from(name.len()).expect("it is short").min(0xfff);
            bytes.extend((stage << 12 | length).to_be_bytes());
            bytes.extend(name.as_bytes());
            let used = bytes.len() - begin;
            bytes.resize(begin + ((used + 8) & !7), 0);
        }
        bytes.extend(b"TREE\0\0\0\x03abc");
        bytes.extend([0; 20]);
        bytes
    }

    fn names(bytes: Vec<u8>) -> Result<Vec<String>, NotRaw> {
        let mut names = Vec::new();
        let index = RawIndex::new(bytes, 20)?;
        index.each(|entry| names.push(entry.path.to_string()))?;
        Ok(names)
    }

    #[test]
    fn entries_come_as_they_stand() {
        let long = "d/".repeat(2500) + "f";
        let all = [("a", 0), ("a.b", 1), ("a.b", 3), ("a/b", 0), (&*long, 0)];
        let expected = ["a", "a.b", "a.b", "a/b", &long];
        assert_eq!(names(index(&all)).expect("it is plain"), expected);
        assert_eq!(names(index(&[])), Ok(Vec::new()));
    }

    #[test]
    fn what_is_out_of_order_cut_or_not_plain_is_refused() {
        for names_of in [
            &[("b", 0), ("a", 0)][..],
            &[("a", 0), ("a", 0)],
            &[("a", 2), ("a", 1)],
            &[("", 0)],
        ] {
            assert_eq!(names(index(names_of)), Err(NotRaw::Damaged), "{names_of:?}");
        }
        let whole = index(&[("a", 0), ("b/c", 0)]);
        for cut in 0..whole.len() {
            let mut bytes = whole[..cut].to_vec();
            bytes.extend([0; 20]);
            let read = names(bytes);
            // an extension is whole or not there at all
            let is_whole = [20, 31].contains(&(whole.len() - cut));
            assert_eq!(read.is_ok(), is_whole, "{cut} {read:?}");
        }
        let mut split = index(&[("a", 0)]);
        let at = split.len() - 31;
        split[at..at + 4].copy_from_slice(b"link");
        assert_eq!(names(split), Err(NotRaw::Special));
        let mut four = index(&[("a", 0)]);
        four[7] = 4;
        assert_eq!(names(four), Err(NotRaw::Special));
    }
}
