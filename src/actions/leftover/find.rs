//! Finds leftovers: by name, and what no name accounts for.

use std::collections::BTreeSet;

use camino::{Utf8Path, Utf8PathBuf};

use crate::actions::leftover::entries::find_entries;
use crate::actions::leftover::git_locks::find_git_locks;
use crate::actions::leftover::{
    Leftover, LeftoverKind, OLD, PlaceState, age, ago, is_without_links, judge_claim, judge_name,
    stranger,
};
use crate::actions::trash::enter::pending_move;
use crate::actions::trash::entry::Trashed;
use crate::actions::trash::expiry::Expiry;
use crate::actions::trash::list::ids_of_pending_removals;
use crate::disk::files;
use crate::disk::lock::LockFile;
use crate::disk::trash_bin::{EXPIRED, OLD_BIN, TRASH};
use crate::git::quarantined_objects::SCRATCH;
use crate::record::worktree::{Intent, MadeBy};
use crate::words::error::Error;
use crate::words::name::WorktreeName;
use crate::worktree::absence::{move_back, moved_to};
use crate::worktree::admin_dir::entry_of;
use crate::worktree::claims::{claim_file, claims_dir};
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::{RecordState, Worktree, names};
use crate::worktree::private_git::PrivateGit;
use crate::worktree::repository::{Repository, WORKTREES};

/// What the directories begin with in which files wait to be moved in.
const COPIES: [&str; 2] = [".placing-", ".cloning-"];
/// What temporary files begin with in a record: those of this version, and of version 0.1.
const TEMPORARY_IN_RECORD: [&str; 3] = [files::TEMPORARY, "rescue-index", "restore-index"];

/// What is left over of one name.
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

/// Returns every name that has something: a record, a directory, copies, or a claim's file.
///
/// # Errors
/// Fails when a directory cannot be read.
pub fn all_names(repository: &Repository) -> Result<BTreeSet<WorktreeName>, Error> {
    let mut all: BTreeSet<WorktreeName> = names(repository)?.into_iter().collect();
    let mut texts = files::names(&repository.root.join(WORKTREES))?;
    for file in files::names(&repository.root)? {
        if file.starts_with(COPIES[0]) {
            texts.push(file);
        }
    }
    for file in files::names(&claims_dir(repository))? {
        if let Some(name) = file.strip_suffix(".toml") {
            texts.push(name.to_owned());
        }
    }
    for text in &texts {
        all.extend(WorktreeName::parse(without_copies_prefix(text)));
    }
    Ok(all)
}

/// Returns the name of the worktree that a directory of copies is for; any other text as it is.
fn without_copies_prefix(text: &str) -> &str {
    let name = COPIES.iter().find_map(|start| text.strip_prefix(start));
    name.unwrap_or(text)
}

/// Finds what is left over of a name. Its lock is ours where something is to be done; `now` is in
/// seconds since the epoch.
///
/// # Errors
/// Fails when it cannot be read; a damaged record is a leftover.
pub fn of_name(
    repository: &Repository,
    name: &WorktreeName,
    now: i64,
) -> Result<NameLeftovers, Error> {
    let state = match RecordState::read(repository, name) {
        Ok(state) => state,
        Err(error) => return of_faulty_record(repository, name, error, now),
    };
    let mut leftovers = NameLeftovers::default();
    match state {
        RecordState::Missing => {
            let is_begun = files::exists(&repository.record_dir(name));
            let damage = is_begun.then_some("there is no record in it");
            leftovers.add_unrecorded(repository, name, damage, now)?;
        }
        RecordState::Incomplete(intent) => {
            let why = "`add` was killed; work in it is kept in the trash";
            leftovers.add_of_name(LeftoverKind::Incomplete, name, why);
            leftovers.intent = Some(*intent);
        }
        RecordState::Complete(worktree) => leftovers.add_of_worktree(repository, *worktree),
    }
    leftovers.add_copies(repository, name);
    Ok(leftovers)
}

/// Finds what is left over of a name whose record cannot be used. One that is damaged counts as
/// none; where it is another repository's, nothing else of the name is ours to judge. Any other
/// error stays one.
fn of_faulty_record(
    repository: &Repository,
    name: &WorktreeName,
    error: Error,
    now: i64,
) -> Result<NameLeftovers, Error> {
    let mut leftovers = NameLeftovers::default();
    if let Some(WorktreeFault::Elsewhere { .. }) = error.find() {
        let help = miette::Diagnostic::help(&error).map(|help| help.to_string());
        let record = Leftover::new(LeftoverKind::Record, name.as_str(), error.to_string());
        leftovers.all.push(Leftover { help, ..record });
        return Ok(leftovers);
    }
    if let Some(WorktreeFault::Damaged { .. }) = error.find() {
        leftovers.add_unrecorded(repository, name, Some(&error.to_string()), now)?;
        leftovers.add_copies(repository, name);
        return Ok(leftovers);
    }
    Err(error)
}

