//! How the hooks of a worktree are, for `status` and `hooks`.

use schemars::JsonSchema;
use serde::Serialize;

use super::Text;
use crate::config::OnViolation;
use crate::git::hooks::{HooksStatus, Method};

/// The hooks of a worktree.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HooksField {
    /// `missing`, `complete`, `partly` or `overridden`.
    pub state: &'static str,
    /// `configured` or `hooks-path`; null if the hooks are not installed.
    pub method: Option<&'static str>,
    /// The program that the hooks start; null if none is recorded.
    pub binary: Option<String>,
    /// Whether the program exists.
    pub binary_found: bool,
    /// Whether a commit out of scope is refused.
    pub blocks_commits: bool,
    /// The directory of the user's own hooks, which also run.
    pub user_directory: String,
    /// The problems, as text.
    #[serde(skip)]
    pub fault: String,
}

/// The word for a method.
pub const fn method_word(method: &Method) -> &'static str {
    match method {
        Method::Configured => "configured",
        Method::HooksPath => "hooks-path",
    }
}

impl From<&HooksStatus> for HooksField {
    fn from(status: &HooksStatus) -> Self {
        let (state, fault) = match &status.overridden {
            _ if status.method.is_none() => ("missing", String::new()),
            Some((scope, path)) => ("overridden", format!("core.hooksPath = {path} ({scope})")),
            None if status.faults.is_empty() => ("complete", String::new()),
            None => ("partly", status.faults.join("; ")),
        };
        let is_ours = status.overridden.is_none();
        let method = status.method.as_ref().filter(|_| is_ours);
        Self {
            state,
            method: method.map(method_word),
            binary: status.binary.as_ref().map(|(path, _)| path.to_string()),
            binary_found: status.binary.as_ref().is_some_and(|(_, found)| *found),
            blocks_commits: status.on_violation == OnViolation::Block,
            user_directory: status.user_directory.to_string(),
            fault,
        }
    }
}

impl HooksField {
    /// Prints a line for each fact.
    pub fn print(&self, text: &mut Text) {
        let paint = text.paint;
        let how = match (self.state, self.method) {
            ("complete", Some("configured")) => paint.good("installed, as configured hooks"),
            ("complete", _) => paint.good("installed, by core.hooksPath"),
            ("partly", _) => paint.bad(&format!("damaged: {}", self.fault)),
            ("overridden", _) => paint.bad(&format!("overridden by {}", self.fault)),
            (_, _) => paint.warning("not installed"),
        };
        text.line(format!("  hooks    {how}"));
        match &self.binary {
            Some(path) if self.binary_found => text.line(format!("  program  {path}")),
            Some(path) => {
                let missing = paint.bad(&format!("{path} is missing"));
                text.line(format!("  program  {missing}"));
            }
            None => {}
        }
        if self.blocks_commits {
            text.line("  commits  are refused when there are violations");
        }
        text.line(format!("  user's   {}", self.user_directory));
    }
}
