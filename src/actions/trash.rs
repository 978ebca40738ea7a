//! Keeps removed worktrees whole until they expire (`docs/decisions/0029-trash-by-rename.md`).
//!
//! The directory is renamed to `.agentwt/worktrees/.trash/<name>-<time>`, the record to
//! `<common git dir>/agentwt/trash/<name>-<time>`. The private git directory stays where it is, locked
//! and with a detached HEAD, so that `git gc` keeps the index and the reflogs; its files that changed
//! wait in the record's `admin/`. The file `removing` of the record says what is being done: with it,
//! a removal and an undo are one state, which either can finish. What is not kept is deleted here, or
//! in the background.

use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use schemars::JsonSchema;
use serde::Serialize;

use crate::actions::bring::bring;
use crate::config::value::Strategy;
use crate::disk::error::DiskError;
use crate::disk::lock::Lock;
use crate::disk::remains::sweep;
use crate::disk::trash_bin::{DELETED, KEPT, TrashBin};
use crate::disk::{entries, files};
use crate::git::process::Git;
use crate::record::worktree::{Removal, Term, TrashStamp};
use crate::system::{processes, programs};
use crate::truth::collect;
use crate::words::error::Error;
use crate::words::name::{CommitId, WorktreeName};
use crate::words::path::RepoPath;
use crate::words::toml_file::to_text;
use crate::worktree::admin_dir::{delete_entry, entry_of};
use crate::worktree::gitdir::read_if_whole;
use crate::worktree::loaded::{LOCKED, Worktree, is_locked_by_us, load_record, names};
use crate::worktree::repository::{Repository, WORKTREES, trash_records};

/// Where commits of removed worktrees are kept, by name and time.
pub const REFS: &str = "refs/agentwt/trash/";
/// The file of a record that says that a removal has begun.
pub const REMOVING: &str = "removing";
/// The file of a record in the trash that says that the ignored files are deleted.
const TRIMMED: &str = "trimmed";
/// The directory of a record for files of the private git directory.
const ADMIN: &str = "admin";
/// What makes git count a branch as checked out (git-worktree(1)), beside HEAD.
const OPERATIONS: [&str; 3] = ["rebase-merge", "rebase-apply", "BISECT_LOG"];
/// How long work is kept by default, in seconds.
const DAYS_30: i64 = 30 * 24 * 60 * 60;
/// How long a worktree without work is kept by default, in seconds.
const HOUR: i64 = 60 * 60;
/// How many ignored files are deleted under one lock.
const AT_ONCE: usize = 500;
/// How long a command deletes itself before it leaves the rest to the background: long enough for
/// some thousand files, too short to be noticed.
const SOON: Duration = Duration::from_millis(50);

/// What the trash keeps of a removed worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Trashed {
    /// The directory below the root; absent if only commits are kept.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub directory: Option<String>,
    /// The time of the removal, as `--from` takes it.
    pub time: String,
    /// The ref that keeps commits.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub reference: Option<String>,
    /// The commit of this ref.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub commit: Option<CommitId>,
    /// The name of the worktree.
    #[serde(skip)]
    pub name: WorktreeName,
    /// What the removal wrote down; none where only commits are kept.
    #[serde(skip)]
    pub removal: Option<Removal>,
}

impl Trashed {
    /// Its name in the trash.
    pub fn id(&self) -> String {
        id(&self.name, &self.time)
    }

    /// The time of its removal, in seconds since the epoch; none when it cannot be read.
    pub fn removed(&self) -> Option<i64> {
        let time = self.time.split('-').next()?;
        let time = jiff::civil::DateTime::strptime("%Y%m%dT%H%M%SZ", time).ok()?;
        let zoned = time.to_zoned(jiff::tz::TimeZone::UTC).ok()?;
        Some(zoned.timestamp().as_second())
    }

    /// The time of its removal, and which one of that second it is.
    fn order(&self) -> (Option<i64>, u32) {
        let number = self.time.split_once('-');
        let number = number.and_then(|(_, number)| number.parse().ok());
        (self.removed(), number.unwrap_or(1))
    }

    /// For how long it is kept; commits alone are kept as long as work.
    pub fn term(&self) -> Term {
        let stamp = self.removal.as_ref().and_then(|one| one.trash.as_ref());
        stamp.map_or(Term::Long, |stamp| stamp.term)
    }

