//! Tells which files of the main worktree changed since `add`, without saying by whom: the user
//! works there.
//!
//! Usually nothing did, and stat data prove it: git's own status would cost as much as a whole
//! verification. Where they do not, git is asked ([`files`]).

use std::collections::BTreeMap;

use bstr::{BString, ByteSlice};

use super::main_since::{Conversions, Looked, Modes, files_since};
use crate::disk::files::{self as disk, settled_time, stamp as stamp_of};
use crate::disk::scan::Walking;
use crate::path::{RepoPath, escape_for_tsv, unescape_tsv};
use crate::worktree::WorktreeError;
use crate::worktree::repository::{Main, Repository};
use crate::worktree::{MainFile, MainSince};

/// Lists the files of the main worktree that are not as committed, sorted; none when there is no
/// main worktree, or the repository is a clone.
pub fn files(repository: &Repository) -> Result<Option<Vec<MainFile>>, WorktreeError> {
    if !is_there(repository) {
        return Ok(None);
    }
    Ok(Some(as_they_stand(
        repository,
        &repository.git.status_paths()?,
    )))
}

/// These files of the main worktree, sorted.
fn as_they_stand(repository: &Repository, paths: &[BString]) -> Vec<MainFile> {
    let file = |path: &BString| {
        let path = RepoPath::parse(path.strip_suffix(b"/").unwrap_or(path)).ok()?;
        Some(MainFile {
            stamp: stamp(repository, &path),
            path: escape_for_tsv(path.as_bstr()),
        })
    };
    let mut files: Vec<MainFile> = paths.iter().filter_map(file).collect();
    files.sort();
    files
}

/// A clone is no part of it.
fn is_there(repository: &Repository) -> bool {
    repository.main != Main::Bare && !repository.is_clone()
}

/// What is not as committed now, and from when on a change counts, so that a later look knows what
/// it need not look at; no such moment where the file system's clock cannot be asked.
pub fn take(
    repository: &Repository,
) -> Result<(Option<MainSince>, Option<Vec<MainFile>>), WorktreeError> {
    if !is_there(repository) || !disk::on_one_file_system(&repository.root, &repository.common_dir)
    {
        return Ok((None, files(repository)?));
    }
    // the moment comes first: what changes meanwhile counts
    let time = settled_time(&repository.common_dir, i64::MIN)?;
    let untracked = repository.git.untracked()?;
    let (directories, loose): (Vec<BString>, Vec<BString>) =
        untracked.into_iter().partition(|path| path.ends_with(b"/"));
    let since = MainSince {
        time,
        directories: directories
            .iter()
            .map(|path| escape_for_tsv(path.strip_suffix(b"/").unwrap_or(path)))
            .collect(),
    };
    let files = match given(&directories).zip(proven(repository, time)?) {
        Some((directories, mut files)) => {
            let mut new = loose;
            new.extend(repository.git.untracked_below(&directories)?);
            files.extend(as_they_stand(repository, &new));
            files.sort();
            Some(files)
        }
        None => files(repository)?,
    };
    Ok((Some(since), files))
}

/// How many directories git is asked about by name.
const MOST_NAMED: usize = 100;

/// The directories as words of a command line, where they can be.
fn given(directories: &[BString]) -> Option<Vec<&str>> {
    let words = directories.iter().map(|path| path.to_str().ok());
    words
        .collect::<Option<Vec<_>>>()
        .filter(|words| words.len() <= MOST_NAMED)
}

/// What is tracked and not as committed; none where stat data do not tell.
fn proven(repository: &Repository, time: i64) -> Result<Option<Vec<MainFile>>, WorktreeError> {
    if repository.walking == Walking::Full {
        return Ok(None);
    }
    let ignores_modes = repository.git.config_get_bool("core.fileMode")? == Some(false);
    let looked = Looked {
        since: time,
        recorded: Vec::new(),
        directories: Vec::new(),
        conversions: Conversions::Possible,
        modes: if ignores_modes {
            Modes::Ignored
        } else {
            Modes::Count
        },
    };
    files_since(repository, &looked)
}

/// What a file is by its stat data; empty where none is.
pub fn stamp(repository: &Repository, path: &RepoPath) -> String {
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
