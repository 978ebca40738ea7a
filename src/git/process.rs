//! Starts `git`: the only place that does.
//!
//! [`Git`] says where (a directory, or a git directory and a work tree named outright), which
//! settings count ([`Mode`]) and what starts the program (a [`Runner`]). The methods that run one
//! git command each, named as git names it, are in the sibling files; all of them end in the
//! private `run`.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place that starts git and reads the environment for it"
)]

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};

use super::contention;
use super::environment::{
    ALWAYS, CONFIG_VARIABLES, HARDENED, HARDENED_VARIABLES, LOCAL_VARIABLES, OWN_IDENTITY,
};
use super::error::GitError;
use super::repo::{OpenRepos, require_files};
use super::runner::{Call, Output, Runner, SharedRunner};
use super::scratch::Quarantine;
use super::trace::{Trace, TraceEvent};

/// Says which of the user's settings a call of git obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Mode {
    /// As the user's own git: for what creates or changes something.
    User,
    /// Under the hardened settings of `settings.rs`: for what verification believes.
    Hardened,
}

/// Represents git for one directory; cheap to clone.
#[derive(Clone, Debug)]
pub struct Git {
    place: Place,
    mode: Mode,
    call: CallOptions,
    starter: Starter,
}

/// Says how git finds the repository: by discovery from the directory, or a git directory named
/// outright, which nothing in the worktree can redirect.
#[derive(Clone, Debug, Default)]
struct Place {
    dir: Utf8PathBuf,
    git_dir: Option<Utf8PathBuf>,
    work_tree: Option<Utf8PathBuf>,
}

/// Holds what is special about the calls of one [`Git`].
#[derive(Clone, Debug, Default)]
struct CallOptions {
    variables: Vec<(&'static str, String)>,
    quarantine: Option<Quarantine>,
    limit: Option<Duration>,
}

/// Holds what all clones of a [`Git`] share.
#[derive(Clone, Debug)]
struct Starter {
    runner: SharedRunner,
    trace: Trace,
    repos: Arc<OpenRepos>,
}

/// Holds a version of git: major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion(pub u32, pub u32, pub u32);

impl GitVersion {
    /// The oldest supported version: the oldest that the tests run with.
    pub const OLDEST: Self = Self(2, 39, 0);
    /// The first that reports `git symbolic-ref HEAD` to a hook (measured: 2.39 does not).
    pub const TELLS_SYMBOLIC_REFS: Self = Self(2, 46, 0);
    /// The first with configured hooks (`hook.<name>.command`, git-hook(1)).
    pub const CONFIGURED_HOOKS: Self = Self(2, 54, 0);

    /// Parses what `git version` prints (`git version 2.39.5 (Apple Git-154)`).
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let number = text
            .strip_prefix("git version ")?
            .split_whitespace()
            .next()?;
        let mut parts = number.split(['.', '-']).map(str::parse::<u32>);
        let major = parts.next()?.ok()?;
        let minor = parts.next()?.ok()?;
        let patch = parts.next().and_then(Result::ok).unwrap_or(0);
        Some(Self(major, minor, patch))
    }
}

impl fmt::Display for GitVersion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

impl Git {
    /// Finds git and checks that it is not too old.
    ///
    /// # Errors
    /// Fails when git cannot be started, or is older than [`GitVersion::OLDEST`].
    pub fn find(dir: &Utf8Path) -> Result<Self, GitError> {
        Self::unchecked(dir, SharedRunner::default()).checked()
    }

    /// Git whose version is checked at the first start: many commands only read files.
    #[must_use]
    pub fn unchecked(dir: &Utf8Path, runner: SharedRunner) -> Self {
        Self {
            place: Place {
                dir: dir.to_owned(),
                ..Place::default()
            },
            mode: Mode::User,
            call: CallOptions::default(),
            starter: Starter {
                runner,
                trace: Trace::default(),
                repos: Arc::default(),
            },
        }
    }

    /// The same git once its version is checked.
    ///
    /// # Errors
    /// As [`Git::find`].
    pub fn checked(self) -> Result<Self, GitError> {
        self.version()?;
        Ok(self)
    }

