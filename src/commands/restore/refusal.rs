//! Lists what `restore` refuses: [`RestoreRefusal`], each with the next command.
#![allow(
    unused_assignments,
    reason = "zkat/miette#458: its derive reads fields in a way that rustc warns about"
)]

use camino::Utf8PathBuf;

use super::plan::Operation;
use crate::exit::ExitCode;

/// Says why nothing is put back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[expect(
    missing_docs,
    reason = "the fields are the names that the messages show"
)]
pub enum RestoreRefusal {
    /// The directory is gone.
    #[error("cannot restore worktree `{name}`: {path} is gone")]
    #[diagnostic(
        code(agentwt::restore::directory_gone),
        help("to forget it (its branch stays unless merged): git agentwt remove {name}")
    )]
    DirectoryGone { name: String, path: Utf8PathBuf },
    /// What was staged is unknown.
    #[error("cannot restore {path}: its index cannot be read")]
    #[diagnostic(
        code(agentwt::restore::damaged_index),
        help(
            "what was staged is lost; to make a new index from HEAD, without touching a file: mv {index} {index}.damaged && git -C {path} reset"
        )
    )]
    DamagedIndex {
        path: Utf8PathBuf,
        index: Utf8PathBuf,
    },
    /// A path was named that is as the scope says.
    #[error("{path} is no out-of-scope change of worktree `{name}`")]
    #[diagnostic(code(agentwt::restore::no_violation), help("{there}"))]
    NoViolation {
        name: String,
        path: String,
        there: String,
    },
    /// A repository inside, which no commit can save.
    #[error("cannot restore worktree `{name}`: a repository is inside it: {}", items.join(", "))]
    #[diagnostic(
        code(agentwt::restore::nested_repository),
        help("no commit can save its history: mv {first} <elsewhere>")
    )]
    NestedRepository {
        name: String,
        items: Vec<String>,
        first: Utf8PathBuf,
    },
    /// A submodule that is at another commit, or edited.
    #[error("cannot restore worktree `{name}`: the submodule {path} is not as in the base")]
    #[diagnostic(code(agentwt::restore::submodule), help("{advice}"))]
    Submodule {
        name: String,
        path: String,
        advice: String,
    },
    /// Work that is in scope stands in the way.
    #[error(
        "cannot restore {path} in worktree `{name}`: {other}, which is in scope or ignored, is in its way"
    )]
    #[diagnostic(
        code(agentwt::restore::in_the_way),
        help("move it first: mv {directory}/{other} <elsewhere>")
    )]
    InTheWay {
        name: String,
        path: String,
        other: String,
        directory: Utf8PathBuf,
    },
    /// Git is in the middle of something.
    #[error("cannot undo commits of worktree `{name}`: a {operation} is in progress")]
    #[diagnostic(
        code(agentwt::restore::in_progress),
        help(
            "finish or abort it first: git -C {path} {operation} --continue, or --abort; changes that are not committed can be named: git agentwt restore {name} <path>"
        )
    )]
    InProgress {
        name: String,
        path: Utf8PathBuf,
        operation: Operation,
    },
    /// HEAD is not on the branch.
    #[error("cannot undo commits of worktree `{name}`: it is on {elsewhere}, not on `{branch}`")]
    #[diagnostic(
        code(agentwt::restore::elsewhere),
        help("go back to it first: git -C {path} switch {branch}")
    )]
    Elsewhere {
        name: String,
        path: Utf8PathBuf,
        branch: String,
        elsewhere: String,
    },
    /// Others may have the commits.
    #[error("cannot rewrite commits of worktree `{name}`: they are published on {}", refs.join(", "))]
    #[diagnostic(
        code(agentwt::restore::published),
        help("others may have them; to undo them by a new commit: git agentwt restore {name}")
    )]
    Published { name: String, refs: Vec<String> },
    /// Another worktree has the commits.
    #[error("cannot rewrite commits of worktree `{name}`: the worktree {other} is on them too")]
    #[diagnostic(
        code(agentwt::restore::held_elsewhere),
        help("to undo them by a new commit: git agentwt restore {name}")
    )]
    HeldElsewhere { name: String, other: Utf8PathBuf },
    /// Rewriting would change work that is in scope.
    #[error("cannot rewrite commits of worktree `{name}`: {path}, which is in scope, would change")]
    #[diagnostic(
        code(agentwt::restore::rewrite_touches),
        help("to undo them by a new commit: git agentwt restore {name}")
    )]
    RewriteTouches { name: String, path: String },
    /// There was no restore.
    #[error("there is no restore of worktree `{name}` to undo")]
    #[diagnostic(
        code(agentwt::restore::nothing_to_undo),
        help("see what was saved: git for-each-ref refs/agentwt/rescue/{name}/")
    )]
    NothingToUndo { name: String },
    /// No restore has this name.
    #[error("`{text}` names no restore of worktree `{name}`")]
    #[diagnostic(
        code(agentwt::restore::unknown_restore),
        help("see what was saved: git for-each-ref refs/agentwt/rescue/{name}/")
    )]
    UnknownRestore { name: String, text: String },
    /// Only a whole restore is undone.
    #[error("cannot undo the restore of {text} alone")]
    #[diagnostic(
        code(agentwt::restore::undo_takes_no_path),
        help("--undo brings back all of a restore: git agentwt restore {name} --undo")
    )]
    UndoTakesNoPath { name: String, text: String },
    /// The branch went on.
    #[error("cannot undo the restore of worktree `{name}`: `{branch}` has moved since, to {now}")]
    #[diagnostic(
        code(agentwt::restore::branch_moved),
        help("take what it did back, and keep what came since: git -C {path} {command}")
    )]
    BranchMoved {
        name: String,
        path: Utf8PathBuf,
        branch: String,
        now: String,
        command: String,
    },
    /// The paths were worked on.
    #[error("cannot undo the restore of worktree `{name}`: changed since:\n  {}", items.join("\n  "))]
    #[diagnostic(
        code(agentwt::restore::changed_since),
        help("see what was saved: git -C {path} diff {rescue} -- '{first}'")
    )]
    ChangedSince {
        name: String,
        items: Vec<String>,
        first: String,
        path: Utf8PathBuf,
        rescue: String,
    },
}

impl RestoreRefusal {
    /// The status with which the program ends.
    #[must_use]
    pub const fn exit_code(&self) -> ExitCode {
        match self {
            Self::NoViolation { .. }
            | Self::UnknownRestore { .. }
            | Self::UndoTakesNoPath { .. } => ExitCode::Usage,
            Self::DirectoryGone { .. }
            | Self::DamagedIndex { .. }
            | Self::NestedRepository { .. }
            | Self::Submodule { .. }
            | Self::InTheWay { .. }
            | Self::InProgress { .. }
            | Self::Elsewhere { .. }
            | Self::Published { .. }
            | Self::HeldElsewhere { .. }
            | Self::RewriteTouches { .. }
            | Self::NothingToUndo { .. }
            | Self::BranchMoved { .. }
            | Self::ChangedSince { .. } => ExitCode::Refused,
        }
    }
}
