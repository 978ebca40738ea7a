//! Finds where branches stand: beside their base, the branch that it was taken from, and upstream.
//!
//! Git is started three times, however many worktrees there are: the branches, a commit that all of
//! them share, and the commits since. The rest is counted here (`position/graph.rs`).

use std::collections::{HashMap, HashSet};

use bstr::{BStr, BString, ByteSlice};
use schemars::JsonSchema;
use serde::Serialize;

use crate::answer::shapes::BaseField;
use crate::config::Strategy;
use crate::git::Git;
use crate::git::objects::Objects;
use crate::name::CommitId;
use crate::worktree::repository::Repository;
use crate::worktree::{Record, Worktree, WorktreeError};

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
pub fn positions(
    repository: &Repository,
    all: &[&Worktree],
) -> Result<Vec<Position>, WorktreeError> {
    let branches = branches(&repository.git)?;
    let points = |known: &&'_ Worktree| match known.record.strategy {
        Strategy::Worktree => Points::new(&known.record, &branches, &branches),
        Strategy::Clone => {
            let branch = known.record.branch.full_ref();
            let head = known.git(repository).rev_parse_commit(&branch);
            Points {
                head: head.ok().flatten(),
                ..Points::default()
            }
        }
    };
    let points: Vec<Points> = all.iter().map(points).collect();
    let graph = read(&repository.git, &repository.objects()?, &points);
    let graph = graph.as_ref();
    Ok(points.iter().map(|one| one.position(graph)).collect())
}

/// Finds where the branch of one worktree stands, in whichever repository it is.
///
/// # Errors
/// Fails when git does.
pub fn position(repository: &Repository, known: &Worktree) -> Result<Position, WorktreeError> {
    if known.record.strategy == Strategy::Worktree {
        return Ok(positions(repository, &[known])?.remove(0));
    }
    let git = known.git(repository);
    let ours = branches(&repository.git)?;
    // a clone may be damaged or gone: that is told elsewhere
    let theirs = branches(&git).unwrap_or_default();
    let points = [Points::new(&known.record, &theirs, &ours)];
    let objects = Objects::open(&known.record.admin_dir, repository.format).ok();
    let graph = objects.and_then(|objects| read(&git, &objects, &points));
    Ok(points[0].position(graph.as_ref()))
}

fn branches(git: &Git) -> Result<Branches, WorktreeError> {
    let all = git.branches()?.into_iter();
    Ok(all
        .map(|(found, upstream)| (found.name, (found.id, upstream)))
        .collect())
}

/// Reads how the commits are related that are there; none where git cannot tell.
fn read(git: &Git, objects: &Objects, all: &[Points]) -> Option<Graph> {
    let ids: HashSet<&CommitId> = all.iter().flat_map(Points::ids).collect();
    // a base may be gone, where a branch was moved away from it
    let there = ids.into_iter().filter(|id| objects.commit(id).is_ok());
    let mut there: Vec<CommitId> = there.cloned().collect();
    there.sort();
    if there.len() < 2 {
        return Some(Graph::new(there, &[]));
    }
    let shared = git.merge_base_octopus(&there).ok()?;
    let commits = git.rev_list_parents(&there, shared.as_ref()).ok()?;
    Some(Graph::new(there, &commits))
}

/// Holds the commits that one worktree is about; of branches the full name, and where it is.
#[derive(Clone, Debug, Default)]
struct Points {
    head: Option<CommitId>,
    base: Option<CommitId>,
    base_branch: Option<(String, Option<CommitId>)>,
    upstream: Option<(String, Option<CommitId>)>,
}

impl Points {
    fn new(record: &Record, own: &Branches, ours: &Branches) -> Self {
        let branch = own.get(BStr::new(&record.branch.full_ref()));
        let upstream = branch.and_then(|(_, upstream)| upstream.as_ref());
        let at = |name: &str, branches: &Branches| {
            let found = branches.get(BStr::new(name));
            (name.to_owned(), found.map(|(id, _)| id.clone()))
        };
        Self {
            head: branch.map(|(id, _)| id.clone()),
            base: Some(record.base.commit.clone()),
            base_branch: base_branch(record).map(|name| at(name, ours)),
            upstream: upstream.map(|name| at(&name.to_str_lossy(), own)),
        }
    }

    fn ids(&self) -> impl Iterator<Item = &CommitId> {
        let branches = self.base_branch.iter().chain(&self.upstream);
        let branches = branches.filter_map(|(_, id)| id.as_ref());
        self.head.iter().chain(&self.base).chain(branches)
    }

