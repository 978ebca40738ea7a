//! Answers how commits are related, as git-merge-base(1) and git-rev-list(1) do.
//!
//! Each commit that is read is held against its id, as git does where it parses one. A commit that
//! is missing is an error, except beyond the boundary of a shallow clone: a commit of that boundary
//! has no parents (gitrepository-layout(5), `shallow`).

use std::collections::{HashMap, HashSet};

use bstr::{BString, ByteSlice};
use gix::hash::ObjectId;
use gix::objs::{Data, Find, Kind};
use gix::revision::plumbing::{Graph, merge_base};
use gix::traverse::commit::simple::{CommitTimeOrder, Sorting};
use gix::traverse::commit::{Info, Simple};

use super::error::{GitError, reading};
use super::objects::{Objects, commit_id_of, oid_of};
use super::process::Git;
use crate::name::CommitId;

/// What messages call it.
const HISTORY: &str = "the history";

/// Represents the commits of a repository.
pub(super) struct RevisionHistory {
    objects: Objects,
    shallow: HashSet<ObjectId>,
}

type MergeGraph<'a> = Graph<'a, 'a, gix::revwalk::graph::Commit<merge_base::Flags>>;

impl Find for RevisionHistory {
    fn try_find<'a>(
        &self,
        id: &gix::hash::oid,
        buffer: &'a mut Vec<u8>,
    ) -> gix::Result<Option<Data<'a>>> {
        let failed = |detail: &str| gix::Error::from(gix::error::message!("{id} {detail}"));
        let found = self.objects.try_find(id, buffer)?;
        let found = found.ok_or_else(|| failed("is not in the repository"))?;
        let (kind, hash) = (found.kind, found.object_hash);
        if kind == Kind::Commit && gix::objs::compute_hash(hash, kind, found.data)? != id {
            return Err(failed("is damaged"));
        }
        if !self.shallow.contains(id) {
            // the borrow checker does not see that the first answer is no longer used
            return self.objects.try_find(id, buffer);
        }
        let lines = found.data.lines_with_terminator();
        let is_parent = |line: &&[u8]| line.starts_with(b"parent ");
        let mut in_head = true;
        let kept: Vec<&[u8]> = lines
            .filter(|line| {
                in_head &= line.trim() != b"";
                !(in_head && is_parent(line))
            })
            .collect();
        let kept = kept.concat();
        buffer.clear();
        buffer.extend_from_slice(&kept);
        Ok(Some(Data::new(buffer, kind, hash)))
    }
}

impl RevisionHistory {
    /// The commit that an object is or, being an annotated tag, leads to; none where it is neither
    /// or missing.
    pub(super) fn peel(&self, id: &CommitId) -> Result<Option<CommitId>, GitError> {
        let mut next = oid_of(id);
        let mut buffer = Vec::new();
        loop {
            let found = self.objects.try_find(&next, &mut buffer);
            let Some(found) = found.map_err(reading(format_args!("object {next}")))? else {
                return Ok(None);
            };
            match found.kind {
                Kind::Commit => return Ok(Some(commit_id_of(&next))),
                Kind::Tree | Kind::Blob => return Ok(None),
                Kind::Tag => {
                    let tag = gix::objs::TagRefIter::from_bytes(found.data, found.object_hash);
                    let target = tag.target_id();
                    next = target.map_err(reading(format_args!("the tag {next}")))?;
                }
            }
        }
    }

    fn graph(&self) -> MergeGraph<'_> {
        Graph::new(self, None)
    }

    /// The best common ancestors of a commit and a hypothetical merge of others.
    fn bases(
        graph: &mut MergeGraph<'_>,
        one: &CommitId,
        others: &[CommitId],
    ) -> Result<Vec<CommitId>, GitError> {
        if others.is_empty() {
            return Ok(vec![one.clone()]);
        }
        let others: Vec<ObjectId> = others.iter().map(oid_of).collect();
        let found = merge_base(oid_of(one), &others, graph);
        let found = found.map_err(reading(HISTORY))?;
        Ok(found
            .into_iter()
            .flatten()
            .map(|id| commit_id_of(&id))
            .collect())
    }

    fn has(
        graph: &mut MergeGraph<'_>,
        newer: &CommitId,
        older: &CommitId,
    ) -> Result<bool, GitError> {
        if older == newer {
            return Ok(true);
        }
        let bases = Self::bases(graph, older, std::slice::from_ref(newer))?;
        Ok(bases.contains(older))
    }

    /// Lists the commits that are reachable from `tips` and not from `hidden`, the newest first.
    fn list(&self, tips: &[ObjectId], hidden: &[ObjectId]) -> Result<Vec<Info>, GitError> {
        if tips.iter().all(|tip| hidden.contains(tip)) {
            return Ok(Vec::new());
        }
        let walk = Simple::new(tips.iter().copied(), self)
            .sorting(Sorting::ByCommitTime(CommitTimeOrder::NewestFirst))
            .and_then(|walk| walk.hide(hidden.iter().copied()));
        let walk = walk.map_err(reading(HISTORY))?;
        walk.collect::<Result<Vec<_>, _>>()
            .map_err(reading(HISTORY))
    }

    /// The commits that these objects lead to; what is none, or gone, is left out.
    fn commits<'c>(
        &self,
        ids: impl IntoIterator<Item = &'c CommitId>,
    ) -> Result<Vec<ObjectId>, GitError> {
        let mut all = Vec::new();
        for id in ids {
            all.extend(self.peel(id)?.as_ref().map(oid_of));
        }
        Ok(all)
    }
}

