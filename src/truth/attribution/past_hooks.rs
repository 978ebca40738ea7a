//! Finds the commits of a worktree that its journal does not have: no hook ran for them.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::hooks::journal::Journal;
use crate::git::reflog::ReflogEntry;
use crate::words::name::CommitId;

/// Lists commits that were made here past the hooks, the newest first: those to which HEAD's log
/// went more often than the journal. Of the log, commits and resets count; of the journal, every
/// move. The journal has a reset back to such a commit, so resets have to count in the log too. It
/// does not always have a checkout, so checkouts do not; fast-forwards do not either.
pub fn commits_past_hooks(
    reflog: &[ReflogEntry],
    head_ref: Option<&str>,
    branch: &str,
    journal: &Journal,
) -> Vec<CommitId> {
    // lines of the log, less lines of the journal
    let mut surplus: BTreeMap<&CommitId, isize> = BTreeMap::new();
    for entry in reflog {
        if entry.made_a_commit() || entry.is_reset() {
            *surplus.entry(&entry.id).or_default() += 1;
        }
    }
    for place in journal.places(b"HEAD") {
        *surplus.entry(place).or_default() -= 1;
    }
    for place in places_of_branches(reflog, head_ref, branch, journal) {
        *surplus.entry(place).or_default() -= 1;
    }
    let mut past_hooks = Vec::new();
    for entry in reflog {
        if !entry.made_a_commit() {
            continue;
        }
        // taken out, so that each commit is listed once
        if let Some(lines) = surplus.remove(&entry.id)
            && lines > 0
        {
            past_hooks.push(entry.id.clone());
        }
    }
    past_hooks
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
