//! Joins the errors of all modules, and says with which status the program ends for each.

use std::fmt;

use miette::Diagnostic;

use crate::claim::ClaimFailure;
use crate::commands::restore::RestoreRefusal;
use crate::config::ConfigError;
use crate::disk::DiskError;
use crate::disk::copy::CopyError;
use crate::disk::lock::LockError;
use crate::exit::ExitCode;
use crate::facts::prompt::PromptError;
use crate::facts::scope::ProfileError;
use crate::facts::{LoadError, WorktreeError};
use crate::git::GitError;
use crate::git::checkout::CheckoutFailure;
use crate::git::hooks::HooksError;
use crate::plan::range::RangeRefusal;
use crate::plan::refusal::Refusal;
use crate::scope::ScopeError;
use crate::sync::PatternError;
use crate::worktree::saved::SavedError;

/// Says why a command did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The facts cannot be read.
    #[error(transparent)]
    Facts(#[from] WorktreeError),
    /// Git failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The disk failed.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// The config is wrong.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Rules of the scope are wrong: the first, and the others.
    #[error("{}", .0.first().map(ToString::to_string).unwrap_or_default())]
    Scope(Vec<ScopeError>),
    /// A sync pattern on the command line is wrong.
    #[error(transparent)]
    Pattern(#[from] PatternError),
    /// It was refused.
    #[error(transparent)]
    Refused(#[from] Refusal),
    /// Nothing is put back.
    #[error(transparent)]
    Restore(Box<RestoreRefusal>),
    /// A range gets no verdict.
    #[error(transparent)]
    Range(#[from] RangeRefusal),
    /// A claim is not ours.
    #[error(transparent)]
    Claim(#[from] Box<ClaimFailure>),
    /// The hooks cannot be installed, removed or read.
    #[error(transparent)]
    Hooks(#[from] HooksError),
    /// The files of a new worktree cannot be checked out.
    #[error("cannot check the files out: {detail}")]
    Checkout {
        /// Which object, setting or filter is at fault.
        detail: String,
    },
    /// A restore, or its undoing, failed after it had begun; what was there is saved.
    #[error("{error}")]
    HalfRestored {
        /// What failed.
        error: Box<Error>,
        /// The worktree's name.
        name: String,
        /// Where it is saved.
        rescue: String,
    },
    /// Files could not be copied or moved in.
    #[error(transparent)]
    Copy(#[from] CopyError),
    /// It failed, and not all could be undone.
    #[error("{error}; what is left: {}", left.join("; "))]
    Left {
        /// What failed.
        error: Box<Error>,
        /// What could not be undone.
        left: Vec<String>,
    },
    /// What was tried for belongs to somebody else by now; nothing of it is left behind.
    #[error("ownership of `{name}` is lost, says {by}")]
    LostOwnership {
        /// The worktree's name.
        name: String,
        /// Who said so.
        by: String,
    },
    /// A signal asked to stop, and the git that ran then did; what it had done by then is not
    /// undone.
    #[error("interrupted by signal {signal}: {error}")]
    Stopped {
        /// The signal.
        signal: u8,
        /// What did not end.
        error: Box<Error>,
    },
    /// A signal asked to stop; everything was undone.
    #[error("interrupted by signal {0}")]
    Interrupted(u8),
}

impl From<RestoreRefusal> for Error {
    fn from(refusal: RestoreRefusal) -> Self {
        Self::Restore(Box::new(refusal))
    }
}

impl From<SavedError> for Error {
    fn from(error: SavedError) -> Self {
        match error {
            SavedError::Git(error) => Self::Git(error),
            SavedError::Disk(error) => Self::Disk(error),
        }
    }
}

impl From<CheckoutFailure> for Error {
    fn from(failure: CheckoutFailure) -> Self {
        match failure {
            CheckoutFailure::Disk(error) => DiskError::new("check the files out", error).into(),
            CheckoutFailure::Memory => Self::Checkout {
                detail: "a file does not fit into memory".to_owned(),
            },
            CheckoutFailure::Git(detail) => Self::Checkout { detail },
        }
    }
}

impl From<ProfileError> for Error {
    fn from(error: ProfileError) -> Self {
        match error {
            ProfileError::Scope(errors) => Self::Scope(errors),
            ProfileError::Facts(error) => Self::Facts(error),
        }
    }
}

impl From<LockError> for Error {
    fn from(error: LockError) -> Self {
        match error {
            LockError::Disk(error) => Self::Disk(error),
            LockError::Held { name, pid } => Self::Refused(Refusal::Busy { name, pid }),
            LockError::Interrupted(signal) => Self::Interrupted(signal),
        }
    }
}

impl From<PromptError> for Error {
    fn from(error: PromptError) -> Self {
        match error {
            PromptError::Refused(refusal) => Self::Refused(refusal),
            PromptError::Disk(error) => Self::Disk(error),
        }
    }
}

impl From<LoadError> for Error {
    fn from(error: LoadError) -> Self {
        match error {
            LoadError::Config(error) => Self::Config(error),
            LoadError::Facts(error) => Self::Facts(error),
        }
    }
}

impl Error {
    /// The status with which the program ends.
    #[must_use]
    pub fn exit_code(&self) -> ExitCode {
        match self {
            Self::Facts(error) => of_facts(error),
            Self::Git(error) => of_git(error),
            Self::Config(_) | Self::Scope(_) | Self::Pattern(_) => ExitCode::Config,
            Self::Refused(refusal) => refusal.exit_code(),
            Self::Restore(refusal) => refusal.exit_code(),
            Self::Range(refusal) => refusal.exit_code(),
            Self::Claim(failure) => failure.exit_code(),
            Self::Hooks(error) => of_hooks(error),
            Self::Checkout { .. } => ExitCode::Git,
            Self::HalfRestored { error, .. } | Self::Left { error, .. } => error.exit_code(),
            Self::Copy(error) if error.is_refusal() => ExitCode::Refused,
            Self::Disk(_) | Self::Copy(_) => ExitCode::Disk,
            Self::LostOwnership { .. } => ExitCode::OwnershipLost,
            Self::Interrupted(signal) | Self::Stopped { signal, .. } => ExitCode::Signal(*signal),
        }
    }

    /// The same error, with what could not be undone after it.
    #[must_use]
    pub fn leaving(self, left: Vec<String>) -> Self {
        if left.is_empty() {
            return self;
        }
        let error = Box::new(self);
        Self::Left { error, left }
    }

    fn inner(&self) -> Option<&dyn Diagnostic> {
        match self {
            Self::Facts(error) => Some(error),
            Self::Git(error) => Some(error),
            Self::Disk(error) => Some(error),
            Self::Config(error) => Some(error),
            Self::Scope(errors) => errors.first().map(|error| error as &dyn Diagnostic),
            Self::Pattern(error) => Some(error),
            Self::Refused(error) => Some(error),
            Self::Restore(refusal) => Some(&**refusal),
            Self::Range(error) => Some(error),
            Self::Claim(failure) => Some(&**failure),
            Self::Hooks(error) => Some(error),
            Self::Copy(error) => Some(error),
            Self::HalfRestored { error, .. } | Self::Left { error, .. } => error.inner(),
            Self::Checkout { .. }
            | Self::LostOwnership { .. }
            | Self::Stopped { .. }
            | Self::Interrupted(_) => None,
        }
    }
}

fn of_facts(error: &WorktreeError) -> ExitCode {
    match error {
        WorktreeError::Git(error) => of_git(error),
        WorktreeError::Disk(_) | WorktreeError::Damaged { .. } => ExitCode::Disk,
        WorktreeError::UnknownWorktree { .. } => ExitCode::UnknownWorktree,
        WorktreeError::NotInWorktree { .. } => ExitCode::Usage,
        WorktreeError::Incomplete { .. } => ExitCode::Refused,
        WorktreeError::SyncThroughLink { .. } => ExitCode::Config,
    }
}

fn of_hooks(error: &HooksError) -> ExitCode {
    match error {
        HooksError::NotLinked { .. } => ExitCode::Usage,
        HooksError::Locked { .. } => ExitCode::Git,
        HooksError::Disk { .. } => ExitCode::Disk,
        HooksError::Git(error) => of_git(error),
    }
}

fn of_git(error: &GitError) -> ExitCode {
    match error {
        GitError::NoRepository { .. } => ExitCode::Usage,
        GitError::Failed { words, .. } if is_disk(words) => ExitCode::Disk,
        GitError::Write { kind: Some(_), .. } => ExitCode::Disk,
        GitError::Missing(_)
        | GitError::NoDirectory { .. }
        | GitError::TooOld { .. }
        | GitError::Failed { .. }
        | GitError::Output { .. }
        | GitError::Hook { .. }
        | GitError::TimedOut { .. }
        | GitError::Read { .. }
        | GitError::Write { .. } => ExitCode::Git,
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

impl Diagnostic for Error {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        match self {
            Self::Checkout { .. } => Some(Box::new("agentwt::add::checkout")),
            Self::LostOwnership { .. } => Some(Box::new("agentwt::add::lost_ownership")),
            Self::Interrupted(_) => None,
            _other => self.inner().and_then(Diagnostic::code),
        }
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        match self {
            Self::Checkout { .. } => Some(Box::new(
                "fix the filter, the setting or the object that is named; `git fsck` finds damaged objects",
            )),
            Self::HalfRestored { name, rescue, .. } => Some(Box::new(format!(
                "all that was there is saved in {rescue}; to bring it back: git agentwt restore {name} --undo={rescue}; to go on: git agentwt restore {name}"
            ))),
            Self::LostOwnership { name, .. } => Some(Box::new(format!(
                "nothing more was tried, and nothing is left behind; to see who has it: git agentwt status {name}"
            ))),
            Self::Stopped { .. } => Some(Box::new("the same command again goes on with it")),
            Self::Interrupted(_) => Some(Box::new("everything was undone")),
            _other => self.inner().and_then(Diagnostic::help),
        }
    }

    fn source_code(&self) -> Option<&dyn miette::SourceCode> {
        self.inner().and_then(Diagnostic::source_code)
    }

    fn labels(&self) -> Option<Box<dyn Iterator<Item = miette::LabeledSpan> + '_>> {
        self.inner().and_then(Diagnostic::labels)
    }

    fn related<'a>(&'a self) -> Option<Box<dyn Iterator<Item = &'a dyn Diagnostic> + 'a>> {
        if let Self::Scope(errors) = self {
            return Some(Box::new(
                errors.iter().skip(1).map(|error| error as &dyn Diagnostic),
            ));
        }
        self.inner().and_then(Diagnostic::related)
    }
}
