//! Writes down each step of a command before it is taken, and undoes the steps: after an error or a
//! signal, or for the next command after a kill.
//!
//! The journal stands in the directory of the worktree's record, beside the intent, and goes with
//! it. What undoes a step is decided in `record/journal.rs`; this file looks at what stands there,
//! and acts.

use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use crate::actions::dead_locks::{end_locks, lock_of};
use crate::actions::placing::staging;
use crate::config::value::Strategy;
use crate::disk::digest::digest_of;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::disk::remains::{is_newer, remove_busy_directory, remove_dead_locks, sweep};
use crate::git::error::GitError;
use crate::git::reflog::ReflogEntry;
use crate::record::journal;
use crate::record::journal::{FileChange, JournalFile, KeptFile, LogEntry, Now, Step, Undo};
use crate::record::worktree::Intent;
use crate::system::processes;
use crate::words::error::Error;
use crate::words::name::{BranchName, CommitId, WorktreeName};
use crate::words::toml_file::{from_text, to_text};
use crate::worktree::error::WorktreeFault;
use crate::worktree::gitdir::read_gitdir;
use crate::worktree::ignore_rules::is_needed;
use crate::worktree::repository::{Repository, WORKTREES, intent_file};

/// The file of a journal's directory that has the steps.
const STEPS: &str = "steps";

/// How long a git that lives may take until it has written the file that names its worktree.
const PAUSE: Duration = Duration::from_millis(200);

/// The journal of a command that changes a repository.
pub struct Journal<'a> {
    repository: &'a Repository,
    name: WorktreeName,
    /// Where the journal is.
    directory: Utf8PathBuf,
    /// What was written down so far.
    entries: Vec<Step>,
}

/// What an undo leaves.
#[derive(Debug, Default)]
pub struct Undone {
    /// What stays because another process changed it, and what harms no worktree.
    pub stays: Vec<String>,
    /// What could not be undone; while there is something, the journal stays.
    pub failed: Vec<String>,
}

/// How the last git that a command started has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LastGit {
    /// By itself: it has removed its locks.
    Ended,
    /// It was killed, and may have left locks behind.
    Killed,
}

/// The text of one step, as it is added to the file.
#[derive(Serialize)]
struct AppendedStep<'s> {
    step: [&'s Step; 1],
}

