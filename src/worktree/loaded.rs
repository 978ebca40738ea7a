//! Loads what is recorded of one worktree: [`Worktree`].

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Display;

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use crate::config::value::Strategy;
use crate::disk::drift::is_unchanged;
use crate::disk::files;
use crate::disk::scan::walk::WalkMode;
use crate::git::environment::GitMode;
use crate::git::error::GitError;
use crate::git::hooks::journal;
use crate::git::hooks::journal::Journal;
use crate::git::hooks::worktree_hooks::WorktreeHooks;
use crate::git::object_format::ObjectFormat;
use crate::git::objects::Objects;
use crate::git::process::Git;
use crate::inventory::clean_directories::CleanDirectories;
use crate::inventory::manifest::{Item, Manifest, OnDisk, Stat};
use crate::inventory::placed::{Placed, PlacedFile, PlacedOrigin};
use crate::judge::change::INDEX_LOCK;
use crate::record::worktree::{Intent, LastVerification, Record, Shared};
use crate::scope::compiled::Scope;
use crate::scope::overlap::WorktreeScope;
use crate::scope::rule::{Access, Case, EntryKind};
use crate::words::error::Error;
use crate::words::name::{CommitId, WorktreeName};
use crate::words::path::escape_for_terminal;
use crate::words::toml_file::from_text;
use crate::worktree::error::{WorktreeFault, names_help};
use crate::worktree::gitdir::{read_if_whole, without_dots};
use crate::worktree::repository::{Repository, trash_records};

/// The file of the record with the directories that need not be read again ([`CleanDirectories`]).
pub const WALKED: &str = "walked";
/// The file of the record with the last verification.
pub const VERIFICATION: &str = "verification.toml";

/// A worktree of ours: its record and its scope.
#[derive(Clone, Debug)]
pub struct Worktree {
    /// What `add` wrote down.
    pub record: Record,
    /// The frozen scope.
    pub scope: Scope,
    /// Where the record is.
    pub dir: Utf8PathBuf,
    /// Whether recorded stat data are believed.
    pub walking: WalkMode,
    /// Where it was made, if it is in the trash by now.
    pub made_at: Option<MadeAt>,
}

/// Says where a worktree in the trash was made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MadeAt {
    /// Its directory.
    pub path: Utf8PathBuf,
    /// Its private git directory.
    pub admin_dir: Utf8PathBuf,
}

/// The state of git's own files: while two readings are equal, no git worked in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    stamps: Vec<String>,
    /// Whether the index is locked: git is writing it, or was killed.
    pub locked: bool,
}

/// The refs that there were when a worktree was made.
#[derive(Debug, Default)]
pub struct RefsAtAdd {
    /// What each named.
    pub commits: BTreeMap<BString, CommitId>,
    /// The refs that symbolic ones named.
    pub targets: BTreeMap<BString, BString>,
}

/// Says what is on disk of a name.
#[derive(Clone, Debug)]
pub enum RecordState {
    /// Nothing.
    Missing,
    /// An intent without a record: `add` is running, or was killed.
    Incomplete(Box<Intent>),
    /// A whole record.
    Complete(Box<Worktree>),
}

impl RecordState {
    /// Reads what is recorded of a name.
    ///
    /// # Errors
    /// Fails when a file is damaged or cannot be read.
    pub fn read(repository: &Repository, name: &WorktreeName) -> Result<Self, Error> {
        let dir = repository.record_dir(name);
        if let Some(worktree) = load_record(repository, name, &dir)? {
            return Ok(Self::Complete(Box::new(worktree)));
        }
        match read_text(name, &dir.join("intent.toml"))? {
            Some(intent) => Ok(Self::Incomplete(Box::new(intent))),
            None => Ok(Self::Missing),
        }
    }
}

