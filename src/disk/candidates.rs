//! Walks the main worktree for the untracked files that are selected for syncing.
//!
//! The walk is that of the `ignore` crate, without its filters. It follows no link, enters only
//! where something can match, and never git's directory, another worktree or repository, or what
//! `.agentwt` has beside the memory bank.
#![expect(clippy::disallowed_methods, reason = "walks the user's own worktree")]

use std::collections::BTreeSet;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};

use bstr::{BString, ByteSlice};
use camino::Utf8Path;
use ignore::{DirEntry, WalkBuilder, WalkState};

use crate::disk::DiskError;
use crate::disk::stat::stat_of;
use crate::scope::Case;
use crate::sync::matcher::Matcher;
use crate::sync::{Candidate, Candidates};
use crate::words::path::RepoPath;

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
        let fold = |path: RepoPath| folded(&path, case);
        Self {
            tracked: tracked.into_iter().map(fold).collect(),
            worktrees: worktrees.into_iter().map(fold).collect(),
            case,
        }
    }

    fn has_tracked_below(&self, directory: &BString) -> bool {
        let prefix = BString::from([directory.as_slice(), b"/"].concat());
        let next = self.tracked.range(prefix.clone()..).next();
        next.is_some_and(|path| path.starts_with(&prefix))
    }
}

fn folded(path: &RepoPath, case: Case) -> BString {
    match case {
        Case::Sensitive => path.as_bstr().to_owned(),
        Case::Insensitive => path.as_bstr().to_ascii_lowercase().into(),
    }
}

/// Whether an entry is git's or ours, which nothing selects: `.git`, and all in `.agentwt` but the
/// memory bank.
fn is_reserved(folded: &BString, is_directory: bool) -> bool {
    let mut parts = folded.splitn_str(3, "/");
    match (parts.next(), parts.next()) {
        (Some(b".agentwt"), Some(second)) => second != b"memory",
        (Some(b".agentwt"), None) => !is_directory,
        (first, _) => first == Some(b".git"),
    }
}

/// Walks a main worktree. A path that is gone since it was listed is passed over.
///
/// # Errors
/// Fails when a directory cannot be read.
pub fn find_candidates(
    root: &Utf8Path,
    matcher: &Matcher,
    patterns: usize,
    paths: &MainPaths,
) -> Result<Candidates, DiskError> {
    let walk = CandidateWalk {
        root,
        matcher,
        paths,
        found: Mutex::new(Candidates {
            tracked: vec![0; patterns],
            ..Candidates::default()
        }),
        failed: Mutex::new(None),
    };
    let mut builder = WalkBuilder::new(root);
    builder
        .standard_filters(false)
        .threads(super::pool::threads());
    builder.build_parallel().run(|| {
        Box::new(|entry| {
            let entry = entry.and_then(|entry| walk.entry(&entry));
            entry.unwrap_or_else(|error| walk.fail(&error))
        })
    });
    if let Some(error) = into_inner(walk.failed) {
        return Err(DiskError::new("look for files to sync", error));
    }
    let mut found = into_inner(walk.found);
    found.entries.sort_unstable_by(|a, b| a.path.cmp(&b.path));
    found.not_entered.sort_unstable();
    Ok(found)
}

fn into_inner<T>(mutex: Mutex<T>) -> T {
    mutex.into_inner().unwrap_or_else(PoisonError::into_inner)
}

struct CandidateWalk<'a> {
    root: &'a Utf8Path,
    matcher: &'a Matcher,
    paths: &'a MainPaths,
    found: Mutex<Candidates>,
    failed: Mutex<Option<io::Error>>,
}

impl CandidateWalk<'_> {
    fn found(&self) -> MutexGuard<'_, Candidates> {
        self.found.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn fail(&self, error: &ignore::Error) -> WalkState {
        let kind = error.io_error().map(io::Error::kind);
        if kind == Some(io::ErrorKind::NotFound) {
            return WalkState::Continue;
        }
        let error = io::Error::new(kind.unwrap_or(io::ErrorKind::Other), error.to_string());
        *self.failed.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        WalkState::Quit
    }

    fn entry(&self, entry: &DirEntry) -> Result<WalkState, ignore::Error> {
        let below = entry.path().strip_prefix(self.root);
        let below = below.ok().filter(|_| entry.depth() > 0);
        let path = below.and_then(|path| RepoPath::parse(path.as_os_str().as_bytes()).ok());
        let (Some(path), Some(kind)) = (path, entry.file_type()) else {
            return Ok(WalkState::Continue);
        };
        let (paths, matcher, is_directory) = (self.paths, self.matcher, kind.is_dir());
        let folded = folded(&path, paths.case);
        let is_reserved = is_reserved(&folded, is_directory);
        if is_directory && (is_reserved || !matcher.enters(&path)) {
            return Ok(WalkState::Skip);
        }
        let is_tracked = paths.tracked.contains(&folded);
        let is_not_entered = if is_directory {
            is_tracked || paths.worktrees.contains(&folded) || is_repository(entry.path())
        } else {
            kind.is_symlink() && matcher.names_as_directory(&path)
        };
        if is_not_entered {
            self.found().not_entered.push(path);
            return Ok(WalkState::Skip);
        }
        let selected = matcher.selected(&path, is_directory);
        if is_reserved || !selected.any() {
            return Ok(WalkState::Continue);
        }
        let patterns = selected.patterns;
        if is_tracked || paths.has_tracked_below(&folded) {
            // the worktree has a tracked directory anyway
            for pattern in patterns.into_iter().filter(|_| !is_directory) {
                self.found().tracked[pattern] += 1;
            }
            return Ok(WalkState::Continue);
        }
        let stat = stat_of(&entry.metadata()?);
        self.found().entries.push(Candidate {
            path,
            stat,
            patterns,
        });
        Ok(WalkState::Continue)
    }
}

fn is_repository(directory: &Path) -> bool {
    let has = |name: &str| std::fs::symlink_metadata(directory.join(name)).is_ok();
    has(".git") || has("HEAD") && has("objects") && has("refs")
}
