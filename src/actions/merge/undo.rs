//! Begins the journal of a merge, and undoes what it says: where git fails, and for the next merge
//! into the same branch after a kill.
//!
//! The journal stands in `.git/agentwt/landing/<branch>`, with what git replaces in the worktree
//! that has the branch checked out.

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::journal::Undoing;
use crate::actions::journal::brought_forward::ForwardedWorktree;
use crate::actions::merge::failure::MergeFailure;
use crate::actions::merge::locks::{locks_of_branch, locks_of_worktree};
use crate::actions::merge::work::WorkToMerge;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::remains::remove_dead_locks;
use crate::record::journal::{ForwardMove, HalfWritten, JournaledCommand, Step};
use crate::words::error::Error;
use crate::words::name::BranchName;
use crate::words::toml_file::from_text;
use crate::worktree::journal::{StepJournal, read_file};
use crate::worktree::repository::Repository;

/// The file of an older version which says that everything is kept, and git brings a worktree
/// forward.
const OLD_FORWARD: &str = "begun.toml";
/// The file of an older version which says that only the branch moves.
const OLD_MOVE: &str = "moving";

/// What a merge left in its journal.
pub struct LeftMerge {
    journal: StepJournal,
    /// A file that was written right before git began.
    since: Utf8PathBuf,
}

/// Returns the directory of the journal of merges into a branch.
fn journal_directory(repository: &Repository, into: &BranchName) -> Utf8PathBuf {
    let lock = repository.branch_lock(into).path;
    let file = lock.file_name().unwrap_or_default();
    let common = &repository.home().common_dir;
    common.join("agentwt/landing").join(file)
}

/// Begins the journal of a merge. The lock of the branch is held, and nothing is left to undo.
///
/// # Errors
/// Fails when the disk refuses.
pub fn begin_journal(repository: &Repository, into: &BranchName) -> Result<StepJournal, DiskError> {
    let directory = journal_directory(repository, into);
    StepJournal::begin(directory, JournaledCommand::Land)
}

/// Removes the journal of a merge that is over, with what is kept there.
///
/// # Errors
/// Fails when the disk refuses; what is left goes with the next merge into the branch.
pub fn end_journal(repository: &Repository, into: &BranchName) -> Result<(), DiskError> {
    let directory = journal_directory(repository, into);
    files::remove_directory(&directory)?;
    for above in directory.ancestors().skip(1).take(2) {
        files::remove_if_empty(above);
    }
    Ok(())
}

/// Reads what a merge that was killed left. The lock of the branch is held, so that no process and
/// no git of one is at work.
///
/// # Errors
/// Fails when the disk refuses.
pub fn read_left(
    repository: &Repository,
    into: &BranchName,
) -> Result<Option<LeftMerge>, DiskError> {
    let directory = journal_directory(repository, into);
    if !files::exists(&directory) {
        return Ok(None);
    }
    if let Some(left) = read_left_by_older_version(&directory, into)? {
        return Ok(Some(left));
    }
    let file = read_file(&directory)?.unwrap_or_default();
    let journal = StepJournal::of_steps(directory, JournaledCommand::Land, file.steps);
    Ok(Some(LeftMerge::new(journal)))
}

/// Reads what a merge of an older version left, which kept the same files, and wrote no journal.
fn read_left_by_older_version(
    directory: &Utf8Path,
    into: &BranchName,
) -> Result<Option<LeftMerge>, DiskError> {
    let forward_file = directory.join(OLD_FORWARD);
    let move_file = directory.join(OLD_MOVE);
    let bytes = files::read(&forward_file)?.unwrap_or_default();
    let forward: Option<ForwardMove> = from_text(&String::from_utf8_lossy(&bytes)).ok();
    let (step, since) = match forward {
        Some(forward) => (Step::BroughtForward(forward), forward_file),
        None if files::exists(&move_file) => (Step::MovedBranch { name: into.clone() }, move_file),
        None => return Ok(None),
    };
    let journal = StepJournal::of_steps(directory.to_owned(), JournaledCommand::Land, vec![step]);
    Ok(Some(LeftMerge { journal, since }))
}

impl LeftMerge {
    /// Takes the journal of a merge whose git has ended.
    pub fn new(journal: StepJournal) -> Self {
        let since = journal.file();
        Self { journal, since }
    }

    /// True if git may have begun to write the files of a worktree.
    pub fn has_files(&self) -> bool {
        let is_forward = |step: &Step| matches!(step, Step::BroughtForward(_));
        self.journal.begun().iter().any(is_forward)
    }

    /// Ends a merge that is done: only locks of its git may be left, and what was kept.
    ///
    /// # Errors
    /// Fails when git or the disk does.
    pub fn end(&self, repository: &Repository, into: &BranchName) -> Result<(), Error> {
        self.remove_dead_locks(repository)?;
        Ok(end_journal(repository, into)?)
    }

    fn remove_dead_locks(&self, repository: &Repository) -> Result<(), Error> {
        for step in self.journal.begun() {
            match step {
                Step::BroughtForward(step) => {
                    let mut locks = locks_of_branch(repository, &step.into);
                    locks.extend(locks_of_worktree(repository, &step.checkout)?);
                    remove_dead_locks(&locks, &self.since);
                }
                Step::MovedBranch { name } => {
                    let locks = locks_of_branch(repository, &name);
                    remove_dead_locks(&locks, &self.since);
                }
                _of_other_commands => {}
            }
        }
        Ok(())
    }
}

impl WorkToMerge<'_> {
    /// Undoes what a merge into a branch left. A branch that moved stays where it is.
    ///
    /// 1. Removes the locks of a git that was killed.
    /// 2. Refuses where the user changed since what git had begun to write.
    /// 3. Undoes the steps, and removes the journal.
    ///
    /// # Errors
    /// As above; fails when git or the disk does: then the next merge into the branch goes on.
    pub fn undo(&self, left: &LeftMerge, into: &BranchName) -> Result<(), Error> {
        let repository = self.repository;
        // 1
        left.remove_dead_locks(repository)?;
        // 2
        for step in left.journal.begun() {
            if let Step::BroughtForward(step) = step {
                self.require_unchanged(&step, left.journal.directory())?;
            }
        }
        // 3
        let mut undone = left.journal.undo(Undoing {
            repository,
            since: &left.since,
        });
        undone.failed.append(&mut undone.waits);
        if !undone.failed.is_empty() {
            let attempt = format!("put back what a landing in {into} left");
            let why = std::io::Error::other(undone.failed.join("; "));
            return Err(DiskError::new(attempt, why).into());
        }
        Ok(end_journal(repository, into)?)
    }

    /// Refuses where something stands in the worktree that git did not write.
    fn require_unchanged(&self, step: &ForwardMove, directory: &Utf8Path) -> Result<(), Error> {
        let worktree = ForwardedWorktree {
            repository: self.repository,
            directory,
            step,
        };
        let checkout = step.checkout.clone();
        match worktree.now()? {
            HalfWritten::Over | HalfWritten::AsGitLeft => Ok(()),
            HalfWritten::Changed(paths) => {
                Err(self.fail(&MergeFailure::StoppedAndChanged { checkout, paths }))
            }
            HalfWritten::Staged => Err(self.fail(&MergeFailure::StoppedAndStaged { checkout })),
        }
    }
}
