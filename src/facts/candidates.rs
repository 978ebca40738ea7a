//! Finds the untracked files of the main worktree that are selected for syncing.
//!
//! The walk enters only where a pattern can match, and never git's directory, another worktree or
//! repository, or what `.agentwt` has beside the memory bank.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use bstr::{BString, ByteSlice};

use super::error::FactsError;
use super::repository::{Main, Repository};
use crate::disk::candidates::{Enter, EntryKind, Found, Rules, Verdict, walk};
use crate::git::index::read_index;
use crate::path::RepoPath;
use crate::scope::Case;
use crate::sync::{
    Candidate, Candidates, Kind, Matches, Pattern, PatternOrigin, Search, SelectedBy, State,
};

/// Finds what the patterns select. There is nothing to select in a bare repository.
///
/// # Errors
/// Fails when git or the disk cannot be read, and when a pattern names a directory that is a
/// link: nothing behind that is read.
pub fn candidates(repository: &Repository, patterns: &[Pattern]) -> Result<Candidates, FactsError> {
    match repository.main {
        Main::Worktree => {}
        Main::Bare => {
            return Ok(Candidates {
                matches: vec![Matches::default(); patterns.len()],
                ..Candidates::default()
            });
        }
    }
    let case = repository.case()?;
    let chooser = Chooser {
        search: Search::new(patterns, case),
        tracked: Tracked::read(repository, case)?,
        closed: worktrees(repository, case)?,
        case,
        counts: patterns.iter().map(|_| AtomicUsize::new(0)).collect(),
        through: Mutex::default(),
    };
    let start = Place {
        state: chooser.search.start(),
        tracked: true,
    };
    let found = walk(&repository.root, start, &chooser)?;
    chooser.result(patterns, found)
}

/// What is known of a directory that is entered.
struct Place {
    state: State,
    /// Whether git tracks something in it.
    tracked: bool,
}

/// Decides what is entered and selected.
struct Chooser<'p> {
    search: Search<'p>,
    tracked: Tracked,
    closed: BTreeSet<BString>,
    case: Case,
    counts: Vec<AtomicUsize>,
    /// Links that a pattern names as a directory, with the pattern.
    through: Mutex<BTreeSet<(RepoPath, usize)>>,
}

impl Rules for Chooser<'_> {
    type Place = Place;
    type Mark = Vec<usize>;

    fn names(&self, place: &Place) -> Option<Vec<Vec<u8>>> {
        let names = self.search.names(&place.state)?;
        Some(names.into_iter().map(<[u8]>::to_vec).collect())
    }

    fn entry(&self, place: &Place, path: &RepoPath, kind: EntryKind) -> Verdict<Place, Vec<usize>> {
        let skipped = Verdict {
            select: None,
            enter: Enter::No,
        };
        let of = match kind {
            EntryKind::Directory => Kind::Directory,
            EntryKind::Link | EntryKind::Other => Kind::Other,
        };
        let step = self.search.step(&place.state, path, of);
        if let (EntryKind::Link, Some(pattern)) = (kind, step.through) {
            let mut through = self.through.lock().unwrap_or_else(PoisonError::into_inner);
            through.insert((path.clone(), pattern));
            return skipped;
        }
        if self.is_own(path, kind) || step.matched.is_empty() && step.below.is_empty() {
            return skipped;
        }
        let own = folded(path.as_bstr(), self.case);
        let tracked = place.tracked && self.tracked.has(&own);
        let below = place.tracked && self.tracked.has_below(&own);
        match kind {
            EntryKind::Directory if tracked || self.closed.contains(&own) => Verdict {
                select: None,
                enter: Enter::Closed,
            },
            EntryKind::Directory => Verdict {
                select: (!step.matched.is_empty() && !below).then_some(step.matched),
                enter: Enter::Yes(Place {
                    state: step.below,
                    tracked: below,
                }),
            },
            EntryKind::Link | EntryKind::Other if tracked || below => {
                for pattern in step.matched {
                    self.counts[pattern].fetch_add(1, Ordering::Relaxed);
                }
                skipped
            }
            EntryKind::Link | EntryKind::Other => Verdict {
                select: Some(step.matched),
                enter: Enter::No,
            },
        }
    }
}

