//! Reads what a run left, and what of it is for the branch: [`RunToImport`].

use crate::actions::import::examine::{Examination, examine_listing};
use crate::actions::import::outcome::ImportFailure;
use crate::git::objects::Objects;
use crate::record::run::RunObjects;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::{PrivateGit, RunResult};
use crate::worktree::repository::Repository;

/// A run that is imported.
pub struct RunToImport<'a> {
    /// The repository of the worktree.
    pub repository: &'a Repository,
    /// The worktree.
    pub worktree: &'a Worktree,
    /// The git directory of the run.
    pub private: &'a PrivateGit,
    /// What the run left.
    pub result: RunResult,
    /// The commit of the branch when the run began, or since its import.
    pub began: Option<CommitId>,
    /// When that was, in nanoseconds since the epoch.
    pub since: i64,
    /// The commit of the branch.
    pub before: Option<CommitId>,
    /// The objects that the run has by itself, given or made; none without `--withhold`.
    pub own_objects: Option<Objects>,
    /// The commit that the run made of it; none where it made none, or the user merged it.
    pub tip: Option<CommitId>,
}

impl<'a> RunToImport<'a> {
    /// Makes the git directory of the run one that git can read, and reads it.
    ///
    /// # Errors
    /// Fails when it cannot be read, or the repository cannot.
    pub fn read(
        repository: &'a Repository,
        worktree: &'a Worktree,
        private: &'a PrivateGit,
    ) -> Result<Self, ImportFailure> {
        let run = private.run_file().read()?;
        private
            .clean()
            .map_err(|error| ImportFailure::in_git_directory(error.into()))?;
        let own_objects = match run.objects {
            RunObjects::Shared => None,
            RunObjects::Withheld => Some(open_own_objects(repository, private)?),
        };
        private
            .write_mended(repository, worktree)
            .map_err(ImportFailure::in_git_directory)?;
        Self::of_mended(repository, worktree, private, own_objects)
    }

    /// Reads the git directory of a run that is [mended](PrivateGit::write_mended), and in which no
    /// command ran since.
    ///
    /// # Errors
    /// Fails when it cannot be read, or the repository cannot.
    pub fn of_mended(
        repository: &'a Repository,
        worktree: &'a Worktree,
        private: &'a PrivateGit,
        own_objects: Option<Objects>,
    ) -> Result<Self, ImportFailure> {
        let run = private.run_file().read()?;
        let result = list(repository, worktree, private)?;
        let branch = worktree.record.branch.full_ref();
        let before = repository.git.rev_parse_commit(&branch)?;
        let mut imported = Self {
            repository,
            worktree,
            private,
            result,
            began: run.branch_commit,
            since: run.since,
            before,
            own_objects,
            tip: None,
        };
        imported.tip = imported.find_tip()?;
        Ok(imported)
    }

    /// Finds the commit that the run made of the branch, unless the user has merged it.
    fn find_tip(&self) -> Result<Option<CommitId>, Error> {
        let Some(tip) = &self.result.branch else {
            return Ok(None);
        };
        if self.before.as_ref() == Some(tip) || self.began.as_ref() == Some(tip) {
            return Ok(None);
        }
        if let Some(before) = &self.before
            && self.began != self.before
            && self.repository.objects()?.has(tip)
            && self.repository.git.is_ancestor(tip, before)?
        {
            return Ok(None);
        }
        Ok(Some(tip.clone()))
    }
}

/// Opens the objects of the git directory of a run before git is told where others are.
fn open_own_objects(
    repository: &Repository,
    private: &PrivateGit,
) -> Result<Objects, ImportFailure> {
    Objects::open_as_now(&private.git_dir(), repository.format)
        .map_err(|error| ImportFailure::in_git_directory(error.into()))
}

/// Lists what the run left; a git that was ended meanwhile is started once more.
fn list(
    repository: &Repository,
    worktree: &Worktree,
    private: &PrivateGit,
) -> Result<RunResult, ImportFailure> {
    if let Ok(result) = private.read_result(repository, worktree) {
        return Ok(result);
    }
    let error = match private.read_result(repository, worktree) {
        Ok(result) => return Ok(result),
        Err(error) => error,
    };
    match examine_listing(repository, private, &error) {
        Examination::Unreadable => Err(ImportFailure::UnreadableRun(error)),
        Examination::Readable => Err(ImportFailure::in_git_directory(error)),
    }
}
