//! Holds [`CopyError`]: why files were not copied or not moved in, and what was left behind.

use std::fmt;

use miette::Diagnostic;
use rustix::io::Errno;

use crate::disk::DiskError;
use crate::path::RepoPath;

/// Says why nothing was placed. What had been done is undone.
#[derive(Debug, thiserror::Error)]
#[error("{cause}")]
pub struct CopyError {
    /// Why.
    pub cause: Cause,
    /// What could not be undone, a sentence each.
    pub warnings: Vec<String>,
}

/// Says what was met.
#[derive(Debug, thiserror::Error)]
pub enum Cause {
    /// Somebody asked to stop.
    #[error("the copy was stopped")]
    Stopped,
    /// A source is no longer what was chosen.
    #[error("{0} changed while it was copied")]
    Changed(RepoPath),
    /// Something else stands in the worktree where this is to be.
    #[error("cannot place {wanted} at {path}: {found} stands there")]
    InTheWay {
        /// Where.
        path: RepoPath,
        /// What is to be there, with its article.
        wanted: &'static str,
        /// What is there, with its article.
        found: &'static str,
    },
    /// A file is in the worktree that was not there when the rest was decided.
    #[error("cannot place {0}: it appeared in the worktree meanwhile")]
    Appeared(RepoPath),
    /// A file that was to be replaced is no longer what it was.
    #[error("cannot replace {0}: it was changed in the worktree meanwhile")]
    ChangedThere(RepoPath),
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
}

impl CopyError {
    /// Whether it is no failure: somebody asked to stop.
    #[must_use]
    pub fn is_stop(&self) -> bool {
        matches!(self.cause, Cause::Stopped)
    }

    /// Whether the disk would have done it, and we did not want to.
    #[must_use]
    pub fn is_refusal(&self) -> bool {
        match self.cause {
            Cause::Changed(_)
            | Cause::InTheWay { .. }
            | Cause::Appeared(_)
            | Cause::ChangedThere(_) => true,
            Cause::Stopped | Cause::Disk(_) => false,
        }
    }

    pub(super) fn with(mut self, warnings: Vec<String>) -> Self {
        self.warnings.extend(warnings);
        self
    }
}

impl<C: Into<Cause>> From<C> for CopyError {
    fn from(cause: C) -> Self {
        Self {
            cause: cause.into(),
            warnings: Vec::new(),
        }
    }
}

impl Cause {
    /// The disk refused to do this (a verb) with a file.
    pub(super) fn disk(
        verb: &str,
        path: impl fmt::Display,
        error: impl Into<std::io::Error>,
    ) -> Self {
        Self::Disk(DiskError::new(format!("{verb} {path}"), error))
    }

    /// A source could not be opened: it is gone, or a link or a special file stands there or on
    /// the way; or the disk refuses.
    pub(super) fn source(path: &RepoPath, error: Errno) -> Self {
        match error {
            Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NXIO | Errno::NODEV => {
                Self::Changed(path.clone())
            }
            _ => Self::disk("read", path, error),
        }
    }
}

impl Diagnostic for CopyError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let code = match &self.cause {
            Cause::Stopped => "agentwt::copy::stopped",
            Cause::Changed(_) => "agentwt::copy::changed",
            Cause::InTheWay { .. } => "agentwt::copy::in_the_way",
            Cause::Appeared(_) => "agentwt::copy::appeared",
            Cause::ChangedThere(_) => "agentwt::copy::changed_there",
            Cause::Disk(error) => return error.code(),
        };
        Some(Box::new(code))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let text = match &self.cause {
            Cause::Stopped => "nothing was placed; run the same command again".to_owned(),
            Cause::Changed(path) => {
                format!(
                    "wait until nothing writes to it (`ls -l '{path}'`), then run the same command again"
                )
            }
            Cause::InTheWay { path, .. } => format!(
                "nothing is written through a link or over a file: look with `ls -ld '{path}'`, move it away, then run the same command again"
            ),
            Cause::Appeared(path) | Cause::ChangedThere(path) => {
                format!("look with `ls -ld '{path}'`, then run the same command again")
            }
            Cause::Disk(error) => return error.help(),
        };
        Some(Box::new(text))
    }
}
