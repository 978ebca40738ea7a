//! Finds leftovers: by name, and what no name accounts for.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use super::entries::{entries, entry_of, git_locks};
use super::{
    Leftover, LeftoverKind, NameFacts, NameState, OLD, Remedy, Standing, age, ago, judge_entry,
    judge_lock, judge_name, stranger,
};
use crate::disk::files;
use crate::disk::lock::{LockFile, LockOf};
use crate::disk::trash_bin::{DELETED, KEPT};
use crate::git::scratch::SCRATCH;
use crate::name::WorktreeName;
use crate::worktree::WorktreeFault;
use crate::worktree::repository::WORKTREES;
use crate::worktree::trash::{self, begun};
use crate::worktree::{Intent, MadeBy};
use crate::worktree::{RecordState, names};
use crate::worktree::{Repository, Worktree, WorktreeError};

/// What the directories begin with in which files wait to be moved in.
const COPIES: [&str; 2] = [".placing-", ".cloning-"];
/// Files of a record that exist only while a command runs.
const PASSING: [&str; 2] = ["rescue-index", "restore-index"];

/// Holds what is left over of one name.
pub struct NameLeftovers {
    /// All of it.
    pub all: Vec<Leftover>,
    /// The intent, where there is only that.
    pub intent: Option<Intent>,
    /// The worktree, where there is a whole record.
    pub known: Option<Worktree>,
    /// Whether the worktree is there.
    pub is_there: bool,
}

/// Returns every name that has something: a record, a directory, copies, or what is known of a claim.
///
/// # Errors
/// Fails when a directory cannot be read.
pub fn all_names(repository: &Repository) -> Result<BTreeSet<WorktreeName>, WorktreeError> {
    let mut all: BTreeSet<WorktreeName> = names(repository)?.into_iter().collect();
    let mut found = files::names(&repository.root.join(WORKTREES))?;
    let in_root = files::names(&repository.root)?.into_iter();
    found.extend(in_root.filter(|name| name.starts_with(COPIES[0])));
    let claims = files::names(&claims(repository))?.into_iter();
    found.extend(claims.filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned())));
    all.extend(
        found
            .iter()
            .filter_map(|name| WorktreeName::parse(bare(name)).ok()),
    );
    Ok(all)
}

/// A name without what directories of copies begin with.
fn bare(name: &str) -> &str {
    let bare = COPIES.iter().find_map(|start| name.strip_prefix(start));
    bare.unwrap_or(name)
}

/// Finds what is left over of a name, whose lock is ours where something is to be done; `now` is in
/// seconds since the epoch.
///
/// # Errors
/// Fails when it cannot be read; a damaged record is a leftover.
pub fn of_name(
    repository: &Repository,
    name: &WorktreeName,
    now: i64,
) -> Result<NameLeftovers, WorktreeError> {
    let path = repository.worktree_path(name);
    let (mut intent, mut known) = (None, None);
    let recorded = match RecordState::read(repository, name) {
        Ok(RecordState::Missing) if files::exists(&repository.record_dir(name)) => NameState::Empty,
        Ok(RecordState::Missing) => NameState::Nothing,
        Ok(RecordState::Incomplete(found)) => {
            intent = Some(*found);
            NameState::Incomplete
        }
        Ok(RecordState::Complete(found)) => {
            let recorded = whole(&found);
            known = Some(*found);
            recorded
        }
        Err(error) if matches!(error.find(), Some(WorktreeFault::Damaged { .. })) => {
            NameState::Damaged(error.to_string())
        }
        Err(other) => return Err(other),
    };
    let claim = files::modified(&claims(repository).join(format!("{name}.toml")));
    let facts = NameFacts {
        name: name.to_string(),
        copies: copies(repository, name, &recorded),
        standing: standing(repository, &path),
        entry: entry_of(repository, &path)?.is_some(),
        claim: claim.map(|at| age(now, at)),
        recorded,
    };
    let mut all = judge_name(&facts);
    all.extend(passing(repository, name)?);
    Ok(NameLeftovers {
        all,
        intent,
        known,
        is_there: facts.recorded == NameState::There,
    })
}

