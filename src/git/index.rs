//! Reads the index (gitformat-index(5)) through `gix`, split indexes included.
//!
//! Its stat data can be forged and decide nothing that verification believes.

use std::cmp::Ordering;
use std::collections::BTreeSet;
use std::fmt::Display;

use bstr::{BStr, ByteSlice};
use camino::Utf8Path;
use gix::index::decode::Options;
use gix::index::entry::{Flags, Stat};
use gix::index::write::{Extensions, Options as WriteOptions};
use gix::index::{Entry as RawEntry, File, State, Version};
use sha1::Digest;

use crate::git::error::{GitError, reading, unreadable};
use crate::git::git_dir::{read_file, refuse_special_file};
use crate::git::object_format::{ObjectFormat, id_of};
use crate::inventory::manifest::IndexStat;
use crate::words::entry::{Entry, Mode};
use crate::words::path::{Paths, RepoPath};

/// One entry of the index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IndexEntry<P = RepoPath> {
    /// Its path.
    pub path: P,
    /// What it names.
    pub entry: Entry,
    /// Its side of a conflict.
    pub stage: Stage,
    /// True if git takes it as absent from the disk on purpose.
    pub skip_worktree: bool,
    /// True if git was told to take it as unchanged.
    pub assume_unchanged: bool,
    /// True if it only announces a file (`git add -N`).
    pub intent_to_add: bool,
    /// What git saw on disk.
    pub stat: IndexStat,
}

/// Says of which side of a conflict an entry is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// There is no conflict.
    Unconflicted = 0,
    /// The common ancestor.
    Base = 1,
    /// The side of HEAD.
    Ours = 2,
    /// The side that is merged.
    Theirs = 3,
}

/// An index that was read, with a checksum that is that of its bytes.
pub struct OpenIndex {
    pub(super) state: State,
    /// Those of the file; none if it is missing, or entries are in the base of a split index.
    pub(super) bytes: Vec<u8>,
    pub(super) format: ObjectFormat,
    /// What messages call it.
    what: String,
}

/// How many bytes come before the first entry.
const HEADER: usize = 12;
/// How many bytes of an entry come before its id.
const STAT: usize = 40;
/// Nanoseconds.
const SECOND: i64 = 1_000_000_000;

impl OpenIndex {
    /// Reads an index file as git does; a missing one is an empty index. A split index whose base
    /// is named by zeros (`index.skipHash`, git-config(1)) has none, whatever file has that name.
    ///
    /// # Errors
    /// Fails when it is damaged, of an unknown version, or its entries are not in order.
    pub fn read(file: &Utf8Path, format: ObjectFormat) -> Result<Self, GitError> {
        Self::parse_whole(file, read_file(file)?, format)
    }

    /// Parses the bytes of an index file, and reads the base of a split one as
    /// [`read`](Self::read) does.
    ///
    /// # Errors
    /// Fails as [`read`](Self::read) does.
    pub fn parse_whole(
        file: &Utf8Path,
        bytes: Option<Vec<u8>>,
        format: ObjectFormat,
    ) -> Result<Self, GitError> {
        let mut index = Self::parse(file, bytes, format)?;
        index.add_base(file)?;
        // git looks entries up by bisection: of two for a path it can take the one that we do not
        if !index.is_sorted() {
            return Err(unreadable(&index.what, "its entries are not in order"));
        }
        Ok(index)
    }

    /// Parses the bytes of an index file; none are an empty index.
    ///
    /// # Errors
    /// Fails when they are damaged or of an unknown version.
    pub fn parse(
        file: &Utf8Path,
        bytes: Option<Vec<u8>>,
        format: ObjectFormat,
    ) -> Result<Self, GitError> {
        let what = format!("the index {file}");
        let state = match &bytes {
            None => State::new(format.0),
            Some(bytes) if is_whole(bytes, format) => {
                let epoch = std::time::UNIX_EPOCH.into();
                let (state, _) = State::from_bytes(bytes, epoch, format.0, options())
                    .map_err(|error| unreadable(&what, &error))?;
                state
            }
            Some(_) => return Err(unreadable(&what, "its checksum is not that of its bytes")),
        };
        Ok(Self {
            state,
            bytes: bytes.unwrap_or_default(),
            format,
            what,
        })
    }

