//! Reads what changes what git does beside a worktree: hooks and what they run, settings, states of
//! other worktrees.
//!
//! The git directories are walked, and `role_of` says what an entry is; what it does not know is
//! sealed. The worktrees that a record names are left out: each verdict answers for its own.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::open::Opened;
use crate::disk::{files, open};
use crate::git::hooks::worktree_hooks::WorktreeHooks;
use crate::git::settings_file::{included_by, read_settings};
use crate::record::worktree::{Digests, GitDirOwner, Sealed, Shared};
use crate::truth::git_dirs::{Role, is_lock, role_of};
use crate::truth::keys::may_show;
use crate::words::error::Error;
use crate::words::path::escape_for_terminal;
use crate::worktree::repository::{Main, Repository};

/// Files of an operation: what the next commit has as a parent, and commands that remain.
pub const OPERATION: [&str; 4] = [
    "MERGE_HEAD",
    "CHERRY_PICK_HEAD",
    "REVERT_HEAD",
    "sequencer/todo",
];
/// The file of `rebase -i` with the commands that remain.
pub const TODO: &str = "rebase-merge/git-rebase-todo";
/// What a digest ends with of a script that is not executable, and of a list of commands that starts
/// a program.
pub const PLAIN: &str = " plain";
pub const STARTS: &str = " exec";

/// Where history ends, and whose objects the repository borrows (gitrepository-layout(5)).
pub const SHALLOW: &str = "shallow";
pub const BORROWED: &str = "objects/info/alternates";

/// How many files of hooks are sealed in one directory, with those below: `core.hooksPath` may name
/// a directory of something else as well.
const MOST: usize = 500;
/// The size from which a file that git is not known to read is sealed by its size.
const LARGE: u64 = 1 << 20;
/// How many directories deep hooks, submodules and includes are followed.
const DEEP: usize = 6;

/// Reads what a worktree shares with others now, and the repositories of its submodules, which are in
/// its private git directory: git runs what these name as well.
///
/// # Errors
/// Fails when git or the disk does.
pub fn read(repository: &Repository, own: Option<&Utf8Path>) -> Result<Shared, Error> {
    let mut seal = Seal {
        repository,
        // the private git directory of a clone is all of its repository
        own: own.filter(|_| !repository.is_clone()),
        hooks: Digests::new(),
        sealed: Sealed::default(),
        links: Vec::new(),
    };
    seal.read_hooks()?;
    seal.read_git_dir(&repository.common_dir, GitDirOwner::Repository, 0)?;
    if let Some(own) = seal.own {
        seal.read_modules(&own.join("modules"), 0)?;
    }
    seal.take_links();
    // an included file is known by its settings
    let Sealed {
        files, settings, ..
    } = &mut seal.sealed;
    files.retain(|file, _| !settings.contains_key(file));
    Ok(Shared {
        hooks: seal.hooks,
        settings: self::settings(repository)?,
        sealed: seal.sealed,
    })
}

/// Digests the values of every setting of the repository, includes among them, as git sees it. Those
/// of the main worktree's own file (`config.worktree`) begin with `worktree:`.
///
/// # Errors
/// Fails when git does.
pub fn settings(repository: &Repository) -> Result<Digests, Error> {
    let mut values = std::collections::BTreeMap::<String, Vec<u8>>::new();
    for (scope, key, value) in repository.git.config_list()? {
        let key = match scope.as_str() {
            "local" => key,
            // a clone's own `config.worktree` is what the record has a digest of
            "worktree" if !repository.is_clone() => format!("worktree:{key}"),
            _ => continue,
        };
        let all = values.entry(key).or_default();
        all.extend_from_slice(&value);
        all.push(0);
    }
    let digest = |values: Vec<u8>| repository.format.blob_id(&values).to_string();
    let settings = values.into_iter();
    Ok(settings.map(|(key, all)| (key, digest(all))).collect())
}

/// Holds what was read so far.
struct Seal<'a> {
    repository: &'a Repository,
    own: Option<&'a Utf8Path>,
    hooks: Digests,
    sealed: Sealed,
    links: Vec<DotGit>,
}

/// Holds where the `.git` of a worktree or submodule leads.
struct DotGit {
    file: Utf8PathBuf,
    leads_to: Utf8PathBuf,
}

