//! Creates the error that says why a worktree is not landed.

use crate::actions::remove::decide::{RemoveRefusal, shortened};
use crate::words::exit::ExitCode;
use crate::words::name::WorktreeName;

/// Creates the refusal `agentwt::land::<code>`.
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

/// Returns what git said, to stand within an error of ours.
pub fn quoted(words: &str) -> String {
    words.replace("error: ", "")
}

/// Writes items below a line, not more than a few.
pub fn listed(items: &[String]) -> String {
    let mut text = String::new();
    for item in shortened(items.iter().cloned()) {
        text += &format!("\n  {item}");
    }
    text
}
