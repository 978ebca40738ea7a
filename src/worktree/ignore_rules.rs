//! Makes git ignore `.agentwt/worktrees/` in the main worktree: by a line in the common
//! `info/exclude`, and by a `.gitignore` in it that ignores itself. One alone is not enough: a
//! branch can hide the first, and `git clean -ffd` passes over what the second covers.

use camino::Utf8PathBuf;

use super::Repository;
use crate::disk::files::{self, Lock};
use crate::disk::lock::LockError;
use crate::disk::{DiskError, remains::sweep};

/// The rule in `info/exclude` of the common git directory (gitignore(5)).
pub const EXCLUDE_RULE: &str = "/.agentwt/worktrees/";

/// Where the `.gitignore` is, relative to the root of the main worktree.
pub const WORKTREES_GITIGNORE_PATH: &str = ".agentwt/worktrees/.gitignore";

/// Ignores everything beside and below it, itself too: it works where `info/exclude` is not read
/// or was lost, and is never committed.
const WORKTREES_GITIGNORE: &[u8] = b"*\n";

fn exclude_file(repository: &Repository) -> Utf8PathBuf {
    repository.common_dir.join("info/exclude")
}

fn gitignore_file(repository: &Repository) -> Utf8PathBuf {
    repository.root.join(WORKTREES_GITIGNORE_PATH)
}

/// Says which of the two rules exist.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct IgnoreRules {
    /// Our line in `info/exclude`.
    pub exclude_rule: bool,
    /// The `.gitignore`.
    pub gitignore: bool,
}

/// Holds what was written, for the undo.
#[derive(Debug, Default)]
#[must_use]
pub struct WrittenIgnoreRules {
    exclude: Option<SharedFile>,
    gitignore: Option<Utf8PathBuf>,
}

/// Holds a file that others write too, before and after a change of ours.
#[derive(Debug)]
pub struct SharedFile {
    file: Utf8PathBuf,
    before: Option<Vec<u8>>,
    after: Option<Vec<u8>>,
}

impl SharedFile {
    /// Reads the file before it changes.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn read(file: Utf8PathBuf) -> Result<Self, DiskError> {
        let before = files::read(&file)?;
        let after = before.clone();
        Ok(Self {
            file,
            before,
            after,
        })
    }

    /// Reads the file as it was changed.
    ///
    /// # Errors
    /// Fails when it cannot be read.
    pub fn read_again(&mut self) -> Result<(), DiskError> {
        self.after = files::read(&self.file)?;
        Ok(())
    }

    /// Restores the file, unless another process has written it since; returns what failed.
    pub fn undo(self) -> Option<String> {
        if self.before == self.after {
            return None;
        }
        let undone = files::read(&self.file).and_then(|now| match self.before {
            _ if now != self.after => Ok(()),
            Some(before) => files::write(&self.file, &before),
            None => files::remove_file(&self.file),
        });
        undone.err().map(|error| error.to_string())
    }
}

/// Reads which rules exist.
///
/// # Errors
/// Fails when `info/exclude` cannot be read.
pub fn read(repository: &Repository) -> Result<IgnoreRules, DiskError> {
    let bytes = files::read(&exclude_file(repository))?.unwrap_or_default();
    let mut lines = bytes.split(|byte| *byte == b'\n');
    Ok(IgnoreRules {
        exclude_rule: lines.any(|line| line.trim_ascii_end() == EXCLUDE_RULE.as_bytes()),
        gitignore: files::exists(&gitignore_file(repository)),
    })
}

/// Writes what is missing, one process at a time: no other line is lost, and a temporary file that
/// stands there then is that of a dead process.
///
/// # Errors
/// Fails when the disk refuses; then nothing was written.
pub fn ensure(repository: &Repository) -> Result<WrittenIgnoreRules, LockError> {
    let rules = read(repository)?;
    if rules.exclude_rule && rules.gitignore {
        return Ok(WrittenIgnoreRules::default());
    }
    let _shared = Lock::wait(&repository.shared_lock())?;
    for file in [exclude_file(repository), gitignore_file(repository)] {
        file.parent()
            .into_iter()
            .for_each(|directory| sweep(directory, &[""]));
    }
    Ok(write(repository)?)
}

fn write(repository: &Repository) -> Result<WrittenIgnoreRules, DiskError> {
    let mut written = WrittenIgnoreRules::default();
    let rules = read(repository)?;
    if !rules.exclude_rule {
        let mut shared = SharedFile::read(exclude_file(repository))?;
        let mut text = shared.before.clone().unwrap_or_default();
        if !text.is_empty() && !text.ends_with(b"\n") {
            text.push(b'\n');
        }
        text.extend_from_slice(format!("{EXCLUDE_RULE}\n").as_bytes());
        let directory = shared.file.parent();
        files::write(&shared.file, &text)
            .inspect_err(|_| directory.into_iter().for_each(files::remove_if_empty))?;
        shared.after = Some(text);
        written.exclude = Some(shared);
    }
    if !rules.gitignore {
        let file = gitignore_file(repository);
        written.gitignore = Some(file.clone());
        if let Err(error) = files::write(&file, WORKTREES_GITIGNORE) {
            let _ = written.undo();
            return Err(error);
        }
    }
    Ok(written)
}

impl WrittenIgnoreRules {
    /// Undoes what was written, where it did not change since; directories if they are empty.
    /// Returns what could not be undone.
    pub fn undo(self) -> Vec<String> {
        let mut left = Vec::new();
        // first what frees space: on a full disk the other can only be written then
        if let Some(file) = self.gitignore
            && let Some(directory) = file.parent()
        {
            if files::names(directory).is_ok_and(|names| names == [".gitignore"]) {
                left.extend(
                    files::remove_file(&file)
                        .err()
                        .map(|error| error.to_string()),
                );
            }
            directory
                .ancestors()
                .take(2)
                .for_each(files::remove_if_empty);
        }
        left.extend(self.exclude.and_then(SharedFile::undo));
        left
    }
}
