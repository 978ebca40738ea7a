//! Lists what planners refuse: [`Refusal`], each with the next command; and says with which status
//! each error ends the program.

use camino::Utf8PathBuf;
use miette::Diagnostic;

use crate::config::{CONFIG_PATH, ConfigError};
use crate::disk::copy::error::CopyError;
use crate::disk::error::DiskError;
use crate::fence::error::FenceError;
use crate::git::error::GitError;
use crate::record::worktree::{Alive, Owner};
use crate::scope::fault::ScopeErrors;
use crate::sync::pattern::PatternError;
use crate::words::error::Fault;
use crate::words::exit::ExitCode;
use crate::words::path::{RepoPath, shell_word};

/// Says why nothing is done.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Diagnostic)]
#[expect(missing_docs, reason = "the message of each documents it")]
pub enum Refusal {
    #[error("cannot run a command in worktree `{name}`: {why}")]
    #[diagnostic(code(agentwt::exec::not_fenced), help("{help}"))]
    NotFenced {
        name: String,
        why: String,
        help: String,
    },

    #[error("no command was given, and neither the config names a client nor SHELL a shell")]
    #[diagnostic(code(agentwt::exec::no_command))]
    #[diagnostic(help("give the command: git agentwt exec <name> -- make test"))]
    NoCommand,

    #[error("there is no document `{document}`")]
    #[diagnostic(code(agentwt::schema::no_document))]
    #[diagnostic(help("to see the documents: git agentwt schema"))]
    NoDocument { document: String },

    #[error("{by}: unknown value `{text}`")]
    #[diagnostic(code(agentwt::exec::unknown_value), help("write {known}"))]
    UnknownFenceValue {
        by: &'static str,
        text: String,
        known: String,
    },

