//! Tells the kinds of errors apart: [`Kind`].

use miette::Diagnostic;

use super::Error;
use crate::exit::ExitCode;

/// Names what a program may want to do something about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// What was tried for belongs to somebody else by now. Nothing of it is left behind.
    LostOwnership,
    /// There is no worktree of this name.
    UnknownWorktree,
    /// There is no repository around, and no directory was named for what is made without one.
    NoParentDir,
    /// What was asked for is wrong, or there is no repository.
    Usage,
    /// The config or the scope is invalid.
    Config,
    /// Refused, to protect work or state.
    Refused,
    /// Git failed, or is missing.
    Git,
    /// The disk failed.
    Disk,
    /// It was stopped; everything was undone.
    Interrupted,
}

impl Error {
    /// The kind of this error, which is finer than its exit status only where that says so.
    pub fn kind(&self) -> Kind {
        let code = self.code().map(|code| code.to_string());
        match self.exit_code() {
            ExitCode::OwnershipLost => Kind::LostOwnership,
            ExitCode::UnknownWorktree => Kind::UnknownWorktree,
            ExitCode::Usage if code.is_some_and(|code| code.ends_with("::no_parent_dir")) => {
                Kind::NoParentDir
            }
            ExitCode::Usage => Kind::Usage,
            ExitCode::Config => Kind::Config,
            ExitCode::Refused => Kind::Refused,
            ExitCode::Disk => Kind::Disk,
            ExitCode::Signal(_) => Kind::Interrupted,
            // no error has the four others
            ExitCode::Git
            | ExitCode::Success
            | ExitCode::Violations
            | ExitCode::Incomplete
            | ExitCode::Bug => Kind::Git,
        }
    }
}
