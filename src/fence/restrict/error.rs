//! Lists what can go wrong when a process restricts itself.

use std::io::Error;
use std::path::PathBuf;

use rustix::io::Errno;

use crate::words::path::RepoPath;

/// Says what could not be restricted, so that nothing was started.
#[derive(Debug, thiserror::Error)]
pub enum RestrictError {
    /// The start file cannot be read.
    #[error("cannot read {0}: {1}")]
    Read(String, String),
    /// Something else stands where the scope lets be written.
    #[error(
        "{0} is not what it was when the scope was read: {1}; no link is followed into a scope"
    )]
    Grant(RepoPath, Error),
    /// What a rule names cannot be opened.
    #[error("cannot open {path}: {1}", path = .0.display())]
    Open(PathBuf, Error),
    /// The kernel refuses a rule.
    #[error("Landlock refuses: {0}")]
    Landlock(#[from] ::landlock::RulesetError),
    /// The kernel, or this kind of processor, has no such filter.
    #[error("seccomp refuses: {0}")]
    Seccomp(String),
    /// Descriptors stay open.
    #[error("cannot close what it was given: {0}")]
    Close(Error),
    /// The process cannot be made to end with its parent.
    #[error("{0}")]
    Signal(Errno),
    /// Something else stands at a path that the user asked for.
    #[error("a path of --rw, --preset or --socket is not what it was before the start; try again")]
    Replaced,
}

impl From<seccompiler::BackendError> for RestrictError {
    fn from(error: seccompiler::BackendError) -> Self {
        Self::Seccomp(error.to_string())
    }
}
