//! Looks at git's private directories that lead nowhere, and at its lock files.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use super::{EntryFacts, EntryFault, LockFacts, OLD, age};
use crate::disk::files;
use crate::disk::locked_file::lock_files;
use crate::entry::Entry;
use crate::git::GitMode;
use crate::git::index::{Stage, read_index};
use crate::git::refs::ReflogEntry;
use crate::name::WorktreeName;
use crate::path::RepoPath;
use crate::process;
use crate::truth::heads::reflog_file;
use crate::worktree::private_refs::read_put_aside_in;
use crate::worktree::removal::facts::Around;
use crate::worktree::repository::WORKTREES;
use crate::worktree::trash::has_own_modules;
use crate::worktree::unfinished::read_gitdir;
use crate::worktree::{Repository, Worktree, WorktreeError};

/// What git notes in a private directory while it is at work there.
const OPERATIONS: [&str; 5] = [
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "rebase-merge",
    "rebase-apply",
];

/// Returns the private git directory that belongs to a worktree's directory, there or not.
pub(crate) fn entry_of(
    repository: &Repository,
    path: &Utf8Path,
) -> Result<Option<Utf8PathBuf>, WorktreeError> {
    let all = repository.common_dir.join("worktrees");
    for id in files::names(&all)? {
        let admin = all.join(id);
        if worktree_of(&admin).is_some_and(|worktree| worktree == *path) {
            return Ok(Some(admin));
        }
    }
    Ok(None)
}

/// The directory of the worktree that a private git directory belongs to.
fn worktree_of(admin: &Utf8Path) -> Option<Utf8PathBuf> {
    Some(read_gitdir(admin)?.parent()?.to_owned())
}

/// The name of ours that a private git directory is for, as far as its path tells.
fn name_of(repository: &Repository, worktree: &Utf8Path) -> Option<WorktreeName> {
    let is_below = worktree.parent() == Some(&repository.root.join(WORKTREES));
    let name = worktree.file_name().filter(|_| is_below)?;
    WorktreeName::parse(name).ok()
}

/// Looks at the private git directories that lead nowhere. What a name accounts for is left to it.
pub(super) fn entries(repository: &Repository, now: i64) -> Result<Vec<EntryFacts>, WorktreeError> {
    let all = repository.common_dir.join("worktrees");
    let mut found = Vec::new();
    let mut around = None;
    for id in files::names(&all)? {
        let admin = all.join(id);
        let Some(fault) = fault(repository, &admin)? else {
            continue;
        };
        let worktree = worktree_of(&admin);
        let name = worktree
            .as_deref()
            .and_then(|path| name_of(repository, path));
        let (ours, work) = match (&fault, name) {
            (EntryFault::Initializing, name) => {
                let is_bare = initializing(repository, &admin, worktree.as_deref(), name, now);
                (is_bare, is_bare.then_some(false))
            }
            (EntryFault::Dangling(_) | EntryFault::NoWorktree, name) => {
                let ours = name.is_some() || files::is_directory(&admin.join("agentwt"));
                if around.is_none() {
                    around = Some(Around::read(repository)?);
                }
                let around = around.as_ref().filter(|_| ours);
                let work = around.and_then(|around| has_work(repository, around, &admin).ok());
                (ours, work)
            }
        };
        found.push(EntryFacts {
            path: admin.to_string(),
            fault,
            ours,
            work,
        });
    }
    Ok(found)
}

/// What is wrong with a private git directory that no record of ours accounts for
/// (gitrepository-layout(5), `worktrees/<id>/`).
fn fault(repository: &Repository, admin: &Utf8Path) -> Result<Option<EntryFault>, WorktreeError> {
    let locked = files::read(&admin.join("locked"))?;
    let is_recorded = |worktree: &Utf8Path| {
        let name = name_of(repository, worktree);
        name.is_some_and(|name| files::exists(&repository.record_dir(&name)))
    };
    let worktree = worktree_of(admin);
    if worktree.as_deref().is_some_and(is_recorded) {
        return Ok(None);
    }
    if locked
        .as_ref()
        .is_some_and(|why| why.trim_ascii() == b"initializing")
    {
        return Ok(Some(EntryFault::Initializing));
    }
    Ok(match worktree {
        None => Some(EntryFault::NoWorktree),
        // a locked one is away on purpose (git-worktree(1), `lock`)
        Some(path) if locked.is_none() && !files::exists(&path.join(".git")) => {
            Some(EntryFault::Dangling(path.to_string()))
        }
        Some(_) => None,
    })
}

