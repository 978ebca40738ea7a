//! Keeps what `add` has made so far, so that all of it can be taken back.

use camino::{Utf8Path, Utf8PathBuf};

use super::ignore_rules::{self, IgnoreRules};
use super::place;
use crate::config::Strategy;
use crate::disk::files::{self, Lock};
use crate::error::Error;
use crate::facts::Repository;
use crate::facts::repository::WORKTREES;
use crate::name::{BranchName, CommitId, WorktreeName};
use crate::plan::add::{AddPlan, PlannedBranch};
use crate::record::{Intent, VERSION, to_text};

/// Holds what was made so far.
pub struct Made<'a> {
    repository: &'a Repository,
    plan: &'a AddPlan,
    rules: Option<IgnoreRules>,
    recorded: bool,
    in_git: bool,
    config: Vec<SharedFile>,
}

/// Holds a shared file of git's, before and after git wrote it.
struct SharedFile {
    file: Utf8PathBuf,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

impl<'a> Made<'a> {
    /// Starts with nothing.
    #[must_use]
    pub const fn nothing(repository: &'a Repository, plan: &'a AddPlan) -> Self {
        Self {
            repository,
            plan,
            rules: None,
            recorded: false,
            in_git: false,
            config: Vec::new(),
        }
    }

    /// Makes git ignore the worktrees.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn ignore_rules(&mut self) -> Result<(), Error> {
        self.rules = Some(ignore_rules::ensure(self.repository)?);
        Ok(())
    }

    /// Writes down what is about to be made.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn intent(&mut self, began: String) -> Result<(), Error> {
        let intent = Intent {
            version: VERSION,
            process: std::process::id(),
            began,
            owner: self.plan.owner.clone(),
            path: self.plan.path.clone(),
            branch: self.plan.branch.name().clone(),
            strategy: self.plan.strategy,
            branch_at: self.branch_at().cloned(),
        };
        self.recorded = true;
        let file = self
            .repository
            .record_dir(&self.plan.name)
            .join("intent.toml");
        Ok(files::write(&file, to_text(&intent).as_bytes())?)
    }

    /// Remembers that a clone is being made, which changes nothing of the repository itself.
    pub const fn cloning(&mut self) {
        self.in_git = true;
    }

    /// Remembers the shared configuration before git may switch an extension on there.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn before_git(&mut self) -> Result<(), Error> {
        for name in ["config", "config.worktree"] {
            let file = self.repository.common_dir.join(name);
            let before = files::read(&file)?;
            self.config.push(SharedFile {
                file,
                before,
                after: None,
            });
        }
        self.in_git = true;
        Ok(())
    }

    /// Remembers the shared configuration as git left it.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn after_git(&mut self) -> Result<(), Error> {
        for shared in &mut self.config {
            shared.after = files::read(&shared.file)?;
        }
        Ok(())
    }

    fn branch_at(&self) -> Option<&'a CommitId> {
        match (self.plan.strategy, &self.plan.branch) {
            (Strategy::Worktree, PlannedBranch::Make(_)) => Some(&self.plan.base),
            (Strategy::Worktree, PlannedBranch::Existing(..)) | (Strategy::Clone, _) => None,
        }
    }

    /// Takes everything back, in reverse order, as far as it goes.
    pub fn undo(self) {
        let repository = self.repository;
        if self.in_git {
            let branch = self.plan.branch.name();
            match self.plan.strategy {
                Strategy::Worktree => {
                    take_back(repository, &self.plan.path, branch, self.branch_at());
                }
                Strategy::Clone => drop(take_back_clone(repository, &self.plan.path)),
            }
            self.config.into_iter().for_each(SharedFile::restore);
        }
        if self.recorded {
            let _ = files::remove_directory(&repository.record_dir(&self.plan.name));
        }
        if let Some(rules) = self.rules {
            rules.undo();
        }
        files::remove_if_empty(&repository.records_dir());
    }
}

impl SharedFile {
    /// Puts the file back, unless somebody else has written it since.
    fn restore(self) {
        let ours = self.before != self.after && files::read(&self.file).ok() == Some(self.after);
        if ours {
            let _ = match self.before {
                Some(before) => files::write(&self.file, &before),
                None => files::remove_file(&self.file),
            };
        }
    }
}

/// Clears what a killed `add` of this name left: its intent says what is ours.
pub fn clear(repository: &Repository, name: &WorktreeName, intent: &Intent) {
    match intent.strategy {
        Strategy::Worktree => take_back(
            repository,
            &intent.path,
            &intent.branch,
            intent.branch_at.as_ref(),
        ),
        Strategy::Clone => drop(take_back_clone(repository, &intent.path)),
    }
    let _ = files::remove_directory(&repository.record_dir(name));
}

/// Removes a clone that nobody has worked in yet, and what was staged for it.
fn take_back_clone(repository: &Repository, path: &Utf8Path) -> Result<(), Error> {
    if !path.starts_with(repository.root.join(WORKTREES)) {
        return Ok(());
    }
    files::remove_directory(&place::staging(path))?;
    // what is in a directory that was copied without its write bit cannot be removed
    crate::disk::mode::make_directories_writable(path)?;
    Ok(files::remove_directory(path)?)
}

/// Removes a worktree that nobody has worked in yet, and its branch if it is where we made it.
fn take_back(
    repository: &Repository,
    path: &Utf8Path,
    branch: &BranchName,
    branch_at: Option<&CommitId>,
) {
    let git = &repository.git;
    let Ok(_shared) = Lock::wait_to_undo(&repository.shared_lock()) else {
        return;
    };
    let ours = path.starts_with(repository.root.join(WORKTREES));
    if ours {
        let _ = files::remove_directory(&place::staging(path));
        // git cannot remove what is in a directory that was copied without its write bit
        let _ = crate::disk::mode::make_directories_writable(path);
    }
    if ours && git.worktree_remove_force(path).is_err() {
        let _ = files::remove_directory(path);
        // git keeps the entry of a worktree that is "initializing" for ever (git-worktree(1))
        let _ = git.worktree_unlock(path);
        let _ = git.worktree_prune();
    }
    if let Some(at) = branch_at {
        let _ = git.delete_ref(&branch.full_ref(), at);
        // a lock that git could not write, or took for a branch that is not there, leaves them
        let file = Utf8PathBuf::from(branch.full_ref());
        let above = file.ancestors().skip(1);
        for directory in above.take_while(|directory| *directory != "refs/heads") {
            files::remove_if_empty(&repository.common_dir.join(directory));
        }
    }
}
