//! Starts `git`: the only place that does.
//!
//! [`Git`] says where (a directory, or a git directory and a work tree named outright) and in
//! which [`Mode`]. The methods that run one git command each, named as git names it, are in the
//! sibling files; all of them end in the private `run`, and that in a [`Runner`]. [`Duct`], the
//! usual one, starts the process here.
#![expect(
    clippy::disallowed_methods,
    reason = "the one place that starts git and reads the environment for it"
)]

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::sync::PoisonError;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};

use super::checkout::CheckoutBy;
use super::contention;
use super::error::GitError;
use super::own::Reading;
use super::quarantine::Quarantine;
use super::runner::{Call, Duct, Output, Runner, SharedRunner, Stoppable};
use super::settings::{
    ALWAYS, CONFIG_VARIABLES, HARDENED, HARDENED_VARIABLES, LOCAL_VARIABLES, OWN_IDENTITY,
};
use super::stores::Stores;
use super::trace::{Asked, Trace};

/// Says which of the user's settings a call of git obeys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// As the user's own git: for what makes or changes something.
    User,
    /// Under the hardened settings of `settings.rs`: for what verification believes.
    Hardened,
}

/// Says how git finds the repository.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    /// By discovery from the directory.
    Discover,
    /// These directories and no others: nothing in the worktree can redirect it.
    Explicit {
        git_dir: Utf8PathBuf,
        work_tree: Option<Utf8PathBuf>,
    },
}

/// Represents git for one directory; cheap to clone.
#[derive(Clone, Debug)]
pub struct Git {
    dir: Utf8PathBuf,
    target: Target,
    mode: Mode,
    index: Option<Utf8PathBuf>,
    quarantine: Option<Quarantine>,
    identity: Identity,
    limit: Option<Duration>,
    trace: Trace,
    reading: Option<Reading>,
    stores: Stores,
    runner: SharedRunner,
}

/// Says who makes a commit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Identity {
    /// The user, as configured.
    User,
    /// Ourselves, where nobody is configured: work must be saved all the same.
    Own,
}

/// Holds a version of git: major, minor, patch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct GitVersion(pub u32, pub u32, pub u32);

