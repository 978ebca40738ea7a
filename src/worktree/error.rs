//! Lists why a worktree of ours cannot be read, and why a claim is not ours.

use std::fmt;

use crate::config::CONFIG_PATH;
use crate::record::claim::{Claim, Lease, REFS};
use crate::words::error::Fault;
use crate::words::exit::ExitCode;
use crate::words::name::{CommitId, WorktreeName};
use crate::words::path::{escape_for_terminal, shell_word};

/// Why a worktree of ours cannot be read.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum WorktreeFault {
    /// Neither the config nor an option has a list of what may be edited.
    #[error("nothing says what `{name}` may edit")]
    #[diagnostic(code(agentwt::add::no_write_list))]
    #[diagnostic(help(
            "{}, or give one here: git agentwt add {name} --write 'src/**' (--write '' for a task \
                that only reads)",
            write_list(*config_found)
        ))]
    NoWriteList {
        /// The worktree.
        name: String,
        /// True if there is a config.
        config_found: bool,
    },
    /// A path is not a path of the repository.
    #[error("cannot use {text} as a path: {why}")]
    #[diagnostic(code(agentwt::scope::bad_path))]
    #[diagnostic(help("paths are relative to where you stand: git agentwt scope -- src/main.rs"))]
    BadPath {
        /// The path.
        text: String,
        /// What is wrong.
        why: String,
    },
    /// There is no worktree of ours with this name.
    #[error("there is no worktree named `{name}`")]
    #[diagnostic(code(agentwt::facts::unknown_worktree), help("{help}"))]
    UnknownWorktree {
        /// The name.
        name: String,
        /// The names there are, or how one in the trash comes back.
        help: String,
    },
    /// No name was given, and the directory is in no worktree of ours.
    #[error("not inside a worktree of git-agentwt, so a name is needed")]
    #[diagnostic(code(agentwt::facts::not_in_worktree), help("{}", names_help(known)))]
    NotInWorktree {
        /// The names there are.
        known: Vec<String>,
    },
    /// A file of ours cannot be read.
    #[error("cannot read {file} of worktree `{name}`: {detail}")]
    #[diagnostic(code(agentwt::facts::damaged))]
    #[diagnostic(help(
        "see what is there with `git worktree list`; to save its work: git -C \
            .agentwt/worktrees/{name} stash -u"
    ))]
    Damaged {
        /// The worktree.
        name: String,
        /// The file.
        file: String,
        /// What is wrong with it.
        detail: String,
    },
    /// An `add` of this name is under way, or was ended in the middle.
    #[error("worktree `{name}` is incomplete: its `add` is running, or was killed")]
    #[diagnostic(code(agentwt::facts::incomplete))]
    #[diagnostic(help(
        "wait for it, or run `git agentwt add {name}` again: it finishes or clears what is left"
    ))]
    Incomplete {
        /// The worktree.
        name: String,
    },
    /// The scope is being applied, or the command that applied it was killed.
    #[error("the scope of worktree `{name}` is not applied: a command is at it, or was killed")]
    #[diagnostic(code(agentwt::facts::scope_not_applied))]
    #[diagnostic(help("if no command is at it: git agentwt reapply {name}"))]
    ScopeNotApplied {
        /// The worktree.
        name: String,
    },
    /// A process changes the worktree, and does not hold its lock.
    #[error("worktree `{name}` is being changed by process {process}")]
    #[diagnostic(code(agentwt::facts::at_work))]
    #[diagnostic(help("wait for it; to see it: ps -p {process}"))]
    AtWork {
        /// The worktree.
        name: String,
        /// The process.
        process: u32,
    },
    /// What a killed command left cannot be undone now.
    #[error("cannot undo what a killed `{command}` left of worktree `{name}`: {why}")]
    #[diagnostic(code(agentwt::facts::not_undone))]
    #[diagnostic(help(
        "the next command tries again; to leave all as it is: rm -r {}; what was replaced is \
            saved: git for-each-ref refs/agentwt/rescue/{name}/",
        shell_word(journal.as_str())
    ))]
    NotUndone {
        /// The worktree.
        name: String,
        /// The command that was killed.
        command: &'static str,
        /// What cannot be undone, and why.
        why: String,
        /// The status of what failed.
        exit: ExitCode,
        /// The directory of the journal.
        journal: camino::Utf8PathBuf,
    },
    /// The record names another repository: this one was copied or moved.
    #[error("worktree `{name}` belongs to the repository {there}, and this is {here}")]
    #[diagnostic(code(agentwt::facts::elsewhere))]
    #[diagnostic(help(
        "if this is a copy, run the command in the original: cd {}; if the repository was \
            moved, move it back to {there}",
        shell_word(there)
    ))]
    Elsewhere {
        /// The worktree.
        name: String,
        /// The repository of the record.
        there: String,
        /// This repository.
        here: String,
    },
    /// A decision of a person was asked for from inside an agent's worktree.
    #[error("an agent does not decide about its worktree: this command is refused inside{by}")]
    #[diagnostic(code(agentwt::facts::inside))]
    #[diagnostic(help("run the command {place}: cd {} && {command}", shell_word(root)))]
    Inside {
        /// Where the user can run the command.
        place: &'static str,
        /// The command.
        command: String,
        /// The root of the repository.
        root: String,
        /// The process that works inside, if the command did not start there.
        by: String,
    },
    /// A command that changes more than the worktree from which it was called.
    #[error("an agent does not run this command: it is refused inside worktree `{name}`{by}")]
    #[diagnostic(code(agentwt::facts::not_for_agents))]
    #[diagnostic(help("run the command {place}: cd {} && {command}", shell_word(root)))]
    NotForAgents {
        /// The worktree from which the command was called.
        name: String,
        /// The process that works inside, if the command did not start there.
        by: String,
        /// Where the user can run the command.
        place: &'static str,
        /// The root of the repository.
        root: String,
        /// The command.
        command: String,
    },
    /// Git would run, or convert files by, what came since `add` and what nobody accepted.
    #[error(
        "cannot {action} worktree `{name}`: git would use what was changed since `add`: {what}"
    )]
    #[diagnostic(code(agentwt::facts::planted), help("{help}"))]
    Planted {
        /// What was to be done.
        action: String,
        /// The worktree.
        name: String,
        /// What was changed.
        what: String,
        /// The commands to see it, to remove it and to accept it.
        help: String,
    },
    /// No decision of a kind is left to take back.
    #[error("there is nothing to take back: worktree `{name}` has no such decision")]
    #[diagnostic(code(agentwt::facts::undo))]
    #[diagnostic(help("see what was decided: git agentwt status {name}"))]
    NothingToUndo {
        /// The worktree.
        name: String,
    },
    /// The directory of a worktree is not where `add` created it.
    #[error("the directory of worktree `{name}` does not exist: {path}")]
    #[diagnostic(code(agentwt::facts::no_directory))]
    #[diagnostic(help("{help}"))]
    NoDirectory {
        /// The worktree.
        name: String,
        /// The recorded path.
        path: camino::Utf8PathBuf,
        /// What became of it, and the command that goes on.
        help: String,
    },
}

