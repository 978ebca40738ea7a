//! Finds where branches stand: beside their base, the branch that it was taken from, and upstream.

use std::collections::HashMap;

use bstr::{BStr, BString, ByteSlice};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::shapes::{BaseBranch, WorktreeBase};
use crate::config::value::Strategy;
use crate::git::history::Reachability;
use crate::git::process::Git;
use crate::record::worktree::Record;
use crate::words::error::Error;
use crate::words::name::{CommitId, branch_of};
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::{Main, Repository};

/// The base of a worktree, and where its branch stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BranchPosition {
    /// The base, with how far the base branch moved.
    pub base: WorktreeBase,
    /// Where the branch stands.
    pub position: Position,
}

/// Where a branch stands; in `status`, where HEAD stands. A number is null if it is unknown.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Position {
    /// The commit of the branch, in `status` of HEAD; null if the branch is gone.
    pub head: Option<CommitId>,
    /// The time of this commit; null if it is unknown.
    pub committed: Option<String>,
    /// The number of commits that the branch has and the base has not.
    pub commits: Option<u64>,
    /// The distance to the branch that the base was taken from, if any.
    #[serde(flatten)]
    pub distance: Option<BaseDistance>,
    /// What the branch tracks; absent if nothing.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upstream: Option<Upstream>,
}

/// The distance between a branch and the branch that its base was taken from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BaseDistance {
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

