//! Finds what is synced: the patterns that count, what they select in the main worktree, and what
//! is in the worktree at those paths.

use std::collections::{BTreeMap, HashSet};

use bstr::BStr;
use camino::Utf8Path;

use crate::actions::sync_plan::{ComparedFiles, ExistingFile, WorktreeFiles};
use crate::config::FileSyncConfig;
use crate::disk::candidates::{MainPaths, find_candidates};
use crate::disk::digest::digest_below;
use crate::disk::drift::{drift_of, is_proven};
use crate::disk::entries::stat_entries;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::git::error::GitError;
use crate::git::index;
use crate::inventory::manifest::Stat;
use crate::inventory::placed::{CopyState, Digest, Placed, PlacedKind};
use crate::sync::matcher::Matcher;
use crate::sync::pattern::{Pattern, PatternError};
use crate::sync::{Candidates, PatternOrigin};
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::repository::Repository;

/// The file whose rules select among ignored files, at the root.
const WORKTREE_INCLUDE: &str = ".worktreeinclude";

/// Whether the config says what is copied into a worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ConfigPatterns {
    /// It does.
    Used,
    /// It does not (`--no-sync`, `--repo`).
    Unused,
}

impl ConfigPatterns {
    /// Returns what counts for a worktree, by its list of placed files.
    pub fn of(placed: &Placed) -> Self {
        if placed.without_config {
            Self::Unused
        } else {
            Self::Used
        }
    }

    /// Returns whether `.worktreeinclude` counts as well.
    pub fn include_file(self, config: &FileSyncConfig) -> IncludeFile {
        match self {
            Self::Used if config.enabled => IncludeFile::Read,
            Self::Used | Self::Unused => IncludeFile::Unread,
        }
    }
}

/// Whether `.worktreeinclude` counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IncludeFile {
    /// It does.
    Read,
    /// It does not.
    Unread,
}

/// Lists the patterns that count: those of the config, these globs, and always the memory bank.
///
/// # Errors
/// Fails when a glob is refused. Those of the config were checked when it was read.
pub fn patterns(
    config: &FileSyncConfig,
    config_patterns: ConfigPatterns,
    globs: &[String],
    origin: &PatternOrigin,
) -> Result<Vec<Pattern>, PatternError> {
    let mut patterns = Vec::new();
    if config.enabled && config_patterns == ConfigPatterns::Used {
        for glob in &config.patterns {
            patterns.push(Pattern::parse(&glob.value, PatternOrigin::File(glob.line))?);
        }
        for glob in &config.optional_patterns {
            patterns.push(Pattern::parse(&glob.value, PatternOrigin::File(glob.line))?.optional());
        }
    }
    for glob in globs {
        patterns.push(Pattern::parse(glob, origin.clone())?);
    }
    patterns.push(Pattern::memory_bank());
    Ok(patterns)
}

/// What can be synced from the main worktree.
impl Repository {
    /// Finds what the patterns select, and `.worktreeinclude`, if that counts.
    ///
    /// # Errors
    /// Fails when git or the disk does, and when a pattern names a directory that is a link:
    /// nothing behind a link is read.
    pub fn candidates(
        &self,
        patterns: &[Pattern],
        include: IncludeFile,
    ) -> Result<Candidates, Error> {
        let home = self.home();
        let exists = |name: &str| files::exists(&home.root.join(name));
        let is_built_in = |pattern: &Pattern| *pattern.origin() == PatternOrigin::BuiltIn;
        let mut rules = None;
        if include == IncludeFile::Read && exists(WORKTREE_INCLUDE) {
            rules = files::read(&home.root.join(WORKTREE_INCLUDE))?;
        }
        // nothing behind a link is read, but the link is named
        let memory = exists(".agentwt/memory") || files::is_link(&home.root.join(".agentwt"));
        if rules.is_none() && patterns.iter().all(is_built_in) && !memory {
            // git need not be asked what is tracked
            return Ok(Candidates::default());
        }
        let case = home.case()?;
        let matcher = Matcher::new(patterns, rules.as_deref(), case)?;
        let paths = MainPaths::new(home.tracked()?, home.worktrees_below()?, case);
        let mut candidates = find_candidates(&home.root, &matcher, patterns.len(), &paths)?;
        home.keep_ignored(&mut candidates)?;
        Ok(candidates)
    }

    /// What the main worktree tracks, sorted. Git lists an index that has whole directories (a
    /// sparse index).
    ///
    /// # Errors
    /// Fails when the index cannot be read, or git does.
    pub fn tracked(&self) -> Result<Vec<RepoPath>, GitError> {
        let index = self.common_dir.join("index");
        let paths = index::read_paths(&index, self.format)?;
        paths.map_or_else(|| self.git.ls_files(), Ok)
    }