    /// What is kept as long as work: of a worktree without work only the ref, if it has one.
    pub fn lasting(&self) -> Option<&str> {
        match self.term() {
            Term::Long => Some(self.shown()),
            Term::Short => self.reference.as_deref(),
        }
    }

    /// What the user sees of it: the directory below the root, or the ref.
    pub fn shown(&self) -> &str {
        let directory = self.directory.as_deref().or(self.reference.as_deref());
        directory.unwrap_or_default()
    }

    /// Its directory, if that is there.
    pub fn path(&self, repository: &Repository) -> Option<Utf8PathBuf> {
        let path = repository.root.join(self.directory.as_ref()?);
        files::exists(&path).then_some(path)
    }

    /// Whether a user means this one: by directory, time, ref, or abbreviated commit.
    fn is_named(&self, text: &str) -> bool {
        let ends = |full: &str| full == text || full.ends_with(&format!("/{text}"));
        let directory = format!("{KEPT}/{}", self.id());
        let commit = self.commit.as_ref().map_or("", CommitId::as_str);
        self.time == text
            || ends(self.shown())
            || self.reference.as_deref().is_some_and(ends)
            || text.trim_end_matches('/').ends_with(&directory)
            || text.len() >= 7 && commit.starts_with(text)
    }
}

/// The newest, or the one that is named.
pub fn chosen<'t>(
    all: impl Iterator<Item = &'t Trashed>,
    named: Option<&str>,
) -> Option<&'t Trashed> {
    let meant = all.filter(|one| named.is_none_or(|text| one.is_named(text)));
    meant.max_by_key(|one| (one.order(), one.removal.is_some()))
}

/// The name of a removed worktree in the trash.
pub fn id(name: &WorktreeName, time: &str) -> String {
    format!("{name}-{time}")
}

/// The directory of a removed worktree, below the root.
pub fn shown(id: &str) -> String {
    format!("{WORKTREES}/{KEPT}/{id}")
}

/// The record in the trash.
fn record_of(repository: &Repository, id: &str) -> Utf8PathBuf {
    trash_records(repository).join(id)
}

/// The directory in the trash.
fn place_of(repository: &Repository, id: &str) -> Utf8PathBuf {
    repository.root.join(shown(id))
}

/// Lists all that is in the trash, by name, the oldest first.
///
/// # Errors
/// Fails when git or the disk does; an entry that cannot be read is left out.
pub fn list(repository: &Repository) -> Result<Vec<Trashed>, Error> {
    let ids = files::names(&trash_records(repository))?.into_iter();
    let mut all: Vec<Trashed> = ids.filter_map(|id| entry(repository, &id)).collect();
    for found in repository.git.for_each_ref(&[REFS])? {
        let reference = found.name.to_string();
        let parts = reference.strip_prefix(REFS).and_then(|n| n.split_once('/'));
        let Some((name, time)) = parts else {
            continue;
        };
        let mut of_entry = all.iter_mut();
        let of_entry = of_entry.find(|one| one.name.as_str() == name && one.time == time);
        if let Some(one) = of_entry {
            (one.reference, one.commit) = (Some(reference), Some(found.id));
        } else if let Ok(name) = WorktreeName::parse(name) {
            all.push(Trashed {
                directory: None,
                time: time.to_owned(),
                reference: Some(reference),
                commit: Some(found.id),
                name,
                removal: None,
            });
        }
    }
    all.sort_by_key(|one| (one.name.clone(), one.order()));
    Ok(all)
}

fn entry(repository: &Repository, id: &str) -> Option<Trashed> {
    let removal: Removal = read_if_whole(&record_of(repository, id).join(REMOVING))?;
    let time = removal.trash.as_ref()?.time.clone();
    let name = id.strip_suffix(&time)?.strip_suffix('-')?;
    Some(Trashed {
        directory: Some(shown(id)),
        time,
        reference: None,
        commit: None,
        name: WorktreeName::parse(name).ok()?,
        removal: Some(removal),
    })
}

/// Says before which moments what was removed expires, in seconds since the epoch; 0 for never.
pub struct Expiry {
    long: i64,
    short: i64,
}

