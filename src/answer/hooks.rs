//! How the hooks of a worktree are, for `status` and `hooks`.

use schemars::JsonSchema;
use serde::Serialize;

use super::Text;
use crate::git::hooks::{Binary, HooksStatus, Installed, Method, PreCommit};

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
    /// The directory of the user's own hooks, which run as well.
    pub user_directory: String,
    /// What is wrong, for people.
    #[serde(skip)]
    pub fault: String,
}

/// The word for a method.
#[must_use]
pub const fn method_word(method: &Method) -> &'static str {
    match method {
        Method::Configured => "configured",
        Method::HooksPath => "hooks-path",
    }
}

impl From<&HooksStatus> for HooksField {
    fn from(status: &HooksStatus) -> Self {
        let (state, method, fault) = match &status.installed {
            Installed::No => ("missing", None, String::new()),
            Installed::Complete(method) => ("complete", Some(method), String::new()),
            Installed::Partly { method, faults } => {
                let faults: Vec<String> = faults.iter().map(ToString::to_string).collect();
                ("partly", Some(method), faults.join("; "))
            }
            Installed::Overridden { scope, path } => (
                "overridden",
                None,
                format!("core.hooksPath = {path} ({scope})"),
            ),
        };
        let (binary, binary_found) = match &status.binary {
            Some(Binary::Found(path)) => (Some(path.to_string()), true),
            Some(Binary::Missing(path)) => (Some(path.to_string()), false),
            None => (None, false),
        };
        Self {
            state,
            method: method.map(method_word),
            binary,
            binary_found,
            blocks_commits: status.pre_commit == PreCommit::Blocks,
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
