//! Collects what the commits of a worktree changed, and what is wrong around it: what a hook can say
//! at once, however many files there are.
//!
//! Neither the index nor a file on disk is looked at, and of the base only the paths that a commit
//! touched: it takes as long as the work is large. What is left out is `verify`'s.

use std::collections::{BTreeMap, BTreeSet};

use crate::change::{Change, ChangeSet, Extent, Kind, Place, Seen};
use crate::compare::Delta;
use crate::entry::Entry;
use crate::git::GitMode;
use crate::git::objects::Objects;
use crate::manifest::{Item, Manifest};
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::truth::ground::{Ground, Terms};
use crate::truth::leaks;
use crate::truth::leaks::Contents;
use crate::worktree::repository::Repository;
use crate::worktree::{Worktree, WorktreeError};

/// Collects it.
///
/// # Errors
/// Fails when the base, the record or the common repository cannot be read.
pub fn committed(repository: &Repository, known: &Worktree) -> Result<ChangeSet, WorktreeError> {
    let repository = &known.readable_repository(repository);
    let terms = Terms::default();
    let mut ground = Ground {
        repository,
        known,
        manifest: Manifest::default(),
        objects: repository.objects()?,
        git: repository.git.with_mode(GitMode::Hardened),
        terms: &terms,
    };
    let mut sources = ground.sources()?;
    ground.manifest = base_at(&ground.objects, known, sources.paths())?;
    let changes = ground.net(&sources, None);
    let net: BTreeSet<&RepoPath> = changes.iter().filter_map(|c| c.place.path()).collect();
    let mut put_back = ground.put_back(&sources, &net);
    let contents = leaks::contents(&changes, &[&sources.compared.head]);
    let past = sources.history.contents(&net);
    let mut found = Vec::new();
    // whose contents must not be elsewhere, only the whole list of the base says
    if !(known.scope.shows_all() || contents.is_empty() && past.is_empty()) {
        let whole = known.manifest()?;
        found = leaks::leaks(&known.scope, &whole, &contents);
        put_back.extend(leaks::leaks(&known.scope, &whole, &past));
    }
    Ok(ChangeSet {
        looked: Extent::Commits,
        history: put_back,
        leaks: found,
        ..sources.changes(&ground, changes)
    })
}

/// What the tree that was checked out has at each of these paths, and nothing else of it.
///
/// # Errors
/// Fails when the tree cannot be read.
pub fn base_at<'p>(
    objects: &Objects,
    known: &Worktree,
    paths: impl Iterator<Item = &'p RepoPath>,
) -> Result<Manifest, WorktreeError> {
    let tree = objects.commit(&known.record.checked_out)?.tree;
    let paths: BTreeSet<&RepoPath> = paths.collect();
    let there = objects.at(&tree, paths)?.into_iter();
    let item = |(path, entry)| Item {
        path,
        base: Some(entry),
        disk: None,
    };
    Ok(Manifest::new(there.map(item).collect(), i64::MIN))
}

/// Holds which commits touched which paths.
#[derive(Debug, Default)]
pub(crate) struct History {
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

    /// How a committed path is seen: in the newest commit that touched it.
    pub fn seen(&self, path: &RepoPath) -> Seen {
        let newest = self.newest.get(path).cloned();
        newest.map_or(Seen::Committed, Seen::Commit)
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
        for (path, entries) in self.entries.iter().filter(|(path, _)| !net.contains(path)) {
            let foreign = entries.iter().filter(|(_, entry)| !is_known(path, *entry));
            let commits: Vec<&CommitId> = foreign.map(|(commit, _)| commit).collect();
            let Some(first) = commits.first() else {
                continue;
            };
            let brought = !commits.iter().any(|commit| is_own(commit));
            let said = "by commits that were not created here, and reset";
            let seen = Seen::Commit((*first).clone());
            let mut change = Change::new(Place::Path(path.clone()), Kind::Modified, seen);
            let all = commits.iter().map(|commit| Seen::Commit((*commit).clone()));
            change.seen.extend(all);
            change.detail = brought.then(|| said.to_owned());
            let mut entries = entries.iter().filter_map(|(_, entry)| *entry);
            change.is_directory = entries.any(|entry| entry.mode.is_directory());
            changes.push(change);
        }
        changes
    }
}

/// What a commit has otherwise than its parent, and a merge otherwise than every parent.
pub(crate) fn touched(objects: &Objects, id: &CommitId) -> Result<Delta, WorktreeError> {
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