impl Expiry {
    /// Reads `agentwt.trashExpire`, by default 30 days ago, and `agentwt.trashExpireClean`, by
    /// default an hour ago.
    ///
    /// # Errors
    /// Fails when a setting is not a time, or git fails.
    pub fn read(repository: &Repository) -> Result<Self, Error> {
        let git = &repository.git;
        let now = jiff::Timestamp::now().as_second();
        let long = git.config_get_expiry("agentwt.trashExpire")?;
        let short = git.config_get_expiry("agentwt.trashExpireClean")?;
        Ok(Self {
            long: long.unwrap_or(now - DAYS_30),
            short: short.unwrap_or(now - HOUR),
        })
    }

    /// The moment for this one.
    pub fn of(&self, one: &Trashed) -> i64 {
        match one.term() {
            Term::Long => self.long,
            Term::Short => self.short,
        }
    }

    /// True if its term is over.
    pub fn is_over(&self, one: &Trashed) -> bool {
        one.removed().is_some_and(|removed| removed <= self.of(one))
    }
}

/// Returns a time that nothing in the trash has for this name; `now` is RFC 3339 in UTC.
///
/// # Errors
/// Fails when git does.
pub fn free_time(repository: &Repository, name: &WorktreeName, now: &str) -> Result<String, Error> {
    let now = now.replace([':', '-'], "");
    let mut time = now.clone();
    for number in 2_u32.. {
        let id = id(name, &time);
        let name = format!("{REFS}{name}/{time}");
        if !files::exists(&record_of(repository, &id))
            && !files::exists(&place_of(repository, &id))
            && repository.git.rev_parse_commit(&name)?.is_none()
        {
            break;
        }
        time = format!("{now}-{number}");
    }
    Ok(time)
}

/// Writes the ref that keeps these commits, in place of the commit that it has before; none where
/// there are none.
///
/// # Errors
/// Fails when git does.
pub fn keep_commits(
    repository: &Repository,
    name: &WorktreeName,
    time: &str,
    commits: &[CommitId],
    before: Option<&CommitId>,
) -> Result<Option<(String, CommitId)>, Error> {
    let git = &repository.git;
    let commit = match commits {
        [] => return Ok(None),
        [only] => only.clone(),
        [first, ..] => {
            let tree = repository.objects()?.commit(first)?.tree.to_string();
            let message = format!("git-agentwt: commits of {name} when it was removed\n");
            git.commit_tree(&tree, &message, &commits.iter().collect::<Vec<_>>())?
        }
    };
    let reference = format!("{REFS}{name}/{time}");
    git.update_ref(&reference, &commit, before, "agentwt: kept by a removal")?;
    Ok(Some((reference, commit)))
}

/// What a removal of exactly this worktree has decided that did not come to its end; none when
/// there was none, or it cannot be read: then all is looked at again.
pub fn begun(known: &Worktree) -> Option<Removal> {
    let removal = read_if_whole::<Removal>(&known.dir.join(REMOVING));
    removal.filter(|removal| removal.created == known.record.created)
}

/// What a removal has decided that has come as far as the directory: the rest is to be done.
pub fn going(repository: &Repository, known: &Worktree) -> Option<Removal> {
    begun(known).filter(|begun| is_away(repository, known, begun.trash.as_ref()))
}

/// Whether the directory of a worktree whose removal has begun is away: what then stands in its
/// place is not it. Else the removal did not come that far, or an undo of it has brought all back.
pub fn is_away(repository: &Repository, known: &Worktree, stamp: Option<&TrashStamp>) -> bool {
    let place = |stamp: &TrashStamp| place_of(repository, &id(&known.record.name, &stamp.time));
    !files::exists(&known.record.path) || stamp.is_some_and(|stamp| files::exists(&place(stamp)))
}

