//! Says what stands in a worktree at many paths, without reading it.

use std::collections::{BTreeMap, BTreeSet};
use std::os::fd::OwnedFd;

use bstr::{BStr, ByteSlice};
use camino::Utf8Path;
use rustix::fs::{AtFlags, CWD, Mode, OFlags, openat, statat};
use rustix::io::Errno;

use super::error::DiskError;
use super::pool::in_blocks;
use super::stat::stat_from;
use crate::manifest::Stat;
use crate::path::RepoPath;

/// Holds what stands where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stands {
    /// What stands at a path that was asked for; a link is not followed.
    pub entries: BTreeMap<RepoPath, Stat>,
    /// What is no directory and stands above a path that was asked for: a link or a file.
    pub in_the_way: BTreeSet<RepoPath>,
}

/// The directories from the root down to where the last path was, each opened from the one above.
struct Way {
    root: OwnedFd,
    open: Vec<(RepoPath, Below)>,
}

enum Below {
    Directory(OwnedFd),
    Nothing,
    InTheWay,
}

/// How many paths a thread takes at once.
const BLOCK: usize = 512;

/// Looks at every path, with several threads where there are many; it is fast when they are
/// sorted.
///
/// # Errors
/// Fails when the root, or something on the way, cannot be looked at.
pub fn standing<'p>(
    root: &Utf8Path,
    paths: impl Iterator<Item = &'p RepoPath>,
) -> Result<Stands, DiskError> {
    let paths: Vec<&RepoPath> = paths.collect();
    let mut stands = Stands::default();
    let mut entries = Vec::with_capacity(paths.len());
    for block in in_blocks(&paths, BLOCK, |block| look(root, block)) {
        let block = block?;
        entries.extend(block.entries);
        stands.in_the_way.extend(block.in_the_way);
    }
    stands.entries = entries.into_iter().collect();
    Ok(stands)
}

/// What stands at some of the paths, in their order.
#[derive(Default)]
struct Block {
    entries: Vec<(RepoPath, Stat)>,
    in_the_way: Vec<RepoPath>,
}

fn look(root: &Utf8Path, paths: &[&RepoPath]) -> Result<Block, DiskError> {
    let failed = |path: &dyn std::fmt::Display, error: Errno| {
        DiskError::new(format!("look at {root}/{path}"), error)
    };
    let fd = openat(CWD, root.as_std_path(), DIRECTORY, Mode::empty());
    let mut way = Way {
        root: fd.map_err(|error| DiskError::new(format!("open {root}"), error))?,
        open: Vec::new(),
    };
    let mut block = Block::default();
    for path in paths {
        way.go_to(path).map_err(|error| failed(path, error))?;
        let above = match way.open.last() {
            None => &way.root,
            Some((_, Below::Directory(fd))) => fd,
            Some((_, Below::Nothing)) => continue,
            Some((parent, Below::InTheWay)) => {
                block.in_the_way.push(parent.clone());
                continue;
            }
        };
        let name = path.file_name().as_bytes();
        match statat(above, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => block.entries.push(((*path).clone(), stat_from(&stat))),
            Err(Errno::NOENT) => {}
            Err(error) => return Err(failed(path, error)),
        }
    }
    Ok(block)
}

const DIRECTORY: OFlags = OFlags::RDONLY
    .union(OFlags::DIRECTORY)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::CLOEXEC);

impl Way {
    /// Opens the directories above a path, the nearest first, as far as they are not open. It
    /// stops at the first that is not there, or is no directory.
    fn go_to(&mut self, path: &RepoPath) -> Result<(), Errno> {
        let open = self.open.last().map(|(open, _)| open.as_bstr());
        if open == path.parents().next() {
            return Ok(());
        }
        let mut parents: Vec<&BStr> = path.parents().collect();
        parents.reverse();
        let same = self.open.iter().zip(&parents);
        let same = same.take_while(|((open, _), parent)| open.as_bstr() == **parent);
        let kept = same.count();
        self.open.truncate(kept);
        for parent in &parents[kept..] {
            let above = match self.open.last() {
                None => &self.root,
                Some((_, Below::Directory(fd))) => fd,
                Some((_, Below::Nothing | Below::InTheWay)) => return Ok(()),
            };
            let Ok(path) = RepoPath::parse(*parent) else {
                return Ok(());
            };
            let name = path.file_name().as_bytes();
            let below = match openat(above, name, DIRECTORY, Mode::empty()) {
                Ok(fd) => Below::Directory(fd),
                Err(Errno::NOENT) => Below::Nothing,
                Err(Errno::NOTDIR | Errno::LOOP) => Below::InTheWay,
                Err(error) => return Err(error),
            };
            self.open.push((path, below));
        }
        Ok(())
    }
}

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "tests make what they look at")]
mod tests {
    use super::*;

    #[test]
    fn what_stands_is_told_and_nothing_is_seen_through_a_link() {
        let tmp = tempfile::tempdir().expect("a directory");
        let root = Utf8Path::from_path(tmp.path()).expect("it is UTF-8");
        std::fs::create_dir_all(root.join("a/b")).expect("directories");
        std::fs::write(root.join("a/b/file"), "x").expect("a file");
        std::fs::write(root.join("a-file"), "x").expect("a file");
        std::os::unix::fs::symlink("a", root.join("link")).expect("a link");
        std::os::unix::fs::symlink("gone", root.join("dangling")).expect("a link");
        let paths: Vec<RepoPath> = [
            "a",
            "a-file",
            "a-file/x",
            "a/b/file",
            "a/b/gone",
            "a/c/d/e",
            "dangling",
            "link",
            "link/b/file",
            "none",
        ]
        .iter()
        .map(|path| RepoPath::parse(*path).expect("it is normal"))
        .collect();
        let stands = standing(root, paths.iter()).expect("it can be read");
        let found: Vec<_> = stands.entries.keys().map(ToString::to_string).collect();
        assert_eq!(found, ["a", "a-file", "a/b/file", "dangling", "link"]);
        let in_the_way: Vec<_> = stands.in_the_way.iter().map(ToString::to_string).collect();
        assert_eq!(in_the_way, ["a-file", "link"]);
    }
}
