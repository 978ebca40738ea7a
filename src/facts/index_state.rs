//! Turns an index into differences from the base, as trees and the disk are told.

use std::collections::BTreeMap;

use camino::Utf8PathBuf;

use super::repository::Repository;
use super::worktree::Known;
use crate::change::IndexFlag;
use crate::compare::Delta;
use crate::disk::files;
use crate::git::index::{IndexEntry, Stage, read_index};
use crate::manifest::Manifest;
use crate::path::RepoPath;
use crate::scope::{Access, Classifier, EntryKind};

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

impl IndexState {
    /// Reads an index and compares it with the base.
    pub fn read(
        repository: &Repository,
        known: &Known,
        manifest: &Manifest,
        file: &IndexFile,
    ) -> Self {
        let path = match file {
            IndexFile::Own => known.record.admin_dir.join("index"),
            IndexFile::Given(path) => path.clone(),
        };
        let entries = read_index(&path, repository.format);
        match entries {
            Ok(entries) if files::exists(&path) => Self::of(known, manifest, &entries),
            Ok(_) | Err(_) => Self {
                damaged: true,
                ..Self::default()
            },
        }
    }

    fn of(known: &Known, manifest: &Manifest, entries: &[IndexEntry]) -> Self {
        let mut ours = Delta::new();
        let mut theirs = Delta::new();
        let mut hidden = BTreeMap::new();
        let mut classifier = known.scope.classifier();
        let mut items = manifest
            .items()
            .iter()
            .filter(|item| item.base.is_some())
            .peekable();
        for group in entries.chunk_by(|a, b| a.path == b.path) {
            let path = &group[0].path;
            while let Some(gone) = items.next_if(|item| item.path < *path) {
                ours.insert(gone.path.clone(), None);
            }
            let base = items
                .next_if(|item| item.path == *path)
                .and_then(|item| item.base);
            let side = |stage: Stage| group.iter().find(|e| e.stage == stage).map(|e| e.entry);
            let conflict = group.iter().any(|entry| entry.stage != Stage::Normal);
            let now = side(if conflict { Stage::Ours } else { Stage::Normal });
            if now != base {
                ours.insert(path.clone(), now);
            }
            if conflict {
                theirs.insert(path.clone(), side(Stage::Theirs));
            }
            if let Some(flag) = flag_of(&mut classifier, &group[0]) {
                hidden.insert(path.clone(), flag);
            }
        }
        ours.extend(items.map(|gone| (gone.path.clone(), None)));
        let mut deltas = vec![ours];
        if !theirs.is_empty() {
            let mut second = deltas[0].clone();
            second.extend(theirs);
            deltas.push(second);
        }
        Self {
            deltas,
            hidden,
            damaged: false,
        }
    }

    /// Whether it has an entry for a path that the base does not have.
    pub fn adds(&self, path: &RepoPath) -> bool {
        self.deltas
            .iter()
            .any(|delta| matches!(delta.get(path), Some(Some(_))))
    }
}

fn flag_of(classifier: &mut Classifier<'_>, entry: &IndexEntry) -> Option<IndexFlag> {
    if entry.assume_unchanged {
        return Some(IndexFlag::AssumeUnchanged);
    }
    let mut access = || classifier.verdict(&entry.path, EntryKind::File).access;
    (entry.skip_worktree && access() != Access::Excluded).then_some(IndexFlag::SkipWorktree)
}
