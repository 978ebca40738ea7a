//! Finds what `prune` decides about: by name, what git has, and how long ago something happened.
//!
//! What was left behind is found by what `doctor` finds it with.

mod entries;
mod standing;

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::doctor::leftovers::is_worktree;
use super::remove::begun;
use crate::disk::files;
use crate::disk::lock::{LockFile, LockOf};
use crate::name::WorktreeName;
use crate::plan::prune::{self as plan, NameFacts, OLD, Place};
use crate::worktree::WorktreeError;
use crate::worktree::repository::{Repository, WORKTREES};
use crate::worktree::{Intent, MadeBy};
use crate::worktree::{RecordState, Worktree, names};

pub use entries::{entries, locks};
pub use standing::{commits, idle, owner};

/// What the directories begin with in which files wait to be moved in.
const COPIES: [&str; 2] = [".placing-", ".cloning-"];

/// Holds what is there of one name.
pub struct Named {
    /// What decides.
    pub facts: NameFacts,
    /// The intent, where there is only that.
    pub intent: Option<Intent>,
    /// The worktree, where there is a whole record.
    pub known: Option<Worktree>,
}

/// Every name that something has: a record, a directory, copies, or what is known of a claim.
///
/// # Errors
/// Fails when a directory cannot be read.
pub fn all_names(repository: &Repository) -> Result<BTreeSet<WorktreeName>, WorktreeError> {
    let mut all: BTreeSet<WorktreeName> = names(repository)?.into_iter().collect();
    let mut found = files::names(&repository.root.join(WORKTREES))?;
    found.extend(
        files::names(&repository.root)?
            .into_iter()
            .filter(|name| name.starts_with(COPIES[0])),
    );
    let claims = files::names(&claims(repository))?.into_iter();
    found.extend(claims.filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned())));
    for name in found {
        let bare = COPIES.iter().find_map(|start| name.strip_prefix(start));
        all.extend(WorktreeName::parse(bare.unwrap_or(&name)).ok());
    }
    Ok(all)
}

/// What stands among the worktrees, and no worktree can have its name; ours apart.
///
/// # Errors
/// Fails when the directory cannot be read.
pub fn strangers(repository: &Repository) -> Result<Vec<String>, WorktreeError> {
    let is_ours = |name: &str| {
        let bare = COPIES.iter().find_map(|start| name.strip_prefix(start));
        matches!(name, ".trash" | ".gitignore") || WorktreeName::parse(bare.unwrap_or(name)).is_ok()
    };
    let found = files::names(&repository.root.join(WORKTREES))?;
    Ok(found.into_iter().filter(|name| !is_ours(name)).collect())
}

/// Reads what is there of a name; `now` is in seconds since the epoch.
///
/// # Errors
/// Fails when it cannot be read; a damaged record is a fact.
pub fn named(
    repository: &Repository,
    name: &WorktreeName,
    now: i64,
) -> Result<Named, WorktreeError> {
    let path = repository.worktree_path(name);
    let (mut intent, mut known) = (None, None);
    let recorded = match RecordState::read(repository, name) {
        Ok(RecordState::Missing) if files::exists(&repository.record_dir(name)) => {
            plan::Recorded::Empty
        }
        Ok(RecordState::Missing) => plan::Recorded::Nothing,
        Ok(RecordState::Incomplete(found)) => {
            intent = Some(*found);
            plan::Recorded::Incomplete
        }
        Ok(RecordState::Complete(found)) => {
            let recorded = whole(&found);
            known = Some(*found);
            recorded
        }
        Err(error @ WorktreeError::Damaged { .. }) => plan::Recorded::Damaged(error.to_string()),
        Err(other) => return Err(other),
    };
    let claim = files::modified(&claims(repository).join(format!("{name}.toml")));
    Ok(Named {
        facts: NameFacts {
            name: name.to_string(),
            copies: copies(repository, name, &recorded),
            recorded,
            place: place(repository, &path),
            entry: entries::of(repository, &path)?.is_some(),
            claim: claim.map(|at| age(now, at)),
        },
        intent,
        known,
    })
}

