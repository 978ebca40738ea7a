//! Finds leftovers: by name, and what no name accounts for.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::leftover::incomplete::has_work;
use crate::actions::leftover::{
    EntryStanding, Leftover, LeftoverKind, LockFacts, OLD, age, ago, judge_claim, judge_entry,
    judge_lock, judge_name, stranger,
};
use crate::actions::trash::enter::pending_move;
use crate::actions::trash::entry::Trashed;
use crate::actions::trash::expiry::Expiry;
use crate::actions::trash::list::ids_of_pending_removals;
use crate::disk::files;
use crate::disk::lock::LockFile;
use crate::disk::locked_file::{LockDepth, lock_files};
use crate::disk::trash_bin::{EXPIRED, OLD_BIN, TRASH};
use crate::git::quarantined_objects::SCRATCH;
use crate::record::worktree::{Intent, MadeBy};
use crate::system::processes;
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::worktree::admin_dir::{entry_of, worktree_of};
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::{RecordState, Worktree, entry_of_elsewhere, names};
use crate::worktree::private_git::PrivateGit;
use crate::worktree::repository::{Repository, WORKTREES};

/// What the directories begin with in which files wait to be moved in.
const COPIES: [&str; 2] = [".placing-", ".cloning-"];
/// What files of a killed process of version 0.1 begin with, in a record.
const WRITTEN: [&str; 2] = ["rescue-index", "restore-index"];

/// Holds what is left over of one name.
#[derive(Default)]
pub struct NameLeftovers {
    /// All of it.
    pub all: Vec<Leftover>,
    /// The intent, where there is only that.
    pub intent: Option<Intent>,
    /// The worktree, where there is a whole record.
    pub worktree: Option<Worktree>,
    /// Whether the worktree is there.
    pub is_there: bool,
}

/// Returns every name that has something: a record, a directory, copies, or what is known of a
/// claim.
///
/// # Errors
/// Fails when a directory cannot be read.
pub fn all_names(repository: &Repository) -> Result<BTreeSet<WorktreeName>, Error> {
    let mut all: BTreeSet<WorktreeName> = names(repository)?.into_iter().collect();
    let mut found = files::names(&repository.root.join(WORKTREES))?;
    let in_root = files::names(&repository.root)?.into_iter();
    found.extend(in_root.filter(|name| name.starts_with(COPIES[0])));
    let claims = files::names(&claims(repository))?.into_iter();
    found.extend(claims.filter_map(|name| Some(name.strip_suffix(".toml")?.to_owned())));
    let parsed = found.iter().map(|name| WorktreeName::parse(bare(name)));
    all.extend(parsed.filter_map(Result::ok));
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
) -> Result<NameLeftovers, Error> {
    let dir = repository.record_dir(name);
    let mut found = NameLeftovers::default();
    let mut damage = files::exists(&dir).then(|| "there is no record in it".to_owned());
    match RecordState::read(repository, name) {
        Ok(RecordState::Missing) => {}
        Ok(RecordState::Incomplete(intent)) => {
            let why = "`add` was killed; work in it is kept in the trash";
            found.add_of_name(LeftoverKind::Incomplete, name, why);
            found.intent = Some(*intent);
        }
        Ok(RecordState::Complete(worktree)) => found.add_of_worktree(repository, *worktree),
        Err(error) => match error.find() {
            Some(WorktreeFault::Damaged { .. }) => damage = Some(error.to_string()),
            Some(WorktreeFault::Elsewhere { .. }) => {
                let leftover =
                    Leftover::new(LeftoverKind::Record, name.as_str(), error.to_string());
                found.all.push(Leftover {
                    help: miette::Diagnostic::help(&error).map(|help| help.to_string()),
                    ..leftover
                });
                return Ok(found);
            }
            _ => return Err(error),
        },
    }
    let is_recorded = found.intent.is_some() || found.worktree.is_some();
    if !is_recorded {
        found
            .all
            .extend(unrecorded(repository, name, damage.as_deref(), now)?);
    }
    let mut copies = COPIES
        .map(|start| format!("{WORKTREES}/{start}{name}"))
        .to_vec();
    if is_recorded {
        // in the root only a record says that it is ours
        copies.push(format!("{}{name}", COPIES[0]));
    }
    for copy in copies {
        let path = repository.root.join(&copy);
        if files::exists(&path) {
            let why = "the process that copied into it was killed";
            let leftover = Leftover::new(LeftoverKind::Copies, copy, why);
            found.all.push(leftover.at(path).going());
        }
    }
    Ok(found)
}

