//! Finds which changes lie outside the write roots that somebody was given.
//!
//! A path counts where its file really is: links in its parents are resolved, the file itself is
//! not. A root counts in the same way where it lies inside the worktree, so that an agent cannot
//! widen it by putting a link in the place of its directory; one outside is resolved fully.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use bstr::BString;

use crate::change::Change;
use crate::disk::DiskError;
use crate::disk::below::resolve;
use crate::path::RepoPath;
use crate::worktree::{Worktree, WorktreeError};

/// Resolves write roots; relative ones start in `start`.
///
/// # Errors
/// Fails when the disk does.
pub fn resolve_all(
    known: &Worktree,
    start: &Path,
    given: &[PathBuf],
) -> Result<Roots, WorktreeError> {
    let worktree = resolve(known.record.path.as_std_path(), &|_| true)?;
    let inside = |path: &Path| path.starts_with(&worktree);
    let roots = given.iter().map(|root| resolve(&start.join(root), &inside));
    Ok(Roots::new(roots.collect::<Result<_, DiskError>>()?))
}

/// Picks the changes that no root covers; what is no path of the repository never is.
///
/// # Errors
/// Fails when the disk does.
pub fn outside(
    known: &Worktree,
    roots: &Roots,
    changes: &[Change],
) -> Result<Vec<Change>, WorktreeError> {
    let mut parents: HashMap<BString, PathBuf> = HashMap::new();
    let mut outside = Vec::new();
    for change in changes {
        let covered = match change.place.path() {
            Some(path) => roots.cover(&place_of(known, path, &mut parents)?),
            None => false,
        };
        if !covered {
            outside.push(change.clone());
        }
    }
    Ok(outside)
}

/// Where a path of the repository is on disk; each directory is resolved once.
fn place_of(
    known: &Worktree,
    path: &RepoPath,
    parents: &mut HashMap<BString, PathBuf>,
) -> Result<PathBuf, WorktreeError> {
    let worktree = known.record.path.as_std_path();
    let relative = path.to_os_path().map_err(|error| odd(path, error))?;
    let key = path.parents().next().map(ToOwned::to_owned);
    let key = key.unwrap_or_default();
    if !parents.contains_key(&key) {
        let directory = worktree.join(relative.parent().unwrap_or(Path::new("")));
        parents.insert(key.clone(), resolve(&directory, &|_| false)?);
    }
    let name = relative.file_name().unwrap_or_default();
    Ok(parents[&key].join(name))
}

fn odd(path: &RepoPath, error: bstr::Utf8Error) -> WorktreeError {
    let error = std::io::Error::other(error);
    DiskError::new(format!("resolve {path}"), error).into()
}

/// Represents absolute write roots ("leases").
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Roots(Vec<PathBuf>);

impl Roots {
    /// Takes absolute paths without `.` and `..`; one that stands twice is held once.
    #[must_use]
    pub fn new(mut roots: Vec<PathBuf>) -> Self {
        roots.sort_unstable();
        roots.dedup();
        Self(roots)
    }

    /// Whether a path is one of them, or below one.
    #[must_use]
    pub fn cover(&self, path: &Path) -> bool {
        self.0.iter().any(|root| path.starts_with(root))
    }

    /// The roots, sorted.
    pub fn iter(&self) -> impl Iterator<Item = &Path> {
        self.0.iter().map(PathBuf::as_path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_root_covers_whole_components_only() {
        let roots = Roots::new(vec!["/a/b".into(), "/c".into(), "/a/b".into()]);
        for (path, covered) in [
            ("/a/b", true),
            ("/a/b/c", true),
            ("/a/bc", false),
            ("/a", false),
            ("/c/d/e", true),
            ("/", false),
        ] {
            assert_eq!(roots.cover(path.as_ref()), covered, "{path}");
        }
        assert_eq!(roots.iter().count(), 2);
        assert!(!Roots::default().cover("/".as_ref()));
        assert!(Roots::new(vec!["/".into()]).cover("/x".as_ref()));
    }
}