    /// Reads the base of a split index as well.
    fn add_base(&mut self, file: &Utf8Path) -> Result<(), GitError> {
        let Some(link) = self.state.link() else {
            return Ok(());
        };
        let base = link.shared_index_checksum;
        if base.is_null() {
            return Ok(());
        }
        refuse_special_file(file.with_file_name(format!("sharedindex.{base}")))?;
        let whole = File::at(file.as_std_path(), self.format.0, false, options())
            .map_err(|error| unreadable(&self.what, &error))?;
        self.state = whole.into_parts().0;
        self.bytes.clear();
        Ok(())
    }

    fn is_sorted(&self) -> bool {
        self.state
            .entries()
            .is_sorted_by(|entry, next| self.is_before(entry, next))
    }

    /// True if an entry may come before another: by its path, or in a conflict by its stage.
    fn is_before(&self, entry: &RawEntry, next: &RawEntry) -> bool {
        match entry.path(&self.state).cmp(next.path(&self.state)) {
            Ordering::Less => true,
            Ordering::Equal => (1..next.stage_raw()).contains(&entry.stage_raw()),
            Ordering::Greater => false,
        }
    }

    /// Returns the entries, in order of path and stage; an error for one that no index may have.
    pub fn entries(&self) -> impl Iterator<Item = Result<IndexEntry<&BStr>, GitError>> {
        let entries = self.state.entries().iter();
        entries.map(|entry| self.entry(entry, entry.path(&self.state)))
    }

    fn entry<P: Display>(&self, entry: &RawEntry, path: P) -> Result<IndexEntry<P>, GitError> {
        let bits = entry.mode.bits();
        let Some(mode) = mode_of(bits) else {
            let detail = format!("{path} has mode {bits:o}");
            return Err(unreadable(&self.what, &detail));
        };
        Ok(IndexEntry {
            path,
            entry: Entry {
                mode,
                id: id_of(&entry.id),
            },
            stage: stage_of(entry),
            skip_worktree: entry.flags.contains(Flags::SKIP_WORKTREE),
            assume_unchanged: entry.flags.contains(Flags::ASSUME_VALID),
            intent_to_add: entry.flags.contains(Flags::INTENT_TO_ADD),
            stat: stat_of(entry),
        })
    }

    /// Returns the path of an entry, if it is one.
    ///
    /// # Errors
    /// Fails when no tree could have it.
    pub fn repo_path(&self, path: &BStr) -> Result<RepoPath, GitError> {
        RepoPath::parse(path).map_err(|error| unreadable(&self.what, &error))
    }

    /// Returns the bytes of an index with these entries alone: nobody verifies what an extension
    /// says, and git believes it at the next commit (`TREE`). Of the `changed` paths, git reads the
    /// files, whatever the stat data say.
    ///
    /// # Errors
    /// Fails for an entry that no index may have.
    pub fn plain_bytes(mut self, changed: &BTreeSet<RepoPath>) -> Result<Vec<u8>, GitError> {
        let mut paths = Vec::new();
        for entry in self.entries() {
            let path = self.repo_path(entry?.path)?;
            if has_part_of_git(&path) {
                let odd = "a file of it has a name of git's own";
                return Err(unreadable(&self.what, odd));
            }
            paths.push(path);
        }
        for (entry, path) in self.state.entries_mut().iter_mut().zip(&paths) {
            if changed.contains(path) {
                entry.stat = Stat::default();
            }
        }
        render(&self.state, &[], self.format)
    }

