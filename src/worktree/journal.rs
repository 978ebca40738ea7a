//! Writes down each step of a command before it is taken, and reads what a killed command left:
//! [`StepJournal`].
//!
//! A journal stands in a directory of its own: `journal` in the record of the worktree on which the
//! command works, or any other one that belongs to the lock that the command holds. What undoes a
//! step is decided in `record/journal.rs` and done in `actions/journal/`.

use std::io;

use camino::{Utf8Path, Utf8PathBuf};
use serde::Serialize;

use crate::disk::digest::digest_of;
use crate::disk::error::DiskError;
use crate::disk::files;
use crate::record::journal;
use crate::record::journal::{JournalFile, JournaledCommand, KeptFile, SharedFileChange, Step};
use crate::system::processes;
use crate::words::error::Error;
use crate::words::toml_file::{TomlFileError, from_text, to_text};
use crate::worktree::error::WorktreeFault;
use crate::worktree::loaded::Worktree;

/// The file of a journal's directory that has the steps.
const STEPS: &str = "steps";

/// The file of a record by which version 0.1.0 said that a scope is being applied.
pub const APPLYING: &str = "applying-scope";

/// The journal of a command that changes a repository.
#[derive(Debug)]
pub struct StepJournal {
    /// Which command takes the steps.
    pub command: JournaledCommand,
    /// Where the journal is.
    directory: Utf8PathBuf,
    /// What was written down so far.
    entries: Vec<Step>,
}

/// What is in the directory of a journal.
#[derive(Debug)]
pub enum ReadJournal {
    /// No journal that can be read.
    Nothing,
    /// The journal of a process that is at work.
    OfLiving(u32),
    /// What a killed command left.
    Left(StepJournal),
}

/// The text of one step, as it is added to the file.
#[derive(Serialize)]
struct AppendedStep<'s> {
    step: [&'s Step; 1],
}

impl StepJournal {
    /// Begins the journal of a command. The lock under which alone this directory is written is
    /// held, and nothing is left to undo there: what stands in it goes.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn begin(directory: Utf8PathBuf, command: JournaledCommand) -> Result<Self, DiskError> {
        files::remove_directory(&directory)?;
        let begun = Self::of_steps(directory, command, Vec::new());
        let process = std::process::id();
        let header = JournalFile {
            process,
            started: processes::start_time(process),
            command,
            steps: Vec::new(),
        };
        files::create_directories(&begun.directory)?;
        begun.append(&to_text(&header))?;
        Ok(begun)
    }

    /// Reads what stands in the directory of a journal. The lock under which alone it is written is
    /// held.
    ///
    /// # Errors
    /// As [`read_file`].
    pub fn read(directory: Utf8PathBuf) -> Result<ReadJournal, DiskError> {
        let Some(file) = read_file(&directory)? else {
            return Ok(ReadJournal::Nothing);
        };
        let is_own = file.process == std::process::id();
        let started = file.started.as_deref().unwrap_or_default();
        if !is_own && processes::is_alive(file.process, started) {
            return Ok(ReadJournal::OfLiving(file.process));
        }
        let left = Self::of_steps(directory, file.command, file.steps);
        Ok(ReadJournal::Left(left))
    }

    /// Returns a journal with these steps, of which nothing is written.
    pub const fn of_steps(
        directory: Utf8PathBuf,
        command: JournaledCommand,
        entries: Vec<Step>,
    ) -> Self {
        Self {
            command,
            directory,
            entries,
        }
    }

    /// Returns the steps that were taken, or begun.
    pub fn begun(&self) -> Vec<Step> {
        journal::begun(&self.entries)
    }

    /// Returns the directory of the journal, in which a step may keep what it replaces.
    pub fn directory(&self) -> &Utf8Path {
        &self.directory
    }

    /// Returns the file that has the steps: it is as old as the last of them.
    pub fn file(&self) -> Utf8PathBuf {
        self.directory.join(STEPS)
    }

    fn append(&self, text: &str) -> Result<(), DiskError> {
        // not synced: after a loss of power, an intent or a ref with what was saved says as much
        files::append(&self.file(), text.as_bytes())
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

    /// Writes down that a file is about to change, and keeps what it holds. `step` says which step
    /// that is; `after` is what the file will hold, where that is known.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn add_change(
        &mut self,
        step: fn(SharedFileChange) -> Step,
        path: &Utf8Path,
        after: Option<&[u8]>,
    ) -> Result<(), Error> {
        let change = SharedFileChange {
            path: path.to_owned(),
            before: self.keep(path)?,
            after: after.map(digest_text),
        };
        Ok(self.add(step(change))?)
    }

    /// Keeps what a file holds; none where there is no file.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn keep(&self, path: &Utf8Path) -> Result<Option<KeptFile>, DiskError> {
        let Some(digest) = digest_of_file(path)? else {
            return Ok(None);
        };
        let name = format!("before-{}", self.entries.len());
        files::link_or_copy(path, &self.directory.join(&name))?;
        Ok(Some(KeptFile { name, digest }))
    }

    /// Writes down what the files hold that git has changed since their steps were begun.
    ///
    /// # Errors
    /// As [`add`](Self::add).
    pub fn complete_changes(&mut self) -> Result<(), Error> {
        for step in self.begun() {
            if let Step::ChangedSharedFile(change) = step
                && change.after.is_none()
            {
                let after = digest_of_file(&change.path)?;
                self.add(Step::ChangedSharedFile(SharedFileChange {
                    after,
                    ..change
                }))?;
            }
        }
        Ok(())
    }

    /// Writes back what a file held before a step.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn write_back(&self, change: &SharedFileChange) -> Result<(), DiskError> {
        let Some(before) = &change.before else {
            files::remove_file(&change.path)?;
            for above in change.path.ancestors().skip(1).take(2) {
                files::remove_if_empty(above);
            }
            return Ok(());
        };
        match self.read_kept(before)? {
            Some(content) => files::write(&change.path, &content),
            None => Ok(()),
        }
    }

    /// Reads what a file held before; none where that was lost.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn read_kept(&self, kept: &KeptFile) -> Result<Option<Vec<u8>>, DiskError> {
        files::read(&self.directory.join(&kept.name))
    }

    /// Removes what a file held before, once it is written back for good.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn forget(&self, kept: &KeptFile) -> Result<(), DiskError> {
        files::remove_file(&self.directory.join(&kept.name))
    }

    /// Removes the journal, once all is done or undone. Where that fails, the next command undoes
    /// what is done already, or removes it.
    pub fn end(&self) {
        let _ = files::remove_directory(&self.directory);
    }
}

