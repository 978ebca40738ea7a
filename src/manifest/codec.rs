//! Writes a manifest to bytes and reads it back.
//!
//! Version 1: the line `agentwt-manifest 1`, then `settled` and the number of items, then the
//! items in order of their paths, then `end`. Numbers are LEB128 (zigzag where they can be
//! negative). A path is the length that it shares with the one before it, and the rest. An id
//! that disk and base share is written once.

use super::{Item, Manifest, OnDisk, Stat};
use crate::entry::{Entry, Mode, ObjectId};
use crate::path::RepoPath;

const HEAD: &[u8] = b"agentwt-manifest 1\n";
const END: &[u8] = b"end\n";

const HAS_BASE: u8 = 1;
const HAS_DISK: u8 = 2;
const SAME_ENTRY: u8 = 4;

/// Says that a manifest cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ManifestError {
    /// It was written by another version.
    #[error("it is not a manifest of this version")]
    Version,
    /// It ends early or holds what this program never writes.
    #[error("it is damaged")]
    Damaged,
}

impl Manifest {
    /// Writes the manifest.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.items.len() * 72);
        out.extend_from_slice(HEAD);
        put_signed(&mut out, self.settled);
        put(&mut out, self.items.len() as u64);
        let mut before: &[u8] = b"";
        for item in &self.items {
            let path: &[u8] = item.path.as_bstr();
            let shared = before.iter().zip(path).take_while(|(a, b)| a == b).count();
            put(&mut out, shared as u64);
            put(&mut out, (path.len() - shared) as u64);
            out.extend_from_slice(&path[shared..]);
            put_item(&mut out, item);
            before = path;
        }
        out.extend_from_slice(END);
        out
    }

    /// Reads a manifest.
    ///
    /// # Errors
    /// Fails on anything that [`Manifest::to_bytes`] of this version would not have written.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, ManifestError> {
        let mut input = Input(bytes.strip_prefix(HEAD).ok_or(ManifestError::Version)?);
        let settled = input.signed()?;
        let count = input.size()?;
        let mut items = Vec::with_capacity(count.min(input.0.len()));
        let mut path: Vec<u8> = Vec::new();
        for _ in 0..count {
            let shared = input.size()?;
            let rest = input.size()?;
            if shared > path.len() {
                return Err(ManifestError::Damaged);
            }
            path.truncate(shared);
            path.extend_from_slice(input.take(rest)?);
            let name = RepoPath::parse(path.clone()).map_err(|_| ManifestError::Damaged)?;
            if items
                .last()
                .is_some_and(|before: &Item| before.path >= name)
            {
                return Err(ManifestError::Damaged);
            }
            items.push(input.item(name)?);
        }
        if input.0 == END {
            Ok(Self { items, settled })
        } else {
            Err(ManifestError::Damaged)
        }
    }
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number.to_le_bytes()[0] | 0x80);
        number >>= 7;
    }
    out.push(number.to_le_bytes()[0]);
}

fn put_signed(out: &mut Vec<u8>, number: i64) {
    put(
        out,
        (number.cast_unsigned() << 1) ^ (number >> 63).cast_unsigned(),
    );
}

fn put_entry(out: &mut Vec<u8>, entry: &Entry) {
    let id = entry.id.as_bytes();
    out.push(entry.mode.code() << 1 | u8::from(id.len() == 32));
    out.extend_from_slice(id);
}

fn put_item(out: &mut Vec<u8>, item: &Item) {
    let same = matches!((&item.base, &item.disk), (Some(b), Some(d)) if *b == d.entry);
    let mut flags = 0;
    flags |= if item.base.is_some() { HAS_BASE } else { 0 };
    flags |= if item.disk.is_some() { HAS_DISK } else { 0 };
    flags |= if same { SAME_ENTRY } else { 0 };
    out.push(flags);
    if let Some(base) = &item.base {
        put_entry(out, base);
    }
    if let Some(disk) = &item.disk {
        if !same {
            put_entry(out, &disk.entry);
        }
        put(out, disk.stat.size);
        put_signed(out, disk.stat.mtime);
        put_signed(out, disk.stat.ctime.wrapping_sub(disk.stat.mtime));
        put(out, disk.stat.inode);
        put(out, u64::from(disk.stat.mode));
    }
}

struct Input<'b>(&'b [u8]);

impl<'b> Input<'b> {
    fn take(&mut self, length: usize) -> Result<&'b [u8], ManifestError> {
        let (taken, rest) = self
            .0
            .split_at_checked(length)
            .ok_or(ManifestError::Damaged)?;
        self.0 = rest;
        Ok(taken)
    }

    fn byte(&mut self) -> Result<u8, ManifestError> {
        self.take(1).map(|bytes| bytes[0])
    }

    fn number(&mut self) -> Result<u64, ManifestError> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(ManifestError::Damaged)
    }

    fn size(&mut self) -> Result<usize, ManifestError> {
        self.number()
            .and_then(|n| usize::try_from(n).map_err(|_| ManifestError::Damaged))
    }

    fn signed(&mut self) -> Result<i64, ManifestError> {
        let number = self.number()?;
        Ok((number >> 1).cast_signed() ^ -(number & 1).cast_signed())
    }

    fn entry(&mut self) -> Result<Entry, ManifestError> {
        let code = self.byte()?;
        let mode = Mode::from_code(code >> 1).ok_or(ManifestError::Damaged)?;
        let raw = self.take(if code & 1 == 1 { 32 } else { 20 })?;
        let id = ObjectId::from_bytes(raw).ok_or(ManifestError::Damaged)?;
        Ok(Entry { mode, id })
    }

    fn item(&mut self, path: RepoPath) -> Result<Item, ManifestError> {
        let flags = self.byte()?;
        let base = if flags & HAS_BASE == 0 {
            None
        } else {
            Some(self.entry()?)
        };
        if flags & HAS_DISK == 0 {
            return Ok(Item {
                path,
                base,
                disk: None,
            });
        }
        let entry = match base {
            Some(base) if flags & SAME_ENTRY != 0 => base,
            Some(_) | None => self.entry()?,
        };
        let size = self.number()?;
        let mtime = self.signed()?;
        let ctime = self.signed()?.wrapping_add(mtime);
        let inode = self.number()?;
        let mode = u32::try_from(self.number()?).map_err(|_| ManifestError::Damaged)?;
        let stat = Stat {
            size,
            mtime,
            ctime,
            inode,
            mode,
        };
        Ok(Item {
            path,
            base,
            disk: Some(OnDisk { entry, stat }),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
    fn a_manifest_that_was_cut_or_extended_is_damaged() {
        let bytes = sample().to_bytes();
        for cut in HEAD.len()..bytes.len() {
            assert_eq!(
                Manifest::from_bytes(&bytes[..cut]),
                Err(ManifestError::Damaged),
                "{cut}"
            );
        }
        let longer = [bytes.as_slice(), b"x"].concat();
        assert_eq!(Manifest::from_bytes(&longer), Err(ManifestError::Damaged));
        assert_eq!(
            Manifest::from_bytes(b"agentwt-manifest 2\n"),
            Err(ManifestError::Version)
        );
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
