//! Says why a removed worktree is not brought back: [`UndoRefusal`].
#![allow(unused_assignments, reason = "zkat/miette#458: the derive's own code")]

use camino::Utf8PathBuf;

use crate::error::Fault;
use crate::exit::ExitCode;

/// Says why a removed worktree is not brought back.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum UndoRefusal {
    /// Nothing of this name is in the trash.
    #[error("there is no removed worktree `{name}` to bring back")]
    #[diagnostic(code(agentwt::trash::nothing), help("{}", instead(others, kept)))]
    Nothing {
        name: String,
        others: Vec<String>,
        kept: Vec<String>,
    },
    /// `--from` names none of them.
    #[error("`{text}` names no removal of worktree `{name}`")]
    #[diagnostic(
        code(agentwt::trash::unknown),
        help("to see what can come back: git agentwt list --trash")
    )]
    Unknown { name: String, text: String },
    /// It was removed without `--force`.
    #[error("of the removed worktree `{name}` only commits are kept")]
    #[diagnostic(
        code(agentwt::trash::only_commits),
        help("to have them on a branch again: git branch {branch} {reference}")
    )]
    OnlyCommits {
        name: String,
        branch: String,
        reference: String,
    },
    /// Version 0.1 kept it as commits.
    #[error("`{name}` was removed by version 0.1, which kept it as commits")]
    #[diagnostic(
        code(agentwt::trash::old_version),
        help(
            "to have its commits and files: git worktree add -b {name}-back ../{name}-back {reference}^1 && git -C ../{name}-back restore --source {reference} ."
        )
    )]
    OldVersion { name: String, reference: String },
    /// A killed `add` left it, and somebody had worked there.
    #[error("cannot bring `{name}` back: its `add` was killed, so only its files are kept")]
    #[diagnostic(
        code(agentwt::trash::incomplete),
        help("take what you need from {path}")
    )]
    Incomplete { name: String, path: Utf8PathBuf },
    /// A worktree of this name is there.
    #[error("cannot bring `{name}` back: a worktree of this name is there")]
    #[diagnostic(
        code(agentwt::trash::exists),
        help("remove that one first: git agentwt remove {name}")
    )]
    Exists { name: String },
    /// Something stands where it was.
    #[error("cannot bring `{name}` back: {path} is there")]
    #[diagnostic(
        code(agentwt::trash::path_taken),
        help("move it away: mv {path} <elsewhere>")
    )]
    PathTaken { name: String, path: Utf8PathBuf },
    /// Its branch is somewhere else by now.
    #[error("cannot bring `{name}` back: the branch `{branch}` is at {now}, and was at {was}")]
    #[diagnostic(
        code(agentwt::trash::branch_moved),
        help("rename that branch first: git branch -m {branch} <new>")
    )]
    BranchMoved {
        name: String,
        branch: String,
        now: String,
        was: String,
    },
    /// Its branch is checked out elsewhere.
    #[error("cannot bring `{name}` back: the branch `{branch}` is checked out at {path}")]
    #[diagnostic(
        code(agentwt::trash::branch_held),
        help("switch that worktree away from it: git -C {path} switch <branch>")
    )]
    BranchHeld {
        name: String,
        branch: String,
        path: Utf8PathBuf,
    },
    /// One removal was named, and several worktrees.
    #[error("--from names one removal, and there are {count} worktrees")]
    #[diagnostic(
        code(agentwt::trash::several_from),
        help("name one: git agentwt remove --undo <name> --from <removal>")
    )]
    SeveralFrom { count: usize },
}

/// What there is instead of a removed worktree.
fn instead(others: &[String], kept: &[String]) -> String {
    match (kept, others) {
        ([_, ..], _) => format!(
            "commits of this name were kept; to have them on a branch: git branch <new> <ref>, of {}",
            kept.join(", ")
        ),
        ([], []) => {
            "nothing was removed with `git agentwt remove --force`, or it has expired".to_owned()
        }
        ([], [_, ..]) => format!("there are: {}", others.join(", ")),
    }
}

impl Fault for UndoRefusal {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::SeveralFrom { .. } => ExitCode::Usage,
            _other => ExitCode::Refused,
        }
    }
}