    /// Returns the bytes of the file with new change times. `ctimes` are pairs of the number of an
    /// entry and its time (nanoseconds since the epoch), sorted by number. None where the entries are
    /// not at known places: in an index of version 4, or a split one.
    pub fn with_ctimes(&self, ctimes: &[(usize, i64)]) -> Option<Vec<u8>> {
        let is_plain = matches!(self.state.version(), Version::V2 | Version::V3);
        if self.bytes.is_empty() || !is_plain || self.state.link().is_some() {
            return None;
        }
        let mut bytes = self.bytes.clone();
        let mut begin = HEADER;
        let mut changes = ctimes.iter().peekable();
        for (number, entry) in self.state.entries().iter().enumerate() {
            if let Some((_, ctime)) = changes.next_if(|(changed, _)| *changed == number) {
                let entry_bytes = bytes.get_mut(begin..)?;
                // rather no index than a damaged one: the id stands where it was computed to be
                if !entry_bytes.get(STAT..)?.starts_with(entry.id.as_bytes()) {
                    return None;
                }
                entry_bytes[..4].copy_from_slice(&seconds(*ctime).to_be_bytes());
                entry_bytes[4..8].copy_from_slice(&nanoseconds(*ctime).to_be_bytes());
            }
            begin += self.length_in_file(entry);
        }
        let end = bytes.len() - self.format.length();
        let (content, checksum) = bytes.split_at_mut(end);
        // it is zero with `index.skipHash` (git-config(1))
        if !is_zero(checksum) {
            checksum.copy_from_slice(&checksum_of(content, self.format)?);
        }
        Some(bytes)
    }

    /// Returns how many bytes an entry has in a file of version 2 or 3.
    fn length_in_file(&self, entry: &RawEntry) -> usize {
        let flags = if entry.flags.contains(Flags::EXTENDED) {
            4
        } else {
            2
        };
        let length = STAT + self.format.length() + flags + entry.path(&self.state).len();
        // one to eight NUL bytes, up to a multiple of eight
        (length + 8) & !7
    }
}

/// True if git would check a path out nowhere, as a part of it is a name of `.git` on some file
/// system (`verify_path`, git's read-cache.c).
fn has_part_of_git(path: &RepoPath) -> bool {
    path.as_bstr()
        .split(|byte| b"/\\".contains(byte))
        .any(is_name_of_git)
}

fn is_name_of_git(part: &[u8]) -> bool {
    let stream = part.split(|byte| *byte == b':').next().unwrap_or_default();
    let name = stream.trim_end_with(|letter| matches!(letter, '.' | ' '));
    name.eq_ignore_ascii_case(b".git") || name.eq_ignore_ascii_case(b"git~1")
}

/// Renders an index (gitformat-index(5)) with these extensions.
///
/// # Errors
/// Fails when an entry cannot stand in an index.
pub(super) fn render(
    state: &State,
    extensions: &[u8],
    format: ObjectFormat,
) -> Result<Vec<u8>, GitError> {
    let mut bytes = Vec::with_capacity(state.entries().len() * 112);
    let options = WriteOptions {
        extensions: Extensions::None,
        skip_hash: false,
    };
    state
        .write_to(&mut bytes, options)
        .map_err(reading("the new index"))?;
    bytes.extend_from_slice(extensions);
    let checksum = checksum_of(&bytes, format).unwrap_or_default();
    bytes.extend(checksum);
    Ok(bytes)
}

/// Reads the entries of an index file; a missing one is an empty index, as it is for git.
///
/// # Errors
/// Fails when it is damaged, of an unknown version, or has entries that no index may have.
pub fn read_index(file: &Utf8Path, format: ObjectFormat) -> Result<Vec<IndexEntry>, GitError> {
    let index = OpenIndex::read(file, format)?;
    let mut entries = Vec::with_capacity(index.state.entries().len());
    for entry in index.state.entries() {
        let path = index.repo_path(entry.path(&index.state))?;
        entries.push(index.entry(entry, path)?);
    }
    Ok(entries)
}

/// Reads the paths of an index file; none when whole directories stand in it as one entry
/// (`index.sparse`, git-config(1)), so that only git knows them.
///
/// # Errors
/// Fails as [`read_index`] does.
pub fn read_paths(
    file: &Utf8Path,
    format: ObjectFormat,
) -> Result<Option<Vec<RepoPath>>, GitError> {
    let index = OpenIndex::read(file, format)?;
    if index.state.is_sparse() {
        return Ok(None);
    }
    let mut paths = Paths::with_capacity(index.state.entries().len());
    for entry in index.state.entries() {
        paths
            .push(0, entry.path(&index.state))
            .map_err(|error| unreadable(&index.what, &error))?;
    }
    Ok(Some(paths.into_paths().collect()))
}

/// Returns the seconds of a time in an index, of which git keeps 32 bits.
pub(super) fn seconds(time: i64) -> u32 {
    u32::try_from(time.div_euclid(SECOND) & i64::from(u32::MAX)).unwrap_or_default()
}

