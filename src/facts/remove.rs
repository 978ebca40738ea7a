//! Reads what `remove` decides on.

use super::changes::{Survey, collect};
use super::error::FactsError;
use super::heads::Heads;
use super::index_state::IndexFile;
use super::repository::Repository;
use super::worktree::Known;
use crate::change::Seen;
use crate::disk::files;
use crate::disk::scan::Unreadable;
use crate::entry::Mode;
use crate::git::GitMode;
use crate::name::{BranchName, CommitId};
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

/// Reads everything else. `leaving` are the branches that may go in the same command: what only
/// they hold is on no other branch.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read(
    repository: &Repository,
    known: &Known,
    survey: Option<&Survey>,
    leaving: &[BranchName],
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
    let head = match survey {
        Some(survey) => survey.heads.head.clone(),
        None => Heads::read(repository, known)?.head,
    };
    let detached = head.filter(|head| Some(head) != branch_tip.as_ref());
    let worktrees = repository.worktrees()?;
    let entry = worktrees.iter().find(|entry| entry.path == record.path);
    let own = record.branch.full_ref();
    let held_elsewhere = worktrees
        .iter()
        .any(|other| other.path != record.path && other.branch.as_ref() == Some(&own));
    let mut going: Vec<String> = leaving.iter().map(BranchName::full_ref).collect();
    going.push(own);
    let unmerged = Unmerged {
        branch: unmerged(repository, &going, branch_tip.as_ref(), None)?,
        detached: unmerged(repository, &going, detached.as_ref(), branch_tip.as_ref())?,
    };
    Ok(RemoveFacts {
        record: Box::new(record.clone()),
        start: repository.start.clone(),
        root: repository.root.clone(),
        locked: entry.is_some_and(|entry| entry.locked),
        untracked: uncommitted.iter().filter(is_untracked).cloned().collect(),
        uncommitted,
        nested: nested(known, survey),
        unreadable: survey.map(|s| unreadable(known, s)).unwrap_or_default(),
        held: held_elsewhere,
        submodules: survey
            .map(|s| submodules(repository, known, s))
            .transpose()?
            .unwrap_or_default(),
        branch_tip,
        detached,
        unmerged,
    })
}

/// Directories with a repository of their own, the worktree's own `.git` among them if it is a
/// directory with anything in it: git makes it a file.
fn nested(known: &Known, survey: Option<&Survey>) -> Vec<RepoPath> {
    let mut nested = survey.map(Survey::nested).unwrap_or_default();
    let own = known.record.path.join(".git");
    if files::names(&own).is_ok_and(|names| !names.is_empty()) {
        nested.push(RepoPath::child(None, b".git"));
    }
    nested
}

/// What could not be read: the worktree itself, or paths in it.
fn unreadable(known: &Known, survey: &Survey) -> Vec<String> {
    let name = |unreadable: &Unreadable| match &unreadable.path {
        Some(path) => path.to_string(),
        None => known.record.path.to_string(),
    };
    survey.states.unreadable.iter().map(name).collect()
}

/// Counts the commits of a tip that no branch but those that go, no remote-tracking branch and
/// no tag has.
fn unmerged(
    repository: &Repository,
    going: &[String],
    tip: Option<&CommitId>,
    also: Option<&CommitId>,
) -> Result<u64, FactsError> {
    let Some(tip) = tip else { return Ok(0) };
    let git = repository.git.with_mode(GitMode::Hardened);
    let refs = git.for_each_ref(&["refs/heads/", "refs/remotes/", "refs/tags/"])?;
    let others = refs
        .iter()
        .filter(|other| !going.iter().any(|name| other.name == *name))
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
