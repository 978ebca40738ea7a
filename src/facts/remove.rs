//! Reads what `remove` decides on.

use super::changes::{Survey, collect};
use super::error::FactsError;
use super::index_state::IndexFile;
use super::repository::Repository;
use super::worktree::Known;
use crate::change::Seen;
use crate::disk::files;
use crate::entry::Mode;
use crate::git::GitMode;
use crate::name::CommitId;
use crate::path::RepoPath;
use crate::plan::remove::{RemoveFacts, Unmerged};

/// Surveys a worktree, none when its directory is gone.
///
/// # Errors
/// Fails when the facts cannot be read.
pub fn survey(repository: &Repository, known: &Known) -> Result<Option<Survey>, FactsError> {
    if !files::is_directory(&known.record.path) {
        return Ok(None);
    }
    collect(repository, known, &IndexFile::Own).map(Some)
}

/// Reads everything else.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read(
    repository: &Repository,
    known: &Known,
    survey: Option<&Survey>,
) -> Result<RemoveFacts, FactsError> {
    let record = &known.record;
    let uncommitted = survey
        .map(|survey| survey.uncommitted(known))
        .unwrap_or_default();
    let is_untracked = |path: &&RepoPath| {
        let seen = survey.and_then(|survey| survey.states.untracked.get(*path));
        matches!(seen, Some(Seen::Untracked))
    };
    let branch_tip = repository.git.rev_parse_commit(&record.branch.full_ref())?;
    let head = survey.and_then(|survey| survey.heads.head.clone());
    let detached = head.filter(|head| Some(head) != branch_tip.as_ref());
    let worktrees = repository.worktrees()?;
    let entry = worktrees.iter().find(|entry| entry.path == record.path);
    let unmerged = Unmerged {
        branch: unmerged(repository, known, branch_tip.as_ref(), None)?,
        detached: unmerged(repository, known, detached.as_ref(), branch_tip.as_ref())?,
    };
    Ok(RemoveFacts {
        record: Box::new(record.clone()),
        start: repository.start.clone(),
        root: repository.root.clone(),
        locked: entry.is_some_and(|entry| entry.locked),
        untracked: uncommitted.iter().filter(is_untracked).cloned().collect(),
        uncommitted,
        nested: survey.map(Survey::nested).unwrap_or_default(),
        submodules: survey
            .map(|s| submodules(repository, known, s))
            .transpose()?
            .unwrap_or_default(),
        branch_tip,
        detached,
        unmerged,
    })
}

/// Counts the commits of a tip that no other branch, remote-tracking branch or tag has.
fn unmerged(
    repository: &Repository,
    known: &Known,
    tip: Option<&CommitId>,
    also: Option<&CommitId>,
) -> Result<u64, FactsError> {
    let Some(tip) = tip else { return Ok(0) };
    let git = repository.git.with_mode(GitMode::Hardened);
    let own = known.record.branch.full_ref();
    let refs = git.for_each_ref(&["refs/heads/", "refs/remotes/", "refs/tags/"])?;
    let others = refs
        .iter()
        .filter(|other| other.name != own)
        .map(|other| &other.id);
    let mut others: Vec<&CommitId> = others.chain(also).collect();
    others.sort_unstable();
    others.dedup();
    Ok(git.rev_list(&[tip], &others)?.len() as u64)
}

/// Submodules that hold something of their own: changed files, or commits that no remote has.
fn submodules(
    repository: &Repository,
    known: &Known,
    survey: &Survey,
) -> Result<Vec<RepoPath>, FactsError> {
    let manifest = &survey.states.manifest;
    let gitlinks = manifest
        .items()
        .iter()
        .filter(|item| item.base.is_some_and(|entry| entry.mode == Mode::Gitlink));
    let mut with_work = Vec::new();
    for item in gitlinks {
        let Some(relative) = item.path.to_os_path().ok() else {
            continue;
        };
        let directory = known.record.path.as_std_path().join(relative);
        let Ok(directory) = camino::Utf8PathBuf::from_path_buf(directory) else {
            continue;
        };
        if files::exists(&directory.join(".git"))
            && repository
                .git
                .at(&directory)
                .with_mode(GitMode::Hardened)
                .has_own_work()?
        {
            with_work.push(item.path.clone());
        }
    }
    Ok(with_work)
}
