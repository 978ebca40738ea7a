//! What of commands in a fence waits, so that no verdict over the worktree tells it: [`WaitingField`].

use schemars::JsonSchema;
use serde::Serialize;

use crate::words::error::Error;
use crate::worktree::loaded::Worktree;
use crate::worktree::operation::find_operation;
use crate::worktree::private_git::{PrivateGit, incoming_ref};
use crate::worktree::repository::Repository;

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
}

/// What of commands in a fence waits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WaitingField {
    /// `running` (a command runs), `commits` (its branch does not have those of a command), `operation` (a
    /// command ended in the middle of a merge, a rebase …) or `left` (a command was killed or stashed something).
    pub state: WaitingState,
    /// The ref of the commits; absent if there are none.
    #[serde(rename = "ref", skip_serializing_if = "Option::is_none")]
    pub incoming: Option<String>,
    /// The command of git that is in progress there; absent if there is none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub operation: Option<&'static str>,
    /// The command to go on with; absent while a command runs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

impl WaitingField {
    /// Finds what waits in a worktree of this repository; none where nothing does.
    ///
    /// # Errors
    /// Fails when git cannot read the repository.
    pub fn find(repository: &Repository, known: &Worktree) -> Result<Option<Self>, Error> {
        let name = &known.record.name;
        if repository.run_lock(name).is_held() {
            return Ok(Some(Self {
                state: WaitingState::Running,
                incoming: None,
                operation: None,
                next: None,
            }));
        }
        let private = PrivateGit::new(known);
        if !private.is_there() {
            return Ok(None);
        }
        let incoming = find_incoming(repository, known)?;
        let operation = find_operation(&private.git_dir());
        let (state, next) = match (&incoming, operation) {
            (_, Some(_)) => (WaitingState::Operation, format!("git agentwt exec {name}")),
            (Some(_), None) => (WaitingState::Commits, import_command(name.as_str())),
            (None, None) => (WaitingState::Left, import_command(name.as_str())),
        };
        Ok(Some(Self {
            state,
            incoming,
            operation,
            next: Some(next),
        }))
    }

    /// The word of porcelain.
    pub const fn word(&self) -> &'static str {
        match self.state {
            WaitingState::Running => "running",
            WaitingState::Commits => "commits",
            WaitingState::Operation => "operation",
            WaitingState::Left => "left",
        }
    }

    /// What waits, for people.
    pub fn what(&self) -> String {
        match self.state {
            WaitingState::Running => {
                "a command that is running; its commits are not here yet".into()
            }
            WaitingState::Commits => "commits of a command, which are not verified here".into(),
            WaitingState::Operation => {
                let operation = self.operation.unwrap_or_default();
                format!("a {operation} that a command left unfinished")
            }
            WaitingState::Left => "work of a command that was killed, or a stash of it".into(),
        }
    }

    /// The command to go on with, for the end of a line.
    pub fn next_text(&self) -> String {
        let next = self.next.as_ref();
        next.map_or_else(String::new, |next| format!("; to go on: {next}"))
    }
}

fn import_command(name: &str) -> String {
    format!("git agentwt exec {name} -- true")
}

/// The ref of the commits of a run that the branch does not have.
fn find_incoming(repository: &Repository, known: &Worktree) -> Result<Option<String>, Error> {
    let incoming = incoming_ref(known);
    let Some(tip) = repository.git.rev_parse_commit(&incoming)? else {
        return Ok(None);
    };
    let branch = known.record.branch.full_ref();
    let is_taken = match repository.git.rev_parse_commit(&branch)? {
        Some(branch) => repository.git.is_ancestor(&tip, &branch)?,
        None => false,
    };
    Ok((!is_taken).then_some(incoming))
}
