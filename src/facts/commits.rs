//! Reads the commits of a worktree one by one: what each says of itself, and what it changed.

use std::collections::BTreeSet;

use bstr::BString;

use super::changes::Survey;
use super::history::touched;
use crate::change::{Change, Kind, Place, Seen};
use crate::compare::{Delta, entry_in, kind_between, same};
use crate::entry::Entry;
use crate::git::objects::Objects;
use crate::git::{Git, GitMode};
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::scope::{Access, EntryKind};
use crate::worktree::Worktree;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;

/// Holds one commit of a worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnCommit {
    /// Its id.
    pub commit: CommitId,
    /// Its parents, in order.
    pub parents: Vec<CommitId>,
    /// The first paragraph of its message, as one line.
    pub subject: BString,
    /// When its author says to have made it, RFC 3339; none when that cannot be read.
    pub authored: Option<String>,
    /// Whether neither HEAD nor the branch has it any more: it was amended, reset or rebased
    /// away, and only the reflog names it.
    pub abandoned: bool,
    /// What it changed: against its first parent, and of a merge only what it has otherwise than
    /// every parent. Sorted, each path once.
    pub changes: Vec<Change>,
    /// The same as entries: what it has now at each of these paths.
    pub entries: Delta,
}

/// Reads the commits that a survey found, the oldest first.
///
/// # Errors
/// Fails when one cannot be read, or git does.
pub fn read(
    repository: &Repository,
    objects: &Objects,
    survey: &Survey,
) -> Result<Vec<OwnCommit>, WorktreeError> {
    let git = repository.git.with_mode(GitMode::Hardened);
    let reachable = reachable(&git, survey)?;
    let all = survey.commits.iter().rev();
    all.map(|id| one(objects, id, !reachable.contains(id)))
        .collect()
}

/// The commits of its own that HEAD or its branch still has.
fn reachable(git: &Git, survey: &Survey) -> Result<BTreeSet<CommitId>, WorktreeError> {
    let heads: Vec<&CommitId> = survey
        .heads
        .head
        .iter()
        .chain(&survey.heads.branch)
        .collect();
    if heads.is_empty() || survey.commits.is_empty() {
        return Ok(BTreeSet::new());
    }
    let known: Vec<&CommitId> = survey.trusted.iter().collect();
    Ok(git.rev_list(&heads, &known)?.into_iter().collect())
}

fn one(objects: &Objects, id: &CommitId, abandoned: bool) -> Result<OwnCommit, WorktreeError> {
    let commit = objects.commit(id)?;
    let headline = objects.headline(id)?;
    let entries = touched(objects, id)?;
    let parent = commit.parents.first();
    let parent = parent.map(|id| objects.commit(id)).transpose()?;
    let parent = parent.map(|parent| parent.tree);
    // the other way round it gives what the parent had
    let before_all = objects.difference(Some(&commit.tree), parent.as_ref())?;
    let changes = entries.iter().filter_map(|(path, now)| {
        let before = |path: &RepoPath| before_all.get(path).copied().flatten();
        let was_directory = || has_below(&before_all, path);
        let kind = kind_between(before(path), *now, &was_directory)?;
        Some(change(
            path,
            kind,
            before(path),
            *now,
            Seen::Commit(id.clone()),
        ))
    });
    Ok(OwnCommit {
        changes: changes.collect(),
        commit: id.clone(),
        parents: commit.parents,
        subject: headline.subject,
        authored: headline.authored,
        abandoned,
        entries,
    })
}

/// What differs from HEAD, on disk or else in the index: what nobody has committed.
#[must_use]
pub fn uncommitted(known: &Worktree, survey: &Survey, with_ignored: bool) -> Vec<Change> {
    let states = &survey.states;
    let manifest = &states.manifest;
    let mut paths = survey.uncommitted(known);
    if with_ignored {
        let ignored = states.untracked.iter();
        let ignored = ignored.filter(|(_, seen)| **seen == Seen::Ignored);
        paths.extend(ignored.map(|(path, _)| path.clone()));
        paths.sort_unstable();
        paths.dedup();
    }
    let placed = survey.placed_changes();
    paths.retain(|path| states.placed.get(path).is_none());
    let changes = paths.iter().filter_map(|path| {
        let head = entry_in(manifest, &states.head, path);
        let disk = entry_in(manifest, &states.disk, path);
        let there = matches!(states.disk.get(path), Some(Some(_)));
        let absent =
            !there && known.scope.verdict(path, EntryKind::File).access == Access::Excluded;
        let staged = states.index.deltas.first();
        let staged = staged.map_or(head, |delta| entry_in(manifest, delta, path));
        let was_directory = || manifest.has_directory(path);
        let on_disk = !absent && !same(head, disk);
        let now = if on_disk { disk } else { staged };
        let kind = kind_between(head, now, &was_directory)?;
        let mut seen = BTreeSet::new();
        if staged != head {
            seen.insert(Seen::Index);
        }
        if on_disk {
            let hidden = states
                .index
                .hidden
                .get(path)
                .map(|flag| Seen::Hidden(*flag));
            let untracked = || states.untracked.get(path).cloned();
            seen.insert(hidden.or_else(untracked).unwrap_or(Seen::Disk));
        }
        let mut found = change(path, kind, head, now, Seen::Disk);
        found.seen = seen;
        Some(found)
    });
    let mut changes: Vec<Change> = changes.chain(placed.cloned()).collect();
    changes.sort();
    changes
}

/// Whether a tree that is told as a difference has something below a path.
fn has_below(tree: &Delta, path: &RepoPath) -> bool {
    let first = RepoPath::child(Some(path), b"");
    let mut below = tree.range(first..);
    below
        .by_ref()
        .take_while(|(other, _)| other.is_below(path.as_bstr()))
        .any(|(_, entry)| entry.is_some())
}

/// Makes the change of a path from one tree to another.
#[must_use]
pub fn change(
    path: &RepoPath,
    kind: Kind,
    before: Option<Entry>,
    now: Option<Entry>,
    seen: Seen,
) -> Change {
    let both = [before, now];
    Change {
        place: Place::Path(path.clone()),
        kind,
        seen: BTreeSet::from([seen]),
        is_directory: both.iter().flatten().any(|e| e.mode.is_directory()),
        detail: None,
    }
}
