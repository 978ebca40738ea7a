//! Says what commands in a fence left that is not imported yet, so that no verdict covers it:
//! [`WaitingRun`].

use schemars::JsonSchema;
use serde::Serialize;

use crate::record::run::{ImportConflict, KeptReason, Leftover};
use crate::words::error::Error;
use crate::words::path::shell_word;
use crate::worktree::loaded::Worktree;
use crate::worktree::operation::find_operation;
use crate::worktree::private_git::{PrivateGit, incoming_ref};
use crate::worktree::repository::Repository;
use crate::worktree::run_status::{RunProgress, RunStatus, WaitingReason, way_out};

/// Says what waits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WaitingState {
    /// A command runs.
    Running,
    /// Commits of a command, which its branch does not have.
    Commits,
    /// A command ended in the middle of an operation of git.
    Operation,
    /// What else a command left: it was killed, or it stashed something.
    Left,
    /// Only git directories of commands that were moved out of the way.
    Apart,
}

/// What of commands in a fence waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WaitingRun {
    /// `running` (a command runs), `commits` (its branch does not have those of a command),
    /// `operation` (a command ended in the middle of a merge, a rebase …), `left` (a command left
    /// something else, or its `exec` was killed: `why` says it) or `apart` (only git directories
    /// that were moved out of the way).
    pub state: WaitingState,
    /// The ref of the commits; absent if there are none.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub incoming: Option<String>,
    /// The command of git that is in progress there; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<&'static str>,
    /// Why it waits: `killed` (the `exec` was), `import-stopped`, `violations`, what you did
    /// meanwhile (`branch-moved`, `switched-away`, `operation-begun`, `index-locked`,
    /// `staged-otherwise`), what only the git directory of the command has (`operation`,
    /// `other-head`, `stash`, `repositories`, `unfetched-commits`, `unfetched-files`,
    /// `locked-index`), or `unrecorded` (an older version left it); absent while a command runs,
    /// and for `apart`.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub why: Option<WaitingReason>,
    /// The process of the `exec` whose command runs; absent if none does, or if it is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub process: Option<u32>,
    /// The git directories of commands that could not be imported and were moved out of the way.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub set_apart: Vec<String>,
    /// The command to go on with; absent while a command runs, and for `apart`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl WaitingRun {
    /// Finds what waits in a worktree of this repository; `None` if nothing does.
    ///
    /// # Errors
    /// Fails when git cannot read the repository.
    pub fn find(repository: &Repository, worktree: &Worktree) -> Result<Option<Self>, Error> {
        let status = RunStatus::read(repository, worktree)?;
        let mut set_apart = Vec::new();
        for place in status.set_apart {
            set_apart.push(place.into_string());
        }
        let mut waiting = Self {
            // stays so unless a command runs, or an ended one waits
            state: WaitingState::Apart,
            incoming: None,
            operation: None,
            why: None,
            process: None,
            set_apart,
            next: None,
        };
        match status.progress {
            RunProgress::Over => {
                if waiting.set_apart.is_empty() {
                    return Ok(None);
                }
            }
            RunProgress::Running { pid } => {
                waiting.state = WaitingState::Running;
                waiting.process = pid;
            }
            RunProgress::Waiting(reason) => {
                waiting.why = Some(reason);
                waiting.add_ended_run(repository, worktree, reason)?;
            }
        }
        Ok(Some(waiting))
    }

    /// Adds what an ended command left in its git directory, with the state, and the command that
    /// goes on with it.
    fn add_ended_run(
        &mut self,
        repository: &Repository,
        worktree: &Worktree,
        reason: WaitingReason,
    ) -> Result<(), Error> {
        let name = &worktree.record.name;
        self.incoming = find_incoming(repository, worktree)?;
        self.operation = find_operation(&PrivateGit::new(worktree).git_dir());
        if self.operation.is_some() {
            self.state = WaitingState::Operation;
            self.next = Some(format!("git agentwt exec {name}"));
            return Ok(());
        }
        self.state = match self.incoming {
            Some(_) => WaitingState::Commits,
            None => WaitingState::Left,
        };
        let next = match reason {
            WaitingReason::Kept(KeptReason::Conflict(conflict))
                if self.incoming.is_some() || conflict == ImportConflict::SwitchedAway =>
            {
                way_out(conflict, worktree)
            }
            WaitingReason::Left(Leftover::OtherHead) => {
                let branch = shell_word(worktree.record.branch.as_str());
                format!("git agentwt exec {name} -- git switch {branch}")
            }
            WaitingReason::Left(Leftover::Stash) => {
                format!("git agentwt exec {name} -- git stash pop")
            }
            WaitingReason::Left(Leftover::Repositories) => {
                format!("git agentwt exec {name} -- git worktree list")
            }
            _tried_by_the_next_import => format!("git agentwt exec {name} -- true"),
        };
        self.next = Some(next);
        Ok(())
    }

    /// The state, as rows for scripts have it.
    pub const fn word(&self) -> &'static str {
        match self.state {
            WaitingState::Running => "running",
            WaitingState::Commits => "commits",
            WaitingState::Operation => "operation",
            WaitingState::Left => "left",
            WaitingState::Apart => "apart",
        }
    }

    /// What waits, for people.
    pub fn what(&self) -> String {
        match self.state {
            WaitingState::Running => {
                "a command that is running; its commits are not here yet".to_owned()
            }
            WaitingState::Commits => "commits of a command, which are not verified here".to_owned(),
            WaitingState::Operation => {
                let operation = self.operation.unwrap_or_default();
                format!("a {operation} that a command left unfinished")
            }
            WaitingState::Left => {
                let reason = self.why.unwrap_or(WaitingReason::Unrecorded);
                reason.what().to_owned()
            }
            WaitingState::Apart => {
                let places = self.set_apart.join(", ");
                format!("work of a command that could not be imported, kept at {places}")
            }
        }
    }

    /// The command to go on with, for the end of a line.
    pub fn next_text(&self) -> String {
        match &self.next {
            Some(next) => format!("; to go on: {next}"),
            None => String::new(),
        }
    }
}

/// The ref of the commits of a run that the branch does not have.
fn find_incoming(repository: &Repository, worktree: &Worktree) -> Result<Option<String>, Error> {
    let incoming = incoming_ref(worktree);
    let Some(tip) = repository.git.rev_parse_commit(&incoming)? else {
        return Ok(None);
    };
    let branch = worktree.record.branch.full_ref();
    let is_taken = match repository.git.rev_parse_commit(&branch)? {
        Some(branch) => repository.git.is_ancestor(&tip, &branch)?,
        None => false,
    };
    Ok((!is_taken).then_some(incoming))
}
