//! Makes the error that says why a worktree is not landed.

use crate::actions::remove::decide::{RemoveRefusal, shortened};
use crate::words::exit::ExitCode;
use crate::words::name::WorktreeName;

/// Makes the refusal `agentwt::land::<code>`.
pub fn cannot_land(
    name: &WorktreeName,
    exit: ExitCode,
    code: &str,
    reason: String,
    help: String,
) -> RemoveRefusal {
    RemoveRefusal {
        exit,
        code: format!("land::{code}"),
        message: format!("cannot land worktree `{name}`: {reason}"),
        reason,
        help,
    }
}

/// Writes items below a line, not more than a few.
pub fn listed(items: &[String]) -> String {
    let mut text = String::new();
    for item in shortened(items.iter().cloned()) {
        text += &format!("\n  {item}");
    }
    text
}
