//! Lists what can go wrong when hooks are installed.

use std::fmt;

use camino::{Utf8Path, Utf8PathBuf};
use miette::Diagnostic;

use crate::git::GitError;

/// Says why hooks could not be installed, removed or looked at.
#[derive(Debug, thiserror::Error)]
pub enum HooksError {
    /// The git directory is not `<common>/worktrees/<id>`.
    #[error("cannot use hooks of `{git_dir}`: it is not the git directory of a linked worktree")]
    NotLinked {
        /// The directory that was given.
        git_dir: Utf8PathBuf,
    },
    /// Somebody else is writing a configuration file.
    #[error("cannot write `{file}`: `{file}.lock` exists")]
    Locked {
        /// The configuration file.
        file: Utf8PathBuf,
    },
    /// A file could not be read, written or removed.
    #[error("cannot {what} `{path}`: {source}")]
    Disk {
        /// What was attempted, as a verb.
        what: &'static str,
        /// The file or directory.
        path: Utf8PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
}

impl HooksError {
    /// Makes the conversion of a disk error, for `map_err`.
    pub(super) fn disk(what: &'static str, path: &Utf8Path) -> impl Fn(std::io::Error) -> Self {
        move |source| Self::Disk {
            what,
            path: path.to_owned(),
            source,
        }
    }
}

impl Diagnostic for HooksError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        match self {
            Self::NotLinked { .. } => Some(Box::new("agentwt::hooks::not_linked")),
            Self::Locked { .. } => Some(Box::new("agentwt::hooks::locked")),
            Self::Disk { .. } => Some(Box::new("agentwt::hooks::disk")),
            Self::Git(error) => error.code(),
        }
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        match self {
            Self::NotLinked { .. } => Some(Box::new(
                "the main worktree's hooks are left alone; see its linked ones: git worktree list",
            )),
            Self::Locked { file } => Some(Box::new(format!(
                "if no git is running here, remove it: rm '{file}.lock'"
            ))),
            Self::Disk { .. } => None,
            Self::Git(error) => error.help(),
        }
    }
}