/// Moves the directory of a worktree into the trash, and no more: [`put_back`] undoes it, and
/// [`enter`] goes on. What is there already stays.
///
/// # Errors
/// Fails when the disk does: the next call goes on.
pub fn enter_directory(
    repository: &Repository,
    known: &Worktree,
    stamp: &TrashStamp,
) -> Result<(), DiskError> {
    let name = &known.record.name;
    let place = place_of(repository, &id(name, &stamp.time));
    let lock = linked_admin(known).map(|admin| admin.join("locked"));
    if let Some(lock) = lock.filter(|lock| !files::exists(lock)) {
        files::write(&lock, LOCKED.as_bytes())?;
    }
    // with it there, what stands in its place is not ours
    if let (Some(bin), false) = (TrashBin::open(&repository.root)?, files::exists(&place)) {
        if files::exists(&known.record.path) {
            // an undo that was killed has brought these back, and work went on since
            files::remove_directory(&known.dir.join(ADMIN))?;
        }
        bin.keep(name.as_str(), &id(name, &stamp.time))?;
    }
    Ok(())
}

/// Moves a directory out of the trash that [`enter_directory`] has moved, and ends the removal.
///
/// # Errors
/// Fails when something stands in its place by now, or the disk does.
pub fn put_back(
    repository: &Repository,
    known: &Worktree,
    stamp: &TrashStamp,
) -> Result<(), DiskError> {
    let name = &known.record.name;
    if let Some(bin) = TrashBin::open(&repository.root)? {
        bin.bring_back(&id(name, &stamp.time), name.as_str())?;
    }
    end(known)
}

/// The worktree as it stands in the trash.
pub fn in_trash(repository: &Repository, known: &Worktree, time: &str) -> Worktree {
    let place = place_of(repository, &id(&known.record.name, time));
    let mut moved = known.clone();
    if moved.record.strategy == Strategy::Clone {
        moved.record.admin_dir = place.join(".git");
    }
    moved.made_at = Some(std::mem::replace(&mut moved.record.path, place));
    moved
}

/// Moves directory and private git directory of a worktree into the trash; what is there already
/// stays. The record follows by [`move_record`].
///
/// # Errors
/// Fails when the disk or git does: the next call goes on.
pub fn enter(repository: &Repository, known: &Worktree, stamp: &TrashStamp) -> Result<(), Error> {
    enter_directory(repository, known, stamp)?;
    let Some(admin) = linked_admin(known) else {
        return Ok(());
    };
    let place = place_of(repository, &id(&known.record.name, &stamp.time));
    let aside = known.dir.join(ADMIN);
    sweep(admin, &[""]);
    let branch_log = branch_log(repository, known);
    copy_once(&branch_log, &aside.join("branch-log"))?;
    copy_once(&admin.join("logs/HEAD"), &aside.join("head-log"))?;
    for file in ["gitdir", "HEAD"] {
        copy_once(&admin.join(file), &aside.join(file))?;
    }
    for operation in OPERATIONS {
        let from = admin.join(operation);
        if files::exists(&from) {
            files::rename(&from, &aside.join(operation))?;
        }
    }
    files::write(&admin.join("gitdir"), format!("{place}/.git\n").as_bytes())?;
    let detached = stamp.head.as_ref().unwrap_or(&known.record.checked_out);
    set_head(&known.git(repository), admin, &format!("{detached}\n"))
}

/// Brings directory and private git directory back, and ends the removal; the record is at its
/// place. What is back already stays.
///
/// # Errors
/// Fails when the disk or git does: the next call goes on.
pub fn leave(repository: &Repository, known: &Worktree, stamp: &TrashStamp) -> Result<(), Error> {
    let record = &known.record;
    let aside = known.dir.join(ADMIN);
    let admin = linked_admin(known);
    sweep(&known.dir, &[""]);
    // the directory comes back after these: an earlier undo has done that, and work went on since
    if let Some(admin) = admin.filter(|_| is_away(repository, known, Some(stamp))) {
        sweep(admin, &[""]);
        for operation in OPERATIONS {
            if files::exists(&aside.join(operation)) {
                files::rename(&aside.join(operation), &admin.join(operation))?;
            }
        }
        if let Some(head) = files::read(&aside.join("HEAD"))? {
            let head = String::from_utf8_lossy(&head).into_owned();
            let on = stamp.on.as_ref().map(|on| format!("ref: {on}\n"));
            let commit = stamp.head.as_ref().map(|head| format!("{head}\n"));
            let reftable = on.or(commit).unwrap_or_default();
            let head = if is_reftable(&head) { reftable } else { head };
            set_head(&known.git(repository), admin, &head)?;
        }
        for (from, to) in [
            ("gitdir", admin.join("gitdir")),
            ("head-log", admin.join("logs/HEAD")),
            ("branch-log", branch_log(repository, known)),
        ] {
            let from_aside = aside.join(from);
            // git writes no log of a branch that it does not log
            if files::exists(&from_aside) && (from == "gitdir" || files::exists(&to)) {
                // nothing is written beside it: a file among the logs takes the name of a branch
                files::rename(&from_aside, &to)?;
            }
        }
    }
    if let Some(bin) = TrashBin::open(&repository.root)? {
        bin.bring_back(&id(&record.name, &stamp.time), record.name.as_str())?;
    }
    if admin.is_some() && !files::exists(&record.path) {
        // the directory was gone before the removal: what only the index has can be had again
        files::write(&record.path.join(".git"), record.dot_git.as_bytes())?;
    }
    Ok(end(known)?)
}

