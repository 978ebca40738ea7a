//! Holds [`Graph`], which counts the commits that one has and another has not.

use std::collections::HashMap;

use crate::name::CommitId;

/// Represents the commits that are not in every one of some points of interest.
pub(super) struct Graph {
    points: HashMap<CommitId, usize>,
    /// For each commit, a bit for each point that has it.
    had_by: Vec<Vec<u64>>,
}

impl Graph {
    /// Puts it together from commits with their parents, each after its children. What is not
    /// among them is in all of the points.
    pub(super) fn new(points: Vec<CommitId>, commits: &[(CommitId, Vec<CommitId>)]) -> Self {
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
    pub(super) fn only_in(&self, one: &CommitId, other: &CommitId) -> Option<u64> {
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
