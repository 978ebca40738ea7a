//! Finds the commits of a worktree that its journal does not have: no hook ran for them.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::hooks::journal::Journal;
use crate::git::reflog::ReflogEntry;
use crate::words::name::CommitId;

/// Lists commits that were made here and that the journal does not have, the newest first: no hook
/// ran for them. Each line of HEAD's log that went to a commit has its line in the journal, also a
/// later `reset`.
pub fn commits_past_hooks(
    reflog: &[ReflogEntry],
    head_ref: Option<&str>,
    branch: &str,
    journal: &Journal,
) -> Vec<CommitId> {
    let mut unseen: BTreeMap<&CommitId, isize> = BTreeMap::new();
    for entry in reflog {
        if entry.made_a_commit() || entry.is_reset() {
            *unseen.entry(&entry.id).or_default() += 1;
        }
    }
    for place in journal.places(b"HEAD") {
        *unseen.entry(place).or_default() -= 1;
    }
    for place in places_of_branches(reflog, head_ref, branch, journal) {
        *unseen.entry(place).or_default() -= 1;
    }
    let mut silent = Vec::new();
    for entry in reflog {
        let is_unseen = entry.made_a_commit() && unseen.remove(&entry.id).is_some_and(|n| n > 0);
        if is_unseen {
            silent.push(entry.id.clone());
        }
    }
    silent
}

/// Lists where the branches went that HEAD was on, where git does not also report that of HEAD: git
/// 2.55, and any git with reftables, reports only the branch.
fn places_of_branches<'j>(
    reflog: &[ReflogEntry],
    head_ref: Option<&str>,
    branch: &str,
    journal: &'j Journal,
) -> Vec<&'j CommitId> {
    let mut names = BTreeSet::from([branch.to_owned()]);
    names.extend(head_ref.map(ToOwned::to_owned));
    for entry in reflog {
        if let Some(words) = entry.reason.strip_prefix("checkout: moving from ") {
            for name in words.split(" to ") {
                names.insert(format!("refs/heads/{name}"));
            }
        }
    }
    let mut places = Vec::new();
    for name in &names {
        places.extend(journal.places(name.as_bytes()));
    }
    let of_head: BTreeSet<&CommitId> = journal.places(b"HEAD").collect();
    if places.iter().all(|place| of_head.contains(place)) {
        places.clear();
    }
    places
}