/// Returns the rest of a time in an index.
pub(super) fn nanoseconds(time: i64) -> u32 {
    u32::try_from(time.rem_euclid(SECOND)).unwrap_or_default()
}

fn stat_of(entry: &RawEntry) -> IndexStat {
    IndexStat {
        ctime: time_of(entry.stat.ctime.secs, entry.stat.ctime.nsecs),
        mtime: time_of(entry.stat.mtime.secs, entry.stat.mtime.nsecs),
        inode: entry.stat.ino,
        size: entry.stat.size,
    }
}

fn time_of(seconds: u32, nanoseconds: u32) -> i64 {
    i64::from(seconds) * SECOND + i64::from(nanoseconds)
}

fn stage_of(entry: &RawEntry) -> Stage {
    match entry.stage_raw() {
        1 => Stage::Base,
        2 => Stage::Ours,
        3 => Stage::Theirs,
        _ => Stage::Unconflicted,
    }
}

const fn mode_of(bits: u32) -> Option<Mode> {
    match bits {
        0o100_644 => Some(Mode::File),
        0o100_755 => Some(Mode::Executable),
        0o120_000 => Some(Mode::Link),
        0o160_000 => Some(Mode::Gitlink),
        // a whole directory of a sparse index, or an old spelling
        _ => None,
    }
}

/// Returns how an index is decoded: from its beginning to its end. In several threads gix reads
/// from wherever the offset table of the index (`IEOT`) says, which nothing checks, and panics past
/// its end.
fn options() -> Options {
    Options {
        thread_limit: Some(1),
        ..Options::default()
    }
}

/// True if the checksum of an index is that of its bytes. One of zeros says that there is none
/// (`index.skipHash`, git-config(1)).
fn is_whole(bytes: &[u8], format: ObjectFormat) -> bool {
    let Some(end) = bytes.len().checked_sub(format.length()) else {
        return false;
    };
    let (content, checksum) = bytes.split_at(end);
    is_zero(checksum) || checksum_of(content, format).as_deref() == Some(checksum)
}

fn is_zero(checksum: &[u8]) -> bool {
    checksum.iter().all(|byte| *byte == 0)
}

/// Computes the checksum of an index. It guards against damage, not against forgery: the search for
/// collisions, which takes ten times as long, is not needed.
pub(super) fn checksum_of(content: &[u8], format: ObjectFormat) -> Option<Vec<u8>> {
    if format.0 == gix::hash::Kind::Sha1 {
        return Some(sha1::Sha1::digest(content).to_vec());
    }
    let mut hasher = gix::hash::hasher(format.0);
    hasher.update(content);
    Some(hasher.try_finalize().ok()?.as_bytes().to_vec())
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "the test writes an index")]
mod tests {
    use super::*;

    /// An index of version 3 with these names, each with its stage; every second has more flags.
    fn index(names: &[(&str, u16)]) -> Vec<u8> {
        let mut bytes = b"DIRC\0\0\0\x03\0\0\0".to_vec();
        bytes.push(u8::try_from(names.len()).expect("a few"));
        for (number, (name, stage)) in names.iter().enumerate() {
            let begin = bytes.len();
            bytes.extend([0; 24]);
            bytes.extend(0o100_644_u32.to_be_bytes());
            bytes.extend([0; 12]);
            bytes.extend([7; 20]);
            let length = u16::try_from(name.len()).expect("it is short").min(0xfff);
            let is_extended = number % 2 == 1;
            let flags = stage << 12 | u16::from(is_extended) << 14 | length;
            bytes.extend(flags.to_be_bytes());
            bytes.extend(is_extended.then_some([0x40, 0]).into_iter().flatten());
            bytes.extend(name.as_bytes());
            let used = bytes.len() - begin;
            bytes.resize(begin + ((used + 8) & !7), 0);
        }
        bytes.extend([0; 20]);
        bytes
    }

    fn open(bytes: Vec<u8>) -> OpenIndex {
        OpenIndex::parse("index".into(), Some(bytes), ObjectFormat::default())
            .expect("it is an index")
    }