impl NameLeftovers {
    /// Adds what goes, of which the name says all.
    fn add_of_name(&mut self, kind: LeftoverKind, name: &WorktreeName, why: &str) {
        self.all
            .push(Leftover::new(kind, name.as_str(), why).going());
    }

    /// Adds what there is of a worktree with a whole record.
    fn add_of_worktree(&mut self, repository: &Repository, worktree: Worktree) {
        let record = &worktree.record;
        // what a run left there is not deleted unasked
        let is_git = record.made_by == MadeBy::Git && !PrivateGit::new(&worktree).is_there();
        if pending_move(repository, &worktree).is_some() {
            let why = "its removal was interrupted";
            self.add_of_name(LeftoverKind::Worktree, &record.name, why);
        } else if files::exists(&record.path) {
            self.is_there = true;
        } else if is_git && !files::exists(&record.admin_dir) {
            let why = "git has no such worktree any more";
            let leftover = Leftover::new(LeftoverKind::Record, record.name.as_str(), why);
            self.all.push(leftover.going().at(&worktree.dir));
        } else {
            let why = "its directory is gone";
            self.add_of_name(LeftoverKind::Worktree, &record.name, why);
        }
        self.worktree = Some(worktree);
    }
}

/// What there is of a name without a record that can be read: a directory, and what is known of a
/// claim.
fn unrecorded(
    repository: &Repository,
    name: &WorktreeName,
    damage: Option<&str>,
    now: i64,
) -> Result<Vec<Leftover>, Error> {
    let path = repository.worktree_path(name);
    let entry = entry_of(repository, &path)?.is_some();
    let stands = standing(&path, entry);
    let place = match damage {
        Some(_) => repository.record_dir(name),
        None => path,
    };
    let mut leftovers = Vec::new();
    if let Some(leftover) = judge_name(name.as_str(), stands, entry, damage) {
        leftovers.push(leftover.at(place));
    }
    let claim = claims(repository).join(format!("{name}.toml"));
    if damage.is_none()
        && let Some(written) = files::modified(&claim)
    {
        leftovers.push(judge_claim(name.as_str(), age(now, written)).at(claim));
    }
    Ok(leftovers)
}

fn standing(path: &Utf8Path, entry: bool) -> EntryStanding {
    let is_reached = files::canonical(path).is_ok_and(|real| real == *path);
    match is_reached && files::is_directory(path) {
        true if files::is_empty(path) => EntryStanding::Empty,
        true if entry => EntryStanding::Worktree,
        true if files::is_directory(&path.join(".git/agentwt")) => EntryStanding::Clone,
        false if !files::exists(path) => EntryStanding::Nothing,
        true | false => EntryStanding::Other,
    }
}

fn claims(repository: &Repository) -> Utf8PathBuf {
    repository.common_dir.join("agentwt/claims")
}

/// Finds the lock files of ours that no process holds.
///
/// # Errors
/// Fails when their directory cannot be read.
pub fn dead_locks(repository: &Repository) -> Result<Vec<LockFile>, Error> {
    let locks = repository.common_dir.join("agentwt/locks");
    let claims = claims(repository);
    let mut paths = vec![repository.shared_lock().path];
    paths.extend(files::names(&locks)?.iter().map(|name| locks.join(name)));
    let of_claims = files::names(&claims)?.into_iter();
    let of_claims = of_claims.filter(|name| Utf8Path::new(name).extension() == Some("lock"));
    paths.extend(of_claims.map(|name| claims.join(name)));
    let lock = |path: Utf8PathBuf| LockFile {
        name: path.file_name().map(str::to_owned),
        path,
        waiting: repository.waiting.clone(),
    };
    let there = paths.into_iter().filter(files::exists);
    Ok(there.map(lock).filter(|lock| !lock.is_held()).collect())
}

