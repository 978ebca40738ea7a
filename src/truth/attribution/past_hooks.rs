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
    let journaled = JournaledMoves::count(journal, &branches, reflog);
    let mut logged = count_in_log(reflog);
    let mut past_hooks = Vec::new();
    for entry in reflog {
        if !entry.is_commit_of_git() {
            continue;
        }
        // taken out, so that each commit is listed once
        let move_of_head = HeadMove::of(entry);
        if let Some(times) = logged.remove(&move_of_head)
            && times.needed(journaled.forced_to(&entry.id)) > journaled.times(entry)
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

/// How often HEAD made a move, by its log.
#[derive(Default)]
struct LoggedTimes {
    /// By a command that made the commit.
    commits: usize,
    /// By another command: a reset, a fast-forward, `git update-ref`.
    others: usize,
}

impl LoggedTimes {
    /// Returns how many lines the journal needs that tell where HEAD was, if so many others tell
    /// only where it went: no command that makes a commit leaves such a line.
    fn needed(&self, forced: usize) -> usize {
        self.commits + self.others.saturating_sub(forced)
    }
}

/// Counts how often HEAD made each move, by its log.
fn count_in_log(reflog: &[ReflogEntry]) -> BTreeMap<HeadMove<'_>, LoggedTimes> {
    let mut counted: BTreeMap<HeadMove<'_>, LoggedTimes> = BTreeMap::new();
    for (at, entry) in reflog.iter().enumerate() {
        let older = reflog.get(at + 1).map(|older| &older.id);
        let stayed = entry.old.as_ref().or(older) == Some(&entry.id) || entry.is_reset_to_head();
        if stayed || entry.is_checkout() {
            continue;
        }
        let times = counted.entry(HeadMove::of(entry)).or_default();
        if entry.is_commit_of_git() {
            times.commits += 1;
        } else {
            times.others += 1;
        }
    }
    counted
}

/// How often HEAD, or a branch that HEAD was on, made each move, by the journal.
#[derive(Default)]
struct JournaledMoves<'a> {
    /// Those of which git told where the ref was; of HEAD, it may only tell which branch that named.
    told: BTreeMap<HeadMove<'a>, usize>,
    /// How often git told that a ref moved to a commit from another.
    told_to: BTreeMap<&'a CommitId, usize>,
    /// Whether HEAD's log says where HEAD was: not where refs are tables.
    log_has_places: bool,
    /// How often a branch began at a commit with a command that made it, or was forced there.
    begun: BTreeMap<&'a CommitId, usize>,
    /// How often HEAD or a branch was forced to a commit, without those times that a checkout went
    /// there.
    forced: BTreeMap<&'a CommitId, usize>,
}

impl<'a> JournaledMoves<'a> {
    fn count(
        journal: &'a Journal,
        branches: &BTreeSet<BString>,
        reflog: &'a [ReflogEntry],
    ) -> Self {
        let mut counted = Self {
            log_has_places: reflog.iter().any(|entry| entry.old.is_some()),
            ..Self::default()
        };
        let entered = branches_begun_by_checkout(reflog);
        let lines = &journal.lines;
        // one line of a branch stands beside one line of HEAD
        let mut paired = BTreeSet::new();
        for (at, line) in lines.iter().enumerate() {
            if let Some(of_branch) = line_beside(lines, at, branches, &paired) {
                paired.insert(of_branch);
            } else if line.name == "HEAD" || branches.contains(&line.name) {
                counted.add(line, &entered);
            }
        }
        for entry in reflog {
            if entry.is_checkout()
                && let Some(times) = counted.forced.get_mut(&entry.id)
            {
                *times = times.saturating_sub(1);
            }
        }
        counted
    }

    /// Counts the move of a line of HEAD, or of a branch that HEAD was on.
    fn add(&mut self, line: &'a JournalLine, entered: &BTreeSet<BString>) {
        let Target::Object(to) = &line.ref_move.new else {
            return;
        };
        match &line.ref_move.old {
            Target::Object(old) if old == to => {}
            Target::Object(old) => {
                let from = Some(old);
                *self.told.entry(HeadMove { from, to }).or_default() += 1;
                *self.told_to.entry(to).or_default() += 1;
            }
            Target::Ref(_) => {
                *self.told.entry(HeadMove { from: None, to }).or_default() += 1;
            }
            Target::Nothing => {
                *self.forced.entry(to).or_default() += 1;
                // of HEAD alone, it is a checkout
                if line.name != "HEAD" && !entered.contains(&line.name) {
                    *self.begun.entry(to).or_default() += 1;
                }
            }
        }
    }

    /// Returns how often HEAD or a branch was forced to a commit.
    fn forced_to(&self, commit: &CommitId) -> usize {
        times_in(&self.forced, commit)
    }

    /// Returns how often the journal has the move of an entry of HEAD's log.
    fn times(&self, entry: &ReflogEntry) -> usize {
        let told = self.told.get(&HeadMove::of(entry)).copied();
        let mut times = told.unwrap_or_default();
        if entry.may_begin_branch() {
            times += times_in(&self.begun, &entry.id);
        }
        // a log that has places has none of the first commit of a branch only
        let is_first_commit = self.log_has_places && entry.may_begin_branch();
        if entry.old.is_none() && !is_first_commit {
            times += times_in(&self.told_to, &entry.id);
        }
        times
    }
}

fn times_in(moves: &BTreeMap<&CommitId, usize>, commit: &CommitId) -> usize {
    moves.get(commit).copied().unwrap_or_default()
}

/// Finds, for a line of HEAD, the line of a branch right before or after it that tells of the same
/// move. One that is `paired` with another line of HEAD is none.
fn line_beside(
    lines: &[JournalLine],
    at: usize,
    branches: &BTreeSet<BString>,
    paired: &BTreeSet<usize>,
) -> Option<usize> {
    let before = at.checked_sub(1);
    for beside in before.into_iter().chain([at + 1]) {
        if let Some(other) = lines.get(beside)
            && !paired.contains(&beside)
            && branches.contains(&other.name)
            && tells_the_same(&lines[at], other)
        {
            return Some(beside);
        }
    }
    None
}

/// Lists the branches of which HEAD's log tells first that a checkout went there: `git checkout -b`
/// began them, or they were there. Of a branch that a commit began, it tells first that HEAD left.
fn branches_begun_by_checkout(reflog: &[ReflogEntry]) -> BTreeSet<BString> {
    let mut seen = BTreeSet::new();
    let mut entered = BTreeSet::new();
    for entry in reflog.iter().rev() {
        let route = entry.reason.strip_prefix("checkout: moving from ");
        let Some((from, to)) = route.and_then(|route| route.split_once(" to ")) else {
            continue;
        };
        seen.insert(from);
        if seen.insert(to) {
            entered.insert(BString::from(format!("refs/heads/{to}")));
        }
    }
    entered
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

/// Lists the branches that HEAD was on, by their full names: as its log and the journal tell. Some
/// may be names of no branch, as the checkout of a commit is logged alike: no line of the journal
/// has such a name.
fn branches_of_head(
    reflog: &[ReflogEntry],
    head_ref: Option<&str>,
    recorded_ref: &str,
    journal: &Journal,
) -> BTreeSet<BString> {
    let mut names = BTreeSet::from([BString::from(recorded_ref)]);
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
        if entry.is_rename_or_end_of_rebase() {
            for word in entry.reason.split_whitespace() {
                if word.starts_with("refs/heads/") {
                    names.insert(word.into());
                }
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
