//! Performs the plan of an import: the index first and the branch last, so that a kill in between
//! leaves the branch where it was, and the next import does the rest.

use camino::Utf8PathBuf;

use crate::actions::import::kept::release_all;
use crate::actions::import::plan::{
    BranchStep, GitDirectoryStep, ImportPlan, IndexStep, UserIndex,
};
use crate::actions::import::run::RunToImport;
use crate::actions::import::staged::move_index;
use crate::actions::import::verify::TipOwner;
use crate::actions::scope_edit::set_bits;
use crate::disk::files;
use crate::disk::mode::BitsChange;
use crate::git::reflog::{IMPORT_OF_OTHERS, IMPORT_OF_OWN};
use crate::record::run::ImportConflict;
use crate::words::error::Error;
use crate::words::name::CommitId;

/// Says whether the plan was performed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Applied {
    /// It was.
    Wholly,
    /// The user did something in this very moment with which it does not fit: all is as it was.
    NotAtAll(ImportConflict),
}

/// The index of the worktree that an import writes.
struct NewIndex {
    bytes: Vec<u8>,
    source: IndexSource,
}

/// Says where the entries of a new index come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum IndexSource {
    /// From the run, with the time of its index: git trusts no file that is as new as the index.
    Run,
    /// From the user.
    User,
}

/// What of a verified run may come into the worktree.
pub struct Incoming {
    /// The bytes of its index; none where it cannot be read.
    pub index: Option<Vec<u8>>,
    /// Whose commit its tip is.
    pub tip_owner: TipOwner,
}

/// Performs what a plan says of the branch, the index and the git directory; what it says of staged
/// objects was performed before. A plan with [`BranchStep::Kept`] does not come here. Where the plan
/// changes an index, the lock of that index is held.
///
/// # Errors
/// Fails when git or the disk does.
pub fn apply(
    run: &RunToImport<'_>,
    plan: &ImportPlan,
    user_index: UserIndex,
    incoming: Incoming,
) -> Result<Applied, Error> {
    let mut new_index = None;
    match plan.index {
        IndexStep::Stays => {}
        IndexStep::TakenFromRun => {
            new_index = incoming.index.map(|bytes| NewIndex {
                bytes,
                source: IndexSource::Run,
            });
        }
        IndexStep::MovedToCommits => {
            // always so: the plan moves an index to commits only where it moves the branch
            if let BranchStep::Moves { from, to } = &plan.branch {
                let Some(bytes) = move_index(run, from, to)? else {
                    return Ok(Applied::NotAtAll(ImportConflict::StagedOtherwise));
                };
                new_index = Some(NewIndex {
                    bytes,
                    source: IndexSource::User,
                });
            }
        }
    }
    if let Some(new_index) = &new_index {
        // after a kill from here on, the next import moves the branch
        write_index(run, new_index)?;
    }
    if let BranchStep::Moves { from, to } = &plan.branch
        && let Applied::NotAtAll(conflict) = move_branch(run, from, to, incoming.tip_owner)?
    {
        return Ok(Applied::NotAtAll(conflict));
    }
    if new_index.is_some() && user_index == UserIndex::AsInRun {
        // the next import tells by this whether the user staged something since
        run.private.link_index(run.worktree)?;
    }
    set_write_bits(run)?;
    if plan.git_directory == GitDirectoryStep::Removed {
        // what an earlier run left came in with this one
        release_all(run.repository, run.worktree)?;
        run.private.remove()?;
    }
    Ok(Applied::Wholly)
}

/// Writes the index of the worktree, and keeps the old one.
fn write_index(run: &RunToImport<'_>, new_index: &NewIndex) -> Result<(), Error> {
    let file = index_file(run);
    files::link_or_copy(&file, &old_index_file(run))?;
    files::write(&file, &new_index.bytes)?;
    if new_index.source == IndexSource::Run {
        files::copy_time(&run.private.index(), &file)?;
    }
    Ok(())
}

/// Moves the branch by compare-and-swap. Where that fails, the index is put back; the user, who had
/// the lock before, can have moved the branch.
fn move_branch(
    run: &RunToImport<'_>,
    from: &CommitId,
    to: &CommitId,
    tip_owner: TipOwner,
) -> Result<Applied, Error> {
    let branch = run.worktree.record.branch.full_ref();
    let git = run.worktree.git(run.repository);
    // by what stands in the reflog, each later verification knows which commits were made here
    let reason = match tip_owner {
        TipOwner::Worktree => IMPORT_OF_OWN,
        TipOwner::Others => IMPORT_OF_OTHERS,
    };
    if let Err(error) = git.update_ref(&branch, to, Some(from), reason) {
        files::rename(&old_index_file(run), &index_file(run))?;
        if git.rev_parse_commit(&branch)?.as_ref() == Some(from) {
            return Err(error.into());
        }
        return Ok(Applied::NotAtAll(ImportConflict::BranchMoved));
    }
    run.private.run_file().record_branch_commit(to)?;
    Ok(Applied::Wholly)
}

/// Sets the write bits of the files: what git made anew there has those of its umask.
fn set_write_bits(run: &RunToImport<'_>) -> Result<(), Error> {
    let worktree = run.worktree;
    let placed = worktree.placed()?;
    let root = &worktree.record.path;
    set_bits(
        root,
        &worktree.scope,
        &[],
        placed.files(),
        BitsChange::Apply,
    )?;
    Ok(())
}

fn index_file(run: &RunToImport<'_>) -> Utf8PathBuf {
    run.worktree.record.admin_dir.join("index")
}

fn old_index_file(run: &RunToImport<'_>) -> Utf8PathBuf {
    run.private.dir.join("index.old")
}
