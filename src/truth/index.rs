//! Turns an index into differences from the base, as trees and the disk are told.

use std::cmp::Ordering;
use std::collections::BTreeMap;
use std::iter::Peekable;
use std::slice::Iter;

use bstr::BStr;
use camino::Utf8PathBuf;

use crate::change::IndexFlag;
use crate::compare::Delta;
use crate::disk::files;
use crate::git::index::{NotRaw, RawEntry, RawIndex, Stage, read_index};
use crate::git::objects::ObjectFormat;
use crate::git::require_file;
use crate::manifest::{Item, Manifest};
use crate::path::RepoPath;
use crate::scope::{Access, Classifier, EntryKind};
use crate::worktree::Worktree;
use crate::worktree::repository::Repository;

/// Says which index is looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum IndexFile {
    /// The worktree's own.
    Own,
    /// The one that a hook was given (`GIT_INDEX_FILE`, githooks(5)): what is to be committed.
    Given(Utf8PathBuf),
}

/// Holds what an index says.
#[derive(Clone, Debug, Default)]
pub struct IndexState {
    /// How it differs from the base: one difference, and in a conflict a second one with
    /// "theirs" where the first has "ours".
    pub deltas: Vec<Delta>,
    /// Paths that a flag hides from git's own eyes.
    pub hidden: BTreeMap<RepoPath, IndexFlag>,
    /// Whether it is missing or cannot be read.
    pub damaged: bool,
}

/// Holds an index as it stands in its file, not compared with anything yet.
pub struct LoadedIndex {
    path: Utf8PathBuf,
    format: ObjectFormat,
    /// None when there is none, or it cannot be read.
    content: Option<Loaded>,
}

enum Loaded {
    /// Its bytes, and whether the checksum is theirs.
    Raw(RawIndex, bool),
    /// It is not plain: only `gix` can read it.
    Special,
}

impl LoadedIndex {
    /// Reads the file, and checks that it is whole, which takes as long as to read the entries.
    #[must_use]
    pub fn read(repository: &Repository, known: &Worktree, file: &IndexFile) -> Self {
        let format = repository.format;
        let path = match file {
            IndexFile::Own => known.record.admin_dir.join("index"),
            IndexFile::Given(path) => path.clone(),
        };
        // a FIFO would be waited for; `read_index` says what stands there
        let content = require_file(&path).ok();
        let content = content.and_then(|()| files::read(&path).ok().flatten());
        let content = content.map(|bytes| match RawIndex::new(bytes, format.length()) {
            Ok(raw) => {
                let is_whole = raw.is_whole(format);
                Loaded::Raw(raw, is_whole)
            }
            Err(NotRaw::Special | NotRaw::Damaged) => Loaded::Special,
        });
        Self {
            path,
            format,
            content,
        }
    }
}

impl IndexState {
    /// Compares an index with the base.
    #[must_use]
    pub fn compare(known: &Worktree, manifest: &Manifest, index: &LoadedIndex) -> Self {
        let damaged = || Self {
            damaged: true,
            ..Self::default()
        };
        match &index.content {
            None | Some(Loaded::Raw(_, false)) => return damaged(),
            Some(Loaded::Raw(raw, true)) => {
                if let Some(state) = Self::compare_raw(known, manifest, raw) {
                    return state;
                }
            }
            Some(Loaded::Special) => {}
        }
        match read_index(&index.path, index.format) {
            Ok(entries) if files::exists(&index.path) => {
                let mut comparing = Comparing::new(known, manifest);
                entries.iter().for_each(|entry| comparing.take(entry.raw()));
                comparing.end().unwrap_or_else(damaged)
            }
            Ok(_) | Err(_) => damaged(),
        }
    }

    /// None where the index is not plain, or not whole.
    fn compare_raw(known: &Worktree, manifest: &Manifest, index: &RawIndex) -> Option<Self> {
        let mut comparing = Comparing::new(known, manifest);
        index.each(|entry| comparing.take(entry)).ok()?;
        comparing.end()
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
    group: Vec<RawEntry<'a>>,
    ours: Delta,
    theirs: Delta,
    hidden: BTreeMap<RepoPath, IndexFlag>,
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

    fn take(&mut self, entry: RawEntry<'a>) {
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
        let parsed = || first.repo_path();
        let Some(path) = item.map(|item| item.path.clone()).or_else(parsed) else {
            self.is_odd = true;
            return;
        };
        if let Some(flag) = flag_of(&mut self.classifier, &path, &first) {
            self.hidden.insert(path.clone(), flag);
        }
        if let Some(theirs) = theirs {
            self.theirs.insert(path.clone(), theirs);
        }
        if now != base {
            self.ours.insert(path, now);
        }
    }
}

fn flag_of(
    classifier: &mut Classifier<'_>,
    path: &RepoPath,
    entry: &RawEntry<'_>,
) -> Option<IndexFlag> {
    if entry.assume_unchanged {
        return Some(IndexFlag::AssumeUnchanged);
    }
    let kind = EntryKind::of(entry.entry.mode);
    let mut access = || classifier.verdict(path, kind).access;
    (entry.skip_worktree && access() != Access::Excluded).then_some(IndexFlag::SkipWorktree)
}
