//! Lists [`ExitCode`], every status the program can end with.
//!
//! The numbers are a promise to schedulers: they are in `git-agentwt(1)` and never change meaning.

/// A status of the program; an inconclusive check is never `Success` and never `Violations`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExitCode {
    /// Done, or in scope.
    Success,
    /// Violations were found, or the answer is no.
    Violations,
    /// The command line is wrong, or there is no repository here.
    Usage,
    /// The config or the scope is invalid.
    Config,
    /// Refused, to protect work or state.
    Refused,
    /// Git failed, is missing or is too old.
    Git,
    /// The disk failed.
    Disk,
    /// The worktree does not exist.
    UnknownWorktree,
    /// Another owner has the worktree or the claim.
    OwnershipLost,
    /// The answer is incomplete, because content is unreadable (`--best-effort`).
    Incomplete,
    /// No fence that was asked for works here: nothing was run.
    NoFence,
    /// A bug of this program.
    Bug,
    /// A command in a fence ended, and its changes were refused.
    RunRefused,
    /// A command in a fence ended, and files that it must not reach are not as they were.
    SealBroken,
    /// A command in a fence was ended, as its time was over (timeout(1)).
    TimedOut,
    /// A command in a fence was not started (env(1)).
    NotStarted,
    /// Ended by this signal, after everything was undone.
    Signal(u8),
    /// The status of a program that was started in a worktree.
    Program(u8),
}

impl ExitCode {
    /// The process status.
    pub const fn code(self) -> u8 {
        match self {
            Self::Success => 0,
            Self::Violations => 1,
            Self::Usage => 2,
            Self::Config => 3,
            Self::Refused => 4,
            Self::Git => 5,
            Self::Disk => 6,
            Self::UnknownWorktree => 7,
            Self::OwnershipLost => 8,
            Self::Incomplete => 10,
            Self::NoFence => 9,
            Self::Bug => 101,
            Self::RunRefused => 120,
            Self::SealBroken => 121,
            Self::TimedOut => 124,
            Self::NotStarted => 125,
            Self::Signal(signal) => 128 + signal,
            Self::Program(status) => status,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        code.code().into()
    }
}
