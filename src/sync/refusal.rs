//! Holds [`SyncRefusal`]: why nothing is synced, with the status and the next command.
#![allow(
    unused_assignments,
    reason = "zkat/miette#458: fields that only messages show"
)]

use super::{Pattern, PatternOrigin, shown_pattern};
use crate::config::CONFIG_PATH;
use crate::error::Fault;
use crate::exit::ExitCode;
use crate::path::RepoPath;

/// How many names a message shows.
pub(super) const SHOWN: usize = 5;

/// Says why nothing is synced, with the next command.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
#[error("{message}")]
#[expect(missing_docs, reason = "the fields are what the messages show")]
pub enum SyncRefusal {
    /// The patterns or the limits are at fault.
    #[diagnostic(code(agentwt::sync::config), help("{help}"))]
    Config { message: String, help: String },
    /// Something is there that is never copied, or never replaced.
    #[diagnostic(code(agentwt::sync::blocked), help("{help}"))]
    Blocked { message: String, help: String },
    /// These files were edited at the side that is to be replaced.
    #[diagnostic(code(agentwt::sync::edited), help("{help}"))]
    Edited {
        message: String,
        help: String,
        paths: Vec<RepoPath>,
    },
    /// Several worktrees cannot be pulled from at once.
    #[error("cannot pull from several worktrees at once")]
    #[diagnostic(
        code(agentwt::sync::several_to_pull),
        help("name one: git agentwt sync {name} --pull <path>")
    )]
    SeveralToPull { name: String },
}

impl Fault for SyncRefusal {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::Config { .. } => ExitCode::Config,
            Self::SeveralToPull { .. } => ExitCode::Usage,
            Self::Blocked { .. } | Self::Edited { .. } => ExitCode::Refused,
        }
    }
}

impl SyncRefusal {
    pub(super) fn config(message: String, help: String) -> Self {
        Self::Config { message, help }
    }

    /// Something is there that is never copied, or never replaced.
    pub fn blocked(message: String, help: String) -> Self {
        Self::Blocked { message, help }
    }

    /// A hook of the user's created these files while the worktree was created.
    pub fn made_by_hook(name: &str, paths: &[RepoPath]) -> Self {
        let files = list(paths);
        Self::blocked(
            format!(
                "cannot place {files} in `{name}`: a post-checkout hook made it first, with another content"
            ),
            format!(
                "leave it to the hook (git agentwt add {name} --no-sync, or --client none for context), or take it out of the hook"
            ),
        )
    }

    /// Something else stands in the worktree.
    pub(super) fn in_the_way(name: &str, path: &RepoPath, found: &str, wanted: &str) -> Self {
        Self::blocked(
            format!("cannot sync into `{name}`: {path} is {found} there, and has to be {wanted}"),
            format!(
                "look at it: ls -ld \"$(git agentwt path {name})/{path}\"; move it away, then: git agentwt sync {name}"
            ),
        )
    }
}

/// `the sync pattern `x` (.agentwt/config.toml:3)`.
pub(super) fn named(pattern: &Pattern) -> String {
    let text = shown_pattern(pattern.text());
    format!("the sync pattern `{text}` ({})", pattern.origin())
}

/// What to do with a pattern that is right and need not match.
pub(super) fn optional(pattern: &Pattern) -> String {
    let verb = match pattern.origin() {
        PatternOrigin::File(_) => "move it to",
        PatternOrigin::Flag(_) | PatternOrigin::Record | PatternOrigin::BuiltIn => "have it in",
    };
    let text = shown_pattern(pattern.text());
    format!(
        "{verb} `optional_patterns = [\"{text}\"]` in {CONFIG_PATH}, where it may match nothing"
    )
}

/// The first few names.
pub fn list(names: &[RepoPath]) -> String {
    let shown: Vec<String> = names.iter().take(SHOWN).map(ToString::to_string).collect();
    let mut text = shown.join(", ");
    if names.len() > SHOWN {
        text.push_str(&format!(" and {} more", names.len() - SHOWN));
    }
    text
}
