//! Finds what keeps the history of a clone while only its trash names it.

use std::collections::BTreeSet;

use super::Saving;
use crate::disk::files;
use crate::error::Error;
use crate::facts::{Repository, Worktree};
use crate::git::GitMode;
use crate::name::CommitId;
use crate::path::RepoPath;

/// Whether the whole history is saved, down to its roots: home does not have it on any branch, as
/// it came from elsewhere, or has it only from a commit on. Such a clone is made again of what is
/// saved alone.
pub(super) fn is_whole(repository: &Repository, known: &Worktree) -> Result<bool, Error> {
    if !repository.is_clone() {
        return Ok(false);
    }
    let home = repository.home();
    if files::exists(&home.common_dir.join("shallow")) {
        return Ok(true);
    }
    let base = &known.record.base.commit;
    let git = home.git.with_mode(GitMode::Hardened);
    if git.rev_parse_commit(base.as_str())?.is_none() {
        return Ok(true);
    }
    Ok(git.refs_containing(base, &OWN)?.is_empty() && !is_head(home, base)?)
}

/// What home names of its own history.
const OWN: [&str; 3] = ["refs/heads/", "refs/remotes/", "refs/tags/"];

/// Whether a detached HEAD of home has it.
fn is_head(home: &Repository, base: &CommitId) -> Result<bool, Error> {
    let git = home.git.with_mode(GitMode::Hardened);
    match git.rev_parse_commit("HEAD")? {
        Some(head) => Ok(git.is_ancestor(base, &head)?),
        None => Ok(false),
    }
}

/// The commits that the clone's refs, HEADs and reflogs, and these, reach and nothing else keeps;
/// of them those that no other one has for a parent.
pub(super) fn tips(
    saving: &Saving<'_>,
    also: &BTreeSet<CommitId>,
    keep: &[CommitId],
) -> Result<BTreeSet<CommitId>, Error> {
    let (own, home) = (saving.repository, saving.repository.home());
    let mut has: BTreeSet<CommitId> = keep.iter().cloned().collect();
    has.insert(saving.head.clone());
    if !saving.whole {
        let git = home.git.with_mode(GitMode::Hardened);
        has.extend(git.for_each_ref(&[])?.into_iter().map(|one| one.id));
    }
    let git = own.git.with_mode(GitMode::Hardened);
    let there = also
        .iter()
        .filter(|commit| saving.objects.commit(commit).is_ok());
    let lines = git.rev_list_everything(&has, there)?;
    let parents: BTreeSet<&CommitId> = lines.iter().flat_map(|line| &line[1..]).collect();
    let commits = lines.iter().filter_map(|line| line.first());
    Ok(commits
        .filter(|commit| !parents.contains(commit))
        .cloned()
        .collect())
}

/// Whether a file of a git directory holds refs or what they were.
pub(super) fn is_of_refs(path: &RepoPath) -> bool {
    let bytes = path.as_bstr();
    let below = ["refs/", "logs/", "reftable/"];
    bytes == "packed-refs" || below.iter().any(|name| bytes.starts_with(name.as_bytes()))
}
