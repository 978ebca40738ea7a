//! Lists what saving a worktree and bringing it back refuse: [`TrashRefusal`].

use camino::Utf8PathBuf;

use crate::exit::ExitCode;

/// Says why nothing is done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the fields are the names that the messages show"
)]
pub enum TrashRefusal {
    /// Nothing of this name was saved.
    #[error("there is no removed worktree `{name}` to bring back")]
    Nothing {
        name: String,
        others: Vec<String>,
        kept: Vec<String>,
    },
    /// What was named is none.
    #[error("`{text}` names no removal of worktree `{name}`")]
    Unknown { name: String, text: String },
    /// Only its commits were saved: it was removed without `--force`.
    #[error("of the removed worktree `{name}` only commits were saved")]
    OnlyCommits {
        name: String,
        branch: String,
        reference: String,
    },
    /// It was a clone, and lost its repository before it was removed.
    #[error("cannot bring `{name}` back: its own repository was gone when it was removed")]
    NoRepository { name: String, reference: String },
    /// There is one of this name.
    #[error("cannot bring `{name}` back: a worktree of this name is there")]
    Exists { name: String },
    /// Something stands where it was.
    #[error("cannot bring `{name}` back: {path} is there")]
    PathTaken { name: String, path: Utf8PathBuf },
    /// Its branch is somewhere else by now.
    #[error("cannot bring `{name}` back: the branch `{branch}` is at {now}, and was at {saved}")]
    BranchMoved {
        name: String,
        branch: String,
        now: String,
        saved: String,
    },
    /// Its branch is checked out elsewhere.
    #[error("cannot bring `{name}` back: the branch `{branch}` is checked out at {path}")]
    BranchHeld {
        name: String,
        branch: String,
        path: Utf8PathBuf,
    },
    /// Somebody works there.
    #[error(
        "cannot remove worktree `{name}`: it was changed while it was saved{}",
        list(items)
    )]
    Changing { name: String, items: Vec<String> },
    /// One removal was named, and several worktrees.
    #[error("--from names one removal, and there are {count} worktrees")]
    SeveralFrom { count: usize },
}

fn list(items: &[String]) -> String {
    items.iter().map(|item| format!("\n  {item}")).collect()
}

impl TrashRefusal {
    /// The status with which the program ends.
    #[must_use]
    pub const fn exit_code(&self) -> ExitCode {
        match self {
            Self::SeveralFrom { .. } => ExitCode::Usage,
            Self::Nothing { .. }
            | Self::Unknown { .. }
            | Self::OnlyCommits { .. }
            | Self::NoRepository { .. }
            | Self::Exists { .. }
            | Self::PathTaken { .. }
            | Self::BranchMoved { .. }
            | Self::BranchHeld { .. }
            | Self::Changing { .. } => ExitCode::Refused,
        }
    }

    /// The stable name of the error.
    #[must_use]
    pub const fn code_name(&self) -> &'static str {
        match self {
            Self::Nothing { .. } => "agentwt::trash::nothing",
            Self::Unknown { .. } => "agentwt::trash::unknown",
            Self::OnlyCommits { .. } => "agentwt::trash::only_commits",
            Self::NoRepository { .. } => "agentwt::trash::no_repository",
            Self::Exists { .. } => "agentwt::trash::exists",
            Self::PathTaken { .. } => "agentwt::trash::path_taken",
            Self::BranchMoved { .. } => "agentwt::trash::branch_moved",
            Self::BranchHeld { .. } => "agentwt::trash::branch_held",
            Self::Changing { .. } => "agentwt::trash::changing",
            Self::SeveralFrom { .. } => "agentwt::trash::several_from",
        }
    }

    /// The next command.
    #[must_use]
    pub fn advice(&self) -> String {
        match self {
            Self::Nothing { kept, .. } if !kept.is_empty() => format!(
                "commits of this name were kept; to have them on a branch: git branch <new> <ref>, of {}",
                kept.join(", ")
            ),
            Self::Nothing { others, .. } if others.is_empty() => {
                "nothing was removed with `git agentwt remove --force`, or it has expired"
                    .to_owned()
            }
            Self::Nothing { others, .. } => format!("there are: {}", others.join(", ")),
            Self::Unknown { name, .. } => {
                format!("see what there is: git for-each-ref refs/agentwt/trash/{name}/")
            }
            Self::OnlyCommits {
                branch, reference, ..
            } => format!("to have them on a branch again: git branch {branch} {reference}"),
            Self::NoRepository { reference, .. } => {
                format!(
                    "its files were saved; to see them: git show --stat --first-parent {reference}"
                )
            }
            Self::Exists { name } => {
                format!("remove that one first: git agentwt remove {name}")
            }
            Self::PathTaken { path, .. } => format!("move it away: mv {path} <elsewhere>"),
            Self::BranchMoved { branch, .. } => {
                format!("rename that branch first: git branch -m {branch} <new>")
            }
            Self::BranchHeld { path, .. } => {
                format!("switch that worktree away from it: git -C {path} switch <branch>")
            }
            Self::Changing { name, .. } => format!(
                "nothing was removed; stop who works there, then: git agentwt remove --force {name}"
            ),
            Self::SeveralFrom { .. } => {
                "name one: git agentwt remove --undo <name> --from <removal>".to_owned()
            }
        }
    }
}