/// Loads the record of a worktree from a directory; none where there is none.
///
/// # Errors
/// Fails when it is damaged or cannot be read, or names another repository.
pub fn load_record(
    repository: &Repository,
    name: &WorktreeName,
    dir: &Utf8Path,
) -> Result<Option<Worktree>, Error> {
    let Some(record) = read_text::<Record>(name, &dir.join("record.toml"))? else {
        return Ok(None);
    };
    check_origin(repository, &record)?;
    let case = Case::of(record.ignore_case);
    let scope = Scope::compile(record.scope.clone(), case)
        .map_err(|errors| WorktreeFault::damaged(name, "the record", errors.to_string()))?;
    Ok(Some(Worktree {
        record,
        scope,
        dir: dir.to_owned(),
        walking: repository.walking,
        made_at: None,
    }))
}

/// Checks that a record is of this repository. The paths in a record lead elsewhere if the
/// repository is a copy, or was moved.
fn check_origin(repository: &Repository, record: &Record) -> Result<(), WorktreeFault> {
    let home = repository.home();
    let recorded = match record.strategy {
        // `<common_dir>/worktrees/<id>`
        Strategy::Worktree => record.admin_dir.ancestors().nth(2),
        // `<root>/.agentwt/worktrees/<name>`
        Strategy::Clone => record.path.ancestors().nth(3),
    }
    .unwrap_or(&record.path);
    let current = match record.strategy {
        Strategy::Worktree => &home.common_dir,
        Strategy::Clone => &home.root,
    };
    if files::is_same_directory(recorded, current) {
        return Ok(());
    }
    Err(WorktreeFault::Elsewhere {
        name: record.name.to_string(),
        there: without_git_dir(recorded),
        here: without_git_dir(current),
    })
}

/// A repository as messages name it: by its main worktree.
fn without_git_dir(directory: &Utf8Path) -> String {
    directory.as_str().trim_end_matches("/.git").to_owned()
}

/// The name of the private git directory of a record that names another repository.
pub fn entry_of_elsewhere(repository: &Repository, name: &WorktreeName) -> Option<String> {
    let file = repository.record_dir(name).join("record.toml");
    let record: Record = read_if_whole(&file)?;
    check_origin(repository, &record).err()?;
    Some(record.admin_dir.file_name()?.to_owned())
}

impl Worktree {
    /// Loads a worktree by name.
    ///
    /// # Errors
    /// Fails when there is none of this name, it is incomplete, or its record is damaged.
    pub fn load(repository: &Repository, name: &WorktreeName) -> Result<Self, Error> {
        match RecordState::read(repository, name)? {
            RecordState::Complete(worktree) => Ok(*worktree),
            RecordState::Incomplete(_) => {
                let name = name.to_string();
                Err(WorktreeFault::Incomplete { name }.into())
            }
            RecordState::Missing => Err(unknown(repository, name.to_string())),
        }
    }

    /// Loads every worktree whose record is complete.
    ///
    /// # Errors
    /// Fails when the records cannot be listed, or one is damaged.
    pub fn all(repository: &Repository) -> Result<Vec<Self>, Error> {
        let mut all = Vec::new();
        for name in names(repository)? {
            if let RecordState::Complete(worktree) = RecordState::read(repository, &name)? {
                all.push(*worktree);
            }
        }
        Ok(all)
    }

    /// Loads the worktrees of the names that a user typed, each once, or the one that we are in.
    pub fn named(
        repository: &Repository,
        names: &[String],
    ) -> impl Iterator<Item = Result<Self, Error>> {
        let mut typed: Vec<Option<&str>> = names.iter().map(|name| Some(name.as_str())).collect();
        if typed.is_empty() {
            typed.push(None);
        }
        let mut loaded_names = BTreeSet::new();
        typed
            .into_iter()
            .map(|name| Self::of(repository, name))
            .filter(move |loaded| match loaded {
                Ok(worktree) => loaded_names.insert(worktree.record.name.clone()),
                Err(_) => true,
            })
    }

    /// Loads the worktree of a name that a user typed, or the one that we are in: by the path for
    /// those that `add` made, by the record for those that plain git made.
    ///
    /// # Errors
    /// As [`Worktree::load`]; also when no name was given and we are in none.
    pub fn of(repository: &Repository, name: Option<&str>) -> Result<Self, Error> {
        if let Some(text) = name {
            return match WorktreeName::parse(text) {
                Ok(parsed) => Self::load(repository, &parsed),
                Err(_) => Err(unknown(repository, escape_for_terminal(text.as_bytes()))),
            };
        }
        if let Some(inside) = &repository.inside {
            return Self::load(repository, inside);
        }
        by_path(repository, &repository.start)?.ok_or_else(|| {
            let known = known_names(repository);
            WorktreeFault::NotInWorktree { known }.into()
        })
    }