/// Ends a removal of a worktree whose directory is in its place.
///
/// # Errors
/// Fails when the disk does: the next call goes on.
pub fn end(known: &Worktree) -> Result<(), DiskError> {
    if is_locked_by_us(&known.record.admin_dir) {
        files::remove_file(&known.record.admin_dir.join("locked"))?;
    }
    files::remove_file(&known.dir.join(TRIMMED))?;
    // what says that a removal has begun goes last
    files::remove_directory(&known.dir.join(ADMIN))?;
    files::remove_file(&known.dir.join(REMOVING))
}

/// Moves the record of a worktree into the trash.
///
/// # Errors
/// Fails when the disk does.
pub fn move_record(repository: &Repository, known: &Worktree, time: &str) -> Result<(), DiskError> {
    files::create_directories(&trash_records(repository))?;
    let kept = record_of(repository, &id(&known.record.name, time));
    files::rename(&known.dir, &kept)
}

/// Moves the record of a worktree out of the trash; the removal then counts as begun.
///
/// # Errors
/// Fails when the disk does.
pub fn move_record_back(
    repository: &Repository,
    name: &WorktreeName,
    stamp: &TrashStamp,
) -> Result<(), DiskError> {
    files::create_directories(&repository.records_dir())?;
    let kept = record_of(repository, &id(name, &stamp.time));
    files::rename(&kept, &repository.record_dir(name))?;
    files::remove_if_empty(&trash_records(repository));
    Ok(())
}

/// The record of a worktree in the trash; none where there is none, as for commits and for what a
/// killed `add` left.
///
/// # Errors
/// Fails when it is damaged or cannot be read.
pub fn load(repository: &Repository, one: &Trashed) -> Result<Option<Worktree>, Error> {
    load_record(repository, &one.name, &record_of(repository, &one.id()))
}

/// The directories in the trash for which an interrupted removal or undo accounts.
pub fn ids_of_live_records(repository: &Repository) -> Vec<String> {
    let names = names(repository).unwrap_or_default();
    let ids = names.iter().filter_map(|name| {
        let file = repository.record_dir(name).join(REMOVING);
        Some(id(name, &read_if_whole::<Removal>(&file)?.trash?.time))
    });
    ids.collect()
}

/// Keeps what a killed `add` left and an agent has worked in: as a directory without a record, whose
/// path is returned.
///
/// # Errors
/// Fails when the disk does.
pub fn keep_incomplete(
    repository: &Repository,
    name: &WorktreeName,
    admin: Option<&Utf8Path>,
    now: &str,
) -> Result<Utf8PathBuf, Error> {
    let time = free_time(repository, name, now)?;
    let id = id(name, &time);
    let head = admin.map(|admin| repository.git.on(admin, None).rev_parse_commit("HEAD"));
    let head = head.transpose().ok().flatten().flatten();
    let removal = Removal {
        began: now.to_owned(),
        created: now.to_owned(),
        branch_at: None,
        saved: None,
        trash: Some(TrashStamp {
            time,
            head: head.clone(),
            on: None,
            tip: None,
            term: Term::Long,
        }),
    };
    let place = place_of(repository, &id);
    let file = record_of(repository, &id).join(REMOVING);
    files::write(&file, to_text(&removal).as_bytes())?;
    if let Some(admin) = admin {
        let gitdir = format!("{place}/.git\n");
        files::write(&admin.join("locked"), LOCKED.as_bytes())?;
        files::write(&admin.join("gitdir"), gitdir.as_bytes())?;
        if let Some(head) = head {
            set_head(&repository.git.on(admin, None), admin, &format!("{head}\n"))?;
        }
    }
    if let Some(bin) = TrashBin::open(&repository.root)? {
        bin.keep(name.as_str(), &id)?;
    }
    Ok(place)
}

