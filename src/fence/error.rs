//! Lists what can go wrong before, while and after a command runs in a fence.

use std::io;
use std::path::Path;

use crate::config::value::{Choice as _, Fence};
use crate::fence::availability::{Probe, ProbeFailure};

/// Says why a command was not started in a fence, or not ended with all that it started.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum FenceError {
    /// The fence does not work here. Nothing was run.
    #[error("fence '{}' unavailable: {failure}. Nothing was run", fence.as_str())]
    #[diagnostic(code(agentwt::fence::unavailable))]
    #[diagnostic(help("{}{}", failure.remedy, instead(weaker.as_deref())))]
    Unavailable {
        /// The one that was asked for; for `auto`, the weakest that would do.
        fence: Fence,
        /// What its probe met.
        failure: Box<ProbeFailure>,
        /// A weaker one that works here.
        weaker: Option<Box<Probe>>,
    },
    /// The program cannot be started.
    #[error("cannot start {program}: {error}")]
    #[diagnostic(code(agentwt::fence::start))]
    #[diagnostic(help("check the command after `--`, and PATH in `git agentwt env`"))]
    Start {
        /// The program.
        program: String,
        /// What the system said.
        error: io::Error,
    },
    /// The command cannot be kept to its scope.
    #[error("cannot fence the command in: {0}")]
    #[diagnostic(code(agentwt::fence::restrict))]
    #[diagnostic(help("see what works here with `git agentwt doctor`; nothing was run"))]
    Restrict(String),
    /// The system refuses what is needed to look after the command.
    #[error("cannot look after the command: {0}")]
    #[diagnostic(code(agentwt::fence::supervise))]
    #[diagnostic(help("see what works here with `git agentwt doctor`"))]
    Supervise(io::Error),
    /// Processes of the command could not be ended.
    #[error("processes of the command still run: {pids:?}")]
    #[diagnostic(code(agentwt::fence::leftover))]
    #[diagnostic(help("end them, then verify the worktree: nothing of the run was taken over"))]
    Leftover {
        /// Their numbers.
        pids: Vec<u32>,
    },
}

impl FenceError {
    /// The error for a file or directory of the fence that cannot be written.
    pub fn unwritten(path: &Path, error: &io::Error) -> Self {
        let path = path.display();
        Self::Restrict(format!("cannot write {path}: {error} (the space: df -h)"))
    }

    /// The status of env(1) for a command that was not started; none if another status says
    /// more.
    pub fn status(&self) -> Option<u8> {
        match self {
            Self::Start { error, .. } if error.kind() == io::ErrorKind::NotFound => Some(127),
            Self::Start { .. } => Some(126),
            Self::Restrict(_) | Self::Supervise(_) => Some(125),
            Self::Unavailable { .. } | Self::Leftover { .. } => None,
        }
    }
}

/// What can be used instead: the rest of a help.
fn instead(weaker: Option<&Probe>) -> String {
    match weaker {
        Some(Probe {
            fence,
            result: Ok(version),
        }) => format!(", or use --fence {} (available, {version})", fence.as_str()),
        Some(_) | None => String::new(),
    }
}