impl NameLeftovers {
    /// Adds something that `prune` clears by the name alone, without a path.
    fn add_of_name(&mut self, kind: LeftoverKind, name: &WorktreeName, why: &str) {
        self.all
            .push(Leftover::new(kind, name.as_str(), why).going());
    }

    /// Adds what there is of a worktree with a whole record.
    fn add_of_worktree(&mut self, repository: &Repository, worktree: Worktree) {
        let record = &worktree.record;
        // the record of a worktree of plain git's may go alone, unless a run left work in it
        let may_go_alone = record.made_by == MadeBy::Git && !PrivateGit::new(&worktree).is_there();
        if pending_move(repository, &worktree).is_some() {
            let why = "its removal was interrupted";
            self.add_of_name(LeftoverKind::Worktree, &record.name, why);
        } else if files::exists(&record.path) {
            self.is_there = true;
        } else if may_go_alone && !files::exists(&record.admin_dir) {
            let why = "git has no such worktree any more";
            let leftover = Leftover::new(LeftoverKind::Record, record.name.as_str(), why);
            self.all.push(leftover.going().at(&worktree.dir));
        } else if let Some(to) = moved_to(record) {
            let why = format!("it was moved to {to}");
            let leftover = Leftover::new(LeftoverKind::Worktree, record.name.as_str(), why);
            self.all.push(leftover.with_help(move_back(record, &to)));
        } else {
            let why = "its directory is gone";
            self.add_of_name(LeftoverKind::Worktree, &record.name, why);
        }
        self.worktree = Some(worktree);
    }

    /// Adds what there is of a name without a record that can be read: a directory, and the file of
    /// a claim. `damage` says what is wrong with the record, if there is one.
    fn add_unrecorded(
        &mut self,
        repository: &Repository,
        name: &WorktreeName,
        damage: Option<&str>,
        now: i64,
    ) -> Result<(), Error> {
        let path = repository.worktree_path(name);
        let entry = entry_of(repository, &path)?;
        let state = state_of_place(&path, entry.as_deref());
        let leftover = judge_name(name.as_str(), state, damage);
        if damage.is_some() {
            let record_dir = repository.record_dir(name);
            self.all
                .extend(leftover.map(|leftover| leftover.at(record_dir)));
            return Ok(());
        }
        self.all.extend(leftover.map(|leftover| leftover.at(path)));
        let claim = claim_file(repository, name, "toml");
        if let Some(written) = files::modified(&claim) {
            let of_claim = judge_claim(name.as_str(), age(now, written));
            self.all.push(of_claim.at(claim));
        }
        Ok(())
    }

    /// Adds the directories in which files of this name waited to be moved in.
    fn add_copies(&mut self, repository: &Repository, name: &WorktreeName) {
        let mut copies = Vec::new();
        for start in COPIES {
            copies.push(format!("{WORKTREES}/{start}{name}"));
        }
        if self.intent.is_some() || self.worktree.is_some() {
            // in the root only a record says that it is ours
            copies.push(format!("{}{name}", COPIES[0]));
        }
        for copy in copies {
            let path = repository.root.join(&copy);
            if files::exists(&path) {
                let why = "the process that copied into it was killed";
                let leftover = Leftover::new(LeftoverKind::Copies, copy, why);
                self.all.push(leftover.at(path).going());
            }
        }
    }
}

/// Says what stands at the path of a worktree; `entry` is git's private directory for it.
fn state_of_place(path: &Utf8Path, entry: Option<&Utf8Path>) -> PlaceState {
    if !files::exists(path) {
        return match entry {
            Some(_) => PlaceState::OnlyEntry,
            None => PlaceState::Nothing,
        };
    }
    if !is_without_links(path) || !files::is_directory(path) {
        return PlaceState::Other;
    }
    if files::is_empty(path) {
        PlaceState::Empty
    } else if entry.is_some() {
        PlaceState::Worktree
    } else if files::is_directory(&path.join(".git/agentwt")) {
        PlaceState::Clone
    } else {
        PlaceState::Other
    }
}

/// Finds the lock files of ours that no process holds.
///
/// # Errors
/// Fails when their directory cannot be read.
pub fn dead_locks(repository: &Repository) -> Result<Vec<LockFile>, Error> {
    let mut paths = vec![repository.shared_lock().path];
    let locks = repository.common_dir.join("agentwt/locks");
    for name in files::names(&locks)? {
        paths.push(locks.join(name));
    }
    let claims = claims_dir(repository);
    for name in files::names(&claims)? {
        let path = claims.join(name);
        if path.extension() == Some("lock") {
            paths.push(path);
        }
    }
    let mut dead = Vec::new();
    for path in paths {
        let lock = LockFile {
            name: path.file_name().map(str::to_owned),
            waiting: repository.waiting.clone(),
            path,
        };
        if files::exists(&lock.path) && !lock.is_held() {
            dead.push(lock);
        }
    }
    Ok(dead)
}

