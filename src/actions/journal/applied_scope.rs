//! Looks at and reverts the application of a scope: the record gets its former scope, and the
//! worktree what the record says.

use camino::Utf8Path;

use crate::actions::dead_locks::end_locks_of_worktree;
use crate::disk::files;
use crate::disk::mode::BitsChange;
use crate::record::journal::{KeptFile, Now};
use crate::truth::planted;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::worktree::journal::StepJournal;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::Repository;

/// Looks whether the worktree stands, in which the scope was applied.
///
/// # Errors
/// Fails when its record cannot be read.
pub fn now(repository: &Repository, name: &WorktreeName) -> Result<Now, Error> {
    let worktree = Worktree::load(repository, name)?;
    if files::is_directory(&worktree.record.path) {
        return Ok(Now::Directory);
    }
    Ok(Now::Nothing)
}

/// Writes the record as it was `before`, if it was changed, and applies its scope. Locks of git that
/// are newer than the file `since` are of the git that was killed.
///
/// # Errors
/// Fails when git could run what was planted, or git or the disk fails.
pub fn revert(
    repository: &Repository,
    journal: &StepJournal,
    name: &WorktreeName,
    before: Option<&KeptFile>,
    since: &Utf8Path,
) -> Result<(), Error> {
    if let Some(kept) = before {
        write_record_back(repository, journal, name, kept)?;
    }
    let worktree = Worktree::load(repository, name)?;
    let own = worktree.repository(repository);
    planted::refuse(&own, &worktree, "apply the scope of")?;
    end_locks_of_worktree(&own, &worktree.record, since);
    worktree.apply_scope(&own, BitsChange::Apply)?;
    Ok(())
}

/// Writes the record as it was, once: what a person decides before the rest can be undone stays.
fn write_record_back(
    repository: &Repository,
    journal: &StepJournal,
    name: &WorktreeName,
    kept: &KeptFile,
) -> Result<(), Error> {
    let Some(record) = journal.read_kept(kept)? else {
        return Ok(());
    };
    let changed = Worktree::load(repository, name)?;
    files::write(&changed.record_file(), &record)?;
    let worktree = Worktree::load(repository, name)?;
    // the text of the scope beside the record, too
    worktree.write_record(&worktree.record)?;
    Ok(journal.forget(kept)?)
}
