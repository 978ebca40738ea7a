//! Lists what commits touched though it is as before again.

use std::collections::BTreeSet;

use crate::judge::change::{Change, Kind, Place, Seen};
use crate::judge::compare::{entry_in, had_entry, same};
use crate::truth::history::Version;
use crate::truth::layered::Layers;
use crate::words::entry::Entry;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;

/// Lists the paths that are no net change, but to which commits gave an entry that upstream never
/// had: the commits or later ones put the path back.
pub fn reverted_paths(layers: &Layers<'_>, net: &BTreeSet<&RepoPath>) -> Vec<Change> {
    let mut changes = Vec::new();
    for (path, versions) in layers.history.versions() {
        if !net.contains(path) {
            changes.extend(reverted_path(layers, path, versions));
        }
    }
    changes
}

/// Returns the change of a path with the commits that gave it an entry which upstream never had;
/// none if there are no such commits.
fn reverted_path(layers: &Layers<'_>, path: &RepoPath, versions: &[Version]) -> Option<Change> {
    let mut commits: Vec<&CommitId> = Vec::new();
    for version in versions {
        if !is_of_upstream(layers, path, version.entry) {
            commits.push(&version.commit);
        }
    }
    let newest = commits.first()?;
    let seen = Seen::Commit((*newest).clone());
    let mut change = Change::new(Place::Path(path.clone()), Kind::Modified, seen);
    for commit in &commits {
        change.seen.insert(Seen::Commit((*commit).clone()));
    }
    if !commits.iter().any(|commit| layers.created_here.has(commit)) {
        let detail = "by commits that were not created here, and reset";
        change.detail = Some(detail.to_owned());
    }
    let mut entries = versions.iter().filter_map(|version| version.entry);
    change.is_directory = entries.any(|entry| entry.mode.is_directory());
    Some(change)
}

/// True if a reference of HEAD has this entry at a path, or upstream had it since HEAD or a branch left
/// it.
fn is_of_upstream(layers: &Layers<'_>, path: &RepoPath, entry: Option<Entry>) -> bool {
    for reference in &layers.references {
        if same(entry_in(layers.manifest, reference, path), entry) {
            return true;
        }
    }
    let mut since = layers.since.iter();
    since.any(|former| had_entry(former, path, entry))
}
