//! Finds the content of excluded files in other places: what upstream has there, and had.

use std::collections::{BTreeMap, HashSet};
use std::path::PathBuf;
use std::time::SystemTime;

use crate::disk::files;
use crate::git::objects::Objects;
use crate::inventory::manifest::Manifest;
use crate::judge::change::{Change, Content, Kind, Place, Seen};
use crate::judge::compare::Delta;
use crate::scope::classifier::Classifier;
use crate::scope::{Access, EntryKind, Scope};
use crate::truth::commits::Contents;
use crate::truth::ground::{Ground, Sources};
use crate::truth::passed::walk_back;
use crate::words::entry::{Entry, ObjectId};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;

/// Holds where the contents of excluded files are looked for.
pub struct Originals<'a> {
    /// The scope that excludes them.
    pub scope: &'a Scope,
    /// The tree of the base.
    pub manifest: &'a Manifest,
    /// Other trees of upstream, as differences from the base.
    pub others: Vec<&'a Delta>,
    /// The history of upstream and the time of `add`; none where only these trees count.
    pub history: Option<(&'a Objects, SystemTime, &'a [CommitId])>,
}

/// Holds which contents were found, each at an excluded path or at one that is not.
struct Search<'a> {
    classifier: Classifier<'a>,
    contents: &'a Contents<'a>,
    /// How any of the contents begins: nearly all of a manifest begins otherwise, and is not looked up.
    begins: Vec<bool>,
    excluded: BTreeMap<ObjectId, String>,
    visible: HashSet<ObjectId>,
}

impl Search<'_> {
    fn is_excluded(&mut self, path: &RepoPath) -> bool {
        self.classifier.verdict(path, EntryKind::File).access == Access::Excluded
    }

    fn note(&mut self, path: &RepoPath, entry: Option<Entry>, version: &str) {
        let is_sought =
            |id: &ObjectId| self.begins[first_two(id)] && self.contents.contains_key(id);
        let Some(Entry { id, .. }) = entry.filter(|entry| is_sought(&entry.id)) else {
            return;
        };
        if self.is_excluded(path) {
            let said = || format!("it has the content of {version}{path}");
            self.excluded.entry(id).or_insert_with(said);
        } else {
            self.visible.insert(id);
        }
    }

    fn note_all(&mut self, deltas: &[&Delta]) {
        for (path, entry) in deltas.iter().copied().flatten() {
            self.note(path, *entry, "another version of ");
        }
    }
}

/// How many commits of upstream are looked through for a former version.
const FORMER: usize = 1000;

impl Originals<'_> {
    /// Finds files that have, byte for byte, what upstream has or had at an excluded path and nowhere
    /// else. History is read only where a content was in the repository before `add`.
    ///
    /// # Errors
    /// Fails when a commit or a tree cannot be read.
    pub fn leaks(&self, contents: &Contents<'_>) -> Result<Vec<Change>, Error> {
        if contents.is_empty() {
            return Ok(Vec::new());
        }
        let mut search = Search {
            classifier: self.scope.classifier(),
            contents,
            begins: vec![false; 1 << 16],
            excluded: BTreeMap::new(),
            visible: HashSet::new(),
        };
        let ids = contents.keys();
        ids.for_each(|id| search.begins[first_two(id)] = true);
        let items = self.manifest.items().iter();
        items.for_each(|item| search.note(&item.path, item.base, ""));
        search.note_all(&self.others);
        if let Some((objects, since, tips)) = self.history {
            let is_known = |id| search.excluded.contains_key(id) || search.visible.contains(id);
            let mut open = contents.iter().filter(|(id, places)| {
                let mut seen = places.values().flatten();
                !is_known(*id) && !is_empty(id) && seen.any(|seen| *seen != Seen::Ignored)
            });
            // git writes no file for an object that is there already
            let is_older = |file: PathBuf| files::created(&file).is_none_or(|at| at < since);
            if open.any(|(id, _)| objects.find_file(id).is_some_and(is_older)) {
                for tip in tips {
                    let former = walk_back(objects, tip, FORMER, &|_| true)?;
                    search.note_all(&former.iter().collect::<Vec<_>>());
                }
            }
        }
        let mut found = Vec::new();
        for (id, said) in std::mem::take(&mut search.excluded) {
            if search.visible.contains(&id) || is_empty(&id) {
                continue;
            }
            for (path, seen) in contents.get(&id).into_iter().flatten() {
                if !search.is_excluded(path) {
                    let place = Place::Path((*path).clone());
                    found.push(Change {
                        seen: seen.clone(),
                        now: vec![Content::value("", Some(id.to_string()))],
                        ..Change::detailed(place, Kind::Leak, &*said)
                    });
                }
            }
        }
        found.sort();
        Ok(found)
    }
}

impl Ground<'_> {
    /// Where the contents of excluded files are looked for.
    pub fn originals<'s>(&'s self, sources: &'s Sources, manifest: &'s Manifest) -> Originals<'s> {
        let compared = &sources.compared;
        let others = compared.working.iter().chain(&compared.tip);
        let added = files::created(self.known.dir.as_std_path());
        Originals {
            scope: &self.known.scope,
            manifest,
            others: others.collect(),
            history: added.map(|added| (&self.objects, added, compared.trusted.as_slice())),
        }
    }
}

fn first_two(id: &ObjectId) -> usize {
    let bytes = id.as_bytes();
    usize::from(bytes[0]) << 8 | usize::from(bytes[1])
}

/// Whether it is the id of the empty blob, as each hash function names it.
fn is_empty(id: &ObjectId) -> bool {
    let all = [
        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
    ];
    all.contains(&id.to_string().as_str())
}
