//! Finds the commits of a worktree that its journal does not have: no hook ran for them.
//!
//! The log of HEAD and the journal tell of the same moves: the log of each, whether a hook ran or
//! not; the journal of what the reference-transaction hook was told (githooks(5)). What git tells
//! the hook was measured with git 2.39, 2.47 and 2.55, with files and with reftables:
//!
//! - Of a commit, a merge or a reset on a branch, git tells how the branch moved. Before 2.55, a
//!   line of HEAD stands beside it, which may not say where HEAD was.
//! - Of a checkout, git tells nothing, or not where HEAD was. It is no commit, so it is counted
//!   neither in the log nor in the journal.
//! - Of a branch that begins or is forced, git does not tell where it was.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;

use crate::git::hooks::journal::{Journal, JournalLine, Target};
use crate::git::reflog::ReflogEntry;
use crate::words::name::CommitId;

/// Lists commits that were made here past the hooks, the newest first: those of which HEAD's log has
/// the move more often than the journal.
pub fn commits_past_hooks(
    reflog: &[ReflogEntry],
    head_ref: Option<&str>,
    branch: &str,
    journal: &Journal,
) -> Vec<CommitId> {
    let branches = branches_of_head(reflog, head_ref, branch, journal);
    let journaled = JournaledMoves::count(journal, &branches);
    let mut logged = count_in_log(reflog);
    let mut past_hooks = Vec::new();
    for entry in reflog {
        if !entry.is_commit_of_git() {
            continue;
        }
        // taken out, so that each commit is listed once
        let move_of_head = HeadMove::of(entry);
        if let Some(times) = logged.remove(&move_of_head)
            && times > journaled.times(entry)
            && !past_hooks.contains(&entry.id)
        {
            past_hooks.push(entry.id.clone());
        }
    }
    past_hooks
}

/// A move of HEAD.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct HeadMove<'a> {
    /// Where HEAD was; none if it was nowhere, or if that is not known.
    from: Option<&'a CommitId>,
    to: &'a CommitId,
}

impl<'a> HeadMove<'a> {
    fn of(entry: &'a ReflogEntry) -> Self {
        Self {
            from: entry.old.as_ref(),
            to: &entry.id,
        }
    }
}

/// Counts how often HEAD made each move, by its log.
fn count_in_log(reflog: &[ReflogEntry]) -> BTreeMap<HeadMove<'_>, usize> {
    let mut counted = BTreeMap::new();
    for (at, entry) in reflog.iter().enumerate() {
        let older = reflog.get(at + 1).map(|older| &older.id);
        let stayed = entry.old.as_ref().or(older) == Some(&entry.id);
        if !stayed && !entry.is_checkout() {
            *counted.entry(HeadMove::of(entry)).or_default() += 1;
        }
    }
    counted
}

/// How often HEAD, or a branch that HEAD was on, made each move, by the journal.
#[derive(Default)]
struct JournaledMoves<'a> {
    /// Those of which git told where the ref was; each counts as one from a place that is not known
    /// as well.
    told: BTreeMap<HeadMove<'a>, usize>,
    /// How often a branch began at a commit, or was forced there.
    begun: BTreeMap<&'a CommitId, usize>,
}

impl<'a> JournaledMoves<'a> {
    fn count(journal: &'a Journal, branches: &BTreeSet<BString>) -> Self {
        let mut counted = Self::default();
        let lines = &journal.lines;
        for (at, line) in lines.iter().enumerate() {
            let before = at.checked_sub(1).and_then(|index| lines.get(index));
            let mut beside = before.into_iter().chain(lines.get(at + 1));
            let is_told_twice =
                beside.any(|other| branches.contains(&other.name) && tells_the_same(line, other));
            if !is_told_twice {
                counted.add(line, branches);
            }
        }
        counted
    }

    /// Counts the move of a line.
    fn add(&mut self, line: &'a JournalLine, branches: &BTreeSet<BString>) {
        let is_of_branch = branches.contains(&line.name);
        let Target::Object(to) = &line.ref_move.new else {
            return;
        };
        if !is_of_branch && line.name != "HEAD" {
            return;
        }
        match &line.ref_move.old {
            Target::Object(old) if old == to => {}
            Target::Object(old) => {
                let from = Some(old);
                *self.told.entry(HeadMove { from, to }).or_default() += 1;
                *self.told.entry(HeadMove { from: None, to }).or_default() += 1;
            }
            Target::Ref(_) => {
                *self.told.entry(HeadMove { from: None, to }).or_default() += 1;
            }
            // of HEAD alone, it is a checkout
            Target::Nothing if is_of_branch => *self.begun.entry(to).or_default() += 1,
            Target::Nothing => {}
        }
    }

    /// Returns how often the journal has the move of an entry of HEAD's log.
    fn times(&self, entry: &ReflogEntry) -> usize {
        let told = self.told.get(&HeadMove::of(entry)).copied();
        let begun = if entry.may_begin_branch() {
            self.begun.get(&entry.id).copied()
        } else {
            None
        };
        told.unwrap_or_default() + begun.unwrap_or_default()
    }
}

/// True if a line of HEAD tells of the same move as the line beside it, which is of the branch that
/// HEAD is on.
fn tells_the_same(line: &JournalLine, beside: &JournalLine) -> bool {
    let head = &line.ref_move;
    let branch = &beside.ref_move;
    line.name == "HEAD"
        && beside.name.starts_with(b"refs/heads/")
        && head.new == branch.new
        && (head.old == Target::Nothing || head.old == branch.old)
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
    let lines = &journal.lines;
    for (at, line) in lines.iter().enumerate() {
        if line.name != "HEAD" {
            continue;
        }
        if let Target::Ref(name) = &line.ref_move.new {
            names.insert(name.clone());
        }
        if let Some(next) = lines.get(at + 1)
            && tells_the_same(line, next)
        {
            names.insert(next.name.clone());
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
