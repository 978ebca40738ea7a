//! Answers how commits are related, as git-merge-base(1) and git-rev-list(1) do.

use super::Own;
use super::answer::{Answer, AskGit};
use super::commits::Commits;
use super::walk;
use crate::name::CommitId;

/// Of how many commits it is asked at most which of them are ancestors of others.
const MANY: usize = 16;

impl Own {
    /// Whether a commit is an ancestor of another.
    pub(in crate::git) fn has(&self, newer: &CommitId, older: &CommitId) -> Answer<bool> {
        let mut commits = Commits::related(self, newer)?;
        let (newer, older) = (commits.number(newer)?, commits.number(older)?);
        is_ancestor(&mut commits, older, newer)
    }

    /// The best common ancestors of a commit and a merge of the tips, the newest first.
    pub(in crate::git) fn common(
        &self,
        commit: &CommitId,
        tips: &[CommitId],
    ) -> Answer<Vec<CommitId>> {
        let mut commits = Commits::related(self, commit)?;
        let one = commits.number(commit)?;
        let tips = numbers(&mut commits, tips)?;
        let found = best(&mut commits, one, &tips)?;
        ids(&commits, &found)
    }

    /// A best common ancestor of all of these commits. Where there are several at any step, which
    /// of them git takes is for git to say.
    pub(in crate::git) fn common_of_all(&self, all: &[CommitId]) -> Answer<Option<CommitId>> {
        let (first, rest) = all.split_first().ok_or(AskGit)?;
        let mut commits = Commits::related(self, first)?;
        let mut found = commits.number(first)?;
        commits.commit(found)?;
        for next in numbers(&mut commits, rest)? {
            match best(&mut commits, next, &[found])?.as_slice() {
                [] => return Ok(None),
                [one] => found = *one,
                [_, _, ..] => return Err(AskGit),
            }
        }
        commits.id(found).map(Some)
    }

    /// Those of these commits that no other of them has, in their order.
    pub(in crate::git) fn independent(&self, all: &[CommitId]) -> Answer<Vec<CommitId>> {
        let mut commits = Commits::related(self, all.first().ok_or(AskGit)?)?;
        let all = numbers(&mut commits, all)?;
        let apart = independent(&mut commits, &all)?;
        ids(&commits, &apart)
    }

    /// The commits that are reachable from `tips` and not from `known`, each after its children.
    pub(in crate::git) fn list(
        &self,
        tips: &[&CommitId],
        known: &[&CommitId],
    ) -> Answer<Vec<CommitId>> {
        let first = tips.first().ok_or(AskGit)?;
        if tips.iter().all(|tip| known.contains(tip)) {
            return Ok(Vec::new());
        }
        let mut commits = Commits::related(self, first)?;
        let tips = numbers(&mut commits, tips.iter().copied())?;
        let known = numbers(&mut commits, known.iter().copied())?;
        let found = walk::list(&mut commits, &tips, &known)?;
        let ordered = walk::children_first(&commits, &found)?;
        ids(&commits, &ordered)
    }

    /// As [`Own::list`], each commit with its parents.
    pub(in crate::git) fn list_parents(
        &self,
        tips: &[CommitId],
        known: Option<&CommitId>,
    ) -> Answer<Vec<(CommitId, Vec<CommitId>)>> {
        let mut commits = Commits::related(self, tips.first().ok_or(AskGit)?)?;
        let tips = numbers(&mut commits, tips)?;
        let known = numbers(&mut commits, known)?;
        let found = walk::list(&mut commits, &tips, &known)?;
        let ordered = walk::children_first(&commits, &found)?;
        let with_parents = ordered.into_iter().map(|commit| {
            let seen = commits.seen(commit).ok_or(AskGit)?;
            Ok((commits.id(commit)?, ids(&commits, &seen.parents)?))
        });
        with_parents.collect()
    }

    /// How many commits `newer` has that `older` has not.
    pub(in crate::git) fn count(&self, older: &CommitId, newer: &CommitId) -> Answer<u64> {
        let mut commits = Commits::related(self, newer)?;
        let (older, newer) = (commits.number(older)?, commits.number(newer)?);
        let found = walk::list(&mut commits, &[newer], &[older])?;
        u64::try_from(found.len()).map_err(|_| AskGit)
    }

    /// Which of these objects are commits, or tags of one, that have a commit.
    pub(in crate::git) fn containing(
        &self,
        older: &CommitId,
        objects: &[CommitId],
    ) -> Answer<Vec<bool>> {
        let mut commits = Commits::related(self, older)?;
        let older = commits.number(older)?;
        commits.commit(older)?;
        let mut has = |object: &CommitId| match commits.peeled(object)? {
            None => Ok(false),
            Some(newer) => {
                let newer = commits.number(&newer)?;
                is_ancestor(&mut commits, older, newer)
            }
        };
        objects.iter().map(&mut has).collect()
    }
}

fn numbers<'a>(
    commits: &mut Commits,
    ids: impl IntoIterator<Item = &'a CommitId>,
) -> Answer<Vec<usize>> {
    ids.into_iter().map(|id| commits.number(id)).collect()
}

fn ids(commits: &Commits, numbers: &[usize]) -> Answer<Vec<CommitId>> {
    numbers.iter().map(|number| commits.id(*number)).collect()
}

fn is_ancestor(commits: &mut Commits, older: usize, newer: usize) -> Answer<bool> {
    Ok(walk::paint(commits, older, &[newer])?.contains(&older))
}

/// The best common ancestors, the newest first; of those of one moment, the order is git's secret.
fn best(commits: &mut Commits, one: usize, others: &[usize]) -> Answer<Vec<usize>> {
    let found = walk::paint(commits, one, others)?;
    let mut apart = independent(commits, &found)?;
    let date = |commit: &usize| commits.seen(*commit).map(|seen| seen.date);
    apart.sort_by_key(|commit| std::cmp::Reverse(date(commit)));
    let unsure = apart
        .windows(2)
        .any(|pair| date(&pair[0]) == date(&pair[1]));
    if unsure { Err(AskGit) } else { Ok(apart) }
}

/// Those that no other of them has, each once, in their order.
fn independent(commits: &mut Commits, all: &[usize]) -> Answer<Vec<usize>> {
    if all.len() > MANY {
        return Err(AskGit);
    }
    let mut apart: Vec<usize> = Vec::new();
    for one in all {
        commits.commit(*one)?;
        let mut redundant = apart.contains(one);
        for other in all.iter().filter(|other| *other != one) {
            redundant = redundant || is_ancestor(commits, *one, *other)?;
        }
        if !redundant {
            apart.push(*one);
        }
    }
    Ok(apart)
}
