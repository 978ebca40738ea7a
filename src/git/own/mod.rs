//! Reads git's own files, so that what many commands ask for needs no start of git.
//!
//! A start of git costs one to three milliseconds, more than most answers do. What git documents as
//! its format is read here: settings (git-config(1)), refs and their logs (gitrepository-layout(5)),
//! worktrees (git-worktree(1), "DETAILS") and how commits are related. Everything here gives `None`
//! where it does not know for certain, and git is asked then: a format that is not plain (reftable,
//! an unknown extension), a setting that is included on a condition, a
//! file that does not read.
//! Nothing is cached but the opened object stores, in which an id never changes its meaning: an
//! answer is what the files say when it is asked for.
//!
//! `GIT_AGENTWT_READ=git` asks git for everything; `tests/it/own_reading.rs` and
//! `own_settings.rs` hold both against each other.

mod answer;
mod commits;
pub(super) mod config;
mod discover;
mod entries;
mod files;
mod format;
mod history;
mod listing;
mod names;
mod places;
mod reflog;
mod refs;
mod surroundings;
mod syntax;
mod upstream;
mod walk;
mod worktrees;

use camino::{Utf8Path, Utf8PathBuf};

use super::run::{Git, Mode};
use super::stores::Stores;
use format::Format;
pub(super) use names::is_branch_name;
pub(super) use surroundings::attributes;

/// Represents a repository of which the files can be read: named outright, and plain.
#[derive(Clone)]
pub(super) struct Own {
    /// The private git directory: that of a linked worktree, or the common one.
    pub git_dir: Utf8PathBuf,
    /// The common git directory.
    pub common_dir: Utf8PathBuf,
    /// Which settings are obeyed.
    pub mode: Mode,
    /// What it says of its own format.
    format: Format,
    /// The object stores that are open.
    stores: Stores,
}

/// Says who reads the repository.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reading {
    /// Our own code, wherever it knows for certain.
    Own,
    /// Git, always.
    Git,
}

impl Git {
    /// The repository, if its files can be read without git: none where git has to find it, where
    /// the user chose so, or where a program that uses the library brought a runner of its own.
    pub(super) fn own(&self) -> Option<Own> {
        let git_dir = self.named_git_dir()?;
        if self.reading() == Reading::Git {
            return None;
        }
        // git refuses any other, and what is damaged is to be said
        let common_dir = discover::common_dir_of(git_dir)?;
        Some(Own {
            format: Format::read(git_dir, &common_dir)?,
            git_dir: git_dir.to_owned(),
            common_dir,
            mode: self.mode(),
            stores: self.stores().clone(),
        })
    }
}

/// The common git directory of a private one: what its `commondir` says (gitrepository-layout(5)).
fn common_dir(git_dir: &Utf8Path) -> Option<Utf8PathBuf> {
    match files::read(&git_dir.join("commondir")).ok()? {
        None => Some(git_dir.to_owned()),
        Some(bytes) => {
            let text = String::from_utf8(bytes).ok()?;
            let line = text.strip_suffix('\n').unwrap_or(&text);
            places::canonical(&git_dir.join(line))
        }
    }
}
