//! Decides whether a removed worktree can be brought back; pure.
//!
//! How one is saved: [`list`], `docs/decisions/0019-trash.md`.

pub mod list;
pub mod refusal;

use camino::Utf8PathBuf;

use crate::name::{CommitId, WorktreeName};
use crate::worktree::Trash;
use refusal::TrashRefusal;

/// Names one worktree that was removed and saved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trashed {
    /// Its name.
    pub name: WorktreeName,
    /// The ref.
    pub reference: String,
    /// The commit it names.
    pub commit: CommitId,
    /// When it was removed, seconds since the epoch; none when the ref does not say.
    pub removed: Option<i64>,
    /// Which one of the same second it is, from 1.
    pub number: u32,
}

/// Holds what `remove --undo` looks at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ReviveFacts {
    /// What is saved.
    pub trash: Trash,
    /// The ref.
    pub reference: String,
    /// Where the worktree comes.
    pub path: Utf8PathBuf,
    /// Whether its git directory was saved: a clone can have lost its own.
    pub has_repository: bool,
    /// Whether a worktree of this name is recorded.
    pub recorded: bool,
    /// Whether something stands at the path.
    pub taken: bool,
    /// The branches that it was on.
    pub branches: Vec<BranchNow>,
}

/// Holds where a branch was and is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchNow {
    /// The full name of its ref.
    pub name: String,
    /// Where it was; none when it had no commit yet.
    pub saved: Option<CommitId>,
    /// Where it is; none when there is none.
    pub now: Option<CommitId>,
    /// The worktree that has it checked out.
    pub held: Option<Utf8PathBuf>,
}

/// Holds what `remove --undo` will do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RevivePlan {
    /// What is saved.
    pub trash: Trash,
    /// The ref, which stays.
    pub reference: String,
    /// Where the worktree comes.
    pub path: Utf8PathBuf,
    /// The branches that are made, by their full names.
    pub make: Vec<(String, CommitId)>,
}

/// Decides.
///
/// # Errors
/// Refuses what would replace something, or would not be as it was.
pub fn plan(facts: &ReviveFacts) -> Result<RevivePlan, TrashRefusal> {
    let name = facts.trash.name.to_string();
    if facts.recorded {
        return Err(TrashRefusal::Exists { name });
    }
    if facts.taken {
        let path = facts.path.clone();
        return Err(TrashRefusal::PathTaken { name, path });
    }
    if !facts.has_repository {
        let reference = facts.reference.clone();
        return Err(TrashRefusal::NoRepository { name, reference });
    }
    let mut make = Vec::new();
    for branch in &facts.branches {
        let short = branch.name.strip_prefix("refs/heads/");
        let short = short.unwrap_or(&branch.name).to_owned();
        if let Some(path) = &branch.held {
            let (branch, path) = (short, path.clone());
            return Err(TrashRefusal::BranchHeld { name, branch, path });
        }
        match (&branch.now, &branch.saved) {
            (None, None) => {}
            (None, Some(saved)) => make.push((branch.name.clone(), saved.clone())),
            (Some(now), Some(saved)) if now == saved => {}
            (Some(now), saved) => {
                let saved = saved.as_ref().map_or("no commit", CommitId::short);
                return Err(TrashRefusal::BranchMoved {
                    name,
                    branch: short,
                    now: now.short().to_owned(),
                    saved: saved.to_owned(),
                });
            }
        }
    }
    Ok(RevivePlan {
        trash: facts.trash.clone(),
        reference: facts.reference.clone(),
        path: facts.path.clone(),
        make,
    })
}

/// Those that were removed at this moment or before: what `prune` expires. One whose ref does not
/// say when is kept.
#[must_use]
pub fn expired(all: &[Trashed], moment: i64) -> Vec<&Trashed> {
    let is_old = |one: &&Trashed| one.removed.is_some_and(|at| at <= moment);
    all.iter().filter(is_old).collect()
}

/// The newest, or the one that is named: by its ref, the last part of that, or its commit.
#[must_use]
pub fn chosen<'t>(all: &'t [Trashed], named: Option<&str>) -> Option<&'t Trashed> {
    let is_meant = |one: &&Trashed| {
        named.is_none_or(|named| {
            let abbreviated = named.len() >= 7 && one.commit.as_str().starts_with(named);
            let time = one.reference.rsplit('/').next();
            one.reference == named || time == Some(named) || abbreviated
        })
    };
    let meant = all.iter().filter(is_meant);
    meant.max_by_key(|one| (one.removed, one.number))
}

#[cfg(test)]
mod tests;