    /// The same git in another directory, from which git finds the repository.
    #[must_use]
    pub fn at(&self, dir: &Utf8Path) -> Self {
        let mut git = self.clone();
        git.place = Place {
            dir: dir.to_owned(),
            ..Place::default()
        };
        git
    }

    /// The same git on exactly this git directory and work tree, whatever the work tree says.
    #[must_use]
    pub fn on(&self, git_dir: &Utf8Path, work_tree: Option<&Utf8Path>) -> Self {
        let mut git = self.clone();
        git.place = Place {
            dir: work_tree.unwrap_or(git_dir).to_owned(),
            git_dir: Some(git_dir.to_owned()),
            work_tree: work_tree.map(ToOwned::to_owned),
        };
        git
    }

    /// The same git in another mode.
    #[must_use]
    pub fn with_mode(&self, mode: Mode) -> Self {
        Self {
            mode,
            ..self.clone()
        }
    }

    /// The same git, which reports every call to this trace.
    #[must_use]
    pub fn with_trace(mut self, trace: Trace) -> Self {
        self.starter.trace = trace;
        self
    }

    /// The same git with another index file (`GIT_INDEX_FILE`, git(1)).
    #[must_use]
    pub fn with_index(&self, file: &Utf8Path) -> Self {
        let mut git = self.clone();
        let index = ("GIT_INDEX_FILE", file.to_string());
        git.call.variables.push(index);
        git
    }

    /// The same git, which also finds the objects that a push has brought before they are accepted.
    #[must_use]
    pub fn with_quarantine(&self, quarantine: &Quarantine) -> Self {
        let mut git = self.clone();
        git.call.variables.extend(quarantine.variables());
        git.call.quarantine = Some(quarantine.clone());
        git
    }

    /// The same git for calls to a server: each may take this long, and none prompts the user.
    #[must_use]
    pub fn with_limit(&self, limit: Duration) -> Self {
        let mut git = self.clone();
        git.call.limit = Some(limit);
        let no_prompt = ("GIT_TERMINAL_PROMPT", "0".to_owned());
        git.call.variables.push(no_prompt);
        git
    }

    /// The same git with an identity of our own where the user has configured none.
    pub(super) fn with_fallback_identity(&self) -> Result<Self, GitError> {
        let mut git = self.clone();
        if self.run(&["var", "GIT_COMMITTER_IDENT"], None)?.status != Some(0) {
            let identity = OWN_IDENTITY
                .iter()
                .map(|(name, value)| (*name, (*value).to_owned()));
            git.call.variables.extend(identity);
        }
        Ok(git)
    }

    /// The git directory named outright, none where git has to find one.
    pub(super) fn named_git_dir(&self) -> Option<&Utf8Path> {
        self.place.git_dir.as_deref()
    }

    /// Which settings count.
    pub(super) const fn mode(&self) -> Mode {
        self.mode
    }

    /// The quarantine whose objects are found as well.
    pub(super) const fn quarantine(&self) -> Option<&Quarantine> {
        self.call.quarantine.as_ref()
    }

    /// The repositories that this run has open.
    pub(super) fn repos(&self) -> &OpenRepos {
        &self.starter.repos
    }

    /// The directory in which it runs.
    #[must_use]
    pub fn dir(&self) -> &Utf8Path {
        &self.place.dir
    }

    /// Opens a manual page as `git <command> --help` does; whether that worked.
    #[must_use]
    pub fn open_manual(page: &str) -> bool {
        duct::cmd("man", [page])
            .unchecked()
            .run()
            .is_ok_and(|output| output.status.success())
    }

    /// The version of another git than the one on the search path; none without an answer.
    #[must_use]
    pub fn version_of(program: &Utf8Path) -> Option<GitVersion> {
        let asked = duct::cmd(program.as_std_path(), ["version"])
            .stderr_null()
            .unchecked();
        GitVersion::parse(asked.read().ok()?.trim())
    }

    /// Whether the user lets git colour what goes to a terminal (`color.ui`, git-config(1)).
    #[must_use]
    pub fn wants_colour() -> bool {
        let value = duct::cmd("git", ["config", "--get", "color.ui"])
            .stderr_null()
            .unchecked();
        let value = value.read().unwrap_or_default();
        !matches!(value.trim(), "false" | "never" | "no" | "off" | "0")
    }

