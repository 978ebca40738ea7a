//! Says what became of the import of a run: [`Imported`], or [`ImportFailure`].

use miette::Diagnostic;

use crate::actions::import::plan::UserIndex;
use crate::answer::shapes::BranchMove;
use crate::disk::error::DiskError;
use crate::git::error::GitError;
use crate::judge::finding::Report;
use crate::record::run::{ImportConflict, Leftover};
use crate::words::error::{Error, Fault};
use crate::words::exit::ExitCode;
use crate::words::name::CommitId;
use crate::words::path::shell_word;
use crate::worktree::loaded::Worktree;
use crate::worktree::run_status::way_out;

/// What became of a run.
pub struct Imported {
    /// The verdict over the worktree with the commits of the run.
    pub report: Report,
    /// How the branch moved; none where it did not.
    pub moved: Option<BranchMove>,
    /// The commit to which the branch did not move, if there is one.
    pub stays_away: Option<CommitId>,
    /// The commit of the branch.
    pub branch_commit: Option<CommitId>,
    /// What the user did meanwhile, with which no commit of the run fits.
    pub conflict: Option<ImportConflict>,
    /// What the git directory of the run stays for.
    pub left: Vec<Leftover>,
    /// The index of the worktree.
    pub index: UserIndex,
    /// The files that no command in a fence can reach.
    pub seal: Seal,
    /// What the user should know.
    pub notes: Vec<String>,
}

/// Says whether a file was changed during a run that no command in a fence can reach.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seal {
    /// None was.
    Whole,
    /// One was.
    Broken,
}

impl Imported {
    /// Makes the outcome of a command that worked on the git directory of the worktree itself.
    pub fn without_run(report: Report) -> Self {
        Self {
            report,
            moved: None,
            stays_away: None,
            branch_commit: None,
            conflict: None,
            left: Vec::new(),
            index: UserIndex::AsInRun,
            seal: Seal::Whole,
            notes: Vec::new(),
        }
    }

    /// Returns what the user did, for which commits of the run stay away.
    pub fn conflict_with_commits(&self) -> Option<ImportConflict> {
        self.conflict.filter(|_| self.stays_away.is_some())
    }

    /// True if the git directory has something that neither refs nor the worktree have.
    pub fn is_needed(&self) -> bool {
        self.left.iter().any(|left| match left {
            Leftover::Repositories
            | Leftover::UnfetchedCommits
            | Leftover::UnfetchedFiles
            | Leftover::LockedIndex => true,
            Leftover::Operation | Leftover::OtherHead | Leftover::Stash => false,
        })
    }

    /// Says why the branch stays though all is in scope, and how it gets the commits.
    pub fn conflict_note(&self, worktree: &Worktree) -> Option<String> {
        let conflict = self.conflict_with_commits()?;
        let branch = &worktree.record.branch;
        let path = shell_word(worktree.record.path.as_str());
        let way = way_out(conflict, worktree);
        let hint = match conflict {
            ImportConflict::IndexLocked | ImportConflict::OperationBegun => {
                "; that has to be over first".to_owned()
            }
            ImportConflict::SwitchedAway => String::new(),
            ImportConflict::BranchMoved | ImportConflict::StagedOtherwise => {
                format!(
                    "; what else was not committed is in the stash then: \
                     git -C {path} stash show -u"
                )
            }
        };
        Some(format!(
            "{branch} stays, as {conflict} while the command ran; to merge the commits of the \
             command, whose files are there uncommitted: {way}{hint}"
        ))
    }
}

/// Says why an import stopped. The branch is where it was, and the git directory of the run stays.
#[derive(Debug)]
pub enum ImportFailure {
    /// The git directory of the run cannot be read: the next run begins anew, beside it.
    UnreadableRun(Error),
    /// Something else stopped it, and the next import may succeed.
    Stopped(Error),
}

/// The branch of a run names an object that is no commit.
#[derive(Debug, thiserror::Error, Diagnostic)]
#[error("the command left branch `{branch}` at {id}, which is no commit")]
#[diagnostic(code(agentwt::exec::no_commit))]
#[diagnostic(help(
    "to set aside what it left, with what can be read kept by refs, and to begin anew: git agentwt \
        exec {name}"
))]
pub struct NoCommit {
    /// The name of the worktree.
    pub name: String,
    /// The branch.
    pub branch: String,
    /// The object.
    pub id: String,
}

impl Fault for NoCommit {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Git
    }
}

impl ImportFailure {
    /// Returns the error.
    pub fn into_error(self) -> Error {
        match self {
            Self::UnreadableRun(error) | Self::Stopped(error) => error,
        }
    }

    /// Sorts an error of a step that only reads and writes the git directory of the run: where
    /// something of another kind stands in the way, the command put it there.
    pub fn in_git_directory(error: Error) -> Self {
        use std::io::ErrorKind::{AlreadyExists, IsADirectory, NotADirectory};
        let kind = error.find::<DiskError>().map(|error| error.source.kind());
        match kind {
            Some(AlreadyExists | IsADirectory | NotADirectory) => Self::UnreadableRun(error),
            Some(_) | None => Self::Stopped(error),
        }
    }
}

impl From<Error> for ImportFailure {
    fn from(error: Error) -> Self {
        Self::Stopped(error)
    }
}

impl From<DiskError> for ImportFailure {
    fn from(error: DiskError) -> Self {
        Self::Stopped(error.into())
    }
}

impl From<GitError> for ImportFailure {
    fn from(error: GitError) -> Self {
        Self::Stopped(error.into())
    }
}
