//! Lists what commits touched though it is as before again.

use std::collections::BTreeSet;

use crate::judge::change::{Change, Kind, Place, Seen};
use crate::judge::compare::{entry_in, same};
use crate::truth::layered::Layers;
use crate::words::entry::Entry;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;

/// Lists the paths that are not among the net changes and to which a commit gave an entry that is
/// not known of upstream.
pub fn reverted_paths(layers: &Layers<'_>, net: &BTreeSet<&RepoPath>) -> Vec<Change> {
    let mut changes = Vec::new();
    for (path, versions) in layers.history.versions() {
        if net.contains(path) {
            continue;
        }
        let mut commits: Vec<&CommitId> = Vec::new();
        let mut is_directory = false;
        for version in versions {
            if !is_of_upstream(layers, path, version.entry) {
                commits.push(&version.commit);
            }
            is_directory |= version.entry.is_some_and(|entry| entry.mode.is_directory());
        }
        let Some(newest) = commits.first() else {
            continue;
        };
        let seen = Seen::Commit((*newest).clone());
        let mut change = Change::new(Place::Path(path.clone()), Kind::Modified, seen);
        for commit in &commits {
            change.seen.insert(Seen::Commit((*commit).clone()));
        }
        if !commits.iter().any(|commit| layers.created_here.has(commit)) {
            let detail = "by commits that were not created here, and reset";
            change.detail = Some(detail.to_owned());
        }
        change.is_directory = is_directory;
        changes.push(change);
    }
    changes
}

/// True if a reference of HEAD has this entry at a path, or upstream had it since.
fn is_of_upstream(layers: &Layers<'_>, path: &RepoPath, entry: Option<Entry>) -> bool {
    for reference in &layers.references {
        if same(entry_in(layers.manifest, reference, path), entry) {
            return true;
        }
    }
    layers.upstream_states.is_state(path, entry)
}
