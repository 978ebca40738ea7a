//! Walks the main worktree for the untracked files that are selected for syncing.
//!
//! The walk is that of the `ignore` crate, without its filters. It follows no link, enters only
//! where something can match, and never git's directory, another worktree or repository, or what
//! `.agentwt` has beside the memory bank.
#![expect(
    clippy::disallowed_methods,
    reason = "the walk of the user's own worktree is by paths"
)]

use std::collections::BTreeSet;
use std::fs::FileType;
use std::io;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use bstr::{BStr, BString, ByteSlice};
use camino::Utf8Path;
use ignore::{DirEntry, WalkBuilder, WalkState};

use super::error::DiskError;
use super::stat::stat_of;
use crate::path::RepoPath;
use crate::scope::Case;
use crate::sync::{Candidate, CandidateKind, Candidates, Matcher};

/// Holds what git knows of the main worktree.
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
        let fold = |path: RepoPath| folded(path.as_bstr(), case);
        Self {
            tracked: tracked.into_iter().map(fold).collect(),
            worktrees: worktrees.into_iter().map(fold).collect(),
            case,
        }
    }

    fn is_tracked(&self, path: &RepoPath) -> bool {
        self.tracked.contains(&folded(path.as_bstr(), self.case))
    }

    fn has_tracked_below(&self, directory: &RepoPath) -> bool {
        let mut prefix = folded(directory.as_bstr(), self.case);
        prefix.push(b'/');
        let next = self.tracked.range(prefix.clone()..).next();
        next.is_some_and(|path| path.starts_with(&prefix))
    }

    fn is_worktree(&self, path: &RepoPath) -> bool {
        self.worktrees.contains(&folded(path.as_bstr(), self.case))
    }

    /// Whether an entry is git's or ours, which nothing selects: `.git`, and all in `.agentwt`
    /// but the memory bank.
    fn is_reserved(&self, path: &RepoPath, is_directory: bool) -> bool {
        let path = folded(path.as_bstr(), self.case);
        let mut parts = path.splitn_str(3, "/");
        match (parts.next(), parts.next()) {
            (Some(b".agentwt"), Some(second)) => second != b"memory",
            (Some(b".agentwt"), None) => !is_directory,
            (first, _) => first == Some(b".git"),
        }
    }
}

/// A path as it is compared.
fn folded(path: &BStr, case: Case) -> BString {
    match case {
        Case::Sensitive => path.to_owned(),
        Case::Insensitive => path.to_ascii_lowercase().into(),
    }
}

#[derive(Default)]
struct Found {
    candidates: Candidates,
    failed: Option<(PathBuf, io::Error)>,
}

/// Finds what the patterns select below a root; `patterns` is their number.
///
/// # Errors
/// Fails when a directory that is entered cannot be read, or a candidate cannot be looked at.
pub fn find_candidates(
    root: &Utf8Path,
    matcher: &Matcher,
    patterns: usize,
    paths: &MainPaths,
) -> Result<Candidates, DiskError> {
    let found = Mutex::new(Found::default());
    let walk = Walk {
        root: root.as_std_path(),
        matcher,
        paths,
        found: &found,
    };
    walk.lock().candidates.tracked = vec![0; patterns];
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(false)
        .threads(super::pool::threads());
    builder.build_parallel().run(|| {
        Box::new(|entry| match entry {
            Ok(entry) if entry.depth() == 0 => WalkState::Continue,
            Ok(entry) => match walk.entry(&entry) {
                Ok(state) => state,
                Err(error) => walk.fail(entry.into_path(), error),
            },
            Err(error) => {
                let path = path_of(&error).unwrap_or(root.as_std_path()).to_owned();
                let error = error.into_io_error();
                walk.fail(
                    path,
                    error.unwrap_or_else(|| io::Error::other("unreadable")),
                )
            }
        })
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    if let Some((path, error)) = found.failed {
        let path = crate::path::escape_for_terminal(path.as_os_str().as_encoded_bytes());
        let attempt = format!("look for files to sync in {path}");
        return Err(DiskError::new(attempt, error));
    }
    let mut candidates = found.candidates;
    candidates
        .entries
        .sort_unstable_by(|a, b| a.path.cmp(&b.path));
    candidates.not_entered.sort_unstable();
    Ok(candidates)
}

/// The path that an error of the walk is about.
fn path_of(error: &ignore::Error) -> Option<&Path> {
    match error {
        ignore::Error::WithPath { path, .. } => Some(path),
        ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
            path_of(err)
        }
        _other => None,
    }
}

struct Walk<'a> {
    root: &'a Path,
    matcher: &'a Matcher,
    paths: &'a MainPaths,
    found: &'a Mutex<Found>,
}