/// Files of a record that only a running command has: its lock is ours.
fn passing(repository: &Repository, name: &WorktreeName) -> Result<Vec<Leftover>, WorktreeError> {
    let dir = repository.record_dir(name);
    let names = files::names(&dir)?.into_iter();
    let names = names.filter(|file| PASSING.iter().any(|start| file.starts_with(start)));
    let line = |file: String| {
        let what = format!("@git/agentwt/worktrees/{name}/{file}");
        let why = "the process that wrote it was killed";
        let line = Leftover::new(LeftoverKind::Temporary, what, why).at(dir.join(file));
        line.cleared_by(Remedy::Unlink)
    };
    Ok(names.map(line).collect())
}

fn whole(known: &Worktree) -> NameState {
    let record = &known.record;
    let is_there = files::exists(&record.path);
    if begun(known).is_some() {
        return NameState::Begun;
    }
    match record.made_by {
        _ if is_there => NameState::There,
        MadeBy::Git if !files::exists(&record.admin_dir) => NameState::Forgotten,
        MadeBy::Git | MadeBy::Add => NameState::Gone,
    }
}

fn standing(repository: &Repository, path: &Utf8Path) -> Standing {
    let is_link = files::canonical(path).is_ok_and(|real| real != *path);
    if !files::exists(path) {
        Standing::Nothing
    } else if is_link || !files::is_directory(path) {
        Standing::Other
    } else if files::is_empty(path) {
        Standing::Empty
    } else if is_worktree(repository, path) {
        Standing::Worktree
    } else if files::is_directory(&path.join(".git/agentwt")) {
        Standing::Clone
    } else {
        Standing::Other
    }
}

/// Whether a private git directory of this repository belongs to a directory.
fn is_worktree(repository: &Repository, path: &Utf8Path) -> bool {
    let text = files::read(&path.join(".git"))
        .ok()
        .flatten()
        .unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let admin = text
        .strip_prefix("gitdir: ")
        .map(|dir| path.join(dir.trim_end()));
    let admins = repository.common_dir.join("worktrees");
    admin.is_some_and(|admin| admin.starts_with(admins) && files::is_directory(&admin))
}

/// Among the worktrees; and in the root, where only a record says that it is ours.
fn copies(repository: &Repository, name: &WorktreeName, recorded: &NameState) -> Vec<String> {
    let mut all: Vec<String> = COPIES
        .iter()
        .map(|start| format!("{WORKTREES}/{start}{name}"))
        .collect();
    if !matches!(
        recorded,
        NameState::Nothing | NameState::Empty | NameState::Damaged(_)
    ) {
        all.push(format!("{}{name}", COPIES[0]));
    }
    all.retain(|path| files::exists(&repository.root.join(path)));
    all
}

fn claims(repository: &Repository) -> Utf8PathBuf {
    repository.common_dir.join("agentwt/claims")
}

/// Finds the lock files of ours that nobody holds.
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
        .filter(|name| Utf8Path::new(name).extension() == Some("lock"));
    paths.extend(of_claims.map(|name| claims.join(name)));
    let lock = |path: Utf8PathBuf| LockFile {
        of: LockOf::Name(path.file_name().unwrap_or_default().to_owned()),
        path,
        waiting: repository.waiting.clone(),
    };
    let there = paths.into_iter().filter(|path| files::exists(path));
    Ok(there.map(lock).filter(|lock| !lock.is_held()).collect())
}

/// Finds what no name accounts for: strangers among the worktrees, private git directories, locks of
/// git, unfinished files and objects of ours, and what has expired in the trash.
///
/// # Errors
/// Fails when git or the disk does.
pub fn shared(repository: &Repository, now: i64) -> Result<Vec<Leftover>, WorktreeError> {
    let mut all = strangers(repository)?;
    all.extend(entries(repository, now)?.iter().map(judge_entry));
    let known = known(repository)?;
    all.extend(git_locks(repository, &known)?.iter().map(judge_lock));
    all.extend(temporaries(repository, now)?);
    all.extend(expired(repository, now)?);
    Ok(all)
}

