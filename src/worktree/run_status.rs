//! Says what of the fenced runs of a worktree is not in the worktree: [`RunStatus`]. Every command
//! that shows a worktree reads this.

use camino::Utf8PathBuf;
use serde::Serialize;

use crate::record::run::{ImportConflict, KeptReason, Leftover, RunState};
use crate::words::error::Error;
use crate::words::path::shell_word;
use crate::worktree::loaded::Worktree;
use crate::worktree::operation::way_to_branch;
use crate::worktree::private_git::{PrivateGit, incoming_ref};
use crate::worktree::repository::Repository;

/// What of the fenced runs of a worktree is not in the worktree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunStatus {
    /// How far the last run is.
    pub progress: RunProgress,
    /// The git directories of runs that were moved out of the way.
    pub set_apart: Vec<Utf8PathBuf>,
}

/// Says how far the last fenced run of a worktree is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RunProgress {
    /// Nothing of it is left.
    Over,
    /// Its command runs.
    Running {
        /// The process of the `exec`; none without a private git directory (`--fence perms`).
        pid: Option<u32>,
    },
    /// Its git directory waits for the next command.
    Waiting(WaitingReason),
}

/// Says why the git directory of a run waits for the next command.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(into = "&'static str")]
pub enum WaitingReason {
    /// The `exec` was killed.
    Killed,
    /// The command ended, and its import was stopped.
    ImportStopped,
    /// The branch does not get its commits.
    Kept(KeptReason),
    /// It has something that no import brings home.
    Left(Leftover),
    /// Nobody wrote it down.
    Unrecorded,
}

impl RunStatus {
    /// Reads it.
    ///
    /// # Errors
    /// Fails when the disk refuses.
    pub fn read(repository: &Repository, worktree: &Worktree) -> Result<Self, Error> {
        let run = PrivateGit::new(worktree).run()?;
        let state = run.map(|run| run.state);
        let lock = repository.run_lock(&worktree.record.name);
        let progress = if lock.is_held() {
            RunProgress::Running {
                pid: state.as_ref().and_then(running_process),
            }
        } else {
            match &state {
                Some(state) => RunProgress::Waiting(waiting_reason(state)),
                None => RunProgress::Over,
            }
        };
        Ok(Self {
            progress,
            set_apart: PrivateGit::find_damaged(worktree)?,
        })
    }
}

/// Returns the process that runs the command.
fn running_process(state: &RunState) -> Option<u32> {
    match state {
        RunState::Running { pid, .. } => Some(*pid),
        RunState::Prepared
        | RunState::Ended { .. }
        | RunState::Imported { .. }
        | RunState::Kept { .. }
        | RunState::Unrecorded => None,
    }
}

/// Says why a run in this state waits, while no process holds its lock.
fn waiting_reason(state: &RunState) -> WaitingReason {
    match state {
        RunState::Prepared | RunState::Running { .. } => WaitingReason::Killed,
        RunState::Ended { .. } => WaitingReason::ImportStopped,
        RunState::Kept { why } => WaitingReason::Kept(*why),
        RunState::Imported { left } => match left.first() {
            Some(left) => WaitingReason::Left(*left),
            None => WaitingReason::Unrecorded,
        },
        RunState::Unrecorded => WaitingReason::Unrecorded,
    }
}

/// The command by which the branch gets the commits of a run that do not fit what the user did.
pub fn way_out(conflict: ImportConflict, worktree: &Worktree) -> String {
    let record = &worktree.record;
    let name = &record.name;
    let path = shell_word(record.path.as_str());
    match conflict {
        ImportConflict::IndexLocked | ImportConflict::OperationBegun => {
            format!("git agentwt exec {name} -- true")
        }
        ImportConflict::SwitchedAway => {
            let switch = way_to_branch(record);
            format!("{switch} && git agentwt exec {name} -- true")
        }
        // the files of the command, which are not committed here, would be in the way of the merge
        ImportConflict::BranchMoved | ImportConflict::StagedOtherwise => {
            let incoming = incoming_ref(worktree);
            format!("git -C {path} stash -u && git -C {path} merge {incoming}")
        }
    }
}

impl From<WaitingReason> for &'static str {
    fn from(reason: WaitingReason) -> Self {
        reason.word()
    }
}

impl WaitingReason {
    /// Returns the word in JSON.
    pub const fn word(self) -> &'static str {
        match self {
            Self::Killed => "killed",
            Self::ImportStopped => "import-stopped",
            Self::Kept(KeptReason::Violations) => "violations",
            Self::Kept(KeptReason::Conflict(conflict)) => match conflict {
                ImportConflict::BranchMoved => "branch-moved",
                ImportConflict::SwitchedAway => "switched-away",
                ImportConflict::OperationBegun => "operation-begun",
                ImportConflict::IndexLocked => "index-locked",
                ImportConflict::StagedOtherwise => "staged-otherwise",
            },
            Self::Left(left) => match left {
                Leftover::Operation => "operation",
                Leftover::OtherHead => "other-head",
                Leftover::Stash => "stash",
                Leftover::Repositories => "repositories",
                Leftover::UnfetchedCommits => "unfetched-commits",
                Leftover::UnfetchedFiles => "unfetched-files",
                Leftover::LockedIndex => "locked-index",
            },
            Self::Unrecorded => "unrecorded",
        }
    }

    /// Says what waits, for people.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Killed => "work of a command that was killed",
            Self::ImportStopped => "work of a command that has ended, which is not imported",
            Self::Kept(KeptReason::Violations) => "work of a command that is out of scope",
            Self::Kept(KeptReason::Conflict(_)) | Self::Left(Leftover::LockedIndex) => {
                "work of a command, with which something that you did does not fit"
            }
            Self::Left(Leftover::Operation) => "an operation that a command left unfinished",
            Self::Left(Leftover::OtherHead) => "a HEAD of a command that is not on the branch",
            Self::Left(Leftover::Stash) => "a stash of a command",
            Self::Left(Leftover::Repositories) => {
                "worktrees or submodules that a command made in its git directory"
            }
            Self::Left(Leftover::UnfetchedCommits | Leftover::UnfetchedFiles) => {
                "work of a command that git cannot fetch"
            }
            Self::Unrecorded => "work of a command that was killed, or a stash of it",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::value::Fence;
    use crate::record::run::RunEnd;

    #[test]
    fn a_state_that_no_process_holds_says_why_it_waits() {
        let running = RunState::Running {
            pid: 1,
            started: String::new(),
            fence: Fence::Landlock,
        };
        let end = RunEnd::Exit(0);
        let conflict = KeptReason::Conflict(ImportConflict::BranchMoved);
        let left = vec![Leftover::Stash, Leftover::Repositories];
        for (state, word) in [
            (RunState::Prepared, "killed"),
            (running, "killed"),
            (RunState::Ended { end }, "import-stopped"),
            (RunState::Imported { left }, "stash"),
            (RunState::Imported { left: Vec::new() }, "unrecorded"),
            (RunState::Kept { why: conflict }, "branch-moved"),
            (RunState::Unrecorded, "unrecorded"),
        ] {
            assert_eq!(waiting_reason(&state).word(), word, "{state:?}");
        }
    }
}