/// Deletes an expired one whose name is locked: the directory in the background, git's entry, the
/// record, and the ref unless that is kept longer. What was kept as clean is looked at once more:
/// returns false if there is work in it by now, which is then kept as work is, or if a process
/// works in it, which is not yet a reason.
///
/// # Errors
/// Fails when the disk or git does: the next call goes on.
pub fn expire(repository: &Repository, one: &Trashed) -> Result<bool, Error> {
    if one.term() == Term::Long {
        discard(repository, one)?;
        if let (Some(name), Some(commit)) = (&one.reference, &one.commit) {
            repository.git.delete_ref(name, commit)?;
        }
        return Ok(true);
    }
    match look_once_more(repository, one)? {
        Found::Clean => {
            discard(repository, one)?;
            Ok(true)
        }
        Found::InUse => Ok(false),
        Found::Work => {
            keep_as_work(repository, one)?;
            Ok(false)
        }
    }
}

/// Keeps a clean one as long as work.
fn keep_as_work(repository: &Repository, one: &Trashed) -> Result<(), DiskError> {
    let Some(mut removal) = one.removal.clone() else {
        return Ok(());
    };
    if let Some(stamp) = &mut removal.trash {
        stamp.term = Term::Long;
    }
    let file = record_of(repository, &one.id()).join(REMOVING);
    files::write(&file, to_text(&removal).as_bytes())
}

/// What is found in a clean worktree when its term is over.
enum Found {
    /// Nothing came into it.
    Clean,
    /// Nothing came into it, and a process still works in it.
    InUse,
    /// Something came, or that cannot be told.
    Work,
}

/// Looks at a clean worktree in the trash.
fn look_once_more(repository: &Repository, one: &Trashed) -> Result<Found, Error> {
    let Some(path) = one.path(repository) else {
        return Ok(Found::Clean);
    };
    let Ok(Some(known)) = load(repository, one) else {
        return Ok(Found::Work);
    };
    let moved = in_trash(repository, &known, &one.time);
    // before the look, so that what a process writes and leaves in between is found
    let is_used = processes::working_in(&path).is_some_and(|inside| !inside.is_empty());
    let Ok(survey) = collect(repository, &moved) else {
        return Ok(Found::Work);
    };
    let stamp = one.removal.as_ref().and_then(|one| one.trash.as_ref());
    let head = stamp.and_then(|stamp| stamp.head.as_ref());
    let head = head.unwrap_or(&known.record.checked_out);
    let is_at_head = survey.head.head.as_ref() == Some(head);
    if moved.record.strategy == Strategy::Clone {
        bring(repository, &moved)?;
    }
    let is_clean = is_at_head
        && survey.uncommitted(&moved).is_empty()
        && survey.states.hidden.is_empty()
        && survey.nested().is_empty()
        && survey.states.disk.unreadable.is_empty();
    if !is_clean {
        return Ok(Found::Work);
    }
    let found = if is_used { Found::InUse } else { Found::Clean };
    Ok(found)
}

/// Deletes what is in the trash of a removed worktree, but for its ref.
fn discard(repository: &Repository, one: &Trashed) -> Result<(), Error> {
    let id = one.id();
    if let Some(bin) = TrashBin::open(&repository.root)? {
        bin.discard(&id)?;
    }
    let place = place_of(repository, &id);
    if let Some(admin) = entry_of(repository, &place)? {
        delete_entry(repository, &admin)?;
    }
    if let Ok(Some(known)) = load(repository, one)
        && linked_admin(&known).is_some_and(is_half_deleted)
    {
        // an expiry was killed
        delete_entry(repository, &known.record.admin_dir)?;
    }
    files::remove_directory_in_order(&record_of(repository, &id), &[REMOVING])?;
    files::remove_if_empty(&trash_records(repository));
    Ok(())
}

