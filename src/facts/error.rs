//! Lists why facts cannot be read.

use std::fmt;

use miette::Diagnostic;

use crate::disk::DiskError;
use crate::git::GitError;
use crate::path::{RepoPath, escape_for_terminal};
use crate::sync::PatternOrigin;

/// Says why facts cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FactsError {
    /// Git could not answer.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The disk could not be read.
    #[error(transparent)]
    Disk(#[from] DiskError),
    /// There is no worktree of ours with this name.
    #[error("there is no worktree named `{name}`")]
    UnknownWorktree {
        /// The name.
        name: String,
        /// The names there are.
        known: Vec<String>,
    },
    /// No name was given, and the directory is in no worktree of ours.
    #[error("not inside a worktree of git-agentwt, so a name is needed")]
    NotInWorktree {
        /// The names there are.
        known: Vec<String>,
    },
    /// A file of ours cannot be read.
    #[error("cannot read {file} of worktree `{name}`: {detail}")]
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
    Incomplete {
        /// The worktree.
        name: String,
    },
    /// A sync pattern names a directory that is a link.
    #[error("cannot sync `{}` ({origin}): {link} is a symbolic link, and links are not followed", escape_for_terminal(pattern.as_bytes()))]
    SyncThroughLink {
        /// The pattern.
        pattern: String,
        /// Who wrote it.
        origin: PatternOrigin,
        /// The link.
        link: RepoPath,
    },
}

impl Diagnostic for FactsError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        match self {
            Self::Git(error) => error.code(),
            Self::Disk(error) => error.code(),
            Self::UnknownWorktree { .. } => Some(Box::new("agentwt::facts::unknown_worktree")),
            Self::NotInWorktree { .. } => Some(Box::new("agentwt::facts::not_in_worktree")),
            Self::Damaged { .. } => Some(Box::new("agentwt::facts::damaged")),
            Self::Incomplete { .. } => Some(Box::new("agentwt::facts::incomplete")),
            Self::SyncThroughLink { .. } => Some(Box::new("agentwt::sync::through_link")),
        }
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        let text = match self {
            Self::Git(error) => return error.help(),
            Self::Disk(error) => return error.help(),
            Self::UnknownWorktree { known, .. } | Self::NotInWorktree { known } => {
                if known.is_empty() {
                    "there is none yet; to make one: git agentwt add task-1".to_owned()
                } else {
                    format!(
                        "there are: {}; `git agentwt list` shows them",
                        known.join(", ")
                    )
                }
            }
            Self::Damaged { name, .. } => {
                format!(
                    "see what is there with `git worktree list`; to save its work: git -C .agentwt/worktrees/{name} stash -u"
                )
            }
            Self::Incomplete { name } => {
                format!(
                    "wait for it, or run `git agentwt add {name}` again: it finishes or clears what is left"
                )
            }
            Self::SyncThroughLink { link, .. } => format!(
                "write `{link}` to sync the link itself, or the path of the directory it leads to, if that is in the repository: `readlink {link}` shows it"
            ),
        };
        Some(Box::new(text))
    }
}
