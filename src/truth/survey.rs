//! Holds what is true of a worktree now: [`Survey`], and what those ask of it who must not lose
//! work.

use std::collections::{BTreeMap, BTreeSet};

use bstr::ByteSlice;

use crate::change::{Change, ChangeSet, Seen};
use crate::compare::{Delta, entry_in, same};
use crate::disk::scan::Unreadable;
use crate::entry::Entry;
use crate::manifest::Manifest;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::placed::Placed;
use crate::scope::{Access, EntryKind};
use crate::truth::heads::Heads;
use crate::truth::index::IndexState;
use crate::walked::Walked;
use crate::worktree::Worktree;

/// Holds what is true of a worktree now.
pub struct Survey {
    /// What changed since the base.
    pub changes: ChangeSet,
    /// Every state in full, for who must not lose work.
    pub states: States,
    /// What it is on.
    pub heads: Heads,
    /// The reference that its files on disk are nearest to; none when it cannot be told.
    pub nearest: Option<CommitId>,
    /// The commits of its own, the newest first.
    pub commits: Vec<CommitId>,
    /// The commits that count as work of others, with all that they have.
    pub trusted: Vec<CommitId>,
    /// The directories whose names are known now; none when no more of them are than before.
    pub walked: Option<Walked>,
}

/// Holds the states of a worktree, each as its difference from the base.
pub struct States {
    /// What was recorded at `add`.
    pub manifest: Manifest,
    /// HEAD's tree.
    pub head: Delta,
    /// The nearest reference of HEAD: what the base has, with the upstream work that was merged.
    pub reference: Delta,
    /// What a merge in progress brings from upstream.
    pub arriving: Delta,
    /// The index.
    pub index: IndexState,
    /// The disk.
    pub disk: Delta,
    /// Untracked and ignored files, and placed ones that are not as they were placed.
    pub untracked: BTreeMap<RepoPath, Seen>,
    /// What was placed and is not tracked by now.
    pub placed: Placed,
    /// What of the disk could not be read: nobody knows what it holds.
    pub unreadable: Vec<Unreadable>,
    /// How large each file is that was not there when the worktree was made.
    pub sizes: BTreeMap<RepoPath, u64>,
}

impl Survey {
    /// Paths whose index or disk is not what HEAD has, ignored files apart: what nobody has
    /// committed.
    pub fn uncommitted(&self, known: &Worktree) -> Vec<RepoPath> {
        let states = &self.states;
        let mut paths: BTreeSet<&RepoPath> = states.disk.keys().chain(states.head.keys()).collect();
        paths.extend(states.index.deltas.iter().flat_map(Delta::keys));
        let differs = |path: &&RepoPath| {
            let at = |delta: &Delta| entry_in(&states.manifest, delta, path);
            let head = at(&states.head);
            let staged = states.index.deltas.iter().any(|delta| at(delta) != head);
            let kind = EntryKind::File;
            let on_disk = matches!(states.disk.get(path), Some(Some(_)));
            let silent = !on_disk && known.scope.verdict(path, kind).access == Access::Excluded;
            let ignored = states.untracked.get(*path) == Some(&Seen::Ignored);
            staged || !silent && !ignored && !same(head, at(&states.disk))
        };
        paths.into_iter().filter(differs).cloned().collect()
    }

    /// The changes of placed files.
    pub fn placed_changes(&self) -> impl Iterator<Item = &Change> {
        let all = self.changes.changes.iter();
        all.filter(|change| change.seen.contains(&Seen::Synced))
    }

    /// What stands at the path of a placed file; what is as it was placed has no id.
    pub fn placed_entry(&self, path: &RepoPath) -> Option<Entry> {
        if let Some(entry) = self.states.disk.get(path) {
            return *entry;
        }
        let is_it = |change: &Change| change.place.path() == Some(path);
        if self.placed_changes().any(is_it) {
            return None;
        }
        let item = self.states.manifest.get(path)?;
        item.disk.map(|disk| disk.entry)
    }

    /// Paths of which something is staged that is neither in HEAD nor on disk.
    pub fn staged_only(&self) -> Vec<RepoPath> {
        let states = &self.states;
        let at = |delta: &Delta, path: &RepoPath| entry_in(&states.manifest, delta, path);
        let only = |(path, entry): &(&RepoPath, &Option<Entry>)| {
            let elsewhere = [at(&states.head, path), at(&states.disk, path)];
            entry.is_some() && !elsewhere.contains(entry)
        };
        let staged = states.index.deltas.iter().flatten().filter(only);
        let paths: BTreeSet<&RepoPath> = staged.map(|(path, _)| path).collect();
        paths.into_iter().cloned().collect()
    }

    fn ignored_paths(&self) -> impl Iterator<Item = &RepoPath> {
        let untracked = self.states.untracked.iter();
        let ignored = untracked.filter(|(_, seen)| **seen == Seen::Ignored);
        ignored.map(|(path, _)| path)
    }

    /// How many ignored files are there, that were not when the worktree was made.
    pub fn ignored(&self) -> usize {
        self.ignored_paths().count()
    }

    /// Where the ignored files are, each place with the bytes in it, the largest first: a directory
    /// that the base does not have (`target/`), or a file in one that it has.
    pub fn ignored_by_place(&self) -> Vec<(String, u64)> {
        let states = &self.states;
        let mut places: BTreeMap<String, u64> = BTreeMap::new();
        for path in self.ignored_paths() {
            let above = std::iter::successors(path.parent(), RepoPath::parent);
            let new = above.take_while(|directory| !states.manifest.has_directory(directory));
            let place = match new.last() {
                Some(directory) => format!("{directory}/"),
                None => path.to_string(),
            };
            let size = states.sizes.get(path).copied().unwrap_or(0);
            *places.entry(place).or_default() += size;
        }
        let mut places: Vec<(String, u64)> = places.into_iter().collect();
        places.sort_by(|a, b| b.1.cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
        places
    }

    /// Directories with something named `.git` inside: no commit of ours can hold that, as git
    /// takes no such path, and it may be a repository with a history of its own.
    pub fn nested(&self) -> Vec<RepoPath> {
        let there = self.states.disk.iter().filter(|(_, entry)| entry.is_some());
        let mut found = Vec::new();
        for (path, _) in there {
            let below = path.as_bstr().find("/.git").filter(|at| {
                let rest = &path.as_bstr()[at + "/.git".len()..];
                rest.is_empty() || rest.starts_with(b"/")
            });
            if let Some(at) = below {
                found.extend(RepoPath::parse(&path.as_bstr()[..at]).ok());
            }
        }
        found.dedup();
        found
    }
}