    #[error(
        "a prompt was given for `{name}`, and no client that reads it{}",
        by_setting(set_by.as_deref())
    )]
    #[diagnostic(code(agentwt::add::no_client))]
    #[diagnostic(help(
        "name one, here or in the config (see them: git agentwt clients): git agentwt add {name} \
            --client claude-code"
    ))]
    NoClient {
        name: String,
        set_by: Option<String>,
    },

    #[error("there is no file {path} to read the prompt from")]
    #[diagnostic(code(agentwt::add::no_prompt_file))]
    #[diagnostic(help("paths are relative to where you stand; for stdin: --prompt-file -"))]
    NoPromptFile { path: String },

    #[error("worktree `{name}` exists with another scope:\n{}", difference.join("\n"))]
    #[diagnostic(code(agentwt::add::another_scope))]
    #[diagnostic(help(
        "`-` is what it has, `+` what was asked for; take another name, or remove it first: git \
            agentwt remove {name}"
    ))]
    AnotherScope {
        name: String,
        difference: Vec<String>,
    },

    #[error("worktree `{name}` exists, and its {what}")]
    #[diagnostic(code(agentwt::add::differs))]
    #[diagnostic(help("take another name, or remove it first: git agentwt remove {name}"))]
    Differs { name: String, what: String },

    #[error(
        "cannot add `{name}`: there is `{other}`, and some file systems cannot tell them apart"
    )]
    #[diagnostic(code(agentwt::add::similar_name))]
    #[diagnostic(help("take a name that differs in more than case"))]
    SimilarName { name: String, other: String },

    #[error("cannot add `{name}`: {path} is there, and git-agentwt did not make it")]
    #[diagnostic(code(agentwt::add::path_taken))]
    #[diagnostic(help(
        "take another name, or move it away: mv {} <elsewhere>",
        shell_word(path.as_str())
    ))]
    PathTaken { name: String, path: Utf8PathBuf },

    #[error("cannot add `{name}`: {path} is a worktree that git-agentwt did not make")]
    #[diagnostic(code(agentwt::add::foreign_worktree))]
    #[diagnostic(help("take another name, or remove it with git: git worktree remove {path}"))]
    ForeignWorktree { name: String, path: Utf8PathBuf },

    #[error("cannot add `{name}`: the repository has no commit yet")]
    #[diagnostic(code(agentwt::add::unborn))]
    #[diagnostic(help("make a first commit: git add -A && git commit -m 'first commit'"))]
    Unborn { name: String },

    #[error("cannot add `{name}`: the main worktree is on no branch, so there is no default base")]
    #[diagnostic(code(agentwt::add::no_default_base))]
    #[diagnostic(help("name one: git agentwt add {name} --base HEAD"))]
    NoDefaultBase { name: String },

    #[error("cannot add `{name}`: there is no commit `{revision}` ({set_by})")]
    #[diagnostic(code(agentwt::add::unknown_base))]
    #[diagnostic(help("see what there is: git branch -a; to get what a remote has: git fetch"))]
    UnknownBase {
        name: String,
        revision: String,
        set_by: String,
    },

    #[error("cannot push: there is no remote `{remote}`")]
    #[diagnostic(code(agentwt::land::unknown_remote))]
    #[diagnostic(help("nothing was landed; to see the remotes: git remote -v"))]
    UnknownRemote { remote: String },

    #[error("{remote} has no {ref_name}")]
    #[diagnostic(code(agentwt::add::no_request))]
    #[diagnostic(help(
        "check the number, and --pr (GitHub, Gitea) or --mr (GitLab); to see what there is: git \
            ls-remote {remote} 'refs/pull/*' 'refs/merge-requests/*'"
    ))]
    NoRequest { remote: String, ref_name: String },

    #[error(
        "cannot tell which remote has the pull request: {}",
        if names.is_empty() { "there is none" } else { names }
    )]
    #[diagnostic(code(agentwt::add::no_request_remote))]
    #[diagnostic(help(
        "to add one: git remote add origin <url>; to choose: git branch \
            --set-upstream-to=<remote>/{base} {base}"
    ))]
    NoRequestRemote { names: String, base: String },

    #[error("cannot add `{name}`: the pull request and `{base}` have no commit in common")]
    #[diagnostic(code(agentwt::add::unrelated_request))]
    #[diagnostic(help(
        "name the branch it is for: --base <branch>; in a shallow clone, first: git fetch \
            --unshallow"
    ))]
    UnrelatedRequest { name: String, base: String },

    #[error("cannot change {path}: {why}")]
    #[diagnostic(code(agentwt::hooks::not_claude_settings))]
    #[diagnostic(help(
        "nothing was changed; correct the file as Claude Code reads it (see: claude doctor), then \
            run the command again"
    ))]
    NotClaudeSettings { path: Utf8PathBuf, why: String },

    #[error("the input is not that of a worktree hook of Claude Code: {why}")]
    #[diagnostic(code(agentwt::hook::no_worktree_event))]
    #[diagnostic(help("for a worktree by hand: git agentwt add <name>"))]
    NoWorktreeEvent { why: String },

    #[error("cannot remove {path}: git-agentwt did not make it")]
    #[diagnostic(code(agentwt::hook::foreign_removal))]
    #[diagnostic(help(
        "to remove it with git, without its ignored files: git worktree remove {path}"
    ))]
    ForeignRemoval { path: Utf8PathBuf },

    #[error("git does not accept `{branch}` as the name of a branch")]
    #[diagnostic(code(agentwt::add::invalid_branch))]
    #[diagnostic(help("see git-check-ref-format(1); the prefix is `branch_prefix` in the config"))]
    InvalidBranch { branch: String },

    #[error("cannot add `{name}`: the branch `{branch}` exists")]
    #[diagnostic(code(agentwt::add::branch_exists))]
    #[diagnostic(help(
        "to work on it: git agentwt add {name} -b {branch}; to see what it has: git log {branch}"
    ))]
    BranchExists { name: String, branch: String },

    #[error("cannot create the branch `{branch}`: several remotes have it: {names}")]
    #[diagnostic(code(agentwt::add::several_remotes))]
    #[diagnostic(help(
        "to choose: git branch --track {branch} {first}, or git config checkout.defaultRemote \
            <remote>"
    ))]
    SeveralRemotes {
        branch: String,
        first: String,
        names: String,
    },

    #[error("cannot make the branch `{branch}`: the branch `{other}` is in its way")]
    #[diagnostic(code(agentwt::add::branch_blocked))]
    #[diagnostic(help(
        "rename one (git branch -m {other} <new>), or set another `branch_prefix` in the config"
    ))]
    BranchBlocked { branch: String, other: String },

    #[error("the branch `{branch}` is checked out at {path}")]
    #[diagnostic(code(agentwt::add::branch_held))]
    #[diagnostic(help(
        "switch that worktree away from it: git -C {} switch <branch>",
        shell_word(path.as_str())
    ))]
    BranchHeld { branch: String, path: Utf8PathBuf },

    #[error("a rebase or a bisect of the branch `{branch}` is in progress at {path}")]
    #[diagnostic(code(agentwt::add::branch_at_work))]
    #[diagnostic(help(
        "end it there first, git says how: git -C {} status",
        shell_word(path.as_str())
    ))]
    BranchAtWork { branch: String, path: Utf8PathBuf },

    #[error("the base {base} is not an ancestor of the branch `{branch}`")]
    #[diagnostic(code(agentwt::add::base_not_ancestor))]
    #[diagnostic(help(
        "leave --base out to count from the branch's tip, or take: git merge-base HEAD {branch}"
    ))]
    BaseNotAncestor { branch: String, base: String },

    #[error("worktree `{name}` belongs to {owner}{}", running(*alive))]
    #[diagnostic(code(agentwt::add::owned_by_another))]
    #[diagnostic(help(
        "wait for it (--retries=<attempts>), or, if it is to give way: git agentwt add {name} \
            --owner {asked} --take-over"
    ))]
    OwnedByAnother {
        name: String,
        owner: Box<Owner>,
        alive: Alive,
        asked: String,
    },

    #[error(
        "a program is still running in worktree `{name}`: {} {} works in {path}",
        if pids.len() == 1 { "process" } else { "processes" },
        numbers(pids, ", ")
    )]
    #[diagnostic(code(agentwt::add::still_running))]
    #[diagnostic(help(
        "see what it is: ps -p {}; once it has ended: git agentwt add {name}",
        numbers(pids, ",")
    ))]
    StillRunning {
        name: String,
        path: Utf8PathBuf,
        pids: Vec<u32>,
    },

    #[error("there is no process {pid} that could be the owner")]
    #[diagnostic(code(agentwt::add::no_such_process))]
    #[diagnostic(help("name one that runs (a shell's own is $$): --owner-pid $$"))]
    NoSuchProcess { pid: u32 },

    #[error("cannot use `{text}` as a name: {why}")]
    #[diagnostic(code(agentwt::name::bad), help("for example: git agentwt add task-1"))]
    BadName { text: String, why: String },

    #[error("cannot clone here: {dir} is in no git repository that could keep its record")]
    #[diagnostic(code(agentwt::add::no_parent_dir))]
    #[diagnostic(help(
        "name a directory for clones: git agentwt add … --repo <URL> --parent <dir>"
    ))]
    NoParentDir { dir: String },

    #[error("cannot add `{name}`: {dir} has no repository of its own, only clones of others")]
    #[diagnostic(code(agentwt::add::needs_repo))]
    #[diagnostic(help("say of which: git agentwt add {name} --repo <URL>"))]
    NeedsRepo { name: String, dir: Utf8PathBuf },

    #[error("cannot take {dir} as --parent: it is in the repository {root}")]
    #[diagnostic(code(agentwt::add::parent_in_repository))]
    #[diagnostic(help("leave --parent out: git agentwt -C {root} add … --repo <URL>"))]
    ParentInRepository { dir: Utf8PathBuf, root: Utf8PathBuf },

    #[error(
        "cannot add `{name}`: with --repo it is a clone, and the strategy `worktree` was asked for"
    )]
    #[diagnostic(code(agentwt::add::repo_is_clone))]
    #[diagnostic(help("leave --strategy out, or --repo"))]
    RepoIsClone { name: String },

    #[error(
        "cannot add `{name}`: {url} makes its ids by another hash function than the repository here"
    )]
    #[diagnostic(code(agentwt::add::other_format))]
    #[diagnostic(help(
        "clone it with --parent into a directory that is in no repository, made with: \
            GIT_DEFAULT_HASH=sha256"
    ))]
    OtherFormat { name: String, url: String },

    #[error("there is no directory {path}")]
    #[diagnostic(code(agentwt::cli::no_directory))]
    #[diagnostic(help("create the directory first: mkdir -p {path}"))]
    NoDirectory { path: String },

    #[error("this is a bare repository: there is no worktree to take the config from")]
    #[diagnostic(code(agentwt::add::bare))]
    #[diagnostic(help("{help}"))]
    Bare { help: String },

    #[error("a change of a scope takes the name of one worktree, and each pattern an option")]
    #[diagnostic(code(agentwt::scope::one_name))]
    #[diagnostic(help(
        "quote a pattern, and name the worktree: git agentwt scope <name> --add-exclude \
         'docs/**' --add-write 'tests/**'"
    ))]
    OneName,

    #[error(
        "cannot narrow the scope of worktree `{name}`: a command is running in its fence, and \
         would commit the files that go as deleted"
    )]
    #[diagnostic(code(agentwt::scope::running))]
    #[diagnostic(help(
        "wait for its end, then run this again; to see it: git agentwt status {name}"
    ))]
    NarrowedInRun { name: String },

    #[error("nothing says what to accept of worktree `{name}`")]
    #[diagnostic(code(agentwt::accept::nothing_selected))]
    #[diagnostic(help("{help}: git agentwt accept {name} --all"))]
    NothingToAccept { name: String, help: String },

    #[error("cannot accept {path}: it has no finding with content, apart from its history")]
    #[diagnostic(code(agentwt::accept::not_acceptable))]
    #[diagnostic(help("{help}"))]
    NotAcceptable { path: RepoPath, help: String },

    #[error(
        "nothing of worktree `{name}` can be accepted: no content could be recorded{violations}"
    )]
    #[diagnostic(code(agentwt::accept::nothing_acceptable))]
    #[diagnostic(help("see what to do about it: git agentwt verify {name}"))]
    NothingAcceptable { name: String, violations: String },

    #[error("no program is named that opens `{name}`: {why}")]
    #[diagnostic(code(agentwt::open::no_program))]
    #[diagnostic(help(
        "name a program: git config --global agentwt.opener 'code -n --wait'; or start one there: \
            cd {}",
        shell_word(path.as_str())
    ))]
    NoOpener {
        name: String,
        path: Utf8PathBuf,
        why: &'static str,
    },

    #[error("cannot start {program}: {error}")]
    #[diagnostic(code(agentwt::open::program))]
    #[diagnostic(help(
        "install the program, or name another: git config --global agentwt.opener <command>"
    ))]
    CannotStart { program: String, error: String },

    #[error("there is no commit `{revision}` to compare with")]
    #[diagnostic(code(agentwt::changed::no_such_commit))]
    #[diagnostic(help("see what there is: git branch -a; to get what a remote has: git fetch"))]
    NoSuchCommit { revision: String },

    #[error(
        "cannot add `{name}` with --exclusive: other worktrees may write the same files{}",
        items.iter().map(|item| format!("\n  {item}")).collect::<String>()
    )]
    #[diagnostic(code(agentwt::add::overlap))]
    #[diagnostic(help(
        "narrow it (--write, --add-exclude), wait until they are removed, or share: git agentwt \
            add {name} without --exclusive"
    ))]
    Overlap { name: String, items: Vec<String> },

    #[error("{path} is not a linked worktree of this repository")]
    #[diagnostic(code(agentwt::hooks::not_linked))]
    #[diagnostic(help("see what there is: git worktree list"))]
    NotLinked { path: String },

    #[error("cannot install hooks in {path}: it is on no branch")]
    #[diagnostic(code(agentwt::hooks::detached))]
    #[diagnostic(help("git -C {} switch -c <branch>", shell_word(path.as_str())))]
    Detached { path: Utf8PathBuf },

    #[error("cannot install hooks in {path}: the name `{name}` is taken by {taken_by}")]
    #[diagnostic(code(agentwt::hooks::name_taken))]
    #[diagnostic(help(
        "move the worktree to another name: git worktree move {} <new path>",
        shell_word(path.as_str())
    ))]
    NameTaken {
        path: Utf8PathBuf,
        name: String,
        taken_by: Utf8PathBuf,
    },
}

