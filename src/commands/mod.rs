//! Holds the commands: facts → planner → apply (and undo) → [`Outcome`]. None imports another.

pub mod accept;
pub mod add;
pub mod changed;
pub mod clients;
pub mod doctor;
pub mod env;
pub mod exec;
pub mod guard;
pub mod hook;
pub mod hooks;
pub mod init;
pub mod land;
pub mod list;
pub mod open;
pub mod path;
pub mod prune;
pub mod reapply;
pub mod remove;
pub mod renew;
pub mod restore;
pub mod scope;
pub mod status;
pub mod statusline;
pub mod sync;
pub mod trust;
pub mod verify;

use std::fmt::Display;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use camino::{Utf8Path, Utf8PathBuf};

use crate::disk::files;
use crate::disk::lock::Waiting;
use crate::disk::scan::walk::WalkMode;
use crate::git::error::GitError;
use crate::git::process::Git;
use crate::git::runner::{SharedRunner, Trace, TraceEvent};
use crate::refusal::Refusal;
use crate::system::probe::SharedProber;
use crate::words::error::{Error, Interrupted};
use crate::words::exit::ExitCode;
use crate::words::log::Log;
use crate::words::name::{WorktreeName, branch_of};
use crate::words::path::shell_word;
use crate::words::progress::Progress;
use crate::words::time::timestamp;
use crate::worktree::caller::{require_no_agent, require_own};
use crate::worktree::repository::{Main, Repository, WORKTREES, joined};
use crate::worktree::settings::Environment;

/// Holds what the edge knows of this run: where, under which variables, and what was signalled.
#[derive(Clone, Debug, Default)]
pub struct Session {
    /// The directory in which the command was started, or `-C`.
    pub start: Utf8PathBuf,
    /// The variables that settings come from.
    pub environment: Environment,
    /// The index that a hook was given (`GIT_INDEX_FILE`, githooks(5)).
    pub hook_index: Option<Utf8PathBuf>,
    /// Whether stat data are believed (`GIT_AGENTWT_WALK=full|fast`).
    pub walking: WalkMode,
    /// What came on standard input for a hook (githooks(5)), as a prompt, as paths or as a tool
    /// call; empty elsewhere.
    pub input: Vec<u8>,
    /// Where the objects of a push are that waits for a hook (`GIT_QUARANTINE_PATH`, githooks(5)).
    pub quarantine: Option<Utf8PathBuf>,
    /// The command line without `-C`, as a shell reads it.
    pub command_line: String,
    /// Our own executable, for the hooks.
    pub binary: Utf8PathBuf,
    /// What starts git.
    pub runner: SharedRunner,
    /// Who is told what git is asked.
    pub trace: Trace,
    /// How far a long copy is.
    pub progress: Arc<Progress>,
    /// The signal that asked to stop; 0 for none.
    pub signal: Arc<AtomicUsize>,
    /// Whether a signal ends the program at once, as nothing has to be undone.
    pub idle: Arc<AtomicBool>,
    /// Whether to refuse at once when another program works on the worktree (`--no-wait`).
    pub no_wait: bool,
    /// Who is told what goes on, line by line.
    pub log: Log,
    /// Who is asked before each retry, beside the command that an option names.
    pub prober: Option<SharedProber>,
    /// The user's own directory for what programs remember (`XDG_STATE_HOME`), absolute.
    pub state: Option<Utf8PathBuf>,
    /// Where a worktree is made that has no repository around it.
    pub parent_dir: Option<Utf8PathBuf>,
    /// Who called.
    pub caller: Caller,
}

/// Says who called a command.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Caller {
    /// A program that uses the library.
    #[default]
    Library,
    /// A person or an agent, by a command line.
    CommandLine,
    /// An agent program, whose user installed our hooks for its worktrees.
    ClientHook,
}

