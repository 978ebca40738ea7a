//! Decides which untracked files are copied into a worktree; pure.
//!
//! What is *selected* was found in the main worktree by [`crate::facts::candidates`]. Of that,
//! what the scope excludes and what the worktree's branch tracks is left out; what stands in the
//! worktree already is kept, brought up to date, or refused.

mod allowed;
pub mod pull;
pub mod refusal;

use std::collections::{BTreeMap, BTreeSet, btree_map};
use std::iter::Peekable;
use std::slice;

use camino::Utf8Path;

use crate::config::FileSyncConfig;
use crate::manifest::Stat;
use crate::path::RepoPath;
use crate::placed::{Placed, PlacedFile, PlacedKind};
use crate::scope::{Access, Scope};
use crate::sync::{Candidate, Candidates, Pattern};
use allowed::{allowed, within_limits};
use refusal::SyncRefusal;

/// Holds what a sync is decided on.
pub struct SyncFacts<'a> {
    /// The worktree's name.
    pub name: &'a str,
    /// Its directory.
    pub path: &'a Utf8Path,
    /// The main worktree.
    pub root: &'a Utf8Path,
    /// The patterns, in the order that [`SelectedBy::Pattern`](crate::sync::SelectedBy) counts.
    pub patterns: &'a [Pattern],
    /// The limits.
    pub limits: &'a FileSyncConfig,
    /// What they select in the main worktree.
    pub candidates: &'a Candidates,
    /// The worktree's scope.
    pub scope: &'a Scope,
    /// Whether the worktree's branch tracks a path.
    pub is_tracked: &'a dyn Fn(&RepoPath) -> bool,
    /// What was placed before.
    pub placed: &'a Placed,
    /// What stands in the worktree at the path of a candidate.
    pub standing: &'a BTreeMap<RepoPath, Standing>,
    /// What is no directory there, and would have to be one.
    pub in_the_way: &'a BTreeSet<RepoPath>,
}

/// Holds what stands in the worktree at a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Standing {
    /// Its stat data.
    pub stat: Stat,
    /// How it compares with the main worktree's.
    pub compared: Compared,
}

/// Says how something in the worktree compares with what would be copied over it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compared {
    /// It is as it was placed.
    AsPlaced,
    /// It has the same content, and was not placed or was edited.
    Same,
    /// It is something else.
    Other,
}

/// Says what becomes of a file that was edited in the worktree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Force {
    /// It is refused.
    No,
    /// It is saved, and replaced.
    Yes,
}

/// Holds what a sync will do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SyncPlan {
    /// What is copied, sorted by path.
    pub copy: Vec<Copying>,
    /// How many files and links are there already as they are in the main worktree.
    pub kept: usize,
    /// What the scope excludes, with the rule that says so.
    pub excluded: Vec<(RepoPath, String)>,
    /// What is untracked in the main worktree and tracked in this one.
    pub tracked: Vec<RepoPath>,
    /// Which of the copies replace what was edited in the worktree; saved first.
    pub save: Vec<RepoPath>,
}

/// Holds one thing to be copied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Copying {
    /// Its path.
    pub path: RepoPath,
    /// What it is.
    pub kind: PlacedKind,
    /// Its stat data in the main worktree.
    pub stat: Stat,
    /// Its permission bits in the worktree.
    pub bits: u32,
    /// What it replaces there.
    pub over: Option<Stat>,
}

impl SyncPlan {
    /// How many files and links are copied.
    #[must_use]
    pub fn files(&self) -> usize {
        let files = self.copy.iter();
        files
            .filter(|one| one.kind != PlacedKind::Directory)
            .count()
    }

    /// The files and links that are copied.
    #[must_use]
    pub fn paths(&self) -> Vec<&RepoPath> {
        let files = self.copy.iter();
        let files = files.filter(|one| one.kind != PlacedKind::Directory);
        files.map(|one| &one.path).collect()
    }

    /// How many bytes are copied.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        let files = self.copy.iter().filter(|one| one.kind == PlacedKind::File);
        files.map(|one| one.stat.size).sum()
    }
}

/// The permission bits that a file with these has in a worktree: what may not be edited cannot
/// be written.
#[must_use]
pub const fn bits(mode: u32, access: Access) -> u32 {
    match access {
        Access::Write => mode & 0o7777,
        Access::Read | Access::Excluded => mode & 0o7777 & !0o222,
    }
}

