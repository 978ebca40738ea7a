//! Reads what `remove` decides on.

use super::changes::{Survey, collect};
use super::error::FactsError;
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
use crate::placed::PlacedKind;
use crate::plan::remove::{RemoveFacts, Unmerged};

/// Surveys a worktree. Where its directory is gone, what was staged is still in its index.
///
/// # Errors
/// Fails when the facts cannot be read.
pub fn survey(repository: &Repository, known: &Known) -> Result<Survey, FactsError> {
    collect(repository, known, &IndexFile::Own)
}

/// Reads everything else. `leaving` are the branches that may go in the same command: what only
/// they hold is on no other branch.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read(
    repository: &Repository,
    known: &Known,
    survey: &Survey,
    leaving: &[BranchName],
) -> Result<RemoveFacts, FactsError> {
    let record = &known.record;
    let repository = &known.readable_repository(repository);
    let there = files::is_directory(&record.path);
    let uncommitted = if there {
        survey.uncommitted(known)
    } else {
        survey.staged_only()
    };
    // what stands in the place of a directory that we made is nobody's placed file
    let placed = |path: &RepoPath| {
        let file = survey.states.placed.get(path)?;
        (file.kind != PlacedKind::Directory).then(|| (file.path.clone(), file.origin))
    };
    let is_untracked = |path: &&RepoPath| match survey.states.untracked.get(*path) {
        Some(Seen::Untracked) => true,
        Some(Seen::Synced) => placed(path).is_none(),
        Some(_) | None => false,
    };
    let branch_tip = repository.git.rev_parse_commit(&record.branch.full_ref())?;
    let worktrees = repository.worktrees()?;
    let entry = worktrees.iter().find(|entry| entry.path == record.path);
    let own = record.branch.full_ref();
    let held_elsewhere = worktrees
        .iter()
        .any(|other| other.path != record.path && other.branch.as_ref() == Some(&own));
    let mut going: Vec<String> = leaving.iter().map(BranchName::full_ref).collect();
    going.push(own);
    let mut detached = Vec::new();
    // all that only a clone has is fetched before it goes
    let heads = if repository.is_clone() {
        Vec::new()
    } else {
        survey.heads.detached()
    };
    for commit in heads {
        let is_tip = branch_tip.as_ref() == Some(&commit);
        if !is_tip && unmerged(repository, &going, &[&commit], branch_tip.as_ref())? > 0 {
            detached.push(commit);
        }
    }
    let tips: Vec<&CommitId> = detached.iter().collect();
    let own_tip = branch_tip.iter().filter(|_| !repository.is_clone());
    let own_tip: Vec<&CommitId> = own_tip.collect();
    let unmerged = Unmerged {
        branch: unmerged(repository, &going, &own_tip, None)?,
        detached: unmerged(repository, &going, &tips, branch_tip.as_ref())?,
    };
    Ok(RemoveFacts {
        record: Box::new(record.clone()),
        start: repository.start.clone(),
        root: repository.root.clone(),
        locked: entry.is_some_and(|entry| entry.locked),
        untracked: uncommitted.iter().filter(is_untracked).cloned().collect(),
        placed: uncommitted.iter().filter_map(placed).collect(),
        uncommitted,
        nested: nested(repository, known, survey),
        unreadable: if there {
            unreadable(known, survey)
        } else {
            Vec::new()
        },
        moved_to: moved_to(known)?,
        held: held_elsewhere,
        submodules: submodules(repository, known, survey)?,
        branch_tip,
        detached,
        unmerged,
    })
}

/// Directories with a repository of their own, the worktree's own `.git` among them if it is a
/// directory with anything in it: git makes it a file.
fn nested(repository: &Repository, known: &Known, survey: &Survey) -> Vec<RepoPath> {
    let mut nested = survey.nested();
    let own = known.record.path.join(".git");
    if repository.is_clone() {
        // of worktrees that were added to it elsewhere nothing would be left but their files
        let added = files::names(&own.join("worktrees"));
        if added.is_ok_and(|names| !names.is_empty()) {
            nested.push(RepoPath::child(None, b".git"));
        }
    } else if files::names(&own).is_ok_and(|names| !names.is_empty()) {
        nested.push(RepoPath::child(None, b".git"));
    }
    nested
}

/// Where git has the worktree, if that is another place (`git worktree move`).
fn moved_to(known: &Known) -> Result<Option<camino::Utf8PathBuf>, FactsError> {
    let record = &known.record;
    let Some(bytes) = files::read(&record.admin_dir.join("gitdir"))? else {
        return Ok(None);
    };
    let dot_git = record
        .admin_dir
        .join(String::from_utf8_lossy(&bytes).trim_end());
    let directory = dot_git.parent().unwrap_or(&dot_git);
    if *directory == record.path {
        return Ok(None);
    }
    // relative where `worktree.useRelativePaths` is set
    let elsewhere = files::canonical(directory).ok();
    Ok(elsewhere.filter(|path| *path != record.path && files::exists(&dot_git)))
}

/// What could not be read: the worktree itself, or paths in it.
fn unreadable(known: &Known, survey: &Survey) -> Vec<String> {
    let name = |unreadable: &Unreadable| match &unreadable.path {
        Some(path) => path.to_string(),
        None => known.record.path.to_string(),
    };
    survey.states.unreadable.iter().map(name).collect()
}

/// Counts the commits of these tips that no branch but those that go, no remote-tracking branch and
/// no tag has.
fn unmerged(
    repository: &Repository,
    going: &[String],
    tips: &[&CommitId],
    also: Option<&CommitId>,
) -> Result<u64, FactsError> {
    if tips.is_empty() {
        return Ok(0);
    }
    let git = repository.git.with_mode(GitMode::Hardened);
    let refs = git.for_each_ref(&["refs/heads/", "refs/remotes/", "refs/tags/"])?;
    let others = refs
        .iter()
        .filter(|other| !going.iter().any(|name| other.name == *name))
        .map(|other| &other.id);
    let mut others: Vec<&CommitId> = others.chain(also).collect();
    others.sort_unstable();
    others.dedup();
    Ok(git.rev_list(tips, &others)?.len() as u64)
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