    /// The repository that this worktree works on: the one that made it, or, for a clone, the
    /// clone's own, seen from there. If an agent replaced the `.git` of a clone by something else,
    /// that is not believed, and this is the repository that made the clone.
    pub fn repository(&self, repository: &Repository) -> Repository {
        match self.record.strategy {
            Strategy::Clone if self.has_own_repository() => {
                let format = ObjectFormat::of(&self.record.base.commit);
                repository.clone_at(&self.record.path, format)
            }
            Strategy::Worktree | Strategy::Clone => repository.home().clone(),
        }
    }

    /// As [`Worktree::repository`]; a clone that lost what it started from is not believed either.
    pub fn readable_repository(&self, repository: &Repository) -> Repository {
        let own = self.repository(repository);
        if !own.is_clone() {
            return own;
        }
        let base = &self.record.base.commit;
        let has_base = own
            .objects()
            .is_ok_and(|objects| objects.commit(base).is_ok());
        if has_base { own } else { own.home().clone() }
    }

    /// True for a clone that lost its repository, where `repository` is the one that
    /// [`Worktree::repository`] found.
    pub fn has_lost_repository(&self, repository: &Repository) -> bool {
        self.record.strategy == Strategy::Clone && !repository.is_clone()
    }

    /// Whether a clone's git directory is one: a directory that leads nowhere else.
    pub fn has_own_repository(&self) -> bool {
        let git_dir = &self.record.admin_dir;
        for directory in ["objects", "refs"] {
            if !files::is_directory(&git_dir.join(directory)) {
                return false;
            }
        }
        for file in ["HEAD", "config"] {
            if files::is_endless(&git_dir.join(file)) {
                return false;
            }
        }
        files::exists(&git_dir.join("HEAD"))
            && !files::exists(&git_dir.join("commondir"))
            && files::canonical(git_dir).is_ok_and(|real| real == *git_dir)
    }

    /// Git on exactly this worktree, for reading what verification believes.
    pub fn hardened_git(&self, repository: &Repository) -> Git {
        self.git(repository).with_mode(GitMode::Hardened)
    }

    /// Git on the repository of a submodule in this worktree.
    pub fn submodule_git(&self, repository: &Repository, directory: &Utf8Path) -> Git {
        let git = repository.git.with_mode(GitMode::Hardened);
        match self.submodule_git_dir(directory) {
            Some(git_dir) => git.on(&git_dir, Some(directory)),
            None => git.at(directory),
        }
    }

    /// The git directory of a submodule of a worktree in the trash. Its `.git` file has a relative
    /// path to it, which counts from where the worktree was made. None where git finds it by
    /// itself: in a clone it is inside of the worktree.
    fn submodule_git_dir(&self, directory: &Utf8Path) -> Option<Utf8PathBuf> {
        let made_at = self.made_at.as_ref()?;
        let dot_git = directory.join(".git");
        // git would wait for ever for a pipe
        let is_file = files::stat(&dot_git)?.is_file();
        if !is_file || self.record.strategy == Strategy::Clone {
            return None;
        }
        let text = String::from_utf8(files::read(&dot_git).ok()??).ok()?;
        let target = text
            .strip_prefix("gitdir: ")?
            .trim_end_matches(['\n', '\r']);
        let below = directory.strip_prefix(&self.record.path).ok()?;
        let git_dir = without_dots(&made_at.path.join(below).join(target));
        match git_dir.strip_prefix(&made_at.admin_dir) {
            Ok(in_admin_dir) => Some(self.record.admin_dir.join(in_admin_dir)),
            Err(_) => Some(git_dir),
        }
    }

