//! Makes git ignore `.agentwt/worktrees/` in the main worktree: by a line in the common
//! `info/exclude`, and by a `.gitignore` in it that ignores itself. One alone is not enough: a
//! branch can hide the first, and `git clean -ffd` passes over what the second covers.

use camino::Utf8PathBuf;

use crate::disk::files::{self, Lock};
use crate::disk::{DiskError, remains::sweep};
use crate::error::Error;
use crate::facts::Repository;
use crate::plan::init::{EXCLUDE_RULE, WORKTREES_GITIGNORE, WORKTREES_GITIGNORE_PATH};

/// Holds what was written, so that it can be taken back.
#[derive(Debug, Default)]
#[must_use]
pub struct IgnoreRules {
    exclude: Option<(Utf8PathBuf, Option<Vec<u8>>, Vec<u8>)>,
    gitignore: Option<Utf8PathBuf>,
}

/// Whether the common `info/exclude` has our line.
///
/// # Errors
/// Fails when it cannot be read.
pub fn has_exclude_rule(repository: &Repository) -> Result<bool, DiskError> {
    let bytes = files::read(&repository.common_dir.join("info/exclude"))?.unwrap_or_default();
    Ok(bytes
        .split(|b| *b == b'\n')
        .any(|line| line.trim_ascii_end() == EXCLUDE_RULE.as_bytes()))
}

/// Writes what is missing, one process at a time: nobody else's line is lost, and a temporary file
/// that stands there then is a dead one's.
///
/// # Errors
/// Fails when the disk refuses; then nothing was written.
pub fn ensure(repository: &Repository) -> Result<IgnoreRules, Error> {
    let gitignore = repository.root.join(WORKTREES_GITIGNORE_PATH);
    if has_exclude_rule(repository)? && files::exists(&gitignore) {
        return Ok(IgnoreRules::default());
    }
    let _shared = Lock::wait(&repository.shared_lock())?;
    sweep(&repository.common_dir.join("info"));
    gitignore.parent().into_iter().for_each(sweep);
    Ok(write(repository)?)
}

fn write(repository: &Repository) -> Result<IgnoreRules, DiskError> {
    let mut rules = IgnoreRules::default();
    if !has_exclude_rule(repository)? {
        let file = repository.common_dir.join("info/exclude");
        let before = files::read(&file)?;
        let mut after = before.clone().unwrap_or_default();
        if !after.is_empty() && !after.ends_with(b"\n") {
            after.push(b'\n');
        }
        after.extend_from_slice(EXCLUDE_RULE.as_bytes());
        after.push(b'\n');
        files::write(&file, &after)
            .inspect_err(|_| files::remove_if_empty(&repository.common_dir.join("info")))?;
        rules.exclude = Some((file, before, after));
    }
    let file = repository.root.join(WORKTREES_GITIGNORE_PATH);
    if !files::exists(&file) {
        rules.gitignore = Some(file.clone());
        if let Err(error) = files::write(&file, WORKTREES_GITIGNORE.as_bytes()) {
            let _ = rules.undo();
            return Err(error);
        }
    }
    Ok(rules)
}

impl IgnoreRules {
    /// Takes back what was written, where nobody has changed it since; directories if they are
    /// empty. What could not be.
    #[must_use]
    pub fn undo(self) -> Vec<String> {
        let mut left = Vec::new();
        // first what frees space: on a full disk the other can only be written then
        if let Some(file) = self.gitignore {
            let directory = file.parent().map(ToOwned::to_owned);
            let alone = directory
                .as_ref()
                .is_some_and(|d| files::names(d).is_ok_and(|names| names == [".gitignore"]));
            if alone {
                left.extend(files::remove_file(&file).err());
            }
            for directory in directory.iter().flat_map(|d| d.ancestors().take(2)) {
                files::remove_if_empty(directory);
            }
        }
        if let Some((file, before, after)) = self.exclude {
            let undone = files::read(&file).and_then(|now| match before {
                _ if now != Some(after) => Ok(()),
                Some(before) => files::write(&file, &before),
                None => files::remove_file(&file),
            });
            left.extend(undone.err());
        }
        left.iter().map(ToString::to_string).collect()
    }
}
