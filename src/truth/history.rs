//! Reads what commits touched, and where a content was seen.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::git::objects::Objects;
use crate::judge::change::{Change, Seen};
use crate::judge::compare::Delta;
use crate::words::entry::{Entry, ObjectId};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;

/// Holds which commits touched which paths, the newest first.
#[derive(Debug, Default)]
pub struct History(BTreeMap<RepoPath, Vec<Version>>);

/// Holds what a commit gave a path.
#[derive(Debug)]
pub struct Version {
    /// The commit.
    pub commit: CommitId,
    /// What it has there; none if it removed what was there.
    pub entry: Option<Entry>,
}

impl History {
    /// Reads what each of these commits, the newest first, changed against its parents. A merge
    /// changes a path only if it has it otherwise than every parent.
    ///
    /// # Errors
    /// Fails when a commit or a tree cannot be read.
    pub fn read(objects: &Objects, commits: &[CommitId]) -> Result<Self, Error> {
        let mut history = Self::default();
        for commit in commits {
            for (path, entry) in touched(objects, commit)? {
                let versions = history.0.entry(path).or_default();
                versions.push(Version {
                    commit: commit.clone(),
                    entry,
                });
            }
        }
        Ok(history)
    }

    /// Returns how a committed path is seen: in the newest commit that touched it.
    pub fn seen(&self, path: &RepoPath) -> Seen {
        let newest = self.0.get(path).and_then(|versions| versions.first());
        match newest {
            Some(version) => Seen::Commit(version.commit.clone()),
            None => Seen::Committed,
        }
    }

    /// Lists every path that a commit touched.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.0.keys()
    }

    /// Lists every path that a commit touched, with what each commit gave it.
    pub fn versions(&self) -> impl Iterator<Item = (&RepoPath, &[Version])> {
        self.0.iter().map(|(path, versions)| (path, &**versions))
    }

    /// Returns what files and links held in commits, at paths that are not among the net changes.
    pub fn contents(&self, net: &BTreeSet<&RepoPath>) -> Contents<'_> {
        let mut contents = Contents::default();
        for (path, versions) in &self.0 {
            if net.contains(path) {
                continue;
            }
            for version in versions {
                if let Some(entry) = version.entry.filter(|entry| entry.has_content()) {
                    let places = contents.entry(entry.id).or_default();
                    let seen = places.entry(path).or_default();
                    seen.insert(Seen::Commit(version.commit.clone()));
                }
            }
        }
        contents
    }
}

/// What a commit has otherwise than its parent, and a merge otherwise than every parent. Where a
/// shallow history ends, a commit has all of its files otherwise.
///
/// # Errors
/// Fails when a commit or a tree cannot be read.
pub fn touched(objects: &Objects, id: &CommitId) -> Result<Delta, Error> {
    let commit = objects.commit(id)?;
    let parents = objects.without_cut_off(commit.parents)?;
    let Some((first, others)) = parents.split_first() else {
        return Ok(objects.difference(None, Some(&commit.tree))?);
    };
    let mut delta = objects.difference(Some(&objects.commit(first)?.tree), Some(&commit.tree))?;
    for parent in others {
        let other = objects.difference(Some(&objects.commit(parent)?.tree), Some(&commit.tree))?;
        delta.retain(|path, _| other.contains_key(path));
    }
    Ok(delta)
}

/// Reads how each commit differs from its first parent, the newest first: at most so many, and as
/// long as they are wanted.
///
/// # Errors
/// Fails when a commit or a tree cannot be read.
pub fn walk_back(
    objects: &Objects,
    from: &CommitId,
    most: usize,
    is_wanted: &dyn Fn(&CommitId) -> bool,
) -> Result<Vec<Delta>, Error> {
    let mut deltas = Vec::new();
    let mut next = Some(from.clone());
    while let Some(id) = next.filter(|id| deltas.len() < most && is_wanted(id)) {
        let commit = objects.commit(&id)?;
        next = commit.parents.into_iter().next();
        // a shallow clone ends with a commit whose parent is not there
        let parent = next.as_ref().map(|parent| objects.commit(parent));
        let Ok(parent) = parent.transpose() else {
            break;
        };
        let before = parent.as_ref().map(|parent| &parent.tree);
        deltas.push(objects.difference(before, Some(&commit.tree))?);
    }
    Ok(deltas)
}

/// Where a content was seen: at which paths, and how.
pub type Contents<'a> = HashMap<ObjectId, BTreeMap<&'a RepoPath, BTreeSet<Seen>>>;

/// The contents that net changes have in any of these states.
pub fn contents<'a>(net: &'a [Change], states: &[&Delta]) -> Contents<'a> {
    let mut contents = Contents::default();
    for change in net {
        let Some(path) = change.place.path() else {
            continue;
        };
        for delta in states {
            if let Some(Some(entry)) = delta.get(path)
                && entry.has_content()
            {
                let places = contents.entry(entry.id).or_default();
                places.insert(path, change.seen.clone());
            }
        }
    }
    contents
}
