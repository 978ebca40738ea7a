//! Turns an index into differences from the base, as trees and the disk are told.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::slice::Iter;

use bstr::BStr;

use crate::change::Seen;
use crate::compare::Delta;
use crate::git::index::{IndexEntry, OpenIndex, Stage};
use crate::manifest::{Item, Manifest};
use crate::path::RepoPath;
use crate::scope::{Access, Classifier, EntryKind};
use crate::worktree::Worktree;

/// Holds what an index says.
#[derive(Clone, Debug, Default)]
pub struct IndexState {
    /// How it differs from the base: one difference, and in a conflict a second one with
    /// "theirs" where the first has "ours".
    pub deltas: Vec<Delta>,
    /// Paths that a flag hides from git's own eyes, with how they are seen.
    pub hidden: BTreeMap<RepoPath, Seen>,
    /// Whether it is missing or cannot be read.
    pub damaged: bool,
}

impl IndexState {
    /// Compares an index with the base; none is damaged.
    pub fn compare(known: &Worktree, manifest: &Manifest, index: Option<&OpenIndex>) -> Self {
        let mut comparing = Comparing::new(known, manifest);
        let compared = index.and_then(|index| {
            for entry in index.entries() {
                comparing.take(entry.ok()?);
            }
            comparing.end()
        });
        compared.unwrap_or(Self {
            damaged: true,
            ..Self::default()
        })
    }

    /// Whether it has an entry for a path that the base does not have.
    pub fn adds(&self, path: &RepoPath) -> bool {
        self.deltas
            .iter()
            .any(|delta| matches!(delta.get(path), Some(Some(_))))
    }
}

/// Compares the entries of an index, as they come, with what the manifest says of the base.
struct Comparing<'a> {
    items: Peekable<Iter<'a, Item>>,
    classifier: Classifier<'a>,
    /// The entries of the newest path: several in a conflict.
    group: Vec<IndexEntry<&'a BStr>>,
    ours: Delta,
    theirs: Delta,
    hidden: BTreeMap<RepoPath, Seen>,
    is_odd: bool,
}

impl<'a> Comparing<'a> {
    fn new(known: &'a Worktree, manifest: &'a Manifest) -> Self {
        Self {
            items: manifest.items().iter().peekable(),
            classifier: known.scope.classifier(),
            group: Vec::with_capacity(4),
            ours: Delta::new(),
            theirs: Delta::new(),
            hidden: BTreeMap::new(),
            is_odd: false,
        }
    }

    fn take(&mut self, entry: IndexEntry<&'a BStr>) {
        if self.group.first().is_some_and(|one| one.path != entry.path) {
            self.compare();
        }
        self.group.push(entry);
    }

    /// What was compared; none when something in it can be no path.
    fn end(mut self) -> Option<IndexState> {
        self.compare();
        let gone = self.items.filter(|item| item.base.is_some());
        self.ours.extend(gone.map(|gone| (gone.path.clone(), None)));
        let mut deltas = vec![self.ours];
        if !self.theirs.is_empty() {
            let mut second = deltas[0].clone();
            second.extend(self.theirs);
            deltas.push(second);
        }
        (!self.is_odd).then_some(IndexState {
            deltas,
            hidden: self.hidden,
            damaged: false,
        })
    }

    /// The item of a path; what comes before it is gone.
    fn item(&mut self, name: &BStr) -> Option<&'a Item> {
        loop {
            let item = *self.items.peek()?;
            match item.path.as_bstr().cmp(name) {
                Ordering::Less => {
                    if item.base.is_some() {
                        self.ours.insert(item.path.clone(), None);
                    }
                }
                Ordering::Equal => return self.items.next(),
                Ordering::Greater => return None,
            }
            self.items.next();
        }
    }

    /// Compares the newest path.
    fn compare(&mut self) {
        let Some(first) = self.group.first().copied() else {
            return;
        };
        let name = first.path;
        let item = self.item(name);
        let base = item.and_then(|item| item.base);
        // one entry, which is what the base has: as nearly all are
        if let [one] = &self.group[..]
            && one.stage == Stage::Normal
            && base == Some(one.entry)
            && !one.assume_unchanged
            && !one.skip_worktree
        {
            self.group.clear();
            return;
        }
        let side = |stage: Stage| {
            self.group
                .iter()
                .find(|e| e.stage == stage)
                .map(|e| e.entry)
        };
        let conflict = self.group.iter().any(|entry| entry.stage != Stage::Normal);
        let now = side(if conflict { Stage::Ours } else { Stage::Normal });
        let theirs = conflict.then(|| side(Stage::Theirs));
        self.group.clear();
        let is_marked = first.assume_unchanged || first.skip_worktree;
        if now == base && theirs.is_none() && !is_marked && item.is_some() {
            return;
        }
        let parsed = || RepoPath::parse(first.path).ok();
        let Some(path) = item.map(|item| item.path.clone()).or_else(parsed) else {
            self.is_odd = true;
            return;
        };
        let kind = EntryKind::of(first.entry.mode);
        let mut access = || self.classifier.verdict(&path, kind).access;
        if first.assume_unchanged {
            self.hidden.insert(path.clone(), Seen::AssumeUnchanged);
        } else if first.skip_worktree && access() != Access::Excluded {
            self.hidden.insert(path.clone(), Seen::SkipWorktree);
        }
        if let Some(theirs) = theirs {
            self.theirs.insert(path.clone(), theirs);
        }
        if now != base {
            self.ours.insert(path, now);
        }
    }
}
