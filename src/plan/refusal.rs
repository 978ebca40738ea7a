//! Lists what planners refuse: [`Refusal`], each with its exit status and the next command.

use std::fmt;

use camino::Utf8PathBuf;
use miette::Diagnostic;

use super::remove::refusal::RemoveRefusal;
use super::sync::refusal::SyncRefusal;
use super::trash::refusal::TrashRefusal;
use crate::client::ClientRefusal;
use crate::exit::ExitCode;
use crate::worktree::{Alive, Owner};

/// Says why nothing is done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[expect(
    missing_docs,
    reason = "the fields are the names that the messages show"
)]
pub enum Refusal {
    /// Shared hooks and settings are not taken for right from where an agent works.
    #[error("cannot accept what `{name}` shares from inside an agent's worktree")]
    AcceptInside { name: String, root: String },
    /// Nobody said what may be edited.
    #[error("nothing says what `{name}` may edit")]
    NoWriteList { name: String, config_found: bool },
    /// A prompt was given, and no program to read it.
    #[error("a prompt was given for `{name}`, and no client that reads it{}", set_by.as_ref().map(|by| format!(": it is `none` ({by})")).unwrap_or_default())]
    NoClient {
        name: String,
        set_by: Option<String>,
    },
    /// The file of the prompt is not there.
    #[error("there is no file {path} to read the prompt from")]
    NoPromptFile { path: String },
    /// The prompt is no text.
    #[error("the prompt from {from} has a NUL byte: it is no text")]
    NoText { from: String },
    /// No file that the client reads is free.
    #[error(transparent)]
    Client(Box<ClientRefusal>),
    /// The name is there with another scope.
    #[error("worktree `{name}` exists with another scope:\n{}", difference.join("\n"))]
    AnotherScope {
        name: String,
        difference: Vec<String>,
    },
    /// The name is there with another base.
    #[error("worktree `{name}` exists, and its base is {base}")]
    AnotherBase { name: String, base: String },
    /// The name is there with another branch.
    #[error("worktree `{name}` exists, and its branch is `{branch}`")]
    AnotherBranch { name: String, branch: String },
    /// It is of another kind.
    #[error("worktree `{name}` exists, and its strategy is `{strategy}`")]
    AnotherStrategy { name: String, strategy: String },
    /// The record is there, the directory is not.
    #[error("worktree `{name}` is recorded, but {path} is gone")]
    DirectoryGone { name: String, path: Utf8PathBuf },
    /// A name that differs only in case is there.
    #[error(
        "cannot add `{name}`: there is `{other}`, and some file systems cannot tell them apart"
    )]
    SimilarName { name: String, other: String },
    /// Something stands where the worktree would be.
    #[error("cannot add `{name}`: {path} is there, and git-agentwt did not make it")]
    PathTaken { name: String, path: Utf8PathBuf },
    /// A worktree that plain git made stands there.
    #[error("cannot add `{name}`: {path} is a worktree that git-agentwt did not make")]
    ForeignWorktree { name: String, path: Utf8PathBuf },
    /// The main worktree's branch has no commit.
    #[error("cannot add `{name}`: the repository has no commit yet")]
    Unborn { name: String },
    /// The main worktree is detached and nobody named a base.
    #[error("cannot add `{name}`: the main worktree is on no branch, so there is no default base")]
    NoDefaultBase { name: String },
    /// The base names no commit.
    #[error("cannot add `{name}`: there is no commit `{revision}` ({set_by})")]
    UnknownBase {
        name: String,
        revision: String,
        set_by: String,
    },
    /// Git does not accept the name of the branch.
    #[error("git does not accept `{branch}` as the name of a branch")]
    InvalidBranch { branch: String },
    /// The branch is there and no worktree of ours has it.
    #[error("cannot add `{name}`: the branch `{branch}` exists")]
    BranchExists { name: String, branch: String },
    /// Another branch is a directory of this one, or the other way round.
    #[error("cannot make the branch `{branch}`: the branch `{other}` is in its way")]
    BranchBlocked { branch: String, other: String },
    /// The branch is checked out elsewhere.
    #[error("the branch `{branch}` is checked out at {path}")]
    BranchHeld { branch: String, path: Utf8PathBuf },
    /// The base is not an ancestor of the branch.
    #[error("the base {base} is not an ancestor of the branch `{branch}`")]
    BaseNotAncestor { branch: String, base: String },
    /// Another owner has it.
    #[error("worktree `{name}` belongs to {owner}{}", match alive { Alive::Yes => ", and that agent is still running", Alive::No => "", Alive::Unknown => ", and nobody here can tell whether that agent is still running" })]
    OwnedByAnother {
        name: String,
        owner: Box<Owner>,
        alive: Alive,
        asked: String,
    },
    /// Nobody owns it, or nobody alive, and yet somebody works there.
    #[error(
        "an agent is still running in worktree `{name}`: {} works in {path}",
        numbers(pids)
    )]
    StillRunning {
        name: String,
        path: Utf8PathBuf,
        pids: Vec<u32>,
    },
    /// The process that was named as the owner does not run.
    #[error("there is no process {pid} that could be the owner")]
    NoSuchProcess { pid: u32 },
    /// Somebody else works on the worktree, and that was not to be waited for.
    #[error("worktree `{name}` is being worked on by another git agentwt{}", pid.map(|pid| format!(" (pid {pid})")).unwrap_or_default())]
    Busy { name: String, pid: Option<u32> },
    /// The name cannot be one.
    #[error("cannot use `{text}` as a name: {why}")]
    BadName { text: String, why: String },
    /// A path is none of the repository.
    #[error("cannot use {text} as a path: {why}")]
    BadPath { text: String, why: String },
    /// There is no repository to keep what is known of a clone.
    #[error("cannot clone here: {dir} is in no git repository that could keep its record")]
    NoParentDir { dir: String },
    /// The directory for clones was not told which one to make.
    #[error("cannot add `{name}`: {dir} has no repository of its own, only clones of others")]
    NeedsRepo { name: String, dir: Utf8PathBuf },
    /// `--parent` names no directory.
    #[error("there is no directory {path}")]
    NoParent {
        path: Utf8PathBuf,
        name: String,
        url: String,
    },
    /// `--parent` names a directory that needs none.
    #[error("cannot take {dir} as --parent: it is in the repository {root}")]
    ParentInRepository { dir: Utf8PathBuf, root: Utf8PathBuf },
    /// What is cloned cannot be a linked worktree.
    #[error(
        "cannot add `{name}`: with --repo it is a clone, and the strategy `worktree` was asked for"
    )]
    RepoIsClone { name: String },
    /// It makes its ids by another function.
    #[error(
        "cannot add `{name}`: {url} makes its ids by another hash function than the repository here"
    )]
    OtherFormat { name: String, url: String },
    /// `-C` names no directory.
    #[error("there is no directory {path}")]
    NoDirectory { path: String },
    /// A bare repository was entered, and no worktree of it.
    #[error("this is a bare repository: there is no worktree to take the config from")]
    Bare,
    /// The commit to compare with is none.
    #[error("there is no commit `{revision}` to compare with")]
    NoSuchCommit { revision: String },
    /// Others may write the same files, and nothing was to be shared.
    #[error(
        "cannot add `{name}` with --exclusive: other worktrees may write the same files{}",
        list(items)
    )]
    Overlap { name: String, items: Vec<String> },
    /// Worktrees are not removed.
    #[error(transparent)]
    Remove(Box<RemoveRefusal>),
    /// The directory is no linked worktree.
    #[error("{path} is not a linked worktree of this repository")]
    NotLinked { path: String },
    /// The worktree is on no branch.
    #[error("cannot install hooks in {path}: it is on no branch")]
    Detached { path: Utf8PathBuf },
    /// A record of ours is there under the name.
    #[error("cannot install hooks in {path}: the name `{name}` is taken by {taken_by}")]
    NameTaken {
        path: Utf8PathBuf,
        name: String,
        taken_by: Utf8PathBuf,
    },
    /// A sync is refused.
    #[error(transparent)]
    Sync(Box<SyncRefusal>),
    /// A worktree cannot be saved, or not be brought back.
    #[error(transparent)]
    Trash(Box<TrashRefusal>),
}

