//! Prepares each call of `git`: arguments, environment, settings; `runner.rs` starts it.
//!
//! [`Git`] says where (a directory, or a git directory and a work tree named outright), which
//! settings count ([`GitMode`]) and what starts the program (a [`Runner`]). [`Git::perform`] runs any
//! command; what reads the output of a command is a method of a sibling file.
#![expect(clippy::disallowed_methods, reason = "starts git, in its environment")]

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::sync::{Arc, LazyLock, PoisonError};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};

use crate::git::environment::{CONFIG_VARIABLES, GitMode, HARDENED_VARIABLES, LOCAL_VARIABLES};
use crate::git::error::{GitError, unreadable};
use crate::git::git_dir::{common_dir, require_file, require_files};
use crate::git::quarantine::Quarantine;
use crate::git::repo::OpenRepos;
use crate::git::retry::retry_on_lock;
use crate::git::runner::{Call, Output, Runner, SharedRunner, Trace, TraceEvent};
use crate::git::version::GitVersion;

/// Represents git for one directory, from which git finds the repository, or for a git directory
/// named outright, which nothing in the worktree can redirect. Cheap to clone.
#[derive(Clone, Debug, Default)]
pub struct Git {
    /// The directory in which it runs.
    pub dir: Utf8PathBuf,
    /// The git directory, where it is named outright.
    pub(super) named: Option<Utf8PathBuf>,
    work_tree: Option<Utf8PathBuf>,
    pub(super) mode: GitMode,
    variables: Vec<(&'static str, String)>,
    /// The quarantine whose objects are found as well.
    pub(super) quarantine: Option<Quarantine>,
    limit: Option<Duration>,
    runner: SharedRunner,
    trace: Trace,
    /// The repositories that this run has open.
    pub(super) repos: Arc<OpenRepos>,
}

impl Git {
    /// Git whose version is checked at the first start: many commands only read files.
    pub fn unchecked(dir: &Utf8Path, runner: SharedRunner) -> Self {
        Self {
            dir: dir.to_owned(),
            runner,
            ..Self::default()
        }
    }

    /// The same git in another directory, from which git finds the repository.
    pub fn at(&self, dir: &Utf8Path) -> Self {
        Self {
            dir: dir.to_owned(),
            named: None,
            work_tree: None,
            ..self.clone()
        }
    }

    /// The same git on exactly this git directory and work tree, whatever the work tree says.
    pub fn on(&self, git_dir: &Utf8Path, work_tree: Option<&Utf8Path>) -> Self {
        Self {
            dir: work_tree.unwrap_or(git_dir).to_owned(),
            named: Some(git_dir.to_owned()),
            work_tree: work_tree.map(ToOwned::to_owned),
            ..self.clone()
        }
    }

    /// The same git in another mode.
    pub fn with_mode(&self, mode: GitMode) -> Self {
        let git = self.clone();
        Self { mode, ..git }
    }

    /// The same git, which reports every call to this trace.
    pub fn with_trace(self, trace: Trace) -> Self {
        Self { trace, ..self }
    }

