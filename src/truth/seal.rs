//! Reads what changes what git does beside a worktree: hooks and what they run, settings, states of
//! other worktrees.
//!
//! The git directories are walked, and [`role_of`] says what an entry is. What is not known to be
//! data is sealed. The worktrees that a record names are left out: each verdict answers for its
//! own.

use std::collections::{BTreeMap, BTreeSet};

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::git::git_dir::ALTERNATES;
use crate::git::hooks::worktree_hooks::WorktreeHooks;
use crate::git::settings_file::{included_by, read_settings};
use crate::record::worktree::{Digests, GitDirOwner, SealExtent, Sealed, Shared};
use crate::truth::digests::{ALONE, Digester, PLAIN, STARTS};
use crate::truth::git_dirs::{AUTOSTASH, DataDirectory, OPERATION, Role, TODO, is_lock, role_of};
use crate::truth::keys::may_show;
use crate::words::error::Error;
use crate::words::path::escape_for_terminal;
use crate::worktree::repository::Repository;

/// How many files of hooks are sealed in one directory, with those below: `core.hooksPath` may name
/// a directory of something else as well.
const MOST: usize = 500;
/// How many directories deep hooks, submodules and includes are followed.
const DEEP: usize = 6;

/// Digests what a worktree shares with others now, and what is in its private git directory
/// (`admin_dir`, none where only the shared things count), where the repositories of its submodules
/// are: git runs what those name as well.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read(repository: &Repository, admin_dir: Option<&Utf8Path>) -> Result<Shared, Error> {
    // the private git directory of a clone is all of its repository
    let own = admin_dir.filter(|_| !repository.is_clone());
    let mut seal = Seal {
        digester: Digester { repository, own },
        hooks: Digests::new(),
        sealed: Sealed {
            extent: SealExtent::Everything,
            ..Sealed::default()
        },
        links: Vec::new(),
    };
    seal.read_hooks()?;
    seal.read_git_dir(&repository.common_dir, GitDirOwner::Repository, 0)?;
    if let Some(own) = own {
        seal.read_own_git_dir(own)?;
    }
    // last: it asks which directories were read
    seal.seal_links();
    let mut sealed = seal.sealed;
    // the settings of a file are sealed one by one, so the file is not sealed as a whole too
    let settings_files = &sealed.settings;
    sealed
        .files
        .retain(|file, _| !settings_files.contains_key(file));
    Ok(Shared {
        hooks: seal.hooks,
        settings: settings(repository)?,
        sealed,
    })
}

/// Digests the values of every setting of the repository, includes among them, as git sees it.
/// Those of the main worktree's own file (`config.worktree`) begin with `worktree:`.
///
/// # Errors
/// Fails when git does.
pub fn settings(repository: &Repository) -> Result<Digests, Error> {
    let mut values: BTreeMap<String, Vec<u8>> = BTreeMap::new();
    for (scope, key, value) in repository.git.config_list()? {
        let shown = match scope.as_str() {
            "local" => key,
            // a clone's own `config.worktree` is what the record has a digest of
            "worktree" if !repository.is_clone() => format!("worktree:{key}"),
            _ => continue,
        };
        let values_of_key = values.entry(shown).or_default();
        values_of_key.extend_from_slice(&value);
        values_of_key.push(0);
    }
    let mut digests = Digests::new();
    for (key, values_of_key) in values {
        let digest = repository.format.blob_id(&values_of_key).to_string();
        digests.insert(key, digest);
    }
    Ok(digests)
}

/// Holds what was read so far.
struct Seal<'a> {
    digester: Digester<'a>,
    hooks: Digests,
    sealed: Sealed,
    links: Vec<DotGit>,
}

/// Holds where the `.git` of a worktree or submodule leads.
struct DotGit {
    file: Utf8PathBuf,
    leads_to: Utf8PathBuf,
}

/// Holds a script with its digest.
struct Script {
    file: Utf8PathBuf,
    digest: String,
}

