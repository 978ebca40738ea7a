//! Lists what `restore` refuses: [`RestoreRefusal`], each with its status and the next command.

use camino::Utf8PathBuf;

use super::Operation;
use crate::exit::ExitCode;

/// Says why nothing is put back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the fields are the names that the messages show"
)]
pub enum RestoreRefusal {
    /// The directory is gone.
    #[error("cannot restore worktree `{name}`: {path} is gone")]
    DirectoryGone { name: String, path: Utf8PathBuf },
    /// Nobody knows what was staged.
    #[error("cannot restore {path}: its index cannot be read")]
    DamagedIndex {
        path: Utf8PathBuf,
        index: Utf8PathBuf,
    },
    /// A path was named that is as the scope says.
    #[error("{path} is no out-of-scope change of worktree `{name}`")]
    NoViolation {
        name: String,
        path: String,
        there: Vec<String>,
    },
    /// A repository inside, which no commit can save.
    #[error("cannot restore worktree `{name}`: a repository is inside it: {}", items.join(", "))]
    NestedRepository {
        name: String,
        path: Utf8PathBuf,
        items: Vec<String>,
    },
    /// A submodule that is at another commit, or edited.
    #[error("cannot restore worktree `{name}`: the submodule {path} is not as in the base")]
    Submodule {
        name: String,
        directory: Utf8PathBuf,
        path: String,
        commit: Option<String>,
    },
    /// Work that is in scope stands in the way.
    #[error(
        "cannot restore {path} in worktree `{name}`: {other}, which is in scope or ignored, is in its way"
    )]
    InTheWay {
        name: String,
        path: String,
        other: String,
        directory: Utf8PathBuf,
    },
    /// Git is in the middle of something.
    #[error("cannot undo commits of worktree `{name}`: a {operation} is in progress")]
    InProgress {
        name: String,
        path: Utf8PathBuf,
        operation: Operation,
    },
    /// HEAD is not on the branch.
    #[error("cannot undo commits of worktree `{name}`: it is on {elsewhere}, not on `{branch}`")]
    Elsewhere {
        name: String,
        path: Utf8PathBuf,
        branch: String,
        elsewhere: String,
    },
    /// Others may have the commits.
    #[error("cannot rewrite commits of worktree `{name}`: they are published on {}", refs.join(", "))]
    Published { name: String, refs: Vec<String> },
    /// Another worktree has the commits.
    #[error("cannot rewrite commits of worktree `{name}`: the worktree {other} is on them too")]
    HeldElsewhere { name: String, other: Utf8PathBuf },
    /// Rewriting would change work that is in scope.
    #[error("cannot rewrite commits of worktree `{name}`: {path}, which is in scope, would change")]
    RewriteTouches { name: String, path: String },
    /// Nothing was ever restored.
    #[error("there is no restore of worktree `{name}` to undo")]
    NothingToUndo { name: String },
    /// What was named is no restore.
    #[error("`{text}` names no restore of worktree `{name}`")]
    UnknownRestore { name: String, text: String },
    /// Only a whole restore is undone.
    #[error("cannot undo the restore of {text} alone")]
    UndoTakesNoPath { name: String, text: String },
    /// The branch went on.
    #[error("cannot undo the restore of worktree `{name}`: `{branch}` has moved since, to {now}")]
    BranchMoved {
        name: String,
        path: Utf8PathBuf,
        branch: String,
        now: String,
        command: String,
    },
    /// The paths were worked on.
    #[error(
        "cannot undo the restore of worktree `{name}`: changed since:{}",
        list(items)
    )]
    ChangedSince {
        name: String,
        items: Vec<String>,
        path: Utf8PathBuf,
        rescue: String,
    },
}

fn list(items: &[String]) -> String {
    items.iter().map(|item| format!("\n  {item}")).collect()
}

impl std::fmt::Display for Operation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.command())
    }
}

