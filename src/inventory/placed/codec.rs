//! Writes the list of placed files to bytes and reads it back.
//!
//! Version 1: the line `agentwt-placed 1`, then whether the config was left out, the globs,
//! `settled`, the files in order of their paths, and `end`.

use crate::inventory::manifest::Stat;
use crate::inventory::placed::{Digest, Placed, PlacedFile, PlacedKind, PlacedOrigin};
use crate::words::path::RepoPath;
use crate::words::varint::{Damaged, Input, put, put_bytes, put_path, put_signed};

const HEAD: &[u8] = b"agentwt-placed 1\n";
const END: &[u8] = b"end\n";

const KINDS: [PlacedKind; 3] = [PlacedKind::File, PlacedKind::Link, PlacedKind::Directory];
const KIND: u8 = 0b11;
const IS_CONTEXT: u8 = 4;
const HAS_DIGEST: u8 = 8;
const HAS_SOURCE: u8 = 16;
const IS_SETUP: u8 = 32;

impl Placed {
    /// Writes the list.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.files.len() * 160);
        out.extend_from_slice(HEAD);
        out.push(u8::from(self.without_config));
        put(&mut out, self.globs.len() as u64);
        for glob in &self.globs {
            put_bytes(&mut out, glob.as_bytes());
        }
        put_signed(&mut out, self.settled);
        put(&mut out, self.files.len() as u64);
        let mut before = None;
        for file in &self.files {
            put_path(&mut out, before, &file.path);
            put_file(&mut out, file);
            before = Some(&file.path);
        }
        out.extend_from_slice(END);
        out
    }

    /// Reads a list.
    ///
    /// # Errors
    /// Fails on anything that [`Placed::to_bytes`] of this version would not have written.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, Damaged> {
        let bytes = bytes.strip_prefix(HEAD).ok_or(Damaged)?;
        let mut input = Input::new(bytes);
        let without_config = match input.byte()? {
            0 => false,
            1 => true,
            _ => return Err(Damaged),
        };
        let mut globs = Vec::new();
        for _ in 0..input.size()? {
            let glob = std::str::from_utf8(input.bytes()?).map_err(|_| Damaged)?;
            globs.push(glob.to_owned());
        }
        let settled = input.signed()?;
        let count = input.size()?;
        let mut files: Vec<PlacedFile> = Vec::with_capacity(count.min(bytes.len()));
        for _ in 0..count {
            let path = input.path(files.last().map(|file| &file.path))?;
            files.push(read_file(&mut input, path)?);
        }
        if input.rest() != END {
            return Err(Damaged);
        }
        Ok(Self {
            globs,
            without_config,
            files,
            settled,
        })
    }
}

/// Writes all of a file but its path.
fn put_file(out: &mut Vec<u8>, file: &PlacedFile) {
    let mut flags = match file.kind {
        PlacedKind::File => 0,
        PlacedKind::Link => 1,
        PlacedKind::Directory => 2,
    };
    match file.origin {
        PlacedOrigin::Synced => {}
        PlacedOrigin::Context => flags |= IS_CONTEXT,
        PlacedOrigin::Setup => flags |= IS_SETUP,
    }
    if file.digest.is_some() {
        flags |= HAS_DIGEST;
    }
    if file.source.is_some() {
        flags |= HAS_SOURCE;
    }
    out.push(flags);
    if let Some(Digest(digest)) = &file.digest {
        out.extend_from_slice(digest);
    }
    file.stat.put(out);
    if let Some(source) = &file.source {
        source.put(out);
    }
}

/// Reads what [`put_file`] wrote.
fn read_file(input: &mut Input<'_>, path: RepoPath) -> Result<PlacedFile, Damaged> {
    let flags = input.byte()?;
    if flags & !(KIND | IS_CONTEXT | HAS_DIGEST | HAS_SOURCE | IS_SETUP) != 0 {
        return Err(Damaged);
    }
    let origin = match flags & (IS_CONTEXT | IS_SETUP) {
        0 => PlacedOrigin::Synced,
        IS_CONTEXT => PlacedOrigin::Context,
        IS_SETUP => PlacedOrigin::Setup,
        _both => return Err(Damaged),
    };
    let kind = *KINDS.get(usize::from(flags & KIND)).ok_or(Damaged)?;
    let mut digest = None;
    if flags & HAS_DIGEST != 0 {
        let bytes = input.take(32)?.try_into().map_err(|_| Damaged)?;
        digest = Some(Digest(bytes));
    }
    let stat = Stat::take(input)?;
    let mut source = None;
    if flags & HAS_SOURCE != 0 {
        source = Some(Stat::take(input)?);
    }
    Ok(PlacedFile {
        path,
        origin,
        kind,
        digest,
        stat,
        source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample() -> Placed {
        let stat = Stat {
            size: 12,
            mtime: -1,
            ctime: 99,
            inode: 7,
            mode: 0o100_444,
        };
        let file = |path: &str, origin, kind, digest, source| PlacedFile {
            path: RepoPath::parse(path).expect("it is normal"),
            origin,
            kind,
            digest,
            stat,
            source,
        };
        let digest = Some(Digest([3; 32]));
        let files = vec![
            file(
                ".env",
                PlacedOrigin::Synced,
                PlacedKind::File,
                digest,
                Some(stat),
            ),
            file(
                "certs",
                PlacedOrigin::Synced,
                PlacedKind::Directory,
                None,
                Some(stat),
            ),
            file(
                "certs/\n",
                PlacedOrigin::Synced,
                PlacedKind::Link,
                digest,
                None,
            ),
            file(
                "AGENTS.md",
                PlacedOrigin::Context,
                PlacedKind::File,
                digest,
                None,
            ),
            file("made", PlacedOrigin::Setup, PlacedKind::File, digest, None),
        ];
        Placed {
            globs: vec![".env*".to_owned()],
            without_config: true,
            ..Placed::new(files, 100)
        }
    }

    #[test]
    fn a_list_is_read_back_as_it_was_written() {
        let placed = sample();
        assert_eq!(Placed::from_bytes(&placed.to_bytes()), Ok(placed));
    }

    #[test]
    fn a_list_that_was_cut_or_extended_is_damaged() {
        let bytes = sample().to_bytes();
        for cut in HEAD.len()..bytes.len() {
            let read = Placed::from_bytes(&bytes[..cut]);
            assert_eq!(read, Err(Damaged), "{cut}");
        }
        let longer = [bytes.as_slice(), b"x"].concat();
        assert_eq!(Placed::from_bytes(&longer), Err(Damaged));
        assert_eq!(Placed::from_bytes(b"agentwt-placed 2\n"), Err(Damaged));
    }

    #[test]
    fn what_was_not_proven_is_not_proven_by_a_later_time() {
        let placed = sample();
        let env = placed
            .get(&RepoPath::parse(".env").expect("it is normal"))
            .expect("it is there");
        assert!(placed.proves(env, &env.stat));
        let early = Placed::new(vec![env.clone()], 99);
        assert!(!early.proves(env, &env.stat));
        let later = early.with_files(vec![env.clone()], Vec::new(), 200);
        assert!(!later.proves(&later.files()[0], &env.stat));
    }
}
