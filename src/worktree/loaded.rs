//! Loads what is recorded of one worktree: [`Worktree`].

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use crate::config::value::Strategy;
use crate::disk::drift::is_unchanged;
use crate::disk::files;
use crate::disk::scan::walk::WalkMode;
use crate::disk::trash_bin::TRASH;
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
use crate::words::entry::Entry;
use crate::words::error::Error;
use crate::words::name::{CommitId, WorktreeName};
use crate::words::path::{RepoPath, escape_for_terminal};
use crate::words::toml_file::from_text;
use crate::worktree::error::WorktreeFault;
use crate::worktree::gitdir::{read_gitdir, read_if_whole, without_dots};
use crate::worktree::repository::{Repository, WORKTREES};

/// The file of the record with the directories that need not be read again ([`CleanDirectories`]).
pub const WALKED: &str = "walked";
/// The file of the record with the last verification.
pub const VERIFICATION: &str = "verification.toml";

/// Represents a worktree of ours: its record and its scope.
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
    /// Where it was made, if it stands in the trash by now.
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

/// Holds how git's files stand.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Activity {
    stamps: Vec<String>,
    /// Whether a git holds the index, or left its lock behind.
    pub locked: bool,
}

/// Holds the refs that there were when a worktree was made.
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
        if let Some(known) = load_record(repository, name, &dir)? {
            return Ok(Self::Complete(Box::new(known)));
        }
        let intent = read_text::<Intent>(name, &dir.join("intent.toml"))?;
        Ok(intent.map_or(Self::Missing, |intent| Self::Incomplete(Box::new(intent))))
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

