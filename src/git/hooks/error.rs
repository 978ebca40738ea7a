//! Lists what can go wrong when hooks are installed.
#![allow(
    unused_assignments,
    reason = "zkat/miette#458: its derive reads fields in a way that rustc warns about"
)]

use camino::{Utf8Path, Utf8PathBuf};

use crate::git::GitError;

/// Says why hooks could not be installed, removed or looked at.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum HooksError {
    /// The git directory is not `<common>/worktrees/<id>`.
    #[error("cannot use hooks of `{git_dir}`: it is not the git directory of a linked worktree")]
    #[diagnostic(
        code(agentwt::hooks::not_linked),
        help("the main worktree's hooks are left alone; see its linked ones: git worktree list")
    )]
    NotLinked {
        /// The directory that was given.
        git_dir: Utf8PathBuf,
    },
    /// Another process is writing a configuration file.
    #[error("cannot write `{file}`: `{file}.lock` exists")]
    #[diagnostic(
        code(agentwt::hooks::locked),
        help("if no git is running here, remove it: rm '{file}.lock'")
    )]
    Locked {
        /// The configuration file.
        file: Utf8PathBuf,
    },
    /// A file could not be read, written or removed.
    #[error("cannot {what} `{path}`: {source}")]
    #[diagnostic(code(agentwt::hooks::disk))]
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
    #[diagnostic(transparent)]
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
