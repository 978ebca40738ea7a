//! Deletes what has expired in the trash, and the build output of what is kept there.

use std::time::{Duration, Instant};

use camino::Utf8Path;

use crate::actions::bring::bring;
use crate::actions::trash::enter::in_trash;
use crate::actions::trash::entry::{REMOVING, Trashed};
use crate::actions::trash::expiry::Expiry;
use crate::actions::trash::hold::release;
use crate::actions::trash::list::{directory_of, list, load, place_of, read_entry, record_of};
use crate::actions::trash::undo::TRIMMED;
use crate::config::value::Strategy;
use crate::disk::error::DiskError;
use crate::disk::lock::Lock;
use crate::disk::trash_bin::TrashBin;
use crate::disk::{entries, files};
use crate::record::worktree::Term;
use crate::system::processes;
use crate::system::programs;
use crate::truth::collect;
use crate::truth::survey::Survey;
use crate::truth::uncommitted::Uncommitted;
use crate::words::error::Error;
use crate::words::name::CommitId;
use crate::words::path::RepoPath;
use crate::words::toml_file::to_text;
use crate::worktree::admin_dir::{delete_entry, entry_of};
use crate::worktree::gitdir::TRASHED_GIT_DIR;
use crate::worktree::loaded::Worktree;
use crate::worktree::repository::{Repository, WORKTREES, trash_records};

/// How many ignored files are deleted under one lock.
const AT_ONCE: usize = 500;
/// How long a command deletes itself before it leaves the rest to the background: long enough for
/// some thousand files, too short to be noticed.
const SOON: Duration = Duration::from_millis(50);
/// The private git directory in a record, once it is being deleted.
const EXPIRED_GIT_DIR: &str = "expired-git";

/// Says what became of an entry whose term is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Expired {
    /// It is gone.
    Deleted,
    /// It stays, as it is in use or has work; or another command has deleted it.
    Kept,
}

/// Says whether a removal that just ended has put something into the trash.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TrashChange {
    /// There is a new entry.
    Entered,
    /// There is none.
    Unchanged,
}

impl TrashChange {
    /// That of removals with these terms.
    pub fn of(mut terms: impl Iterator<Item = Term>) -> Self {
        match terms.next() {
            Some(_) => Self::Entered,
            None => Self::Unchanged,
        }
    }
}

/// Says what a worktree that was clean is when its term is over.
enum StateAtExpiry {
    /// Nothing came into it.
    Clean,
    /// Nothing came into it, and a process still works in it.
    InUse,
    /// Something came, or that cannot be told.
    HasWork,
}

/// Deletes without keeping the caller waiting: what takes longer is done by our own program in the
/// background, or here where that cannot be started. Returns what cannot be deleted, a line each.
///
/// # Errors
/// Fails when the directory of worktrees, or one above it, is a link or cannot be opened.
pub fn empty_soon(
    repository: &Repository,
    program: &Utf8Path,
    change: TrashChange,
) -> Result<Vec<String>, Error> {
    let left = delete_expired(repository, Some(Instant::now() + SOON))?;
    if change == TrashChange::Unchanged
        && let Some(left) = left
    {
        return Ok(left);
    }
    let command = ["empty-trash", "--", repository.root.as_str()];
    if programs::start_detached(program, &command) {
        return Ok(Vec::new());
    }
    empty_now(repository)
}

/// Deletes all of it, however long that takes; what cannot be deleted. No step stops the others.
///
/// # Errors
/// As [`empty_soon`].
pub fn empty_now(repository: &Repository) -> Result<Vec<String>, Error> {
    let mut failures = Vec::new();
    if let Err(error) = expire_clean(repository, &mut failures) {
        failures.push(error.to_string());
    }
    let left = delete_expired(repository, None);
    if let Err(error) = trim_all(repository, &mut failures) {
        failures.push(error.to_string());
    }
    failures.extend(left?.unwrap_or_default());
    Ok(failures)
}

/// Deletes the directories of entries that have expired; none where that takes longer.
fn delete_expired(
    repository: &Repository,
    deadline: Option<Instant>,
) -> Result<Option<Vec<String>>, DiskError> {
    let Some(bin) = TrashBin::open(&repository.root)? else {
        return Ok(Some(Vec::new()));
    };
    let Some(left) = bin.delete_expired(deadline)? else {
        return Ok(None);
    };
    let worktrees = repository.root.join(WORKTREES);
    let mut lines = Vec::new();
    for path in left {
        lines.push(format!("cannot delete {worktrees}/{path}"));
    }
    Ok(Some(lines))
}

