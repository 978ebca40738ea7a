//! Finds the reference trees of a commit: what it may look like without anybody having touched
//! anything (`docs/decisions/0003-reference-trees.md`).

use std::collections::HashMap;

use super::error::FactsError;
use crate::compare::Delta;
use crate::entry::ObjectId;
use crate::git::Git;
use crate::git::objects::Objects;
use crate::name::CommitId;

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
    /// Their differences from the base, the nearest first.
    pub deltas: Vec<Delta>,
    /// Whether the commit has left the base without following upstream: the base is no ancestor
    /// of it, and nothing newer of upstream is either.
    pub base_lost: bool,
}

impl<'a> Trees<'a> {
    /// Starts with the tree that was checked out when the worktree was made: all differences are
    /// told from it, as the manifest is.
    pub fn new(objects: &'a Objects, checked_out: &CommitId) -> Result<Self, FactsError> {
        let base = objects.commit(checked_out)?.tree;
        Ok(Self {
            objects,
            base,
            known: HashMap::new(),
        })
    }

    /// How the tree of a commit differs from the one that was checked out.
    pub fn delta(&mut self, commit: &CommitId) -> Result<Delta, FactsError> {
        let tree = self.objects.commit(commit)?.tree;
        if let Some(delta) = self.known.get(&tree) {
            return Ok(delta.clone());
        }
        let delta = self.objects.difference(Some(&self.base), Some(&tree))?;
        self.known.insert(tree, delta.clone());
        Ok(delta)
    }
}

impl References {
    /// Finds the references of a commit.
    ///
    /// They are the best common ancestors of it and a hypothetical merge of the trusted tips,
    /// and the base itself if it is no ancestor (it was amended, reset, or upstream rewritten).
    pub fn of(
        git: &Git,
        trees: &mut Trees<'_>,
        commit: &CommitId,
        base: &CommitId,
        trusted: &[CommitId],
    ) -> Result<Self, FactsError> {
        if commit == base {
            return Ok(Self {
                nearest: base.clone(),
                deltas: vec![trees.delta(base)?],
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
            commits.push(base.clone());
        }
        let deltas: Result<_, _> = commits.iter().map(|commit| trees.delta(commit)).collect();
        Ok(Self {
            nearest: commits.first().unwrap_or(base).clone(),
            deltas: deltas?,
            base_lost,
        })
    }
}
