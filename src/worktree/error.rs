//! Lists why a worktree of ours cannot be read.
#![allow(
    unused_assignments,
    reason = "zkat/miette#458: the derive of Diagnostic assigns fields that it does not read"
)]

use crate::disk::DiskError;
use crate::git::GitError;

/// Says why a worktree of ours cannot be read.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum WorktreeError {
    /// Git could not answer.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Git(#[from] GitError),
    /// The disk could not be read.
    #[error(transparent)]
    #[diagnostic(transparent)]
    Disk(#[from] DiskError),
    /// There is no worktree of ours with this name.
    #[error("there is no worktree named `{name}`")]
    #[diagnostic(code(agentwt::facts::unknown_worktree), help("{}", names_help(known)))]
    UnknownWorktree {
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// No name was given, and the directory is in no worktree of ours.
    #[error("not inside a worktree of git-agentwt, so a name is needed")]
    #[diagnostic(code(agentwt::facts::not_in_worktree), help("{}", names_help(known)))]
    NotInWorktree {
        /// The names there are.
        known: Vec<String>,
    },
    /// A file of ours cannot be read.
    #[error("cannot read {file} of worktree `{name}`: {detail}")]
    #[diagnostic(
        code(agentwt::facts::damaged),
        help(
            "see what is there with `git worktree list`; to save its work: git -C .agentwt/worktrees/{name} stash -u"
        )
    )]
    Damaged {
        /// The worktree.
        name: String,
        /// The file.
        file: String,
        /// What is wrong with it.
        detail: String,
    },
    /// An `add` of this name is under way, or was ended in the middle.
    #[error("worktree `{name}` is incomplete: its `add` is running, or was killed")]
    #[diagnostic(
        code(agentwt::facts::incomplete),
        help(
            "wait for it, or run `git agentwt add {name}` again: it finishes or clears what is left"
        )
    )]
    Incomplete {
        /// The worktree.
        name: String,
    },
    /// The directory of a worktree is not where `add` created it.
    #[error("the directory of worktree `{name}` does not exist: {path}")]
    #[diagnostic(
        code(agentwt::facts::no_directory),
        help(
            "if the repository was moved, move it back; if the directory was deleted: git agentwt remove {name}"
        )
    )]
    NoDirectory {
        /// The worktree.
        name: String,
        /// The recorded path.
        path: camino::Utf8PathBuf,
    },
}

fn names_help(known: &[String]) -> String {
    if known.is_empty() {
        return "there is none yet; to create a worktree: git agentwt add task-1".to_owned();
    }
    let names = known.join(", ");
    format!("there are: {names}; `git agentwt list` shows them")
}
