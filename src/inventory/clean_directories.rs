//! Holds [`CleanDirectories`]: the directories in which a walk found what the base has there, and
//! nothing else.
//!
//! Whatever is made, removed or renamed in a directory changes its change time, which no call can
//! set (inode(7)). Where its stat data are as they were then, the names in it are known without
//! reading it; every file is still looked at by itself. The list belongs to one manifest and proves
//! nothing beside another.

use crate::inventory::manifest::codec::read_path;
use crate::inventory::manifest::{Manifest, Stat};
use crate::words::path::{Paths, RepoPath};
use crate::words::varint::{Damaged, Input, put, put_path, put_signed};

const HEAD: &[u8] = b"agentwt-walked 1\n";
const END: &[u8] = b"end\n";

/// The directories whose names are known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanDirectories {
    manifest: ManifestId,
    /// Sorted by path.
    directories: Vec<(RepoPath, Stat)>,
}

/// Tells the manifests of a worktree from each other: no two of them settled at the same moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ManifestId {
    settled: i64,
    items: usize,
}

impl ManifestId {
    fn of(manifest: &Manifest) -> Self {
        Self {
            settled: manifest.settled(),
            items: manifest.items().len(),
        }
    }
}

impl CleanDirectories {
    /// Creates an empty list for this manifest, as it was recorded.
    pub fn none(manifest: &Manifest) -> Self {
        Self {
            manifest: ManifestId::of(manifest),
            directories: Vec::new(),
        }
    }

    /// True if a directory with these stat data has the names that it was found to have.
    pub fn proves(&self, path: &RepoPath, now: &Stat) -> bool {
        let position = self
            .directories
            .binary_search_by(|(directory, _)| directory.cmp(path));
        position.is_ok_and(|at| self.directories[at].1 == *now)
    }

    /// Returns the same list with what a walk found, which replaces what was known.
    pub fn with(mut self, found: Vec<(RepoPath, Stat)>) -> Self {
        let mut directories = found;
        // of two with one path the first stays
        directories.append(&mut self.directories);
        directories.sort_by(|(a, _), (b, _)| a.cmp(b));
        directories.dedup_by(|(a, _), (b, _)| a == b);
        self.directories = directories;
        self
    }

    /// Writes the list.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(64 + self.directories.len() * 48);
        out.extend_from_slice(HEAD);
        put_signed(&mut out, self.manifest.settled);
        put(&mut out, self.manifest.items as u64);
        put(&mut out, self.directories.len() as u64);
        let mut before = None;
        for (path, stat) in &self.directories {
            put_path(&mut out, before, path);
            stat.put(&mut out);
            before = Some(path);
        }
        out.extend_from_slice(END);
        out
    }

    /// Reads the list of this manifest; none where it belongs to another, or is not what
    /// [`CleanDirectories::to_bytes`] writes.
    pub fn from_bytes(bytes: &[u8], manifest: &Manifest) -> Option<Self> {
        let mut input = Input::new(bytes.strip_prefix(HEAD)?);
        let written_for = ManifestId {
            settled: input.signed().ok()?,
            items: input.size().ok()?,
        };
        if written_for != ManifestId::of(manifest) {
            return None;
        }
        let directories = read_directories(&mut input).ok()?;
        if input.rest() != END {
            return None;
        }
        Some(Self {
            manifest: written_for,
            directories,
        })
    }
}

/// Reads each path with its stat data.
fn read_directories(input: &mut Input<'_>) -> Result<Vec<(RepoPath, Stat)>, Damaged> {
    let count = input.size()?;
    // each has two bytes at least, so that no number makes us take more than is there
    let expected = count.min(input.rest().len() / 2);
    let mut paths = Paths::with_capacity(expected);
    let mut stats = Vec::with_capacity(expected);
    for _ in 0..count {
        read_path(input, &mut paths)?;
        stats.push(Stat::take(input)?);
    }
    Ok(paths.into_paths().zip(stats).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::inventory::manifest::Item;

    fn path(text: &str) -> RepoPath {
        RepoPath::parse(text).expect("it is a path")
    }

    fn manifest(settled: i64) -> Manifest {
        let item = |text| Item {
            path: path(text),
            base: None,
            disk: None,
        };
        Manifest::new(vec![item("a/b"), item("c")], settled)
    }

    fn at(ctime: i64) -> Stat {
        Stat {
            ctime,
            inode: 7,
            ..Stat::default()
        }
    }

    #[test]
    fn what_was_found_last_counts() {
        let walked =
            CleanDirectories::none(&manifest(9)).with(vec![(path("b"), at(1)), (path("a"), at(1))]);
        let walked = walked.with(vec![(path("b"), at(2)), (path("a/b"), at(3))]);
        for (text, ctime, is_proven) in [
            ("a", 1, true),
            ("b", 1, false),
            ("b", 2, true),
            ("a/b", 3, true),
            ("a/c", 3, false),
        ] {
            assert_eq!(walked.proves(&path(text), &at(ctime)), is_proven, "{text}");
        }
    }

    #[test]
    fn it_is_read_back_for_its_own_manifest_only() {
        let walked = CleanDirectories::none(&manifest(9))
            .with(vec![(path("a"), at(1)), (path("a/b"), at(2))]);
        let bytes = walked.to_bytes();
        let read = |bytes: &[u8], settled| CleanDirectories::from_bytes(bytes, &manifest(settled));
        assert_eq!(read(&bytes, 9).as_ref(), Some(&walked));
        assert_eq!(read(&bytes, 8), None);
        for cut in 0..bytes.len() {
            assert_eq!(read(&bytes[..cut], 9), None, "{cut}");
        }
        assert_eq!(read(&[bytes.as_slice(), b"x"].concat(), 9), None);
    }
}
