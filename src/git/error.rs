//! Lists what can go wrong when git is asked.

use std::fmt;
use std::io::ErrorKind;
use std::time::Duration;

use miette::Diagnostic;

use super::contention;
use super::process::GitVersion;

/// Says why git gave no usable answer.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// There is no `git` on the search path.
    #[error("cannot start `git`: {0}")]
    Missing(std::io::Error),
    /// The directory in which it was to run is not there.
    #[error("cannot run git in {dir}: there is no such directory any more")]
    NoDirectory {
        /// The directory.
        dir: String,
    },
    /// The git found is older than [`GitVersion::OLDEST`].
    #[error("git {found} is too old: git-agentwt needs {oldest} or newer", oldest = GitVersion::OLDEST)]
    TooOld {
        /// The version that was found.
        found: GitVersion,
    },
    /// Git ended with an unexpected status.
    #[error("cannot {what}: {words}")]
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
    /// Git succeeded but said something that this program does not understand.
    #[error("cannot {what}: unexpected output from `git {argv}`: {detail}")]
    Output {
        /// What was attempted, as a verb phrase.
        what: String,
        /// The argument list, joined.
        argv: String,
        /// What is wrong with it.
        detail: String,
    },
    /// An object or a file of git's could not be read.
    #[error("cannot read {what}: {detail}")]
    Read {
        /// The object or file.
        what: String,
        /// The fact that stopped it.
        detail: String,
    },
    /// An object could not be written.
    #[error("cannot write {what}: {detail}")]
    Write {
        /// The object.
        what: String,
        /// What the system said, or what else stopped it.
        detail: String,
        /// The system's error, if it is one.
        kind: Option<ErrorKind>,
    },
    /// A hook of the user's ended with a status that means no.
    #[error("your {hook} hook failed in the new worktree: {words}")]
    Hook {
        /// Which hook (githooks(5)).
        hook: &'static str,
        /// What it said, never empty.
        words: String,
    },
    /// A call that asks a server took too long, and was ended.
    #[error("git gave no answer within {}", in_seconds(*limit))]
    TimedOut {
        /// How long it was given.
        limit: Duration,
    },
    /// The directory is in no repository.
    #[error("not in a git repository: {dir}")]
    NoRepository {
        /// Where was looked.
        dir: String,
    },
}

impl GitError {
    /// Whether git's words contain a text: only for errors that git reports in no other way.
    #[must_use]
    pub fn mentions(&self, text: &str) -> bool {
        match self {
            Self::Failed { words, .. } => words.contains(text),
            Self::Missing(_)
            | Self::NoDirectory { .. }
            | Self::TooOld { .. }
            | Self::Output { .. }
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::Hook { .. }
            | Self::TimedOut { .. }
            | Self::NoRepository { .. } => false,
        }
    }

    const fn name(&self) -> &'static str {
        match self {
            Self::Missing(_) => "agentwt::git::missing",
            Self::NoDirectory { .. } => "agentwt::git::no_directory",
            Self::TooOld { .. } => "agentwt::git::too_old",
            Self::Failed { .. } => "agentwt::git::failed",
            Self::Output { .. } => "agentwt::git::output",
            Self::Read { .. } => "agentwt::git::read",
            Self::Write { .. } => "agentwt::git::write",
            Self::Hook { .. } => "agentwt::git::hook",
            Self::TimedOut { .. } => "agentwt::git::timed_out",
            Self::NoRepository { .. } => "agentwt::git::no_repository",
        }
    }

    fn advice(&self) -> Option<String> {
        match self {
            Self::Missing(_) => {
                Some("install git, or put it on PATH, then try `git --version`".to_owned())
            }
            Self::NoDirectory { .. } => {
                Some("see what is there with `git agentwt list`".to_owned())
            }
            Self::TooOld { .. } => Some("upgrade git, then check with `git --version`".to_owned()),
            Self::Failed { words, .. } if holder(words).is_some() => holder(words),
            Self::Failed { argv, status, .. } => {
                let status =
                    status.map_or_else(|| "a signal".to_owned(), |s| format!("status {s}"));
                let words: Vec<String> = argv.iter().map(|word| shell_word(word)).collect();
                Some(format!(
                    "git ended with {status}; to see it again: git {}",
                    words.join(" ")
                ))
            }
            Self::Output { .. } | Self::TimedOut { .. } => None,
            Self::Write { kind, .. } if is_full(*kind) => {
                Some("free some space (`df -h .`), then try again".to_owned())
            }
            Self::Read { .. } | Self::Write { .. } => {
                Some("check the repository with `git fsck`".to_owned())
            }
            Self::Hook { .. } => Some(
                "mend it, or add without your hooks: git -c core.hooksPath=/dev/null agentwt add …"
                    .to_owned(),
            ),
            Self::NoRepository { .. } => Some(
                "run it inside a repository, or name one with `git agentwt -C <dir> …`".to_owned(),
            ),
        }
    }

    /// Whether a git was killed, which leaves its locks behind: the one that we started, or one
    /// that it started itself.
    #[must_use]
    pub fn was_killed(&self) -> bool {
        match self {
            Self::Failed { status, words, .. } => {
                status.is_none() || words.contains("died of signal")
            }
            Self::Missing(_)
            | Self::NoDirectory { .. }
            | Self::TooOld { .. }
            | Self::NoRepository { .. }
            | Self::Output { .. }
            | Self::Hook { .. }
            | Self::Read { .. }
            | Self::Write { .. }
            | Self::TimedOut { .. } => false,
        }
    }

    /// Whether a lock file stopped git, and stayed for as long as it was waited for.
    #[must_use]
    pub fn is_locked(&self) -> bool {
        matches!(self, Self::Failed { words, .. } if contention::lock_file(words).is_some())
    }
}

const fn is_full(kind: Option<ErrorKind>) -> bool {
    matches!(
        kind,
        Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
    )
}

/// How to find who holds the lock that git named; none when it named none.
fn holder(words: &str) -> Option<String> {
    let file = contention::lock_file(words)?;
    let word = shell_word(&file);
    Some(format!(
        "another git holds {file}: see which with `fuser -v {word}`, then try again; if none does, one was killed and left it, and it may go once no git runs here: rm {word}"
    ))
}

/// A time for people: `60 s`, `0.5 s`.
fn in_seconds(time: Duration) -> String {
    format!("{} s", time.as_secs_f64())
}

/// A word as a shell reads it.
fn shell_word(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=+.,/:@%^{}".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

impl Diagnostic for GitError {
    fn code<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        Some(Box::new(self.name()))
    }

    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.advice()
            .map(|text| Box::new(text) as Box<dyn fmt::Display>)
    }
}

/// The error of a file or an object that cannot be read.
pub(super) fn unreadable(
    what: &(impl fmt::Display + ?Sized),
    detail: &(impl fmt::Display + ?Sized),
) -> GitError {
    GitError::Read {
        what: what.to_string(),
        detail: detail.to_string(),
    }
}