impl Walk<'_> {
    fn lock(&self) -> std::sync::MutexGuard<'_, Found> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Ends the walk; of several errors that of the first path is reported.
    fn fail(&self, path: PathBuf, error: io::Error) -> WalkState {
        if error.kind() == io::ErrorKind::NotFound {
            // gone since it was listed
            return WalkState::Continue;
        }
        let mut found = self.lock();
        if found.failed.as_ref().is_none_or(|(other, _)| path < *other) {
            found.failed = Some((path, error));
        }
        WalkState::Quit
    }

    fn entry(&self, entry: &DirEntry) -> io::Result<WalkState> {
        let below = entry.path().strip_prefix(self.root);
        let below = below.map_err(io::Error::other)?.as_os_str();
        let path = RepoPath::parse(below.as_encoded_bytes()).map_err(io::Error::other)?;
        match entry.file_type() {
            Some(kind) if kind.is_dir() => self.directory(entry, path),
            Some(kind) => self.file(entry, path, kind).map(|()| WalkState::Continue),
            None => Ok(WalkState::Continue),
        }
    }

    fn directory(&self, entry: &DirEntry, path: RepoPath) -> io::Result<WalkState> {
        if self.paths.is_reserved(&path, true) || !self.matcher.enters(&path) {
            return Ok(WalkState::Skip);
        }
        let is_foreign = self.paths.is_tracked(&path)
            || self.paths.is_worktree(&path)
            || is_repository(entry.path());
        if is_foreign {
            self.lock().candidates.not_entered.push(path);
            return Ok(WalkState::Skip);
        }
        let selected = self.matcher.selected(&path, true);
        // the worktree has a tracked one anyway
        if selected.any() && !self.paths.has_tracked_below(&path) {
            self.select(entry, path, CandidateKind::Directory, selected.patterns)?;
        }
        Ok(WalkState::Continue)
    }

    fn file(&self, entry: &DirEntry, path: RepoPath, kind: FileType) -> io::Result<()> {
        if kind.is_symlink() && self.matcher.names_as_directory(&path) {
            self.lock().candidates.not_entered.push(path);
            return Ok(());
        }
        let selected = self.matcher.selected(&path, false);
        if !selected.any() || self.paths.is_reserved(&path, false) {
            return Ok(());
        }
        if self.paths.is_tracked(&path) || self.paths.has_tracked_below(&path) {
            let mut found = self.lock();
            for pattern in selected.patterns {
                found.candidates.tracked[pattern] += 1;
            }
            return Ok(());
        }
        self.select(entry, path, kind_of(kind), selected.patterns)
    }

    fn select(
        &self,
        entry: &DirEntry,
        path: RepoPath,
        kind: CandidateKind,
        patterns: Vec<usize>,
    ) -> io::Result<()> {
        let stat = stat_of(&std::fs::symlink_metadata(entry.path())?);
        self.lock().candidates.entries.push(Candidate {
            path,
            kind,
            stat,
            patterns,
        });
        Ok(())
    }
}

fn kind_of(kind: FileType) -> CandidateKind {
    if kind.is_symlink() {
        CandidateKind::Link
    } else if kind.is_file() {
        CandidateKind::File
    } else if kind.is_fifo() {
        CandidateKind::Special("a FIFO")
    } else if kind.is_socket() {
        CandidateKind::Special("a socket")
    } else {
        CandidateKind::Special("a device")
    }
}

/// Whether a directory is another repository's: it has a `.git` of any kind, or is a bare one
/// (gitrepository-layout(5)).
fn is_repository(directory: &Path) -> bool {
    let has = |name: &str| std::fs::symlink_metadata(directory.join(name)).is_ok();
    has(".git") || has("HEAD") && has("objects") && has("refs")
}