impl From<TrashRefusal> for Refusal {
    fn from(refusal: TrashRefusal) -> Self {
        Self::Trash(Box::new(refusal))
    }
}

impl From<SyncRefusal> for Refusal {
    fn from(refusal: SyncRefusal) -> Self {
        Self::Sync(Box::new(refusal))
    }
}

impl From<ClientRefusal> for Refusal {
    fn from(refusal: ClientRefusal) -> Self {
        Self::Client(Box::new(refusal))
    }
}

fn numbers(pids: &[u32]) -> String {
    let word = if pids.len() == 1 {
        "process"
    } else {
        "processes"
    };
    let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
    format!("{word} {}", pids.join(", "))
}

fn list(items: &[String]) -> String {
    items.iter().map(|item| format!("\n  {item}")).collect()
}

impl From<RemoveRefusal> for Refusal {
    fn from(refusal: RemoveRefusal) -> Self {
        Self::Remove(Box::new(refusal))
    }
}

impl Refusal {
    /// The status with which the program ends.
    #[must_use]
    pub const fn exit_code(&self) -> ExitCode {
        match self {
            Self::Sync(refusal) => refusal.exit_code(),
            Self::Trash(refusal) => refusal.exit_code(),
            Self::NoWriteList { .. } => ExitCode::Config,
            Self::NoDefaultBase { .. }
            | Self::UnknownBase { .. }
            | Self::InvalidBranch { .. }
            | Self::NoSuchProcess { .. }
            | Self::BadName { .. }
            | Self::BadPath { .. }
            | Self::NoDirectory { .. }
            | Self::NoParentDir { .. }
            | Self::NeedsRepo { .. }
            | Self::NoParent { .. }
            | Self::ParentInRepository { .. }
            | Self::RepoIsClone { .. }
            | Self::OtherFormat { .. }
            | Self::NotLinked { .. }
            | Self::NoSuchCommit { .. }
            | Self::NoClient { .. }
            | Self::NoPromptFile { .. }
            | Self::NoText { .. }
            | Self::Bare => ExitCode::Usage,
            Self::AnotherScope { .. }
            | Self::Remove(_)
            | Self::Overlap { .. }
            | Self::AnotherBase { .. }
            | Self::AnotherBranch { .. }
            | Self::AnotherStrategy { .. }
            | Self::DirectoryGone { .. }
            | Self::SimilarName { .. }
            | Self::PathTaken { .. }
            | Self::ForeignWorktree { .. }
            | Self::Unborn { .. }
            | Self::BranchExists { .. }
            | Self::BranchBlocked { .. }
            | Self::BranchHeld { .. }
            | Self::BaseNotAncestor { .. }
            | Self::OwnedByAnother { .. }
            | Self::StillRunning { .. }
            | Self::Busy { .. }
            | Self::AcceptInside { .. }
            | Self::Detached { .. }
            | Self::Client(_)
            | Self::NameTaken { .. } => ExitCode::Refused,
        }
    }

