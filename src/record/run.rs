//! Says in which state the fenced run of a worktree is: [`Run`], which is one TOML file beside the
//! private git directory; pure.
//!
//! ```text
//! Prepared ──▶ Running ──▶ Ended ──▶ Imported   the branch has the commits; something else is left
//!                                └──▶ Kept       the branch does not have them, and why
//! ```
//! A run of which nothing is left has no file. Whoever finds `Running` while no process holds the
//! lock of the run knows that its `exec` was killed. What is to be imported is never decided by the
//! state: the import reads the git directory itself, so that a kill between two steps loses nothing
//! (`docs/decisions/0054-one-state-of-a-run.md`).

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::config::value::Fence;
use crate::words::name::CommitId;

/// A fenced run of which the private git directory is there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Run {
    /// The commit of the branch when the run began, or since its import; none where the branch was
    /// not there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub branch_commit: Option<CommitId>,
    /// When the run began, in nanoseconds since the epoch, by the clock of the file system.
    pub since: i64,
    /// Which objects the command finds.
    pub objects: RunObjects,
    /// How far the run is.
    pub state: RunState,
}

/// Says which objects of the repository a command in a fence finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunObjects {
    /// All of them.
    Shared,
    /// Those of the commits that only its branch has, of the one on which they stand, and of what is
    /// staged, without the excluded files (`--withhold`).
    Withheld,
}

/// Says how far a fenced run is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", tag = "name")]
pub enum RunState {
    /// The private git directory is written, and the command is not started.
    Prepared,
    /// The command runs; or its `exec` was killed.
    Running {
        /// The process of the `exec`.
        pid: u32,
        /// What only this process has, as long as its number means it.
        started: String,
        /// The fence around the command.
        fence: Fence,
    },
    /// The command has ended, and its work is not imported.
    Ended {
        /// How it ended.
        end: RunEnd,
    },
    /// The branch has the commits of the command; the git directory has something else.
    Imported {
        /// What that is.
        left: Vec<Leftover>,
    },
    /// The branch does not have the commits of the command.
    Kept {
        /// Why.
        why: KeptReason,
    },
    /// Nobody wrote it down: the git directory is of an older version of this program.
    Unrecorded,
}

/// Says how the command of a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RunEnd {
    /// By itself, with a status.
    Exit(u8),
    /// By a signal.
    Signal(u8),
    /// Its time was over.
    Timeout,
    /// It could not be started.
    NotStarted,
}

/// Says what the git directory of a run has that no import brings home.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Leftover {
    /// A merge, a rebase or the like that is in progress.
    Operation,
    /// A HEAD that is detached or on another branch.
    OtherHead,
    /// A stash.
    Stash,
    /// Worktrees or submodules that the command made.
    Repositories,
    /// Commits that cannot be fetched.
    UnfetchedCommits,
    /// Staged files that cannot be fetched.
    UnfetchedFiles,
    /// All of it, while a git holds the lock of the index.
    LockedIndex,
}

/// Says why the commits of a run are not on its branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum KeptReason {
    /// The verification found violations.
    Violations,
    /// The user did something that does not fit.
    Conflict(ImportConflict),
}

/// Says what the user did while a command ran, so that its commits do not fit.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ImportConflict {
    /// The branch is on another commit.
    BranchMoved,
    /// The worktree is not on the branch, which can be checked out elsewhere by now, or be in the
    /// middle of a rebase.
    SwitchedAway,
    /// A merge, a rebase or the like is in progress in the worktree.
    OperationBegun,
    /// A git holds the lock of the index, or left it.
    IndexLocked,
    /// Files are staged that the command committed with other content.
    StagedOtherwise,
}

impl fmt::Display for ImportConflict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::BranchMoved => "it moved",
            Self::SwitchedAway => "the worktree was switched away from it",
            Self::OperationBegun => "you began a merge, a rebase or the like",
            Self::IndexLocked => "a git holds the lock of its index, or left it",
            Self::StagedOtherwise => "you staged what the command committed otherwise",
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::words::toml_file::{from_text, to_text};

    #[test]
    fn each_state_is_read_as_it_was_written() {
        let commit = CommitId::parse(&"a".repeat(40)).expect("an id");
        let conflict = ImportConflict::BranchMoved;
        for state in [
            RunState::Prepared,
            RunState::Running {
                pid: 7,
                started: "boot 12".to_owned(),
                fence: Fence::Landlock,
            },
            RunState::Ended {
                end: RunEnd::Exit(3),
            },
            RunState::Ended {
                end: RunEnd::Timeout,
            },
            RunState::Imported {
                left: vec![Leftover::Stash, Leftover::OtherHead],
            },
            RunState::Kept {
                why: KeptReason::Violations,
            },
            RunState::Kept {
                why: KeptReason::Conflict(conflict),
            },
            RunState::Unrecorded,
        ] {
            for branch_commit in [None, Some(commit.clone())] {
                let run = Run {
                    branch_commit,
                    since: 1_700_000_000_000_000_000,
                    objects: RunObjects::Withheld,
                    state: state.clone(),
                };
                let text = to_text(&run);
                assert_eq!(from_text::<Run>(&text).as_ref(), Ok(&run), "{text}");
            }
        }
    }
}
