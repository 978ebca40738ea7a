//! Writes a manifest to bytes and reads it back.
//!
//! Version 2: the line `agentwt-manifest 2`, then `settled` and the number of items, then all
//! paths in order, then what is known of each in the same order, then `end`. An id that disk and
//! base share is written once.

use std::cmp::Ordering;

use crate::inventory::manifest::{Item, Manifest, OnDisk, Stat};
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::path::Paths;
use crate::words::varint::{Damaged, Input, put, put_path, put_signed};

const HEAD: &[u8] = b"agentwt-manifest 2\n";
const END: &[u8] = b"end\n";

const HAS_BASE: u8 = 1;
const HAS_DISK: u8 = 2;
const SAME_ENTRY: u8 = 4;

impl Stat {
    /// Writes stat data densely.
    pub fn put(&self, out: &mut Vec<u8>) {
        put(out, self.size);
        put_signed(out, self.mtime);
        put_signed(out, self.ctime.wrapping_sub(self.mtime));
        put(out, self.inode);
        put(out, u64::from(self.mode));
    }

    /// Reads what [`Stat::put`] wrote.
    ///
    /// # Errors
    /// Fails when it is damaged.
    pub fn take(input: &mut Input<'_>) -> Result<Self, Damaged> {
        let size = input.number()?;
        let mtime = input.signed()?;
        let ctime = input.signed()?.wrapping_add(mtime);
        let inode = input.number()?;
        let mode = u32::try_from(input.number()?).map_err(|_| Damaged)?;
        Ok(Self {
            size,
            mtime,
            ctime,
            inode,
            mode,
        })
    }
}

impl Manifest {
    /// Writes the manifest.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.items.len() * 72);
        out.extend_from_slice(HEAD);
        put_signed(&mut out, self.settled);
        put(&mut out, self.items.len() as u64);
        let mut before = None;
        for item in &self.items {
            put_path(&mut out, before, &item.path);
            before = Some(&item.path);
        }
        for item in &self.items {
            put_item(&mut out, item);
        }
        out.extend_from_slice(END);
        out
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// Fails on anything that [`Manifest::to_bytes`] would not have written.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Damaged> {
        let bytes = bytes.strip_prefix(HEAD).ok_or(Damaged)?;
        let mut input = Input::new(bytes);
        let settled = input.signed()?;
        let count = input.size()?;
        let items = read_items(&mut input, count)?;
        if input.rest() == END {
            Ok(Self { items, settled })
        } else {
            Err(Damaged)
        }
    }
}

fn put_entry(out: &mut Vec<u8>, entry: &Entry) {
    let id = entry.id.as_bytes();
    out.push(entry.mode.code() << 1 | u8::from(id.len() == 32));
    out.extend_from_slice(id);
}

/// Writes what is recorded of an item.
fn put_item(out: &mut Vec<u8>, item: &Item) {
    let disk_entry = item.disk.map(|disk| disk.entry);
    let is_same_entry = item.base.is_some() && item.base == disk_entry;
    let mut flags = 0;
    if item.base.is_some() {
        flags |= HAS_BASE;
    }
    if item.disk.is_some() {
        flags |= HAS_DISK;
    }
    if is_same_entry {
        flags |= SAME_ENTRY;
    }
    out.push(flags);
    if let Some(base) = &item.base {
        put_entry(out, base);
    }
    if let Some(disk) = &item.disk {
        if !is_same_entry {
            put_entry(out, &disk.entry);
        }
        disk.stat.put(out);
    }
}

/// Reads all paths, then what is recorded of each.
fn read_items(input: &mut Input<'_>, count: usize) -> Result<Vec<Item>, Damaged> {
    // each has two bytes at least, so that no number makes us take more than is there
    let mut paths = Paths::with_capacity(count.min(input.rest().len() / 2));
    for _ in 0..count {
        read_path(input, &mut paths)?;
    }
    let mut items = Vec::with_capacity(paths.len());
    for path in paths.into_paths() {
        items.push(Item {
            path,
            base: None,
            disk: None,
        });
    }
    // in place: to hand over what is recorded of an item takes longer than to read it
    for item in &mut items {
        read_item(input, item)?;
    }
    Ok(items)
}

/// Reads a path after the others. Paths come in order, each once.
pub(in crate::inventory) fn read_path(
    input: &mut Input<'_>,
    paths: &mut Paths,
) -> Result<(), Damaged> {
    let shared = input.size()?;
    let rest = input.bytes()?;
    match paths.push(shared, rest) {
        Ok(Some(Ordering::Greater)) => Ok(()),
        _out_of_order => Err(Damaged),
    }
}

