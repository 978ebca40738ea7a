//! Builds our directory of hooks beside the one that is there, and exchanges the two by rename.

use std::fs::{self, File, Permissions};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::PermissionsExt as _;

use camino::{Utf8Path, Utf8PathBuf};

use super::config_worktree::read;
use super::error::HooksError;
use super::files::{Content, HookFile};

/// Remembers what stood where the new directory and the recorded binary stand now; the old
/// directory is kept beside the new one until `keep`.
#[must_use]
pub(super) struct Placed {
    state: Utf8PathBuf,
    had_hooks: bool,
    old_bin: Option<Vec<u8>>,
}

/// Puts the content in place of what is there.
pub(super) fn place(state: &Utf8Path, content: &Content) -> Result<Placed, HooksError> {
    let (live, old) = (state.join("hooks"), aside(state, "old"));
    if old.exists() && !live.exists() {
        // An install was killed between its two renames.
        fs::rename(&old, &live).map_err(HooksError::disk("restore", &live))?;
    }
    let placed = Placed {
        state: state.to_owned(),
        had_hooks: live.exists(),
        old_bin: read(&state.join("bin"))?,
    };
    match placed.exchange(content) {
        Ok(()) => Ok(placed),
        Err(error) => {
            placed.undo();
            Err(error)
        }
    }
}

impl Placed {
    fn exchange(&self, content: &Content) -> Result<(), HooksError> {
        let (live, new, old) = (
            self.live(),
            aside(&self.state, "new"),
            aside(&self.state, "old"),
        );
        delete(&new)?;
        delete(&old)?;
        let ours = new.join(super::files::OURS);
        fs::create_dir_all(&ours).map_err(HooksError::disk("create", &ours))?;
        for file in &content.files {
            write(&new, file)?;
        }
        write(&new, &content.bin)?;
        let (bin, recorded) = (new.join(&content.bin.name), self.state.join("bin"));
        fs::rename(&bin, &recorded).map_err(HooksError::disk("write", &recorded))?;
        if self.had_hooks {
            fs::rename(&live, &old).map_err(HooksError::disk("replace", &live))?;
        }
        fs::rename(&new, &live).map_err(HooksError::disk("write", &live))
    }

    /// Drops what was kept aside.
    pub(super) fn keep(&self) {
        let _ = delete(&aside(&self.state, "old"));
    }

    /// Puts back what was there before.
    pub(super) fn undo(&self) {
        let (live, old) = (self.live(), aside(&self.state, "old"));
        let bin = self.state.join("bin");
        let _ = delete(&aside(&self.state, "new"));
        let _ = match &self.old_bin {
            Some(text) => fs::write(&bin, text),
            None => fs::remove_file(&bin),
        };
        if old.exists() {
            let _ = delete(&live);
            let _ = fs::rename(&old, &live);
        } else if !self.had_hooks {
            let _ = delete(&live);
        }
        let _ = fs::remove_dir(&self.state);
    }

    fn live(&self) -> Utf8PathBuf {
        self.state.join("hooks")
    }
}

/// Removes all that `place` makes, and our directory when nothing else is in it.
pub(super) fn remove(state: &Utf8Path) -> Result<(), HooksError> {
    for directory in [
        state.join("hooks"),
        aside(state, "new"),
        aside(state, "old"),
    ] {
        delete(&directory)?;
    }
    for name in [
        "bin",
        "journal",
        "committing",
        "users",
        "users.new",
        "chained",
    ] {
        let file = state.join(name);
        match fs::remove_file(&file) {
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(HooksError::disk("remove", &file)(error));
            }
            Ok(()) | Err(_) => {}
        }
    }
    let _ = fs::remove_dir(state);
    Ok(())
}

fn aside(state: &Utf8Path, what: &str) -> Utf8PathBuf {
    state.join(format!("hooks.{what}"))
}

/// Writes one file; its permissions do not depend on the umask.
fn write(directory: &Utf8Path, file: &HookFile) -> Result<(), HooksError> {
    let path = directory.join(&file.name);
    let attempt = || {
        let mut out = File::create(&path)?;
        out.write_all(file.text.as_bytes())?;
        out.set_permissions(Permissions::from_mode(file.mode))
    };
    attempt().map_err(HooksError::disk("write", &path))
}

fn delete(directory: &Utf8Path) -> Result<(), HooksError> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != ErrorKind::NotFound => {
            Err(HooksError::disk("remove", directory)(error))
        }
        Ok(()) | Err(_) => Ok(()),
    }
}
