//! Finds out why git cannot fetch from the git directory of a run: is it damaged, or did something
//! else stop git? What git says is for people; here the objects are read, and git is asked again in
//! another way.

use std::time::Duration;

use camino::Utf8Path;

use crate::git::environment::GitMode;
use crate::git::error::GitError;
use crate::git::landing::FetchCheck;
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::git::quarantined_objects::QuarantinedObjects;
use crate::git::readable::HistoryState;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::worktree::loaded::Worktree;
use crate::worktree::private_git::PrivateGit;
use crate::worktree::repository::Repository;

/// Says whether the git directory of a run can be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Examination {
    /// It can: something else stopped git.
    Readable,
    /// It cannot, and no repetition will change that.
    Unreadable,
}

/// Examines a git directory whose refs git did not list, in two tries.
pub fn examine_listing(
    repository: &Repository,
    private: &PrivateGit,
    error: &Error,
) -> Examination {
    let has_waited = matches!(error.find::<GitError>(), Some(GitError::TimedOut { .. }));
    if has_waited || Objects::open(&private.git_dir(), repository.format).is_err() {
        Examination::Unreadable
    } else {
        Examination::Readable
    }
}

/// True if the branch names a tag, a tree or a file. Git fetches any object, and no later step takes
/// one that is no commit. Why objects cannot be opened is found out after the fetch has failed.
pub fn is_no_commit(repository: &Repository, private: &PrivateGit, tip: &CommitId) -> bool {
    let objects = Objects::open(&private.git_dir(), repository.format);
    objects.is_ok_and(|objects| objects.has_beside_commits(tip))
}

/// Examines the objects of a commit that git did not fetch.
pub fn examine_objects(
    repository: &Repository,
    private: &PrivateGit,
    tip: &CommitId,
) -> Examination {
    let Ok(home) = repository.objects() else {
        return Examination::Readable;
    };
    let Ok(objects) = Objects::open(&private.git_dir(), repository.format) else {
        return Examination::Unreadable;
    };
    match objects.read_history(tip, &home) {
        HistoryState::Damaged => Examination::Unreadable,
        HistoryState::Missing if !is_partial_clone(repository) => Examination::Unreadable,
        HistoryState::Missing | HistoryState::Readable | HistoryState::Refused => {
            Examination::Readable
        }
    }
}

/// Says whether git refuses what is in the objects of a commit (`fetch.fsckObjects`): `Unreadable`
/// where it does. Called for a commit that git did not fetch in two tries though its objects can be
/// read.
pub fn examine_content(
    repository: &Repository,
    worktree: &Worktree,
    private: &PrivateGit,
    tip: &CommitId,
    limit: Duration,
) -> Examination {
    let git = repository
        .git
        .with_mode(GitMode::Hardened)
        .with_limit(limit);
    let from = private.git_dir();
    if fetches(repository, worktree, &git, &from, FetchCheck::Fsck, tip) {
        return Examination::Readable;
    }
    let check = FetchCheck::Connectivity;
    if fetches(repository, worktree, &git, &from, check, tip) {
        // it is only the check of the content that stopped the fetch
        return Examination::Unreadable;
    }
    Examination::Readable
}

/// True if git can fetch a commit, with this check. It goes into a quarantine of its own, so that no
/// try finds the objects of the one before.
fn fetches(
    repository: &Repository,
    worktree: &Worktree,
    git: &Git,
    from: &Utf8Path,
    check: FetchCheck,
    tip: &CommitId,
) -> bool {
    let name = worktree.record.name.as_str();
    let created = QuarantinedObjects::create(&repository.common_dir, repository.format, name);
    let Ok(quarantined) = created else {
        return false;
    };
    let quarantined_git = git.with_quarantine(&quarantined.quarantine());
    let tips = [tip.to_string()];
    let fetched = quarantined_git.fetch_objects(from.as_str(), check, &tips);
    fetched.is_ok()
}

/// True if objects of the repository are on a server only (git-clone(1), `--filter`).
fn is_partial_clone(repository: &Repository) -> bool {
    let Ok(settings) = repository.git.config_list() else {
        return true;
    };
    settings.iter().any(|(_, key, _)| {
        let key = key.to_ascii_lowercase();
        key == "extensions.partialclone" || key.ends_with(".promisor")
    })
}