impl Upstream {
    /// How the upstream differs; `None` if it does not.
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

/// Finds where the main worktree stands, without the number of its changed files; `None` if the
/// repository is bare.
///
/// # Errors
/// Fails when git does.
pub fn main_position(repository: &Repository) -> Result<Option<MainPosition>, Error> {
    if repository.main == Main::Bare {
        return Ok(None);
    }
    let git = &repository.git;
    let branch = git.symbolic_ref_head()?;
    let head = git.rev_parse_commit("HEAD")?;
    let upstream = match &branch {
        Some(branch) => git.upstream(branch)?,
        None => None,
    };
    let upstream_tip = match &upstream {
        Some(name) => git.rev_parse_commit(name)?,
        None => None,
    };
    let points = Points {
        head: head.as_ref(),
        base: None,
        base_branch: None,
        upstream: upstream.map(|name| NamedTip {
            name: short_name(&name),
            tip: upstream_tip.as_ref(),
        }),
    };
    let position = points.position(read_reachability(git, points.ids()).as_ref());
    Ok(Some(MainPosition {
        branch: branch.as_deref().map(short_name),
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
pub fn positions(
    repository: &Repository,
    worktrees: &[Worktree],
) -> Result<Vec<BranchPosition>, Error> {
    let branches = read_branches(&repository.git)?;
    let mut all_points = Vec::new();
    for worktree in worktrees {
        all_points.push(Points::new(&worktree.record, None, &branches, &branches));
    }
    let reachability = read_reachability(&repository.git, all_points.iter().flat_map(Points::ids));
    let mut positions = Vec::new();
    for (worktree, points) in worktrees.iter().zip(&all_points) {
        positions.push(match worktree.record.strategy {
            Strategy::Worktree => points.branch_position(&worktree.record, reachability.as_ref()),
            Strategy::Clone => position_of_clone(repository, worktree, None, &branches),
        });
    }
    Ok(positions)
}

/// Finds where HEAD of one worktree stands, in whichever repository it is. HEAD may be elsewhere than
/// the worktree's branch.
///
/// # Errors
/// Fails when git does.
pub fn position_of_head(
    repository: &Repository,
    worktree: &Worktree,
    head: &CommitId,
) -> Result<BranchPosition, Error> {
    let branches = read_branches(&repository.git)?;
    if worktree.record.strategy == Strategy::Clone {
        return Ok(position_of_clone(
            repository,
            worktree,
            Some(head),
            &branches,
        ));
    }
    let points = Points::new(&worktree.record, Some(head), &branches, &branches);
    let reachability = read_reachability(&repository.git, points.ids());
    Ok(points.branch_position(&worktree.record, reachability.as_ref()))
}

/// Finds where `head` of a clone stands; `None`: its branch.
fn position_of_clone(
    repository: &Repository,
    worktree: &Worktree,
    head: Option<&CommitId>,
    branches: &Branches,
) -> BranchPosition {
    // a clone may be damaged or gone: other commands report that
    let git = worktree.git(repository);
    let own_branches = read_branches(&git).unwrap_or_default();
    let points = Points::new(&worktree.record, head, &own_branches, branches);
    let reachability = read_reachability(&git, points.ids());
    points.branch_position(&worktree.record, reachability.as_ref())
}

/// Reads which commits these have; `None` if git cannot say. A base may be gone, where a branch
/// was moved away from it.
fn read_reachability<'c>(
    git: &Git,
    ids: impl Iterator<Item = &'c CommitId>,
) -> Option<Reachability> {
    let mut tips = Vec::new();
    for id in ids {
        let commit = git.rev_parse_commit(id.as_str()).ok().flatten();
        if commit.as_ref() == Some(id) {
            tips.push(id);
        }
    }
    git.reach(tips).ok()
}

/// Branches by their full names.
type Branches = HashMap<BString, BranchTip>;

/// A branch.
struct BranchTip {
    commit: CommitId,
    /// The full name of what the branch tracks.
    upstream: Option<BString>,
}

fn read_branches(git: &Git) -> Result<Branches, Error> {
    let mut branches = Branches::new();
    for (branch, upstream) in git.branches()? {
        let commit = branch.id;
        branches.insert(branch.name, BranchTip { commit, upstream });
    }
    Ok(branches)
}

/// The commits that one worktree is about.
struct Points<'b> {
    /// That of the branch, or of HEAD.
    head: Option<&'b CommitId>,
    base: Option<&'b CommitId>,
    base_branch: Option<NamedTip<'b>>,
    upstream: Option<NamedTip<'b>>,
}

/// A branch and its commit.
struct NamedTip<'b> {
    /// The short name.
    name: String,
    /// The commit; `None` if the branch is gone.
    tip: Option<&'b CommitId>,
}

impl<'b> NamedTip<'b> {
    fn new(name: &BStr, branches: &'b Branches) -> Self {
        Self {
            name: short_name(&name.to_str_lossy()),
            tip: branches.get(name).map(|branch| &branch.commit),
        }
    }
}

impl<'b> Points<'b> {
    /// The points of a worktree whose HEAD is at `head`; `None`: where its branch is. The branch is
    /// in `own_branches`, its base in `branches`, which are those of the repository itself.
    fn new(
        record: &'b Record,
        head: Option<&'b CommitId>,
        own_branches: &'b Branches,
        branches: &'b Branches,
    ) -> Self {
        let branch = own_branches.get(BStr::new(&record.branch.full_ref()));
        let upstream = branch.and_then(|branch| branch.upstream.as_ref());
        let base_branch = base_branch(record);
        Self {
            head: head.or(branch.map(|branch| &branch.commit)),
            base: Some(&record.base.commit),
            base_branch: base_branch.map(|name| NamedTip::new(name.into(), branches)),
            upstream: upstream.map(|name| NamedTip::new(name.as_bstr(), own_branches)),
        }
    }

    fn ids(&self) -> impl Iterator<Item = &'b CommitId> {
        let named = self.base_branch.iter().chain(&self.upstream);
        let tips = named.filter_map(|named| named.tip);
        self.head.into_iter().chain(self.base).chain(tips)
    }

    fn branch_position(
        &self,
        record: &Record,
        reachability: Option<&Reachability>,
    ) -> BranchPosition {
        let branch = self.base_branch.as_ref().map(|named| BaseBranch {
            name: named.name.clone(),
            moved: only_in(reachability, named.tip, self.base),
        });
        BranchPosition {
            base: WorktreeBase {
                branch,
                ..WorktreeBase::named(&record.base.commit, &record.base.revision)
            },
            position: self.position(reachability),
        }
    }

    fn position(&self, reachability: Option<&Reachability>) -> Position {
        let head = self.head;
        Position {
            head: head.cloned(),
            committed: head.and_then(|head| commit_time(reachability?, head)),
            commits: only_in(reachability, head, self.base),
            distance: self.base_branch.as_ref().map(|named| BaseDistance {
                ahead: only_in(reachability, head, named.tip),
                behind: only_in(reachability, named.tip, head),
            }),
            upstream: self.upstream.as_ref().map(|named| Upstream {
                name: named.name.clone(),
                ahead: only_in(reachability, head, named.tip),
                behind: only_in(reachability, named.tip, head),
            }),
        }
    }
}

/// The number of commits that are reachable from `tip` and not from `other`; `None` if unknown.
fn only_in(
    reachability: Option<&Reachability>,
    tip: Option<&CommitId>,
    other: Option<&CommitId>,
) -> Option<u64> {
    reachability?.only_in(tip?, other?)
}

/// The time of a commit, RFC 3339 in UTC.
fn commit_time(reachability: &Reachability, commit: &CommitId) -> Option<String> {
    let seconds = reachability.time(commit)?;
    let time = jiff::Timestamp::from_second(seconds).ok()?;
    Some(time.to_string())
}

/// The branch that the base was taken from: the one of the name that was asked for, else the first
/// that it follows (branches of the repository itself come first).
fn base_branch(record: &Record) -> Option<&str> {
    let revision = &record.base.revision;
    let asked = branch_of(revision);
    let tips = &record.base.tips;
    let named = tips.iter().find(|tip| short_name(&tip.name) == *asked);
    named.or(tips.first()).map(|tip| tip.name.as_str())
}

/// The name of a branch or a remote-tracking branch without `refs/heads/` or `refs/remotes/`.
fn short_name(name: &str) -> String {
    let branch = name.strip_prefix("refs/heads/");
    let short = branch.or_else(|| name.strip_prefix("refs/remotes/"));
    short.unwrap_or(name).to_owned()
}