fn whole(known: &Worktree) -> plan::Recorded {
    let record = &known.record;
    if files::exists(&record.path) {
        return match begun(known) {
            Some(_) => plan::Recorded::Begun,
            None => plan::Recorded::There,
        };
    }
    if record.made_by == MadeBy::Git && !files::exists(&record.admin_dir) {
        return plan::Recorded::Forgotten;
    }
    match begun(known) {
        Some(_) => plan::Recorded::Begun,
        None => plan::Recorded::Gone,
    }
}

fn place(repository: &Repository, path: &Utf8Path) -> Place {
    let is_link = files::canonical(path).is_ok_and(|real| real != *path);
    if !files::exists(path) {
        Place::Nothing
    } else if is_link || !files::is_directory(path) {
        Place::Other
    } else if files::is_empty(path) {
        Place::Empty
    } else if is_worktree(repository, path) {
        Place::Worktree
    } else if files::is_directory(&path.join(".git/agentwt")) {
        Place::Clone
    } else {
        Place::Other
    }
}

/// Among the worktrees; and in the root, where only a record says that it is ours.
fn copies(repository: &Repository, name: &WorktreeName, recorded: &plan::Recorded) -> Vec<String> {
    let mut all: Vec<String> = COPIES
        .iter()
        .map(|start| format!("{WORKTREES}/{start}{name}"))
        .collect();
    match recorded {
        plan::Recorded::Nothing | plan::Recorded::Empty | plan::Recorded::Damaged(_) => {}
        plan::Recorded::Incomplete
        | plan::Recorded::Gone
        | plan::Recorded::Forgotten
        | plan::Recorded::Begun
        | plan::Recorded::There => all.push(format!("{}{name}", COPIES[0])),
    }
    all.retain(|path| files::exists(&repository.root.join(path)));
    all
}

/// Where it is kept what is known of claims.
#[must_use]
pub fn claims(repository: &Repository) -> Utf8PathBuf {
    repository.common_dir.join("agentwt/claims")
}

/// The lock files of ours that nobody holds.
///
/// # Errors
/// Fails when their directory cannot be read.
pub fn dead_locks(repository: &Repository) -> Result<Vec<LockFile>, WorktreeError> {
    let locks = repository.common_dir.join("agentwt/locks");
    let claims = claims(repository);
    let mut paths = vec![repository.shared_lock().path];
    paths.extend(files::names(&locks)?.iter().map(|name| locks.join(name)));
    let of_claims = files::names(&claims)?;
    let of_claims = of_claims
        .iter()
        .filter(|name| name.strip_suffix(".lock").is_some());
    paths.extend(of_claims.map(|name| claims.join(name)));
    let lock = |path: Utf8PathBuf| LockFile {
        of: LockOf::Name(path.file_name().unwrap_or_default().to_owned()),
        path,
        waiting: repository.waiting.clone(),
    };
    let there = paths
        .into_iter()
        .filter(|path| files::exists(path))
        .map(lock);
    Ok(there.filter(|lock| !lock.is_held()).collect())
}

/// Files that somebody was writing who was killed, old enough that nobody can be at it.
///
/// # Errors
/// Fails when a directory cannot be read.
pub fn temporaries(repository: &Repository, now: i64) -> Result<Vec<Utf8PathBuf>, WorktreeError> {
    let common = &repository.common_dir;
    let mut directories = vec![common.clone(), common.join("info"), claims(repository)];
    directories.extend(
        names(repository)?
            .iter()
            .map(|name| repository.record_dir(name)),
    );
    let mut found = Vec::new();
    for directory in directories {
        let names = files::names(&directory)?.into_iter();
        let names = names.filter(|name| name.starts_with(".agentwt-"));
        found.extend(names.map(|name| directory.join(name)));
    }
    let is_old = |path: &Utf8PathBuf| {
        let at = files::modified(path);
        at.is_some_and(|at| age(now, at) >= OLD) && !files::is_directory(path)
    };
    found.retain(is_old);
    Ok(found)
}

/// How many seconds ago something was.
#[must_use]
pub fn age(now: i64, at: i64) -> u64 {
    u64::try_from(now.saturating_sub(at)).unwrap_or(0)
}