    /// Git on exactly this worktree, as the user has it.
    pub fn git(&self, repository: &Repository) -> Git {
        // nothing can be started in a directory that is gone
        let work_tree = Some(&*self.record.path).filter(|path| files::is_directory(path));
        repository.git.on(&self.record.admin_dir, work_tree)
    }

    /// Loads the manifest.
    ///
    /// # Errors
    /// Fails when it is missing or damaged.
    pub fn manifest(&self) -> Result<Manifest, Error> {
        let Some(bytes) = files::read(&self.dir.join("manifest"))? else {
            return Err(self.damaged("the manifest", &"it is missing").into());
        };
        let manifest =
            Manifest::from_bytes(&bytes).map_err(|error| self.damaged("the manifest", &error))?;
        if self.believes_stat_data() {
            return Ok(manifest);
        }
        Ok(manifest.unproven())
    }

    /// A file of the record is damaged.
    fn damaged(&self, file: &str, why: &dyn Display) -> WorktreeFault {
        WorktreeFault::damaged(&self.record.name, file, why.to_string())
    }

    /// True if a file with the recorded stat data can be taken as unchanged.
    fn believes_stat_data(&self) -> bool {
        self.walking.believes_in(&self.record.path)
    }

    /// Loads which directories have what this manifest says of the base and nothing else; none are
    /// known where that cannot be read.
    pub fn walked(&self, manifest: &Manifest) -> CleanDirectories {
        let bytes = files::read(&self.dir.join(WALKED)).unwrap_or_default();
        let clean = bytes.and_then(|bytes| CleanDirectories::from_bytes(&bytes, manifest));
        clean.unwrap_or_else(|| CleanDirectories::none(manifest))
    }

    /// Loads the list of placed files; an empty one where nothing was ever placed. If a sync is
    /// running or was killed, the files count that it has moved in by now.
    ///
    /// # Errors
    /// Fails when the list is damaged or cannot be read.
    pub fn placed(&self) -> Result<Placed, Error> {
        // in this order: a sync writes the new list before it removes `placing`
        let placing = self.placed_list(PLACING)?;
        let placed = self.placed_list(PLACED)?.unwrap_or_default();
        let Some(placing) = placing else {
            return Ok(placed);
        };
        let mut moved_in = Vec::new();
        for file in placing.files() {
            if is_unchanged(&self.record.path, None, file).unwrap_or(false) {
                let mut unproven = file.clone();
                // a time after any other, so that the stat data prove nothing
                unproven.stat.ctime = i64::MAX;
                moved_in.push(unproven);
            }
        }
        Ok(placed.replaced_by(moved_in, placed.settled()))
    }

    fn placed_list(&self, name: &str) -> Result<Option<Placed>, Error> {
        let Some(bytes) = files::read(&self.dir.join(name))? else {
            return Ok(None);
        };
        let placed = Placed::from_bytes(&bytes)
            .map_err(|error| self.damaged("the list of placed files", &error))?;
        if self.believes_stat_data() {
            return Ok(Some(placed));
        }
        Ok(Some(placed.unproven()))
    }

    /// Where what was placed at a path can be had again: in the main worktree, or, for context,
    /// in the record.
    pub fn source_of(&self, repository: &Repository, file: &PlacedFile) -> Utf8PathBuf {
        match file.origin {
            PlacedOrigin::Synced | PlacedOrigin::Setup => repository.root.clone(),
            PlacedOrigin::Context => self.dir.join(CONTEXT),
        }
    }

    /// Makes a manifest of the tree that was checked out, which proves nothing: every file is
    /// read. What `add` found beside that tree is then new.
    ///
    /// # Errors
    /// Fails when the tree cannot be read.
    pub fn unproven_manifest(&self, objects: &Objects) -> Result<Manifest, Error> {
        let tree = objects.commit(&self.record.checked_out)?.tree;
        let mut classifier = self.scope.classifier();
        let mut items = Vec::new();
        for (path, entry) in objects.list(&tree)? {
            let access = classifier.verdict(&path, EntryKind::of(entry.mode)).access;
            let stat = Stat::default();
            items.push(Item {
                path,
                base: Some(entry),
                disk: (access != Access::Excluded).then_some(OnDisk { entry, stat }),
            });
        }
        Ok(Manifest::new(items, i64::MIN))
    }

