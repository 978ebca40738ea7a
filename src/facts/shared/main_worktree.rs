//! Tells which files of the main worktree changed since `add`, without saying by whom: the user
//! works there.
//!
//! Usually nothing did, and stat data prove it: git's own status would cost as much as a whole
//! verification. Where they do not, git is asked ([`files`]).

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BStr, BString, ByteSlice};

use crate::disk::DiskError;
use crate::disk::below::open_below;
use crate::disk::files::{self as disk, Opened, settled_time, stamp as stamp_of};
use crate::disk::scan::Walking;
use crate::disk::untouched::{Enters, Expected, is_stirred, touched};
use crate::entry::{Entry, Mode};
use crate::facts::error::FactsError;
use crate::facts::repository::{CONFIG, Main, Repository, WORKTREES};
use crate::git::index::{RawEntry, RawIndex, Stage};
use crate::path::{RepoPath, escape_for_tsv, unescape_tsv};
use crate::record::{MainFile, MainSince};

/// Lists the files of the main worktree that are not as committed, sorted; none when there is no
/// main worktree, or the repository is a clone.
pub fn files(repository: &Repository) -> Result<Option<Vec<MainFile>>, FactsError> {
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
) -> Result<(Option<MainSince>, Option<Vec<MainFile>>), FactsError> {
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
fn proven(repository: &Repository, time: i64) -> Result<Option<Vec<MainFile>>, FactsError> {
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

/// Holds what a look at the main worktree goes by.
pub struct Looked<'a> {
    /// The earliest moment from which on changes count.
    pub since: i64,
    /// What was not as committed at one of the moments, and is compared by itself.
    pub recorded: Vec<&'a [MainFile]>,
    /// Directories that had nothing tracked in them, and were not ignored.
    pub directories: Vec<&'a [String]>,
    /// Whether a file may have other bytes than git stores.
    pub conversions: Conversions,
    /// Whether the executable bit counts.
    pub modes: Modes,
}

/// Says whether files may be converted on their way to the disk (gitattributes(5)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Conversions {
    /// They may.
    Possible,
    /// None is.
    None,
}

/// Says whether the executable bit counts (`core.fileMode`, git-config(1)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Modes {
    /// It does.
    Count,
    /// It does not.
    Ignored,
}

/// Lists the files that are not as committed and were not recorded, as [`files`] does; none where
/// stat data do not tell, and git has to be asked.
///
/// # Errors
/// Fails when something cannot be read.
pub fn files_since(
    repository: &Repository,
    looked: &Looked<'_>,
) -> Result<Option<Vec<MainFile>>, FactsError> {
    let Some(bytes) = disk::read(&repository.common_dir.join("index"))? else {
        return Ok(None);
    };
    let Ok(index) = RawIndex::new(bytes, repository.format.length()) else {
        return Ok(None);
    };
    let mut tracked: Vec<Expected<'_>> = Vec::with_capacity(index.len());
    let mut entries: Vec<RawEntry<'_>> = Vec::new();
    let mut is_ordinary = true;
    let extensions = index.each(|entry| {
        is_ordinary &= entry.stage == Stage::Normal;
        // what git does not look at: submodules, and what it was told to pass over
        if entry.entry.mode != Mode::Gitlink && !entry.assume_unchanged && !entry.skip_worktree {
            tracked.push(expected(&entry));
        } else {
            entries.push(entry);
        }
    });
    let Ok(extensions) = extensions else {
        return Ok(None);
    };
    // what is staged is told by git alone
    let Some(tree) = index.noted_tree(extensions).filter(|_| is_ordinary) else {
        return Ok(None);
    };
    let Some(head) = repository.git.rev_parse_commit("HEAD")? else {
        return Ok(None);
    };
    if repository.objects()?.commit(&head)?.tree != tree {
        return Ok(None);
    }
    let recorded: BTreeSet<BString> = looked
        .recorded
        .iter()
        .flat_map(|files| files.iter())
        .map(|file| unescape_tsv(&file.path).into())
        .collect();
    let root = &repository.root;
    let found = touched(root, &tracked, looked.since)?;
    let mut odd: BTreeSet<&BStr> = BTreeSet::new();
    for (at, stat) in &found.files {
        let path = tracked[*at].path;
        let is_old = stat.is_some_and(|stat| stat.ctime < looked.since);
        if !(is_old && recorded.contains(path)) {
            odd.insert(path);
        }
    }
    let Some(now) = dirty(repository, looked, &index, &odd)? else {
        return Ok(None);
    };
    let passed_over: BTreeSet<&BStr> = entries.iter().map(|entry| entry.path).collect();
    let ours = CONFIG.split('/').next().unwrap_or(CONFIG);
    let is_known = |path: &BStr| {
        path == ".git"
            || path == ours
            // what is in there is verified by itself, and may be large
            || path == WORKTREES
            || recorded.contains(path)
            || passed_over.contains(path)
            || is_tracked(&tracked, path)
    };
    for directory in &found.directories {
        let directory = directory.as_ref();
        if is_stirred(root, directory, looked.since, &is_known, Enters::None)? {
            return Ok(None);
        }
    }
    for directory in looked.directories.iter().flat_map(|all| all.iter()) {
        let directory = unescape_tsv(directory);
        let directory = BStr::new(&directory);
        if is_stirred(root, directory, looked.since, &is_known, Enters::All)? {
            return Ok(None);
        }
    }
    Ok(Some(now))
}

