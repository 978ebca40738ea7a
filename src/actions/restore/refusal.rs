//! Says why `restore` puts nothing back.

use crate::words::error::Fault;
use crate::words::exit::ExitCode;
use crate::words::name::WorktreeName;
use crate::words::path::escape_for_terminal;

/// Says why nothing is put back, with the next command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("{message}")]
#[expect(missing_docs, reason = "the fields are what the messages show")]
pub enum RestoreRefusal {
    /// What was named cannot be restored.
    #[diagnostic(code(agentwt::restore::unknown), help("{help}"))]
    Unknown { message: String, help: String },
    /// Something is there that cannot be saved, or is in the way.
    #[diagnostic(code(agentwt::restore::blocked), help("{help}"))]
    Blocked { message: String, help: String },
    /// The branch cannot be moved.
    #[diagnostic(code(agentwt::restore::branch), help("{help}"))]
    Branch { message: String, help: String },
    /// There is nothing to undo, or what is there is newer.
    #[diagnostic(code(agentwt::restore::undo), help("{help}"))]
    Undo { message: String, help: String },
}

impl Fault for RestoreRefusal {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::Unknown { .. } => ExitCode::Usage,
            Self::Blocked { .. } | Self::Branch { .. } | Self::Undo { .. } => ExitCode::Refused,
        }
    }
}

impl RestoreRefusal {
    /// Returns the refusal of what cannot be saved, or is in the way.
    pub fn blocked(message: String, help: String) -> Self {
        Self::Blocked { message, help }
    }

    /// Returns the refusal of the option `--rewrite`, which this command no longer has.
    pub fn rewrite() -> Self {
        Self::Unknown {
            message: "`restore --rewrite` was removed".to_owned(),
            help: "to undo the commits by a new commit, leave out --rewrite; to land the work as \
                one commit: git agentwt land --squash"
                .to_owned(),
        }
    }

    /// Returns the refusal for a restore that does not exist.
    pub fn nothing_to_undo(name: &WorktreeName, rescue: Option<&str>) -> Self {
        let help = format!("see what was saved: git for-each-ref refs/agentwt/rescue/{name}/");
        match rescue {
            None => Self::Undo {
                message: format!("there is no restore of worktree `{name}` to undo"),
                help,
            },
            Some(rescue) => {
                let shown = escape_for_terminal(rescue.as_bytes());
                Self::Unknown {
                    message: format!("`{shown}` names no restore of worktree `{name}`"),
                    help,
                }
            }
        }
    }
}