    pub(super) fn with(&self, variables: impl IntoIterator<Item = (&'static str, String)>) -> Self {
        let mut git = self.clone();
        git.variables.extend(variables);
        git
    }

    /// The same git with another index file (`GIT_INDEX_FILE`, git(1)).
    pub fn with_index(&self, file: &Utf8Path) -> Self {
        self.with([("GIT_INDEX_FILE", file.to_string())])
    }

    /// The same git, which also finds the objects that a push has brought before they are accepted.
    pub fn with_quarantine(&self, quarantine: &Quarantine) -> Self {
        let git = self.with(quarantine.variables());
        let quarantine = Some(quarantine.clone());
        Self { quarantine, ..git }
    }

    /// The same git for calls to a server: each may take this long, and none prompts the user.
    pub fn with_limit(&self, limit: Duration) -> Self {
        let git = self.with([("GIT_TERMINAL_PROMPT", "0".to_owned())]);
        let limit = Some(limit);
        Self { limit, ..git }
    }

    /// Opens a manual page as `git <command> --help` does; whether that worked.
    pub fn open_manual(page: &str) -> bool {
        let shown = duct::cmd("man", [page]).unchecked().run();
        shown.is_ok_and(|output| output.status.success())
    }

    /// Shows bytes in the user's pager, which git starts and chooses (`GIT_PAGER`, `core.pager`, `PAGER`,
    /// git-var(1)); whether git could be started. Without a repository: an agent could name a program
    /// in its settings.
    pub fn page(bytes: &[u8]) -> bool {
        // of what only prints its input, git pages aliases
        let shown = duct::cmd(
            "git",
            ["-p", "-c", "alias.agentwt-page=!cat", "agentwt-page"],
        );
        let shown = shown.stdin_bytes(bytes).env("GIT_DIR", "/dev/null");
        !bytes.is_empty() && shown.unchecked().run().is_ok()
    }

    /// Whether the user lets git colour what goes to a terminal (`color.ui`, git-config(1)).
    pub fn wants_colour() -> bool {
        static WANTED: LazyLock<bool> = LazyLock::new(|| {
            let asked = duct::cmd("git", ["config", "--get", "color.ui"]);
            let value = asked.stderr_null().unchecked().read();
            let value = value.unwrap_or_default();
            !matches!(value.trim(), "false" | "never" | "no" | "off" | "0")
        });
        *WANTED
    }

    /// The version of git, read once a run.
    ///
    /// # Errors
    /// Fails when git cannot be started, or is older than [`GitVersion::OLDEST`].
    pub fn version(&self) -> Result<GitVersion, GitError> {
        // a second caller waits for the answer of the first
        let known = self.runner.version.lock();
        let mut known = known.unwrap_or_else(PoisonError::into_inner);
        let found = match *known {
            Some(found) => found,
            None => {
                let quiet = self.clone().with_trace(Trace::default());
                let answer = quiet.output("find out the version of git", VERSION, None)?;
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

    /// Runs a command that must succeed, whose first words are split at blanks; its standard output.
    ///
    /// # Errors
    /// Fails when git cannot be started, or ends with another status than 0.
    pub fn perform(&self, what: &str, command: &str, more: &[&str]) -> Result<Vec<u8>, GitError> {
        self.output(what, &words(command, more), None)
    }

    /// As [`Git::perform`], with its standard input.
    ///
    /// # Errors
    /// As [`Git::perform`].
    pub fn perform_with(
        &self,
        what: &str,
        command: &str,
        more: &[&str],
        input: &[u8],
    ) -> Result<Vec<u8>, GitError> {
        self.output(what, &words(command, more), Some(input))
    }

    /// Runs a command that must succeed; its standard output.
    fn output(&self, what: &str, args: &[&str], input: Option<&[u8]>) -> Result<Vec<u8>, GitError> {
        self.trace.report(&TraceEvent::Step(what));
        let answer = self.run(args, input)?;
        if answer.status == Some(0) {
            Ok(answer.stdout)
        } else {
            Err(self.failed(what, args, &answer))
        }
    }

    /// Runs a command that must succeed and print one line of UTF-8; the line.
    pub(super) fn line(&self, what: &str, args: &[&str]) -> Result<String, GitError> {
        let mut bytes = self.output(what, args, None)?;
        if bytes.last() == Some(&b'\n') {
            bytes.pop();
        }
        String::from_utf8(bytes).map_err(|_| odd_output(args[0], "it is not UTF-8"))
    }

    /// Runs a command whose status 1 means "no"; its standard output, or none.
    pub(super) fn maybe(
        &self,
        what: &str,
        args: &[&str],
        input: Option<&[u8]>,
    ) -> Result<Option<Vec<u8>>, GitError> {
        let answer = self.run(args, input)?;
        match answer.status {
            Some(0) => Ok(Some(answer.stdout)),
            Some(1) => Ok(None),
            Some(_) | None => Err(self.failed(what, args, &answer)),
        }
    }

    /// Runs a command, and again while only the lock of another git stops it.
    pub(super) fn run(&self, args: &[&str], input: Option<&[u8]>) -> Result<Output, GitError> {
        retry_on_lock(args, || {
            if args != VERSION {
                self.version()?;
            }
            self.start(args, input)
        })
    }

    fn start(&self, args: &[&str], input: Option<&[u8]>) -> Result<Output, GitError> {
        if let Some(git_dir) = &self.named {
            // git would wait for ever for the other end of a FIFO
            require_files(git_dir)?;
            let common_dir = common_dir(git_dir).unwrap_or_else(|| git_dir.clone());
            require_file(common_dir.join("info/exclude"))?;
        }
        let settings = self.mode.settings().split_ascii_whitespace();
        let settings = settings.flat_map(|setting| ["-c", setting]);
        let words = settings.chain(args.iter().copied()).map(Into::into);
        let words: Vec<OsString> = words.collect();
        let call = Call {
            args: &words,
            dir: &self.dir,
            environment: &self.environment(),
            input,
            timeout: self.limit,
        };
        let began = Instant::now();
        let output = self.runner.run(&call);
        let output = output.map_err(|error| match (self.limit, error.kind()) {
            (Some(limit), ErrorKind::TimedOut) => GitError::TimedOut { limit },
            // a missing directory looks like a missing program
            (_, ErrorKind::NotFound) if !self.dir.is_dir() => GitError::NoDirectory {
                dir: self.dir.to_string(),
            },
            (_, _) => GitError::Missing(error),
        })?;
        let words = &words[words.len() - args.len()..];
        let event = TraceEvent::Command(words, began.elapsed());
        self.trace.report(&event);
        Ok(output)
    }

    /// The error of a call that ended with an unexpected status.
    pub(super) fn failed(&self, what: &str, args: &[&str], answer: &Output) -> GitError {
        let said = String::from_utf8_lossy(&answer.stderr);
        let lines = said.lines().map(str::trim);
        let lines = lines.filter(|l| !l.is_empty() && !l.starts_with("hint:"));
        let lines: Vec<&str> = lines.collect();
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
        let mut command = vec!["-C".to_owned(), self.dir.to_string()];
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
        let is_in = |list: &str, name: &OsStr| list.split_ascii_whitespace().any(|one| name == one);
        let hardened = self.mode == GitMode::Hardened;
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
        if let Some(git_dir) = &self.named {
            set("GIT_DIR", git_dir.as_str());
        }
        if let Some(work_tree) = &self.work_tree {
            set("GIT_WORK_TREE", work_tree.as_str());
        }
        let variables = self.variables.iter();
        variables.for_each(|(name, value)| set(name, value));
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
pub(super) fn odd_output(command: &str, detail: &str) -> GitError {
    unreadable(&format!("what `git {command}` printed"), detail)
}
