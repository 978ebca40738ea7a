//! Walks histories as git does (commit-reach.c, revision.c), the newest commit first.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::answer::{Answer, AskGit};
use super::commits::{Commit, Commits};

const ONE: u8 = 1;
const OTHER: u8 = 2;
/// Reachable from a common ancestor, or from what is not wanted.
const DULL: u8 = 4;
const FOUND: u8 = 8;
/// How many uninteresting commits are looked at after the last interesting one, in case that a
/// clock was wrong (`SLOP`, revision.c).
const SLOP: usize = 5;

/// Represents the commits that are to be looked at: the newest first, of equals the first one. It
/// knows whether any of them can still matter.
#[derive(Default)]
struct Queue {
    heap: BinaryHeap<(u64, Reverse<usize>, usize)>,
    order: usize,
    flags: Vec<u8>,
    waiting: Vec<usize>,
    interesting: usize,
}

impl Queue {
    fn flags(&self, commit: usize) -> u8 {
        self.flags.get(commit).copied().unwrap_or_default()
    }

    fn add_flags(&mut self, commit: usize, flags: u8) {
        if self.flags.len() <= commit {
            self.flags.resize(commit + 1, 0);
            self.waiting.resize(commit + 1, 0);
        }
        if flags & DULL != 0 && self.flags[commit] & DULL == 0 {
            self.interesting -= self.waiting[commit];
        }
        self.flags[commit] |= flags;
    }

    fn push(&mut self, commit: usize, date: u64) {
        self.add_flags(commit, 0);
        self.waiting[commit] += 1;
        if self.flags[commit] & DULL == 0 {
            self.interesting += 1;
        }
        self.heap.push((date, Reverse(self.order), commit));
        self.order += 1;
    }

    fn pop(&mut self) -> Option<usize> {
        let (_, _, commit) = self.heap.pop()?;
        self.waiting[commit] -= 1;
        if self.flags[commit] & DULL == 0 {
            self.interesting -= 1;
        }
        Some(commit)
    }

    fn newest(&self) -> Option<u64> {
        self.heap.peek().map(|(date, _, _)| *date)
    }
}

/// Finds the common ancestors of a commit and any of the others, of which none is known to be an
/// ancestor of another (`paint_down_to_common`).
pub(super) fn paint(commits: &mut Commits, one: usize, others: &[usize]) -> Answer<Vec<usize>> {
    if others.contains(&one) {
        commits.commit(one)?;
        return Ok(vec![one]);
    }
    let mut queue = Queue::default();
    queue.add_flags(one, ONE);
    queue.push(one, commits.commit(one)?.date);
    for other in others {
        queue.add_flags(*other, OTHER);
        queue.push(*other, commits.commit(*other)?.date);
    }
    let mut found = Vec::new();
    while queue.interesting > 0 {
        let commit = queue.pop().ok_or(AskGit)?;
        let mut flags = queue.flags(commit) & (ONE | OTHER | DULL);
        if flags == ONE | OTHER {
            if queue.flags(commit) & FOUND == 0 {
                queue.add_flags(commit, FOUND);
                found.push(commit);
            }
            flags |= DULL;
        }
        for parent in commits.commit(commit)?.parents.clone() {
            if queue.flags(parent) & flags != flags {
                queue.add_flags(parent, flags);
                queue.push(parent, commits.commit(parent)?.date);
            }
        }
    }
    found.retain(|commit| queue.flags(*commit) & DULL == 0);
    Ok(found)
}

/// Finds the commits that are reachable from `tips` and not from `known`, the newest first
/// (`limit_list`).
pub(super) fn list(commits: &mut Commits, tips: &[usize], known: &[usize]) -> Answer<Vec<usize>> {
    let mut queue = Queue::default();
    let mut met = Vec::new();
    known
        .iter()
        .for_each(|commit| queue.add_flags(*commit, DULL));
    for commit in known {
        for parent in commits.commit(*commit)?.parents.clone() {
            mark(commits, &mut queue, parent);
        }
    }
    for commit in tips.iter().chain(known) {
        if queue.flags(*commit) & FOUND == 0 {
            queue.add_flags(*commit, FOUND);
            queue.push(*commit, commits.commit(*commit)?.date);
        }
    }
    let (mut slop, mut last) = (SLOP, u64::MAX);
    while let Some(commit) = queue.pop() {
        let dull = queue.flags(commit) & DULL;
        let Commit { date, parents } = commits.commit(commit)?.clone();
        for parent in parents {
            let parent_date = commits.commit(parent)?.date;
            if dull != 0 {
                queue.add_flags(parent, DULL);
                for before in commits.commit(parent)?.parents.clone() {
                    mark(commits, &mut queue, before);
                }
            }
            if queue.flags(parent) & FOUND == 0 {
                queue.add_flags(parent, FOUND);
                queue.push(parent, parent_date);
            }
        }
        if dull == 0 {
            met.push(commit);
            last = date;
            continue;
        }
        slop = match queue.newest() {
            None => 0,
            Some(newest) if last <= newest || queue.interesting > 0 => SLOP,
            Some(_) => slop - 1,
        };
        if slop == 0 {
            break;
        }
    }
    met.retain(|commit| queue.flags(*commit) & DULL == 0);
    Ok(met)
}

/// Marks a commit as not wanted, and all of its ancestors that were met.
fn mark(commits: &Commits, queue: &mut Queue, commit: usize) {
    let mut next = vec![commit];
    while let Some(commit) = next.pop() {
        if queue.flags(commit) & DULL == 0 {
            queue.add_flags(commit, DULL);
            let seen = commits.seen(commit);
            next.extend(seen.iter().flat_map(|seen| &seen.parents));
        }
    }
}

/// Orders commits, the newest of which come first, so that each comes after its children
/// (`sort_in_topological_order`).
pub(super) fn children_first(commits: &Commits, all: &[usize]) -> Answer<Vec<usize>> {
    // one more than the children that have not come yet; 0 for what is not among them
    let mut left = vec![0; commits.len()];
    all.iter().for_each(|commit| left[*commit] = 1);
    let parents = |commit: usize| commits.seen(commit).ok_or(AskGit).map(|seen| &seen.parents);
    for commit in all {
        for parent in parents(*commit)? {
            if left[*parent] > 0 {
                left[*parent] += 1;
            }
        }
    }
    let tips = all.iter().rev().filter(|commit| left[**commit] == 1);
    let mut next: Vec<usize> = tips.copied().collect();
    let mut ordered = Vec::with_capacity(all.len());
    while let Some(commit) = next.pop() {
        for parent in parents(commit)? {
            if left[*parent] > 0 {
                left[*parent] -= 1;
                if left[*parent] == 1 {
                    next.push(*parent);
                }
            }
        }
        left[commit] = 0;
        ordered.push(commit);
    }
    Ok(ordered)
}