/// Orders commits so that each comes after its children (`--topo-order`).
fn children_first(commits: &[Info]) -> Vec<&Info> {
    let mut waiting: HashMap<ObjectId, (usize, &Info)> =
        commits.iter().map(|one| (one.id, (0, one))).collect();
    for parent in commits.iter().flat_map(|one| &one.parent_ids) {
        if let Some((children, _)) = waiting.get_mut(parent) {
            *children += 1;
        }
    }
    let tips = commits.iter().rev().filter(|one| waiting[&one.id].0 == 0);
    let mut next: Vec<&Info> = tips.collect();
    let mut ordered = Vec::with_capacity(commits.len());
    while let Some(commit) = next.pop() {
        ordered.push(commit);
        for parent in &commit.parent_ids {
            if let Some((children, parent)) = waiting.get_mut(parent) {
                *children -= 1;
                if *children == 0 {
                    next.push(parent);
                }
            }
        }
    }
    ordered
}

impl Git {
    /// The commits of the repository, with those of the quarantine.
    pub(super) fn history(&self) -> Result<RevisionHistory, GitError> {
        let repo = self.repo()?;
        let mut objects = Objects::of(repo.objects(), repo.format);
        if let Some(quarantine) = &self.quarantine {
            objects = objects.with_quarantine(quarantine)?;
        }
        let shallow = repo.local().shallow_commits();
        let shallow = shallow.map_err(reading(HISTORY))?;
        let shallow = shallow.iter().flat_map(|all| all.iter().copied()).collect();
        Ok(RevisionHistory { objects, shallow })
    }

    /// Returns the best common ancestors of a commit and a hypothetical merge of the tips
    /// (`git merge-base --all`); none when the histories are unrelated.
    ///
    /// # Errors
    /// Fails when a commit is missing or damaged.
    pub fn merge_base_all(
        &self,
        commit: &CommitId,
        tips: &[CommitId],
    ) -> Result<Vec<CommitId>, GitError> {
        RevisionHistory::bases(&mut self.history()?.graph(), commit, tips)
    }

    /// Returns a best common ancestor of all these commits (`git merge-base --octopus`); none when
    /// they have none.
    ///
    /// # Errors
    /// Fails when a commit is missing or damaged.
    pub fn merge_base_octopus(&self, commits: &[CommitId]) -> Result<Option<CommitId>, GitError> {
        let Some((first, rest)) = commits.split_first() else {
            return Ok(None);
        };
        let history = self.history()?;
        let rest: Vec<ObjectId> = rest.iter().map(oid_of).collect();
        let found = merge_base::octopus(oid_of(first), &rest, &mut history.graph());
        let found = found.map_err(reading(HISTORY))?;
        Ok(found.map(|id| commit_id_of(&id)))
    }

    /// Returns those of these commits that no other of them has (`git merge-base --independent`).
    ///
    /// # Errors
    /// Fails when a commit is missing or damaged.
    pub fn merge_base_independent(&self, commits: &[CommitId]) -> Result<Vec<CommitId>, GitError> {
        let history = self.history()?;
        let mut graph = history.graph();
        let mut kept: Vec<CommitId> = Vec::new();
        for commit in commits {
            if !kept.contains(commit) {
                kept.push(commit.clone());
            }
        }
        let mut at = 0;
        while at < kept.len() && kept.len() > 1 {
            let one = kept.remove(at);
            if RevisionHistory::bases(&mut graph, &one, &kept)? != [one.clone()] {
                kept.insert(at, one);
                at += 1;
            }
        }
        Ok(kept)
    }

    /// Whether a commit is an ancestor of another, or the same.
    ///
    /// # Errors
    /// Fails when a commit is missing or damaged.
    pub fn is_ancestor(&self, older: &CommitId, newer: &CommitId) -> Result<bool, GitError> {
        if older == newer {
            return Ok(true);
        }
        RevisionHistory::has(&mut self.history()?.graph(), newer, older)
    }

    /// Returns the commits that are reachable from `tips` and not from `known`, the newest first.
    /// Tips that are gone (a reflog can name what was collected) are passed over.
    ///
    /// # Errors
    /// Fails when another commit is missing or damaged.
    pub fn rev_list(
        &self,
        tips: &[&CommitId],
        known: &[&CommitId],
    ) -> Result<Vec<CommitId>, GitError> {
        if tips.is_empty() {
            return Ok(Vec::new());
        }
        let history = self.history()?;
        let tips = history.commits(tips.iter().copied())?;
        let known = history.commits(known.iter().copied())?;
        let found = history.list(&tips, &known)?;
        let ordered = children_first(&found).into_iter();
        Ok(ordered.map(|one| commit_id_of(&one.id)).collect())
    }

    /// Counts the commits that are in `newer` and not in `older`.
    ///
    /// # Errors
    /// Fails when a commit is missing or damaged.
    pub fn rev_list_count(&self, older: &CommitId, newer: &CommitId) -> Result<u64, GitError> {
        let found = self.history()?.list(&[oid_of(newer)], &[oid_of(older)])?;
        Ok(found.len() as u64)
    }

    /// Returns the names of the refs below these prefixes that contain a commit.
    ///
    /// # Errors
    /// Fails when the refs cannot be read, or a commit is missing or damaged.
    pub fn refs_containing(
        &self,
        commit: &CommitId,
        prefixes: &[&str],
    ) -> Result<Vec<BString>, GitError> {
        let history = self.history()?;
        let mut graph = history.graph();
        let mut containing = Vec::new();
        for found in self.for_each_ref(prefixes)? {
            if let Some(newer) = history.peel(&found.id)?
                && RevisionHistory::has(&mut graph, &newer, commit)?
            {
                containing.push(found.name);
            }
        }
        Ok(containing)
    }
}
