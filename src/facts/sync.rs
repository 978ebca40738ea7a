//! Reads what `sync` decides on.

use std::collections::{BTreeMap, BTreeSet};

use camino::Utf8Path;

use super::candidates::{Include, candidates_of};
use super::config::Loaded;
use crate::config::FileSyncConfig;
use crate::disk::DiskError;
use crate::disk::drift::{digest_below, drift_of, is_proven};
use crate::disk::files;
use crate::disk::standing::standing;
use crate::entry::Entry;
use crate::git::GitError;
use crate::git::index::{IndexEntry, read_index, read_paths};
use crate::manifest::Stat;
use crate::name::WorktreeName;
use crate::path::RepoPath;
use crate::placed::{Here, Placed, PlacedKind};
use crate::plan::sync::refusal::SyncRefusal;
use crate::plan::sync::{self as plan, Compared, Force, Standing, SyncFacts, SyncPlan};
use crate::scope::Scope;
use crate::sync::{Candidates, Matches, Need, Pattern, PatternError, PatternOrigin};
use crate::worktree::Worktree;
use crate::worktree::WorktreeError;
use crate::worktree::repository::{Main, Repository};

/// Holds the patterns that count, and what they select in the main worktree.
#[derive(Debug)]
pub struct Selected {
    /// The patterns.
    pub patterns: Vec<Pattern>,
    /// The limits.
    pub limits: FileSyncConfig,
    /// What they select.
    pub candidates: Candidates,
}

/// Says whether the config and `.worktreeinclude` count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromConfig {
    /// They do, unless the config says `enabled = false`.
    Taken,
    /// They do not (`--no-sync`).
    LeftOut,
}

/// Makes the list of patterns: those of the config, then these globs, then the memory bank.
///
/// # Errors
/// Fails when a glob is refused. Those of the config were looked at when it was read.
pub fn patterns(
    loaded: &Loaded,
    from_config: FromConfig,
    globs: &[String],
    origin: &PatternOrigin,
) -> Result<Vec<Pattern>, PatternError> {
    let sync = &loaded.config.file_sync;
    let mut patterns = Vec::new();
    if sync.enabled && from_config == FromConfig::Taken {
        let lists = [
            (&sync.patterns, Need::Required),
            (&sync.optional_patterns, Need::Optional),
        ];
        for (list, need) in lists {
            for glob in list {
                let origin = PatternOrigin::File(glob.line);
                patterns.push(parse(&glob.value, origin, need)?);
            }
        }
    }
    for glob in globs {
        patterns.push(parse(glob, origin.clone(), Need::Required)?);
    }
    patterns.push(Pattern::memory_bank());
    Ok(patterns)
}

fn parse(glob: &str, origin: PatternOrigin, need: Need) -> Result<Pattern, PatternError> {
    Pattern::parse(glob, origin.clone(), need).map_err(|fault| PatternError {
        text: glob.to_owned(),
        origin,
        fault,
    })
}

/// Looks for what the patterns select.
///
/// # Errors
/// Fails when the main worktree cannot be read.
pub fn select(
    repository: &Repository,
    loaded: &Loaded,
    from_config: FromConfig,
    patterns: Vec<Pattern>,
) -> Result<Selected, WorktreeError> {
    let repository = repository.home();
    let limits = loaded.config.file_sync.clone();
    let include = if limits.enabled && from_config == FromConfig::Taken {
        Include::Read
    } else {
        Include::Leave
    };
    let candidates = match repository.main {
        Main::Worktree if is_idle(repository, include, &patterns) => nothing(&patterns),
        Main::Worktree => candidates_of(repository, &patterns, include)?,
        Main::Bare => nothing(&patterns),
    };
    Ok(Selected {
        patterns,
        limits,
        candidates,
    })
}

fn nothing(patterns: &[Pattern]) -> Candidates {
    Candidates {
        matches: vec![Matches::default(); patterns.len()],
        ..Candidates::default()
    }
}

/// Whether nobody named a file: then git need not be asked what is tracked.
fn is_idle(repository: &Repository, include: Include, patterns: &[Pattern]) -> bool {
    let there = |name: &str| files::exists(&repository.root.join(name));
    let includes = include == Include::Read && there(".worktreeinclude");
    let is_built_in = |pattern: &Pattern| *pattern.origin() == PatternOrigin::BuiltIn;
    !includes && patterns.iter().all(is_built_in) && !there(".agentwt/memory")
}

impl Selected {
    /// Whether there is nothing to look for.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.candidates.entries.is_empty() && self.patterns.len() <= 1
    }

    /// Decides what of it is copied into a worktree.
    ///
    /// # Errors
    /// As [`plan::plan`].
    pub fn plan(
        &self,
        repository: &Repository,
        into: &Into<'_>,
        there: &InWorktree,
        force: Force,
    ) -> Result<SyncPlan, SyncRefusal> {
        let facts = SyncFacts {
            name: into.name.as_str(),
            path: into.path,
            root: &repository.root,
            patterns: &self.patterns,
            limits: &self.limits,
            candidates: &self.candidates,
            scope: into.scope,
            is_tracked: &|path| there.tracks(path),
            placed: &there.placed,
            standing: &there.standing,
            in_the_way: &there.in_the_way,
        };
        plan::plan(&facts, force)
    }
}

/// Names the worktree that files are copied into.
#[derive(Clone, Copy, Debug)]
pub struct Into<'a> {
    /// Its name.
    pub name: &'a WorktreeName,
    /// Its directory.
    pub path: &'a Utf8Path,
    /// Its scope.
    pub scope: &'a Scope,
}