/// Reads what is recorded of an item.
fn read_item(input: &mut Input<'_>, item: &mut Item) -> Result<(), Damaged> {
    let flags = input.byte()?;
    if flags & HAS_BASE != 0 {
        item.base = Some(read_entry(input)?);
    }
    if flags & HAS_DISK != 0 {
        let entry = match item.base {
            Some(base) if flags & SAME_ENTRY != 0 => base,
            Some(_) | None => read_entry(input)?,
        };
        let stat = Stat::take(input)?;
        item.disk = Some(OnDisk { entry, stat });
    }
    Ok(())
}

fn read_entry(input: &mut Input<'_>) -> Result<Entry, Damaged> {
    let code = input.byte()?;
    let length = if code & 1 == 1 { 32 } else { 20 };
    Ok(Entry {
        mode: Mode::from_code(code >> 1).ok_or(Damaged)?,
        id: ObjectId::from_bytes(input.take(length)?).ok_or(Damaged)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::path::RepoPath;

    fn sample() -> Manifest {
        let path = |text: &str| RepoPath::parse(text).expect("it is normal");
        let id = |byte| ObjectId::from_bytes(&[byte; 20]).expect("20 bytes");
        let file = Entry {
            mode: Mode::File,
            id: id(7),
        };
        let stat = Stat {
            size: 1 << 40,
            mtime: -5,
            ctime: i64::MAX,
            inode: 12,
            mode: 0o100_444,
        };
        let long = Entry {
            mode: Mode::Link,
            id: ObjectId::from_bytes(&[9; 32]).expect("32 bytes"),
        };
        let items = vec![
            Item {
                path: path("a/b"),
                base: Some(file),
                disk: Some(OnDisk { entry: file, stat }),
            },
            Item {
                path: path("a/b.c"),
                base: Some(file),
                disk: None,
            },
            Item {
                path: path("a\nz"),
                base: None,
                disk: Some(OnDisk { entry: long, stat }),
            },
            Item {
                path: path("a"),
                base: Some(long),
                disk: Some(OnDisk { entry: file, stat }),
            },
        ];
        Manifest::new(items, 1_700_000_000_000_000_000)
    }

    #[test]
    fn a_manifest_is_read_back_as_it_was_written() {
        let manifest = sample();
        assert_eq!(Manifest::from_bytes(&manifest.to_bytes()), Ok(manifest));
    }

    #[test]
    fn paths_out_of_order_and_what_is_no_path_are_damage() {
        let (one, two) = ("a/b", "a/c");
        for (shared, rest) in [
            (0, "a/b"),
            (0, "a/a"),
            (3, ""),
            (2, ""),
            (4, "c"),
            (2, "."),
            (2, "c//d"),
            (2, "c/"),
            (1, "//c"),
            (2, "c\0"),
        ] {
            let mut out = HEAD.to_vec();
            put_signed(&mut out, 0);
            put(&mut out, 2);
            put_path(&mut out, None, &RepoPath::parse(one).expect("a path"));
            put(&mut out, shared);
            crate::words::varint::put_bytes(&mut out, rest.as_bytes());
            out.extend_from_slice(&[0, 0]);
            out.extend_from_slice(END);
            let read = Manifest::from_bytes(&out);
            assert_eq!(read, Err(Damaged), "{shared} {rest:?}");
        }
        let path = |text| Item {
            path: RepoPath::parse(text).expect("a path"),
            base: None,
            disk: None,
        };
        let whole = Manifest::new(vec![path(one), path(two)], 0);
        assert_eq!(Manifest::from_bytes(&whole.to_bytes()), Ok(whole));
    }

    #[test]
    fn a_manifest_that_was_cut_or_extended_is_damaged() {
        let bytes = sample().to_bytes();
        for cut in HEAD.len()..bytes.len() {
            let read = Manifest::from_bytes(&bytes[..cut]);
            assert_eq!(read, Err(Damaged), "{cut}");
        }
        let longer = [bytes.as_slice(), b"x"].concat();
        assert_eq!(Manifest::from_bytes(&longer), Err(Damaged));
        assert_eq!(Manifest::from_bytes(b"agentwt-manifest 1\n"), Err(Damaged));
    }

    #[test]
    fn what_is_below_a_directory_does_not_hold_its_namesakes() {
        let manifest = sample();
        let below = manifest.below(Some(&RepoPath::parse("a").expect("it is normal")));
        let names: Vec<_> = manifest.items()[below]
            .iter()
            .map(|item| item.path.to_string())
            .collect();
        assert_eq!(names, ["a/b", "a/b.c"]);
    }
}
