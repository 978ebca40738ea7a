//! Reads what was saved of removed worktrees: `refs/agentwt/trash/<name>/<time>`.

use std::collections::BTreeMap;

use bstr::ByteSlice;
use camino::Utf8Path;

use crate::config::Strategy;
use crate::disk::files;
use crate::entry::{Entry, Mode, ObjectId};
use crate::git::objects::Objects;
use crate::name::{CommitId, WorktreeName};
use crate::path::RepoPath;
use crate::plan::trash::list::{Listed, from_bytes};
use crate::plan::trash::{BranchNow, ReviveFacts, Trashed};
use crate::worktree::RecordState;
use crate::worktree::WorktreeError;
use crate::worktree::repository::Repository;
use crate::worktree::{Trash, from_text};

/// Where trash is kept.
pub const TRASH: &str = "refs/agentwt/trash/";
/// How long trash is kept by default, in seconds.
const KEPT: i64 = 30 * 24 * 60 * 60;
/// The files in the tree of the last parent of a saved worktree's commit: what is known of it.
pub const ABOUT: &str = "trash.toml";
/// How its files were ([`Listed`]).
pub const LIST: &str = "list";
/// What of its manifest is not as the tree that was checked out.
pub const MANIFEST: &str = "manifest";
/// The reflog of its branch.
pub const BRANCH_LOG: &str = "branch-log";
/// The files of its private git directory.
pub const ADMIN: &str = "admin/";
/// The files of its record.
pub const RECORD: &str = "record/";

/// Returns everything that was saved, the oldest first of each name, by one call of git.
///
/// # Errors
/// Fails when git does.
pub fn all(repository: &Repository) -> Result<Vec<Trashed>, WorktreeError> {
    let found = repository.git.for_each_ref(&[TRASH])?;
    let one = |found: crate::git::refs::Ref| {
        let reference = found.name.to_str().ok()?.to_owned();
        let (name, time) = reference.strip_prefix(TRASH)?.split_once('/')?;
        let (second, number) = time.split_once('-').unwrap_or((time, "1"));
        Some(Trashed {
            name: WorktreeName::parse(name).ok()?,
            removed: seconds(second),
            number: number.parse().unwrap_or(1),
            commit: found.id,
            reference,
        })
    };
    let mut all: Vec<Trashed> = found.into_iter().filter_map(one).collect();
    all.sort_by(|a, b| {
        let order = |one: &Trashed| (one.name.clone(), one.removed, one.number);
        order(a).cmp(&order(b))
    });
    Ok(all)
}

/// Returns the refs in which commits of a removed clone were kept, beside its trash.
///
/// # Errors
/// Fails when git does.
pub fn kept(repository: &Repository, name: &WorktreeName) -> Result<Vec<String>, WorktreeError> {
    let incoming = format!("refs/agentwt/incoming/{name}");
    let kept = format!("refs/agentwt/kept/{name}/");
    let found = repository.git.for_each_ref(&[&incoming, &kept])?;
    Ok(found.into_iter().map(|one| one.name.to_string()).collect())
}

/// The moment before which what was removed expires (`git config agentwt.trashExpire`, by default
/// 30 days ago), seconds since the epoch; 0 for never.
///
/// # Errors
/// Fails when the setting is no such time, or git fails.
pub fn expiry(repository: &Repository) -> Result<i64, WorktreeError> {
    let set = repository.git.config_get_expiry("agentwt.trashExpire")?;
    Ok(set.unwrap_or_else(|| jiff::Timestamp::now().as_second() - KEPT))
}

/// The time in a ref (`20261122T083457Z`), seconds since the epoch.
fn seconds(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z')?;
    let time = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%S", text).ok()?;
    let zoned = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
    Some(zoned.timestamp().as_second())
}

/// Files of the private git directory that git makes itself, or that cannot be in a tree: the
/// repositories of submodules, which `remove` has looked at.
const GITS_OWN: [&str; 4] = ["gitdir", "commondir", "locked", "modules"];

/// Whether a path of a private git directory is not saved, and stays when that is brought back.
#[must_use]
pub fn is_left_out(repository: &Repository, path: &RepoPath) -> bool {
    let bytes = path.as_bstr();
    if GITS_OWN.iter().any(|name| bytes == *name) {
        return true;
    }
    repository.is_clone() && is_left_out_of_clone(repository.home(), bytes)
}

/// Of a clone the objects are kept as such, and git makes the samples of hooks anew. A large file is
/// named by its content, so that home has the same.
fn is_left_out_of_clone(home: &Repository, path: &bstr::BStr) -> bool {
    let is_sample = path.starts_with(b"hooks/") && path.ends_with(b".sample");
    let is_at_home = |path: &str| {
        let file = home.common_dir.join(path);
        files::exists(&file) && !files::is_directory(&file)
    };
    let is_large = path.starts_with(b"lfs/objects/") && path.to_str().is_ok_and(is_at_home);
    ["objects", "worktrees", "lfs/tmp"]
        .iter()
        .any(|name| path == *name)
        || is_sample
        || is_large
}

/// Holds a removed worktree as it was saved.
pub struct Saved {
    /// What is known of it.
    pub trash: Trash,
    /// How its files were.
    pub list: Vec<Listed>,
    /// Every file of its last parent's tree.
    files: BTreeMap<RepoPath, Entry>,
}