/// True for a private git directory of which the link to its worktree is deleted already.
fn is_half_deleted(admin: &Utf8Path) -> bool {
    !files::exists(&admin.join("gitdir"))
}

/// Deletes the clean ones whose term is over, unless they are in use. Adds a line to `failed` for
/// each that cannot be deleted, and goes on.
///
/// # Errors
/// Fails when a setting is not a time, or the trash cannot be listed.
fn expire_clean(repository: &Repository, failed: &mut Vec<String>) -> Result<(), Error> {
    let expiry = Expiry::read(repository)?;
    for one in list(repository)? {
        if one.term() != Term::Short || !expiry.is_over(&one) {
            continue;
        }
        if let Err(error) = expire_unless_used(repository, &one) {
            failed.push(format!("cannot delete {}: {error}", one.shown()));
        }
    }
    Ok(())
}

/// Deletes an expired one; false if its name is in use, or it is kept.
///
/// # Errors
/// As [`expire`].
pub fn expire_unless_used(repository: &Repository, one: &Trashed) -> Result<bool, Error> {
    match Lock::if_free(&repository.name_lock(&one.name))? {
        // a removal or an undo of it may have ended meanwhile
        Some(_held) if entry(repository, &one.id()).is_some() || one.removal.is_none() => {
            expire(repository, one)
        }
        Some(_) | None => Ok(false),
    }
}

/// Deletes the build output of all that is in the trash. Adds a line to `failed` for each of which
/// that fails, and goes on.
///
/// # Errors
/// Fails when the trash cannot be listed.
fn trim_all(repository: &Repository, failed: &mut Vec<String>) -> Result<(), Error> {
    for one in list(repository)? {
        if let Err(error) = trim(repository, &one) {
            let shown = one.shown();
            failed.push(format!(
                "cannot delete the ignored files of {shown}: {error}"
            ));
        }
    }
    Ok(())
}

/// Deletes the build output of what is in the trash; what was placed stays. An undo may come in
/// between: it brings back what is there by then.
fn trim(repository: &Repository, one: &Trashed) -> Result<(), Error> {
    let done = record_of(repository, &one.id()).join(TRIMMED);
    let (Some(path), false) = (one.path(repository), files::exists(&done)) else {
        return Ok(());
    };
    let Ok(Some(known)) = load(repository, one) else {
        return Ok(());
    };
    let moved = in_trash(repository, &known, &one.time);
    let Ok(survey) = collect(repository, &moved) else {
        return Ok(());
    };
    // the files of a nested repository are ignored here, and may be work there
    let nested = survey.nested();
    let is_nested = |path: &RepoPath| nested.iter().any(|root| path.is_below(root.as_bstr()));
    let output = survey.build_output();
    let ignored: Vec<&RepoPath> = output.filter(|path| !is_nested(path)).collect();
    for some in ignored.chunks(AT_ONCE) {
        let _one_at_a_time = Lock::wait(&repository.name_lock(&one.name))?;
        for file in some.iter().filter(|_| files::exists(&path)) {
            let _ = entries::remove_entry(&path, file);
        }
    }
    let _one_at_a_time = Lock::wait(&repository.name_lock(&one.name))?;
    if files::exists(&path) {
        files::write_beside(&done, b"")?;
    }
    Ok(())
}

/// Deletes without keeping the caller waiting: what takes longer is done by our own program in the
/// background, or here where that cannot be started. `has_trash` says whether something new is in
/// the trash. Returns what cannot be deleted, a line each.
///
/// # Errors
/// Fails when the directory of worktrees, or one above it, is a link or cannot be opened.
pub fn empty_soon(
    repository: &Repository,
    program: &Utf8Path,
    has_trash: bool,
) -> Result<Vec<String>, Error> {
    let left = empty(repository, Some(Instant::now() + SOON))?;
    if let (false, Some(left)) = (has_trash, left) {
        return Ok(left);
    }
    if programs::start_detached(program, &["empty-trash", "--", repository.root.as_str()]) {
        return Ok(Vec::new());
    }
    empty_now(repository)
}

