//! Holds [`ContextLayout`]: which files are written into a worktree for an agent program.

use crate::words::error::Fault;
use crate::words::exit::ExitCode;
use crate::words::path::RepoPath;

/// What will stand at a path of the worktree before context is written there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PathState {
    /// Nothing: it can be written.
    Free,
    /// A file that the commit has.
    Tracked,
    /// A file that is synced from the main worktree.
    Synced,
    /// A directory.
    Directory,
    /// A file, link or submodule where a directory above it would have to be.
    Above(RepoPath),
    /// Nothing may: the scope keeps it away. The text names the rule; none where no list has it.
    Excluded(Option<String>),
}

impl PathState {
    /// True if a file of the user's stands there, for the program to read.
    pub(super) fn is_read(&self) -> bool {
        matches!(self, Self::Tracked | Self::Synced)
    }

    pub(super) fn reason(&self) -> String {
        match self {
            Self::Free => "is free".to_owned(),
            Self::Tracked => "is tracked".to_owned(),
            Self::Synced => "is synced from the main worktree".to_owned(),
            Self::Directory => "is a directory".to_owned(),
            Self::Above(path) => format!("cannot be below {path}, which is a file"),
            Self::Excluded(Some(rule)) => format!("is excluded by {rule}"),
            Self::Excluded(None) => "is not in scope: no read or write pattern matches".to_owned(),
        }
    }
}

/// What is written for a program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ContextLayout {
    /// The files.
    pub files: Vec<ContextFile>,
    /// What the user should know of how the program will read them.
    pub notes: Vec<String>,
}

/// A file that is written into the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextFile {
    /// Its path.
    pub path: RepoPath,
    /// Its bytes.
    pub content: Vec<u8>,
}

/// Reports that no file that a program reads by itself is free.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error(
    "cannot write the context of `{worktree}` for {client}: {}",
    reasons(places)
)]
#[diagnostic(code(agentwt::client::no_place))]
#[diagnostic(help(
    "create the worktree without context (git agentwt add {worktree} --client none) \
     and give {client} its task yourself: {by_hand}"
))]
pub struct ClientRefusal {
    pub(super) client: &'static str,
    pub(super) worktree: String,
    pub(super) by_hand: &'static str,
    pub(super) places: Vec<(&'static str, PathState)>,
}

impl Fault for ClientRefusal {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Refused
    }
}

/// Says of each place why nothing can be written there.
fn reasons(places: &[(&str, PathState)]) -> String {
    let mut reasons = Vec::new();
    for (path, state) in places {
        reasons.push(format!("{path} {}", state.reason()));
    }
    reasons.join(", and ")
}

/// Returns a path of the table of programs.
pub(super) fn repo_path(path: &str) -> RepoPath {
    RepoPath::parse(path).expect("because the table has relative paths")
}