impl Saved {
    /// Reads it; none when the commit is none of ours: then only commits were saved.
    ///
    /// # Errors
    /// Fails when an object is missing, or a file damaged.
    pub fn read(objects: &Objects, one: &Trashed) -> Result<Option<Self>, WorktreeError> {
        let Some(parent) = objects.commit(&one.commit)?.parents.pop() else {
            return Ok(None);
        };
        let tree = objects.commit(&parent)?.tree;
        let top = objects.names(&tree)?;
        let (Some(about), Some(list)) = (top.get(ABOUT), top.get(LIST)) else {
            return Ok(None);
        };
        let damaged = |detail: String| WorktreeError::Damaged {
            name: one.name.to_string(),
            file: format!("what was saved ({})", one.reference),
            detail,
        };
        let about = objects.blob(about)?;
        let about = std::str::from_utf8(&about).map_err(|error| damaged(error.to_string()))?;
        let trash: Trash = from_text(about).map_err(|error| damaged(error.to_string()))?;
        let list = from_bytes(&objects.blob(list)?);
        let list = list.ok_or_else(|| damaged("its list cannot be read".to_owned()))?;
        Ok(Some(Self {
            trash,
            list,
            files: files_of(objects, &top)?,
        }))
    }

    /// The object of a file.
    #[must_use]
    pub fn file(&self, path: &str) -> Option<ObjectId> {
        let path = RepoPath::parse(path).ok()?;
        self.files.get(&path).map(|entry| entry.id)
    }

    /// The files below a directory, by their paths there.
    pub fn below(&self, directory: &'static str) -> impl Iterator<Item = (RepoPath, Entry)> {
        self.files.iter().filter_map(move |(path, entry)| {
            let rest = path.as_bstr().strip_prefix(directory.as_bytes())?;
            Some((RepoPath::parse(rest).ok()?, *entry))
        })
    }
}

/// The files of its two directories, and those beside them. Whatever else is there is only there to
/// be kept.
fn files_of(
    objects: &Objects,
    top: &BTreeMap<String, ObjectId>,
) -> Result<BTreeMap<RepoPath, Entry>, WorktreeError> {
    let mut files = BTreeMap::new();
    for directory in [ADMIN, RECORD] {
        let Some(tree) = top.get(directory.trim_end_matches('/')) else {
            continue;
        };
        for (path, entry) in objects.list(tree)? {
            let path = [directory.as_bytes(), path.as_bstr()].concat();
            files.extend(RepoPath::parse(path).ok().map(|path| (path, entry)));
        }
    }
    for name in [MANIFEST, BRANCH_LOG] {
        let path = RepoPath::child(None, name.as_bytes());
        let mode = Mode::File;
        files.extend(top.get(name).map(|id| (path, Entry { mode, id: *id })));
    }
    Ok(files)
}

/// Reads what `remove --undo` decides on.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read_revive(
    repository: &Repository,
    saved: &Saved,
    one: &Trashed,
) -> Result<ReviveFacts, WorktreeError> {
    let trash = &saved.trash;
    let path = repository.worktree_path(&one.name);
    let recorded = matches!(
        RecordState::read(repository, &one.name)?,
        RecordState::Complete(_)
    );
    let has_repository = match trash.strategy {
        Strategy::Worktree => true,
        Strategy::Clone => ["HEAD", "config"]
            .iter()
            .all(|name| saved.file(&format!("{ADMIN}{name}")).is_some()),
    };
    let wanted = branches_of(trash);
    let worktrees = repository.worktrees()?;
    let mut branches = Vec::new();
    for (name, saved) in wanted {
        let held = worktrees
            .iter()
            .find(|other| other.branch.as_ref() == Some(&name) && other.path != path);
        branches.push(BranchNow {
            now: repository.git.rev_parse_commit(&name)?,
            held: held.map(|other| other.path.clone()),
            name,
            saved,
        });
    }
    Ok(ReviveFacts {
        trash: trash.clone(),
        reference: one.reference.clone(),
        has_repository,
        recorded,
        taken: stands(&path),
        path,
        branches,
    })
}

/// The branches of this repository that a worktree was on: a clone was on its own.
fn branches_of(trash: &Trash) -> BTreeMap<String, Option<CommitId>> {
    let mut wanted: BTreeMap<String, Option<CommitId>> = BTreeMap::new();
    match trash.strategy {
        Strategy::Clone => return wanted,
        Strategy::Worktree => {}
    }
    if let Some(on) = trash.on.as_ref().filter(|on| on.starts_with("refs/heads/")) {
        wanted.insert(on.clone(), (!trash.unborn).then(|| trash.head.clone()));
    }
    if let Some(tip) = &trash.tip {
        wanted.insert(trash.branch.full_ref(), Some(tip.clone()));
    }
    wanted
}

/// Whether something stands at a path; an empty directory is nothing to git.
fn stands(path: &Utf8Path) -> bool {
    let empty = files::is_directory(path) && files::names(path).is_ok_and(|names| names.is_empty());
    files::exists(path) && !empty
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_in_a_ref_is_read() {
        assert_eq!(seconds("19700102T000001Z"), Some(86_401));
        for odd in ["", "Z", "19700102", "19700102T000001", "nonsense"] {
            assert_eq!(seconds(odd), None, "{odd}");
        }
    }
}
