//! Decides whether a worktree may be removed, and what is saved before; pure.

use camino::Utf8PathBuf;

use super::refusal::Refusal;
use crate::config::Strategy;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::placed::Origin;
use crate::record::{MadeBy, Record};

/// Holds what `remove` looks at.
#[derive(Clone, Debug)]
pub struct RemoveFacts {
    /// The record.
    pub record: Box<Record>,
    /// The directory in which the command was started.
    pub start: Utf8PathBuf,
    /// The repository's root.
    pub root: Utf8PathBuf,
    /// Whether git has the worktree locked.
    pub locked: bool,
    /// Paths with uncommitted work, untracked files among them.
    pub uncommitted: Vec<RepoPath>,
    /// Which of these git does not know.
    pub untracked: Vec<RepoPath>,
    /// Which of these were placed, and are edited.
    pub placed: Vec<(RepoPath, Origin)>,
    /// Directories with a repository of their own inside.
    pub nested: Vec<RepoPath>,
    /// What could not be read, and may hold work.
    pub unreadable: Vec<String>,
    /// Whether another worktree has the branch checked out by now.
    pub held: bool,
    /// Submodules with work of their own.
    pub submodules: Vec<RepoPath>,
    /// Where the branch is; none when it is gone.
    pub branch_tip: Option<CommitId>,
    /// Where HEAD is, if not at the branch, and where it was when it left a commit that it named
    /// by itself: those that no branch, remote-tracking branch or tag has.
    pub detached: Vec<CommitId>,
    /// Where git has the worktree by now, if somebody moved it.
    pub moved_to: Option<Utf8PathBuf>,
    /// How many commits are on no other branch.
    pub unmerged: Unmerged,
}

/// Counts commits that are on no other branch, remote-tracking branch or tag.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Unmerged {
    /// On the worktree's branch.
    pub branch: u64,
    /// Only reachable from a HEAD that is elsewhere.
    pub detached: u64,
}

/// Holds what the user allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RemoveOptions {
    /// `--force`: save what would be lost, then remove.
    pub force: bool,
    /// `-D`: delete the branch even when it is not merged.
    pub delete_branch: bool,
    /// `--keep-branch`.
    pub keep_branch: bool,
}

/// Holds what `remove` will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RemovePlan {
    /// Whether uncommitted work is saved as a commit first.
    pub save: Vec<RepoPath>,
    /// Commits that a rescue ref must keep: they are on no branch when this is done.
    pub keep: Vec<CommitId>,
    /// What becomes of the branch.
    pub branch: BranchFate,
}

/// Says what becomes of the branch.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum BranchFate {
    /// It stays.
    Stays,
    /// It is deleted, if it is still at this commit.
    Deleted(CommitId),
    /// There is none.
    Gone,
    /// It is the clone's own, and goes with it: what is new on it is fetched before.
    Private,
}

/// Decides.
///
/// # Errors
/// Refuses what is not ours to remove, and what would lose work that nobody allowed to save.
pub fn plan(facts: &RemoveFacts, options: RemoveOptions) -> Result<RemovePlan, Refusal> {
    let record = &facts.record;
    let name = record.name.to_string();
    if record.made_by == MadeBy::Git {
        return Err(Refusal::NotOurs {
            name,
            path: record.path.clone(),
        });
    }
    if facts.start.starts_with(&record.path) {
        return Err(Refusal::Inside {
            name,
            root: facts.root.clone(),
        });
    }
    if let Some(moved_to) = &facts.moved_to {
        return Err(Refusal::Moved {
            name,
            path: record.path.clone(),
            moved_to: moved_to.clone(),
        });
    }
    if facts.locked {
        return Err(Refusal::Locked {
            name,
            path: record.path.clone(),
        });
    }
    let mut nested: Vec<&RepoPath> = facts.nested.iter().chain(&facts.submodules).collect();
    nested.sort_unstable();
    if !nested.is_empty() {
        let items = nested.iter().map(ToString::to_string).collect();
        return Err(Refusal::NestedRepository {
            name,
            path: record.path.clone(),
            items,
        });
    }
    if !facts.unreadable.is_empty() {
        return Err(Refusal::Unreadable {
            name,
            path: record.path.clone(),
            items: facts.unreadable.clone(),
        });
    }
    let kept_by_branch = options.keep_branch || options.delete_branch || facts.held;
    let unmerged = facts.unmerged.detached
        + if kept_by_branch {
            0
        } else {
            facts.unmerged.branch
        };
    if !options.force && (!facts.uncommitted.is_empty() || unmerged > 0) {
        return Err(would_lose(facts, unmerged));
    }
    let mut keep = facts.detached.clone();
    let branch = match &facts.branch_tip {
        _ if record.strategy == Strategy::Clone => BranchFate::Private,
        None => BranchFate::Gone,
        Some(_) if options.keep_branch || facts.held => BranchFate::Stays,
        // a branch that was there before is the user's own
        Some(_) if !record.branch_made && !options.delete_branch => BranchFate::Stays,
        Some(tip) if facts.unmerged.branch == 0 => BranchFate::Deleted(tip.clone()),
        Some(tip) if options.delete_branch => {
            keep.push(tip.clone());
            BranchFate::Deleted(tip.clone())
        }
        Some(_) => BranchFate::Stays,
    };
    Ok(RemovePlan {
        save: facts.uncommitted.clone(),
        keep,
        branch,
    })
}

fn would_lose(facts: &RemoveFacts, unmerged: u64) -> Refusal {
    const SHOWN: usize = 20;
    let (untracked, placed) = (facts.untracked.len(), facts.placed.len());
    let changed = facts.uncommitted.len().saturating_sub(untracked + placed);
    let mut parts = Vec::new();
    let count = |n: usize, one: &str, many: &str| {
        if n == 1 {
            format!("1 {one}")
        } else {
            format!("{n} {many}")
        }
    };
    if changed > 0 {
        parts.push(count(
            changed,
            "file has uncommitted changes",
            "files have uncommitted changes",
        ));
    }
    if untracked > 0 {
        parts.push(count(untracked, "file is untracked", "files are untracked"));
    }
    if placed > 0 {
        let (one, many) = ("placed file is edited", "placed files are edited");
        parts.push(count(placed, one, many));
    }
    if unmerged > 0 {
        let unmerged = usize::try_from(unmerged).unwrap_or(usize::MAX);
        parts.push(count(
            unmerged,
            "commit is on no other branch",
            "commits are on no other branch",
        ));
    }
    // what git shows nobody is named first
    let is_placed = |path: &&RepoPath| facts.placed.iter().any(|(placed, _)| placed == *path);
    let edited = facts.placed.iter().map(|(path, _)| path);
    let others = facts.uncommitted.iter().filter(|path| !is_placed(path));
    let all = edited.chain(others);
    let mut items: Vec<String> = all.take(SHOWN).map(ToString::to_string).collect();
    if facts.uncommitted.len() > SHOWN {
        items.push(format!("… and {} more", facts.uncommitted.len() - SHOWN));
    }
    let synced = facts.placed.iter();
    let synced = synced.filter(|(_, origin)| *origin == Origin::Synced);
    Refusal::WouldLose {
        name: facts.record.name.to_string(),
        summary: parts.join(", "),
        items,
        synced: synced.map(|(path, _)| path.clone()).collect(),
    }
}
