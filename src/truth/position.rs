//! Finds where branches stand: beside their base, the branch that it was taken from, and upstream.

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::shapes::BaseField;
use crate::config::Strategy;
use crate::error::Error;
use crate::git::Git;
use crate::name::CommitId;
use crate::worktree::repository::Repository;
use crate::worktree::{Record, Worktree};

/// Where a branch stands. A number is null if it is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Position {
    /// The commit of the branch; null if the branch is gone.
    pub head: Option<CommitId>,
    /// The number of commits that the branch has and the base has not.
    pub commits: Option<u64>,
    /// The branch that the base was taken from, if any.
    #[serde(flatten)]
    pub base_branch: Option<BaseBranch>,
    /// What the branch tracks; absent if nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Upstream>,
}

/// The branch that a base was taken from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BaseBranch {
    /// The short name.
    #[serde(skip)]
    pub name: String,
    /// The number of commits that this branch has and the base has not.
    #[serde(skip)]
    pub moved: Option<u64>,
    /// The number of commits that the branch has and the base branch has not.
    pub ahead: Option<u64>,
    /// The number of commits that the base branch has and the branch has not.
    pub behind: Option<u64>,
}

/// What a branch tracks.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Upstream {
    /// The short name.
    pub name: String,
    /// The number of commits that the branch has and the upstream has not.
    pub ahead: Option<u64>,
    /// The number of commits that the upstream has and the branch has not.
    pub behind: Option<u64>,
}

impl Position {
    /// The base of the worktree, with how far the base branch moved.
    pub fn base(&self, commit: &CommitId, revision: &str) -> BaseField {
        let branch = self.base_branch.as_ref();
        BaseField {
            branch: branch.map(|branch| branch.name.clone()),
            moved: branch.map(|branch| branch.moved),
            ..BaseField::named(commit, revision)
        }
    }
}

impl Upstream {
    /// How the upstream differs; none if it does not.
    pub fn difference(&self) -> Option<String> {
        let name = &self.name;
        match (self.ahead, self.behind) {
            (Some(0), Some(0)) => None,
            (Some(ahead), Some(0)) => Some(format!("{ahead} ahead of {name}")),
            (Some(0), Some(behind)) => Some(format!("{behind} behind {name}")),
            (Some(ahead), Some(behind)) => {
                Some(format!("{ahead} ahead of and {behind} behind {name}"))
            }
            (None, _) | (_, None) => Some(format!("its upstream {name} is gone")),
        }
    }
}

type Branches = HashMap<BString, (CommitId, Option<BString>)>;

/// Finds where the branches of these worktrees stand, in their order. Of a repository of its own
/// (strategy `clone`) only the commit that it is at.
///
/// # Errors
/// Fails when git does.
pub fn positions(repository: &Repository, all: &[&Worktree]) -> Result<Vec<Position>, Error> {
    let branches = branches(&repository.git)?;
    let mut counts = Counts::new(&repository.git);
    let position = |known: &&'_ Worktree| match known.record.strategy {
        Strategy::Worktree => counts.position(&known.record, &branches, &branches),
        Strategy::Clone => {
            let branch = known.record.branch.full_ref();
            let head = known.git(repository).rev_parse_commit(&branch);
            Position {
                head: head.ok().flatten(),
                ..Position::default()
            }
        }
    };
    Ok(all.iter().map(position).collect())
}

/// Finds where the branch of one worktree stands, in whichever repository it is.
///
/// # Errors
/// Fails when git does.
pub fn position(repository: &Repository, known: &Worktree) -> Result<Position, Error> {
    let ours = branches(&repository.git)?;
    if known.record.strategy == Strategy::Worktree {
        return Ok(Counts::new(&repository.git).position(&known.record, &ours, &ours));
    }
    let git = known.git(repository);
    // a clone may be damaged or gone: that is told elsewhere
    let theirs = branches(&git).unwrap_or_default();
    Ok(Counts::new(&git).position(&known.record, &theirs, &ours))
}

fn branches(git: &Git) -> Result<Branches, Error> {
    let all = git.branches()?.into_iter();
    Ok(all
        .map(|(found, upstream)| (found.name, (found.id, upstream)))
        .collect())
}

/// Counts commits, each pair once: most worktrees have the same base.
struct Counts<'g> {
    git: &'g Git,
    known: HashMap<(CommitId, CommitId), Option<u64>>,
}

impl<'g> Counts<'g> {
    fn new(git: &'g Git) -> Self {
        let known = HashMap::new();
        Self { git, known }
    }

    /// How many commits one has that another has not; none where one of them is gone.
    fn only_in(&mut self, one: Option<&CommitId>, other: Option<&CommitId>) -> Option<u64> {
        let (one, other) = (one?, other?);
        if one == other {
            return Some(0);
        }
        let count = || self.git.rev_list_count(other, one).ok();
        let pair = (one.clone(), other.clone());
        *self.known.entry(pair).or_insert_with(count)
    }

    fn position(&mut self, record: &Record, own: &Branches, ours: &Branches) -> Position {
        let branch = own.get(BStr::new(&record.branch.full_ref()));
        let head = branch.map(|(id, _)| id);
        let base = Some(&record.base.commit);
        let base_branch = base_branch(record).map(|name| {
            let tip = ours.get(BStr::new(name)).map(|(id, _)| id);
            BaseBranch {
                name: short(name),
                moved: self.only_in(tip, base),
                ahead: self.only_in(head, tip),
                behind: self.only_in(tip, head),
            }
        });
        let upstream = branch.and_then(|(_, upstream)| upstream.as_ref());
        let upstream = upstream.map(|name| {
            let tip = own.get(name).map(|(id, _)| id);
            Upstream {
                name: short(&name.to_str_lossy()),
                ahead: self.only_in(head, tip),
                behind: self.only_in(tip, head),
            }
        });
        Position {
            head: head.cloned(),
            commits: self.only_in(head, base),
            base_branch,
            upstream,
        }
    }
}

/// The branch that the base was taken from: the one of the name that was asked for, else the first
/// that it follows (branches of the repository itself come first).
fn base_branch(record: &Record) -> Option<&str> {
    let revision = &record.base.revision;
    let revision = revision.strip_prefix("refs/heads/").unwrap_or(revision);
    let mut names = record.base.tips.iter().map(|tip| tip.name.as_str());
    let first = names.clone().next();
    names.find(|name| short(name) == *revision).or(first)
}

fn short(name: &str) -> String {
    let prefixes = ["refs/heads/", "refs/remotes/"];
    let short = prefixes.iter().find_map(|prefix| name.strip_prefix(prefix));
    short.unwrap_or(name).to_owned()
}
