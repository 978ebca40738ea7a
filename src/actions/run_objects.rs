//! Fetches the objects that a fenced command left in its private git directory, for an import and
//! for the removal of a worktree whose directory is gone.

use std::collections::{BTreeMap, BTreeSet};

use crate::git::environment::GitMode;
use crate::git::landing::FetchCheck;
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::private_git::PrivateGit;
use crate::worktree::repository::Repository;

/// How many objects of a run are asked for at once: a command line has an end.
pub const BATCH: usize = 1000;

/// Fetches many objects of a run, each into its ref, and returns those that git did not fetch. What
/// is broken keeps nothing else away.
pub fn fetch_each(
    git: &Git,
    private: &PrivateGit,
    wanted: &BTreeMap<&CommitId, String>,
) -> Vec<CommitId> {
    let from = private.git_dir();
    let mut lost = Vec::new();
    let mut all = Vec::new();
    for (id, name) in wanted {
        all.push((*id, format!("{id}:{name}")));
    }
    for batch in all.chunks(BATCH) {
        let specs: Vec<String> = batch.iter().map(|(_, spec)| spec.clone()).collect();
        let all_fetched = git.fetch_objects(from.as_str(), FetchCheck::Fsck, &specs);
        if all_fetched.is_ok() {
            continue;
        }
        for (id, spec) in batch {
            let only = std::slice::from_ref(spec);
            let fetched = git.fetch_objects(from.as_str(), FetchCheck::Fsck, only);
            if fetched.is_err() {
                lost.push((*id).clone());
            }
        }
    }
    lost
}

/// Finds those of the commits `been_on` of a run that none of the lists of commits reaches; one
/// list is looked at after the other. `been_on` comes from a reflog, which can name commits that are
/// gone: these are left out. Where the objects of the run cannot be opened, they stay: the fetch then
/// says which are lost.
///
/// # Errors
/// Fails when git cannot read the repository.
pub fn find_abandoned<'a>(
    repository: &Repository,
    private: &PrivateGit,
    been_on: Vec<&'a CommitId>,
    reached_from: &[Vec<&CommitId>],
) -> Result<Vec<&'a CommitId>, Error> {
    let git = repository.git.with_mode(GitMode::Hardened);
    let objects = repository.objects()?;
    let mut in_repository = Vec::new();
    let mut elsewhere = Vec::new();
    for id in been_on {
        if objects.has(id) {
            in_repository.push(id);
        } else {
            elsewhere.push(id);
        }
    }
    for commits in reached_from {
        let listed = git.rev_list(&in_repository, commits)?;
        let unreached: BTreeSet<CommitId> = listed.into_iter().collect();
        in_repository.retain(|id| unreached.contains(*id));
    }
    if let Ok(objects_of_run) = Objects::open(&private.git_dir(), repository.format) {
        elsewhere.retain(|id| objects_of_run.has(id));
    }
    // what the repository does not have, nothing there reaches
    let mut abandoned = elsewhere;
    abandoned.extend(in_repository);
    Ok(abandoned)
}
