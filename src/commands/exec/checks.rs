//! Checks what a fence needs of a worktree.

use crate::commands::exec::arguments::FenceOptions;
use crate::disk::files;
use crate::refusal::Refusal;
use crate::system::environment;
use crate::system::users;
use crate::words::error::Error;
use crate::worktree::absence::Absence;
use crate::worktree::loaded::Worktree;
use crate::worktree::operation::{read_operation, way_to_branch, ways_to_end};
use crate::worktree::repository::Repository;

/// Checks that a command can run in a fence in this worktree.
///
/// # Errors
/// Refuses a clone, a directory that is gone, a HEAD that is not on the branch, and an operation in
/// progress. Refuses root, and a call from inside a fence.
pub(super) fn require_fenceable(
    repository: &Repository,
    worktree: &Worktree,
    options: &FenceOptions,
) -> Result<(), Error> {
    let path = &worktree.record.path;
    let branch = &worktree.record.branch;
    if worktree.repository(repository).is_clone() {
        return Err(not_fenced(
            worktree,
            "it is a clone",
            "a fence needs a linked worktree: git agentwt add <name> --strategy worktree",
        ));
    }
    if !files::is_directory(path) {
        let Absence { what, remedy } = Absence::of(&worktree.record);
        return Err(not_fenced(worktree, &what, &remedy));
    }
    if users::is_root() && !options.allow_root {
        return Err(not_fenced(
            worktree,
            "you are root, from whom no fence protects as well",
            "run it as an ordinary user, or with --allow-root",
        ));
    }
    if environment::variable("AGENTWT_EXEC").is_some() {
        return Err(not_fenced(
            worktree,
            "this is a fence already, and fences do not nest",
            "run the command directly",
        ));
    }
    if let Some(operation) = read_operation(&worktree.record) {
        return Err(not_fenced(
            worktree,
            &format!("a {operation} is in progress there"),
            &ways_to_end(operation, path),
        ));
    }
    if worktree.git(repository).symbolic_ref_head()? != Some(branch.full_ref()) {
        return Err(not_fenced(
            worktree,
            "it is not on its branch",
            &way_to_branch(&worktree.record),
        ));
    }
    Ok(())
}

/// Makes the refusal to run a command in a worktree.
pub(super) fn not_fenced(worktree: &Worktree, why: &str, help: &str) -> Error {
    Refusal::NotFenced {
        name: worktree.record.name.to_string(),
        why: why.to_owned(),
        help: help.to_owned(),
    }
    .into()
}