/// Whether git was creating one among our worktrees, long ago and for a name that is free by now.
/// Nothing is in it before there is an index.
fn initializing(
    repository: &Repository,
    admin: &Utf8Path,
    worktree: Option<&Utf8Path>,
    name: Option<WorktreeName>,
    now: i64,
) -> bool {
    let is_free = name.is_some_and(|name| !repository.name_lock(&name).is_held());
    let is_old = files::modified(admin).is_some_and(|at| age(now, at) >= OLD);
    let is_gone = worktree.is_some_and(|path| !files::exists(path));
    is_free && is_old && is_gone && !files::exists(&admin.join("index"))
}

/// Whether a private git directory has something that is nowhere else.
pub(super) fn has_work(
    repository: &Repository,
    around: &Around,
    admin: &Utf8Path,
) -> Result<bool, WorktreeError> {
    let git = repository.git.on(admin, None).with_mode(GitMode::Hardened);
    if OPERATIONS
        .iter()
        .any(|name| files::exists(&admin.join(name)))
        || has_own_modules(admin)?
    {
        return Ok(true);
    }
    let head = git.rev_parse_commit("HEAD")?;
    let is_on_branch = git.symbolic_ref_head()?.is_some();
    let reflog = match &head {
        Some(_) => git.reflog("HEAD")?,
        None => reflog_file(admin)?,
    };
    let newest = reflog
        .first()
        .map(|entry| &entry.id)
        .filter(|_| head.is_none());
    let mut alone: Vec<_> = head
        .iter()
        .filter(|_| !is_on_branch)
        .chain(newest)
        .cloned()
        .collect();
    alone.extend(read_put_aside_in(&git, admin)?);
    for commit in &alone {
        if !around.nowhere(repository, commit)?.is_empty() {
            return Ok(true);
        }
    }
    let index = admin.join("index");
    if reflog.iter().any(ReflogEntry::left_a_detached_head) {
        return Ok(true);
    }
    if !files::exists(&index) {
        return Ok(false);
    }
    let committed: BTreeMap<RepoPath, Entry> = match &head {
        Some(head) => {
            let objects = repository.objects()?;
            let tree = objects.commit(head)?.tree;
            objects.list(&tree)?.into_iter().collect()
        }
        None => BTreeMap::new(),
    };
    let index = read_index(&index, repository.format)?;
    let is_committed = index.len() == committed.len()
        && index.iter().all(|one| {
            one.stage == Stage::Normal
                && !one.intent_to_add
                && committed.get(&one.path) == Some(&one.entry)
        });
    Ok(!is_committed)
}

/// Looks at git's lock files. `known` are the worktrees of ours.
pub(super) fn git_locks(
    repository: &Repository,
    known: &[Worktree],
) -> Result<Vec<LockFacts>, WorktreeError> {
    let common = &repository.common_dir;
    let mut found = lock_files(common, false);
    found.extend(lock_files(&common.join("refs"), true));
    for id in files::names(&common.join("worktrees"))? {
        found.extend(lock_files(&common.join("worktrees").join(id), false));
    }
    for known in known.iter().filter(|known| known.has_own_repository()) {
        let own = known.record.path.join(".git");
        found.extend(lock_files(&own, false));
        found.extend(lock_files(&own.join("refs"), true));
    }
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let in_root = process::count_in("git", &repository.root);
    let gits = in_root.zip(process::count_in("git", common));
    let gits = gits.map(|(root, common)| root.max(common));
    let paths: Vec<&Utf8Path> = found.iter().map(|(path, _)| path.as_path()).collect();
    let open = process::open_of(&paths);
    let lock = |(path, age): &(Utf8PathBuf, u64)| LockFacts {
        path: path.to_string(),
        age: *age,
        ours: is_ours(repository, known, path),
        gits,
        open: open.as_ref().map(|open| open.contains(path.as_path())),
    };
    Ok(found.iter().map(lock).collect())
}

/// Whether a lock is for one of our worktrees, its branch, or a ref of ours alone.
fn is_ours(repository: &Repository, known: &[Worktree], path: &Utf8Path) -> bool {
    if path.starts_with(repository.common_dir.join("refs/agentwt")) {
        return true;
    }
    known.iter().any(|known| {
        let record = &known.record;
        let branch = format!("{}.lock", record.branch.full_ref());
        path.starts_with(&record.admin_dir) || *path == repository.common_dir.join(branch)
    })
}
