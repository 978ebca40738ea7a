//! Finds changes that the scope allows and that are worth a second look: the content of an excluded
//! file in another place, and links that lead out of what may be written.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::change::{Change, Kind, Place, Seen};
use crate::compare::Delta;
use crate::disk::below::open_below;
use crate::disk::files::Opened;
use crate::entry::{Mode, ObjectId};
use crate::manifest::Manifest;
use crate::path::RepoPath;
use crate::scope::{Access, EntryKind, Scope};
use crate::worktree::Worktree;

/// Where a content was seen: at which paths, and how.
pub type Contents<'a> = HashMap<ObjectId, BTreeMap<&'a RepoPath, BTreeSet<Seen>>>;

/// The contents that net changes have in any of these states.
pub fn contents<'a>(net: &'a [Change], states: &[&Delta]) -> Contents<'a> {
    let mut all = Contents::default();
    for change in net {
        let Some(path) = change.place.path() else {
            continue;
        };
        let entries = states
            .iter()
            .filter_map(|delta| (*delta.get(path)?).as_ref());
        for entry in entries.filter(|entry| entry.mode.is_regular()) {
            let at = all.entry(entry.id).or_default();
            at.insert(path, change.seen.clone());
        }
    }
    all
}

/// Finds files that have, byte for byte, what the base has at an excluded path and nowhere else.
pub fn leaks(scope: &Scope, manifest: &Manifest, contents: &Contents<'_>) -> Vec<Change> {
    if contents.is_empty() {
        return Vec::new();
    }
    let mut classifier = scope.classifier();
    let mut access = |path: &RepoPath| classifier.verdict(path, EntryKind::File).access;
    let (mut excluded, mut visible) = (HashMap::new(), HashSet::new());
    // how any of them begins: nearly all of the manifest begins otherwise, and is not looked up
    let mut begins = vec![false; 1 << 16];
    for id in contents.keys() {
        begins[first_two(id)] = true;
    }
    let is_sought = |id: &ObjectId| begins[first_two(id)] && contents.contains_key(id);
    for item in manifest.items() {
        let Some(base) = item.base.filter(|base| is_sought(&base.id)) else {
            continue;
        };
        if access(&item.path) == Access::Excluded {
            excluded.entry(base.id).or_insert(&item.path);
        } else {
            visible.insert(base.id);
        }
    }
    let mut found = Vec::new();
    for (id, original) in excluded {
        if visible.contains(&id) || EMPTY.contains(&id.to_string().as_str()) {
            continue;
        }
        let copies = contents.get(&id).into_iter().flatten();
        for (path, seen) in copies.filter(|(path, _)| access(path) != Access::Excluded) {
            let place = Place::Path((*path).clone());
            let said = format!("it has the content of {original}");
            found.push(Change {
                seen: seen.clone(),
                ..Change::detailed(place, Kind::Leak, said)
            });
        }
    }
    found.sort();
    found
}

fn first_two(id: &ObjectId) -> usize {
    let bytes = id.as_bytes();
    usize::from(bytes[0]) << 8 | usize::from(bytes[1])
}

/// The empty blob, as each hash function names it.
const EMPTY: [&str; 2] = [
    "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",
    "473a0f4c3be8a93681a267e3b1e9a7dcda1185436fe141f7749120a303721813",
];

/// Finds changed links on disk, where the scope allows them, whose text leads to what it does not
/// let the worktree write.
pub fn links_out(known: &Worktree, net: &[Change], disk: &Delta) -> Vec<Change> {
    let access = |path: &RepoPath| known.scope.verdict(path, EntryKind::File).access;
    let leads_out = |change: &Change| {
        let path = change.place.path()?;
        let is_link = disk
            .get(path)?
            .is_some_and(|entry| entry.mode == Mode::Link);
        if !is_link || access(path) != Access::Write {
            return None;
        }
        let Ok(Opened::Link(text)) = open_below(&known.record.path, path) else {
            return None;
        };
        let shown = crate::path::escape_for_terminal(&text);
        let said = format!("it leads to {shown}, which the scope does not let be written");
        (!is_inside(known, path, &text)).then(|| Change {
            detail: Some(said),
            ..change.clone()
        })
    };
    net.iter().filter_map(leads_out).collect()
}

/// Whether what a link names, by its text alone, may be written.
fn is_inside(known: &Worktree, link: &RepoPath, text: &[u8]) -> bool {
    let root = known.record.path.as_str().as_bytes();
    let mut parts: Vec<&[u8]> = Vec::new();
    let rest = if text.starts_with(b"/") {
        match text.strip_prefix(root) {
            Some(rest) if rest.is_empty() || rest.starts_with(b"/") => rest,
            Some(_) | None => return false,
        }
    } else {
        parts.extend(link.as_bstr().split(|byte| *byte == b'/'));
        parts.pop();
        text
    };
    for part in rest.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." if parts.pop().is_some() => {}
            b".." => return false,
            name => parts.push(name),
        }
    }
    let Ok(target) = RepoPath::parse(parts.join(&b'/')) else {
        return false;
    };
    // what is in a directory may be written where the directory itself is no match: `tests/**`
    let access = |path: &RepoPath| known.scope.verdict(path, EntryKind::File).access;
    let inside = RepoPath::child(Some(&target), b"_");
    access(&target) == Access::Write || access(&inside) == Access::Write
}
