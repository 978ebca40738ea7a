//! Holds [`Tracked`]: the paths that git tracks in the main worktree.

use bstr::{BStr, BString};

use crate::git::index::read_paths;
use crate::path::RepoPath;
use crate::scope::Case;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;

/// Represents the paths of the main worktree's index, sorted, as names compare here.
pub struct Tracked {
    paths: Vec<BString>,
}

impl Tracked {
    /// Reads the index; git does where it is a sparse one.
    pub fn read(repository: &Repository, case: Case) -> Result<Self, WorktreeError> {
        let index = repository.common_dir.join("index");
        let paths = match read_paths(&index, repository.format)? {
            Some(paths) => paths,
            None => repository.git.ls_files()?,
        };
        let fold = |path: &RepoPath| folded(path.as_bstr(), case);
        let mut paths: Vec<BString> = paths.iter().map(fold).collect();
        paths.sort_unstable();
        paths.dedup();
        Ok(Self { paths })
    }

    /// Whether this very path is tracked.
    pub fn has(&self, path: &BString) -> bool {
        self.paths.binary_search(path).is_ok()
    }

    /// Whether something in this directory is.
    pub fn has_below(&self, directory: &BString) -> bool {
        let mut prefix = directory.clone();
        prefix.push(b'/');
        let at = self.paths.partition_point(|path| *path < prefix);
        let next = self.paths.get(at);
        next.is_some_and(|path| path.starts_with(&prefix))
    }
}

/// A path as it is compared.
pub fn folded(path: &BStr, case: Case) -> BString {
    match case {
        Case::Sensitive => path.to_owned(),
        Case::Insensitive => path.to_ascii_lowercase().into(),
    }
}