impl<'a> Journal<'a> {
    /// Begins the journal of the worktree of this name. The lock of the name is held, and the
    /// intent is written.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn begin(repository: &'a Repository, name: &WorktreeName) -> Result<Self, DiskError> {
        let begun = Self::with_entries(repository, name, Vec::new());
        let process = std::process::id();
        let header = JournalFile {
            process,
            started: processes::start_time(process),
            steps: Vec::new(),
        };
        files::create_directories(&begun.directory)?;
        begun.append(&to_text(&header))?;
        Ok(begun)
    }

    /// Reads what an `add` has left that was killed. The lock of the name is held.
    ///
    /// # Errors
    /// Fails when its process lives, or the disk refuses.
    pub fn read(repository: &'a Repository, intent: &Intent) -> Result<Self, Error> {
        let name = &intent.record.name;
        let mut killed = Self::with_entries(repository, name, Vec::new());
        let bytes = files::read(&killed.directory.join(STEPS))?.unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        let Some(file) = parse(&text) else {
            killed.entries = steps_of_intent(repository, intent);
            return Ok(killed);
        };
        let is_own = file.process == std::process::id();
        let started = file.started.as_deref().unwrap_or_default();
        if !is_own && processes::is_alive(file.process, started) {
            let name = name.to_string();
            return Err(WorktreeFault::Incomplete { name }.into());
        }
        killed.entries = file.steps;
        Ok(killed)
    }

    fn with_entries(repository: &'a Repository, name: &WorktreeName, entries: Vec<Step>) -> Self {
        Self {
            repository,
            name: name.clone(),
            directory: journal::directory(&repository.record_dir(name)),
            entries,
        }
    }

    fn append(&self, text: &str) -> Result<(), DiskError> {
        // not synced: after a loss of power the intent says as much
        files::append(&self.directory.join(STEPS), text.as_bytes())
    }

    /// Writes a step down. The caller takes it next.
    ///
    /// # Errors
    /// Fails when the disk refuses; the step must then not be taken.
    pub fn add(&mut self, step: Step) -> Result<(), DiskError> {
        let appended = AppendedStep { step: [&step] };
        let text = toml::to_string(&appended).expect("because a step is what TOML can write");
        self.append(&format!("\n{text}"))?;
        self.entries.push(step);
        Ok(())
    }

    /// Takes back the steps of a worktree that git did not create, and of the directories that it
    /// needs: git writes its entry before the directory, so what stands there is not ours.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn withdraw_worktree(&mut self, path: &Utf8Path) -> Result<(), DiskError> {
        if !self.entries_of(path).is_empty() {
            return Ok(());
        }
        while let Some(last) = journal::begun(&self.entries).pop() {
            let is_of_worktree = matches!(
                last,
                Step::CreatedDirectory { .. } | Step::CreatedWorktree { .. }
            );
            if !is_of_worktree {
                break;
            }
            self.add(Step::NotTaken)?;
        }
        // git leaves it where it could not create the entry
        files::remove_if_empty(&self.repository.common_dir.join("worktrees"));
        Ok(())
    }

    /// Writes down that a file is about to change, and keeps what it holds. `step` says which step
    /// that is; `after` is what the file will hold, where that is known.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_change(
        &mut self,
        step: fn(FileChange) -> Step,
        path: &Utf8Path,
        after: Option<&[u8]>,
    ) -> Result<(), Error> {
        let mut before = None;
        if let Some(digest) = digest_of_file(path)? {
            let name = format!("before-{}", self.entries.len());
            files::link_or_copy(path, &self.directory.join(&name))?;
            before = Some(KeptFile { name, digest });
        }
        let change = FileChange {
            path: path.to_owned(),
            before,
            after: after.map(digest_text),
        };
        Ok(self.add(step(change))?)
    }

    /// Writes down what the files hold that git has changed since their steps were begun.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn complete_changes(&mut self) -> Result<(), Error> {
        for step in journal::begun(&self.entries) {
            if let Step::ChangedSharedFile(change) = step
                && change.after.is_none()
            {
                let after = digest_of_file(&change.path)?;
                self.add(Step::ChangedSharedFile(FileChange { after, ..change }))?;
            }
        }
        Ok(())
    }

    /// Removes the journal, once all is done. Where that fails, the next `add` of the name does it.
    pub fn end(&self) {
        let _ = files::remove_directory(&self.directory);
    }

    /// Undoes all steps, the last one first, and removes the worktree's record where nothing is
    /// left. What another process changed since stays. The shared lock is held.
    pub fn undo(&self, last_git: LastGit) -> Undone {
        let repository = self.repository;
        let since = intent_file(repository, &self.name);
        let steps = journal::begun(&self.entries);
        let own_branch = steps.iter().find_map(created_branch);
        if last_git == LastGit::Killed {
            end_locks(repository, own_branch, &since);
        }
        let common_dir = &repository.common_dir;
        for directory in [common_dir, &common_dir.join("info"), &self.worktrees()] {
            sweep(directory, &[""]);
        }
        let mut undone = Undone::default();
        for step in steps.iter().rev() {
            self.undo_step(step, &mut undone);
        }
        // a git that could not take its own lock away again has said so, and ended well
        if let Some(branch) = own_branch {
            remove_dead_locks(&[lock_of(repository, branch)], &since);
        }
        if undone.failed.is_empty() {
            let removed = files::remove_directory(&repository.record_dir(&self.name));
            undone
                .failed
                .extend(removed.err().map(|error| error.to_string()));
        }
        files::remove_if_empty(&repository.records_dir());
        undone
    }

    fn undo_step(&self, step: &Step, undone: &mut Undone) {
        let undo = match self.now(step) {
            Ok(now) => step.undo(&now),
            Err(error) => return undone.failed.push(format!("{step}: {error}")),
        };
        let result = match undo {
            Undo::Nothing => Ok(()),
            Undo::Keep(why) => return undone.stays.push(format!("{step}: {why}")),
            Undo::Revert => self.revert(step),
        };
        match (result, step.file_change()) {
            (Ok(()), _) => {}
            // it is not part of a worktree, and harms none
            (Err(error), Some(_)) => undone.stays.push(error.to_string()),
            (Err(error), None) => undone.failed.push(error.to_string()),
        }
        match step {
            Step::CreatedBranch { name, .. } => self.remove_empty_directories(name),
            // git leaves it where it could not create the entry
            Step::CreatedWorktree { .. } => {
                files::remove_if_empty(&self.repository.common_dir.join("worktrees"));
            }
            _others => {}
        }
    }

    /// Looks at what stands where a step works.
    fn now(&self, step: &Step) -> Result<Now, Error> {
        Ok(match step {
            Step::CreatedDirectory { path } if files::exists(path) => Now::Directory,
            Step::CreatedWorktree { path } if !self.entries_of(path).is_empty() => Now::Directory,
            Step::CreatedDirectory { .. } | Step::CreatedWorktree { .. } | Step::NotTaken => {
                Now::Nothing
            }
            Step::CreatedBranch { name, .. } => self.branch_now(name)?,
            Step::AddedIgnoreRule(_) if is_needed(self.repository) => Now::Needed,
            Step::ChangedSharedFile(change) | Step::AddedIgnoreRule(change) => {
                digest_of_file(&change.path)?.map_or(Now::Nothing, Now::File)
            }
        })
    }

    fn branch_now(&self, name: &BranchName) -> Result<Now, GitError> {
        let git = &self.repository.git;
        let full = name.full_ref();
        let Some(at) = git.rev_parse_commit(&full)? else {
            return Ok(Now::Nothing);
        };
        let mut log = None;
        if let Some(entries) = git.log(&full)? {
            let mut entries: Vec<LogEntry> = entries.into_iter().map(log_entry).collect();
            entries.retain(|entry| !entry.at.as_str().trim_matches('0').is_empty());
            log = Some(entries);
        }
        Ok(Now::Branch { at, log })
    }

    /// Reverts what a step did.
    fn revert(&self, step: &Step) -> Result<(), Error> {
        match step {
            Step::CreatedDirectory { path } => {
                // a journal names nothing else: this one is damaged
                if path.starts_with(self.worktrees()) {
                    remove_busy_directory(path)?;
                }
            }
            Step::CreatedWorktree { path } => {
                for admin_dir in self.entries_of(path) {
                    remove_busy_directory(&admin_dir)?;
                }
            }
            Step::CreatedBranch { name, at } => self.delete_branch(name, at)?,
            Step::ChangedSharedFile(change) | Step::AddedIgnoreRule(change) => {
                self.write_back(change)?;
            }
            Step::NotTaken => {}
        }
        Ok(())
    }

    fn write_back(&self, change: &FileChange) -> Result<(), DiskError> {
        let kept = match &change.before {
            Some(kept) => files::read(&self.directory.join(&kept.name))?,
            None => None,
        };
        match kept {
            Some(content) => files::write(&change.path, &content),
            None if change.before.is_some() => Ok(()),
            None => {
                files::remove_file(&change.path)?;
                for above in change.path.ancestors().skip(1).take(2) {
                    files::remove_if_empty(above);
                }
                Ok(())
            }
        }
    }

    /// Deletes a branch that is where it was created. Where git was killed meanwhile, its locks go.
    fn delete_branch(&self, branch: &BranchName, at: &CommitId) -> Result<(), Error> {
        let git = &self.repository.git;
        let name = branch.full_ref();
        let Err(error) = git.delete_ref(&name, at) else {
            return Ok(());
        };
        if error.was_killed() {
            let since = intent_file(self.repository, &self.name);
            end_locks(self.repository, Some(branch), &since);
        }
        if git.rev_parse_commit(&name).ok().flatten().as_ref() != Some(at) {
            return Ok(());
        }
        Err(error.into())
    }

    /// Removes the directories above the file of a branch: a lock that git could not write, or took
    /// for a branch that is not there, leaves them.
    pub fn remove_empty_directories(&self, branch: &BranchName) {
        let file = Utf8PathBuf::from(branch.full_ref());
        for directory in file.ancestors().skip(1) {
            if directory == "refs/heads" {
                return;
            }
            files::remove_if_empty(&self.repository.common_dir.join(directory));
        }
    }

    /// Lists the private git directories that git has created for a worktree's path, or was
    /// half-way through creating: first the directory, then the file that names the path.
    fn entries_of(&self, path: &Utf8Path) -> Vec<Utf8PathBuf> {
        let worktrees = self.repository.common_dir.join("worktrees");
        let since = intent_file(self.repository, &self.name);
        let dot_git = path.join(".git");
        let mut entries = Vec::new();
        for id in files::names(&worktrees).unwrap_or_default() {
            let admin_dir = worktrees.join(&id);
            let mut named = read_gitdir(&admin_dir).ok().flatten();
            if named.is_none() && may_be_entry_of(path, &id) && is_newer(&admin_dir, &since) {
                // a living git writes it at once
                std::thread::sleep(PAUSE);
                let named_by_now = read_gitdir(&admin_dir).ok().flatten();
                named = Some(named_by_now.unwrap_or_else(|| dot_git.clone()));
            }
            if named.as_ref() == Some(&dot_git) && files::is_directory(&admin_dir) {
                entries.push(admin_dir);
            }
        }
        entries
    }

    fn worktrees(&self) -> Utf8PathBuf {
        self.repository.root.join(WORKTREES)
    }
}