    /// The version of git, read once a run.
    ///
    /// # Errors
    /// Fails when git cannot be started, or is older than [`GitVersion::OLDEST`].
    pub fn version(&self) -> Result<GitVersion, GitError> {
        // a second caller waits for the answer of the first
        let mut known = self
            .starter
            .runner
            .version
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let found = match *known {
            Some(found) => found,
            None => {
                let quiet = self.clone().with_trace(Trace::default());
                let answer = quiet.output("find out the version of git", VERSION)?;
                let text = String::from_utf8_lossy(&answer);
                GitVersion::parse(text.trim()).unwrap_or(GitVersion(0, 0, 0))
            }
        };
        *known = Some(found);
        if found < GitVersion::OLDEST {
            return Err(GitError::TooOld { found });
        }
        Ok(found)
    }

    /// Runs a command that must succeed; its standard output.
    pub(super) fn output(&self, what: &str, args: &[&str]) -> Result<Vec<u8>, GitError> {
        self.output_with_input(what, args, None)
    }

    /// Runs a command that must succeed, with its standard input; its standard output.
    pub(super) fn output_with_input(
        &self,
        what: &str,
        args: &[&str],
        input: Option<&[u8]>,
    ) -> Result<Vec<u8>, GitError> {
        self.starter.trace.report(&TraceEvent::Step(what));
        let answer = self.run(args, input)?;
        if answer.status == Some(0) {
            Ok(answer.stdout)
        } else {
            Err(self.failed(what, args, &answer))
        }
    }

    /// Runs a command that must succeed; its first words are split at blanks.
    pub(super) fn perform(&self, what: &str, command: &str, more: &[&str]) -> Result<(), GitError> {
        self.output(what, &words(command, more)).map(drop)
    }

    /// As [`Git::perform`], with its standard input.
    pub(super) fn perform_with(
        &self,
        what: &str,
        command: &str,
        more: &[&str],
        input: &[u8],
    ) -> Result<(), GitError> {
        let args = words(command, more);
        self.output_with_input(what, &args, Some(input)).map(drop)
    }

    /// Runs a command that must succeed and print one line of UTF-8; the line.
    pub(super) fn line(&self, what: &str, args: &[&str]) -> Result<String, GitError> {
        let mut bytes = self.output(what, args)?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        String::from_utf8(bytes).map_err(|_| odd_output(what, args, "it is not UTF-8"))
    }

    /// Runs a command whose status 1 means "no"; its standard output, or none.
    pub(super) fn maybe(&self, what: &str, args: &[&str]) -> Result<Option<Vec<u8>>, GitError> {
        let answer = self.run(args, None)?;
        match answer.status {
            Some(0) => Ok(Some(answer.stdout)),
            Some(1) => Ok(None),
            Some(_) | None => Err(self.failed(what, args, &answer)),
        }
    }

    /// Runs a command, and again while only the lock of another git stops it.
    pub(super) fn run(&self, args: &[&str], input: Option<&[u8]>) -> Result<Output, GitError> {
        contention::patiently(args, || {
            if args != VERSION {
                self.version()?;
            }
            self.start(args, input)
        })
    }

    fn start(&self, args: &[&str], input: Option<&[u8]>) -> Result<Output, GitError> {
        if let Some(git_dir) = &self.place.git_dir {
            // git would wait for ever for the other end of a FIFO
            require_files(git_dir)?;
        }
        let settings = match self.mode {
            Mode::User => ALWAYS,
            Mode::Hardened => HARDENED,
        };
        let settings = settings.iter().flat_map(|setting| ["-c", setting]);
        let words: Vec<OsString> = settings
            .chain(args.iter().copied())
            .map(Into::into)
            .collect();
        let call = Call {
            args: &words,
            dir: &self.place.dir,
            environment: &self.environment(),
            input,
            timeout: self.call.limit,
        };
        let began = Instant::now();
        let output = self.starter.runner.run(&call);
        let output = output.map_err(|error| self.not_started(error))?;
        self.starter.trace.report(&TraceEvent::Command(
            &words[words.len() - args.len()..],
            began.elapsed(),
        ));
        Ok(output)
    }

