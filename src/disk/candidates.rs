//! Walks the main worktree for the untracked files that are selected for syncing.
//!
//! The walk is that of the `ignore` crate, without its filters. It follows no link, enters only
//! where something can match, and never git's directory, another worktree or repository, or what
//! `.agentwt` has beside the memory bank.

use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bstr::{BString, ByteSlice};
use camino::Utf8Path;
use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::disk::error::DiskError;
use crate::disk::files::exists;
use crate::disk::pool::threads;
use crate::disk::stat::stat_of;
use crate::scope::rule::{Case, EntryKind};
use crate::sync::matcher::Matcher;
use crate::sync::{Candidate, Candidates};
use crate::words::path::RepoPath;

/// What git knows of the main worktree.
pub struct MainPaths {
    tracked: BTreeSet<BString>,
    worktrees: BTreeSet<BString>,
    case: Case,
}

impl MainPaths {
    /// Takes the paths that git tracks, and the directories of git's other worktrees.
    pub fn new(
        tracked: impl IntoIterator<Item = RepoPath>,
        worktrees: impl IntoIterator<Item = RepoPath>,
        case: Case,
    ) -> Self {
        Self {
            tracked: fold_all(tracked, case),
            worktrees: fold_all(worktrees, case),
            case,
        }
    }

    /// True if git tracks something below a directory.
    fn has_tracked_below(&self, directory: &BString) -> bool {
        let prefix = BString::from([directory.as_slice(), b"/"].concat());
        match self.tracked.range(prefix.clone()..).next() {
            Some(path) => path.starts_with(&prefix),
            None => false,
        }
    }
}

fn fold_all(paths: impl IntoIterator<Item = RepoPath>, case: Case) -> BTreeSet<BString> {
    paths.into_iter().map(|path| fold(&path, case)).collect()
}

/// Returns a path in lower case where the file system does not tell cases apart.
fn fold(path: &RepoPath, case: Case) -> BString {
    match case {
        Case::Sensitive => path.as_bstr().to_owned(),
        Case::Insensitive => path.as_bstr().to_ascii_lowercase().into(),
    }
}

/// Finds what is to be copied from a main worktree: the untracked entries that the matcher
/// selects by its `pattern_count` patterns. A path that is gone since it was listed is passed over.
///
/// # Errors
/// Fails when a directory cannot be read.
pub fn find_candidates(
    root: &Utf8Path,
    matcher: &Matcher,
    pattern_count: usize,
    paths: &MainPaths,
) -> Result<Candidates, DiskError> {
    let walk = CandidateWalk {
        root,
        matcher,
        paths,
        candidates: Mutex::new(Candidates {
            tracked: vec![0; pattern_count],
            ..Candidates::default()
        }),
        failed: Mutex::new(None),
    };
    let mut builder = WalkBuilder::new(root);
    builder.standard_filters(false).threads(threads());
    builder
        .build_parallel()
        .run(|| Box::new(|entry| walk.visit(entry)));
    if let Some(error) = into_inner(walk.failed) {
        return Err(DiskError::new("look for files to sync", error));
    }
    let mut candidates = into_inner(walk.candidates);
    candidates
        .entries
        .sort_unstable_by(|a, b| a.path.cmp(&b.path));
    candidates.not_entered.sort_unstable();
    Ok(candidates)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

struct CandidateWalk<'a> {
    root: &'a Utf8Path,
    matcher: &'a Matcher,
    paths: &'a MainPaths,
    candidates: Mutex<Candidates>,
    failed: Mutex<Option<io::Error>>,
}

