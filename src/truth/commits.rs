//! Collects what the commits of a worktree changed, and what is wrong around it: what a hook can say
//! at once, however many files there are.
//!
//! Neither the index nor a file on disk is looked at, and of the base only the paths that a commit
//! touched: it takes as long as the work is large. What is left out is `verify`'s.
//!
//! Also finds links that the scope allows and that lead out of what may be written.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::disk::open::{Opened, open_below};
use crate::disk::resolve::resolve;
use crate::git::environment::GitMode;
use crate::git::objects::Objects;
use crate::inventory::manifest::Manifest;
use crate::judge::change::{Change, ChangeSet, Extent, Kind, Place, Seen};
use crate::judge::compare::Delta;
use crate::scope::{Access, EntryKind};
use crate::truth::ground::{Ground, Terms};
use crate::truth::states::IndexState;
use crate::words::entry::{Entry, Mode, ObjectId};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Collects it.
///
/// # Errors
/// Fails when the base, the record or the common repository cannot be read.
pub fn committed(repository: &Repository, known: &Worktree) -> Result<ChangeSet, Error> {
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
    let apart = ground.find_harmless(&sources, &IndexState::default(), &changes)?;
    let mut states = vec![&sources.compared.head];
    states.extend(sources.compared.branches.iter().map(|(branch, _)| branch));
    let contents = contents(&changes, &states);
    let past = sources.history.contents(&net);
    let mut found = Vec::new();
    // whose contents must not be elsewhere, only the whole list of the base says
    if !(known.scope.shows_all() || contents.is_empty() && past.is_empty()) {
        let whole = known.manifest()?;
        let originals = ground.originals(&sources, &whole);
        found = originals.leaks(&contents)?;
        put_back.extend(originals.leaks(&past)?);
    }
    Ok(ChangeSet {
        looked: Extent::Commits,
        history: put_back,
        apart,
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
) -> Result<Manifest, Error> {
    let tree = objects.commit(&known.record.checked_out)?.tree;
    let paths: BTreeSet<&RepoPath> = paths.collect();
    Ok(Manifest::of_tree(objects.at(&tree, paths)?))
}

/// Holds which commits touched which paths, the newest first.
#[derive(Debug, Default)]
pub struct History(BTreeMap<RepoPath, Vec<(CommitId, Option<Entry>)>>);

impl History {
    /// Reads what each of these commits, the newest first, changed against its parents. A merge
    /// changes a path only if it has it otherwise than every parent.
    ///
    /// # Errors
    /// Fails when a commit or a tree cannot be read.
    pub fn read(objects: &Objects, commits: &[CommitId]) -> Result<Self, Error> {
        let mut history = Self::default();
        for id in commits {
            for (path, entry) in touched(objects, id)? {
                let entries = history.0.entry(path).or_default();
                entries.push((id.clone(), entry));
            }
        }
        Ok(history)
    }

    /// How a committed path is seen: in the newest commit that touched it.
    pub fn seen(&self, path: &RepoPath) -> Seen {
        let newest = self.0.get(path).and_then(|entries| entries.first());
        newest.map_or(Seen::Committed, |(commit, _)| Seen::Commit(commit.clone()))
    }

    /// Every path that a commit touched.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.0.keys()
    }

    /// What files held in commits, at paths that are not among the net changes.
    pub fn contents(&self, net: &BTreeSet<&RepoPath>) -> Contents<'_> {
        let mut all = Contents::default();
        for (path, entries) in self.0.iter().filter(|(path, _)| !net.contains(path)) {
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
    /// changes, with an entry that is not known of upstream.
    pub fn put_back(
        &self,
        net: &BTreeSet<&RepoPath>,
        is_known: &dyn Fn(&RepoPath, Option<Entry>) -> bool,
        is_own: &dyn Fn(&CommitId) -> bool,
    ) -> Vec<Change> {
        let mut changes = Vec::new();
        for (path, entries) in self.0.iter().filter(|(path, _)| !net.contains(path)) {
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

/// What a commit has otherwise than its parent, and a merge otherwise than every parent. Where a shallow
/// history ends, a commit has all of its files otherwise.
pub(crate) fn touched(objects: &Objects, id: &CommitId) -> Result<Delta, Error> {
    let commit = objects.commit(id)?;
    let parents = objects.without_cut_off(commit.parents)?;
    let mut parents = parents.iter();
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

/// Where a content was seen: at which paths, and how.
pub type Contents<'a> = HashMap<ObjectId, BTreeMap<&'a RepoPath, BTreeSet<Seen>>>;

/// The contents that net changes have in any of these states.
pub fn contents<'a>(net: &'a [Change], states: &[&Delta]) -> Contents<'a> {
    let mut all = Contents::default();
    for change in net {
        let Some(path) = change.place.path() else {
            continue;
        };
        let entries = states.iter().filter_map(|delta| *delta.get(path)?);
        for entry in entries.filter(|entry| entry.mode.is_regular()) {
            let at = all.entry(entry.id).or_default();
            at.insert(path, change.seen.clone());
        }
    }
    all
}

/// Finds changed links on disk, where the scope allows them, whose text leads to what it does not
/// let the worktree write.
pub fn links_out(known: &Worktree, net: &[Change], disk: &Delta) -> Vec<Change> {
    let access = |path: &RepoPath| known.scope.verdict(path, EntryKind::File).access;
    let leads_out = |change: &Change| {
        let path = change.place.path()?;
        let is_link = (*disk.get(path)?)?.mode == Mode::Link;
        if !is_link || access(path) != Access::Write {
            return None;
        }
        let Ok(Opened::Link(text)) = open_below(&known.record.path, path) else {
            return None;
        };
        if is_inside(known, path) {
            return None;
        }
        let shown = crate::words::path::escape_for_terminal(&text);
        let said = format!("it leads to {shown}, which the scope does not let be written");
        Some(Change {
            detail: Some(said),
            ..change.clone()
        })
    };
    net.iter().filter_map(leads_out).collect()
}

/// Whether the file that a link leads to, through all links on the way, may be written.
fn is_inside(known: &Worktree, link: &RepoPath) -> bool {
    let root = known.record.path.as_std_path();
    let target = link.to_os_path().ok().and_then(|path| {
        let target = resolve(&root.join(path), &|_| false).ok()?;
        let below = target.strip_prefix(root).ok()?.as_os_str();
        RepoPath::parse(below.as_encoded_bytes()).ok()
    });
    let Some(target) = target else {
        return false;
    };
    // what is in a directory may be written where the directory itself is no match: `tests/**`
    let access = |path: &RepoPath| known.scope.verdict(path, EntryKind::File).access;
    let inside = RepoPath::child(Some(&target), b"_");
    access(&target) == Access::Write || access(&inside) == Access::Write
}
