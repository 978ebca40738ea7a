//! Turns an index into [`Delta`]s: what differs from the base, a second time for a conflict.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BStr;

use crate::git::index::{IndexEntry, OpenIndex, Stage};
use crate::inventory::manifest::{Item, Manifest};
use crate::judge::change::Seen;
use crate::judge::compare::Delta;
use crate::scope::classifier::Classifier;
use crate::scope::rule::{Access, EntryKind};
use crate::words::entry::{Entry, Mode};
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;

/// Holds what an index says.
#[derive(Clone, Debug, Default)]
pub struct IndexState {
    /// How it differs from the base: one difference, and in a conflict a second one with
    /// "theirs" where the first has "ours".
    pub deltas: Vec<Delta>,
    /// Paths that a flag hides from git's own eyes, with how they are seen.
    pub hidden: BTreeMap<RepoPath, Seen>,
    /// Paths in a conflict.
    pub conflicts: BTreeSet<RepoPath>,
    /// Paths that the base does not have, and that are only announced (`git add
    /// --intent-to-add`): a commit leaves them out.
    pub announced: BTreeSet<RepoPath>,
    /// Whether it is missing or cannot be read.
    pub damaged: bool,
}

impl IndexState {
    /// Compares an index with the base; none if the index is damaged.
    pub fn compare(worktree: &Worktree, manifest: &Manifest, index: &OpenIndex) -> Option<Self> {
        let mut comparison = Comparison::new(worktree);
        // both are sorted by path, and a path in a conflict has several entries in the index
        let mut entries = index.entries().peekable();
        let mut items = manifest.items().iter().peekable();
        let mut group = Vec::new();
        while let Some(first) = entries.next() {
            let first = first.ok()?;
            group.clear();
            group.push(first);
            while let Some(Ok(next)) = entries.peek()
                && next.path == first.path
            {
                group.push(*next);
                entries.next();
            }
            while let Some(item) = items.next_if(|item| item.path.as_bstr() < first.path) {
                comparison.add_missing(item);
            }
            let item = items.next_if(|item| item.path.as_bstr() == first.path);
            comparison.add(item, &group)?;
        }
        for item in items {
            comparison.add_missing(item);
        }
        Some(comparison.into_state())
    }

    /// True if it has an entry for a path where the base has none, or another one.
    pub fn adds(&self, path: &RepoPath) -> bool {
        let mut entries = self.deltas.iter().map(|delta| delta.get(path));
        entries.any(|entry| matches!(entry, Some(Some(_))))
    }
}

/// Holds what was compared so far.
struct Comparison<'a> {
    classifier: Classifier<'a>,
    /// The difference from the base, in a conflict with "ours".
    ours: Delta,
    /// What a conflict has as "theirs".
    theirs: Delta,
    hidden: BTreeMap<RepoPath, Seen>,
    conflicts: BTreeSet<RepoPath>,
    announced: BTreeSet<RepoPath>,
}

impl<'a> Comparison<'a> {
    fn new(worktree: &'a Worktree) -> Self {
        Self {
            classifier: worktree.scope.classifier(),
            ours: Delta::new(),
            theirs: Delta::new(),
            hidden: BTreeMap::new(),
            conflicts: BTreeSet::new(),
            announced: BTreeSet::new(),
        }
    }

    /// Adds a path that the base has and the index has not.
    fn add_missing(&mut self, item: &Item) {
        if item.base.is_some() {
            self.ours.insert(item.path.clone(), None);
        }
    }

    /// Adds the entries that the index has of one path; `item` is what the manifest has of that
    /// path. None if the path is not valid.
    fn add(&mut self, item: Option<&Item>, group: &[IndexEntry<&BStr>]) -> Option<()> {
        let first = group.first()?;
        let base = item.and_then(|item| item.base);
        let is_conflict = group.iter().any(|entry| entry.stage != Stage::Unconflicted);
        let stage = if is_conflict {
            Stage::Ours
        } else {
            Stage::Unconflicted
        };
        let now = staged(group, stage, base);
        let is_marked = first.assume_unchanged || first.skip_worktree;
        // nearly all are so: no path is copied for them
        if now == base && !is_conflict && !is_marked && item.is_some() {
            return Some(());
        }
        let path = match item {
            Some(item) => item.path.clone(),
            None => RepoPath::parse(first.path).ok()?,
        };
        if first.assume_unchanged {
            self.hidden.insert(path.clone(), Seen::AssumeUnchanged);
        } else if first.skip_worktree && !self.is_excluded(&path, first.entry.mode) {
            self.hidden.insert(path.clone(), Seen::SkipWorktree);
        }
        if base.is_none() && first.intent_to_add {
            self.announced.insert(path.clone());
        }
        if is_conflict {
            let theirs = staged(group, Stage::Theirs, base);
            self.theirs.insert(path.clone(), theirs);
            self.conflicts.insert(path.clone());
        }
        if now != base {
            self.ours.insert(path, now);
        }
        Some(())
    }

    fn is_excluded(&mut self, path: &RepoPath, mode: Mode) -> bool {
        self.classifier.verdict(path, EntryKind::of(mode)).access == Access::Excluded
    }

    fn into_state(self) -> IndexState {
        let mut deltas = vec![self.ours];
        if !self.theirs.is_empty() {
            let mut with_theirs = deltas[0].clone();
            with_theirs.extend(self.theirs);
            deltas.push(with_theirs);
        }
        IndexState {
            deltas,
            hidden: self.hidden,
            conflicts: self.conflicts,
            announced: self.announced,
            damaged: false,
        }
    }
}

/// Returns what a commit would have of a path in this stage. A commit leaves out what was added
/// with `--intent-to-add` alone: where the base has a file, that deletes it. Where the base has
/// none, the entry is returned all the same, as git knows the path.
fn staged(group: &[IndexEntry<&BStr>], stage: Stage, base: Option<Entry>) -> Option<Entry> {
    for entry in group {
        let is_in_commit = base.is_none() || !entry.intent_to_add;
        if entry.stage == stage && is_in_commit {
            return Some(entry.entry);
        }
    }
    None
}
