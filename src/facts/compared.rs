//! Finds the trees of what a worktree is on, and what each may look like without anybody's doing
//! (`docs/decisions/0003-reference-trees.md`).

use std::collections::BTreeSet;

use super::ground::Ground;
use super::heads::Heads;
use super::references::{References, Trees};
use super::tips::{Tips, recorded_tips};
use crate::compare::{Delta, entry_in};
use crate::git::Git;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::worktree::WorktreeError;

/// Holds the trees of what a worktree is on, and what each may be without anybody's doing.
pub struct Compared {
    pub tips: Tips,
    pub nearest: Option<CommitId>,
    pub head: Delta,
    /// References of HEAD.
    pub committed: Vec<Delta>,
    /// References of the index and the disk: a merge in progress brings more.
    pub working: Vec<Delta>,
    /// What a merge in progress changes.
    pub arriving: Delta,
    /// What the newest of upstream has: to be like that is no change, as a merge makes none of it.
    pub tip: Option<Delta>,
    /// The recorded branch where HEAD is elsewhere, with its references.
    pub branch: Option<(Delta, Vec<Delta>)>,
    pub base_lost: bool,
}

impl Compared {
    /// Where no commit can be read, the disk and the index can still be held against what was
    /// checked out; against another base they cannot.
    pub fn with_nothing_but(ground: &Ground<'_>) -> Self {
        let record = &ground.known.record;
        let (nearest, checked_out) = match &ground.terms.base {
            None => (Some(record.checked_out.clone()), vec![Delta::new()]),
            Some(_) => (None, Vec::new()),
        };
        Self {
            tips: recorded_tips(record),
            nearest,
            head: Delta::new(),
            committed: checked_out.clone(),
            working: checked_out,
            arriving: Delta::new(),
            tip: None,
            branch: None,
            base_lost: false,
        }
    }
}

impl Ground<'_> {
    /// Finds the trees of what the worktree is on, and their references.
    ///
    /// # Errors
    /// Fails when git or an object cannot be read.
    pub fn compared(&self, heads: &Heads, found: &Tips) -> Result<Compared, WorktreeError> {
        let (record, effort, git) = (&self.known.record, &self.terms.effort, &self.git);
        let recorded = &record.base.commit;
        let mut trees = Trees::new(&self.objects, &record.checked_out)?;
        let head = heads.head.as_ref().unwrap_or(recorded);
        let mut tips = found.clone();
        let mut base = recorded;
        let mut base_lost = None;
        if let Some(other) = &self.terms.base {
            let own = References::of(git, &mut trees, head, recorded, &found.trusted);
            base_lost = Some(effort.or(own.map(|own| own.base_lost), || false)?);
            tips.trusted = vec![other.clone()];
            base = other;
        }
        let references = References::of(git, &mut trees, head, base, &tips.trusted)?;
        let mut committed = references.deltas;
        let mut commits = references.commits;
        let before = effort.or(self.known.recorded_refs(), BTreeSet::new)?;
        if self.terms.base.is_none() && heads.moved && before.contains(head) {
            committed.push(trees.delta(head)?);
            commits.push(head.clone());
        }
        let mut working = committed.clone();
        let mut arriving = Delta::new();
        for merged in &heads.merging {
            // what HEAD has already is not being merged, whatever MERGE_HEAD says
            let new = !git.is_ancestor(merged, head)?;
            if new && effort.or(upstream_has(git, merged, &tips), || false)? {
                commits.push(merged.clone());
                let theirs = trees.delta(merged)?;
                let ancestors = git.merge_base_all(head, std::slice::from_ref(merged))?;
                let before = trees.delta(ancestors.first().unwrap_or(base))?;
                arriving.extend(self.difference(&before, &theirs));
                working = if references.base_lost {
                    [working, vec![theirs]].concat()
                } else {
                    trees.merged(git, &commits)?
                };
            }
        }
        let newest = match &self.terms.base {
            Some(other) => Some(other.clone()),
            None => effort.or(tips.newest(git), || None)?,
        };
        let tip = newest.filter(|tip| !commits.contains(tip));
        let tip = tip.map(|tip| trees.delta(&tip)).transpose()?;
        let branch = match &heads.branch {
            Some(branch) if heads.head.as_ref() != Some(branch) => {
                let references = References::of(git, &mut trees, branch, base, &tips.trusted);
                let both = references.and_then(|found| Ok((trees.delta(branch)?, found.deltas)));
                effort.or(both.map(Some), || None)?
            }
            Some(_) | None => None,
        };
        let unchanged = || committed.first().cloned().unwrap_or_default();
        Ok(Compared {
            head: effort.or(trees.delta(head), unchanged)?,
            nearest: Some(references.nearest),
            base_lost: base_lost.unwrap_or(references.base_lost),
            tips,
            committed,
            working,
            arriving,
            tip,
            branch,
        })
    }

    /// What one tree has where another has something else.
    fn difference(&self, before: &Delta, after: &Delta) -> Delta {
        let at = |delta: &Delta, path: &RepoPath| entry_in(&self.manifest, delta, path);
        let paths: BTreeSet<&RepoPath> = before.keys().chain(after.keys()).collect();
        let differs = |path: &&RepoPath| at(before, path) != at(after, path);
        let other = paths.into_iter().filter(differs);
        other.map(|path| (path.clone(), at(after, path))).collect()
    }
}

fn upstream_has(git: &Git, commit: &CommitId, tips: &Tips) -> Result<bool, WorktreeError> {
    for tip in &tips.trusted {
        if git.is_ancestor(commit, tip)? {
            return Ok(true);
        }
    }
    Ok(false)
}