    fn not_started(&self, error: std::io::Error) -> GitError {
        match (self.call.limit, error.kind()) {
            (Some(limit), std::io::ErrorKind::TimedOut) => GitError::TimedOut { limit },
            // a missing directory looks like a missing program
            (_, std::io::ErrorKind::NotFound) if !self.place.dir.is_dir() => {
                let dir = self.place.dir.to_string();
                GitError::NoDirectory { dir }
            }
            (_, _) => GitError::Missing(error),
        }
    }

    /// The error of a call that ended with an unexpected status.
    pub(super) fn failed(&self, what: &str, args: &[&str], answer: &Output) -> GitError {
        let said = String::from_utf8_lossy(&answer.stderr);
        let lines: Vec<&str> = said
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty() && !l.starts_with("hint:"))
            .collect();
        // the first lines say what is wrong, the last what became of the command
        let words = match lines.as_slice() {
            [] => "git said nothing".to_owned(),
            [first @ .., last] if first.len() > 5 => {
                let more = format!("… and {} more lines", first.len() - 3);
                [&first[..3], &[&more, last]].concat().join("\n  ")
            }
            all => all.join("\n  "),
        };
        // with the directory: typed elsewhere, `git reset --hard` would throw work away
        let mut command = vec!["-C".to_owned(), self.place.dir.to_string()];
        command.extend(args.iter().map(|arg| (*arg).to_owned()));
        GitError::Failed {
            what: what.to_owned(),
            argv: command,
            status: answer.status,
            words,
        }
    }

    /// Our own environment without what points elsewhere, and with what says where.
    fn environment(&self) -> Vec<(OsString, OsString)> {
        let is_in = |list: &[&str], name: &OsStr| list.iter().any(|one| name == *one);
        let hardened = self.mode == Mode::Hardened;
        let mut all: Vec<(OsString, OsString)> = std::env::vars_os()
            .filter(|(name, _)| {
                !(is_in(LOCAL_VARIABLES, name) || hardened && is_in(CONFIG_VARIABLES, name))
            })
            .collect();
        let mut set = |name: &str, value: &str| all.push((name.into(), value.into()));
        set("LC_ALL", "C");
        set("GIT_OPTIONAL_LOCKS", "0");
        let variables = HARDENED_VARIABLES.iter().filter(|_| hardened);
        variables.for_each(|(name, value)| set(name, value));
        if let Some(git_dir) = &self.place.git_dir {
            set("GIT_DIR", git_dir.as_str());
        }
        if let Some(work_tree) = &self.place.work_tree {
            set("GIT_WORK_TREE", work_tree.as_str());
        }
        self.call
            .variables
            .iter()
            .for_each(|(name, value)| set(name, value));
        all
    }
}

/// The words of a command, split at blanks, and more that may have blanks in them.
pub(super) fn words<'a>(command: &'a str, more: &[&'a str]) -> Vec<&'a str> {
    let words = command.split_ascii_whitespace();
    words.chain(more.iter().copied()).collect()
}

/// The command that prints the version.
const VERSION: &[&str] = &["version"];

/// The error of a call whose output is not what git documents.
pub(super) fn odd_output(what: &str, args: &[&str], detail: &str) -> GitError {
    GitError::Output {
        what: what.to_owned(),
        argv: args.join(" "),
        detail: detail.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_all_vendors_are_read() {
        for (text, version) in [
            ("git version 2.39.5", GitVersion(2, 39, 5)),
            ("git version 2.39.5 (Apple Git-154)", GitVersion(2, 39, 5)),
            ("git version 2.55.GIT", GitVersion(2, 55, 0)),
            ("git version 2.47.1.windows.2", GitVersion(2, 47, 1)),
            ("git version 2.54.0-rc1", GitVersion(2, 54, 0)),
        ] {
            assert_eq!(GitVersion::parse(text), Some(version), "{text}");
        }
        assert_eq!(GitVersion::parse("not git"), None);
    }
}