/// Deletes the clean ones whose term is over, unless they are in use. Adds a line to `failures` for
/// each that cannot be deleted, and goes on.
///
/// # Errors
/// Fails when a setting is not a time, or the trash cannot be listed.
fn expire_clean(repository: &Repository, failures: &mut Vec<String>) -> Result<(), Error> {
    let expiry = Expiry::read(repository)?;
    for entry in list(repository)? {
        if entry.term() != Term::Short || !expiry.is_over(&entry) {
            continue;
        }
        if let Err(error) = expire_unless_used(repository, &expiry, &entry) {
            failures.push(format!("cannot delete {}: {error}", entry.shown()));
        }
    }
    Ok(())
}

/// Deletes an entry whose term is over, unless the lock of its name is held: the record, the
/// directory (in the background), and for the long term the ref. A ref of the short term stays, as
/// an entry of its own. What was kept as clean is looked at once more: with work in it by now, it
/// is kept as work is; while a process works in it, it stays.
///
/// # Errors
/// Fails when the disk or git does: the next call goes on.
pub fn expire_unless_used(
    repository: &Repository,
    expiry: &Expiry,
    entry: &Trashed,
) -> Result<Expired, Error> {
    let Some(_held) = Lock::if_free(&repository.name_lock(&entry.name))? else {
        return Ok(Expired::Kept);
    };
    let Some(entry) = read_again(repository, entry) else {
        // a removal or an undo of it has ended meanwhile
        return Ok(Expired::Kept);
    };
    if !expiry.is_over(&entry) {
        // another process has found work in it meanwhile
        return Ok(Expired::Kept);
    }
    match entry.term() {
        Term::Long => {
            discard(repository, &entry)?;
            if let Some(name) = &entry.reference
                && let Some(commit) = &entry.commit
            {
                repository.git.delete_ref(name, commit)?;
            }
            Ok(Expired::Deleted)
        }
        Term::Short => expire_clean_entry(repository, &entry),
    }
}

/// Reads an entry as it stands now; none if it is gone. Commits alone have nothing to be read.
fn read_again(repository: &Repository, entry: &Trashed) -> Option<Trashed> {
    if entry.removal.is_none() {
        return Some(entry.clone());
    }
    let now = read_entry(repository, &entry.id())?;
    Some(Trashed {
        reference: entry.reference.clone(),
        commit: entry.commit.clone(),
        ..now
    })
}

/// Deletes a clean entry whose term is over, unless it is in use, or has work by now.
fn expire_clean_entry(repository: &Repository, entry: &Trashed) -> Result<Expired, Error> {
    match look_once_more(repository, entry)? {
        StateAtExpiry::Clean => {
            discard(repository, entry)?;
            Ok(Expired::Deleted)
        }
        StateAtExpiry::InUse => Ok(Expired::Kept),
        StateAtExpiry::HasWork => {
            keep_as_work(repository, entry)?;
            Ok(Expired::Kept)
        }
    }
}

/// Keeps a clean entry as long as work.
fn keep_as_work(repository: &Repository, entry: &Trashed) -> Result<(), DiskError> {
    let Some(mut removal) = entry.removal.clone() else {
        return Ok(());
    };
    if let Some(stamp) = &mut removal.trash {
        stamp.term = Term::Long;
    }
    let file = record_of(repository, &entry.id()).join(REMOVING);
    files::write(&file, to_text(&removal).as_bytes())
}

/// Says what a worktree in the trash, which was clean when it was removed, is now: clean also where
/// its directory is gone. Brings home what only a clone has.
fn look_once_more(repository: &Repository, entry: &Trashed) -> Result<StateAtExpiry, Error> {
    let Some(path) = directory_of(repository, entry) else {
        return Ok(StateAtExpiry::Clean);
    };
    let Ok(Some(worktree)) = load(repository, entry) else {
        return Ok(StateAtExpiry::HasWork);
    };
    let moved = in_trash(repository, &worktree, &entry.time);
    // before the look, so that what a process writes and leaves in between is found
    let is_used = processes::working_in(&path).is_some_and(|inside| !inside.is_empty());
    let Ok(survey) = collect(repository, &moved) else {
        return Ok(StateAtExpiry::HasWork);
    };
    if moved.record.strategy == Strategy::Clone {
        bring(repository, &moved)?;
    }
    let own_repository = moved.readable_repository(repository);
    let head = survey.head.head.as_ref();
    if head != Some(head_at_removal(entry, &worktree))
        || !is_without_work(&own_repository, &moved, &survey)?
    {
        return Ok(StateAtExpiry::HasWork);
    }
    if is_used {
        return Ok(StateAtExpiry::InUse);
    }
    Ok(StateAtExpiry::Clean)
}

