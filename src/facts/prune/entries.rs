//! Looks at git's private directories that lead nowhere, and at its lock files.

use std::collections::BTreeMap;

use camino::{Utf8Path, Utf8PathBuf};

use super::age;
use crate::disk::files;
use crate::entry::Entry;
use crate::facts::remove::Around;
use crate::git::GitMode;
use crate::git::index::{Stage, read_index};
use crate::name::WorktreeName;
use crate::path::RepoPath;
use crate::plan::doctor::leftovers::{AdminFault, Leftovers};
use crate::plan::prune::{EntryFacts, LockFacts, OLD, Work};
use crate::process;
use crate::worktree::Worktree;
use crate::worktree::WorktreeError;
use crate::worktree::private_refs::read_put_aside_in;
use crate::worktree::repository::{Repository, WORKTREES};

/// The private git directory that belongs to a worktree's directory, there or not.
pub fn of(repository: &Repository, path: &Utf8Path) -> Result<Option<Utf8PathBuf>, WorktreeError> {
    let all = repository.common_dir.join("worktrees");
    for id in files::names(&all)? {
        let admin = all.join(id);
        if worktree_of(&admin)?.is_some_and(|worktree| worktree == *path) {
            return Ok(Some(admin));
        }
    }
    Ok(None)
}

/// The directory of the worktree that a private git directory belongs to.
fn worktree_of(admin: &Utf8Path) -> Result<Option<Utf8PathBuf>, WorktreeError> {
    let Some(text) = files::read(&admin.join("gitdir"))? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(text.trim_ascii_end()).into_owned();
    Ok(admin.join(text).parent().map(Utf8Path::to_owned))
}

/// Looks at the private git directories in which `doctor` finds something wrong.
///
/// # Errors
/// Fails when git or the disk does.
pub fn entries(
    repository: &Repository,
    around: &Around,
    left: &Leftovers,
    now: i64,
) -> Result<Vec<EntryFacts>, WorktreeError> {
    let mut all = Vec::new();
    for (path, fault) in &left.admin {
        let admin = Utf8Path::new(path);
        let (ours, work) = match fault {
            AdminFault::Initializing => initializing(repository, admin, now)?,
            AdminFault::Dangling(_) | AdminFault::NoWorktree => {
                let ours = files::is_directory(&admin.join("agentwt"));
                let work = ours.then(|| work(repository, around, admin).ok()).flatten();
                (ours, work)
            }
        };
        all.push(EntryFacts {
            path: path.clone(),
            fault: fault.clone(),
            ours,
            work,
        });
    }
    Ok(all)
}

/// One that git was making among our worktrees, long ago and for a name that nobody has by now, is
/// ours; nothing is in it before there is an index.
fn initializing(
    repository: &Repository,
    admin: &Utf8Path,
    now: i64,
) -> Result<(bool, Option<Work>), WorktreeError> {
    let Some(worktree) = worktree_of(admin)? else {
        return Ok((false, None));
    };
    let name = worktree
        .file_name()
        .and_then(|name| WorktreeName::parse(name).ok())
        .filter(|_| worktree.parent() == Some(&repository.root.join(WORKTREES)));
    let Some(name) = name else {
        return Ok((false, None));
    };
    let is_old = files::modified(admin).is_some_and(|at| age(now, at) >= OLD);
    let is_free = !repository.name_lock(&name).is_held();
    let is_bare = !files::exists(&worktree) && !files::exists(&admin.join("index"));
    let nothing = is_old && is_free && is_bare;
    Ok((nothing, nothing.then_some(Work::None)))
}

/// What only a private git directory has.
fn work(repository: &Repository, around: &Around, admin: &Utf8Path) -> Result<Work, WorktreeError> {
    let git = repository.git.on(admin, None).with_mode(GitMode::Hardened);
    let begun = [
        "MERGE_HEAD",
        "CHERRY_PICK_HEAD",
        "REVERT_HEAD",
        "rebase-merge",
        "rebase-apply",
    ];
    if begun.iter().any(|name| files::exists(&admin.join(name))) {
        return Ok(Work::Some);
    }
    let head = git.rev_parse_commit("HEAD")?;
    let is_on_branch = git.symbolic_ref_head()?.is_some();
    let reflog = match &head {
        Some(_) => git.reflog("HEAD")?,
        None => crate::truth::heads::reflog_file(admin)?,
    };
    if let (None, Some(newest)) = (&head, reflog.first())
        && !around.nowhere(repository, &newest.id)?.is_empty()
    {
        return Ok(Work::Some);
    }
    let was_detached = reflog
        .iter()
        .any(crate::git::refs::ReflogEntry::left_a_detached_head);
    let alone = match &head {
        Some(head) if !is_on_branch => !around.nowhere(repository, head)?.is_empty(),
        Some(_) | None => false,
    };
    if alone || was_detached {
        return Ok(Work::Some);
    }
    for kept in read_put_aside_in(&git, admin)? {
        if !around.nowhere(repository, &kept)?.is_empty() {
            return Ok(Work::Some);
        }
    }
    let committed: BTreeMap<RepoPath, Entry> = match &head {
        Some(head) => {
            let objects = repository.objects()?;
            let tree = objects.commit(head)?.tree;
            objects.list(&tree)?.into_iter().collect()
        }
        None => BTreeMap::new(),
    };
    let index = admin.join("index");
    if !files::exists(&index) {
        return Ok(Work::None);
    }
    let index = read_index(&index, repository.format)?;
    let is_committed = index.len() == committed.len()
        && index.iter().all(|one| {
            one.stage == Stage::Normal
                && !one.intent_to_add
                && committed.get(&one.path) == Some(&one.entry)
        });
    Ok(if is_committed { Work::None } else { Work::Some })
}

/// Looks at git's lock files. `known` are the worktrees of ours.
#[must_use]
pub fn locks(repository: &Repository, known: &[Worktree], left: &Leftovers) -> Vec<LockFacts> {
    if left.locks.is_empty() {
        return Vec::new();
    }
    let paths: Vec<&Utf8Path> = left
        .locks
        .iter()
        .map(|(path, _)| path.as_str().into())
        .collect();
    let open = process::open_of(&paths);
    let lock = |(path, age): &(String, u64)| {
        let path = Utf8Path::new(path);
        LockFacts {
            path: path.to_string(),
            age: *age,
            ours: is_ours(repository, known, path),
            gits: left.gits,
            open: open.as_ref().map(|open| open.contains(path)),
        }
    };
    left.locks.iter().map(lock).collect()
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