/// Deletes all of it, however long that takes; what cannot be deleted. No step stops the others.
///
/// # Errors
/// As [`empty_soon`].
pub fn empty_now(repository: &Repository) -> Result<Vec<String>, Error> {
    let mut failed = Vec::new();
    if let Err(error) = expire_clean(repository, &mut failed) {
        failed.push(error.to_string());
    }
    let left = empty(repository, None);
    if let Err(error) = trim_all(repository, &mut failed) {
        failed.push(error.to_string());
    }
    failed.extend(left?.unwrap_or_default());
    Ok(failed)
}

fn empty(
    repository: &Repository,
    until: Option<Instant>,
) -> Result<Option<Vec<String>>, DiskError> {
    let Some(bin) = TrashBin::open(&repository.root)? else {
        return Ok(Some(Vec::new()));
    };
    let place = repository.root.join(WORKTREES).join(DELETED);
    let line = |left| format!("cannot delete {place}/{left}");
    let left = bin.delete(DELETED, until)?;
    Ok(left.map(|left| left.into_iter().map(line).collect()))
}

/// The private git directory of a linked worktree, if it is there.
fn linked_admin(known: &Worktree) -> Option<&Utf8Path> {
    let record = &known.record;
    let is_linked = record.strategy == Strategy::Worktree && files::is_directory(&record.admin_dir);
    is_linked.then_some(&*record.admin_dir)
}

fn branch_log(repository: &Repository, known: &Worktree) -> Utf8PathBuf {
    let logs = repository.home().common_dir.join("logs");
    logs.join(known.record.branch.full_ref())
}

fn copy_once(from: &Utf8Path, to: &Utf8Path) -> Result<(), DiskError> {
    let new = files::read(from)?.filter(|_| !files::exists(to));
    new.map_or(Ok(()), |bytes| files::write(to, &bytes))
}

/// Whether a HEAD file stands in for one in a reftable (gitformat-reftable(5)).
fn is_reftable(head: &str) -> bool {
    head.starts_with("ref: refs/heads/.invalid")
}

/// Sets HEAD to what its file would hold, without an entry in its log.
fn set_head(git: &Git, admin: &Utf8Path, head: &str) -> Result<(), Error> {
    let file = admin.join("HEAD");
    let now = files::read(&file)?.unwrap_or_default();
    if is_reftable(&String::from_utf8_lossy(&now)) {
        return Ok(git.set_head(head.trim_end())?);
    }
    Ok(files::write(&file, head.as_bytes())?)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn trashed(time: &str, is_entry: bool) -> Trashed {
        let name = WorktreeName::parse("task").expect("a name");
        let digit = time.bytes().next_back().expect("a time") % 8;
        Trashed {
            removal: is_entry.then(|| Removal {
                began: String::new(),
                created: String::new(),
                branch_at: None,
                saved: None,
                trash: None,
            }),
            directory: is_entry.then(|| shown(&id(&name, time))),
            reference: Some(format!("{REFS}task/{time}")),
            commit: CommitId::parse(&digit.to_string().repeat(40)).ok(),
            name,
            time: time.to_owned(),
        }
    }

    #[test]
    fn the_time_in_a_name_is_read() {
        let seconds = |time: &str| {
            Trashed {
                time: time.to_owned(),
                ..trashed("1", false)
            }
            .removed()
        };
        assert_eq!(seconds("19700102T000001Z"), Some(86_401));
        assert_eq!(seconds("19700102T000001Z-7"), Some(86_401));
        for odd in ["", "Z", "19700102", "19700102T000001", "nonsense"] {
            assert_eq!(seconds(odd), None, "{odd}");
        }
    }

    #[test]
    fn the_newest_is_chosen_unless_one_is_named() {
        let [a, b, c] = [
            "20261122T080000Z-2",
            "20261122T080000Z-10",
            "20261121T080000Z-3",
        ];
        let all = [trashed(a, true), trashed(b, true), trashed(c, false)];
        let time = |named: &str| chosen(all.iter(), Some(named)).map(|one| one.time.as_str());
        assert_eq!(
            chosen(all.iter(), None).map(|one| one.time.as_str()),
            Some(b)
        );
        assert_eq!(time(c), Some(c));
        assert_eq!(
            time(&format!("/r/.agentwt/worktrees/.trash/task-{a}")),
            Some(a)
        );
        assert_eq!(time(&format!("{REFS}task/{a}")), Some(a));
        assert_eq!(time("3333333"), Some(c));
        assert_eq!(time("333"), None);
    }
}
