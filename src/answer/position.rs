//! Finds where branches stand: beside their base, the branch that it was taken from, and upstream.

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::shapes::BaseField;
use crate::config::value::Strategy;
use crate::git::history::Reachability;
use crate::git::process::Git;
use crate::record::worktree::Record;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::{Main, Repository};

/// Where a branch stands. A number is null if it is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Position {
    /// The commit of the branch; null if the branch is gone.
    pub head: Option<CommitId>,
    /// The time of this commit; null if it is unknown.
    pub committed: Option<String>,
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

/// Where the main worktree stands. A value is null if it is unknown.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MainPosition {
    /// The short name of the branch; null if HEAD is detached.
    pub branch: Option<String>,
    /// The commit of HEAD; null if there is none.
    pub head: Option<CommitId>,
    /// The time of this commit.
    pub committed: Option<String>,
    /// What the branch tracks; absent if nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Upstream>,
    /// The number of files that are not committed.
    pub uncommitted: Option<usize>,
}

/// Finds where the main worktree stands, without the number of its files; none where the repository
/// is bare.
///
/// # Errors
/// Fails when git does.
pub fn main_position(repository: &Repository) -> Result<Option<MainPosition>, Error> {
    if repository.main == Main::Bare {
        return Ok(None);
    }
    let git = &repository.git;
    let full = git.symbolic_ref_head()?;
    let head = git.rev_parse_commit("HEAD")?;
    let upstream = full.as_deref().map(|full| git.upstream(full)).transpose()?;
    let upstream = match upstream.flatten() {
        Some(name) => Some((short(&name), git.rev_parse_commit(&name)?)),
        None => None,
    };
    let points = Points {
        head: head.as_ref(),
        base: None,
        base_branch: None,
        upstream: upstream
            .as_ref()
            .map(|(name, id)| (name.clone(), id.as_ref())),
    };
    let position = points.position(reach(git, points.ids()).as_ref());
    Ok(Some(MainPosition {
        branch: full.as_deref().map(short),
        head: position.head,
        committed: position.committed,
        upstream: position.upstream,
        uncommitted: None,
    }))
}

/// Finds where the branches of these worktrees stand, in their order.
///
/// # Errors
/// Fails when git does.
pub fn positions(repository: &Repository, all: &[&Worktree]) -> Result<Vec<Position>, Error> {
    let branches = branches(&repository.git)?;
    let records = all.iter().map(|known| &known.record);
    let points = records.map(|record| Points::new(record, &branches, &branches));
    let points: Vec<Points<'_>> = points.collect();
    let reach = reach(&repository.git, points.iter().flat_map(Points::ids));
    let position = |(known, points): (&&Worktree, &Points<'_>)| match known.record.strategy {
        Strategy::Worktree => points.position(reach.as_ref()),
        Strategy::Clone => position_of_clone(repository, known, &branches),
    };
    Ok(all.iter().zip(&points).map(position).collect())
}

/// Finds where the branch of one worktree stands, in whichever repository it is.
///
/// # Errors
/// Fails when git does.
pub fn position(repository: &Repository, known: &Worktree) -> Result<Position, Error> {
    if known.record.strategy == Strategy::Worktree {
        return Ok(positions(repository, &[known])?.remove(0));
    }
    let ours = branches(&repository.git)?;
    Ok(position_of_clone(repository, known, &ours))
}

fn position_of_clone(repository: &Repository, known: &Worktree, ours: &Branches) -> Position {
    // a clone may be damaged or gone: that is told elsewhere
    let git = known.git(repository);
    let theirs = branches(&git).unwrap_or_default();
    let points = Points::new(&known.record, &theirs, ours);
    points.position(reach(&git, points.ids()).as_ref())
}

/// Reads which commits these have; none where git cannot say. A base may be gone, where a branch was
/// moved away from it.
fn reach<'c>(git: &Git, ids: impl Iterator<Item = &'c CommitId>) -> Option<Reachability> {
    let commit = |id: &CommitId| git.rev_parse_commit(id.as_str()).ok().flatten();
    let tips = ids.filter(|id| commit(id).as_ref() == Some(id));
    git.reach(tips).ok()
}

fn branches(git: &Git) -> Result<Branches, Error> {
    let all = git.branches()?.into_iter();
    Ok(all
        .map(|(found, upstream)| (found.name, (found.id, upstream)))
        .collect())
}

/// Holds the commits that one worktree is about; of branches also the short name.
struct Points<'b> {
    head: Option<&'b CommitId>,
    base: Option<&'b CommitId>,
    base_branch: Option<(String, Option<&'b CommitId>)>,
    upstream: Option<(String, Option<&'b CommitId>)>,
}

impl<'b> Points<'b> {
    fn new(record: &'b Record, own: &'b Branches, ours: &'b Branches) -> Self {
        let tip = |name: &BStr, branches: &'b Branches| {
            let found = branches.get(name).map(|(id, _)| id);
            (short(&name.to_str_lossy()), found)
        };
        let branch = own.get(BStr::new(&record.branch.full_ref()));
        let upstream = branch.and_then(|(_, upstream)| upstream.as_ref());
        Self {
            head: branch.map(|(id, _)| id),
            base: Some(&record.base.commit),
            base_branch: base_branch(record).map(|name| tip(name.into(), ours)),
            upstream: upstream.map(|name| tip(name.as_bstr(), own)),
        }
    }

    fn ids(&self) -> impl Iterator<Item = &'b CommitId> {
        let branches = self.base_branch.iter().chain(&self.upstream);
        let branches = branches.filter_map(|(_, tip)| *tip);
        self.head.into_iter().chain(self.base).chain(branches)
    }

    fn position(&self, reach: Option<&Reachability>) -> Position {
        let only_in =
            |one: Option<&CommitId>, other: Option<&CommitId>| reach?.only_in(one?, other?);
        let head = self.head;
        let base = self.base;
        let time = head.and_then(|head| reach?.time(head));
        let time = time.map(jiff::Timestamp::from_second);
        Position {
            head: head.cloned(),
            committed: time.and_then(Result::ok).map(|time| time.to_string()),
            commits: only_in(head, base),
            base_branch: self.base_branch.as_ref().map(|(name, tip)| BaseBranch {
                name: name.clone(),
                moved: only_in(*tip, base),
                ahead: only_in(head, *tip),
                behind: only_in(*tip, head),
            }),
            upstream: self.upstream.as_ref().map(|(name, tip)| Upstream {
                name: name.clone(),
                ahead: only_in(head, *tip),
                behind: only_in(*tip, head),
            }),
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