    /// Loads the refs that there were when the worktree was made.
    ///
    /// # Errors
    /// Fails when the list cannot be read.
    pub fn refs_at_add(&self) -> Result<RefsAtAdd, Error> {
        let bytes = files::read(&self.dir.join("refs"))?.unwrap_or_default();
        let mut refs = RefsAtAdd::default();
        for line in bytes.lines() {
            // `<id> <name>`, or `<id> <name> <target>` of a symbolic ref
            let mut words = line.splitn_str(3, " ");
            let id = words.next().unwrap_or_default();
            let Some(name) = words.next() else {
                continue;
            };
            if let Some(target) = words.next() {
                refs.targets.insert(name.into(), target.into());
            }
            if let Ok(commit) = CommitId::parse(&id.to_str_lossy()) {
                refs.commits.insert(name.into(), commit);
            }
        }
        Ok(refs)
    }

    /// Loads the commits that these refs named.
    ///
    /// # Errors
    /// Fails when the list cannot be read.
    pub fn recorded_refs(&self) -> Result<BTreeSet<CommitId>, Error> {
        Ok(self.refs_at_add()?.commits.into_values().collect())
    }

    /// Loads what was beside the worktree when it was made.
    ///
    /// # Errors
    /// Fails when it is missing, damaged or cannot be read.
    pub fn shared(&self) -> Result<Shared, Error> {
        match read_text(&self.record.name, &self.dir.join("shared.toml"))? {
            Some(shared) => Ok(shared),
            None => Err(self.damaged("the record", &"shared.toml is missing").into()),
        }
    }

    /// Loads the journal of refs; none when there is none.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn journal(&self) -> Result<Option<Journal>, Error> {
        let bytes = files::read(&self.record.admin_dir.join(journal::FILE))?;
        Ok(bytes.map(|bytes| Journal::parse(&bytes)))
    }

    /// Reads the state of the files that change whenever git works here, or moves a branch that the
    /// base follows, or a sync places files.
    pub fn activity(&self, repository: &Repository) -> Activity {
        let admin_dir = &self.record.admin_dir;
        let common_dir = &repository.common_dir;
        let mut watched = vec![common_dir.join("packed-refs"), common_dir.join("logs/HEAD")];
        for name in ["HEAD", "logs/HEAD", "index", "MERGE_HEAD", journal::FILE] {
            watched.push(admin_dir.join(name));
        }
        for name in [PLACED, PLACING] {
            watched.push(self.dir.join(name));
        }
        for tip in &self.record.base.tips {
            watched.push(common_dir.join("logs").join(&tip.name));
        }
        let stamps = watched.iter().map(|file| files::stamp(file.as_std_path()));
        Activity {
            stamps: stamps.collect(),
            locked: files::exists(&admin_dir.join(INDEX_LOCK)),
        }
    }

    /// Loads the last verification, none when there was none or it cannot be read.
    pub fn last_verification(&self) -> Option<LastVerification> {
        read_if_whole(&self.dir.join(VERIFICATION))
    }
}

/// The hooks of a recorded worktree.
///
/// # Errors
/// Fails when its private git directory is gone or another one.
pub fn hooks_of(git: &Git, record: &Record) -> Result<WorktreeHooks, GitError> {
    match record.strategy {
        Strategy::Worktree => WorktreeHooks::of(git, &record.admin_dir, &record.path),
        Strategy::Clone => WorktreeHooks::of_clone(git, &record.path),
    }
}

/// Says what a failed reading in a private git directory means: if git can read the common
/// directory, the private one is damaged, and nothing is in it. If git cannot read that either, the
/// error stays an error.
///
/// # Errors
/// Fails when git cannot read the common directory either.
pub fn in_private<T>(
    repository: &Repository,
    read: Result<Option<T>, GitError>,
) -> Result<Option<T>, GitError> {
    if let Err(GitError::Failed { .. } | GitError::Read { .. }) = &read {
        let home = repository.home().git.with_mode(GitMode::Hardened);
        home.rev_parse_commit("HEAD")?;
        return Ok(None);
    }
    read
}