    fn code_name(&self) -> &'static str {
        match self {
            Self::Sync(refusal) => refusal.code_name(),
            Self::Remove(refusal) => refusal.code_name(),
            Self::Trash(refusal) => refusal.code_name(),
            Self::NoWriteList { .. } => "agentwt::add::no_write_list",
            Self::NoClient { .. } => "agentwt::add::no_client",
            Self::NoPromptFile { .. } => "agentwt::add::no_prompt_file",
            Self::NoText { .. } => "agentwt::add::no_text",
            Self::Client(_) => "agentwt::client::no_place",
            Self::AnotherScope { .. } => "agentwt::add::another_scope",
            Self::AnotherBase { .. } => "agentwt::add::another_base",
            Self::AnotherBranch { .. } => "agentwt::add::another_branch",
            Self::AnotherStrategy { .. } => "agentwt::add::another_strategy",
            Self::DirectoryGone { .. } => "agentwt::add::directory_gone",
            Self::SimilarName { .. } => "agentwt::add::similar_name",
            Self::PathTaken { .. } => "agentwt::add::path_taken",
            Self::ForeignWorktree { .. } => "agentwt::add::foreign_worktree",
            Self::Unborn { .. } => "agentwt::add::unborn",
            Self::NoDefaultBase { .. } => "agentwt::add::no_default_base",
            Self::UnknownBase { .. } => "agentwt::add::unknown_base",
            Self::InvalidBranch { .. } => "agentwt::add::invalid_branch",
            Self::BranchExists { .. } => "agentwt::add::branch_exists",
            Self::BranchBlocked { .. } => "agentwt::add::branch_blocked",
            Self::BranchHeld { .. } => "agentwt::add::branch_held",
            Self::BaseNotAncestor { .. } => "agentwt::add::base_not_ancestor",
            Self::OwnedByAnother { .. } => "agentwt::add::owned_by_another",
            Self::StillRunning { .. } => "agentwt::add::still_running",
            Self::NoSuchProcess { .. } => "agentwt::add::no_such_process",
            Self::Busy { .. } => "agentwt::lock::busy",
            Self::BadName { .. } => "agentwt::name::bad",
            Self::BadPath { .. } => "agentwt::scope::bad_path",
            Self::NoDirectory { .. } => "agentwt::cli::no_directory",
            Self::NoParentDir { .. } => "agentwt::add::no_parent_dir",
            Self::NeedsRepo { .. } => "agentwt::add::needs_repo",
            Self::NoParent { .. } => "agentwt::add::no_parent",
            Self::ParentInRepository { .. } => "agentwt::add::parent_in_repository",
            Self::RepoIsClone { .. } => "agentwt::add::repo_is_clone",
            Self::OtherFormat { .. } => "agentwt::add::other_format",
            Self::Bare => "agentwt::add::bare",
            Self::NoSuchCommit { .. } => "agentwt::changed::no_such_commit",
            Self::Overlap { .. } => "agentwt::add::overlap",
            Self::AcceptInside { .. } => "agentwt::verify::accept_inside",
            Self::NotLinked { .. } => "agentwt::hooks::not_linked",
            Self::Detached { .. } => "agentwt::hooks::detached",
            Self::NameTaken { .. } => "agentwt::hooks::name_taken",
        }
    }

    fn advice(&self) -> String {
        match self {
            Self::Sync(refusal) => refusal.advice(),
            Self::Remove(refusal) => refusal.advice(),
            Self::Trash(refusal) => refusal.advice(),
            Self::NoWriteList { name, config_found } => {
                let file = crate::config::CONFIG_PATH;
                let config = if *config_found {
                    format!("give the scope in {file} a list `write = [\"src/**\"]`")
                } else {
                    format!(
                        "run `git agentwt init`, which writes {file} with a list for this repository"
                    )
                };
                format!(
                    "{config}, or give one here: git agentwt add {name} --write 'src/**' (--write '' for a task that only reads)"
                )
            }
            Self::NoClient { name, .. } => format!(
                "name one, here or in the config (see them: git agentwt clients): git agentwt add {name} --client claude-code"
            ),
            Self::NoPromptFile { .. } => {
                "paths are relative to where you stand; for stdin: --prompt-file -".to_owned()
            }
            Self::NoText { .. } => "give a text file: --prompt-file task.md".to_owned(),
            Self::Client(refusal) => refusal.advice(),
            Self::AnotherScope { name, .. } => format!(
                "`-` is what it has, `+` what was asked for; take another name, or remove it first: git agentwt remove {name}"
            ),
            Self::AnotherBase { name, .. }
            | Self::AnotherBranch { name, .. }
            | Self::AnotherStrategy { name, .. } => {
                format!("take another name, or remove it first: git agentwt remove {name}")
            }
            Self::DirectoryGone { name, .. } => {
                format!("to forget it (its branch stays unless merged): git agentwt remove {name}")
            }
            Self::SimilarName { .. } => "take a name that differs in more than case".to_owned(),
            Self::PathTaken { path, .. } => {
                format!("take another name, or move it away: mv {path} <elsewhere>")
            }
            Self::ForeignWorktree { path, .. } => {
                format!("take another name, or remove it with git: git worktree remove {path}")
            }
            Self::Unborn { .. } => {
                "make a first commit: git add -A && git commit -m 'first commit'".to_owned()
            }
            Self::NoDefaultBase { name } => {
                format!("name one: git agentwt add {name} --base HEAD")
            }
            Self::UnknownBase { .. } | Self::NoSuchCommit { .. } => {
                "see what there is: git branch -a; to get what a remote has: git fetch".to_owned()
            }
            Self::InvalidBranch { .. } => {
                "see git-check-ref-format(1); the prefix is `branch_prefix` in the config"
                    .to_owned()
            }
            Self::BranchExists { name, branch } => format!(
                "to work on it: git agentwt add {name} -b {branch}; to see what it has: git log {branch}"
            ),
            Self::BranchBlocked { other, .. } => format!(
                "rename one (git branch -m {other} <new>), or set another `branch_prefix` in the config"
            ),
            Self::BranchHeld { path, .. } => {
                format!("switch that worktree away from it: git -C {path} switch <branch>")
            }
            Self::BaseNotAncestor { branch, .. } => {
                format!(
                    "leave --base out to count from the branch's tip, or take: git merge-base HEAD {branch}"
                )
            }
            Self::OwnedByAnother { name, asked, .. } => format!(
                "wait for it (--retries=<attempts>), or, if it is to give way: git agentwt add {name} --owner {asked} --take-over"
            ),
            Self::StillRunning { name, pids, .. } => format!(
                "see what it is: ps -p {}; once it has ended: git agentwt add {name}",
                pids.iter()
                    .map(ToString::to_string)
                    .collect::<Vec<_>>()
                    .join(",")
            ),
            Self::NoSuchProcess { .. } => {
                "name one that runs (a shell's own is $$): --owner-pid $$".to_owned()
            }
            Self::Busy { name, pid } => match pid {
                Some(pid) => format!(
                    "leave --no-wait out to wait for it; to see it: ps -p {pid}; how the worktree is: git agentwt status {name}"
                ),
                None => format!(
                    "leave --no-wait out to wait for it; how the worktree is: git agentwt status {name}"
                ),
            },
            Self::BadName { .. } => "for example: git agentwt add task-1".to_owned(),
            Self::BadPath { .. } => {
                "paths are relative to where you stand: git agentwt scope -- src/main.rs".to_owned()
            }
            Self::NoParentDir { .. } => {
                "name a directory for clones: git agentwt add … --repo <URL> --parent <dir>".to_owned()
            }
            Self::ParentInRepository { root, .. } => {
                format!("leave --parent out: git agentwt -C {root} add … --repo <URL>")
            }
            Self::NeedsRepo { name, .. } => {
                format!("say of which: git agentwt add {name} --repo <URL>")
            }
            Self::NoParent { path, name, url } => format!(
                "make it first: mkdir -p {path} && git agentwt add {name} --repo {url} --parent {path}"
            ),
            Self::RepoIsClone { .. } => "leave --strategy out, or --repo".to_owned(),
            Self::OtherFormat { .. } => {
                "clone it with --parent into a directory that is in no repository, made with: GIT_DEFAULT_HASH=sha256".to_owned()
            }
            Self::NoDirectory { .. } => {
                "-C takes the directory to start in: git agentwt -C <dir> list".to_owned()
            }
            Self::Bare => {
                "make a worktree and go there: git worktree add ../main && cd ../main".to_owned()
            }
            Self::Overlap { name, .. } => format!(
                "narrow it (--write, --add-exclude), wait until they are removed, or share: git agentwt add {name} without --exclusive"
            ),
            Self::AcceptInside { root, name } => format!(
                "look at what was changed with `git agentwt verify {name}`; then: git agentwt -C {root} verify --accept-shared {name}"
            ),
            Self::NotLinked { .. } => "see what there is: git worktree list".to_owned(),
            Self::Detached { path } => format!("git -C {path} switch -c <branch>"),
            Self::NameTaken { path, .. } => {
                format!("move the worktree to another name: git worktree move {path} <new path>")
            }
        }
    }
}

impl Diagnostic for Refusal {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.code_name()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.advice()))
    }
}
