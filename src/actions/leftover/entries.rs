//! Finds the private git directories of worktrees that lead nowhere (gitrepository-layout(5),
//! `worktrees/<id>/`).

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::leftover::incomplete::has_work;
use crate::actions::leftover::{EntryContent, EntryFault, Leftover, OLD, age, judge_entry};
use crate::disk::files;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::worktree::admin_dir::worktree_of;
use crate::worktree::loaded::{entry_of_elsewhere, names};
use crate::worktree::repository::{Repository, WORKTREES};

/// Finds the private git directories that lead nowhere, and that no record of ours is about.
pub(super) fn find_entries(repository: &Repository, now: i64) -> Result<Vec<Leftover>, Error> {
    let mut ids_of_other_repository = Vec::new();
    for name in names(repository)? {
        ids_of_other_repository.extend(entry_of_elsewhere(repository, &name));
    }
    let directory = repository.common_dir.join("worktrees");
    let mut leftovers = Vec::new();
    for id in files::names(&directory)? {
        if ids_of_other_repository.contains(&id) {
            continue;
        }
        let admin_dir = directory.join(id);
        let worktree = worktree_of(&admin_dir);
        let name = worktree
            .as_deref()
            .and_then(|path| name_of(repository, path));
        // asked before the lock is read, which may fail: a recorded worktree is for `verify`
        if let Some(name) = &name
            && files::exists(&repository.record_dir(name))
        {
            continue;
        }
        let entry = AdminEntry {
            lock: EntryLock::read(&admin_dir)?,
            admin_dir,
            worktree,
            name,
        };
        if let Some(fault) = entry.fault() {
            let content = entry.content(repository, now);
            leftovers.push(judge_entry(&entry.admin_dir, &fault, content));
        }
    }
    Ok(leftovers)
}

/// The name of ours that the directory of a worktree stands for.
fn name_of(repository: &Repository, worktree: &Utf8Path) -> Option<WorktreeName> {
    let worktrees = repository.root.join(WORKTREES);
    let path = worktree.strip_prefix(worktrees).ok()?;
    WorktreeName::parse(path.as_str()).ok()
}

/// Says who locked a worktree (git-worktree(1), `lock`).
#[derive(PartialEq)]
enum EntryLock {
    /// Nobody.
    Unlocked,
    /// `git worktree add`, until it has come to its end.
    Initializing,
    /// The user: it is away on purpose.
    Locked,
}

impl EntryLock {
    fn read(admin_dir: &Utf8Path) -> Result<Self, Error> {
        let lock = match files::read(&admin_dir.join("locked"))? {
            None => Self::Unlocked,
            Some(reason) if reason.trim_ascii() == b"initializing" => Self::Initializing,
            Some(_) => Self::Locked,
        };
        Ok(lock)
    }
}

/// What a private git directory says of its worktree.
struct AdminEntry {
    admin_dir: Utf8PathBuf,
    /// The directory of the worktree.
    worktree: Option<Utf8PathBuf>,
    /// The name of ours that the directory stands for.
    name: Option<WorktreeName>,
    lock: EntryLock,
}

impl AdminEntry {
    /// The directory of the worktree, where it is not there any more.
    fn missing_worktree(&self) -> Option<&Utf8PathBuf> {
        let worktree = self.worktree.as_ref();
        worktree.filter(|path| !files::exists(&path.join(".git")))
    }

    /// Why it leads nowhere; none if it leads to a worktree, or may again.
    fn fault(&self) -> Option<EntryFault> {
        if self.lock == EntryLock::Initializing {
            // first, as it may not say yet which worktree it is for
            return Some(EntryFault::Initializing);
        }
        if self.worktree.is_none() {
            return Some(EntryFault::NoWorktree);
        }
        if self.lock == EntryLock::Locked {
            // the worktree may be on a disk that is not mounted
            return None;
        }
        let worktree = self.missing_worktree()?;
        Some(EntryFault::WorktreeIsGone(worktree.clone()))
    }

    /// Whether it is ours to delete, and whether work would go with it.
    fn content(&self, repository: &Repository, now: i64) -> EntryContent {
        let is_initializing = self.lock == EntryLock::Initializing;
        let is_worktree_missing = self.missing_worktree().is_some();
        if is_initializing && !(is_worktree_missing && self.is_old(now)) {
            // a git may be making it at this moment
            return EntryContent::NotOurs;
        }
        let is_ours = self.name.is_some() || files::is_directory(&self.admin_dir.join("agentwt"));
        if !is_ours {
            return EntryContent::NotOurs;
        }
        if is_initializing && !files::exists(&self.admin_dir.join("index")) {
            // git was killed before it checked anything out, and nothing can be read yet
            return EntryContent::NoWork;
        }
        match has_work(repository, &self.admin_dir) {
            Ok(true) => EntryContent::Work,
            Ok(false) => EntryContent::NoWork,
            Err(_) => EntryContent::Unreadable,
        }
    }

    fn is_old(&self, now: i64) -> bool {
        files::modified(&self.admin_dir).is_some_and(|modified| age(now, modified) >= OLD)
    }
}
