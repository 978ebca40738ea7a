//! Tries a merge without a checkout. What it writes stays in a directory of its own.

use crate::actions::merge::landed::MergeMethod;
use crate::actions::merge::plan::{MergePlace, NewCommit, Trial};
use crate::actions::merge::work::MergeWish;
use crate::git::process::Git;
use crate::git::quarantined_objects::QuarantinedObjects;
use crate::words::error::Error;
use crate::words::name::CommitId;

/// Tries to create the commits of a method. `git` writes into `scratch`. Where a rebase is wished
/// for, a fast-forward may bring no merge either.
///
/// # Errors
/// Fails when git or the disk does.
pub fn try_method(
    git: &Git,
    scratch: &QuarantinedObjects,
    place: &MergePlace,
    method: MergeMethod,
    wish: MergeWish,
) -> Result<Trial, Error> {
    match method {
        MergeMethod::FastForward if wish == MergeWish::Rebase => {
            let merge = find_merge(git, scratch, place)?;
            Ok(merge.map_or(Trial::Commits(Vec::new()), Trial::MergeAmongCommits))
        }
        MergeMethod::Already | MergeMethod::FastForward => Ok(Trial::Commits(Vec::new())),
        MergeMethod::Merge | MergeMethod::Squash => try_merge(git, scratch, place),
        MergeMethod::Rebase => try_rebase(git, scratch, place),
    }
}

/// Tries one commit of all the work.
fn try_merge(git: &Git, scratch: &QuarantinedObjects, place: &MergePlace) -> Result<Trial, Error> {
    let base = &place.base.at;
    let verified = &place.verified;
    let objects = scratch.objects();
    let tree = if git.is_ancestor(base, verified)? {
        objects.commit(verified)?.tree
    } else {
        match git.merge_commits(base, verified)? {
            Ok(tree) => tree,
            Err(paths) => return Ok(Trial::Conflict(paths)),
        }
    };
    let mut new = Vec::new();
    if tree != objects.commit(base)?.tree {
        let source = verified.clone();
        new.push(NewCommit { source, tree });
    }
    Ok(Trial::Commits(new))
}

/// Finds a merge among the commits of the work.
fn find_merge(
    git: &Git,
    scratch: &QuarantinedObjects,
    place: &MergePlace,
) -> Result<Option<CommitId>, Error> {
    for id in git.rev_list(&[&place.verified], &[&place.base.at])? {
        if scratch.objects().commit(&id)?.parents.len() > 1 {
            return Ok(Some(id));
        }
    }
    Ok(None)
}

/// Picks each commit onto the base branch, as `git rebase` does; one that changes nothing any more
/// is dropped.
fn try_rebase(git: &Git, scratch: &QuarantinedObjects, place: &MergePlace) -> Result<Trial, Error> {
    let base = &place.base.at;
    let objects = scratch.objects();
    let mut tree = objects.commit(base)?.tree;
    let mut picked = Vec::new();
    let commits: Vec<CommitId> = git.rev_list(&[&place.verified], &[base])?;
    for id in commits.into_iter().rev() {
        let commit = objects.commit(&id)?;
        let [parent] = commit.parents.as_slice() else {
            return Ok(Trial::MergeAmongCommits(id));
        };
        // only git 2.40 can be told a merge base: on top of the parent, any git finds the parent
        let ours = objects.write_commit_on(parent, &tree)?;
        let next = match git.merge_commits(&ours, &id)? {
            Ok(next) => next,
            Err(paths) => return Ok(Trial::Conflict(paths)),
        };
        let was_empty = commit.tree == objects.commit(parent)?.tree;
        if next != tree || was_empty {
            picked.push(NewCommit {
                source: id,
                tree: next,
            });
        }
        tree = next;
    }
    Ok(Trial::Commits(picked))
}
