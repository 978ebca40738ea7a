//! Finds the commits of a worktree that its journal does not have: no hook ran for them.
//!
//! The log of HEAD and the journal tell of the same moves: the log of each, whether a hook ran or
//! not; the journal of what the reference-transaction hook was told (githooks(5)). What git tells
//! the hook was measured with git 2.39, 2.47 and 2.55, with files and with reftables:
//!
//! - Of a commit, a merge or a reset on a branch, git tells how the branch moved. Before 2.55, a
//!   line of HEAD stands before it, which may not say where HEAD was.
//! - Of a checkout, git tells nothing, or not where HEAD was. It is no commit, so it is counted
//!   neither in the log nor in the journal.
//! - Of a ref that begins or is forced, git does not tell where it was.

use std::collections::{BTreeMap, BTreeSet};

use bstr::BString;

use crate::git::hooks::journal::{Journal, JournalLine, Target};
use crate::git::reflog::ReflogEntry;
use crate::words::name::CommitId;

/// Lists commits that were made here past the hooks, the newest first: those to which HEAD's log
/// moved more often than the journal.
pub fn commits_past_hooks(
    reflog: &[ReflogEntry],
    head_ref: Option<&str>,
    branch: &str,
    journal: &Journal,
) -> Vec<CommitId> {
    let branches = branches_of_head(reflog, head_ref, branch, journal);
    let journaled = count_in_journal(journal, &branches);
    let mut logged = count_in_log(reflog);
    let mut past_hooks = Vec::new();
    for entry in reflog {
        if !entry.made_a_commit() {
            continue;
        }
        // taken out, so that each commit is listed once
        let Some(in_log) = logged.remove(&entry.id) else {
            continue;
        };
        let in_journal = journaled.get(&entry.id).copied().unwrap_or_default();
        let from_anywhere = in_journal.from_anywhere.min(in_log.from_anywhere);
        if in_log.all > in_journal.from_somewhere + from_anywhere {
            past_hooks.push(entry.id.clone());
        }
    }
    past_hooks
}

/// How often HEAD moved to a commit, by its log.
#[derive(Default)]
struct LoggedMoves {
    /// All of them, without checkouts.
    all: usize,
    /// Those of them of which git may not have told the hook where HEAD was.
    from_anywhere: usize,
}

/// Counts the moves of HEAD to each commit, by its log.
fn count_in_log(reflog: &[ReflogEntry]) -> BTreeMap<&CommitId, LoggedMoves> {
    let mut counted: BTreeMap<&CommitId, LoggedMoves> = BTreeMap::new();
    for (at, entry) in reflog.iter().enumerate() {
        let older = reflog.get(at + 1);
        let stayed = older.is_some_and(|older| older.id == entry.id);
        if stayed || entry.is_checkout() {
            continue;
        }
        let moves = counted.entry(&entry.id).or_default();
        moves.all += 1;
        if older.is_none() || entry.may_come_from_anywhere() {
            moves.from_anywhere += 1;
        }
    }
    counted
}

/// How often HEAD, or a branch that HEAD was on, moved to a commit, by the journal.
#[derive(Clone, Copy, Default)]
struct JournaledMoves {
    /// Those of which git told where the ref was.
    from_somewhere: usize,
    /// The others.
    from_anywhere: usize,
}

/// Counts the moves of HEAD, and of the branches that it was on, to each commit, by the journal.
fn count_in_journal<'j>(
    journal: &'j Journal,
    branches: &BTreeSet<BString>,
) -> BTreeMap<&'j CommitId, JournaledMoves> {
    let mut counted: BTreeMap<&CommitId, JournaledMoves> = BTreeMap::new();
    for (at, line) in journal.lines.iter().enumerate() {
        let is_of_head = line.name == "HEAD" || branches.contains(&line.name);
        let next = journal.lines.get(at + 1);
        if !is_of_head || next.is_some_and(|next| tells_the_same(line, next)) {
            continue;
        }
        let Target::Object(place) = &line.ref_move.new else {
            continue;
        };
        let moves = counted.entry(place).or_default();
        match &line.ref_move.old {
            Target::Nothing => moves.from_anywhere += 1,
            Target::Object(old) if old == place => {}
            Target::Object(_) | Target::Ref(_) => moves.from_somewhere += 1,
        }
    }
    counted
}

/// True if a line of HEAD tells of the same move as the line after it, which is of the branch that
/// HEAD is on.
fn tells_the_same(line: &JournalLine, next: &JournalLine) -> bool {
    let head = &line.ref_move;
    let branch = &next.ref_move;
    line.name == "HEAD"
        && next.name.starts_with(b"refs/heads/")
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
