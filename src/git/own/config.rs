//! Reads git's settings (git-config(1), "FILES").
//!
//! The files of the machine, the user, the repository and the worktree come one after the other,
//! then what `run.rs` hands to each git with `-c`. An include counts where it stands; a conditional
//! one is left to git.

use bstr::{BString, ByteSlice};
use camino::{Utf8Path, Utf8PathBuf};

use super::syntax::{Entry, canonical_key, entries};
use super::{Own, files, places, surroundings};
use crate::git::run::Mode;
use crate::git::settings::{ALWAYS, HARDENED};

/// How deep includes may nest (`MAX_INCLUDE_DEPTH`, git's config.c).
const DEEPEST: usize = 10;

/// Holds one setting as `git config --list --show-scope` shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::git) struct Setting {
    /// The file it comes from, in git's words: `system`, `global`, `local`, `worktree`, `command`.
    pub scope: &'static str,
    /// Its key as git lists it.
    pub key: String,
    /// Its value, none for a key alone.
    pub value: Option<BString>,
}

impl Own {
    /// Every setting, in git's order.
    pub(in crate::git) fn settings(&self) -> Option<Vec<Setting>> {
        let mut all = general(self.mode)?;
        let config = self.common_dir.join("config");
        let format = &self.format;
        // git goes there first, and fails where that is nothing
        if !format.work_tree_is_there(&self.git_dir) {
            return None;
        }
        read("local", &config, DEEPEST, &mut all)?;
        if format.worktree_config {
            read(
                "worktree",
                &self.git_dir.join("config.worktree"),
                DEEPEST,
                &mut all,
            )?;
        }
        all.extend(handed_on(self.mode));
        Some(all)
    }

    /// Every value of a key, the one that counts last.
    pub(in crate::git) fn values(&self, key: &str) -> Option<Vec<Setting>> {
        let key = canonical_key(key)?;
        let mut all = self.settings()?;
        all.retain(|setting| setting.key == key);
        Some(all)
    }

    /// Every value of a key in one file, whose includes do not count (`git config --file`). Git reads
    /// the others all the same, and stops at what it cannot read there.
    pub(in crate::git) fn values_in(&self, file: &Utf8Path, key: &str) -> Option<Vec<Entry>> {
        self.settings()?;
        let key = canonical_key(key)?;
        let mut all = file_entries(file)?;
        all.retain(|entry| entry.key == key);
        Some(all)
    }
}

/// The settings that hold for every repository.
fn general(mode: Mode) -> Option<Vec<Setting>> {
    let files = surroundings::files(mode)?;
    let mut all = Vec::new();
    if let Some(file) = files.system {
        read("system", &file, DEEPEST, &mut all)?;
    }
    for file in files.global {
        read("global", &file, DEEPEST, &mut all)?;
    }
    Some(all)
}

/// What each start of git is given with `-c`.
fn handed_on(mode: Mode) -> impl Iterator<Item = Setting> {
    let settings = match mode {
        Mode::User => ALWAYS,
        Mode::Hardened => HARDENED,
    };
    settings.iter().filter_map(|setting| {
        let (key, value) = setting.split_once('=')?;
        Some(Setting {
            scope: "command",
            key: canonical_key(key)?,
            value: Some(value.into()),
        })
    })
}

/// Adds what a file says, and what it includes where it does.
fn read(scope: &'static str, file: &Utf8Path, depth: usize, all: &mut Vec<Setting>) -> Option<()> {
    for Entry { key, value } in file_entries(file)? {
        let included = match key.as_str() {
            "include.path" => Some(included(file, value.as_ref()?)?),
            // whether it counts depends on where and on which branch git is
            _ if key.starts_with("includeif.") => return None,
            _ => None,
        };
        all.push(Setting { scope, key, value });
        if let Some(included) = included {
            read(scope, &included, depth.checked_sub(1)?, all)?;
        }
    }
    Some(())
}

/// The file that an include names (git-config(1), "Includes").
fn included(by: &Utf8Path, value: &BString) -> Option<Utf8PathBuf> {
    let path = path(Some(value))?;
    Some(by.parent()?.join(path)).filter(|path| !path.as_str().is_empty())
}

/// What one file says by itself; nothing where there is none.
pub(super) fn file_entries(file: &Utf8Path) -> Option<Vec<Entry>> {
    if !file.is_absolute() || !places::reads_as_file(file) {
        return None;
    }
    match files::read(file).ok()? {
        Some(bytes) => entries(&bytes),
        None => Some(Vec::new()),
    }
}

/// A value as text; a key alone is empty.
pub(in crate::git) fn text(value: Option<&BString>) -> Option<String> {
    value.map_or(Some(String::new()), |value| {
        value.to_str().ok().map(ToOwned::to_owned)
    })
}

/// A value as git understands `--type=bool`; none for what is no boolean, and for numbers of which
/// git has many spellings.
pub(in crate::git) fn boolean(value: Option<&BString>) -> Option<bool> {
    let Some(value) = value else {
        return Some(true);
    };
    match value.to_ascii_lowercase().as_slice() {
        b"true" | b"yes" | b"on" | b"1" => Some(true),
        b"false" | b"no" | b"off" | b"0" | b"" => Some(false),
        _ => None,
    }
}

/// A value as git understands `--type=path`: `~` is the home of the user. None where git knows
/// more than that of it, or nothing.
pub(in crate::git) fn path(value: Option<&BString>) -> Option<Utf8PathBuf> {
    let value = value?.to_str().ok()?;
    match value.strip_prefix('~') {
        Some(rest) if rest.is_empty() || rest.starts_with('/') => {
            Some(format!("{}{rest}", surroundings::home()?).into())
        }
        Some(_) => None,
        // `%(prefix)/…`, `:(optional)…`
        None if value.starts_with(['%', ':']) => None,
        None => Some(value.into()),
    }
}
