//! Tells which files of the main worktree changed since `add`, without saying by whom: the user
//! works there.

use std::collections::BTreeMap;

use crate::disk::files::stamp as stamp_of;
use crate::facts::error::FactsError;
use crate::facts::repository::{Main, Repository};
use crate::path::{RepoPath, escape_for_tsv, unescape_tsv};
use crate::record::MainFile;

/// Lists the files of the main worktree that are not as committed, sorted; none when there is no
/// main worktree, or the repository is a clone.
pub fn files(repository: &Repository) -> Result<Option<Vec<MainFile>>, FactsError> {
    // a clone is no part of it
    if repository.main == Main::Bare || repository.is_clone() {
        return Ok(None);
    }
    let paths = repository.git.status_paths()?.into_iter();
    let file = |path: bstr::BString| {
        let path = RepoPath::parse(path.strip_suffix(b"/").unwrap_or(&path)).ok()?;
        Some(MainFile {
            stamp: stamp(repository, &path),
            path: escape_for_tsv(path.as_bstr()),
        })
    };
    let mut files: Vec<MainFile> = paths.filter_map(file).collect();
    files.sort();
    Ok(Some(files))
}

fn stamp(repository: &Repository, path: &RepoPath) -> String {
    let relative = path.to_os_path();
    relative.map_or_else(
        |_| String::new(),
        |relative| stamp_of(&repository.root.as_std_path().join(relative)),
    )
}

/// Counts the files that are not as they were recorded.
pub fn changed(repository: &Repository, recorded: &[MainFile], now: &[MainFile]) -> usize {
    let map = |files: &[MainFile]| -> BTreeMap<String, String> {
        let pairs = files.iter();
        pairs
            .map(|file| (file.path.clone(), file.stamp.clone()))
            .collect()
    };
    let (before, now) = (map(recorded), map(now));
    let new = now
        .iter()
        .filter(|(path, stamp)| before.get(*path) != Some(stamp));
    // one that was committed as it was did not change
    let is_same = |path: &str, before: &str| {
        RepoPath::parse(unescape_tsv(path)).is_ok_and(|path| stamp(repository, &path) == before)
    };
    let gone = before
        .iter()
        .filter(|(path, stamp)| !now.contains_key(*path) && !is_same(path, stamp));
    new.count() + gone.count()
}
