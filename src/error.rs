//! Joins the errors of all modules, and says with which status the program ends for each.
#![allow(
    unused_assignments,
    reason = "zkat/miette#458: the derive assigns every field"
)]

use miette::Diagnostic;
use serde::Serialize;

use crate::commands::restore::RestoreRefusal;
use crate::commands::verify::range::RangeRefusal;
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
use crate::plan::refusal::Refusal;
use crate::scope::ScopeError;
use crate::sync::PatternError;
use crate::worktree::error::ClaimError;
use crate::worktree::placing::PlacingError;
use crate::worktree::selection::SelectionError;

/// Says why a command did not do what was asked.
#[derive(Debug, thiserror::Error, Diagnostic)]
pub enum Error {
    /// The facts cannot be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Facts(#[from] WorktreeError),
    /// Git failed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Git(#[from] GitError),
    /// The disk failed.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Disk(#[from] DiskError),
    /// The config is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Config(#[from] ConfigError),
    /// Rules of the scope are wrong.
    #[error("{first}")]
    #[diagnostic(code(agentwt::scope::invalid), help("{}", help(first.as_ref())))]
    Scope {
        /// The first.
        first: Box<ScopeError>,
        /// The others.
        #[related]
        others: Vec<ScopeError>,
    },
    /// A sync pattern on the command line is wrong.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Pattern(#[from] PatternError),
    /// The command is refused.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Refused(#[from] Refusal),
    /// A restore is refused.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Restore(Box<RestoreRefusal>),
    /// A range gets no verdict.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Range(#[from] RangeRefusal),
    /// A claim is not ours.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Claim(Box<ClaimError>),
    /// The hooks cannot be installed, removed or read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Hooks(#[from] HooksError),
    /// The files of a new worktree cannot be checked out.
    #[error("cannot check the files out: {detail}")]
    #[diagnostic(
        code(agentwt::add::checkout),
        help(
            "fix the filter, the setting or the object that is named; `git fsck` finds damaged objects"
        )
    )]
    Checkout {
        /// Which object, setting or filter is at fault.
        detail: String,
    },
    /// A restore, or its undoing, failed after it had begun; what was there is saved.
    #[error("{error}")]
    #[diagnostic(
        code(agentwt::restore::half_done),
        help(
            "all that was there is saved in {rescue}; to bring it back: git agentwt restore {name} --undo={rescue}; to go on: git agentwt restore {name}"
        )
    )]
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
    #[diagnostic(transparent)]
    Copy(#[from] CopyError),
    /// The command failed, and not everything could be undone.
    #[error("{error}; what is left: {}", left.join("; "))]
    #[diagnostic(forward(error))]
    Left {
        /// What failed.
        error: Box<Error>,
        /// What could not be undone.
        left: Vec<String>,
    },
    /// The owner lost the worktree while it was created.
    #[error("ownership of `{name}` is lost, says {by}")]
    #[diagnostic(
        code(agentwt::add::lost_ownership),
        help(
            "nothing more was tried, and nothing is left behind; to see who has it: git agentwt status {name}"
        )
    )]
    LostOwnership {
        /// The worktree's name.
        name: String,
        /// Who said so.
        by: String,
    },
    /// A signal ended the command and its git; what git did by then is not undone.
    #[error("interrupted by signal {signal}: {error}")]
    #[diagnostic(
        code(agentwt::interrupted),
        help("the same command again goes on with it")
    )]
    Stopped {
        /// The signal.
        signal: u8,
        /// What did not end.
        error: Box<Error>,
    },
    /// A signal ended the command; everything was undone.
    #[error("interrupted by signal {0}")]
    #[diagnostic(code(agentwt::interrupted), help("everything was undone"))]
    Interrupted(u8),
}

/// The JSON document of an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, schemars::JsonSchema)]
pub struct ErrorDocument {
    /// `agentwt.error/1`.
    pub schema: &'static str,
    /// What kind of error it is: `agentwt::<module>::<name>`.
    pub code: String,
    /// What was attempted, and what stopped it.
    pub message: String,
    /// What to do next, one remedy each.
    pub help: Vec<String>,
}

impl ErrorDocument {
    /// Creates the document.
    #[must_use]
    pub fn new(error: &dyn Diagnostic) -> Self {
        let related = error.related().into_iter().flatten();
        let help = error.help().map(|help| help.to_string());
        let others = related.map(|other| match other.help() {
            Some(help) => format!("{other}; {help}"),
            None => other.to_string(),
        });
        Self {
            schema: "agentwt.error/1",
            code: error
                .code()
                .map(|code| code.to_string())
                .unwrap_or_default(),
            message: error.to_string(),
            help: help.into_iter().chain(others).collect(),
        }
    }

    /// Creates the document of a wrong command line.
    #[must_use]
    pub fn usage(message: &str) -> Self {
        let mut parts = message.trim().split("\n\n");
        let first = parts.next().unwrap_or_default();
        Self {
            schema: "agentwt.error/1",
            code: "agentwt::cli::usage".to_owned(),
            message: first.trim_start_matches("error: ").to_owned(),
            help: parts.map(|part| part.trim().to_owned()).collect(),
        }
    }
}

fn help(error: &dyn Diagnostic) -> String {
    error
        .help()
        .map(|help| help.to_string())
        .unwrap_or_default()
}

impl From<Vec<ScopeError>> for Error {
    fn from(mut errors: Vec<ScopeError>) -> Self {
        let first = Box::new(errors.remove(0));
        let others = errors;
        Self::Scope { first, others }
    }
}

impl From<RestoreRefusal> for Error {
    fn from(refusal: RestoreRefusal) -> Self {
        Self::Restore(Box::new(refusal))
    }
}

impl From<ClaimError> for Error {
    fn from(error: ClaimError) -> Self {
        match error {
            ClaimError::Git(error) => Self::Git(error),
            ClaimError::Disk(error) => Self::Disk(error),
            ClaimError::Lock(error) => error.into(),
            error => Self::Claim(Box::new(error)),
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
            ProfileError::Scope(errors) => Self::from(errors),
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

impl From<SelectionError> for Error {
    fn from(error: SelectionError) -> Self {
        match error {
            SelectionError::Git(error) => Self::Git(error),
            SelectionError::Disk(error) => Self::Disk(error),
            SelectionError::Pattern(error) => Self::Pattern(error),
            SelectionError::Refused(refusal) => Self::Refused(refusal.into()),
        }
    }
}

impl From<PlacingError> for Error {
    fn from(error: PlacingError) -> Self {
        match error {
            PlacingError::Copy(error) => Self::Copy(error),
            PlacingError::Disk(error) => Self::Disk(error),
            PlacingError::Git(error) => Self::Git(error),
            PlacingError::Left { error, left } => Self::from(*error).leaving(left),
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
            Self::Config(_) | Self::Scope { .. } | Self::Pattern(_) => ExitCode::Config,
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
}

fn of_facts(error: &WorktreeError) -> ExitCode {
    match error {
        WorktreeError::Git(error) => of_git(error),
        WorktreeError::Disk(_)
        | WorktreeError::Damaged { .. }
        | WorktreeError::NoDirectory { .. } => ExitCode::Disk,
        WorktreeError::UnknownWorktree { .. } => ExitCode::UnknownWorktree,
        WorktreeError::NotInWorktree { .. } => ExitCode::Usage,
        WorktreeError::Incomplete { .. } => ExitCode::Refused,
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
