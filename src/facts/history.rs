//! Reads what the commits of a worktree touched, each on its own.

use std::collections::{BTreeMap, BTreeSet};

use super::leaks::Contents;
use crate::change::{Change, Kind, Place, Seen};
use crate::compare::Delta;
use crate::entry::Entry;
use crate::git::objects::Objects;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::worktree::WorktreeError;

/// Holds which commits touched which paths.
#[derive(Debug, Default)]
pub struct History {
    newest: BTreeMap<RepoPath, CommitId>,
    entries: BTreeMap<RepoPath, Vec<(CommitId, Option<Entry>)>>,
}

impl History {
    /// Reads what each of these commits, the newest first, changed against its parents. A merge
    /// changes a path only if it has it otherwise than every parent.
    pub fn read(objects: &Objects, commits: &[CommitId]) -> Result<Self, WorktreeError> {
        let mut history = Self::default();
        for id in commits {
            for (path, entry) in touched(objects, id)? {
                history
                    .newest
                    .entry(path.clone())
                    .or_insert_with(|| id.clone());
                history
                    .entries
                    .entry(path)
                    .or_default()
                    .push((id.clone(), entry));
            }
        }
        Ok(history)
    }

    /// The newest commit that touched a path.
    pub fn newest(&self, path: &RepoPath) -> Option<&CommitId> {
        self.newest.get(path)
    }

    /// Every path that a commit touched.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.newest.keys()
    }

    /// What files held in commits, at paths that are not among the net changes.
    pub fn contents(&self, net: &BTreeSet<&RepoPath>) -> Contents<'_> {
        let mut all = Contents::default();
        for (path, entries) in self.entries.iter().filter(|(path, _)| !net.contains(path)) {
            for (commit, entry) in entries {
                let Some(entry) = entry.filter(|entry| entry.mode.is_regular()) else {
                    continue;
                };
                let at = all.entry(entry.id).or_default().entry(path).or_default();
                at.insert(Seen::Commit(commit.clone()));
            }
        }
        all
    }

    /// What commits touched though it is as before again: paths that are not among the net
    /// changes, with an entry that no reference has.
    pub fn put_back(
        &self,
        net: &BTreeSet<&RepoPath>,
        is_known: &dyn Fn(&RepoPath, Option<Entry>) -> bool,
        is_own: &dyn Fn(&CommitId) -> bool,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        for (path, entries) in &self.entries {
            if net.contains(path) {
                continue;
            }
            let foreign: BTreeSet<Seen> = entries
                .iter()
                .filter(|(_, entry)| !is_known(path, *entry))
                .map(|(commit, _)| Seen::Commit(commit.clone()))
                .collect();
            if !foreign.is_empty() {
                let is_directory = entries
                    .iter()
                    .any(|(_, e)| e.is_some_and(|e| e.mode.is_directory()));
                let commits = foreign.iter().filter_map(Seen::commit);
                let brought = commits.clone().count() > 0 && !commits.clone().any(is_own);
                let said = "by commits that were not made here, and put back";
                changes.push(Change {
                    place: Place::Path(path.clone()),
                    kind: Kind::Modified,
                    seen: foreign,
                    is_directory,
                    detail: brought.then(|| said.to_owned()),
                });
            }
        }
        changes
    }
}

/// What a commit has otherwise than its parent, and a merge otherwise than every parent.
pub fn touched(objects: &Objects, id: &CommitId) -> Result<Delta, WorktreeError> {
    let commit = objects.commit(id)?;
    let mut parents = commit.parents.iter();
    let Some(first) = parents.next() else {
        return Ok(objects.difference(None, Some(&commit.tree))?);
    };
    let mut delta = objects.difference(Some(&objects.commit(first)?.tree), Some(&commit.tree))?;
    for parent in parents {
        let other = objects.difference(Some(&objects.commit(parent)?.tree), Some(&commit.tree))?;
        delta.retain(|path, _| other.contains_key(path));
    }
    Ok(delta)
}
