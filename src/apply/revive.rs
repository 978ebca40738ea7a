//! Brings a removed worktree back as it was saved, or does nothing (`remove --undo`).
//!
//! Git registers the worktree and checks HEAD out within the scope, as `add` does; what was not as a
//! checkout gives it is laid over, byte by byte. Then come the private git directory with the index,
//! and the record last.

mod clone;
mod files;
mod record;

use camino::{Utf8Path, Utf8PathBuf};

use crate::config::Strategy;
use crate::disk::files::{self as disk, Lock};
use crate::disk::inventory::{files_below, rename};
use crate::disk::put::{self, Content};
use crate::disk::remains::sweep;
use crate::entry::{Entry, Mode};
use crate::error::Error;
use crate::facts::trash::{ADMIN, BRANCH_LOG, RECORD, Saved, is_left_out};
use crate::facts::{Repository, WorktreeError};
use crate::git::GitMode;
use crate::git::hooks::Hooks;
use crate::git::objects::Objects;
use crate::git::worktree::NewWorktreeBranch;
use crate::path::RepoPath;
use crate::plan::trash::RevivePlan;
use crate::scope::{Case, Scope};
use crate::truth::integrity::fingerprint;
use crate::worktree::excluding::EXCLUDE;
use crate::worktree::ignore_rules::{self, WrittenIgnoreRules};
use crate::worktree::unfinished::remove_unfinished;
use crate::worktree::{Intent, Record, VERSION, WatchedFile, from_text, to_text};

/// Holds what a worktree is brought back from.
pub struct Reviving<'a> {
    /// The repository; the lock of the name is held.
    pub repository: &'a Repository,
    /// What was saved.
    pub saved: &'a Saved,
    /// What is to be done.
    pub plan: &'a RevivePlan,
    /// Now, RFC 3339.
    pub time: String,
    /// Our own executable, for hooks whose place is another one now.
    pub binary: &'a Utf8Path,
    /// Fails when somebody asked to stop.
    pub check: &'a dyn Fn() -> Result<(), Error>,
}

