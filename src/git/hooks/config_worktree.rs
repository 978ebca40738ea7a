//! Puts the one include line into a worktree's `config.worktree`, and takes it out again.
//!
//! The line is appended as text, because `git config` would put it into an `[include]` section
//! that stands further up, and of two `core.hooksPath` the last wins. Taken out as text, it
//! leaves the file as it was, byte for byte; where somebody wrote into our section, git does it.

use std::fs::{self, File, OpenOptions};
use std::io::{ErrorKind, Write as _};

use bstr::ByteSlice;
use camino::{Utf8Path, Utf8PathBuf};

use super::error::HooksError;
use crate::git::Git;

/// The included file, relative to `config.worktree` (git-config(1), "Includes").
pub(super) const INCLUDED: &str = "agentwt/hooks/config";
const BLOCK: &[u8] = b"[include]\n\tpath = agentwt/hooks/config\n";

/// Makes the include the last thing in the worktree's configuration.
pub(super) fn include(admin: &Utf8Path) -> Result<(), HooksError> {
    let file = admin.join("config.worktree");
    let Some(text) = read(&file)? else {
        return replace(&file, BLOCK);
    };
    if text.ends_with(BLOCK) {
        return Ok(());
    }
    let mut text = without_block(&text).unwrap_or(text);
    if text.last().is_some_and(|byte| *byte != b'\n') {
        text.push(b'\n');
    }
    text.extend_from_slice(BLOCK);
    replace(&file, &text)
}

/// Takes the include out, wherever it stands; a file that held nothing else is removed.
pub(super) fn exclude(git: &Git, admin: &Utf8Path) -> Result<(), HooksError> {
    let file = admin.join("config.worktree");
    let Some(text) = read(&file)? else {
        return Ok(());
    };
    match without_block(&text) {
        Some(rest) if rest.is_empty() => {
            fs::remove_file(&file).map_err(HooksError::disk("remove", &file))
        }
        Some(rest) => replace(&file, &rest),
        None => Ok(git.config_file_unset_value(&file, "include.path", INCLUDED)?),
    }
}

/// The text without our section, none when the section is not there or holds more than our line.
fn without_block(text: &[u8]) -> Option<Vec<u8>> {
    let at = text.rfind(BLOCK)?;
    let (before, after) = (&text[..at], &text[at + BLOCK.len()..]);
    let whole = (before.is_empty() || before.ends_with(b"\n"))
        && (after.is_empty() || after.starts_with(b"["));
    whole.then(|| [before, after].concat())
}

/// Reads a file, none when it does not exist.
pub(super) fn read(file: &Utf8Path) -> Result<Option<Vec<u8>>, HooksError> {
    match fs::read(file) {
        Ok(text) => Ok(Some(text)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(HooksError::disk("read", file)(error)),
    }
}

/// Holds git's own lock of a configuration file, and what the file is going to be.
pub(super) struct LockedConfig {
    target: Utf8PathBuf,
    pub(super) lock: Utf8PathBuf,
}

impl LockedConfig {
    /// Takes the lock that git takes (`<file>.lock`) and writes the new content into it.
    pub(super) fn write(file: &Utf8Path, text: &[u8]) -> Result<Self, HooksError> {
        // A configuration that is a symbolic link stays one, as with git.
        let target = file.canonicalize_utf8().unwrap_or_else(|_| file.to_owned());
        let lock = Utf8PathBuf::from(format!("{target}.lock"));
        let mut out = match OpenOptions::new().write(true).create_new(true).open(&lock) {
            Ok(out) => out,
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {
                return Err(HooksError::Locked { file: target });
            }
            Err(error) => return Err(HooksError::disk("create", &lock)(error)),
        };
        let locked = Self { target, lock };
        locked
            .fill(&mut out, text)
            .map_err(HooksError::disk("write", &locked.lock))?;
        Ok(locked)
    }

    fn fill(&self, out: &mut File, text: &[u8]) -> std::io::Result<()> {
        if let Ok(existing) = fs::metadata(&self.target) {
            out.set_permissions(existing.permissions())?;
        }
        out.write_all(text)
    }

    /// Makes the new content the file.
    pub(super) fn commit(self) -> Result<(), HooksError> {
        fs::rename(&self.lock, &self.target).map_err(HooksError::disk("replace", &self.target))
    }
}

impl Drop for LockedConfig {
    /// Gives the lock up; after a commit it is gone already.
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.lock);
    }
}

pub(super) fn replace(file: &Utf8Path, text: &[u8]) -> Result<(), HooksError> {
    LockedConfig::write(file, text)?.commit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_section_that_is_all_ours_is_cut_out() {
        let block = BLOCK.to_str().expect("it is ASCII");
        for (text, rest) in [
            (block.to_owned(), Some("")),
            (format!("[a]\n\tb\n{block}"), Some("[a]\n\tb\n")),
            (format!("[a]\n{block}[b]\n"), Some("[a]\n[b]\n")),
            (format!("[a]\n{block}\tpath = other\n"), None),
            (format!("# {block}"), None),
            ("[a]\n".to_owned(), None),
        ] {
            let found = without_block(text.as_bytes());
            assert_eq!(found.as_deref(), rest.map(str::as_bytes), "{text:?}");
        }
    }
}
