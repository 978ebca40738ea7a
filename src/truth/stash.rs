//! Reads what a stash keeps beside the index and the tracked files (git-stash(1), "DISCUSSION").

use crate::git::objects::Objects;
use crate::judge::compare::Delta;
use crate::truth::layers::ignore_rules::{is_ignored, rules_for};
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;

/// Returns the untracked files that a stash keeps in the commit that is its third parent, as
/// differences from a tree without them. `git stash --all` keeps ignored files as well: what the
/// rules of the reference ignore is left out, as on disk.
///
/// # Errors
/// Fails when a commit or a tree cannot be read.
pub fn untracked_files(
    worktree: &Worktree,
    objects: &Objects,
    stash: &CommitId,
    reference: &CommitId,
) -> Result<Delta, Error> {
    let commit = objects.commit(stash)?;
    let Some(untracked) = commit.parents.get(2) else {
        return Ok(Delta::new());
    };
    let tree = objects.commit(untracked)?.tree;
    let mut files = objects.difference(None, Some(&tree))?;
    let tree_of_reference = objects.commit(reference)?.tree;
    let mut rules = rules_for(worktree, objects, &tree_of_reference, files.keys())?;
    files.retain(|path, entry| {
        let mode = entry.map(|entry| entry.mode);
        mode.is_some_and(|mode| !is_ignored(&mut rules, path, mode))
    });
    Ok(files)
}