impl WorktreeFault {
    /// A file of ours that cannot be read.
    pub fn damaged(name: &WorktreeName, file: &str, detail: String) -> Self {
        let name = name.to_string();
        let file = file.to_owned();
        Self::Damaged { name, file, detail }
    }
}

/// Says which worktrees there are, for the help of an error.
pub fn names_help(known: &[String]) -> String {
    if known.is_empty() {
        return "there is none yet; to create a worktree: git agentwt add task-1".to_owned();
    }
    let names = known.join(", ");
    format!("there are: {names}; `git agentwt list` shows them")
}

/// What was tried with a claim.
#[derive(Clone, Debug)]
pub struct ClaimAttempt {
    /// The verb.
    pub doing: &'static str,
    /// The name.
    pub name: WorktreeName,
    /// The remote.
    pub remote: String,
}

impl fmt::Display for ClaimAttempt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let doing = self.doing;
        let name = &self.name;
        let remote = &self.remote;
        write!(f, "cannot {doing} `{name}` at {remote}")
    }
}

/// Why a claim was not taken, renewed or given back.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
#[expect(missing_docs, reason = "the fields are what the messages say")]
pub enum ClaimError {
    /// Another holds the name.
    #[error("{at}: {claim} holds it")]
    #[diagnostic(code(agentwt::claim::held))]
    #[diagnostic(help(
            "if it stays unchanged for {left} from now, by the clock of this host, it may be \
                taken over: git agentwt add {} --claim {}",
            at.name, at.remote
        ))]
    Held {
        at: ClaimAttempt,
        claim: Box<Claim>,
        left: Lease,
    },
    /// Something is there that cannot be read.
    #[error(
        "{at}: the claim {commit} there cannot be read: {}",
        escape_for_terminal(why.as_bytes())
    )]
    #[diagnostic(code(agentwt::claim::unreadable))]
    #[diagnostic(help(
            "once you know that no agent works there: git push \
                --force-with-lease={REFS}{}:{commit} {} :{REFS}{}",
            at.name, at.remote, at.name
        ))]
    Unreadable {
        at: ClaimAttempt,
        commit: CommitId,
        why: String,
    },
    /// The claim was ours, and is gone.
    #[error("{at}: it is no longer there")]
    #[diagnostic(code(agentwt::claim::gone))]
    #[diagnostic(help("to claim it again: git agentwt add {} --claim {}", at.name, at.remote))]
    Gone { at: ClaimAttempt },
    /// The server refused, or cannot be reached.
    #[error(
        "{at}: the server cannot be reached, or refuses: {}",
        escape_for_terminal(words.as_bytes())
    )]
    #[diagnostic(code(agentwt::claim::server))]
    #[diagnostic(help(
            "the server must let {REFS}* be pushed; to see the claim: git ls-remote {} {REFS}{}",
            at.remote, at.name
        ))]
    Server { at: ClaimAttempt, words: String },
    /// The worktree is claimed elsewhere.
    #[error("cannot claim `{name}` at {remote}: it is claimed at {held_at}")]
    #[diagnostic(code(agentwt::claim::elsewhere))]
    #[diagnostic(help("git agentwt add {name} --claim {held_at}"))]
    Elsewhere {
        name: WorktreeName,
        remote: String,
        held_at: String,
    },
    /// Another owner of this repository has the worktree.
    #[error(
        "cannot renew `{name}` for `{}`: `{}` owns it",
        escape_for_terminal(asked.as_bytes()),
        escape_for_terminal(owner.as_bytes())
    )]
    #[diagnostic(code(agentwt::claim::another_owner))]
    #[diagnostic(help(
        "to renew it in its owner's name: git agentwt renew {name} --owner '{}'",
        escape_for_terminal(owner.as_bytes())
    ))]
    AnotherOwner {
        name: WorktreeName,
        asked: String,
        owner: String,
    },
    /// There is neither a claim nor an owner.
    #[error("cannot renew `{name}`: it has neither a claim nor an owner")]
    #[diagnostic(code(agentwt::claim::nothing_to_renew))]
    #[diagnostic(help("to claim it: git agentwt add {name} --claim origin"))]
    NothingToRenew { name: WorktreeName },
    /// A remote, process or time limit of the command line cannot be used.
    #[error("cannot use {what} for claims: {why}")]
    #[diagnostic(code(agentwt::claim::usage), help("{advice}"))]
    Usage {
        what: String,
        why: &'static str,
        advice: String,
    },
}

