//! Names what can go wrong when git is asked.

use std::fmt;
use std::io::ErrorKind;
use std::time::Duration;

use crate::git::lock_message::lock_file;
use crate::git::version::GitVersion;
use crate::words::path::shell_word;

/// Why git gave no usable answer.
#[derive(Debug, thiserror::Error, miette::Diagnostic)]
pub enum GitError {
    /// There is no `git` on the search path.
    #[error("cannot start `git`: {0}")]
    #[diagnostic(code(agentwt::git::missing))]
    #[diagnostic(help("install git, or put it on PATH, then try `git --version`"))]
    Missing(std::io::Error),
    /// The directory in which it was to run is not there.
    #[error("cannot run git in {dir}: there is no such directory any more")]
    #[diagnostic(code(agentwt::git::no_directory))]
    #[diagnostic(help("see what is there with `git agentwt list`"))]
    NoDirectory {
        /// The directory.
        dir: String,
    },
    /// The git found is older than [`GitVersion::OLDEST`].
    #[error(
        "git {found} is too old: git-agentwt needs {oldest} or newer",
        oldest = GitVersion::OLDEST
    )]
    #[diagnostic(code(agentwt::git::too_old))]
    #[diagnostic(help("upgrade git, then check with `git --version`"))]
    TooOld {
        /// The version that was found.
        found: GitVersion,
    },
    /// Git ended with an unexpected status.
    #[error("cannot {what}: {words}")]
    #[diagnostic(code(agentwt::git::failed), help("{}", advice(argv, *status, words)))]
    Failed {
        /// What was attempted, as a verb phrase.
        what: String,
        /// The argument list.
        argv: Vec<String>,
        /// The status, none when a signal ended it.
        status: Option<i32>,
        /// Git's own words, never empty.
        words: String,
    },
    /// Another git holds the lock of a file of settings that we change.
    #[error("cannot {what}: could not lock config file {file}: File exists")]
    #[diagnostic(code(agentwt::git::failed), help("{}", advice_on_lock(&format!("{file}.lock"))))]
    Locked {
        /// What was attempted, as a verb phrase.
        what: &'static str,
        /// The file.
        file: String,
    },
    /// An object, a file of git's or what git printed could not be read.
    #[error("cannot read {what}: {detail}")]
    #[diagnostic(code(agentwt::git::read), help("check the repository with `git fsck`"))]
    Read {
        /// The object or file.
        what: String,
        /// The fact that stopped it.
        detail: String,
    },
    /// An object could not be written.
    #[error("cannot write {what}: {detail}")]
    #[diagnostic(code(agentwt::git::write))]
    #[diagnostic(help(
        "check the repository with `git fsck`, and the space on the disk with `df -h .`"
    ))]
    Write {
        /// The object.
        what: String,
        /// What the system said, or what else stopped it.
        detail: String,
        /// The system's error, if it is one.
        kind: Option<ErrorKind>,
    },
    /// The user's post-checkout hook ended with a status that means no.
    #[error("your post-checkout hook failed in the new worktree: {words}")]
    #[diagnostic(code(agentwt::git::hook))]
    #[diagnostic(help(
        "mend it, or add without your hooks: git -c core.hooksPath=/dev/null agentwt add …"
    ))]
    Hook {
        /// What it said, never empty.
        words: String,
    },
    /// A call that asks a server took too long, and was ended.
    #[error("git gave no answer within {} s", limit.as_secs_f64())]
    #[diagnostic(code(agentwt::git::timed_out))]
    TimedOut {
        /// How long it was given.
        limit: Duration,
    },
    /// The directory is in no repository.
    #[error("not in a git repository: {dir}")]
    #[diagnostic(code(agentwt::git::no_repository))]
    #[diagnostic(help("run it inside a repository, or name one with `git agentwt -C <dir> …`"))]
    NoRepository {
        /// Where was looked.
        dir: String,
    },
}

impl GitError {
    /// True if a git was killed, which leaves its locks behind: the one that we started, or one
    /// that it started itself.
    pub fn was_killed(&self) -> bool {
        match self {
            Self::Failed { status: None, .. } => true,
            Self::Failed { words, .. } => words.contains("died of signal"),
            _ => false,
        }
    }
}

/// Says how to find who holds the lock that git named, or else how to see the failure again.
fn advice(argv: &[String], status: Option<i32>, words: &str) -> String {
    match lock_file(words) {
        Some(file) => advice_on_lock(&file),
        None => advice_to_repeat(argv, status),
    }
}

fn advice_on_lock(file: &str) -> String {
    let word = shell_word(file);
    format!(
        "another git holds {file}: see which with `fuser -v {word}`, then try again; if none does, \
         one was killed and left it, and it may go once no git runs here: rm {word}"
    )
}

fn advice_to_repeat(argv: &[String], status: Option<i32>) -> String {
    let end = match status {
        Some(status) => format!("status {status}"),
        None => "a signal".to_owned(),
    };
    let mut command = "git".to_owned();
    for argument in argv {
        command.push(' ');
        command.push_str(&shell_word(argument));
    }
    format!("git ended with {end}; to see it again: {command}")
}

/// Makes the error of a file or an object that cannot be read.
pub(super) fn unreadable(
    what: &(impl fmt::Display + ?Sized),
    detail: &(impl fmt::Display + ?Sized),
) -> GitError {
    GitError::Read {
        what: what.to_string(),
        detail: detail.to_string(),
    }
}

/// As [`unreadable`], for `map_err`: with all that the error says of its causes.
pub(super) fn reading<E: std::error::Error>(what: impl fmt::Display) -> impl FnOnce(E) -> GitError {
    move |error| {
        let first: &dyn std::error::Error = &error;
        let chain = std::iter::successors(Some(first), |cause| cause.source());
        unreadable(&what, &causes(chain))
    }
}

/// Joins what an error and its causes say, each thing once.
pub(super) fn causes(chain: impl Iterator<Item = impl fmt::Display>) -> String {
    let mut texts: Vec<String> = Vec::new();
    for cause in chain {
        let text = cause.to_string();
        if !text.is_empty() && !texts.contains(&text) {
            texts.push(text);
        }
    }
    texts.join(": ")
}

/// Makes the error of a write: what the system said, where it is the cause.
pub(super) fn unwritable(what: &str, error: &(dyn std::error::Error + 'static)) -> GitError {
    let cause = std::iter::successors(Some(error), |error| error.source())
        .filter_map(|error| error.downcast_ref::<std::io::Error>())
        // the system knows no error of our own ("it changed while it was read")
        .find(|cause| cause.kind() != ErrorKind::Other);
    let detail = match cause {
        Some(cause) => cause.to_string(),
        None => error.to_string(),
    };
    GitError::Write {
        what: what.to_owned(),
        detail,
        kind: cause.map(std::io::Error::kind),
    }
}