/// Finds what no name accounts for: strangers among the worktrees, private git directories, locks
/// of git, unfinished files and objects of ours, and what has expired in the trash. `worktrees` are
/// all that have a whole record.
///
/// # Errors
/// Fails when git or the disk does.
pub fn shared(
    repository: &Repository,
    worktrees: &[Worktree],
    in_trash: &[Trashed],
    now: i64,
) -> Result<Vec<Leftover>, Error> {
    let mut all = strangers(repository, in_trash)?;
    all.extend(entries(repository, now)?);
    all.extend(git_locks(repository, worktrees)?);
    all.extend(temporaries(repository, now)?);
    if !in_trash.is_empty() {
        let expiry = Expiry::read(repository)?;
        let expired = in_trash.iter().filter(|one| expiry.is_over(one));
        all.extend(expired.filter_map(|one| {
            let removed = one.removed()?;
            let why = format!("it was removed {} ago", ago(age(now, removed)));
            Some(Leftover::new(LeftoverKind::Trash, one.shown(), why).going())
        }));
    }
    Ok(all)
}

/// What stands among the worktrees or in the trash, and nothing of ours can be.
fn strangers(repository: &Repository, in_trash: &[Trashed]) -> Result<Vec<Leftover>, Error> {
    let mut found = Vec::new();
    for name in files::names(&repository.root.join(WORKTREES))? {
        let is_ours = matches!(&*name, TRASH | OLD_BIN | ".gitignore");
        if !is_ours && WorktreeName::parse(bare(&name)).is_err() {
            found.push(stranger(&format!("{WORKTREES}/{name}")));
        }
    }
    let mut accounted = ids_of_pending_removals(repository);
    accounted.extend(in_trash.iter().map(Trashed::id));
    for id in files::names(&repository.root.join(WORKTREES).join(TRASH))? {
        if !accounted.contains(&id) && !id.starts_with(EXPIRED) {
            found.push(stranger(&format!("{WORKTREES}/{TRASH}/{id}")));
        }
    }
    Ok(found)
}

/// Files and objects that a killed process of ours was writing, old enough that none can be at it.
fn temporaries(repository: &Repository, now: i64) -> Result<Vec<Leftover>, Error> {
    let common = &repository.common_dir;
    let mut directories = vec![common.clone(), common.join("info"), claims(repository)];
    let admins = common.join("worktrees");
    directories.extend(files::names(&admins)?.iter().map(|id| admins.join(id)));
    let records = names(repository)?.into_iter();
    directories.extend(records.map(|name| repository.record_dir(&name)));
    let mut found = Vec::new();
    for directory in directories {
        let names = files::names(&directory)?.into_iter();
        let starts = |name: &String| WRITTEN.iter().any(|start| name.starts_with(start));
        let is_record = directory.starts_with(repository.records_dir());
        let is_ours =
            |name: &String| name.starts_with(files::TEMPORARY) || is_record && starts(name);
        found.extend(names.filter(is_ours).map(|name| directory.join(name)));
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
        let line = Leftover::new(LeftoverKind::Temporary, what, why);
        Some(line.at(path).going())
    };
    Ok(found.into_iter().filter_map(line).collect())
}

