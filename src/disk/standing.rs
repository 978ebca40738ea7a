//! Says what stands in a worktree at many paths, without reading it.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice;
use camino::Utf8Path;
use rustix::fs::{AtFlags, statat};
use rustix::io::Errno;

use super::below::Directories;
use super::error::DiskError;
use super::pool::map_parallel;
use super::stat::stat_from;
use crate::manifest::Stat;
use crate::path::RepoPath;

/// Holds what stands where.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Stands {
    /// What stands at a path that was asked for; a link is not followed.
    pub entries: BTreeMap<RepoPath, Stat>,
    /// What is not a directory and stands above a path that was asked for: a link or a file.
    pub in_the_way: BTreeSet<RepoPath>,
}

/// Says what stands at one path.
enum Stand {
    Entry(Stat),
    Nothing,
    Above(RepoPath),
}

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
    let start = || Directories::open(root);
    let found = map_parallel(&paths, start, |directories, path| {
        look_at(directories, path)
            .map_err(|error| DiskError::new(format!("look at {root}/{path}"), error))
    })?;
    let mut stands = Stands::default();
    for (path, stand) in paths.into_iter().zip(found) {
        match stand {
            Stand::Entry(found) => drop(stands.entries.insert(path.clone(), found)),
            Stand::Nothing => {}
            Stand::Above(above) => drop(stands.in_the_way.insert(above)),
        }
    }
    Ok(stands)
}

fn look_at(directories: &mut Directories, path: &RepoPath) -> Result<Stand, Errno> {
    let above = match directories.of(path) {
        Ok(above) => above,
        Err(Errno::NOENT) => return Ok(Stand::Nothing),
        Err(Errno::NOTDIR | Errno::LOOP) => {
            let above = directories
                .closed()
                .and_then(|path| RepoPath::parse(path).ok());
            return Ok(above.map_or(Stand::Nothing, Stand::Above));
        }
        Err(error) => return Err(error),
    };
    match statat(
        above,
        path.file_name().as_bytes(),
        AtFlags::SYMLINK_NOFOLLOW,
    ) {
        Ok(stat) => Ok(Stand::Entry(stat_from(&stat))),
        Err(Errno::NOENT) => Ok(Stand::Nothing),
        Err(error) => Err(error),
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
