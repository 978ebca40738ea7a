//! Finds the commits of a worktree that its journal does not have: no hook ran for them.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;

use crate::git::hooks::journal::{Journal, Target};
use crate::git::reflog::ReflogEntry;
use crate::words::name::CommitId;

/// Lists commits that were made here past the hooks, the newest first: those to which HEAD's log
/// went more often than the journal. Of the log, commits and resets count: the journal has a reset
/// back to such a commit. What moved nothing counts in neither.
pub fn commits_past_hooks(
    reflog: &[ReflogEntry],
    head_ref: Option<&str>,
    branch: &str,
    journal: &Journal,
) -> Vec<CommitId> {
    let mut lines_of_log: BTreeMap<&CommitId, usize> = BTreeMap::new();
    for (at, entry) in reflog.iter().enumerate() {
        let stayed = reflog.get(at + 1).is_some_and(|older| older.id == entry.id);
        if !stayed && (entry.made_a_commit() || entry.is_reset()) {
            *lines_of_log.entry(&entry.id).or_default() += 1;
        }
    }
    let branches = branches_of_head(reflog, head_ref, branch, journal);
    let moves = JournaledMoves::of(journal, &branches);
    let mut past_hooks = Vec::new();
    for entry in reflog {
        if !entry.made_a_commit() {
            continue;
        }
        // taken out, so that each commit is listed once
        if let Some(lines) = lines_of_log.remove(&entry.id)
            && lines > moves.get(&entry.id).map_or(0, |moves| moves.number(entry))
        {
            past_hooks.push(entry.id.clone());
        }
    }
    past_hooks
}

/// Lists the branches that HEAD was on, by their full names: as its log and the journal tell.
fn branches_of_head(
    reflog: &[ReflogEntry],
    head_ref: Option<&str>,
    branch: &str,
    journal: &Journal,
) -> BTreeSet<BString> {
    let mut names = BTreeSet::from([BString::from(branch)]);
    names.extend(head_ref.map(BString::from));
    for one in journal.moves(b"HEAD") {
        if let Target::Ref(name) = &one.new {
            names.insert(name.clone());
        }
    }
    for entry in reflog {
        // a rename, and the end of a rebase
        for word in entry.reason.split_whitespace() {
            if word.starts_with("refs/heads/") {
                names.insert(word.into());
            }
        }
        if let Some(words) = entry.reason.strip_prefix("checkout: moving from ") {
            for name in words.split(" to ") {
                names.insert(format!("refs/heads/{name}").into());
            }
        }
    }
    names
}

/// Counts the lines of the journal by which HEAD may have gone to a commit. Git reports a move of
/// HEAD on a branch as one of the branch; and, before 2.55 and where refs are files, as one of HEAD
/// as well, mostly without saying where HEAD was. A detached checkout does not say that either, and
/// is no commit: it has no line of a branch beside it.
#[derive(Default)]
struct JournaledMoves {
    of_head: usize,
    of_head_from_anywhere: usize,
    of_branches: usize,
    /// Those by which a branch began there.
    beginnings_of_branches: usize,
}

impl JournaledMoves {
    /// Counts for each commit.
    fn of<'j>(journal: &'j Journal, branches: &BTreeSet<BString>) -> BTreeMap<&'j CommitId, Self> {
        let mut all: BTreeMap<&CommitId, Self> = BTreeMap::new();
        for one in journal.moves(b"HEAD") {
            let Target::Object(place) = &one.new else {
                continue;
            };
            let moves = all.entry(place).or_default();
            if one.old == Target::Nothing {
                moves.of_head_from_anywhere += 1;
            } else if one.old != one.new {
                moves.of_head += 1;
            }
        }
        for one in branches.iter().flat_map(|name| journal.moves(name)) {
            let Target::Object(place) = &one.new else {
                continue;
            };
            let moves = all.entry(place).or_default();
            if one.old == Target::Nothing {
                moves.beginnings_of_branches += 1;
            } else if one.old != one.new {
                moves.of_branches += 1;
            }
        }
        all
    }

    /// Returns how often HEAD went there, as an entry of its log says. A branch begins with a first
    /// commit, or with one that is there.
    fn number(&self, entry: &ReflogEntry) -> usize {
        let mut of_branches = self.of_branches;
        if entry.reason.starts_with("commit (initial)") {
            of_branches += self.beginnings_of_branches;
        }
        let of_both = self.of_head + of_branches.min(self.of_head_from_anywhere);
        of_both.max(of_branches)
    }
}