impl CandidateWalk<'_> {
    fn visit(&self, entry: Result<DirEntry, ignore::Error>) -> WalkState {
        match entry.and_then(|entry| self.visit_entry(&entry)) {
            Ok(state) => state,
            Err(error) => self.fail(&error),
        }
    }

    /// Passes over what is gone by now, and ends the walk at any other error.
    fn fail(&self, error: &ignore::Error) -> WalkState {
        let kind = error.io_error().map(io::Error::kind);
        if kind == Some(io::ErrorKind::NotFound) {
            return WalkState::Continue;
        }
        let reported = io::Error::new(kind.unwrap_or(io::ErrorKind::Other), error.to_string());
        *lock(&self.failed) = Some(reported);
        WalkState::Quit
    }

    /// Takes the entry if it is selected, and says whether the walk goes on into it.
    fn visit_entry(&self, entry: &DirEntry) -> Result<WalkState, ignore::Error> {
        let Some(path) = self.path_of(entry) else {
            return Ok(WalkState::Continue);
        };
        let folded = fold(&path, self.paths.case);
        let is_reserved = is_reserved(&folded, entry);
        if is_directory(entry) && (is_reserved || !self.matcher.enters(&path)) {
            return Ok(WalkState::Skip);
        }
        if self.is_not_entered(entry, &path, &folded) {
            lock(&self.candidates).not_entered.push(path);
            return Ok(WalkState::Skip);
        }
        if !is_reserved {
            self.take_if_selected(entry, path, &folded)?;
        }
        Ok(WalkState::Continue)
    }

    /// Adds an entry that patterns select to the candidates, unless git tracks it, or something in
    /// it: the worktree has that anyway. A tracked file is counted.
    fn take_if_selected(
        &self,
        entry: &DirEntry,
        path: RepoPath,
        folded: &BString,
    ) -> Result<(), ignore::Error> {
        let kind = if is_directory(entry) {
            EntryKind::Directory
        } else {
            EntryKind::File
        };
        let selected = self.matcher.selected(&path, kind);
        if !selected.any() {
            return Ok(());
        }
        let is_tracked =
            self.paths.tracked.contains(folded) || self.paths.has_tracked_below(folded);
        if is_tracked {
            if kind == EntryKind::File {
                self.count_tracked(&selected.patterns);
            }
            return Ok(());
        }
        let stat = stat_of(&entry.metadata()?);
        lock(&self.candidates).entries.push(Candidate {
            path,
            stat,
            patterns: selected.patterns,
        });
        Ok(())
    }

    /// Returns the path of an entry in the worktree; none for the worktree itself.
    fn path_of(&self, entry: &DirEntry) -> Option<RepoPath> {
        if entry.depth() == 0 {
            return None;
        }
        let below = entry.path().strip_prefix(self.root).ok()?;
        RepoPath::parse(below.as_os_str().as_bytes()).ok()
    }

    /// True if something below an entry could match, but it is a repository, a worktree or a link.
    fn is_not_entered(&self, entry: &DirEntry, path: &RepoPath, folded: &BString) -> bool {
        if is_directory(entry) {
            self.paths.tracked.contains(folded)
                || self.paths.worktrees.contains(folded)
                || is_repository(entry.path())
        } else {
            entry.path_is_symlink() && self.matcher.names_as_directory(path)
        }
    }

    /// Counts a tracked file for each pattern that selects it.
    fn count_tracked(&self, patterns: &[usize]) {
        let mut candidates = lock(&self.candidates);
        for pattern in patterns {
            candidates.tracked[*pattern] += 1;
        }
    }
}

fn is_directory(entry: &DirEntry) -> bool {
    entry.file_type().is_some_and(|kind| kind.is_dir())
}

/// True if an entry is git's or ours, which nothing selects: `.git`, and all in `.agentwt` but the
/// memory bank.
fn is_reserved(folded: &BString, entry: &DirEntry) -> bool {
    let mut components = folded.splitn_str(3, "/");
    match (components.next(), components.next()) {
        (Some(b".agentwt"), Some(second)) => second != b"memory",
        (Some(b".agentwt"), None) => !is_directory(entry),
        (first, _) => first == Some(b".git"),
    }
}

/// True if a directory is a repository, a worktree or a bare repository.
fn is_repository(directory: &Path) -> bool {
    exists(&directory.join(".git")) || is_git_directory(directory)
}

/// True if git takes a directory for a git directory, as it takes a bare repository
/// (`is_git_directory`, git's setup.c).
pub fn is_git_directory(directory: &Path) -> bool {
    if !exists(&directory.join("HEAD")) {
        return false;
    }
    let has_own_parts = exists(&directory.join("objects")) && exists(&directory.join("refs"));
    has_own_parts || exists(&directory.join("commondir"))
}