/// The commit that HEAD was on when the worktree was removed.
fn head_at_removal<'a>(entry: &'a Trashed, worktree: &'a Worktree) -> &'a CommitId {
    let removal = entry.removal.as_ref();
    let stamp = removal.and_then(|removal| removal.trash.as_ref());
    let head = stamp.and_then(|stamp| stamp.head.as_ref());
    head.unwrap_or(&worktree.record.checked_out)
}

/// True if nothing was written since the last commit, and all can be read.
///
/// # Errors
/// Fails when git, an object or the disk does.
fn is_without_work(
    repository: &Repository,
    worktree: &Worktree,
    survey: &Survey,
) -> Result<bool, Error> {
    let paths = survey.uncommitted(worktree);
    let uncommitted = Uncommitted::without_converted(repository, worktree, survey, paths)?;
    Ok(uncommitted.paths.is_empty()
        && uncommitted.converted.is_empty()
        && survey.states.hidden.is_empty()
        && survey.inner_repositories(&worktree.record.path).is_empty()
        && survey.states.disk.unreadable.is_empty())
}

/// Deletes what is in the trash of a removed worktree, but for its ref.
fn discard(repository: &Repository, entry: &Trashed) -> Result<(), Error> {
    let id = entry.id();
    if let Some(bin) = TrashBin::open(&repository.root)? {
        bin.expire(&id)?;
    }
    discard_registered(repository, entry)?;
    let record = record_of(repository, &id);
    let git_dir = record.join(TRASHED_GIT_DIR);
    if files::exists(&git_dir) {
        // so that no undo takes it for whole
        files::rename(&git_dir, &record.join(EXPIRED_GIT_DIR))?;
    }
    release(repository, &id, &record.join(REMOVING))?;
    files::remove_directory_in_order(&record, &[REMOVING])?;
    files::remove_if_empty(&trash_records(repository));
    Ok(())
}

/// Deletes the private git directory that an older version left registered.
fn discard_registered(repository: &Repository, entry: &Trashed) -> Result<(), Error> {
    let place = place_of(repository, &entry.id());
    if let Some(git_dir) = entry_of(repository, &place)? {
        delete_entry(repository, &git_dir)?;
    }
    let Ok(Some(worktree)) = load(repository, entry) else {
        return Ok(());
    };
    let git_dir = &worktree.record.admin_dir;
    let is_linked = worktree.record.strategy == Strategy::Worktree;
    // an expiry was killed after the link to the worktree
    if is_linked && files::is_directory(git_dir) && !files::exists(&git_dir.join("gitdir")) {
        delete_entry(repository, git_dir)?;
    }
    Ok(())
}

/// Deletes the build output of all that is in the trash. Adds a line to `failures` for each of
/// which that fails, and goes on.
///
/// # Errors
/// Fails when the trash cannot be listed.
fn trim_all(repository: &Repository, failures: &mut Vec<String>) -> Result<(), Error> {
    for entry in list(repository)? {
        if let Err(error) = trim(repository, &entry) {
            let shown = entry.shown();
            failures.push(format!(
                "cannot delete the ignored files of {shown}: {error}"
            ));
        }
    }
    Ok(())
}

/// Deletes the build output of what is in the trash, once; what was placed stays. An undo may come
/// in between: it brings back what is there by then.
fn trim(repository: &Repository, entry: &Trashed) -> Result<(), Error> {
    let done = record_of(repository, &entry.id()).join(TRIMMED);
    if files::exists(&done) {
        return Ok(());
    }
    let Some(directory) = directory_of(repository, entry) else {
        return Ok(());
    };
    let Some(output) = find_build_output(repository, entry, &directory) else {
        return Ok(());
    };
    for chunk in output.chunks(AT_ONCE) {
        let _one_at_a_time = Lock::wait(&repository.name_lock(&entry.name))?;
        for file in chunk {
            if files::exists(&directory) {
                let _ = entries::remove_entry(&directory, file);
            }
        }
    }
    let _one_at_a_time = Lock::wait(&repository.name_lock(&entry.name))?;
    if files::exists(&directory) {
        files::write_beside(&done, b"")?;
    }
    Ok(())
}

/// The build output in the directory of an entry; none where the worktree cannot be read.
fn find_build_output(
    repository: &Repository,
    entry: &Trashed,
    directory: &Utf8Path,
) -> Option<Vec<RepoPath>> {
    let worktree = load(repository, entry).ok()??;
    let moved = in_trash(repository, &worktree, &entry.time);
    let survey = collect(repository, &moved).ok()?;
    // the files of a nested repository are ignored here, and may be work there
    let nested = survey.inner_repositories(directory);
    let mut output: Vec<RepoPath> = survey.build_output().cloned().collect();
    output.retain(|file| !nested.iter().any(|root| file.is_below(root.as_bstr())));
    Some(output)
}