/// Holds what a command answers.
#[derive(Clone, Debug, PartialEq)]
pub struct Outcome<A> {
    /// The answer, for stdout.
    pub answer: A,
    /// What else the user should know, for stderr, a line each.
    pub notes: Vec<String>,
    /// The status to end with.
    pub exit: ExitCode,
}

impl<A> Outcome<A> {
    /// Makes the outcome of a command that did what was asked.
    pub const fn done(answer: A) -> Self {
        Self {
            answer,
            notes: Vec::new(),
            exit: ExitCode::Success,
        }
    }

    /// The same outcome with another answer.
    pub fn map<B>(self, map: impl FnOnce(A) -> B) -> Outcome<B> {
        Outcome {
            answer: map(self.answer),
            notes: self.notes,
            exit: self.exit,
        }
    }
}

impl Session {
    /// Finds the repository.
    ///
    /// # Errors
    /// Fails when there is none.
    pub fn repository(&self) -> Result<Repository, Error> {
        self.repository_at(&self.start)
    }

    /// Finds the repository for a command that changes something: a git that is missing or too old
    /// is refused before anything is touched.
    ///
    /// # Errors
    /// Fails when there is none, or git cannot be used.
    pub fn repository_to_change(&self) -> Result<Repository, Error> {
        // both take a few milliseconds
        std::thread::scope(|threads| {
            let git = Git::unchecked(&self.start, self.runner.clone());
            let version = threads.spawn(move || git.version());
            let repository = self.repository()?;
            joined(version)?;
            Ok(repository)
        })
    }

    /// If no repository is around, starts in the parent directory instead: it keeps the records of
    /// worktrees that were created without a repository.
    pub fn or_in_parent_dir(self) -> Self {
        let Some(parent) = &self.parent_dir else {
            return self;
        };
        if !self.repository().as_ref().is_err_and(is_nowhere) {
            return self;
        }
        Self {
            start: self.resolve(parent),
            ..self
        }
    }

    /// Finds the repository of another directory.
    ///
    /// # Errors
    /// Fails when there is none.
    pub fn repository_at(&self, directory: &Utf8Path) -> Result<Repository, Error> {
        let runner = self.runner.clone();
        let trace = self.trace.clone();
        let mut repository = Repository::find(directory, runner, trace)?;
        repository.walking = self.walking;
        repository.waiting = Waiting {
            signal: Arc::clone(&self.signal),
            no_wait: self.no_wait,
            log: self.log.clone(),
        };
        Ok(repository)
    }

    /// Finds the repository, for what is made from a checkout and its config.
    ///
    /// # Errors
    /// Fails when there is none, or it is bare and no worktree of it was entered.
    pub fn repository_with_checkout(&self) -> Result<Repository, Error> {
        let repository = self.repository()?;
        if repository.main == Main::Bare && repository.toplevel.is_none() {
            return Err(bare(&repository)?.into());
        }
        Ok(repository)
    }

    /// Checks that no agent calls a command that changes what belongs to no worktree.
    ///
    /// # Errors
    /// Fails inside a worktree.
    pub fn require_no_agent(&self, repository: &Repository, command: &str) -> Result<(), Error> {
        match self.caller {
            Caller::CommandLine => require_no_agent(repository, command),
            Caller::Library | Caller::ClientHook => Ok(()),
        }
    }

    /// Checks that no agent calls a command that changes another worktree than the agent's own.
    ///
    /// # Errors
    /// Fails inside another worktree.
    pub fn require_own(
        &self,
        repository: &Repository,
        changed: &WorktreeName,
    ) -> Result<(), Error> {
        match self.caller {
            Caller::CommandLine => {
                let command = self.command_line_naming(changed);
                require_own(repository, changed, &command)
            }
            Caller::Library | Caller::ClientHook => Ok(()),
        }
    }

