//! Reads and changes the disk: the walk that verification believes, write bits, our own files.
//!
//! Nothing here knows git or scopes. No symbolic link is followed anywhere below a worktree.

pub mod below;
pub mod candidates;
pub mod copy;
pub mod drift;
pub mod entries;
pub mod file_system;
pub mod files;
pub mod kept;
pub mod lock;
pub mod locked_file;
pub mod mode;
pub mod pool;
pub mod remains;
pub mod scan;
pub mod stat;
pub mod trash_bin;

use std::io::ErrorKind;

/// Says what the disk refused.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[error("cannot {attempt}: {source}")]
#[diagnostic(code(agentwt::disk::failed), help("{}", advice(source.kind())))]
pub struct DiskError {
    /// What was attempted, as a verb phrase that names the file.
    pub attempt: String,
    /// What the system said.
    pub source: std::io::Error,
}

impl DiskError {
    /// Makes the error of an attempt.
    pub fn new(attempt: impl Into<String>, source: impl Into<std::io::Error>) -> Self {
        Self {
            attempt: attempt.into(),
            source: source.into(),
        }
    }
}

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
