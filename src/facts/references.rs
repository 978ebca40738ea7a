//! Finds the reference trees of a commit: what it may look like without anybody having touched
//! anything (`docs/decisions/0003-reference-trees.md`).

use std::collections::HashMap;

use crate::compare::{Delta, merge_references};
use crate::entry::ObjectId;
use crate::git::Git;
use crate::git::objects::Objects;
use crate::name::CommitId;
use crate::worktree::WorktreeError;

/// Computes differences from the base's tree, each tree once.
pub struct Trees<'a> {
    objects: &'a Objects,
    base: ObjectId,
    known: HashMap<ObjectId, Delta>,
}

/// Holds the references of one commit.
#[derive(Clone, Debug)]
pub struct References {
    /// The nearest.
    pub nearest: CommitId,
    /// Their differences from the base, the nearest first; of several, what a merge makes of them.
    pub deltas: Vec<Delta>,
    /// The commits.
    pub commits: Vec<CommitId>,
    /// Whether the commit has left the base without following upstream: the base is no ancestor
    /// of it, and nothing newer of upstream is either.
    pub base_lost: bool,
}

impl<'a> Trees<'a> {
    /// Starts with the tree that was checked out when the worktree was made: all differences are
    /// told from it, as the manifest is.
    pub fn new(objects: &'a Objects, checked_out: &CommitId) -> Result<Self, WorktreeError> {
        let base = objects.commit(checked_out)?.tree;
        Ok(Self {
            objects,
            base,
            known: HashMap::new(),
        })
    }

    /// How the tree of a commit differs from the one that was checked out.
    pub fn delta(&mut self, commit: &CommitId) -> Result<Delta, WorktreeError> {
        let tree = self.objects.commit(commit)?.tree;
        if let Some(delta) = self.known.get(&tree) {
            return Ok(delta.clone());
        }
        let delta = self.objects.difference(Some(&self.base), Some(&tree))?;
        self.known.insert(tree, delta.clone());
        Ok(delta)
    }

    /// What a merge of these commits may look like: their trees, and where only some of them
    /// changed a path since their common ancestor, only what those have.
    pub fn merged(&mut self, git: &Git, commits: &[CommitId]) -> Result<Vec<Delta>, WorktreeError> {
        let deltas: Result<Vec<_>, _> = commits.iter().map(|one| self.delta(one)).collect();
        let deltas = deltas?;
        if commits.len() < 2 {
            return Ok(deltas);
        }
        Ok(match git.merge_base_octopus(commits)? {
            Some(ancestor) => merge_references(&deltas, &self.delta(&ancestor)?),
            None => deltas,
        })
    }
}

impl References {
    /// Finds the references of a commit.
    ///
    /// They are the best common ancestors of it and a hypothetical merge of the trusted tips,
    /// and the base itself if it is no ancestor and nothing newer of upstream is one (it was
    /// amended, or the branch reset).
    pub fn of(
        git: &Git,
        trees: &mut Trees<'_>,
        commit: &CommitId,
        base: &CommitId,
        trusted: &[CommitId],
    ) -> Result<Self, WorktreeError> {
        if commit == base {
            return Ok(Self {
                nearest: base.clone(),
                deltas: vec![trees.delta(base)?],
                commits: vec![base.clone()],
                base_lost: false,
            });
        }
        let mut commits = git.merge_base_all(commit, trusted)?;
        let mut base_lost = false;
        if !commits.contains(base) && !git.is_ancestor(base, commit)? {
            base_lost = true;
            for ancestor in &commits {
                base_lost &= git.is_ancestor(ancestor, base)?;
            }
        }
        let deltas = if base_lost {
            // neither of them replaces the other
            commits.push(base.clone());
            commits
                .iter()
                .map(|one| trees.delta(one))
                .collect::<Result<_, _>>()?
        } else {
            trees.merged(git, &commits)?
        };
        Ok(Self {
            nearest: commits.first().unwrap_or(base).clone(),
            deltas,
            commits,
            base_lost,
        })
    }
}