    /// The worktrees of git below the root.
    fn worktrees_below(&self) -> Result<Vec<RepoPath>, GitError> {
        let mut below = Vec::new();
        for entry in self.worktree_list()? {
            if let Ok(path) = entry.path.strip_prefix(&self.root) {
                below.extend(RepoPath::parse(path.as_str()).ok());
            }
        }
        Ok(below)
    }

    /// Drops what only `.worktreeinclude` selects and git does not ignore. `git check-ignore` is
    /// slow, so it is first asked of what is in no other selected directory: all below an ignored
    /// directory is ignored too (gitignore(5)), and it is not asked of that.
    fn keep_ignored(&self, candidates: &mut Candidates) -> Result<(), GitError> {
        let mut included = Vec::new();
        for candidate in &candidates.entries {
            if candidate.patterns.is_empty() {
                included.push(&candidate.path);
            }
        }
        let included_paths: HashSet<&BStr> = included.iter().map(|path| path.as_bstr()).collect();
        let (tops, below_tops): (Vec<&RepoPath>, Vec<&RepoPath>) = included
            .into_iter()
            .partition(|path| !is_below_any(path, &included_paths));
        let ignored_tops = self.git.check_ignore(&tops)?;
        let directories: HashSet<&BStr> = ignored_tops.iter().map(RepoPath::as_bstr).collect();
        let mut undecided = below_tops;
        undecided.retain(|path| !is_below_any(path, &directories));
        let ignored = self.git.check_ignore(&undecided)?;
        candidates.entries.retain(|candidate| {
            let path = &candidate.path;
            !candidate.patterns.is_empty()
                || ignored_tops.contains(path)
                || ignored.contains(path)
                || is_below_any(path, &directories)
        });
        Ok(())
    }
}

/// True if a path is below one of these directories.
fn is_below_any(path: &RepoPath, directories: &HashSet<&BStr>) -> bool {
    path.parents().any(|above| directories.contains(above))
}

/// Reads what is in the directory `worktree` at the paths of the candidates, which are from the
/// directory `main`. `tracked` lists what the worktree's branch tracks, and is only called where
/// there are candidates.
///
/// # Errors
/// Fails when it cannot be read.
pub fn read_worktree_files(
    worktree: &Utf8Path,
    main: &Utf8Path,
    tracked: impl FnOnce() -> Result<Vec<RepoPath>, GitError>,
    placed: Placed,
    candidates: &Candidates,
) -> Result<WorktreeFiles, Error> {
    let mut found = WorktreeFiles {
        placed,
        ..WorktreeFiles::default()
    };
    if candidates.entries.is_empty() {
        return Ok(found);
    }
    found.tracked = tracked()?;
    let paths = candidates.entries.iter().map(|candidate| &candidate.path);
    let stats = stat_entries(worktree, paths)?;
    let as_placed = find_as_placed(worktree, main, &found.placed, &stats.entries)?;
    for (path, stat) in stats.entries {
        let compared = if as_placed.contains(&path) {
            ComparedFiles::AsPlaced
        } else if !stat.is_directory() && has_same_content(worktree, main, &path)? {
            ComparedFiles::Same
        } else {
            ComparedFiles::Other
        };
        found.existing.insert(path, ExistingFile { stat, compared });
    }
    found.in_the_way = stats.in_the_way;
    Ok(found)
}

/// The paths at which the files stand as they were placed. A file is only read where its stat data
/// do not prove that.
fn find_as_placed(
    worktree: &Utf8Path,
    main: &Utf8Path,
    placed: &Placed,
    existing: &BTreeMap<RepoPath, Stat>,
) -> Result<HashSet<RepoPath>, DiskError> {
    let mut as_placed = HashSet::new();
    let mut unproven = Vec::new();
    for file in placed.files() {
        match existing.get(&file.path) {
            Some(stat) if is_proven(placed, file, stat) => {
                as_placed.insert(file.path.clone());
            }
            Some(_) => unproven.push(file),
            None => {}
        }
    }
    let drifts = drift_of(worktree, Some(main), placed, &unproven)?;
    for (file, drift) in unproven.into_iter().zip(drifts) {
        if drift.copy == CopyState::Same {
            as_placed.insert(file.path.clone());
        }
    }
    Ok(as_placed)
}

/// True if a file or link has the same content in the worktree and in the main worktree.
fn has_same_content(
    worktree: &Utf8Path,
    main: &Utf8Path,
    path: &RepoPath,
) -> Result<bool, DiskError> {
    let digest = read_digest(worktree, path)?;
    Ok(digest.is_some() && digest == read_digest(main, path)?)
}

fn read_digest(
    root: &Utf8Path,
    path: &RepoPath,
) -> Result<Option<(PlacedKind, Digest)>, DiskError> {
    digest_below(root, path).map_err(|error| DiskError::new(format!("read {root}/{path}"), error))
}