const fn running(alive: Alive) -> &'static str {
    match alive {
        Alive::Yes => ", and that agent is still running",
        Alive::No => "",
        Alive::Unknown => ", and it is unknown whether that agent is still running",
    }
}

fn numbers(pids: &[u32], between: &str) -> String {
    let pids: Vec<String> = pids.iter().map(ToString::to_string).collect();
    pids.join(between)
}

impl Fault for Refusal {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::NoDefaultBase { .. }
            | Self::UnknownBase { .. }
            | Self::InvalidBranch { .. }
            | Self::NoSuchProcess { .. }
            | Self::BadName { .. }
            | Self::NoDirectory { .. }
            | Self::NoParentDir { .. }
            | Self::NeedsRepo { .. }
            | Self::ParentInRepository { .. }
            | Self::RepoIsClone { .. }
            | Self::OtherFormat { .. }
            | Self::NotLinked { .. }
            | Self::NoSuchCommit { .. }
            | Self::NoClient { .. }
            | Self::NoOpener { .. }
            | Self::NoPromptFile { .. }
            | Self::NoDocument { .. }
            | Self::NothingToAccept { .. }
            | Self::UnknownRemote { .. }
            | Self::NoWorktreeEvent { .. }
            | Self::NoRequest { .. }
            | Self::NoRequestRemote { .. }
            | Self::OneName
            | Self::Bare { .. } => ExitCode::Usage,
            Self::NotFenced { .. } | Self::NoCommand | Self::UnknownFenceValue { .. } => {
                ExitCode::NotStarted
            }
            // as a shell has it
            Self::CannotStart { .. } => ExitCode::Program(127),
            _others => ExitCode::Refused,
        }
    }
}