impl<'a> Seal<'a> {
    const fn repository(&self) -> &'a Repository {
        self.digester.repository
    }

    fn insert(&mut self, path: &Utf8Path, digest: String) {
        let place = self.digester.place(path);
        self.sealed.files.insert(place, digest);
    }

    fn read_file(&mut self, file: &Utf8Path) {
        if let Some(digest) = self.digester.script(file) {
            self.insert(file, digest);
        }
    }

    /// Digests a file by all of its content; a directory in its place by all that is in it.
    fn read_entry(&mut self, path: &Utf8Path) -> Result<(), Error> {
        if files::stat(path).is_some_and(|stat| stat.is_directory()) {
            return self.read_unknown(path);
        }
        self.read_file(path);
        Ok(())
    }

    fn read_unknown(&mut self, path: &Utf8Path) -> Result<(), Error> {
        if let Some(digest) = self.digester.unknown(path)? {
            self.insert(path, digest);
        }
        Ok(())
    }

    /// Digests the hooks of the common git directory, those of the directory that `core.hooksPath`
    /// names in the main worktree, and the files beside both that hooks can run.
    fn read_hooks(&mut self) -> Result<(), Error> {
        let repository = self.repository();
        let common = repository.common_dir.join("hooks");
        let mut directories = vec![common.clone()];
        directories.extend(users_directory(repository)?.filter(|own| *own != common));
        for directory in directories {
            // a link is none yet, but any hook can come behind it
            self.read_data_directory(&directory)?;
            for Script { file, digest } in self.scripts_of(&directory)? {
                if digest.ends_with(PLAIN) {
                    self.insert(&file, digest);
                } else {
                    let place = self.digester.place(&file);
                    self.hooks.insert(place, digest);
                }
            }
            let holds_everything = repository.root.starts_with(&directory);
            if !holds_everything {
                self.read_subdirectories_of_hooks(&directory, DEEP, &mut 0)?;
            }
        }
        Ok(())
    }

    /// Lists the files of a directory of hooks, without samples.
    fn scripts_of(&self, directory: &Utf8Path) -> Result<Vec<Script>, Error> {
        let mut scripts = Vec::new();
        for name in files::names(directory)? {
            if name.ends_with(".sample") {
                continue;
            }
            let file = directory.join(name);
            if let Some(digest) = self.digester.script(&file) {
                scripts.push(Script { file, digest });
            }
        }
        Ok(scripts)
    }

    /// Digests the files in the directories below a directory of hooks, which hooks can run or
    /// read: `depth` directories deep, and no more than [`MOST`], of which there are `count` so
    /// far.
    fn read_subdirectories_of_hooks(
        &mut self,
        directory: &Utf8Path,
        depth: usize,
        count: &mut usize,
    ) -> Result<(), Error> {
        if depth == 0 {
            return Ok(());
        }
        for name in files::names(directory)? {
            let inner = directory.join(&name);
            let is_directory = files::stat(&inner).is_some_and(|stat| stat.is_directory());
            if name == ".git" || !is_directory {
                continue;
            }
            for inner_name in files::names(&inner)? {
                let file = inner.join(&inner_name);
                let Some(digest) = self.digester.script(&file) else {
                    continue;
                };
                *count += 1;
                if *count > MOST {
                    return Ok(());
                }
                // executable or not: a hook can read it
                self.insert(&file, digest.trim_end_matches(PLAIN).to_owned());
            }
            self.read_subdirectories_of_hooks(&inner, depth - 1, count)?;
        }
        Ok(())
    }

    /// Digests the settings of a file, and of the files that it includes.
    fn read_settings(&mut self, file: &Utf8Path, depth: usize) {
        let place = self.digester.place(file);
        if depth > DEEP || self.sealed.settings.contains_key(&place) || !files::exists(file) {
            return;
        }
        let mut values: BTreeMap<String, Vec<Option<BString>>> = BTreeMap::new();
        for (key, value) in read_settings(file) {
            values.entry(key).or_default().push(value);
        }
        let digests = self.digest_values(&values);
        self.sealed.settings.insert(place, digests);
        for (key, values_of_key) in &values {
            for value in values_of_key {
                if let Some(included) = included_by(file, key, value.as_ref()) {
                    self.read_settings(&included, depth + 1);
                }
            }
        }
    }

    /// Digests the values of each setting, and keeps as text the values that may be shown.
    fn digest_values(&mut self, values: &BTreeMap<String, Vec<Option<BString>>>) -> Digests {
        let mut digests = Digests::new();
        for (key, values_of_key) in values {
            let joined = joined_values(values_of_key);
            let digest = self.digester.digest(&joined);
            let readable = joined.replace(b"\0", b", ").replace(b"\x01", b"true");
            let shown = escape_for_terminal(&readable);
            if may_show(key, &shown) {
                self.sealed.values.insert(digest.clone(), shown);
            }
            digests.insert(key.clone(), digest);
        }
        digests
    }

    /// Walks the git directories of submodules (gitrepository-layout(5)).
    fn read_modules(&mut self, directory: &Utf8Path, depth: usize) -> Result<(), Error> {
        for name in files::names(directory)? {
            let inner = directory.join(name);
            if depth > DEEP || !files::is_directory(&inner) {
                self.read_unknown(&inner)?;
            } else if files::exists(&inner.join("HEAD")) {
                self.read_git_dir(&inner, GitDirOwner::Submodule, depth + 1)?;
            } else {
                // a name of a submodule can have slashes
                self.read_modules(&inner, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Walks the git directories of the linked worktrees of a repository that no record names.
    fn read_worktrees(&mut self, directory: &Utf8Path, depth: usize) -> Result<(), Error> {
        let repository = self.repository();
        let is_of_submodule = directory.parent() != Some(&*repository.common_dir);
        let recorded = if is_of_submodule {
            BTreeSet::new()
        } else {
            repository
                .recorded_git_dirs
                .names(&repository.record_places())?
        };
        for id in files::names(directory)? {
            let inner = directory.join(&id);
            let is_recorded = recorded.contains(&id);
            // a record is written last
            if is_recorded || self.digester.own == Some(&*inner) {
                continue;
            }
            if files::is_directory(&inner) {
                self.read_git_dir(&inner, GitDirOwner::Worktree, depth + 1)?;
            } else {
                self.read_unknown(&inner)?;
            }
        }
        Ok(())
    }

    /// Walks one git directory: each entry is data, has a meaning, or is sealed as it is.
    fn read_git_dir(
        &mut self,
        directory: &Utf8Path,
        owner: GitDirOwner,
        depth: usize,
    ) -> Result<(), Error> {
        let place = self.digester.place(directory);
        self.sealed.directories.insert(place, owner);
        let is_submodule = owner == GitDirOwner::Submodule;
        // the repository of a clone is its private git directory too: what stands in it for the
        // clone's own work is not sealed, and `config.worktree` has a digest in the record
        let is_clone = self.repository().is_clone() && owner == GitDirOwner::Repository;
        let names = files::names(directory)?;
        for name in &names {
            let entry = directory.join(name);
            match role_of(name) {
                Role::Settings if is_clone && name == "config.worktree" => {}
                Role::Worktrees | Role::Operation if is_clone => {}
                // `read_hooks` reads the hooks of the repository, and a worktree has none
                Role::Hooks if !is_submodule => {}
                // each fetch of a shallow submodule moves where its history ends
                Role::Shallow if is_submodule => {}
                Role::Data | Role::Link => {}
                Role::DataDirectory => self.read_data_directory(&entry)?,
                Role::Objects => self.read_objects(&entry)?,
                Role::Operation => self.read_below(&entry, DataDirectory::Operation)?,
                Role::Settings => self.read_settings(&entry, 0),
                Role::Hooks => self.read_hooks_of_submodule(&entry)?,
                Role::Info => self.read_info(directory)?,
                Role::Modules => self.read_modules(&entry, depth)?,
                Role::Worktrees => self.read_worktrees(&entry, depth)?,
                Role::Resolutions => self.read_resolutions(&entry)?,
                Role::Shallow => self.read_file(&entry),
                Role::Remotes => self.read_remotes(&entry)?,
                Role::Unknown => self.read_unknown(&entry)?,
            }
        }
        // git looks for no objects in the git directory of a worktree
        if owner != GitDirOwner::Worktree {
            self.read_file(&directory.join(ALTERNATES));
        }
        if !is_submodule && !is_clone {
            self.read_state(directory, &names)?;
        }
        if is_clone {
            self.read_own_operation(directory);
        }
        self.read_links(directory, owner);
        Ok(())
    }

    /// Walks the private git directory of the worktree itself. The record has digests of the
    /// settings and the sparse patterns in it, and what the worktree is on and what it does there
    /// is its own, but for what [`Self::read_own_operation`] says.
    fn read_own_git_dir(&mut self, directory: &Utf8Path) -> Result<(), Error> {
        let place = self.digester.place(directory);
        self.sealed.directories.insert(place, GitDirOwner::Worktree);
        for name in files::names(directory)? {
            let entry = directory.join(&name);
            match role_of(&name) {
                Role::Settings if name == "config.worktree" => {}
                Role::Data | Role::Link | Role::Operation => {}
                Role::DataDirectory => self.read_data_directory(&entry)?,
                Role::Info => self.read_info(directory)?,
                Role::Modules => self.read_modules(&entry, 0)?,
                // git reads those of the repository
                Role::Objects
                | Role::Settings
                | Role::Hooks
                | Role::Worktrees
                | Role::Resolutions
                | Role::Shallow
                | Role::Remotes
                | Role::Unknown => self.read_unknown(&entry)?,
            }
        }
        self.read_own_operation(directory);
        Ok(())
    }

    /// Seals what stands in the place of a directory of data.
    fn read_data_directory(&mut self, directory: &Utf8Path) -> Result<(), Error> {
        let is_directory = files::stat(directory).is_some_and(|stat| stat.is_directory());
        if !is_directory {
            self.read_unknown(directory)?;
        }
        Ok(())
    }

    /// Seals what git is not known to write in a directory.
    fn read_below(&mut self, directory: &Utf8Path, kind: DataDirectory) -> Result<(), Error> {
        for name in files::names(directory)? {
            if !kind.has_as_data(&name) {
                self.read_unknown(&directory.join(name))?;
            }
        }
        Ok(())
    }

    fn read_objects(&mut self, directory: &Utf8Path) -> Result<(), Error> {
        self.read_data_directory(directory)?;
        self.read_below(directory, DataDirectory::Objects)?;
        self.read_below(&directory.join("info"), DataDirectory::ObjectsInfo)?;
        self.read_below(&directory.join("pack"), DataDirectory::Packs)
    }

    fn read_hooks_of_submodule(&mut self, directory: &Utf8Path) -> Result<(), Error> {
        self.read_data_directory(directory)?;
        for Script { file, digest } in self.scripts_of(directory)? {
            self.insert(&file, digest);
        }
        self.read_subdirectories_of_hooks(directory, DEEP, &mut 0)
    }

    fn read_resolutions(&mut self, directory: &Utf8Path) -> Result<(), Error> {
        for id in files::names(directory)? {
            let resolution = directory.join(id);
            if !files::is_directory(&resolution) {
                self.read_unknown(&resolution)?;
                continue;
            }
            for name in files::names(&resolution)? {
                if !DataDirectory::Resolution.has_as_data(&name) {
                    self.read_entry(&resolution.join(name))?;
                }
            }
        }
        Ok(())
    }

    /// Seals each file; the name of a remote can have slashes.
    fn read_remotes(&mut self, directory: &Utf8Path) -> Result<(), Error> {
        for name in files::names(directory)? {
            self.read_entry(&directory.join(name))?;
        }
        Ok(())
    }

    /// Takes down where a git directory leads git, and what leads git to it.
    fn read_links(&mut self, directory: &Utf8Path, owner: GitDirOwner) {
        let common_dir = directory.join("commondir");
        if !files::exists(&common_dir) {
            // git takes a directory with objects for a repository of its own
            let is_own =
                owner == GitDirOwner::Worktree && files::exists(&directory.join("objects"));
            if is_own {
                self.insert(&common_dir, "missing".to_owned());
            }
        } else if owner != GitDirOwner::Worktree || !leads_above(&common_dir) {
            self.read_file(&common_dir);
        }
        let dot_git = match owner {
            GitDirOwner::Repository => None,
            GitDirOwner::Worktree => named_in(&directory.join("gitdir"), ""),
            GitDirOwner::Submodule => dot_git_of_submodule(directory),
        };
        let link = dot_git.and_then(|file| {
            let leads_to = target_of(&file)?;
            Some(DotGit { file, leads_to })
        });
        self.links.extend(link);
    }

    /// Seals what leads git to a directory that is none of those that were walked.
    fn seal_links(&mut self) {
        for link in std::mem::take(&mut self.links) {
            let place = self.digester.place(&link.leads_to);
            if !self.sealed.directories.contains_key(&place) {
                self.insert(&link.file, link.leads_to.to_string());
            }
        }
    }

    /// Seals which commit or branch a worktree is on, and which operation is in progress there.
    /// Only what is among the `names` in its git directory is read: there may be hundreds of
    /// worktrees.
    fn read_state(&mut self, git_dir: &Utf8Path, names: &[String]) -> Result<(), Error> {
        if let Some(head) = files::read(&git_dir.join("HEAD")).ok().flatten() {
            self.insert(&git_dir.join("HEAD"), escape_for_terminal(head.trim()));
        }
        for state in OPERATION {
            if may_be_among(state, names) {
                self.read_file(&git_dir.join(state));
            }
        }
        let patches = git_dir.join("rebase-apply");
        if may_be_among("rebase-apply", names)
            && let Some(digest) = self.digester.patches(&patches)?
        {
            self.insert(&patches, digest);
        }
        if may_be_among(AUTOSTASH, names)
            && let Some(digest) = self.digester.autostash(git_dir)
        {
            self.insert(&git_dir.join(AUTOSTASH), digest);
        }
        let todo = git_dir.join(TODO);
        if may_be_among(TODO, names)
            && let Some(digest) = self.digester.commands(&todo)
        {
            self.insert(&todo, digest);
        }
        Ok(())
    }

    /// Seals of the worktree's own operation what another worktree may have put there: a stash that
    /// no merge made, and a rebase that starts programs.
    fn read_own_operation(&mut self, git_dir: &Utf8Path) {
        let autostash = self.digester.autostash(git_dir);
        if let Some(digest) = autostash.filter(|digest| digest.ends_with(ALONE)) {
            self.insert(&git_dir.join(AUTOSTASH), digest);
        }
        let todo = git_dir.join(TODO);
        let commands = self.digester.commands(&todo);
        if let Some(digest) = commands.filter(|digest| digest.ends_with(STARTS)) {
            self.insert(&todo, digest);
        }
    }

    /// Digests what a git directory says about files.
    fn read_info(&mut self, git_dir: &Utf8Path) -> Result<(), Error> {
        let info = git_dir.join("info");
        let is_clone = self.repository().is_clone() && git_dir == self.repository().common_dir;
        // the record has a digest of the sparse patterns
        let is_recorded = is_clone || self.digester.own == Some(git_dir);
        for name in files::names(&info)? {
            let is_own = is_recorded && name == "sparse-checkout";
            // git writes `info/refs` for itself
            if name != "refs" && !is_lock(&name) && !is_own {
                self.read_entry(&info.join(name))?;
            }
        }
        Ok(())
    }
}

/// Joins the values of a setting: a key alone is true, and an empty value is not.
fn joined_values(values: &[Option<BString>]) -> Vec<u8> {
    let mut texts: Vec<&[u8]> = Vec::new();
    for value in values {
        match value {
            Some(text) => texts.push(text),
            None => texts.push(b"\x01"),
        }
    }
    texts.join(&b"\0"[..])
}

/// Returns the directory that `core.hooksPath` names. In a clone the last one that counts is ours,
/// which the record has a digest of.
fn users_directory(repository: &Repository) -> Result<Option<Utf8PathBuf>, Error> {
    let is_clone = repository.is_clone();
    let ours = WorktreeHooks::directory_in(&repository.common_dir);
    let mut users = None;
    for (_, path) in repository.git.config_get_all_paths("core.hooksPath")? {
        let is_ours = is_clone && path == ours;
        if !is_ours && !path.as_str().is_empty() {
            users = Some(path);
        }
    }
    let relative_to = if is_clone {
        &repository.git.dir
    } else {
        &repository.root
    };
    Ok(users.map(|path| relative_to.join(path)))
}

/// Returns the path that a file of a git directory names, after a word; none if it cannot be
/// read.
fn named_in(file: &Utf8Path, word: &str) -> Option<Utf8PathBuf> {
    let bytes = files::read(file).ok()??;
    let rest = bytes.trim_ascii().strip_prefix(word.as_bytes())?;
    let path = rest.trim_ascii().to_str().ok()?;
    Some(file.parent()?.join(path))
}

/// True if the `commondir` of a linked worktree leads to the repository that it is in.
fn leads_above(common_dir: &Utf8Path) -> bool {
    let above = common_dir.ancestors().nth(3);
    let named = named_in(common_dir, "").and_then(|path| files::canonical(&path).ok());
    named.is_some() && named == above.and_then(|path| files::canonical(path).ok())
}

/// Returns the `.git` of a submodule's worktree, by the last setting that says where that is.
fn dot_git_of_submodule(directory: &Utf8Path) -> Option<Utf8PathBuf> {
    let mut worktree = None;
    for file in ["config", "config.worktree"] {
        for (key, value) in read_settings(&directory.join(file)) {
            if key == "core.worktree" {
                worktree = value;
            }
        }
    }
    let root = directory.join(worktree?.to_str().ok()?);
    Some(files::canonical(&root).ok()?.join(".git"))
}

/// Returns the git directory that a `.git` leads to, whether it is one, a file or a link; none
/// if nothing is there.
fn target_of(dot_git: &Utf8Path) -> Option<Utf8PathBuf> {
    let target = if files::is_directory(dot_git) {
        dot_git.to_owned()
    } else {
        named_in(dot_git, "gitdir:")?
    };
    files::canonical(&target).ok()
}

/// True if what stands at a path may be among these names, by the first part of the path. Where the
/// file system folds case, git opens `merge_head` as `MERGE_HEAD`.
fn may_be_among(path: &str, names: &[String]) -> bool {
    let first = path.split('/').next().unwrap_or(path);
    names
        .iter()
        .any(|name| !name.is_ascii() || name.eq_ignore_ascii_case(first))
}