    /// The command line with the name of the worktree, which may be left out inside the worktree.
    pub fn command_line_naming(&self, name: &WorktreeName) -> String {
        let words: Vec<&str> = self.command_line.split(' ').collect();
        // git, agentwt, and options that take no value
        let verb = words.iter().skip(2).position(|word| !word.starts_with('-'));
        let Some(verb) = verb.map(|position| position + 2) else {
            return self.command_line.clone();
        };
        let (start, arguments) = words.split_at(verb + 1);
        // what follows is the words of another program
        let mut own = arguments.iter().take_while(|word| **word != "--");
        if own.any(|word| *word == name.as_str()) {
            return self.command_line.clone();
        }
        [start, &[name.as_str()], arguments].concat().join(" ")
    }

    /// The command line with another value of an option.
    pub fn command_line_with(&self, option: &str, value: &str, replacement: &str) -> String {
        let replacement = shell_word(replacement);
        let mut line = self.command_line.clone();
        for between in [" ", "="] {
            let before = format!(" {option}{between}{} ", shell_word(value));
            let after = format!(" {option}{between}{replacement} ");
            // a blank at the end, so that whole words are compared
            line = format!("{line} ").replace(&before, &after);
            line.pop();
        }
        line
    }

    /// Takes notice of a signal between two steps.
    ///
    /// # Errors
    /// Fails when one came, so that the caller undoes what it did.
    pub fn check(&self) -> Result<(), Error> {
        self.interrupted()
            .map_or(Ok(()), |signal| Err(signal.into()))
    }

    /// The signal that came, if any.
    pub fn interrupted(&self) -> Option<Interrupted> {
        match self.signal.load(Ordering::SeqCst) {
            0 => None,
            signal => Some(Interrupted {
                signal: u8::try_from(signal).unwrap_or(2),
            }),
        }
    }

    /// Waits for something that may never come: a signal ends it.
    pub fn waiting<T>(&self, wait: impl FnOnce() -> T) -> T {
        self.idle.store(true, Ordering::SeqCst);
        let came = wait();
        self.idle.store(false, Ordering::SeqCst);
        came
    }

    /// Tells a step (`-v`).
    pub fn tell_step(&self, step: &str) {
        self.trace.report(&TraceEvent::Step(step));
    }

    /// Names each of these paths (`-v`).
    pub fn tell_each<P: Display>(&self, what: &str, paths: impl IntoIterator<Item = P>) {
        for path in paths {
            self.tell_step(&format!("{what} {path}"));
        }
    }

    /// The present, RFC 3339 in UTC, in whole seconds.
    pub fn now() -> String {
        timestamp(Duration::ZERO)
    }

    /// The path of a directory that a user named, absolute.
    pub fn resolve(&self, path: &Utf8Path) -> Utf8PathBuf {
        self.start.join(path)
    }
}

/// True if an error says that there is no repository.
pub fn is_nowhere(error: &Error) -> bool {
    matches!(error.find(), Some(GitError::NoRepository { .. }))
}

/// Makes the refusal of a bare repository: it names a worktree of plain git to go to, or makes one.
///
/// # Errors
/// Fails when git cannot list the worktrees.
pub fn bare(repository: &Repository) -> Result<Refusal, Error> {
    let ours = repository.root.join(WORKTREES);
    for entry in repository.worktree_list()? {
        if !entry.bare && !entry.path.starts_with(&ours) && files::is_directory(&entry.path) {
            let word = shell_word(entry.path.as_str());
            let help = format!("go to one of its worktrees: cd {word}");
            return Ok(Refusal::Bare { help });
        }
    }
    let head = repository.git.symbolic_ref_head()?.unwrap_or_default();
    let branch = branch_of(&head);
    let name = branch.rsplit('/').next().unwrap_or(branch);
    let beside = repository
        .common_dir
        .parent()
        .unwrap_or(&repository.common_dir);
    let place = shell_word(beside.join(name).as_str());
    let help = format!(
        "make a worktree and go there: git worktree add {place} {} && cd {place}",
        shell_word(branch)
    );
    Ok(Refusal::Bare { help })
}
