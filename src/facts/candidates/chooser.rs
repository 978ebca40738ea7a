//! Holds [`Chooser`]: decides for the walk what is entered and selected.

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use bstr::{BString, ByteSlice};

use super::tracked::{Tracked, folded};
use crate::disk::candidates::{Enter, EntryKind, Rules, Verdict};
use crate::git::include::{IncludeRules, IsDirectory};
use crate::path::RepoPath;
use crate::scope::Case;
use crate::sync::{Kind, Search, State, Step};

/// Holds what decides.
pub struct Chooser<'p> {
    /// The patterns.
    pub search: Search<'p>,
    /// `.worktreeinclude`, if it is there.
    pub include: Option<IncludeRules>,
    /// What git tracks.
    pub tracked: Tracked,
    /// Git's other worktrees.
    pub closed: BTreeSet<BString>,
    /// How names compare.
    pub case: Case,
    /// How many tracked files each pattern matched.
    pub counts: Vec<AtomicUsize>,
    /// Links that a pattern names as a directory, with the pattern.
    pub through: Mutex<BTreeSet<(RepoPath, usize)>>,
}

/// Holds what is known of a directory that is entered.
pub struct Place {
    state: State,
    included: Included,
    /// Whether git tracks something in it.
    tracked: bool,
}

/// Says what `.worktreeinclude` makes of a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Included {
    /// Everything in it is selected.
    Whole,
    /// Its rules are asked of everything in it.
    Asked,
    /// No rule can match in it.
    Not,
}

impl Rules for Chooser<'_> {
    type Place = Place;
    /// The patterns that match; none if only `.worktreeinclude` does.
    type Mark = Vec<usize>;

    fn names(&self, place: &Place) -> Option<Vec<Vec<u8>>> {
        if place.included != Included::Not {
            return None;
        }
        let names = self.search.names(&place.state)?;
        Some(names.into_iter().map(<[u8]>::to_vec).collect())
    }

    fn entry(&self, place: &Place, path: &RepoPath, kind: EntryKind) -> Verdict<Place, Vec<usize>> {
        match kind {
            EntryKind::Directory => self.directory(place, path),
            EntryKind::Link => {
                let step = self.search.step(&place.state, path, Kind::Other);
                let Some(pattern) = step.through else {
                    return self.file(place, path, step);
                };
                let mut through = self.through.lock().unwrap_or_else(PoisonError::into_inner);
                through.insert((path.clone(), pattern));
                SKIPPED
            }
            EntryKind::Other => {
                let step = self.search.step(&place.state, path, Kind::Other);
                self.file(place, path, step)
            }
        }
    }
}

const SKIPPED: Verdict<Place, Vec<usize>> = Verdict {
    select: None,
    enter: Enter::No,
};

impl Chooser<'_> {
    /// What is looked for in the root.
    pub fn start(&self) -> Place {
        Place {
            state: self.search.start(),
            included: self.asked(None),
            tracked: true,
        }
    }

    fn directory(&self, place: &Place, path: &RepoPath) -> Verdict<Place, Vec<usize>> {
        let Step { matched, below, .. } = self.search.step(&place.state, path, Kind::Directory);
        let included = if self.includes(place, path, IsDirectory::Yes) {
            Included::Whole
        } else {
            self.asked(Some(path))
        };
        if below.is_empty() && included == Included::Not || self.is_own(path, IsDirectory::Yes) {
            return SKIPPED;
        }
        let own = folded(path.as_bstr(), self.case);
        if place.tracked && self.tracked.has(&own) || self.closed.contains(&own) {
            return Verdict {
                select: None,
                enter: Enter::Closed,
            };
        }
        let tracked = place.tracked && self.tracked.has_below(&own);
        let selected = !matched.is_empty() || included == Included::Whole;
        Verdict {
            // the worktree has a tracked one anyway
            select: (selected && !tracked).then_some(matched),
            enter: Enter::Yes(Place {
                state: below,
                included,
                tracked,
            }),
        }
    }

    fn file(&self, place: &Place, path: &RepoPath, step: Step) -> Verdict<Place, Vec<usize>> {
        let included = || self.includes(place, path, IsDirectory::No);
        if self.is_own(path, IsDirectory::No) || step.matched.is_empty() && !included() {
            return SKIPPED;
        }
        if place.tracked && self.is_tracked(path) {
            for pattern in step.matched {
                self.counts[pattern].fetch_add(1, Ordering::Relaxed);
            }
            return SKIPPED;
        }
        Verdict {
            select: Some(step.matched),
            enter: Enter::No,
        }
    }

    fn is_tracked(&self, path: &RepoPath) -> bool {
        let own = folded(path.as_bstr(), self.case);
        self.tracked.has(&own) || self.tracked.has_below(&own)
    }

    /// Whether `.worktreeinclude` selects an entry.
    fn includes(&self, place: &Place, path: &RepoPath, is_directory: IsDirectory) -> bool {
        match place.included {
            Included::Whole => true,
            Included::Asked => {
                let rules = self.include.as_ref();
                rules.is_some_and(|rules| rules.selects(path, is_directory))
            }
            Included::Not => false,
        }
    }

    fn asked(&self, directory: Option<&RepoPath>) -> Included {
        match &self.include {
            Some(rules) if rules.reach_into(directory) => Included::Asked,
            Some(_) | None => Included::Not,
        }
    }

    /// Whether an entry is git's or ours, which nothing selects: `.git`, and all in `.agentwt`
    /// but the memory bank.
    fn is_own(&self, path: &RepoPath, is_directory: IsDirectory) -> bool {
        let is = |name: &[u8], own: &[u8]| match self.case {
            Case::Sensitive => name == own,
            Case::Insensitive => name.eq_ignore_ascii_case(own),
        };
        let mut parts = path.as_bstr().splitn_str(3, "/");
        let (first, second) = (parts.next().unwrap_or_default(), parts.next());
        match second {
            _ if !is(first, b".agentwt") => is(first, b".git"),
            Some(second) => !is(second, b"memory"),
            None => is_directory == IsDirectory::No,
        }
    }
}
