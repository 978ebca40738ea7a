//! Says with which status each error ends the program.

use crate::commands::verify::range::RangeRefusal;
use crate::config::ConfigError;
use crate::disk::DiskError;
use crate::disk::copy::CopyError;
use crate::error::{Error, Fault};
use crate::exit::ExitCode;
use crate::git::GitError;
use crate::git::checkout::CheckoutFailure;
use crate::git::hooks::HooksError;
use crate::scope::{ScopeError, ScopeErrors};
use crate::sync::PatternError;

impl Fault for ConfigError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Config
    }
}

impl Fault for ScopeErrors {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Config
    }
}

impl Fault for PatternError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Config
    }
}

impl Fault for DiskError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Disk
    }
}

impl Fault for CopyError {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::Changed { .. } | Self::InTheWay { .. } => ExitCode::Refused,
            Self::Stopped => ExitCode::Disk,
        }
    }
}

impl Fault for CheckoutFailure {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::Disk(_) => ExitCode::Disk,
            Self::Memory | Self::Git(_) => ExitCode::Git,
        }
    }
}

impl Fault for RangeRefusal {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::Syntax { .. } | Self::Unknown { .. } | Self::Unrelated { .. } => ExitCode::Usage,
            Self::NoScope { .. } => ExitCode::Config,
            Self::Shallow { .. } => ExitCode::Git,
        }
    }
}

impl From<Vec<ScopeError>> for Error {
    fn from(errors: Vec<ScopeError>) -> Self {
        ScopeErrors::from(errors).into()
    }
}

impl Fault for HooksError {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::NotLinked { .. } => ExitCode::Usage,
            Self::Locked { .. } => ExitCode::Git,
            Self::Disk { .. } => ExitCode::Disk,
            Self::Git(error) => error.exit_code(),
        }
    }
}

impl Fault for GitError {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::NoRepository { .. } => ExitCode::Usage,
            Self::Failed { words, .. } if is_disk(words) => ExitCode::Disk,
            Self::Write { kind: Some(_), .. } => ExitCode::Disk,
            Self::Missing(_)
            | Self::NoDirectory { .. }
            | Self::TooOld { .. }
            | Self::Failed { .. }
            | Self::Hook { .. }
            | Self::TimedOut { .. }
            | Self::Read { .. }
            | Self::Write { .. } => ExitCode::Git,
        }
    }
}

/// Git has one status for everything; in the C locale these words are the system's own, or git's
/// where it writes and does not say what the system said.
fn is_disk(words: &str) -> bool {
    [
        "No space left on device",
        "Read-only file system",
        "Disk quota exceeded",
        "unable to write",
        "ould not write",
        "failed to write",
        "couldn't write",
        "couldn't close",
    ]
    .iter()
    .any(|text| words.contains(text))
}