/// Which of these files are not what the index says; none where their bytes do not tell, as git
/// may have converted them.
fn dirty(
    repository: &Repository,
    looked: &Looked<'_>,
    index: &RawIndex,
    odd: &BTreeSet<&BStr>,
) -> Result<Option<Vec<MainFile>>, FactsError> {
    let mut entries: Vec<RawEntry<'_>> = Vec::new();
    if !odd.is_empty() {
        let taken = index.each(|entry| {
            if odd.contains(entry.path) {
                entries.push(entry);
            }
        });
        if taken.is_err() {
            return Ok(None);
        }
    }
    let mut now = Vec::new();
    for entry in entries {
        let Some(path) = entry.repo_path() else {
            return Ok(None);
        };
        let stamp = stamp(repository, &path);
        if !stamp.is_empty() {
            if is_as_stored(repository, looked, &path, entry.entry)? {
                continue;
            }
            if looked.conversions == Conversions::Possible {
                return Ok(None);
            }
        }
        let path = escape_for_tsv(path.as_bstr());
        now.push(MainFile { path, stamp });
    }
    now.sort();
    Ok(Some(now))
}

fn is_as_stored(
    repository: &Repository,
    looked: &Looked<'_>,
    path: &RepoPath,
    stored: Entry,
) -> Result<bool, FactsError> {
    let failed = |error| DiskError::new(format!("read {path} in the main worktree"), error);
    let format = repository.format;
    let opened = open_below(&repository.root, path).map_err(failed)?;
    let now = match opened {
        Opened::File {
            size,
            executable,
            mut content,
        } => {
            let id = format.hash_blob(size, &mut content).map_err(failed)?;
            let mode = match (looked.modes, executable) {
                (Modes::Count, true) => Mode::Executable,
                (Modes::Ignored, _) if stored.mode.is_regular() => stored.mode,
                (Modes::Count, false) | (Modes::Ignored, _) => Mode::File,
            };
            Entry { mode, id }
        }
        Opened::Link(text) => {
            let id = format.hash_blob(text.len() as u64, &mut text.as_slice());
            let (mode, id) = (Mode::Link, id.map_err(failed)?);
            Entry { mode, id }
        }
        Opened::Other => return Ok(false),
    };
    Ok(now == stored)
}

fn expected<'a>(entry: &RawEntry<'a>) -> Expected<'a> {
    Expected {
        path: entry.path,
        stat: entry.stat,
    }
}

/// Whether a path is a file of the list, or a directory on the way to one.
fn is_tracked(tracked: &[Expected<'_>], path: &BStr) -> bool {
    let at = tracked.partition_point(|file| file.path < path);
    if tracked.get(at).is_some_and(|file| file.path == path) {
        return true;
    }
    let inside = [path.as_bytes(), b"/"].concat();
    let at = tracked.partition_point(|file| *file.path < *inside.as_slice());
    tracked
        .get(at)
        .is_some_and(|file| file.path.starts_with(&inside))
}
