//! Edits git's configuration files for our hooks: the include in a worktree's `config.worktree`,
//! and `extensions.worktreeConfig`.
#![expect(clippy::disallowed_methods, reason = "writes git's own directories")]

use std::fs;
use std::io::ErrorKind;

use bstr::ByteSlice as _;
use camino::{Utf8Path, Utf8PathBuf};

use crate::git::error::GitError;
use crate::git::git_dir::read_file;
use crate::git::hooks::disk::{remove, written};
use crate::git::process::Git;
use crate::git::retry::create_lock_file;

/// The included file, relative to `config.worktree` (git-config(1), "Includes").
pub const INCLUDED: &str = "agentwt/hooks/config";
/// The setting without which git does not read `config.worktree`.
pub(super) const EXTENSION: &str = "extensions.worktreeConfig";
const BLOCK: &[u8] = b"[include]\n\tpath = agentwt/hooks/config\n";

/// Makes the include the last entry in the worktree's configuration: of two `core.hooksPath` the
/// last wins. It is appended as text, as `git config` would put it into an earlier `[include]`.
pub(super) fn include(git: &Git, file: &Utf8Path) -> Result<(), GitError> {
    if read_file(file)?.is_some_and(|text| text.ends_with(BLOCK)) {
        return Ok(());
    }
    exclude(git, file)?;
    let mut text = read_file(file)?.unwrap_or_default();
    if text.last().is_some_and(|byte| *byte != b'\n') {
        text.push(b'\n');
    }
    text.extend_from_slice(BLOCK);
    edit(file, |copy| written(copy, fs::write(copy, &text)))
}

/// Removes the include, and the file with its last entry.
pub(super) fn exclude(git: &Git, file: &Utf8Path) -> Result<(), GitError> {
    if !read_file(file)?.is_some_and(|text| text.contains_str(INCLUDED)) {
        return Ok(());
    }
    let value = ["--fixed-value", "--unset-all", "include.path", INCLUDED];
    git.config_file_unset(file, &value)?;
    if read_file(file)?.is_some_and(|text| text.is_empty()) {
        remove(file)?;
    }
    Ok(())
}

/// Turns the extension on, as git's own `init_worktree_config` (worktree.c) does: `core.bare =
/// true` and `core.worktree` of the common configuration would break every linked worktree, and
/// move to the main worktree's `config.worktree`. The common file is replaced once, so that no
/// other worktree sees half of it.
pub(super) fn enable_extension(git: &Git, common: &Utf8Path) -> Result<(), GitError> {
    let config = common.join("config");
    if git.config_file_get_bool(&config, EXTENSION)? == Some(true) {
        return Ok(());
    }
    // a false core.bare stays: it may be there against a user's own setting
    let mut of_main_worktree = Vec::new();
    if git.config_file_get_bool(&config, "core.bare")? == Some(true) {
        of_main_worktree.push(("core.bare", "true".to_owned()));
    }
    if let Some(path) = git.config_file_get_all(&config, "core.worktree")?.pop() {
        of_main_worktree.push(("core.worktree", path));
    }
    edit(&config, |copy| {
        for (key, value) in of_main_worktree {
            git.config_file_set(&common.join("config.worktree"), key, &value)?;
            git.config_file_unset(copy, &["--unset-all", key])?;
        }
        git.config_file_set(copy, EXTENSION, "true")
    })
}

/// Replaces a configuration file under git's own lock (`<file>.lock`); `change` edits the copy
/// there.
fn edit(
    file: &Utf8Path,
    change: impl FnOnce(&Utf8Path) -> Result<(), GitError>,
) -> Result<(), GitError> {
    // a configuration that is a symbolic link stays a link, as with git
    let target = file.canonicalize_utf8().unwrap_or_else(|_| file.to_owned());
    let lock = Utf8PathBuf::from(format!("{target}.lock"));
    match create_lock_file(&lock) {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            return Err(GitError::Locked {
                what: "switch our hooks on",
                file: target.into_string(),
            });
        }
        created => written(&lock, created)?,
    };
    let replaced = replace(&target, &lock, change);
    if replaced.is_err() {
        let _ = fs::remove_file(&lock);
    }
    replaced
}

/// Copies a file to its lock file, changes the copy, and moves the copy into its place.
fn replace(
    file: &Utf8Path,
    lock: &Utf8Path,
    change: impl FnOnce(&Utf8Path) -> Result<(), GitError>,
) -> Result<(), GitError> {
    if file.exists() {
        written(lock, fs::copy(file, lock))?;
    }
    change(lock)?;
    written(file, fs::rename(lock, file))
}