/// What stands among the worktrees or in the trash, and nothing of ours can be.
fn strangers(repository: &Repository) -> Result<Vec<Leftover>, WorktreeError> {
    let is_ours = |name: &str| {
        matches!(name, KEPT | DELETED | ".gitignore") || WorktreeName::parse(bare(name)).is_ok()
    };
    let worktrees = files::names(&repository.root.join(WORKTREES))?.into_iter();
    let mut found: Vec<String> = worktrees
        .filter(|name| !is_ours(name))
        .map(|name| format!("{WORKTREES}/{name}"))
        .collect();
    let kept = files::names(&repository.root.join(WORKTREES).join(KEPT))?;
    if !kept.is_empty() {
        let known: Vec<String> = trash::list(repository)?
            .iter()
            .map(trash::Trashed::id)
            .collect();
        let of_live = |id: &String| trash::is_of_live_record(repository, id);
        let unknown = kept.iter().filter(|id| !known.contains(id) && !of_live(id));
        found.extend(unknown.map(|id| format!("{WORKTREES}/{KEPT}/{id}")));
    }
    Ok(found.iter().map(|path| stranger(path)).collect())
}

/// Files and objects that a killed process of ours was writing, old enough that none can be at it.
fn temporaries(repository: &Repository, now: i64) -> Result<Vec<Leftover>, WorktreeError> {
    let common = &repository.common_dir;
    let mut directories = vec![common.clone(), common.join("info"), claims(repository)];
    let records = names(repository)?;
    directories.extend(records.iter().map(|name| repository.record_dir(name)));
    let admins = common.join("worktrees");
    directories.extend(files::names(&admins)?.iter().map(|id| admins.join(id)));
    let mut found = Vec::new();
    for directory in directories {
        let names = files::names(&directory)?.into_iter();
        let names = names.filter(|name| name.starts_with(files::TEMPORARY));
        found.extend(names.map(|name| directory.join(name)));
    }
    // git calls its own ones `tmp_obj_…`, and deletes them
    let objects = common.join("objects");
    let written = files::names(&objects)?.into_iter();
    let written = written.filter(|name| name.starts_with(".tmp") || name.starts_with(SCRATCH));
    found.extend(written.map(|name| objects.join(name)));
    let line = |path: Utf8PathBuf| {
        let since = age(now, files::modified(&path)?);
        let scratch = path.file_name()?.strip_prefix(SCRATCH);
        let name = scratch.and_then(|name| WorktreeName::parse(name).ok());
        let is_written = name.is_some_and(|name| repository.name_lock(&name).is_held());
        if since < OLD || is_written || files::is_directory(&path) != scratch.is_some() {
            return None;
        }
        let inside = path.strip_prefix(common);
        let what = inside.map_or_else(|_| path.to_string(), |inside| format!("@git/{inside}"));
        let why = format!("the process that wrote it was killed {} ago", ago(since));
        let line = Leftover::new(LeftoverKind::Temporary, what, why).at(path);
        Some(line.cleared_by(Remedy::Delete))
    };
    Ok(found.into_iter().filter_map(line).collect())
}

/// What was removed longer ago than it is kept.
fn expired(repository: &Repository, now: i64) -> Result<Vec<Leftover>, WorktreeError> {
    let all = trash::list(repository)?;
    if all.is_empty() {
        return Ok(Vec::new());
    }
    let moment = trash::expiry(repository)?;
    let line = |one: &trash::Trashed| {
        let removed = one.removed.filter(|removed| *removed <= moment)?;
        let why = format!("it was removed {} ago", ago(age(now, removed)));
        let line = Leftover::new(LeftoverKind::Trash, one.shown(), why);
        Some(line.cleared_by(Remedy::Unlink))
    };
    Ok(all.iter().filter_map(line).collect())
}

/// All worktrees with a whole record.
fn known(repository: &Repository) -> Result<Vec<Worktree>, WorktreeError> {
    let mut all = Vec::new();
    for name in names(repository)? {
        if let Ok(RecordState::Complete(known)) = RecordState::read(repository, &name) {
            all.push(*known);
        }
    }
    Ok(all)
}