impl GitVersion {
    /// The oldest that is supported: the oldest that the tests run with.
    pub const OLDEST: Self = Self(2, 39, 0);
    /// The first that tells a hook of `git symbolic-ref HEAD` (measured: 2.39 does not).
    pub const TELLS_SYMBOLIC_REFS: Self = Self(2, 46, 0);
    /// The first with hooks that are configured (`hook.<name>.command`, git-hook(1)).
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
        Self::find_with(dir, SharedRunner::default())
    }

    /// As [`Git::find`], and everything that is asked of git later goes through this runner.
    ///
    /// # Errors
    /// Fails when the runner does, or the git it runs is older than [`GitVersion::OLDEST`].
    pub fn find_with(dir: &Utf8Path, runner: SharedRunner) -> Result<Self, GitError> {
        Self::unchecked(dir, runner).checked()
    }

    /// Git, whose version is looked at when it is first started, or asked for: many a command only
    /// reads files. None is started for anything that is too old.
    #[must_use]
    pub fn unchecked(dir: &Utf8Path, runner: SharedRunner) -> Self {
        Self {
            dir: dir.to_owned(),
            target: Target::Discover,
            mode: Mode::User,
            index: None,
            quarantine: None,
            identity: Identity::User,
            limit: None,
            trace: Trace::default(),
            reading: None,
            stores: Stores::default(),
            runner,
        }
    }

    /// The same git once it is known not to be too old.
    ///
    /// # Errors
    /// As [`Git::find`].
    pub fn checked(self) -> Result<Self, GitError> {
        self.version()?;
        Ok(self)
    }

    /// The same git in another directory, which it finds the repository from.
    #[must_use]
    pub fn at(&self, dir: &Utf8Path) -> Self {
        Self {
            dir: dir.to_owned(),
            target: Target::Discover,
            ..self.clone()
        }
    }

    /// The same git on exactly this git directory and work tree, whatever the work tree says.
    #[must_use]
    pub fn on(&self, git_dir: &Utf8Path, work_tree: Option<&Utf8Path>) -> Self {
        Self {
            dir: work_tree.unwrap_or(git_dir).to_owned(),
            target: Target::Explicit {
                git_dir: git_dir.to_owned(),
                work_tree: work_tree.map(ToOwned::to_owned),
            },
            ..self.clone()
        }
    }

    /// The same git in another mode.
    #[must_use]
    pub fn with_mode(&self, mode: Mode) -> Self {
        Self {
            mode,
            ..self.clone()
        }
    }

    /// The same git, of which this trace is told everything.
    #[must_use]
    pub fn with_trace(&self, trace: Trace) -> Self {
        Self {
            trace,
            ..self.clone()
        }
    }

    /// The same git with another index file (`GIT_INDEX_FILE`, git(1)).
    #[must_use]
    pub fn with_index(&self, file: &Utf8Path) -> Self {
        Self {
            index: Some(file.to_owned()),
            ..self.clone()
        }
    }

    /// The same git, which also finds what a push has brought and nobody has accepted yet.
    #[must_use]
    pub fn with_quarantine(&self, quarantine: &Quarantine) -> Self {
        Self {
            quarantine: Some(quarantine.clone()),
            ..self.clone()
        }
    }

    /// The same git for calls that ask a server: each may take so long, and none asks the user.
    #[must_use]
    pub fn with_limit(&self, limit: Duration) -> Self {
        Self {
            limit: Some(limit),
            ..self.clone()
        }
    }

    /// The same git with an identity of our own, where the user has configured none.
    pub(super) fn with_fallback_identity(&self) -> Result<Self, GitError> {
        let known = self.run(&["var", "GIT_COMMITTER_IDENT"], None)?.status == Some(0);
        let identity = if known { Identity::User } else { Identity::Own };
        Ok(Self {
            identity,
            ..self.clone()
        })
    }

    /// The git directory that it was told, none where git has to find it.
    pub(super) fn named_git_dir(&self) -> Option<&Utf8Path> {
        match &self.target {
            Target::Discover => None,
            Target::Explicit { git_dir, .. } => Some(git_dir),
        }
    }

    /// Which settings it obeys.
    pub(super) const fn mode(&self) -> Mode {
        self.mode
    }

    /// The same git, where this one reads what git only would read from its files, whatever
    /// `GIT_AGENTWT_READ` says.
    #[must_use]
    pub fn with_reading(&self, reading: Reading) -> Self {
        Self {
            reading: Some(reading),
            ..self.clone()
        }
    }

    /// Whether it also finds what a push has brought.
    pub(super) const fn has_quarantine(&self) -> bool {
        self.quarantine.is_some()
    }

    /// The object stores that this git and those made of it have open.
    pub(super) fn stores(&self) -> &Stores {
        &self.stores
    }

    /// Who reads what git only would read from its files: `GIT_AGENTWT_READ=git|own`.
    pub(super) fn reading(&self) -> Reading {
        if let Some(reading) = self.reading {
            return reading;
        }
        match std::env::var_os("GIT_AGENTWT_READ") {
            Some(who) if who == "git" => Reading::Git,
            // refs may then be in other files (git 2.54 and newer)
            Some(_) | None if std::env::var_os("GIT_REFERENCE_BACKEND").is_some() => Reading::Git,
            Some(_) | None if self.runner.is_local() => Reading::Own,
            Some(_) | None => Reading::Git,
        }
    }

    /// Who checks out: `GIT_AGENTWT_CHECKOUT=git|own`.
    #[must_use]
    pub fn checkout_by(&self) -> CheckoutBy {
        match std::env::var_os("GIT_AGENTWT_CHECKOUT") {
            Some(who) if who == "git" => CheckoutBy::Git,
            Some(_) | None => CheckoutBy::Own,
        }
    }

    /// Whether it runs on the files of this machine.
    #[must_use]
    pub fn is_local(&self) -> bool {
        self.runner.is_local()
    }

    /// Whether it was told to read attributes from a tree (`GIT_ATTR_SOURCE`, git(1)).
    #[must_use]
    pub fn reads_attributes_elsewhere(&self) -> bool {
        std::env::var_os("GIT_ATTR_SOURCE").is_some()
    }

    /// The directory in which it runs.
    #[must_use]
    pub fn dir(&self) -> &Utf8Path {
        &self.dir
    }

    /// Opens a manual page as `git <command> --help` does; whether that worked. No repository is
    /// asked, so no runner is.
    #[must_use]
    pub fn open_manual(page: &str) -> bool {
        duct::cmd("man", [page])
            .unchecked()
            .run()
            .is_ok_and(|output| output.status.success())
    }

    /// The version of another git than the one on the search path; none when it does not say.
    #[must_use]
    pub fn version_of(program: &Utf8Path) -> Option<GitVersion> {
        let asked = duct::cmd(program.as_std_path(), ["version"])
            .stderr_null()
            .unchecked();
        GitVersion::parse(asked.read().ok()?.trim())
    }

    /// Whether the user lets git colour what goes to a terminal (`color.ui`, git-config(1)). The
    /// terminal is this program's own, so no runner is asked.
    #[must_use]
    pub fn wants_colour() -> bool {
        let value = duct::cmd("git", ["config", "--get", "color.ui"])
            .stderr_null()
            .unchecked();
        let value = value.read().unwrap_or_default();
        !matches!(value.trim(), "false" | "never" | "no" | "off" | "0")
    }

    /// The version of git, which is asked for once.
    ///
    /// # Errors
    /// Fails when git cannot be started, or is older than [`GitVersion::OLDEST`].
    pub fn version(&self) -> Result<GitVersion, GitError> {
        // who comes while it is asked for waits for the answer
        let mut known = self
            .runner
            .version
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let found = match *known {
            Some(found) => found,
            None => {
                let quiet = self.with_trace(Trace::default());
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

    /// Whether git is known not to be too old, without waiting for who finds that out.
    fn is_checked(&self) -> bool {
        let known = self.runner.version.try_lock();
        known.is_ok_and(|found| found.is_some_and(|found| found >= GitVersion::OLDEST))
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
        self.trace.tell(&Asked::Step(what));
        let answer = self.run(args, input)?;
        if answer.status == Some(0) {
            Ok(answer.stdout)
        } else {
            Err(self.failed(what, args, &answer))
        }
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

    /// Runs a command, and again while only another git's lock stops it.
    pub(super) fn run(&self, args: &[&str], input: Option<&[u8]>) -> Result<Output, GitError> {
        contention::patiently(args, || self.run_once(args, input))
    }

    /// Runs a command once git is known not to be too old; what only reads meanwhile.
    fn run_once(&self, args: &[&str], input: Option<&[u8]>) -> Result<Output, GitError> {
        if args == VERSION || self.is_checked() {
            return self.start(args, input);
        }
        if !only_reads(args) {
            self.version()?;
            return self.start(args, input);
        }
        std::thread::scope(|scope| {
            let version = scope.spawn(|| self.version());
            let output = self.start(args, input);
            let version = version.join();
            version.unwrap_or_else(|panic| std::panic::resume_unwind(panic))?;
            output
        })
    }

    fn start(&self, args: &[&str], input: Option<&[u8]>) -> Result<Output, GitError> {
        let mut words: Vec<OsString> = Vec::with_capacity(args.len() + 2 * HARDENED.len());
        let settings = match self.mode {
            Mode::User => ALWAYS,
            Mode::Hardened => HARDENED,
        };
        for setting in settings {
            words.extend(["-c".into(), OsStr::new(setting).to_owned()]);
        }
        words.extend(args.iter().map(|arg| OsStr::new(arg).to_owned()));
        let call = Call {
            args: &words,
            dir: &self.dir,
            environment: &self.environment(),
            input,
            timeout: self.limit,
        };
        let began = Instant::now();
        let output = self.runner.run(&call).map_err(|error| match self.limit {
            Some(limit) if error.kind() == std::io::ErrorKind::TimedOut => {
                GitError::TimedOut { limit }
            }
            // what cannot start where there is nothing looks like a program that is not there
            Some(_) | None
                if error.kind() == std::io::ErrorKind::NotFound && !self.dir.is_dir() =>
            {
                let dir = self.dir.to_string();
                GitError::NoDirectory { dir }
            }
            Some(_) | None => GitError::Missing(error),
        })?;
        self.trace.tell(&Asked::Command(
            &words[words.len() - args.len()..],
            began.elapsed(),
        ));
        Ok(output)
    }

    /// Makes the error of a call that ended with an unexpected status.
    pub(super) fn failed(&self, what: &str, args: &[&str], answer: &Output) -> GitError {
        let said = String::from_utf8_lossy(&answer.stderr);
        let lines: Vec<&str> = said
            .lines()
            .map(str::trim)
            .filter(|l| !l.is_empty() && !l.starts_with("hint:"))
            .collect();
        // the first lines say what is wrong, the last what became of it
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
}

impl Runner for Duct {
    fn is_local(&self) -> bool {
        true
    }

    fn run(&self, call: &Call<'_>) -> std::io::Result<Output> {
        let git = command(call).start()?;
        let ended = match call.timeout {
            None => Some(git.wait()?),
            Some(timeout) => git.wait_timeout(timeout)?,
        };
        match ended {
            Some(ended) => Ok(output(ended)),
            None => Err(too_long(&git)),
        }
    }
}

impl Runner for Stoppable {
    fn is_local(&self) -> bool {
        true
    }

    fn run(&self, call: &Call<'_>) -> std::io::Result<Output> {
        let before = self.signal.load(Ordering::SeqCst);
        let git = command(call).start()?;
        let began = Instant::now();
        loop {
            if let Some(ended) = git.wait_timeout(LOOK_UP)? {
                return Ok(output(ended));
            }
            let signal = self.signal.load(Ordering::SeqCst);
            if call.timeout.is_some_and(|most| began.elapsed() > most) {
                return Err(too_long(&git));
            }
            if signal != 0 && signal != before {
                return self.stop(&git, signal);
            }
        }
    }
}

impl Stoppable {
    /// Hands the signal on, to git's hooks and what they have started as well, as a terminal does;
    /// whoever has not ended after a moment is killed.
    fn stop(&self, git: &duct::Handle, signal: usize) -> std::io::Result<Output> {
        let families: Vec<_> = git.pids().iter().map(|pid| (self.family)(*pid)).collect();
        families.iter().for_each(|family| family.send(signal));
        let told = Instant::now();
        let mut ended = None;
        while told.elapsed() < PATIENCE {
            ended = git.wait_timeout(LOOK_UP)?.map(output);
            if ended.is_some() && !families.iter().any(|family| family.is_alive()) {
                break;
            }
            if ended.is_some() {
                std::thread::sleep(LOOK_UP);
            }
        }
        families.iter().for_each(|family| family.send(KILL));
        if ended.is_none() {
            git.kill()?;
            ended = git.wait_timeout(PATIENCE)?.map(output);
        }
        // it has ended, and somebody that nobody knows of keeps its standard error
        Ok(ended.unwrap_or_default())
    }
}

/// The command that says the version.
const VERSION: &[&str] = &["version"];

/// Whether a command changes nothing, so that even a git that is too old may run it.
fn only_reads(args: &[&str]) -> bool {
    let reads = |arg: &&str| arg.starts_with("--get") || *arg == "--list";
    match args {
        ["config", options @ ..] => options.iter().any(reads),
        ["worktree", "list", ..] => true,
        ["--no-replace-objects", rest @ ..] => only_reads(rest),
        [command, ..] => [
            "cat-file",
            "for-each-ref",
            "ls-tree",
            "merge-base",
            "rev-list",
            "rev-parse",
        ]
        .contains(command),
        [] => false,
    }
}

/// Ends a git that takes too long. What it has started ends with its pipes; nobody waits for those.
fn too_long(git: &duct::Handle) -> std::io::Error {
    match git.kill() {
        Ok(()) => std::io::ErrorKind::TimedOut.into(),
        Err(error) => error,
    }
}

/// How often it is looked whether a signal came.
const LOOK_UP: Duration = Duration::from_millis(20);
/// The signal that nobody can ignore (signal(7)).
const KILL: usize = 9;
/// How long git may take to clean up at a signal, and then whoever keeps its output open to end.
const PATIENCE: Duration = Duration::from_millis(1500);

fn command(call: &Call<'_>) -> duct::Expression {
    let command = duct::cmd("git", call.args)
        .dir(call.dir)
        .full_env(call.environment.iter().cloned())
        .stdout_capture()
        .stderr_capture();
    let command = match call.input {
        Some(bytes) => command.stdin_bytes(bytes),
        None => command.stdin_null(),
    };
    command.unchecked()
}

fn output(ended: &std::process::Output) -> Output {
    Output {
        status: ended.status.code(),
        stdout: ended.stdout.clone(),
        stderr: ended.stderr.clone(),
    }
}

impl Git {
    /// Our own environment without what points elsewhere, and with what says where.
    fn environment(&self) -> Vec<(OsString, OsString)> {
        let is_local = |name: &OsStr| LOCAL_VARIABLES.iter().any(|local| name == *local);
        let is_config = |name: &OsStr| {
            self.mode == Mode::Hardened && CONFIG_VARIABLES.iter().any(|local| name == *local)
        };
        let mut all: Vec<(OsString, OsString)> = std::env::vars_os()
            .filter(|(name, _)| !is_local(name) && !is_config(name))
            .collect();
        let mut set = |name: &str, value: &str| all.push((name.into(), value.into()));
        set("LC_ALL", "C");
        set("GIT_OPTIONAL_LOCKS", "0");
        if self.mode == Mode::Hardened {
            HARDENED_VARIABLES
                .iter()
                .for_each(|(name, value)| set(name, value));
        }
        if self.identity == Identity::Own {
            OWN_IDENTITY
                .iter()
                .for_each(|(name, value)| set(name, value));
        }
        if let Target::Explicit { git_dir, work_tree } = &self.target {
            set("GIT_DIR", git_dir.as_str());
            if let Some(work_tree) = work_tree {
                set("GIT_WORK_TREE", work_tree.as_str());
            }
        }
        if self.limit.is_some() {
            set("GIT_TERMINAL_PROMPT", "0");
        }
        if let Some(index) = &self.index {
            set("GIT_INDEX_FILE", index.as_str());
        }
        for (name, value) in self.quarantine.iter().flat_map(Quarantine::variables) {
            set(name, &value);
        }
        all
    }
}

/// Makes the error of a call whose output is not what git documents.
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