/// Looks at the private git directories that lead nowhere (gitrepository-layout(5),
/// `worktrees/<id>/`). What a name accounts for is left to it.
fn entries(repository: &Repository, now: i64) -> Result<Vec<Leftover>, Error> {
    let all = repository.common_dir.join("worktrees");
    let names = names(repository)?;
    let entry = |name| entry_of_elsewhere(repository, name);
    let elsewhere: Vec<String> = names.iter().filter_map(entry).collect();
    let mut found = Vec::new();
    for id in files::names(&all)? {
        if elsewhere.contains(&id) {
            continue;
        }
        let admin = all.join(id);
        let worktree = worktree_of(&admin);
        // the name of ours that it is for, as far as its path tells
        let below = worktree.as_deref().and_then(|worktree| {
            let path = worktree.strip_prefix(repository.root.join(WORKTREES));
            WorktreeName::parse(path.ok()?.as_str()).ok()
        });
        let is_recorded = |name: &WorktreeName| files::exists(&repository.record_dir(name));
        if below.as_ref().is_some_and(is_recorded) {
            continue;
        }
        let locked = files::read(&admin.join("locked"))?;
        let lock = locked.as_ref().map(|why| why.trim_ascii());
        let is_initializing = lock == Some(b"initializing");
        let is_absent = |path: &Utf8PathBuf| !files::exists(&path.join(".git"));
        let (why, by_git) = match &worktree {
            _ if is_initializing => (
                "`git worktree add` was killed".to_owned(),
                format!("if no git runs here: rm {admin}/locked && git worktree prune"),
            ),
            None => ("it names no worktree".into(), "git worktree prune".into()),
            // a locked one is away on purpose (git-worktree(1), `lock`)
            Some(path) if lock.is_none() && is_absent(path) => (
                format!("{path} is not there"),
                format!(
                    "git worktree prune; or if it was moved: git worktree repair <its new path> \
                        ({admin})"
                ),
            ),
            Some(_) => continue,
        };
        // no git is at it any more
        let is_old = || files::modified(&admin).is_some_and(|at| age(now, at) >= OLD);
        let is_over = !is_initializing || worktree.as_ref().is_some_and(is_absent) && is_old();
        let ours = is_over && (below.is_some() || files::is_directory(&admin.join("agentwt")));
        // nothing is in a new one before there is an index
        let is_new = is_initializing && !files::exists(&admin.join("index"));
        let work = match (ours, is_new) {
            (false, _) => None,
            (true, true) => Some(false),
            (true, false) => has_work(repository, &admin).ok(),
        };
        found.push(judge_entry(admin.as_str(), &why, by_git, ours, work));
    }
    Ok(found)
}

/// Looks at git's lock files.
fn git_locks(repository: &Repository, worktrees: &[Worktree]) -> Result<Vec<Leftover>, Error> {
    let common = &repository.common_dir;
    let mut found = lock_files(common, LockDepth::Here);
    found.extend(lock_files(&common.join("info"), LockDepth::Here));
    found.extend(lock_files(&common.join("refs"), LockDepth::Below));
    found.extend(lock_files(&common.join("reftable"), LockDepth::Here));
    for id in files::names(&common.join("worktrees"))? {
        let admin_dir = common.join("worktrees").join(id);
        found.extend(lock_files(&admin_dir, LockDepth::Here));
        found.extend(lock_files(&admin_dir.join("info"), LockDepth::Here));
    }
    for worktree in worktrees {
        if !worktree.has_own_repository() {
            continue;
        }
        let own = worktree.record.path.join(".git");
        found.extend(lock_files(&own, LockDepth::Here));
        found.extend(lock_files(&own.join("info"), LockDepth::Here));
        found.extend(lock_files(&own.join("refs"), LockDepth::Below));
    }
    if found.is_empty() {
        return Ok(Vec::new());
    }
    let in_root = processes::count_named("git", &repository.root);
    let gits = in_root.zip(processes::count_named("git", common));
    let gits = gits.map(|(root, common)| root.max(common));
    let paths: Vec<&Utf8Path> = found.iter().map(|(path, _)| path.as_path()).collect();
    let open = processes::open_files(&paths);
    let lock = |(path, age): &(Utf8PathBuf, u64)| {
        judge_lock(&LockFacts {
            path: path.clone(),
            age: *age,
            ours: is_ours(repository, worktrees, path),
            gits,
            open: open.as_ref().map(|open| open.contains(path.as_path())),
        })
    };
    Ok(found.iter().map(lock).collect())
}

/// Whether a lock is for one of our worktrees, its branch, or a ref of ours alone.
fn is_ours(repository: &Repository, worktrees: &[Worktree], path: &Utf8Path) -> bool {
    let common = &repository.common_dir;
    path.starts_with(common.join("refs/agentwt"))
        || worktrees.iter().any(|worktree| {
            let branch = format!("{}.lock", worktree.record.branch.full_ref());
            path.starts_with(&worktree.record.admin_dir) || *path == common.join(branch)
        })
}