/// Checks that a record is of this repository: the paths in one of a copied repository lead into
/// the original, those of a moved one to nothing, or to what stands there by now.
fn check_origin(repository: &Repository, record: &Record) -> Result<(), WorktreeFault> {
    let home = repository.home();
    let (there, here) = match record.strategy {
        Strategy::Worktree => (record.admin_dir.ancestors().nth(2), &home.common_dir),
        Strategy::Clone => (record.path.ancestors().nth(3), &home.root),
    };
    let there = there.unwrap_or(&record.path);
    if files::is_same_directory(there, here) {
        return Ok(());
    }
    let [there, here] = [there, here].map(|path| path.as_str().trim_end_matches("/.git").into());
    let name = record.name.to_string();
    Err(WorktreeFault::Elsewhere { name, there, here })
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
            RecordState::Complete(known) => Ok(*known),
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
            if let RecordState::Complete(known) = RecordState::read(repository, &name)? {
                all.push(*known);
            }
        }
        Ok(all)
    }

    /// Loads the worktrees of the names that a user typed, each once, or the one that we are in.
    pub fn named(
        repository: &Repository,
        names: &[String],
    ) -> impl Iterator<Item = Result<Self, Error>> {
        let here = names.is_empty().then_some(None);
        let names = names.iter().map(|name| Some(name.as_str())).chain(here);
        let mut seen = BTreeSet::new();
        let mut is_new = move |known: &Self| seen.insert(known.record.name.clone());
        let all = names.map(|name| Self::of(repository, name));
        all.filter(move |found| found.as_ref().map_or(true, &mut is_new))
    }

    /// Loads the worktree of a name that a user typed, or the one that we are in: by the path for
    /// those that `add` made, by the record for those that plain git made.
    ///
    /// # Errors
    /// As [`Worktree::load`]; also when no name was given and we are in none.
    pub fn of(repository: &Repository, name: Option<&str>) -> Result<Self, Error> {
        if let Some(text) = name {
            let name = WorktreeName::parse(text);
            let bad = |_| unknown(repository, escape_for_terminal(text.as_bytes()));
            return Self::load(repository, &name.map_err(bad)?);
        }
        if let Some(name) = &repository.inside {
            return Self::load(repository, name);
        }
        let here = by_path(repository, &repository.start)?;
        let known = || known_names(repository);
        Ok(here.ok_or_else(|| WorktreeFault::NotInWorktree { known: known() })?)
    }

    /// The repository that this worktree works on: the one that made it, or, for a clone, the
    /// clone's own, seen from there. Where an agent has put something else in the place of a
    /// clone's `.git`, that is not believed: what is left is the repository around.
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
        let base = &self.record.base.commit;
        let has_base = |own: &Repository| own.objects().is_ok_and(|all| all.commit(base).is_ok());
        if own.is_clone() && !has_base(&own) {
            return own.home().clone();
        }
        own
    }

    /// Whether this is a clone of which, in this repository, nothing is left to believe.
    pub fn is_without(&self, repository: &Repository) -> bool {
        self.record.strategy == Strategy::Clone && !repository.is_clone()
    }

    /// Whether a clone's git directory is one: a directory that leads nowhere else.
    pub fn has_own_repository(&self) -> bool {
        let git_dir = &self.record.admin_dir;
        let is_directory = |name: &&str| files::is_directory(&git_dir.join(name));
        let is_endless = |name: &&str| files::is_endless(&git_dir.join(name));
        ["objects", "refs"].iter().all(is_directory)
            && files::canonical(git_dir).is_ok_and(|real| real == *git_dir)
            && files::exists(&git_dir.join("HEAD"))
            && !["HEAD", "config"].iter().any(is_endless)
            && !files::exists(&git_dir.join("commondir"))
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

    /// The git directory of a submodule in the trash: its `.git` file leads there from where the
    /// worktree was made. None where git finds it by itself.
    fn submodule_git_dir(&self, directory: &Utf8Path) -> Option<Utf8PathBuf> {
        let made_at = self.made_at.as_ref()?;
        let below = directory.strip_prefix(&self.record.path).ok()?;
        let link = directory.join(".git");
        let is_in_worktree = self.record.strategy == Strategy::Clone;
        // git would wait for ever for a pipe
        let is_file = files::stat(&link).is_some_and(|stat| stat.is_file());
        if is_in_worktree || !is_file {
            return None;
        }
        let text = String::from_utf8(files::read(&link).ok()??).ok()?;
        let target = text
            .strip_prefix("gitdir: ")?
            .trim_end_matches(['\n', '\r']);
        let git_dir = without_dots(&made_at.path.join(below).join(target));
        match git_dir.strip_prefix(&made_at.admin_dir) {
            Ok(in_admin_dir) => Some(self.record.admin_dir.join(in_admin_dir)),
            Err(_) => Some(git_dir),
        }
    }

    /// Git on exactly this worktree, as the user has it.
    pub fn git(&self, repository: &Repository) -> Git {
        // nothing can be started in a directory that is gone
        let path = Some(&*self.record.path).filter(|path| files::is_directory(path));
        repository.git.on(&self.record.admin_dir, path)
    }

    /// Loads the manifest.
    ///
    /// # Errors
    /// Fails when it is missing or damaged.
    pub fn manifest(&self) -> Result<Manifest, Error> {
        let damaged = |detail| WorktreeFault::damaged(&self.record.name, "the manifest", detail);
        let bytes = files::read(&self.dir.join("manifest"))?
            .ok_or_else(|| damaged("it is missing".to_owned()))?;
        let manifest = Manifest::from_bytes(&bytes).map_err(|error| damaged(error.to_string()))?;
        if self.proves() {
            return Ok(manifest);
        }
        Ok(manifest.unproven())
    }

    /// Whether the stat data that are recorded prove anything of what stands in the worktree now.
    fn proves(&self) -> bool {
        self.walking.believes_in(&self.record.path)
    }

    /// Loads which directories have what this manifest says of the base and nothing else; none are
    /// known where that cannot be read.
    pub fn walked(&self, manifest: &Manifest) -> CleanDirectories {
        let bytes = files::read(&self.dir.join(WALKED)).ok().flatten();
        let walked = bytes.and_then(|bytes| CleanDirectories::from_bytes(&bytes, manifest));
        walked.unwrap_or_else(|| CleanDirectories::none(manifest))
    }

    /// Loads what was placed; nothing where nothing ever was. What is being moved in counts as
    /// far as it is there.
    ///
    /// # Errors
    /// Fails when the list is damaged or cannot be read.
    pub fn placed(&self) -> Result<Placed, Error> {
        // a sync that ends in between has written the list of what is placed first
        let placing = self.placed_list(PLACING)?;
        let placed = self.placed_list(PLACED)?.unwrap_or_default();
        let Some(placing) = placing else {
            return Ok(placed);
        };
        let arrived =
            |file: &&PlacedFile| is_unchanged(&self.record.path, None, file).unwrap_or(false);
        let new = placing.files().iter().filter(arrived).cloned();
        let unproven = new.map(|mut file| {
            file.stat.ctime = i64::MAX;
            file
        });
        Ok(placed.replaced_by(unproven.collect(), placed.settled()))
    }

    fn placed_list(&self, name: &str) -> Result<Option<Placed>, Error> {
        let Some(bytes) = files::read(&self.dir.join(name))? else {
            return Ok(None);
        };
        let damaged = |error: String| {
            WorktreeFault::damaged(&self.record.name, "the list of placed files", error)
        };
        let placed = Placed::from_bytes(&bytes).map_err(|error| damaged(error.to_string()))?;
        if self.proves() {
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
        let item = |(path, entry): (RepoPath, Entry)| {
            let access = classifier.verdict(&path, EntryKind::of(entry.mode)).access;
            let stat = Stat::default();
            let disk = (access != Access::Excluded).then_some(OnDisk { entry, stat });
            let base = Some(entry);
            Item { path, base, disk }
        };
        let items = objects.list(&tree)?.into_iter().map(item).collect();
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
            let Some((id, rest)) = line.split_once_str(" ") else {
                continue;
            };
            let (name, target) = match rest.split_once_str(" ") {
                Some((name, target)) => (name, Some(target)),
                None => (rest, None),
            };
            if let Some(target) = target {
                refs.targets.insert(name.into(), target.into());
            }
            let text = id.to_str().unwrap_or_default();
            if let Ok(commit) = CommitId::parse(text) {
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
        let name = &self.record.name;
        let shared = read_text(name, &self.dir.join("shared.toml"))?;
        let missing =
            || WorktreeFault::damaged(name, "the record", "shared.toml is missing".into());
        Ok(shared.ok_or_else(missing)?)
    }

    /// Loads the journal of refs; none when there is none.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn journal(&self) -> Result<Option<Journal>, Error> {
        let bytes = files::read(&self.record.admin_dir.join(journal::FILE))?;
        Ok(bytes.map(|bytes| Journal::parse(&bytes)))
    }

    /// How git's own files stand that move whenever git works here, or moves what the base follows.
    pub fn activity(&self, repository: &Repository) -> Activity {
        let admin = &self.record.admin_dir;
        let common = &repository.common_dir;
        let mut watched = vec![common.join("packed-refs"), common.join("logs/HEAD")];
        let private = ["HEAD", "logs/HEAD", "index", "MERGE_HEAD", journal::FILE];
        watched.extend(private.map(|name| admin.join(name)));
        watched.extend([PLACED, PLACING].map(|name| self.dir.join(name)));
        let tips = self.record.base.tips.iter();
        watched.extend(tips.map(|tip| common.join("logs").join(&tip.name)));
        let stamps = watched.iter().map(|file| files::stamp(file.as_std_path()));
        Activity {
            stamps: stamps.collect(),
            locked: files::exists(&admin.join(INDEX_LOCK)),
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

/// Holds a worktree of ours whose record was removed: its private git directory still has our
/// hooks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lost {
    /// Its name.
    pub name: WorktreeName,
    /// Its directory.
    pub path: Utf8PathBuf,
    /// The commit it is on, as far as git can tell.
    pub head: Option<CommitId>,
}

/// Finds the worktrees whose record was removed.
///
/// # Errors
/// Fails when the private git directories cannot be read.
pub fn lost(repository: &Repository) -> Result<Vec<Lost>, Error> {
    let mut found = Vec::new();
    for (name, path, git_dir) in git_dirs(repository)? {
        // else the name is of another worktree: the directory was moved
        if !is_unrecorded(repository, name.as_str(), &git_dir) {
            continue;
        }
        let git = repository.git.on(&git_dir, None);
        let head = git.with_mode(GitMode::Hardened).rev_parse_commit("HEAD");
        // else it was removed, the record last, between the two looks
        if files::is_directory(&git_dir.join("agentwt")) {
            let head = in_private(repository, head)?;
            found.push(Lost { name, path, head });
        }
    }
    Ok(found)
}

/// Whether a private git directory has our hooks, and nothing is recorded of this name.
fn is_unrecorded(repository: &Repository, name: &str, git_dir: &Utf8Path) -> bool {
    let record = repository.records_dir().join(name);
    let mut all = ["record.toml", "intent.toml"].iter();
    files::is_directory(&git_dir.join("agentwt"))
        && !all.any(|file| files::exists(&record.join(file)))
}

/// The private git directories of linked worktrees, with the name and path of each, without those
/// in the trash, which are recorded there; and those of clones, which are in no list of git's.
fn git_dirs(
    repository: &Repository,
) -> Result<impl Iterator<Item = (WorktreeName, Utf8PathBuf, Utf8PathBuf)>, Error> {
    let linked = repository.common_dir.join("worktrees");
    let worktrees = repository.root.join(WORKTREES);
    let trash = Utf8Path::new(WORKTREES).join(TRASH);
    let mut all = Vec::new();
    for id in files::names(&linked)? {
        let git_dir = linked.join(&id);
        match read_gitdir(&git_dir) {
            // of what is recorded, its own verification says so
            Err(error) if is_unrecorded(repository, &id, &git_dir) => return Err(error.into()),
            dot_git => all.extend(dot_git.ok().flatten().map(|dot_git| (dot_git, git_dir))),
        }
    }
    for name in files::names(&worktrees)? {
        let dot_git = worktrees.join(name).join(".git");
        all.push((dot_git.clone(), dot_git));
    }
    Ok(all.into_iter().filter_map(move |(dot_git, git_dir)| {
        let path = dot_git.parent().filter(|_| dot_git.ends_with(".git"))?;
        let name = WorktreeName::parse(path.file_name()?).ok()?;
        // wherever the repository was then
        let is_trash = path.parent()?.ends_with(&trash);
        (!is_trash).then(|| (name, path.to_owned(), git_dir))
    }))
}

/// Gives what git has read in a private git directory. Where it failed there and can read the
/// common one, that directory is damaged: nothing can be read in it, and that is an answer. Where
/// it fails in both, what is there cannot be determined.
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
    let found = files::names(&repository.records_dir())?;
    let names = found.iter().map(|name| WorktreeName::parse(name));
    Ok(names.filter_map(Result::ok).collect())
}

fn known_names(repository: &Repository) -> Vec<String> {
    let names = names(repository).unwrap_or_default();
    names.iter().map(ToString::to_string).collect()
}

/// Reports that there is no worktree of this name.
pub fn unknown(repository: &Repository, name: String) -> Error {
    let known = known_names(repository);
    WorktreeFault::UnknownWorktree { name, known }.into()
}

/// Returns the worktree whose directory a path is in.
///
/// # Errors
/// Fails when the records cannot be listed.
pub fn by_path(repository: &Repository, path: &Utf8Path) -> Result<Option<Worktree>, Error> {
    let mut whole = whole_records(repository)?;
    Ok(whole.find(|known| path.starts_with(&known.record.path)))
}

/// Loads the worktrees that have a whole record, one after the other.
///
/// # Errors
/// Fails when the records cannot be listed.
pub fn whole_records(
    repository: &Repository,
) -> Result<impl Iterator<Item = Worktree> + use<'_>, Error> {
    let all = names(repository)?.into_iter();
    Ok(all.filter_map(|name| Worktree::load(repository, &name).ok()))
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
    let all = whole_records(repository)?.filter(|known| except != Some(&known.record.name));
    let others = all.filter(|known| files::is_directory(&known.record.path));
    let scopes = others.map(|known| (known.record.name.to_string(), known.scope));
    Ok(scopes.collect())
}

fn read_text<T: serde::de::DeserializeOwned>(
    name: &WorktreeName,
    file: &Utf8Path,
) -> Result<Option<T>, Error> {
    let Some(bytes) = files::read(file)? else {
        return Ok(None);
    };
    let damaged = |detail: String| WorktreeFault::damaged(name, "the record", detail);
    let text = std::str::from_utf8(&bytes).map_err(|error| damaged(error.to_string()))?;
    let read = from_text(text).map_err(|error| damaged(error.to_string()))?;
    Ok(Some(read))
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