/// Returns every name that has something recorded, sorted.
///
/// # Errors
/// Fails when the records cannot be listed.
pub fn names(repository: &Repository) -> Result<Vec<WorktreeName>, Error> {
    let mut names = Vec::new();
    for name in files::names(&repository.records_dir())? {
        names.extend(WorktreeName::parse(&name));
    }
    Ok(names)
}

fn known_names(repository: &Repository) -> Vec<String> {
    let names = names(repository).unwrap_or_default();
    names.iter().map(ToString::to_string).collect()
}

/// Reports that there is no worktree of this name.
pub fn unknown(repository: &Repository, name: String) -> Error {
    let help = if is_in_trash(repository, &name) {
        format!("it was removed; to bring it back: git agentwt remove --undo {name}")
    } else {
        names_help(&known_names(repository))
    };
    WorktreeFault::UnknownWorktree { name, help }.into()
}

/// True if the trash has a worktree of this name.
fn is_in_trash(repository: &Repository, name: &str) -> bool {
    #[derive(serde::Deserialize)]
    struct Named {
        name: String,
    }
    let records = trash_records(repository);
    for id in files::names(&records).unwrap_or_default() {
        if id.starts_with(name)
            && let Some(record) = read_if_whole::<Named>(&records.join(id).join("record.toml"))
            && record.name == name
        {
            return true;
        }
    }
    false
}

/// Returns the worktree whose directory a path is in.
///
/// # Errors
/// Fails when the records cannot be listed.
pub fn by_path(repository: &Repository, path: &Utf8Path) -> Result<Option<Worktree>, Error> {
    let mut worktrees = whole_records(repository)?;
    Ok(worktrees.find(|worktree| path.starts_with(&worktree.record.path)))
}

/// Loads the worktrees whose records are complete and undamaged, one after the other.
///
/// # Errors
/// Fails when the records cannot be listed.
pub fn whole_records(
    repository: &Repository,
) -> Result<impl Iterator<Item = Worktree> + use<'_>, Error> {
    let names = names(repository)?.into_iter();
    Ok(names.filter_map(|name| Worktree::load(repository, &name).ok()))
}

/// Lists the scopes of the worktrees that an agent may be working in: those whose record is
/// complete and whose directory exists, except this one.
///
/// # Errors
/// Fails when the records cannot be listed. A damaged record has no scope to compare.
pub fn worktree_scopes(
    repository: &Repository,
    except: Option<&WorktreeName>,
) -> Result<Vec<WorktreeScope>, Error> {
    let mut scopes = Vec::new();
    for worktree in whole_records(repository)? {
        let record = &worktree.record;
        if except != Some(&record.name) && files::is_directory(&record.path) {
            scopes.push((record.name.to_string(), worktree.scope));
        }
    }
    Ok(scopes)
}

/// Reads a TOML file of a record; none where there is none.
fn read_text<T: serde::de::DeserializeOwned>(
    name: &WorktreeName,
    file: &Utf8Path,
) -> Result<Option<T>, Error> {
    let Some(bytes) = files::read(file)? else {
        return Ok(None);
    };
    let parsed = match std::str::from_utf8(&bytes) {
        Ok(text) => from_text(text).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    match parsed {
        Ok(value) => Ok(Some(value)),
        Err(why) => Err(WorktreeFault::damaged(name, "the record", why).into()),
    }
}

/// Why the private git directory is locked.
pub const LOCKED: &str = "git-agentwt: removed; git agentwt remove --undo brings it back\n";

/// Whether the private git directory is locked by us, not by the user.
pub fn is_locked_by_us(admin: &Utf8Path) -> bool {
    files::read(&admin.join("locked")).is_ok_and(|why| why.as_deref() == Some(LOCKED.as_bytes()))
}

/// The file of the record with the list of placed files ([`Placed`]).
pub const PLACED: &str = "placed";

/// The file of the record with what is being moved in: there only while that is done, or when it
/// was killed.
pub const PLACING: &str = "placing";

/// The directory of the record in which the text of placed context is kept, by path.
pub const CONTEXT: &str = "context";