impl Operation {
    /// The git command that began it, and that ends it.
    #[must_use]
    pub const fn command(self) -> &'static str {
        match self {
            Self::Rebase => "rebase",
            Self::Am => "am",
            Self::Merge => "merge",
            Self::CherryPick => "cherry-pick",
            Self::Revert => "revert",
        }
    }
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

    /// The code of the error.
    #[must_use]
    pub const fn code_name(&self) -> &'static str {
        match self {
            Self::DirectoryGone { .. } => "agentwt::restore::directory_gone",
            Self::DamagedIndex { .. } => "agentwt::restore::damaged_index",
            Self::NoViolation { .. } => "agentwt::restore::no_violation",
            Self::NestedRepository { .. } => "agentwt::restore::nested_repository",
            Self::Submodule { .. } => "agentwt::restore::submodule",
            Self::InTheWay { .. } => "agentwt::restore::in_the_way",
            Self::InProgress { .. } => "agentwt::restore::in_progress",
            Self::Elsewhere { .. } => "agentwt::restore::elsewhere",
            Self::Published { .. } => "agentwt::restore::published",
            Self::HeldElsewhere { .. } => "agentwt::restore::held_elsewhere",
            Self::RewriteTouches { .. } => "agentwt::restore::rewrite_touches",
            Self::NothingToUndo { .. } => "agentwt::restore::nothing_to_undo",
            Self::UnknownRestore { .. } => "agentwt::restore::unknown_restore",
            Self::UndoTakesNoPath { .. } => "agentwt::restore::undo_takes_no_path",
            Self::BranchMoved { .. } => "agentwt::restore::branch_moved",
            Self::ChangedSince { .. } => "agentwt::restore::changed_since",
        }
    }

    /// The next command.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::DirectoryGone { name, .. } => {
                format!("to forget it (its branch stays unless merged): git agentwt remove {name}")
            }
            Self::DamagedIndex { path, index } => format!(
                "what was staged cannot be told any more; to make it anew from HEAD, without touching a file: mv {index} {index}.damaged && git -C {path} reset"
            ),
            Self::NoViolation { name, there, .. } => match there.as_slice() {
                [] => format!("there is none at all: git agentwt verify {name}"),
                [only] => format!("there is {only}: git agentwt restore {name}"),
                [first, ..] => format!(
                    "there are {}, {first} among them: git agentwt verify {name}",
                    there.len()
                ),
            },
            Self::NestedRepository { path, items, .. } => {
                let first = items.first().map(String::as_str).unwrap_or_default();
                format!(
                    "no commit can save its history: mv {} <elsewhere>",
                    path.join(first).join(".git")
                )
            }
            Self::Submodule {
                directory, commit, ..
            } => match commit {
                Some(commit) => format!(
                    "save what is in it, then: git -C {directory} checkout --force {commit}"
                ),
                None => format!("no commit can save its history: mv {directory} <elsewhere>"),
            },
            Self::InTheWay {
                directory, other, ..
            } => format!("move it first: mv {} <elsewhere>", directory.join(other)),
            Self::InProgress {
                name,
                path,
                operation,
            } => {
                let command = operation.command();
                format!(
                    "finish or abort it first: git -C {path} {command} --continue, or --abort; changes that are not committed can be named: git agentwt restore {name} <path>"
                )
            }
            Self::Elsewhere { path, branch, .. } => {
                format!("go back to it first: git -C {path} switch {branch}")
            }
            Self::Published { name, .. } => format!(
                "others may have them; to undo them by a new commit: git agentwt restore {name}"
            ),
            Self::HeldElsewhere { name, .. } | Self::RewriteTouches { name, .. } => {
                format!("to undo them by a new commit: git agentwt restore {name}")
            }
            Self::NothingToUndo { name } | Self::UnknownRestore { name, .. } => {
                format!("see what was saved: git for-each-ref refs/agentwt/rescue/{name}/")
            }
            Self::UndoTakesNoPath { name, .. } => {
                format!("--undo brings back all of a restore: git agentwt restore {name} --undo")
            }
            Self::BranchMoved { path, command, .. } => {
                format!("take what it did back, and keep what came since: git -C {path} {command}")
            }
            Self::ChangedSince {
                path,
                rescue,
                items,
                ..
            } => {
                let first = items.first().map(String::as_str).unwrap_or_default();
                format!("see what was saved: git -C {path} diff {rescue} -- '{first}'")
            }
        }
    }
}