    fn position(&self, graph: Option<&Graph>) -> Position {
        let only_in = |one: &Option<CommitId>, other: &Option<CommitId>| {
            graph?.only_in(one.as_ref()?, other.as_ref()?)
        };
        let base_branch = self.base_branch.as_ref().map(|(name, tip)| BaseBranch {
            name: short(name),
            moved: only_in(tip, &self.base),
            ahead: only_in(&self.head, tip),
            behind: only_in(tip, &self.head),
        });
        let upstream = self.upstream.as_ref().map(|(name, tip)| Upstream {
            name: short(name),
            ahead: only_in(&self.head, tip),
            behind: only_in(tip, &self.head),
        });
        Position {
            head: self.head.clone(),
            commits: only_in(&self.head, &self.base),
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

/// Represents the commits that are not in every one of some points of interest.
struct Graph {
    points: HashMap<CommitId, usize>,
    /// For each commit, a bit for each point that has it.
    had_by: Vec<Vec<u64>>,
}

impl Graph {
    /// Puts it together from commits with their parents, each after its children. What is not
    /// among them is in all of the points.
    fn new(points: Vec<CommitId>, commits: &[(CommitId, Vec<CommitId>)]) -> Self {
        let words = points.len().div_ceil(64);
        let at: HashMap<&CommitId, usize> = commits
            .iter()
            .enumerate()
            .map(|(at, (id, _))| (id, at))
            .collect();
        let mut had_by = vec![vec![0u64; words]; commits.len()];
        for (point, id) in points.iter().enumerate() {
            if let Some(at) = at.get(id) {
                had_by[*at][point / 64] |= 1 << (point % 64);
            }
        }
        for (child, (_, parents)) in commits.iter().enumerate() {
            for parent in parents.iter().filter_map(|id| at.get(id)) {
                let bits = had_by[child].clone();
                let words = had_by[*parent].iter_mut().zip(bits);
                words.for_each(|(word, bits)| *word |= bits);
            }
        }
        let points = points.into_iter().enumerate();
        Self {
            points: points.map(|(at, id)| (id, at)).collect(),
            had_by,
        }
    }

    /// How many commits a point has that another has not; none where one of them is unknown.
    fn only_in(&self, one: &CommitId, other: &CommitId) -> Option<u64> {
        let (one, other) = (*self.points.get(one)?, *self.points.get(other)?);
        let has = |bits: &[u64], point: usize| bits[point / 64] >> (point % 64) & 1 == 1;
        let only = |bits: &&Vec<u64>| has(bits, one) && !has(bits, other);
        Some(self.had_by.iter().filter(only).count() as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn id(number: usize) -> CommitId {
        CommitId::parse(&format!("{number:040x}")).expect("40 digits")
    }

    /// The sets that it must agree with, by walking.
    fn ancestors(of: usize, commits: &[(CommitId, Vec<CommitId>)]) -> Vec<CommitId> {
        let mut found = vec![id(of)];
        let mut at = 0;
        while let Some(next) = found.get(at).cloned() {
            at += 1;
            let parents = commits.iter().find(|(id, _)| *id == next);
            for parent in parents.into_iter().flat_map(|(_, parents)| parents) {
                if !found.contains(parent) {
                    found.push(parent.clone());
                }
            }
        }
        found
    }

    #[test]
    fn it_counts_what_walking_from_each_would() {
        // 100 commits with up to two parents, the newest first; more points than a word has bits
        let mut random = 0x9e37_79b9_7f4a_7c15_u64;
        let mut parent_of = |number: usize| {
            random = random
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            usize::try_from(random >> 40).unwrap_or(0) % number
        };
        let commits: Vec<(CommitId, Vec<CommitId>)> = (1..100)
            .map(|number| {
                (
                    id(number),
                    vec![id(parent_of(number)), id(parent_of(number))],
                )
            })
            .chain([])
            .rev()
            .collect();
        let mut all = commits;
        all.push((id(0), Vec::new()));
        let points: Vec<CommitId> = (0..90).map(|number| id(99 - number)).collect();
        let graph = Graph::new(points, &all);
        for (one, other) in [(99, 98), (98, 99), (50, 20), (20, 50), (77, 77), (10, 99)] {
            let known = ancestors(other, &all);
            let only = ancestors(one, &all)
                .into_iter()
                .filter(|id| !known.contains(id));
            assert_eq!(
                graph.only_in(&id(one), &id(other)),
                Some(only.count() as u64),
                "{one} {other}"
            );
        }
        assert_eq!(graph.only_in(&id(99), &id(3)), None, "no point of interest");
    }

    #[test]
    fn what_all_have_need_not_be_among_them() {
        let commits = [(id(3), vec![id(1)]), (id(2), vec![id(1)])];
        let graph = Graph::new(vec![id(1), id(2), id(3)], &commits);
        let count = |one, other| graph.only_in(&id(one), &id(other));
        assert_eq!(
            [count(2, 1), count(1, 2), count(2, 3)],
            [Some(1), Some(0), Some(1)]
        );
    }
}