/// Holds what is in a worktree at the paths of the candidates.
#[derive(Debug, Default)]
pub struct InWorktree {
    /// What was placed.
    pub placed: Placed,
    /// What stands there.
    pub standing: BTreeMap<RepoPath, Standing>,
    /// What is no directory and would have to be one.
    pub in_the_way: BTreeSet<RepoPath>,
    /// What its branch tracks.
    pub tracked: Vec<RepoPath>,
}

impl InWorktree {
    /// A worktree that is not made yet, of which it is only known what its branch tracks.
    #[must_use]
    pub fn to_be(tracked: &[(RepoPath, Entry)]) -> Self {
        Self {
            tracked: tracked.iter().map(|(path, _)| path.clone()).collect(),
            ..Self::default()
        }
    }

    /// Whether its branch tracks a path.
    #[must_use]
    pub fn tracks(&self, path: &RepoPath) -> bool {
        self.tracked.binary_search(path).is_ok()
    }
}

/// Looks at a worktree that is known, with what was placed in it.
///
/// # Errors
/// Fails when it cannot be read.
pub fn look(
    repository: &Repository,
    known: &Worktree,
    placed: Placed,
    candidates: &Candidates,
) -> Result<InWorktree, WorktreeError> {
    let record = &known.record;
    let index = record.admin_dir.join("index");
    let tracked = || Ok(paths_of(&read_index(&index, repository.format)?));
    look_at(repository, &record.path, tracked, placed, candidates)
}

/// Looks at a worktree, also at one that is being made. What its branch tracks is
/// only asked for where there are candidates.
///
/// # Errors
/// Fails when it cannot be read.
pub fn look_at(
    repository: &Repository,
    path: &Utf8Path,
    tracked: impl FnOnce() -> Result<Vec<RepoPath>, GitError>,
    placed: Placed,
    candidates: &Candidates,
) -> Result<InWorktree, WorktreeError> {
    if candidates.entries.is_empty() {
        return Ok(InWorktree {
            placed,
            ..InWorktree::default()
        });
    }
    let tracked = tracked()?;
    let stands = standing(path, candidates.entries.iter().map(|one| &one.path))?;
    let here = compare_placed(path, &repository.root, &placed, &stands.entries)?;
    let mut found = Vec::with_capacity(stands.entries.len());
    for ((at, stat), here) in stands.entries.into_iter().zip(here) {
        let compared = match here {
            Some(Here::Same) => Compared::AsPlaced,
            Some(Here::Edited | Here::Missing) | None if stat.is_directory() => Compared::Other,
            Some(Here::Edited | Here::Missing) | None => {
                if same_content(path, &repository.root, &at)? {
                    Compared::Same
                } else {
                    Compared::Other
                }
            }
        };
        found.push((at, Standing { stat, compared }));
    }
    Ok(InWorktree {
        placed,
        standing: found.into_iter().collect(),
        in_the_way: stands.in_the_way,
        tracked,
    })
}

/// The paths of an index, each once.
#[must_use]
pub fn paths_of(index: &[IndexEntry]) -> Vec<RepoPath> {
    let mut paths: Vec<RepoPath> = index.iter().map(|entry| entry.path.clone()).collect();
    paths.dedup();
    paths
}

/// Says of all that stands whether it is as it was placed; none of what was not. Only what its
/// stat data do not prove is looked at again.
fn compare_placed(
    path: &Utf8Path,
    source: &Utf8Path,
    placed: &Placed,
    stands: &BTreeMap<RepoPath, Stat>,
) -> Result<Vec<Option<Here>>, DiskError> {
    let mut files = placed.files().iter().peekable();
    let mut compared = Vec::with_capacity(stands.len());
    let (mut unproven, mut at_index) = (Vec::new(), Vec::new());
    for (at, stat) in stands {
        // both are sorted
        while files.next_if(|file| file.path < *at).is_some() {}
        let file = files.next_if(|file| file.path == *at);
        compared.push(file.map(|_| Here::Same));
        if let Some(file) = file.filter(|file| !is_proven(placed, file, stat)) {
            unproven.push(file);
            at_index.push(compared.len() - 1);
        }
    }
    let drift = drift_of(path, Some(source), placed, &unproven)?;
    for (at, drift) in at_index.into_iter().zip(drift) {
        compared[at] = Some(drift.here);
    }
    Ok(compared)
}

/// Whether a file or link has the same content in both.
fn same_content(here: &Utf8Path, there: &Utf8Path, path: &RepoPath) -> Result<bool, DiskError> {
    let digest = |root: &Utf8Path| {
        let failed = |error| DiskError::new(format!("read {root}/{path}"), error);
        digest_below(root, path).map_err(failed)
    };
    let here = digest(here)?;
    Ok(here.is_some() && here == digest(there)?)
}

/// Holds what pulling is decided on beside the list.
#[derive(Debug, Default)]
pub struct Pulling {
    /// What stands in the worktree where something was placed.
    pub kinds: BTreeMap<RepoPath, PlacedKind>,
    /// What the main worktree tracks.
    pub tracked_there: Vec<RepoPath>,
}

/// Looks at both sides of what was placed.
///
/// # Errors
/// Fails when one cannot be read.
pub fn pull_facts(
    repository: &Repository,
    known: &Worktree,
    placed: &Placed,
) -> Result<Pulling, WorktreeError> {
    let files = placed.files().iter().map(|file| &file.path);
    let stands = standing(&known.record.path, files)?;
    let kinds = stands.entries.into_iter();
    let kinds = kinds.map(|(path, stat)| (path, PlacedKind::of(&stat)));
    let home = repository.home();
    let tracked = read_paths(&home.common_dir.join("index"), home.format)?;
    Ok(Pulling {
        kinds: kinds.collect(),
        // of a sparse index only git knows; what is in it as a directory is not on disk
        tracked_there: tracked.unwrap_or_default(),
    })
}