/// Decides.
///
/// # Errors
/// Refuses a pattern that selects nothing, a file that cannot be copied or is too large, and what
/// would overwrite the worktree's own work.
pub fn plan(facts: &SyncFacts<'_>, force: Force) -> Result<SyncPlan, SyncRefusal> {
    let allowed = allowed(facts)?;
    within_limits(facts, &allowed.candidates)?;
    let mut plan = SyncPlan {
        excluded: allowed.excluded,
        tracked: allowed.tracked,
        ..SyncPlan::default()
    };
    let mut edited = Vec::new();
    let mut blocked: BTreeMap<RepoPath, SyncRefusal> = BTreeMap::new();
    let mut before = Before::of(facts);
    for (candidate, kind, access) in allowed.candidates {
        let copying = |over| Copying {
            path: candidate.path.clone(),
            kind,
            stat: candidate.stat,
            bits: match kind {
                PlacedKind::File => bits(candidate.stat.mode, access),
                PlacedKind::Link | PlacedKind::Directory => candidate.stat.mode & 0o7777,
            },
            over,
        };
        match next(facts, &mut before, candidate, kind) {
            Next::Keep => plan.kept += usize::from(kind != PlacedKind::Directory),
            Next::Copy(over) => plan.copy.push(copying(over)),
            Next::Edited(over) if force == Force::Yes => {
                plan.save.push(candidate.path.clone());
                plan.copy.push(copying(Some(over)));
            }
            Next::Edited(_) => edited.push(candidate.path.clone()),
            Next::Blocked(path) => {
                let (name, shown) = (facts.name.to_owned(), path.to_string());
                let refusal = SyncRefusal::InTheWay { name, path: shown };
                blocked.insert(path, refusal);
            }
            Next::AnotherKind(found, wanted) => {
                let refusal = SyncRefusal::AnotherKind {
                    name: facts.name.to_owned(),
                    path: candidate.path.to_string(),
                    found,
                    wanted,
                };
                blocked.insert(candidate.path.clone(), refusal);
            }
        }
    }
    if let Some((_, refusal)) = blocked.pop_first() {
        return Err(refusal);
    }
    if !edited.is_empty() {
        return Err(SyncRefusal::Edited {
            name: facts.name.to_owned(),
            paths: edited,
            here: facts.path.to_owned(),
            there: facts.root.to_owned(),
        });
    }
    Ok(plan)
}

/// Says what becomes of one candidate.
enum Next {
    Keep,
    Copy(Option<Stat>),
    Edited(Stat),
    Blocked(RepoPath),
    AnotherKind(&'static str, &'static str),
}

/// Finds what stands in the worktree and what was placed, for candidates that come sorted.
struct Before<'a> {
    standing: Peekable<btree_map::Iter<'a, RepoPath, Standing>>,
    placed: Peekable<slice::Iter<'a, PlacedFile>>,
}

impl<'a> Before<'a> {
    fn of(facts: &SyncFacts<'a>) -> Self {
        Self {
            standing: facts.standing.iter().peekable(),
            placed: facts.placed.files().iter().peekable(),
        }
    }

    fn standing(&mut self, path: &RepoPath) -> Option<&'a Standing> {
        while self.standing.next_if(|(at, _)| *at < path).is_some() {}
        let found = self.standing.next_if(|(at, _)| *at == path);
        found.map(|(_, standing)| standing)
    }

    /// Whether what was placed was copied from just what the main worktree has.
    fn is_from(&mut self, candidate: &Candidate) -> bool {
        let path = &candidate.path;
        while self.placed.next_if(|file| file.path < *path).is_some() {}
        let placed = self.placed.next_if(|file| file.path == *path);
        placed.is_some_and(|file| file.source == Some(candidate.stat))
    }
}

fn next(
    facts: &SyncFacts<'_>,
    before: &mut Before<'_>,
    candidate: &Candidate,
    kind: PlacedKind,
) -> Next {
    let mut in_the_way = facts.in_the_way.iter();
    if let Some(above) = in_the_way.find(|above| candidate.path.is_below(above.as_bstr())) {
        return Next::Blocked(above.clone());
    }
    let Some(standing) = before.standing(&candidate.path) else {
        return Next::Copy(None);
    };
    let is_directory = standing.stat.is_directory();
    match (standing.compared, kind == PlacedKind::Directory) {
        (_, true) if is_directory => Next::Keep,
        // no directory is replaced by a file, and no file by a directory
        (_, true) => Next::AnotherKind("a file or a link", "a directory"),
        (_, false) if is_directory => Next::AnotherKind("a directory", "a file or a link"),
        (Compared::AsPlaced, _) if before.is_from(candidate) => Next::Keep,
        // nothing of the worktree's own is in it
        (Compared::AsPlaced | Compared::Same, _) => Next::Copy(Some(standing.stat)),
        (Compared::Other, _) => Next::Edited(standing.stat),
    }
}

#[cfg(test)]
mod tests;