impl Seal<'_> {
    fn digest(&self, bytes: &[u8]) -> String {
        self.repository.format.blob_id(bytes).to_string()
    }

    /// How a path is shown, as [`crate::judge::change::Place::of_shared`] reads it.
    fn place(&self, path: &Utf8Path) -> String {
        let is_main = self.repository.main == Main::Worktree;
        let main = is_main.then_some(&*self.repository.root);
        let roots = [
            ("@wt", self.own),
            ("@git", Some(&*self.repository.common_dir)),
            ("@main", main),
        ];
        let inside = roots.iter().find_map(|(name, root)| {
            let inside = path.strip_prefix((*root)?).ok()?;
            Some(format!("{name}/{inside}"))
        });
        inside.unwrap_or_else(|| path.to_string())
    }

    /// The place of a directory, without the slash at its end.
    fn place_of_directory(&self, path: &Utf8Path) -> String {
        let place = self.place(path);
        place.trim_end_matches('/').to_owned()
    }

    fn insert(&mut self, path: &Utf8Path, digest: String) {
        let place = self.place(path);
        self.sealed.files.insert(place, digest);
    }

    /// Digests the hooks of the common git directory, those of the directory that `core.hooksPath`
    /// names in the main worktree, and the files beside both that hooks can run.
    fn read_hooks(&mut self) -> Result<(), Error> {
        let common = self.repository.common_dir.join("hooks");
        let users = users_directory(self.repository)?;
        for directory in [Some(common.clone()), users.filter(|own| *own != common)] {
            let Some(directory) = directory else {
                continue;
            };
            for (file, digest) in self.scripts_of(&directory)? {
                if digest.ends_with(PLAIN) {
                    self.insert(&file, digest);
                } else {
                    let place = self.place(&file);
                    self.hooks.insert(place, digest);
                }
            }
            let holds_all = self.repository.root.starts_with(&directory);
            if !holds_all {
                self.read_scripts(&directory, DEEP, &mut 0)?;
            }
        }
        Ok(())
    }

    /// The files of a directory of hooks, samples apart.
    fn scripts_of(&self, directory: &Utf8Path) -> Result<Vec<(Utf8PathBuf, String)>, Error> {
        let names = files::names(directory)?.into_iter();
        let files = names.filter(|name| !name.ends_with(".sample"));
        let files = files.map(|name| directory.join(name));
        let script = |file: Utf8PathBuf| {
            let digest = self.script(&file)?;
            Some((file, digest))
        };
        Ok(files.filter_map(script).collect())
    }

    /// Digests what is in the directories of a directory of hooks.
    fn read_scripts(
        &mut self,
        directory: &Utf8Path,
        depth: usize,
        count: &mut usize,
    ) -> Result<(), Error> {
        for name in files::names(directory)? {
            let inner = directory.join(&name);
            if depth == 0
                || name == ".git"
                || !files::stat(&inner).is_some_and(|stat| stat.is_directory())
            {
                continue;
            }
            for name in files::names(&inner)? {
                let file = inner.join(&name);
                if let Some(digest) = self.script(&file) {
                    *count += 1;
                    if *count > MOST {
                        return Ok(());
                    }
                    // a hook can read each, executable or not
                    self.insert(&file, digest.trim_end_matches(PLAIN).to_owned());
                }
            }
            self.read_scripts(&inner, depth - 1, count)?;
        }
        Ok(())
    }

    /// The digest of a file that can be run; none for what has no content.
    fn script(&self, file: &Utf8Path) -> Option<String> {
        let (mut text, end) = match open::open_entry(file.as_std_path()) {
            Ok(Opened::File { executable, .. }) if executable => (Vec::new(), ""),
            Ok(Opened::File { .. }) => (Vec::new(), PLAIN),
            // the file that a link leads to can change as well
            Ok(Opened::Link(text)) => ([text.as_slice(), b"\0"].concat(), ""),
            Ok(Opened::Other) => {
                return files::is_endless(file).then(|| "a pipe or a device".to_owned());
            }
            Err(_) => return Some("unreadable".to_owned()),
        };
        text.extend(files::read(file).ok().flatten().unwrap_or_default());
        Some(format!("{}{end}", self.digest(&text)))
    }

    /// Digests the settings of a file, and of those that it includes.
    fn read_settings(&mut self, file: &Utf8Path, depth: usize) {
        let shown = self.place(file);
        if depth > DEEP || self.sealed.settings.contains_key(&shown) || !files::exists(file) {
            return;
        }
        let mut values = std::collections::BTreeMap::<String, Vec<Option<BString>>>::new();
        for (key, value) in read_settings(file) {
            values.entry(key).or_default().push(value);
        }
        let mut digests = Digests::new();
        for (key, all) in &values {
            // a key alone is true, and an empty value is not
            let all = all.iter();
            let all = all.map(|one| one.as_ref().map_or(&b"\x01"[..], |one| one));
            let all = all.collect::<Vec<_>>().join(&b"\0"[..]);
            let digest = self.digest(&all);
            let text = all.replace(b"\0", b", ").replace(b"\x01", b"true");
            let text = escape_for_terminal(&text);
            if may_show(key, &text) {
                self.sealed.values.insert(digest.clone(), text);
            }
            digests.insert(key.clone(), digest);
        }
        self.sealed.settings.insert(shown, digests);
        for (key, all) in &values {
            for value in all {
                if let Some(included) = included_by(file, key, value.as_ref()) {
                    self.read_settings(&included, depth + 1);
                }
            }
        }
    }

    /// Walks the git directories of submodules (gitrepository-layout(5)).
    fn read_modules(&mut self, directory: &Utf8Path, depth: usize) -> Result<(), Error> {
        if depth > DEEP {
            return Ok(());
        }
        for name in files::names(directory)? {
            let inner = directory.join(name);
            if files::exists(&inner.join("HEAD")) {
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
        let is_of_submodule = directory.parent() != Some(&*self.repository.common_dir);
        let recorded = if is_of_submodule {
            BTreeSet::new()
        } else {
            let repository = self.repository;
            repository
                .recorded_git_dirs
                .names(&repository.record_places())?
        };
        for id in files::names(directory)? {
            let inner = directory.join(&id);
            let is_recorded = recorded.contains(&id);
            // a record is written last
            let is_ours = is_recorded || self.own == Some(&*inner);
            if !is_ours && files::is_directory(&inner) {
                self.read_git_dir(&inner, GitDirOwner::Worktree, depth + 1)?;
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
        let place = self.place_of_directory(directory);
        self.sealed.directories.insert(place, owner);
        let is_submodule = owner == GitDirOwner::Submodule;
        // what else a clone has is its own, and the record has digests of that
        let is_clone = self.repository.is_clone() && owner == GitDirOwner::Repository;
        for name in files::names(directory)? {
            let entry = directory.join(&name);
            match role_of(&name) {
                Role::Settings if is_clone && name == "config.worktree" => {}
                Role::Worktrees if is_clone => {}
                // `read_hooks` reads the hooks of the repository, and a worktree has none
                Role::Hooks if !is_submodule => {}
                Role::Data | Role::Link => {}
                Role::Settings => self.read_settings(&entry, 0),
                Role::Hooks => self.read_hooks_of_submodule(&entry)?,
                Role::Info => self.read_info(directory)?,
                Role::Modules => self.read_modules(&entry, depth)?,
                Role::Worktrees => self.read_worktrees(&entry, depth)?,
                Role::Resolutions => self.read_resolutions(&entry)?,
                // each fetch of a shallow submodule moves where its history ends
                Role::Shallow if is_submodule => {}
                Role::Shallow => self.read_file(&entry),
                Role::Remotes => self.read_remotes(&entry)?,
                Role::Unknown => self.read_unknown(&entry),
            }
        }
        if owner != GitDirOwner::Worktree {
            self.read_file(&directory.join(BORROWED));
        }
        if !is_submodule && !is_clone {
            self.read_state(directory);
        }
        self.read_links(directory, owner);
        Ok(())
    }

    fn read_hooks_of_submodule(&mut self, directory: &Utf8Path) -> Result<(), Error> {
        for (file, digest) in self.scripts_of(directory)? {
            self.insert(&file, digest);
        }
        self.read_scripts(directory, DEEP, &mut 0)
    }

    fn read_resolutions(&mut self, directory: &Utf8Path) -> Result<(), Error> {
        for id in files::names(directory)? {
            self.read_file(&directory.join(id).join("postimage"));
        }
        Ok(())
    }

    fn read_remotes(&mut self, directory: &Utf8Path) -> Result<(), Error> {
        for name in files::names(directory)? {
            self.read_file(&directory.join(name));
        }
        Ok(())
    }

    /// Seals what is not known: a file by its content, a directory by being there, as tools keep
    /// their data in one, and git takes nothing in it for more than a ref.
    fn read_unknown(&mut self, path: &Utf8Path) {
        let digest = match files::stat(path) {
            Some(stat) if stat.is_directory() => Some("directory".to_owned()),
            // it may be a tool's as well, and reading it takes long
            Some(stat) if stat.size > LARGE => Some(format!("{} bytes", stat.size)),
            _other => self.script(path),
        };
        if let Some(digest) = digest {
            self.insert(path, digest);
        }
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
    fn take_links(&mut self) {
        for link in std::mem::take(&mut self.links) {
            let place = self.place_of_directory(&link.leads_to);
            if !self.sealed.directories.contains_key(&place) {
                self.insert(&link.file, link.leads_to.to_string());
            }
        }
    }

    /// Takes what a worktree is on, and what it is about to run.
    fn read_state(&mut self, git_dir: &Utf8Path) {
        if let Some(head) = files::read(&git_dir.join("HEAD")).ok().flatten() {
            self.insert(&git_dir.join("HEAD"), escape_for_terminal(head.trim()));
        }
        for name in OPERATION {
            self.read_file(&git_dir.join(name));
        }
        let todo = git_dir.join(TODO);
        if let Some(text) = files::read(&todo).ok().flatten() {
            // a command that ran is in the other file
            let done = files::read(&todo.with_file_name("done")).ok().flatten();
            let done = done.unwrap_or_default();
            let lines = text.lines().chain(done.lines()).map(bstr::ByteSlice::trim);
            let lines: BTreeSet<&[u8]> = lines.filter(|line| !line.starts_with(b"#")).collect();
            let starts =
                |line: &&[u8]| matches!(line.split(|b| *b == b' ').next(), Some(b"exec" | b"x"));
            let end = if text.lines().any(|line| starts(&line.trim_start())) {
                STARTS
            } else {
                ""
            };
            let all = lines.into_iter().collect::<Vec<_>>().join(&b'\n');
            self.insert(&todo, format!("{}{end}", self.digest(&all)));
        }
    }

    /// Digests what a git directory says about files.
    fn read_info(&mut self, git_dir: &Utf8Path) -> Result<(), Error> {
        let info = git_dir.join("info");
        // the record has a digest of the sparse patterns of a clone
        let is_clone = self.repository.is_clone() && git_dir == self.repository.common_dir;
        for name in files::names(&info)? {
            let is_own = is_clone && name == "sparse-checkout";
            // git writes `info/refs` for itself
            if name != "refs" && !is_lock(&name) && !is_own {
                self.read_file(&info.join(name));
            }
        }
        Ok(())
    }

    fn read_file(&mut self, file: &Utf8Path) {
        if let Some(digest) = self.script(file) {
            self.insert(file, digest);
        }
    }
}

/// The directory that `core.hooksPath` names. In a clone the last one that counts is ours, which
/// the record has a digest of.
fn users_directory(repository: &Repository) -> Result<Option<Utf8PathBuf>, Error> {
    let is_clone = repository.is_clone();
    let ours = WorktreeHooks::directory_in(&repository.common_dir);
    let all = repository.git.config_get_all_paths("core.hooksPath")?;
    let mut all = all.into_iter().map(|(_, path)| path);
    let path = all.rfind(|path| !(path.as_str().is_empty() || is_clone && *path == ours));
    let at = if is_clone {
        &repository.git.dir
    } else {
        &repository.root
    };
    Ok(path.map(|path| at.join(path)))
}

/// The path that a file of a git directory names, after a word; none where it cannot be read.
fn named_in(file: &Utf8Path, word: &str) -> Option<Utf8PathBuf> {
    let text = files::read(file).ok()??;
    let text = text.trim_ascii().strip_prefix(word.as_bytes())?;
    let path = text.trim_ascii().to_str().ok()?;
    Some(file.parent()?.join(path))
}

/// Whether the `commondir` of a linked worktree leads to the repository that it is in.
fn leads_above(common_dir: &Utf8Path) -> bool {
    let above = common_dir.ancestors().nth(3);
    let named = named_in(common_dir, "").and_then(|path| files::canonical(&path).ok());
    named.is_some() && named == above.and_then(|path| files::canonical(path).ok())
}

/// The `.git` of a submodule's worktree, by the last setting that says where that is.
fn dot_git_of_submodule(directory: &Utf8Path) -> Option<Utf8PathBuf> {
    let mut worktree = None;
    for file in ["config", "config.worktree"] {
        for (key, value) in read_settings(&directory.join(file)) {
            if key == "core.worktree" {
                worktree = value;
            }
        }
    }
    let worktree = directory.join(worktree?.to_str().ok()?);
    Some(files::canonical(&worktree).ok()?.join(".git"))
}

/// The git directory that a `.git` leads to, whether it is one, a file or a link; none where nothing
/// is there.
fn target_of(dot_git: &Utf8Path) -> Option<Utf8PathBuf> {
    let target = if files::is_directory(dot_git) {
        dot_git.to_owned()
    } else {
        named_in(dot_git, "gitdir:")?
    };
    files::canonical(&target).ok()
}