/// Why the commands of a set-up did not end well. The worktree stays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error, miette::Diagnostic)]
pub enum SetupFault {
    /// A command failed.
    #[error("the {table} of `{name}` failed: {why}")]
    #[diagnostic(code(agentwt::setup::failed))]
    #[diagnostic(help("{help}"))]
    Failed {
        /// The worktree.
        name: String,
        /// `set-up` or `teardown`.
        table: &'static str,
        /// The command, and how it ended.
        why: String,
        /// The next command.
        help: String,
    },
    /// A signal ended a command.
    #[error("the {table} of `{name}` was interrupted by signal {signal}")]
    #[diagnostic(code(agentwt::setup::interrupted))]
    #[diagnostic(help("{help}"))]
    Interrupted {
        /// The worktree.
        name: String,
        /// `set-up` or `teardown`.
        table: &'static str,
        /// The signal.
        signal: u8,
        /// The next command.
        help: String,
    },
}

impl Fault for SetupFault {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::Failed { .. } => ExitCode::Git,
            Self::Interrupted { signal, .. } => ExitCode::Signal(*signal),
        }
    }
}

impl Fault for ClaimError {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::Held { .. }
            | Self::Unreadable { .. }
            | Self::Gone { .. }
            | Self::AnotherOwner { .. } => ExitCode::OwnershipLost,
            Self::Elsewhere { .. } | Self::NothingToRenew { .. } => ExitCode::Refused,
            Self::Usage { .. } => ExitCode::Usage,
            Self::Server { .. } => ExitCode::Git,
        }
    }
}

fn write_list(config_found: bool) -> String {
    if config_found {
        format!("give the scope in {CONFIG_PATH} a list `write = [\"src/**\"]`")
    } else {
        format!(
            "run `git agentwt init`, which writes {CONFIG_PATH} with a list for this repository"
        )
    }
}

impl Fault for WorktreeFault {
    fn exit_code(&self) -> ExitCode {
        match self {
            Self::Damaged { .. } | Self::Elsewhere { .. } | Self::NoDirectory { .. } => {
                ExitCode::Disk
            }
            Self::UnknownWorktree { .. } => ExitCode::UnknownWorktree,
            Self::NotInWorktree { .. } | Self::BadPath { .. } => ExitCode::Usage,
            Self::Incomplete { .. }
            | Self::ScopeNotApplied { .. }
            | Self::AtWork { .. }
            | Self::Inside { .. }
            | Self::NotForAgents { .. }
            | Self::Planted { .. }
            | Self::NothingToUndo { .. } => ExitCode::Refused,
            Self::NoWriteList { .. } => ExitCode::Config,
            Self::NotUndone { exit, .. } => *exit,
        }
    }
}