impl Fault for ConfigError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Config
    }
}

impl Fault for FenceError {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::Unavailable { .. } => ExitCode::NoFence,
            Self::Leftover { .. } => ExitCode::RunRefused,
            not_started => not_started
                .status()
                .map_or(ExitCode::NotStarted, ExitCode::Program),
        }
    }
}

impl Fault for ScopeErrors {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Config
    }
}

impl Fault for PatternError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Config
    }
}

impl Fault for DiskError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Disk
    }
}

impl Fault for CopyError {
    fn exit_code(&self) -> ExitCode {
        ExitCode::Refused
    }
}

/// Says why a range gets no verdict.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, Diagnostic)]
#[expect(
    missing_docs,
    reason = "the fields are the names that the messages show"
)]
pub enum RangeRefusal {
    /// The text is not a range.
    #[error("`{text}` is not a range of commits")]
    #[diagnostic(code(agentwt::range::syntax))]
    #[diagnostic(help(
        "name the base and what is verified: git agentwt verify --range origin/main..HEAD"
    ))]
    Syntax { text: String },
    /// One of the ends does not name a commit.
    #[error("there is no commit `{revision}`, in the range {range}")]
    #[diagnostic(code(agentwt::range::unknown))]
    #[diagnostic(help("see what there is: git branch -a; to get what a remote has: git fetch"))]
    Unknown { range: String, revision: String },
    /// The ends have no commit in common.
    #[error("cannot verify {range}: the two histories have no commit in common")]
    #[diagnostic(code(agentwt::range::unrelated))]
    #[diagnostic(help(
        "name a base that it started from; to see both: git log --oneline --graph {ends}"
    ))]
    Unrelated { range: String, ends: String },
    /// The clone ends before what is common to both ends.
    #[error("cannot verify {range}: this clone is shallow, and its history ends inside the range")]
    #[diagnostic(code(agentwt::range::shallow))]
    #[diagnostic(help(
        "fetch the rest: git fetch --unshallow (with actions/checkout: `fetch-depth: 0`)"
    ))]
    Shallow { range: String },
    /// The base side does not say what may be edited, and no lists were given.
    #[error("cannot verify {range}: {CONFIG_PATH} of `{base}` {why}")]
    #[diagnostic(code(agentwt::range::no_scope))]
    #[diagnostic(help(
        "commit a config there (git agentwt init writes it), name one of its profiles with \
            --scope, or give the scope here: git agentwt verify --range {range} --write 'src/**'"
    ))]
    NoScope {
        range: String,
        base: String,
        why: &'static str,
    },
}

impl Fault for RangeRefusal {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::Syntax { .. } | Self::Unknown { .. } | Self::Unrelated { .. } => ExitCode::Usage,
            Self::NoScope { .. } => ExitCode::Config,
            Self::Shallow { .. } => ExitCode::Git,
        }
    }
}

impl Fault for GitError {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::NoRepository { .. } => ExitCode::Usage,
            Self::Failed { words, .. } if is_disk(words) => ExitCode::Disk,
            Self::Write { kind: Some(_), .. } => ExitCode::Disk,
            _others => ExitCode::Git,
        }
    }
}

/// Git has one status for everything; in the C locale these words are the system's own, or git's
/// where it writes and does not say what the system said.
fn is_disk(words: &str) -> bool {
    [
        "No space left on device",
        "Read-only file system",
        "Disk quota exceeded",
        "unable to write",
        "ould not write",
        "failed to write",
        "couldn't write",
        "couldn't close",
    ]
    .iter()
    .any(|text| words.contains(text))
}

/// Names the setting that says `none`, as the end of a message.
fn by_setting(set_by: Option<&str>) -> String {
    match set_by {
        Some(by) => format!(": it is `none` ({by})"),
        None => String::new(),
    }
}