impl Chooser<'_> {
    /// Whether an entry is git's or ours, which nothing selects: `.git`, and all in `.agentwt`
    /// but the memory bank.
    fn is_own(&self, path: &RepoPath, kind: EntryKind) -> bool {
        let is = |name: &[u8], own: &[u8]| match self.case {
            Case::Sensitive => name == own,
            Case::Insensitive => name.eq_ignore_ascii_case(own),
        };
        let mut parts = path.as_bstr().splitn_str(3, "/");
        let (first, second) = (parts.next().unwrap_or_default(), parts.next());
        if is(first, b".agentwt") {
            return match second {
                Some(second) => !is(second, b"memory"),
                None => kind != EntryKind::Directory,
            };
        }
        is(first, b".git")
    }

    fn result(
        self,
        patterns: &[Pattern],
        found: Found<Vec<usize>>,
    ) -> Result<Candidates, FactsError> {
        let mut not_entered = found.closed;
        let through = self.through.into_inner();
        for (link, pattern) in through.unwrap_or_else(PoisonError::into_inner) {
            let pattern = &patterns[pattern];
            match pattern.origin() {
                PatternOrigin::BuiltIn => not_entered.push(link),
                PatternOrigin::File(_) | PatternOrigin::Flag(_) | PatternOrigin::Record => {
                    return Err(FactsError::SyncThroughLink {
                        pattern: pattern.text().to_owned(),
                        origin: pattern.origin().clone(),
                        link,
                    });
                }
            }
        }
        not_entered.sort_unstable();
        let tracked = self.counts.into_iter().map(AtomicUsize::into_inner);
        let mut matches: Vec<Matches> = tracked
            .map(|tracked| Matches {
                tracked,
                untracked: 0,
            })
            .collect();
        let mut entries = Vec::with_capacity(found.selected.len());
        for one in found.selected {
            for pattern in &one.mark {
                matches[*pattern].untracked += 1;
            }
            let by = one
                .mark
                .first()
                .map(|pattern| SelectedBy::Pattern(*pattern));
            entries.push(Candidate {
                path: one.path,
                kind: one.kind,
                stat: one.stat,
                by: by.unwrap_or(SelectedBy::WorktreeInclude),
            });
        }
        Ok(Candidates {
            entries,
            matches,
            not_entered,
        })
    }
}

/// The paths that git tracks in the main worktree, sorted.
struct Tracked {
    paths: Vec<BString>,
}

impl Tracked {
    fn read(repository: &Repository, case: Case) -> Result<Self, FactsError> {
        let index = read_index(&repository.common_dir.join("index"), repository.format)?;
        let fold = |path: &RepoPath| folded(path.as_bstr(), case);
        let mut paths: Vec<BString> = index.iter().map(|entry| fold(&entry.path)).collect();
        paths.sort_unstable();
        paths.dedup();
        Ok(Self { paths })
    }

    fn has(&self, path: &BString) -> bool {
        self.paths.binary_search(path).is_ok()
    }

    /// Whether something in this directory is tracked.
    fn has_below(&self, directory: &BString) -> bool {
        let mut prefix = directory.clone();
        prefix.push(b'/');
        let at = self.paths.partition_point(|path| *path < prefix);
        self.paths
            .get(at)
            .is_some_and(|path| path.starts_with(&prefix))
    }
}

/// The worktrees of git that are below the root.
fn worktrees(repository: &Repository, case: Case) -> Result<BTreeSet<BString>, FactsError> {
    let list = repository.worktrees()?;
    let below = |path: &camino::Utf8Path| {
        let path = path.strip_prefix(&repository.root).ok()?.as_str();
        (!path.is_empty()).then(|| folded(path.as_bytes().as_bstr(), case))
    };
    Ok(list.iter().filter_map(|entry| below(&entry.path)).collect())
}

fn folded(path: &bstr::BStr, case: Case) -> BString {
    match case {
        Case::Sensitive => path.to_owned(),
        Case::Insensitive => path.to_ascii_lowercase().into(),
    }
}
