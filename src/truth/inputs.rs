//! Reads once everything that a survey is made from, but for the index and the files on disk;
//! judges nothing.

use std::collections::BTreeSet;
use std::sync::Arc;

use crate::git::environment::GitMode;
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::inventory::manifest::Manifest;
use crate::record::worktree::Shared;
use crate::truth::head::WorktreeHead;
use crate::truth::hook_journal::HookJournal;
use crate::truth::options::SurveyOptions;
use crate::truth::ref_history::RefHistory;
use crate::truth::seal;
use crate::words::error::Error;
use crate::words::path::RepoPath;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Holds what everything is read from, and what was read.
pub struct SurveyInputs<'a> {
    /// The repository.
    pub repository: &'a Repository,
    /// The worktree.
    pub worktree: &'a Worktree,
    /// What is compared with what.
    pub options: &'a SurveyOptions,
    /// The objects of the repository.
    pub objects: Objects,
    /// Git, which runs nothing that a setting names.
    pub git: Git,
    /// The tree that was checked out, with the files on disk as they were then.
    pub manifest: Arc<Manifest>,
    /// What the worktree is on.
    pub head: WorktreeHead,
    /// What was done to refs from the worktree.
    pub journal: HookJournal,
    /// The refs at `add` and now; none if nothing of the worktree can be held against them.
    pub refs: Option<RefHistory<'a>>,
    /// What the worktree shares with others, at `add` and now.
    pub seals: Seals,
}

/// Holds what a worktree shares with others.
#[derive(Default)]
pub struct Seals {
    /// As `add` sealed it.
    pub before: Shared,
    /// As it is.
    pub now: Shared,
}

impl<'a> SurveyInputs<'a> {
    /// Reads everything but the manifest, which is empty.
    ///
    /// # Errors
    /// Fails when the repository or the record cannot be read.
    pub fn read(
        repository: &'a Repository,
        worktree: &'a Worktree,
        options: &'a SurveyOptions,
    ) -> Result<Self, Error> {
        let read_policy = &options.read_policy;
        let mut inputs = Self::open(repository, worktree, options)?;
        if !worktree.has_lost_repository(repository) {
            inputs.journal = HookJournal::read(worktree, &inputs.head, read_policy)?;
            inputs.read_refs()?;
        }
        if inputs.refs.is_some() {
            let seals = Seals::read(repository, worktree);
            inputs.seals = read_policy.or(seals, Seals::default)?;
        }
        Ok(inputs)
    }

    /// Reads what the worktree is on and the refs, for a commit that a git proposes: its hooks wait
    /// for us, so nothing waits for them.
    ///
    /// # Errors
    /// Fails when the repository or the record cannot be read.
    pub fn of_proposal(
        repository: &'a Repository,
        worktree: &'a Worktree,
        options: &'a SurveyOptions,
    ) -> Result<Self, Error> {
        let mut inputs = Self::open(repository, worktree, options)?;
        inputs.journal.journal = worktree.journal()?;
        inputs.read_refs()?;
        Ok(inputs)
    }

    /// Opens the repository, and reads what the worktree is on.
    fn open(
        repository: &'a Repository,
        worktree: &'a Worktree,
        options: &'a SurveyOptions,
    ) -> Result<Self, Error> {
        let mut head = WorktreeHead::read(repository, worktree, &options.read_policy)?;
        if let Some(proposed) = &options.head {
            head.head = Some(proposed.clone());
            head.branch = Some(proposed.clone());
        }
        Ok(Self {
            repository,
            worktree,
            options,
            objects: repository.objects()?,
            git: repository.git.with_mode(GitMode::Hardened),
            manifest: Arc::default(),
            head,
            journal: HookJournal::default(),
            refs: None,
            seals: Seals::default(),
        })
    }

    fn read_refs(&mut self) -> Result<(), Error> {
        let journal = self.journal.journal.clone().unwrap_or_default();
        let history = RefHistory::read(self.repository, self.worktree, journal, &self.head);
        let read_policy = &self.options.read_policy;
        self.refs = read_policy.or(history.map(Some), || None)?;
        Ok(())
    }
}

impl Seals {
    fn read(repository: &Repository, worktree: &Worktree) -> Result<Self, Error> {
        Ok(Self {
            before: worktree.shared()?,
            now: seal::read(repository, Some(&worktree.record.admin_dir))?,
        })
    }
}

/// Returns what the tree that was checked out has at each of these paths, and nothing else of it.
///
/// # Errors
/// Fails when the tree cannot be read.
pub fn base_at<'p>(
    objects: &Objects,
    worktree: &Worktree,
    paths: impl IntoIterator<Item = &'p RepoPath>,
) -> Result<Manifest, Error> {
    let tree = objects.commit(&worktree.record.checked_out)?.tree;
    let paths: BTreeSet<&RepoPath> = paths.into_iter().collect();
    Ok(Manifest::of_tree(objects.at(&tree, paths)?))
}