impl Reviving<'_> {
    /// Brings it back; what could not be, a sentence each.
    ///
    /// # Errors
    /// Fails when git or the disk does, or somebody asked to stop: all is undone then.
    pub fn apply(&self) -> Result<Vec<String>, Error> {
        let objects = self.repository.objects()?;
        // what is damaged is found before anything is made
        let recorded = self.recorded(&objects)?;
        let rules = ignore_rules::ensure(self.repository)?;
        let intent = self.intent(&recorded);
        self.steps(&intent, &objects, recorded).map_err(|error| {
            let left = self.undo(&intent, rules);
            // a signal that reached git first looks like git's own failure
            let error = (self.check)().err().unwrap_or(error);
            error.leaving(left)
        })
    }

    fn intent(&self, recorded: &Record) -> Intent {
        let trash = &self.saved.trash;
        let own = trash.branch.full_ref();
        let made = self.plan.make.iter().find(|(name, _)| *name == own);
        Intent {
            version: VERSION,
            process: std::process::id(),
            branch_at: made.map(|(_, at)| at.clone()),
            record: Record {
                created: self.time.clone(),
                path: self.plan.path.clone(),
                branch: trash.branch.clone(),
                owner: None,
                ..recorded.clone()
            },
        }
    }

    /// What could not be undone; the intent stays with that.
    fn undo(&self, intent: &Intent, rules: WrittenIgnoreRules) -> Vec<String> {
        let repository = self.repository;
        let cleared = remove_unfinished(repository, intent);
        for (name, at) in &self.plan.make {
            let _ = repository.git.delete_ref(name, at);
        }
        let mut left: Vec<String> = cleared.err().iter().map(ToString::to_string).collect();
        left.extend(rules.undo());
        disk::remove_if_empty(&repository.records_dir());
        left
    }

    fn steps(
        &self,
        intent: &Intent,
        objects: &Objects,
        recorded: Record,
    ) -> Result<Vec<String>, Error> {
        let (repository, saved, path) = (self.repository, self.saved, &self.plan.path);
        let case = if recorded.ignore_case {
            Case::Insensitive
        } else {
            Case::Sensitive
        };
        let scope = Scope::compile(recorded.scope.clone(), case).map_err(Error::from)?;
        let dir = repository.record_dir(&saved.trash.name);
        sweep(&dir);
        disk::write(&dir.join("intent.toml"), to_text(intent).as_bytes())?;
        let head = objects.list(&objects.commit(&saved.trash.head)?.tree)?;
        let gitlinks = head.iter().filter(|(_, e)| e.mode == Mode::Gitlink);
        let patterns = scope.sparse_patterns(gitlinks.map(|(path, _)| path));
        let (own, admin) = match recorded.strategy {
            Strategy::Worktree => {
                let admin = self.register(&patterns, &recorded)?;
                (repository.clone(), admin)
            }
            Strategy::Clone => {
                let own = clone::make(self, &patterns)?;
                let admin = own.common_dir.clone();
                (own, admin)
            }
        };
        (self.check)()?;
        let git = own.git.on(&admin, Some(path));
        git.reset_hard()?;
        (self.check)()?;
        let mut laid = files::lay(self, objects, &scope, &head)?;
        (self.check)()?;
        let is_moved = admin != recorded.admin_dir || *path != recorded.path;
        laid.notes.extend(self.admin(objects, &own, &admin)?);
        let hardened = git.with_mode(GitMode::Hardened);
        // an index that was damaged comes back as it was
        let _ = hardened.update_index_refresh();
        let changed = if is_moved {
            self.moved(&own, &admin, &recorded)?
        } else {
            Vec::new()
        };
        (self.check)()?;
        record::write(self, objects, &scope, &laid, recorded, &admin, &changed)?;
        disk::remove_file(&dir.join("intent.toml"))?;
        Ok(laid.notes)
    }

    /// The record as it was saved.
    fn recorded(&self, objects: &Objects) -> Result<Record, Error> {
        let damaged = |detail: String| WorktreeError::Damaged {
            name: self.saved.trash.name.to_string(),
            file: format!("what was saved ({})", self.plan.reference),
            detail,
        };
        let id = self.saved.file(&format!("{RECORD}record.toml"));
        let id = id.ok_or_else(|| damaged("it has no record".to_owned()))?;
        let bytes = objects.blob(&id)?;
        let text = std::str::from_utf8(&bytes).map_err(|error| damaged(error.to_string()))?;
        Ok(from_text(text).map_err(|error| damaged(error.to_string()))?)
    }

    /// The steps in which git writes shared files; the private git directory.
    fn register(&self, patterns: &[u8], recorded: &Record) -> Result<Utf8PathBuf, Error> {
        let (repository, path) = (self.repository, &self.plan.path);
        let _shared = Lock::wait(&repository.shared_lock())?;
        for (name, at) in &self.plan.make {
            let reason = "agentwt remove: undo";
            repository.git.update_ref(name, at, None, reason)?;
        }
        self.branch_log()?;
        let head = NewWorktreeBranch::Detached(&self.saved.trash.head);
        repository.git.worktree_add_no_checkout(path, head)?;
        let made = repository.git.at(path).absolute_git_dir()?;
        let admin = self.with_its_name(made, recorded)?;
        repository.git.at(path).sparse_checkout_set(patterns)?;
        Ok(admin)
    }

    /// Gives the private git directory the name that it had, if that is free: hooks and
    /// configuration name it.
    fn with_its_name(&self, made: Utf8PathBuf, recorded: &Record) -> Result<Utf8PathBuf, Error> {
        let name = recorded.admin_dir.file_name();
        let Some(wanted) = name.map(|name| made.with_file_name(name)) else {
            return Ok(made);
        };
        if wanted != made && !disk::exists(&wanted) {
            let dot_git = self.plan.path.join(".git");
            let text = disk::read(&dot_git)?.unwrap_or_default();
            let text = String::from_utf8_lossy(&text).into_owned();
            rename(&made, &wanted)?;
            let old = made.file_name().unwrap_or_default();
            let new = wanted.file_name().unwrap_or_default();
            let text = text
                .trim_end()
                .strip_suffix(old)
                .map(|start| format!("{start}{new}\n"));
            disk::write(&dot_git, text.unwrap_or_default().as_bytes())?;
            return Ok(wanted);
        }
        Ok(made)
    }

    /// Git deletes the reflog with a branch.
    fn branch_log(&self) -> Result<(), Error> {
        let own = self.saved.trash.branch.full_ref();
        let is_made = self.plan.make.iter().any(|(name, _)| *name == own);
        let file = self.repository.common_dir.join("logs").join(own);
        if let Some(id) = self.saved.file(BRANCH_LOG).filter(|_| is_made)
            && disk::exists(&file)
        {
            disk::write(&file, &self.repository.objects()?.blob(&id)?)?;
        }
        Ok(())
    }

    /// Puts the private git directory back, with the index; nothing where it was gone. What could
    /// not be, a sentence each.
    fn admin(
        &self,
        objects: &Objects,
        own: &Repository,
        admin: &Utf8Path,
    ) -> Result<Vec<String>, Error> {
        let mut wanted: Vec<(RepoPath, Entry)> = self.saved.below(ADMIN).collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        let refs = if own.is_clone() {
            clone::take_refs(objects, own, &mut wanted)?
        } else {
            clone::Refs::default()
        };
        let _shared = Lock::wait(&self.repository.shared_lock())?;
        let is_gits = |path: &RepoPath| is_left_out(own, path);
        for path in files_below(admin, &is_gits)? {
            let is_wanted = wanted
                .binary_search_by(|(other, _)| other.cmp(&path))
                .is_ok();
            if !is_wanted {
                put::remove_entry(admin, &path)?;
            }
        }
        for (path, entry) in &wanted {
            let private = &self.saved.trash.private;
            let is_private = private.contains(&path.to_string());
            put_file(objects, admin, path, *entry, is_private)?;
        }
        refs.put(admin)
    }

    /// Sets anew what names the private git directory, which has another place than the recorded
    /// one: the hooks, and the exclude file of what is placed. Which files are other by this.
    fn moved(
        &self,
        own: &Repository,
        admin: &Utf8Path,
        recorded: &Record,
    ) -> Result<Vec<WatchedFile>, Error> {
        let git = &own.git.on(admin, Some(&self.plan.path));
        let mut changed = Vec::new();
        let _shared = Lock::wait(&self.repository.shared_lock())?;
        let (config, key) = (admin.join("config.worktree"), "core.excludesFile");
        let old = recorded.admin_dir.join(EXCLUDE);
        if disk::exists(&config)
            && git
                .config_file_get_all(&config, key)?
                .contains(&old.to_string())
        {
            let file = WatchedFile::ConfigWorktree;
            let (common, format) = (&own.common_dir, own.format);
            let now = fingerprint(file, common, admin, format)?;
            git.config_file_set(&config, key, admin.join(EXCLUDE).as_str())?;
            if recorded.integrity.contains(&now) {
                changed.push(file);
            }
        }
        if disk::is_directory(&admin.join("agentwt/hooks")) {
            let on_violation = recorded.on_violation;
            let hooks = match recorded.strategy {
                Strategy::Worktree => Hooks::of(git, admin, &self.plan.path)?,
                Strategy::Clone => Hooks::of_clone(git, &self.plan.path)?,
            };
            hooks.install(self.binary, on_violation)?;
            changed.extend([
                WatchedFile::HooksConfig,
                WatchedFile::HooksBinary,
                WatchedFile::HooksScripts,
            ]);
        }
        Ok(changed)
    }
}

/// Puts a file of ours or of git's where it was: HEAD is never missing.
fn put_file(
    objects: &Objects,
    root: &Utf8Path,
    path: &RepoPath,
    entry: Entry,
    is_private: bool,
) -> Result<(), Error> {
    let bytes = objects.blob(&entry.id)?;
    if path.as_bstr() == "HEAD" {
        return Ok(disk::write(&root.join("HEAD"), &bytes)?);
    }
    put::remove_alone(root, path)?;
    Ok(put::put_entry(
        root,
        path,
        &content(entry.mode, bytes),
        is_private.then_some(if entry.mode == Mode::Executable {
            0o700
        } else {
            0o600
        }),
    )?)
}

fn content(mode: Mode, bytes: Vec<u8>) -> Content {
    match mode {
        Mode::Executable => Content::Executable(bytes),
        Mode::Link => Content::Link(bytes),
        Mode::File | Mode::Gitlink | Mode::EmptyDirectory | Mode::NestedGit | Mode::Special => {
            Content::File(bytes)
        }
    }
}
