//! Turns `extensions.worktreeConfig` on, as git's own `init_worktree_config` (worktree.c) does,
//! but in one step.
//!
//! With the extension on, `core.bare = true` and `core.worktree` in the common configuration are
//! every linked worktree's, and break it: they move to the main worktree's `config.worktree`
//! (git-worktree(1), "Configuration file"). Git does it in four writes; here the common file is
//! replaced once, under its own lock, so that no sibling ever sees half of it.

use std::fs;

use camino::{Utf8Path, Utf8PathBuf};

use super::config_worktree::{LockedConfig, read, replace};
use super::error::HooksError;
use crate::git::Git;

/// The setting.
pub(super) const KEY: &str = "extensions.worktreeConfig";

/// Remembers what was changed: each file as it was (none: absent) and as we left it.
#[must_use]
pub(super) struct Enabled(Vec<(Utf8PathBuf, Option<Vec<u8>>, Vec<u8>)>);

/// Enables the extension unless it is on.
pub(super) fn enable(git: &Git, common: &Utf8Path) -> Result<Enabled, HooksError> {
    let mut done = Enabled(Vec::new());
    let config = common.join("config");
    if git.config_file_get_bool(&config, KEY)? == Some(true) {
        return Ok(done);
    }
    let before = read(&config)?.unwrap_or_default();
    let locked = LockedConfig::write(&config, &before)?;
    // A false core.bare stays: it may be there against a user's own setting.
    let bare = git.config_file_get_bool(&config, "core.bare")? == Some(true);
    let bare = bare.then(|| ("core.bare", "true".to_owned()));
    let elsewhere = git.config_file_get_all(&config, "core.worktree")?.pop();
    let elsewhere = elsewhere.map(|path| ("core.worktree", path));
    let moved = [bare, elsewhere].into_iter().flatten();
    let result = move_and_enable(git, common, &locked.lock, moved, &mut done).and_then(|()| {
        let after = read(&locked.lock)?.unwrap_or_default();
        locked.commit()?;
        done.0.push((config, Some(before), after));
        Ok(())
    });
    match result {
        Ok(()) => Ok(done),
        Err(error) => {
            done.undo();
            Err(error)
        }
    }
}

/// Copies the keys to the main worktree's file, where they mean nothing yet, then edits the copy
/// of the common file that is about to replace it.
fn move_and_enable(
    git: &Git,
    common: &Utf8Path,
    copy: &Utf8Path,
    moved: impl Iterator<Item = (&'static str, String)>,
    done: &mut Enabled,
) -> Result<(), HooksError> {
    let main = common.join("config.worktree");
    for (key, value) in moved {
        let before = read(&main)?;
        git.config_file_set(&main, key, &value)?;
        let after = read(&main)?.unwrap_or_default();
        done.0.push((main.clone(), before, after));
        git.config_file_unset(copy, key)?;
    }
    Ok(git.config_file_set(copy, KEY, "true")?)
}

impl Enabled {
    /// Puts every file back that nobody has changed since, the last first.
    pub(super) fn undo(&self) {
        for (file, before, after) in self.0.iter().rev() {
            if read(file).ok().flatten().as_ref() == Some(after) {
                let _ = match before {
                    Some(before) => replace(file, before),
                    None => fs::remove_file(file).map_err(HooksError::disk("remove", file)),
                };
            }
        }
    }
}
