//! Holds what everything is read from, [`Ground`], and what a worktree is on and may have taken over
//! from others, [`Sources`]: all but the index and the files on disk.

use std::collections::BTreeSet;

use super::compared::Compared;
use super::effort::Effort;
use super::heads::Heads;
use super::history::History;
use super::integrity::plain;
use super::surroundings::Surroundings;
use crate::change::{Change, ChangeSet, Kind, Place, SharedChange};
use crate::compare::{Delta, entry_in, same};
use crate::entry::Entry;
use crate::git::Git;
use crate::git::objects::Objects;
use crate::manifest::Manifest;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::worktree::Worktree;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;

/// Says what a worktree is compared with, and what a failure to read means.
#[derive(Debug, Default)]
pub struct Terms {
    /// Another base than the recorded one.
    pub base: Option<CommitId>,
    /// Whether reading goes on without what cannot be read.
    pub effort: Effort,
}

/// Holds what everything is read from.
pub struct Ground<'a> {
    pub repository: &'a Repository,
    pub known: &'a Worktree,
    pub manifest: Manifest,
    pub objects: Objects,
    pub git: Git,
    pub terms: &'a Terms,
}

/// Holds what the worktree is on, and what it may have taken over from others.
pub struct Sources {
    pub heads: Heads,
    pub compared: Compared,
    pub wrong: Vec<Change>,
    pub shared: Vec<SharedChange>,
    /// Where HEAD and the branch have been.
    pub been_on: Vec<CommitId>,
    /// The commits of its own, the newest first, and what they touched.
    pub commits: Vec<CommitId>,
    pub history: History,
}

impl Sources {
    /// Every path of which a difference from the base is known, or that a commit touched.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        let compared = &self.compared;
        let references = compared.committed.iter().chain(&compared.tip);
        let branch = compared.branch.iter();
        let branch = branch.flat_map(|(branch, like)| like.iter().chain([branch]));
        let all = references.chain(branch).chain([&compared.head]);
        all.flat_map(Delta::keys).chain(self.history.paths())
    }

    /// Net changes, with what is wrong around the worktree.
    pub fn around(&mut self, terms: &Terms, known: &Worktree, changes: Vec<Change>) -> ChangeSet {
        self.wrong.sort();
        self.wrong.dedup();
        self.shared.sort();
        let base = terms.base.as_ref().unwrap_or(&known.record.base.commit);
        let base = base.clone();
        let head = self.heads.head.clone().unwrap_or_else(|| base.clone());
        ChangeSet {
            integrity: std::mem::take(&mut self.wrong),
            shared: std::mem::take(&mut self.shared),
            ..ChangeSet::new(base, head, changes)
        }
    }
}

impl Ground<'_> {
    /// What commits touched though it is as before again.
    pub fn put_back(&self, sources: &Sources, net: &BTreeSet<&RepoPath>) -> Vec<Change> {
        let is_known = |path: &RepoPath, entry: Option<Entry>| {
            let at = |reference| entry_in(&self.manifest, reference, path);
            let compared = &sources.compared;
            let mut known = compared.committed.iter().chain(&compared.tip);
            known.any(|reference| same(at(reference), entry))
        };
        let is_own = |id: &CommitId| sources.been_on.contains(id) || sources.heads.was_on(id);
        sources.history.put_back(net, &is_known, &is_own)
    }

    /// Reads what the worktree is on, and what it may have taken over from others.
    ///
    /// # Errors
    /// Fails when the base, the record or the common repository cannot be read.
    pub fn sources(&self) -> Result<Sources, WorktreeError> {
        let (repository, record) = (self.repository, &self.known.record);
        let effort = &self.terms.effort;
        let heads = Heads::read(repository, self.known, effort)?;
        let around = Surroundings::read(repository, self.known, &heads, effort)?;
        let mut wrong = around.wrong;
        let compared = self.compared(&heads, &around.tips);
        let compared = effort.or(compared, || Compared::with_nothing_but(self))?;
        if let Some(detail) = heads.astray(record, compared.base_lost) {
            wrong.push(plain(Place::Head, Kind::Ref, Some(detail)));
        }
        let commits = heads.new_commits(&self.git, &compared.tips.trusted, &around.been_on);
        let commits = effort.or(commits, Vec::new)?;
        let history = History::read(&self.objects, &commits);
        let history = effort.or(history, History::default)?;
        Ok(Sources {
            heads,
            compared,
            wrong,
            shared: around.shared,
            been_on: around.been_on,
            commits,
            history,
        })
    }
}
