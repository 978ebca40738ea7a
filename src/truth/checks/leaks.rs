//! Finds the content of excluded files in other places: what upstream has there, and had.

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, HashSet};

use crate::disk::files;
use crate::judge::change::{Change, Content, Kind, Place, Seen};
use crate::judge::compare::Delta;
use crate::scope::classifier::Classifier;
use crate::truth::history::{Contents, walk_back};
use crate::truth::layered::{FormerVersions, Layers};
use crate::words;
use crate::words::entry::{Mode, ObjectId};
use crate::words::error::Error;
use crate::words::path::RepoPath;

/// How many commits of upstream are looked through for a former version.
const FORMER: usize = 1000;

/// Finds files and links that have, byte for byte, what a file of upstream has or had at an excluded
/// path and nowhere else. History is read only where a content was in the repository before `add`.
///
/// # Errors
/// Fails when a commit or a tree cannot be read.
pub fn leaks(layers: &Layers<'_>, contents: &Contents<'_>) -> Result<Vec<Change>, Error> {
    if contents.is_empty() || layers.scope.shows_all() {
        return Ok(Vec::new());
    }
    let mut search = Search::new(layers.scope.classifier(), contents);
    layers.whole_base.read(|manifest| {
        for item in manifest.items() {
            search.note(&item.path, item.base, "");
        }
        Ok(())
    })?;
    for tree in &layers.upstream_trees {
        search.note_former(tree);
    }
    if let Some(former) = &layers.former_versions
        && search.may_be_former(former)
    {
        for tip in former.tips {
            for delta in walk_back(former.objects, tip, FORMER, &|_| true)? {
                search.note_former(&delta);
            }
        }
    }
    Ok(search.into_changes())
}

/// Holds which contents were found, each at an excluded path or at one that is not.
struct Search<'a> {
    classifier: Classifier<'a>,
    contents: &'a Contents<'a>,
    /// How any of the contents begins: nearly all of a manifest begins otherwise, and is not looked
    /// up.
    begins: Vec<bool>,
    /// What is said of each content that is at an excluded path.
    excluded: BTreeMap<ObjectId, String>,
    visible: HashSet<ObjectId>,
}

impl<'a> Search<'a> {
    fn new(classifier: Classifier<'a>, contents: &'a Contents<'a>) -> Self {
        let mut begins = vec![false; 1 << 16];
        for id in contents.keys() {
            begins[first_two(id)] = true;
        }
        Self {
            classifier,
            contents,
            begins,
            excluded: BTreeMap::new(),
            visible: HashSet::new(),
        }
    }

    /// Notes that upstream has an entry at a path.
    fn note(&mut self, path: &RepoPath, entry: Option<words::entry::Entry>, version: &str) {
        let Some(entry) = entry else {
            return;
        };
        if !self.begins[first_two(&entry.id)] || !self.contents.contains_key(&entry.id) {
            return;
        }
        if !self.classifier.excludes_file(path) {
            self.visible.insert(entry.id);
            return;
        }
        // many links have the same text, and lead elsewhere
        if entry.mode != Mode::Link
            && let Entry::Vacant(first) = self.excluded.entry(entry.id)
        {
            first.insert(format!("it has the content of {version}{path}"));
        }
    }

    /// Notes what another tree of upstream has.
    fn note_former(&mut self, delta: &Delta) {
        for (path, entry) in delta {
            self.note(path, *entry, "another version of ");
        }
    }

    /// True if a content that was not found yet was in the repository before `add`.
    fn may_be_former(&self, former: &FormerVersions<'_>) -> bool {
        for (id, places) in self.contents {
            let is_found = self.excluded.contains_key(id) || self.visible.contains(id);
            let is_only_ignored = places.values().flatten().all(|seen| *seen == Seen::Ignored);
            if is_found || is_only_ignored || is_empty(id) {
                continue;
            }
            // git writes no file for an object that is there already
            if let Some(file) = former.objects.find_file(id)
                && files::created(&file).is_none_or(|created| created < former.before)
            {
                return true;
            }
        }
        false
    }

    /// Lists the places that have a content of an excluded path, and of no other.
    fn into_changes(mut self) -> Vec<Change> {
        let mut changes = Vec::new();
        for (id, detail) in std::mem::take(&mut self.excluded) {
            if self.visible.contains(&id) || is_empty(&id) {
                continue;
            }
            for (path, seen) in &self.contents[&id] {
                if !self.classifier.excludes_file(path) {
                    let place = Place::Path((*path).clone());
                    changes.push(Change {
                        seen: seen.clone(),
                        now: vec![Content::value("", Some(id.to_string()))],
                        ..Change::detailed(place, Kind::Leak, &*detail)
                    });
                }
            }
        }
        changes.sort();
        changes
    }
}

/// How the id of a content begins, as a number.
fn first_two(id: &ObjectId) -> usize {
    let bytes = id.as_bytes();
    usize::from(bytes[0]) << 8 | usize::from(bytes[1])
}

/// True for the id of the empty blob, as each hash function names it.
fn is_empty(id: &ObjectId) -> bool {
    let of_empty = [
        "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
        "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
    ];
    of_empty.contains(&id.to_string().as_str())
}