    #[test]
    fn new_change_times_are_all_that_changes() {
        let long = "d/".repeat(2500) + "f";
        let all = [
            ("a", 0),
            ("a.b", 1),
            ("a.b", 3),
            ("a/b", 0),
            (&*long, 0),
            ("e", 0),
        ];
        let mut bytes = index(&all);
        for ends_with_checksum in [false, true] {
            if ends_with_checksum {
                let end = bytes.len() - 20;
                let checksum =
                    checksum_of(&bytes[..end], ObjectFormat::default()).expect("a checksum");
                bytes.splice(end.., checksum);
            }
            let before = open(bytes.clone());
            let ctimes = [(1, 5 * SECOND + 7), (3, SECOND << 33), (5, 9 * SECOND)];
            let after = open(before.with_ctimes(&ctimes).expect("it is plain"));
            for (number, (old, new)) in before.entries().zip(after.entries()).enumerate() {
                let (old, new) = (old.expect("an entry"), new.expect("an entry"));
                let changed = ctimes.iter().find(|(at, _)| *at == number);
                let ctime = changed.map_or(0, |(_, time)| time % (SECOND << 32));
                let stat = IndexStat { ctime, ..old.stat };
                assert_eq!(new, IndexEntry { stat, ..old }, "{number}");
                assert_eq!(new.path, all[number].0);
                assert_eq!(new.skip_worktree, number % 2 == 1);
            }
        }
    }

    fn paths(index: &OpenIndex) -> Vec<String> {
        let paths = index.entries().map(|entry| entry.expect("an entry").path);
        paths.map(ToString::to_string).collect()
    }

    #[test]
    fn entries_that_are_not_in_order_are_refused() {
        let directory = tempfile::tempdir().expect("there is room");
        let file = directory.path().join("index");
        let file = Utf8Path::from_path(&file).expect("it is UTF-8");
        let read = |names: &[(&str, u16)]| {
            std::fs::write(file, index(names)).expect("it is written");
            OpenIndex::read(file, ObjectFormat::default())
        };
        let conflict = [("a", 0), ("a.b", 1), ("a.b", 2), ("a.b", 3), ("a/b", 2)];
        let read_conflict = read(&conflict).expect("it is in order");
        assert_eq!(paths(&read_conflict), ["a", "a.b", "a.b", "a.b", "a/b"]);
        for forged in [
            [("a", 0), ("a", 0)],
            [("b", 0), ("a", 0)],
            [("a", 2), ("a", 1)],
            [("a", 1), ("a", 1)],
            [("a", 0), ("a", 2)],
        ] {
            assert!(read(&forged).is_err(), "{forged:?}");
        }
    }

    #[test]
    fn a_forged_offset_table_is_not_believed() {
        let names = [("a", 0), ("b", 0), ("c", 0)];
        for offset in [12, 12 + 64, u32::MAX] {
            let mut bytes = index(&names);
            let end = bytes.len() - 20;
            bytes.truncate(end);
            let header = [b"IEOT".as_slice(), &20_u32.to_be_bytes()].concat();
            bytes.extend(&header);
            bytes.extend([1, 12, 1, offset, 1].map(u32::to_be_bytes).as_flattened());
            bytes.extend([b"EOIE".as_slice(), &24_u32.to_be_bytes()].concat());
            bytes.extend(u32::try_from(end).expect("it is short").to_be_bytes());
            bytes.extend(checksum_of(&header, ObjectFormat::default()).expect("a checksum"));
            bytes.extend([0; 20]);
            assert_eq!(paths(&open(bytes)), ["a", "b", "c"], "{offset}");
        }
    }

    #[test]
    fn what_is_damaged_or_not_plain_is_refused() {
        let mut bytes = index(&[("a", 0)]);
        *bytes.last_mut().expect("a byte") = 1;
        assert!(OpenIndex::parse("index".into(), Some(bytes), ObjectFormat::default()).is_err());
        let mut split = index(&[("a", 0)]);
        let end = split.len() - 20;
        let link: Vec<u8> = [b"link\0\0\0\x14".as_slice(), &[0; 20]].concat();
        split.splice(end..end, link);
        assert!(open(split).with_ctimes(&[(0, 1)]).is_none());
        assert!(open(index(&[("a", 0)])).with_ctimes(&[(0, 1)]).is_some());
    }
}