/// Parses the file of a journal; a step that is not whole was not taken. None where not even the
/// header is whole.
fn parse(text: &str) -> Option<JournalFile> {
    let parsed = from_text(text).ok();
    parsed.or_else(|| from_text(journal::without_cut_step(text)).ok())
}

/// Returns the steps of an `add` that wrote no journal: one of an older version, or one whose
/// journal was lost with the power.
fn steps_of_intent(repository: &Repository, intent: &Intent) -> Vec<Step> {
    let record = &intent.record;
    let mut steps = Vec::new();
    if let Some(at) = &intent.branch_at {
        steps.push(Step::CreatedBranch {
            name: record.branch.clone(),
            at: at.clone(),
        });
    }
    let path = record.path.clone();
    if !path.starts_with(repository.root.join(WORKTREES)) {
        return steps;
    }
    if record.strategy == Strategy::Worktree {
        steps.push(Step::CreatedWorktree { path: path.clone() });
    }
    steps.push(Step::CreatedDirectory { path: path.clone() });
    steps.push(Step::CreatedDirectory {
        path: staging(&path),
    });
    steps
}

/// True if git may have taken this name for the private git directory of a worktree: that of the
/// directory, and a number after it when that is taken.
fn may_be_entry_of(path: &Utf8Path, id: &str) -> bool {
    let number = id.strip_prefix(path.file_name().unwrap_or_default());
    number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()))
}

fn log_entry(entry: ReflogEntry) -> LogEntry {
    LogEntry {
        at: entry.id,
        reason: entry.reason,
    }
}

/// Returns the branch that a step creates.
fn created_branch(step: &Step) -> Option<&BranchName> {
    match step {
        Step::CreatedBranch { name, .. } => Some(name),
        _other => None,
    }
}

fn digest_text(bytes: &[u8]) -> String {
    let digest = digest_of(bytes).expect("because bytes in memory can be read");
    digest.to_string()
}

fn digest_of_file(path: &Utf8Path) -> Result<Option<String>, DiskError> {
    let content = files::read(path)?;
    Ok(content.map(|content| digest_text(&content)))
}
