//! Says what the disk refused: [`DiskError`].

use std::fmt::Display;
use std::io::{Error, ErrorKind};

/// What the disk refused.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("cannot {attempt}: {source}")]
#[diagnostic(code(agentwt::disk::failed), help("{}", advice(source.kind())))]
pub struct DiskError {
    /// What was attempted, as a verb phrase that names the file.
    pub attempt: String,
    /// What the system said.
    pub source: Error,
}

impl DiskError {
    /// Creates the error of an attempt.
    pub fn new(attempt: impl Into<String>, source: impl Into<Error>) -> Self {
        Self {
            attempt: attempt.into(),
            source: source.into(),
        }
    }
}

/// Turns what the system refused into a [`DiskError`].
pub trait Attempt<T> {
    /// Says what was attempted, where that failed: a verb, and the file that it was about.
    ///
    /// # Errors
    /// Fails where the system refused.
    fn attempting(self, verb: &str, file: impl Display) -> Result<T, DiskError>;
}

impl<T, E: Into<Error>> Attempt<T> for Result<T, E> {
    fn attempting(self, verb: &str, file: impl Display) -> Result<T, DiskError> {
        self.map_err(|error| DiskError::new(format!("{verb} {file}"), error))
    }
}

/// What to do about an error of this kind.
const fn advice(kind: ErrorKind) -> &'static str {
    match kind {
        ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
            "free some space (`df -h .`), then try again"
        }
        ErrorKind::ReadOnlyFilesystem => {
            "the file system is read-only: `findmnt -T .` shows its mount"
        }
        ErrorKind::PermissionDenied => "check who owns it with `ls -ld`, then try again",
        _ => "look at it with `ls -ld`, fix it, then try again",
    }
}

/// True if nothing is there, or not even the directory.
pub(super) fn is_missing(error: &Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