/// Finds what no name accounts for: strangers among the worktrees, private git directories, git's
/// lock files, unfinished files and objects of ours, and what has expired in the trash. `worktrees`
/// are all that have a whole record.
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
    all.extend(find_entries(repository, now)?);
    all.extend(find_git_locks(repository, worktrees)?);
    for path in temporaries(repository)? {
        all.extend(judge_temporary(repository, &path, now));
    }
    all.extend(expired(repository, in_trash, now)?);
    Ok(all)
}

/// Finds what is in the trash and whose term is over.
fn expired(
    repository: &Repository,
    in_trash: &[Trashed],
    now: i64,
) -> Result<Vec<Leftover>, Error> {
    let mut leftovers = Vec::new();
    if in_trash.is_empty() {
        return Ok(leftovers);
    }
    let expiry = Expiry::read(repository)?;
    for entry in in_trash {
        if expiry.is_over(entry)
            && let Some(removed) = entry.removed()
        {
            let why = format!("it was removed {} ago", ago(age(now, removed)));
            leftovers.push(Leftover::new(LeftoverKind::Trash, entry.shown(), why).going());
        }
    }
    Ok(leftovers)
}

/// What stands among the worktrees or in the trash, and nothing of ours can be.
fn strangers(repository: &Repository, in_trash: &[Trashed]) -> Result<Vec<Leftover>, Error> {
    let mut leftovers = Vec::new();
    for name in files::names(&repository.root.join(WORKTREES))? {
        let is_ours = matches!(&*name, TRASH | OLD_BIN | ".gitignore");
        if !is_ours && WorktreeName::parse(without_copies_prefix(&name)).is_err() {
            leftovers.push(stranger(&format!("{WORKTREES}/{name}")));
        }
    }
    let mut known_ids = ids_of_pending_removals(repository);
    known_ids.extend(in_trash.iter().map(Trashed::id));
    for id in files::names(&repository.root.join(WORKTREES).join(TRASH))? {
        if !known_ids.contains(&id) && !id.starts_with(EXPIRED) {
            leftovers.push(stranger(&format!("{WORKTREES}/{TRASH}/{id}")));
        }
    }
    Ok(leftovers)
}

/// Lists the temporary files, and the directories of objects that were being written, of processes
/// of ours.
fn temporaries(repository: &Repository) -> Result<Vec<Utf8PathBuf>, Error> {
    let common = &repository.common_dir;
    let mut directories = vec![common.clone(), common.join("info"), claims_dir(repository)];
    let admin_dirs = common.join("worktrees");
    for id in files::names(&admin_dirs)? {
        directories.push(admin_dirs.join(id));
    }
    let mut paths = Vec::new();
    for directory in &directories {
        paths.extend(paths_that_begin_with(directory, &[files::TEMPORARY])?);
    }
    for name in names(repository)? {
        let record_dir = repository.record_dir(&name);
        paths.extend(paths_that_begin_with(&record_dir, &TEMPORARY_IN_RECORD)?);
    }
    // git calls its own ones `tmp_obj_…`, and deletes them
    let objects = common.join("objects");
    paths.extend(paths_that_begin_with(&objects, &[".tmp", SCRATCH])?);
    Ok(paths)
}

/// Lists what is in a directory and has a name that begins with one of these texts.
fn paths_that_begin_with(directory: &Utf8Path, starts: &[&str]) -> Result<Vec<Utf8PathBuf>, Error> {
    let mut paths = Vec::new();
    for name in files::names(directory)? {
        if starts.iter().any(|start| name.starts_with(start)) {
            paths.push(directory.join(name));
        }
    }
    Ok(paths)
}

/// Judges a temporary file, or a directory of objects: it goes when it is so old that no process
/// can be writing it.
fn judge_temporary(repository: &Repository, path: &Utf8Path, now: i64) -> Option<Leftover> {
    let seconds = age(now, files::modified(path)?);
    if seconds < OLD {
        return None;
    }
    let suffix_of_objects = path.file_name()?.strip_prefix(SCRATCH);
    if files::is_directory(path) != suffix_of_objects.is_some() {
        return None;
    }
    let name = suffix_of_objects.and_then(|suffix| WorktreeName::parse(suffix).ok());
    if name.is_some_and(|name| repository.name_lock(&name).is_held()) {
        return None;
    }
    let shown = match path.strip_prefix(&repository.common_dir) {
        Ok(inside) => format!("@git/{inside}"),
        Err(_) => path.to_string(),
    };
    let why = format!("the process that wrote it was killed {} ago", ago(seconds));
    let leftover = Leftover::new(LeftoverKind::Temporary, shown, why);
    Some(leftover.at(path).going())
}
