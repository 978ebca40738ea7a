//! Prepares each call of `git`: arguments, environment, settings; `runner.rs` starts it.
//!
//! [`Git`] says where (a directory, or a git directory and a work tree named outright), which
//! settings count ([`GitMode`]) and what starts the program (a [`Runner`]). [`Git::perform`] runs
//! any command; what reads the output of a command is a method of a sibling file.
#![expect(clippy::disallowed_methods, reason = "starts git, in its environment")]

use std::ffi::{OsStr, OsString};
use std::io::ErrorKind;
use std::sync::{Arc, LazyLock, PoisonError};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};

use crate::git::environment::{
    ALWAYS_SET, CONFIG_VARIABLES, GitMode, HARDENED_VARIABLES, LOCAL_VARIABLES,
};
use crate::git::error::{GitError, unreadable};
use crate::git::git_dir::{common_dir, refuse_special_file, refuse_special_files};
use crate::git::quarantine::Quarantine;
use crate::git::repo::OpenRepos;
use crate::git::retry::retry_on_lock;
use crate::git::runner::{Call, Output, Runner, SharedRunner, Trace, TraceEvent};
use crate::git::version::GitVersion;

/// Git for one directory, from which git finds the repository, or for a git directory
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

    /// Opens a manual page as `git <command> --help` does; true if that worked.
    pub fn open_manual(page: &str) -> bool {
        match duct::cmd("man", [page]).unchecked().run() {
            Ok(output) => output.status.success(),
            Err(_) => false,
        }
    }

    /// Shows bytes in the user's pager, which git starts and chooses (`GIT_PAGER`, `core.pager`,
    /// `PAGER`, git-var(1)); true if git could be started. Without a repository: an agent could
    /// name a program in its settings.
    pub fn page(bytes: &[u8]) -> bool {
        if bytes.is_empty() {
            return false;
        }
        // of what only prints its input, git pages aliases
        let args = ["-p", "-c", "alias.agentwt-page=!cat", "agentwt-page"];
        duct::cmd("git", args)
            .stdin_bytes(bytes)
            .env("GIT_DIR", "/dev/null")
            .unchecked()
            .run()
            .is_ok()
    }

    /// True if the user lets git colour what goes to a terminal (`color.ui`, git-config(1)).
    pub fn wants_colour() -> bool {
        static WANTED: LazyLock<bool> = LazyLock::new(|| {
            let value = duct::cmd("git", ["config", "--get", "color.ui"])
                .stderr_null()
                .unchecked()
                .read()
                .unwrap_or_default();
            !matches!(value.trim(), "false" | "never" | "no" | "off" | "0")
        });
        *WANTED
    }

    /// Returns the version of git, read once a run.
    ///
    /// # Errors
    /// Fails when git cannot be started, or is older than [`GitVersion::OLDEST`].
    pub fn version(&self) -> Result<GitVersion, GitError> {
        // a second caller waits for the answer of the first
        let mut cache = self
            .runner
            .version
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let version = match *cache {
            Some(version) => version,
            None => self.ask_version()?,
        };
        *cache = Some(version);
        if version < GitVersion::OLDEST {
            return Err(GitError::TooOld { found: version });
        }
        Ok(version)
    }

    fn ask_version(&self) -> Result<GitVersion, GitError> {
        let untraced = self.clone().with_trace(Trace::default());
        let output = untraced.output("find out the version of git", VERSION, None)?;
        let text = String::from_utf8_lossy(&output);
        Ok(GitVersion::parse(text.trim()).unwrap_or(GitVersion(0, 0, 0)))
    }

    /// Runs a command that must succeed, whose first words are split at blanks; its standard
    /// output.
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
        let output = self.run(args, input)?;
        if output.status != Some(0) {
            return Err(self.failed(what, args, &output));
        }
        Ok(output.stdout)
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
        let output = self.run(args, input)?;
        match output.status {
            Some(0) => Ok(Some(output.stdout)),
            Some(1) => Ok(None),
            Some(_) | None => Err(self.failed(what, args, &output)),
        }
    }

    /// Runs a command, and again while only the lock of another git stops it.
    pub(super) fn run(&self, args: &[&str], input: Option<&[u8]>) -> Result<Output, GitError> {
        retry_on_lock(args, || {
            if args != VERSION {
                self.version()?;
            }
            self.run_once(args, input)
        })
    }

    /// Runs a command, whatever its status.
    fn run_once(&self, args: &[&str], input: Option<&[u8]>) -> Result<Output, GitError> {
        if let Some(git_dir) = &self.named {
            // git would wait for ever for the other end of a FIFO
            refuse_special_files(git_dir)?;
            let common_dir = common_dir(git_dir).unwrap_or_else(|| git_dir.clone());
            refuse_special_file(common_dir.join("info/exclude"))?;
        }
        let words = self.with_settings(args);
        let environment = self.environment();
        let call = Call {
            args: &words,
            dir: &self.dir,
            environment: &environment,
            input,
            timeout: self.limit,
        };
        let began = Instant::now();
        let output = self
            .runner
            .run(&call)
            .map_err(|error| self.not_started(error))?;
        // without the settings before them
        let words_of_args = &words[words.len() - args.len()..];
        let event = TraceEvent::Command(words_of_args, began.elapsed());
        self.trace.report(&event);
        Ok(output)
    }

    /// Returns the words of a call: the settings of the mode, and its arguments.
    fn with_settings(&self, args: &[&str]) -> Vec<OsString> {
        let mut words = Vec::new();
        for setting in self.mode.settings().split_ascii_whitespace() {
            words.push("-c".into());
            words.push(setting.into());
        }
        for argument in args {
            words.push(argument.into());
        }
        words
    }

    /// Makes the error of a call that did not come to its end.
    fn not_started(&self, error: std::io::Error) -> GitError {
        match error.kind() {
            ErrorKind::TimedOut if let Some(limit) = self.limit => GitError::TimedOut { limit },
            // a missing directory looks like a missing program
            ErrorKind::NotFound if !self.dir.is_dir() => GitError::NoDirectory {
                dir: self.dir.to_string(),
            },
            _ => GitError::Missing(error),
        }
    }

    /// Makes the error of a call that ended with an unexpected status.
    pub(super) fn failed(&self, what: &str, args: &[&str], output: &Output) -> GitError {
        // with the directory: typed elsewhere, `git reset --hard` would throw work away
        let mut whole = vec!["-C".to_owned(), self.dir.to_string()];
        for argument in args {
            whole.push((*argument).to_owned());
        }
        GitError::Failed {
            what: what.to_owned(),
            argv: whole,
            status: output.status,
            words: shortened(&String::from_utf8_lossy(&output.stderr)),
        }
    }

    /// Returns the environment of git: our own, without the variables that lead git to another
    /// repository (hardened: or to other settings), and with those that say where this repository
    /// is. What git says is in English, as it is read here; for all else, hooks and filters have the
    /// locale of the user. Where a name is there twice, its last value counts.
    fn environment(&self) -> Vec<(OsString, OsString)> {
        let is_hardened = self.mode == GitMode::Hardened;
        let mut variables: Vec<(OsString, OsString)> = Vec::new();
        // `LC_ALL` counts before each other one of these, and `LANG` after them (locale(7))
        let locale_of_all = std::env::var_os("LC_ALL").filter(|locale| !locale.is_empty());
        for (name, value) in std::env::vars_os() {
            let is_of_locale = name.as_encoded_bytes().starts_with(b"LC_");
            let is_dropped = is_listed(LOCAL_VARIABLES, &name)
                || is_hardened && is_listed(CONFIG_VARIABLES, &name)
                || is_of_locale && locale_of_all.is_some();
            if !is_dropped {
                variables.push((name, value));
            }
        }
        if let Some(locale) = locale_of_all {
            variables.push(("LANG".into(), locale));
        }
        let mut added = ALWAYS_SET.to_vec();
        if is_hardened {
            added.extend(HARDENED_VARIABLES);
        }
        if let Some(git_dir) = &self.named {
            added.push(("GIT_DIR", git_dir.as_str()));
        }
        if let Some(work_tree) = &self.work_tree {
            added.push(("GIT_WORK_TREE", work_tree.as_str()));
        }
        for (name, value) in &self.variables {
            added.push((*name, value.as_str()));
        }
        for (name, value) in added {
            variables.push((name.into(), value.into()));
        }
        variables
    }
}

/// True if a list of names, split by blanks, has a name.
fn is_listed(names: &str, name: &OsStr) -> bool {
    names.split_ascii_whitespace().any(|listed| name == listed)
}

/// Shortens what git wrote to standard error: the first lines say what is wrong, the last what
/// became of the command.
fn shortened(stderr: &str) -> String {
    let mut lines = Vec::new();
    for line in stderr.lines() {
        let text = line.trim();
        if !text.is_empty() && !text.starts_with("hint:") {
            lines.push(text.to_owned());
        }
    }
    if lines.is_empty() {
        return "git said nothing".to_owned();
    }
    if lines.len() > 6 {
        let more = format!("… and {} more lines", lines.len() - 4);
        let last = lines.len() - 1;
        lines.splice(3..last, [more]);
    }
    lines.join("\n  ")
}

/// Splits a command at blanks, and adds words that may have blanks in them.
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