impl Worktree {
    /// Returns the command that is changing the worktree, or was killed while it was. A whole record
    /// ends an `add`.
    pub fn unfinished_command(&self) -> Option<JournaledCommand> {
        let file = read_file(&journal::directory(&self.dir)).ok().flatten();
        let command = file.map(|file| file.command);
        command.filter(|command| *command != JournaledCommand::Add)
    }

    /// Checks that the scope is applied. While it is not, the disk says nothing of what the agent
    /// did.
    ///
    /// # Errors
    /// Fails while a command applies the scope, and after one that was killed.
    pub fn require_applied_scope(&self) -> Result<(), WorktreeFault> {
        let is_applied = match self.unfinished_command() {
            Some(JournaledCommand::Scope | JournaledCommand::Reapply) => false,
            Some(
                JournaledCommand::Add
                | JournaledCommand::Land
                | JournaledCommand::Restore
                | JournaledCommand::UndoRestore,
            )
            | None => !files::exists(&self.dir.join(APPLYING)),
        };
        if is_applied {
            return Ok(());
        }
        let name = self.record.name.to_string();
        Err(WorktreeFault::ScopeNotApplied { name })
    }

    /// Returns the file of the record.
    pub fn record_file(&self) -> Utf8PathBuf {
        self.dir.join("record.toml")
    }
}

/// Reads the file of a journal, whoever writes it; a step that is not whole was not taken. None
/// where there is no file, or not even its header is whole.
///
/// # Errors
/// Fails when another version of the program wrote it, or the disk refuses.
pub fn read_file(directory: &Utf8Path) -> Result<Option<JournalFile>, DiskError> {
    let steps = directory.join(STEPS);
    let Some(bytes) = files::read(&steps)? else {
        return Ok(None);
    };
    let text = String::from_utf8_lossy(&bytes);
    for whole in [&*text, journal::without_cut_step(&text)] {
        match from_text(whole) {
            Ok(file) => return Ok(Some(file)),
            // that version knows what undoes the steps, and this one does not
            Err(error @ TomlFileError::Version(_)) => {
                return Err(DiskError::new(
                    format!("read {steps}"),
                    io::Error::other(error),
                ));
            }
            Err(TomlFileError::Damaged(_)) => {}
        }
    }
    Ok(None)
}

/// Returns the digest of a file, as a journal has it; none where there is no file.
///
/// # Errors
/// Fails when the disk refuses.
pub fn digest_of_file(path: &Utf8Path) -> Result<Option<String>, DiskError> {
    let content = files::read(path)?;
    Ok(content.map(|content| digest_text(&content)))
}

fn digest_text(bytes: &[u8]) -> String {
    let digest = digest_of(bytes).expect("because bytes in memory can be read");
    digest.to_string()
}
