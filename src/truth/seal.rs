//! Reads what changes what git does beside a worktree: hooks and what they run, settings, states of
//! other worktrees.
//!
//! The worktrees that a record names are left out: each verdict answers for its own.

use std::collections::BTreeSet;

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::error::Error;
use crate::git::config::{included_by, read_settings};
use crate::path::escape_for_terminal;
use crate::truth::keys::may_show;
use crate::worktree::repository::Repository;
use crate::worktree::{Digests, Main, Sealed, Shared, names};

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
    };
    seal.read_hooks()?;
    seal.read_settings(&repository.common_dir.join("config"), 0);
    seal.read_modules(&repository.common_dir.join("modules"), 0)?;
    seal.read_info(&repository.common_dir)?;
    for name in [SHALLOW, BORROWED] {
        seal.read_file(&repository.common_dir.join(name));
    }
    // how git resolves a conflict that it has seen (git-rerere(1))
    let resolutions = repository.common_dir.join("rr-cache");
    for id in files::names(&resolutions)? {
        seal.read_file(&resolutions.join(id).join("postimage"));
    }
    // what else a clone has is its own, and the record has digests of that
    if !repository.is_clone() {
        if let Some(own) = own {
            seal.read_modules(&own.join("modules"), 0)?;
        }
        seal.read_settings(&repository.common_dir.join("config.worktree"), 0);
        seal.read_state(&repository.common_dir);
        for git_dir in plain_worktrees(repository)? {
            seal.read_settings(&git_dir.join("config.worktree"), 0);
            seal.read_state(&git_dir);
            seal.read_info(&git_dir)?;
            seal.read_modules(&git_dir.join("modules"), 0)?;
        }
    }
    Ok(Shared {
        hooks: seal.hooks,
        settings: settings(repository)?,
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

/// Lists the private git directories of the linked worktrees that no record names.
fn plain_worktrees(repository: &Repository) -> Result<Vec<Utf8PathBuf>, Error> {
    let directory = repository.common_dir.join("worktrees");
    let ours: BTreeSet<String> = names(repository)?.iter().map(ToString::to_string).collect();
    let all = files::names(&directory)?;
    let is_plain = |id: &&String| {
        // git names a worktree after its directory, and counts where that name is taken
        if ours.contains(*id) && !all.contains(&format!("{id}1")) {
            return false;
        }
        let dot_git = files::read(&directory.join(id).join("gitdir")).ok();
        let dot_git = dot_git.flatten().unwrap_or_default();
        !dot_git.contains_str("/.agentwt/worktrees/")
    };
    let plain = all.iter().filter(is_plain);
    Ok(plain.map(|id| directory.join(id)).collect())
}

struct Seal<'a> {
    repository: &'a Repository,
    own: Option<&'a Utf8Path>,
    hooks: Digests,
    sealed: Sealed,
}

impl Seal<'_> {
    fn digest(&self, bytes: &[u8]) -> String {
        self.repository.format.blob_id(bytes).to_string()
    }

    /// How a path is shown, as [`crate::change::Place::of_shared`] reads it.
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
        let (mut text, end) = match files::open_entry(file.as_std_path()) {
            Ok(files::Opened::File { executable, .. }) if executable => (Vec::new(), ""),
            Ok(files::Opened::File { .. }) => (Vec::new(), PLAIN),
            // the file that a link leads to can change as well
            Ok(files::Opened::Link(text)) => ([text.as_slice(), b"\0"].concat(), ""),
            Ok(files::Opened::Other) => {
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

    /// Digests the settings and hooks of the repositories of submodules (gitrepository-layout(5)).
    fn read_modules(&mut self, directory: &Utf8Path, depth: usize) -> Result<(), Error> {
        if depth > DEEP {
            return Ok(());
        }
        for name in files::names(directory)? {
            let inner = directory.join(name);
            if !files::exists(&inner.join("HEAD")) {
                // a name of a submodule can have slashes
                self.read_modules(&inner, depth + 1)?;
                continue;
            }
            self.read_settings(&inner.join("config"), 0);
            for (file, digest) in self.scripts_of(&inner.join("hooks"))? {
                self.insert(&file, digest);
            }
            self.read_scripts(&inner.join("hooks"), DEEP, &mut 0)?;
            self.read_modules(&inner.join("modules"), depth + 1)?;
        }
        Ok(())
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

    /// Digests what a git directory says about files. `info/refs` git writes for itself.
    fn read_info(&mut self, git_dir: &Utf8Path) -> Result<(), Error> {
        let info = git_dir.join("info");
        for name in files::names(&info)? {
            if name != "refs" {
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
    let ours = repository.common_dir.join("agentwt/hooks");
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
