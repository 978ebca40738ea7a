//! Keeps what `add` has made so far, so that all of it can be taken back.

use camino::Utf8PathBuf;

use super::take_back::Remains;
use crate::config::Strategy;
use crate::disk::DiskError;
use crate::disk::files::{self, Lock};
use crate::error::Error;
use crate::facts::Repository;
use crate::git::GitError;
use crate::name::{CommitId, WorktreeName};
use crate::plan::add::{AddPlan, PlannedBranch};
use crate::process::wait_for_gits;
use crate::worktree::git_error;
use crate::worktree::ignore_rules::{self, WrittenIgnoreRules};
use crate::worktree::{Intent, VERSION, to_text};

/// Holds what was made so far.
pub struct Made<'a> {
    repository: &'a Repository,
    plan: &'a AddPlan,
    rules: Option<WrittenIgnoreRules>,
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
        // without an intent in it, it is what a call left that was killed before the first step, or
        // after the last one that it undid
        files::remove_directory(&self.repository.record_dir(&self.plan.name))?;
        let file = intent_of(self.repository, &self.plan.name);
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

    /// Takes everything back, in reverse order; what could not be. The intent stays with that, so
    /// that the name is known to be incomplete.
    #[must_use]
    pub fn undo(self, why: &Error) -> Vec<String> {
        let repository = self.repository;
        // where not even a lock can be written, there is all the more to take back
        let _shared = Lock::wait_to_undo(&repository.shared_lock()).ok();
        let (mut left, mut shared) = (Vec::new(), Vec::new());
        if self.in_git {
            let remains = Remains {
                repository,
                path: &self.plan.path,
                branch: self.plan.branch.name(),
                branch_at: self.branch_at().filter(|_| !is_anothers(why)),
                strategy: self.plan.strategy,
                intent: &intent_of(repository, &self.plan.name),
                git_was_killed: git_error(why).is_some_and(GitError::was_killed),
            };
            left = remains.take_back();
            shared.extend(self.config.into_iter().filter_map(SharedFile::restore));
        }
        if let Some(rules) = self.rules {
            shared.extend(rules.undo());
        }
        if self.recorded && left.is_empty() {
            let removed = files::remove_directory(&repository.record_dir(&self.plan.name));
            left.extend(removed.err().map(|error| error.to_string()));
        }
        files::remove_if_empty(&repository.records_dir());
        // what is left of these is no part of a worktree, and harms none: it is said only
        left.extend(shared);
        left
    }
}

/// Whether git has refused to make the branch, as it was there by then: somebody else has made it
/// since the plan was made, perhaps at the same commit.
fn is_anothers(why: &Error) -> bool {
    matches!(git_error(why), Some(GitError::Failed { words, .. })
        if words.contains("a branch named") && words.contains("already exists"))
}

impl SharedFile {
    /// Puts the file back, unless somebody else has written it since; what could not be.
    fn restore(self) -> Option<String> {
        if self.before == self.after {
            return None;
        }
        let undone = files::read(&self.file).and_then(|now| match self.before {
            _ if now != self.after => Ok(()),
            Some(before) => files::write(&self.file, &before),
            None => files::remove_file(&self.file),
        });
        undone.err().map(|error| error.to_string())
    }
}

/// Clears what a killed `add` of this name left: its intent says what is ours.
///
/// # Errors
/// Fails when something of it cannot be removed; the intent then stays.
pub fn clear(repository: &Repository, name: &WorktreeName, intent: &Intent) -> Result<(), Error> {
    let remains = Remains {
        repository,
        path: &intent.path,
        branch: &intent.branch,
        branch_at: intent.branch_at.as_ref(),
        strategy: intent.strategy,
        intent: &intent_of(repository, name),
        git_was_killed: true,
    };
    // a git that we had started may go on for a moment after we were killed
    wait_for_gits(&intent.path);
    let left = {
        let _shared = Lock::wait_to_undo(&repository.shared_lock())?;
        remains.take_back()
    };
    if left.is_empty() {
        return Ok(files::remove_directory(&repository.record_dir(name))?);
    }
    let attempt = format!("clear what a killed `add` of `{name}` left");
    Err(DiskError::new(attempt, std::io::Error::other(left.join("; "))).into())
}

fn intent_of(repository: &Repository, name: &WorktreeName) -> Utf8PathBuf {
    repository.record_dir(name).join("intent.toml")
}
