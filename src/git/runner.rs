//! Names what starts git: a [`Runner`], which a program that uses the library can bring itself.
//!
//! Every git command of this crate goes through the runner that its [`Git`](super::process::Git)
//! holds, except two: asking whether the user lets git colour a terminal
//! ([`wants_colour`](super::process::Git::wants_colour)), and the pager
//! ([`page`](super::process::Git::page)).
//!
//! ```
//! use git_agentwt::git::runner::{Call, Duct, Output, Runner};
//!
//! /// Counts, and leaves the work to the usual one.
//! struct Counting(std::sync::atomic::AtomicUsize);
//!
//! impl Runner for Counting {
//!     fn run(&self, call: &Call<'_>) -> std::io::Result<Output> {
//!         self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
//!         Duct.run(call)
//!     }
//! }
//! ```

use std::ffi::OsString;
use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use camino::Utf8Path;
use rustix::fs::{Access, access};

use crate::git::version::GitVersion;

/// Starts git and waits for it.
pub trait Runner: Send + Sync {
    /// Runs one git command to its end, whatever its status.
    ///
    /// # Errors
    /// Fails when git cannot be started or talked to; a status other than 0 is no error.
    fn run(&self, call: &Call<'_>) -> std::io::Result<Output>;
}

/// One call of git.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The arguments after `git`.
    pub args: &'a [OsString],
    /// The directory to start it in.
    pub dir: &'a Utf8Path,
    /// The whole environment: nothing else is to be inherited.
    pub environment: &'a [(OsString, OsString)],
    /// Its standard input; none for an empty one.
    pub input: Option<&'a [u8]>,
    /// How long it may take; none for as long as it takes. A runner that ends it for that fails
    /// with [`std::io::ErrorKind::TimedOut`].
    pub timeout: Option<Duration>,
}

/// What a finished git left.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Output {
    /// Its status, none when a signal ended it.
    pub status: Option<i32>,
    /// Its standard output.
    pub stdout: Vec<u8>,
    /// Its standard error.
    pub stderr: Vec<u8>,
}

/// Starts the `git` on the search path as a process of its own: the usual [`Runner`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Duct;

/// Does as [`Duct`], and hands a signal on that comes while git runs: a signal to this program
/// alone would otherwise act only when git has ended by itself. Git cleans up after itself at one.
///
/// What had been signalled before a call began is not handed on: then it is a call that undoes.
#[derive(Clone, Debug)]
pub struct Stoppable {
    /// The signal that asks to stop; 0 for none.
    pub signal: Arc<AtomicUsize>,
    /// Finds a child of ours with all that it has started.
    pub family: fn(pid: u32) -> Family,
}

/// Sends a signal (none if it is 0) to all of a git, its hooks and what they have started that
/// still run; true if there were any.
pub type Family = Box<dyn Fn(usize) -> bool>;

/// A [`Runner`] that many share; the default is [`Duct`].
#[derive(Clone)]
pub struct SharedRunner {
    runner: Arc<dyn Runner>,
    /// The version of the git that it runs, once it was read.
    pub(super) version: Arc<Mutex<Option<GitVersion>>>,
}

impl SharedRunner {
    /// Shares a runner.
    pub fn new(runner: impl Runner + 'static) -> Self {
        Self {
            runner: Arc::new(runner),
            version: Arc::default(),
        }
    }
}

impl Default for SharedRunner {
    fn default() -> Self {
        Self::new(Duct)
    }
}

impl Runner for SharedRunner {
    fn run(&self, call: &Call<'_>) -> std::io::Result<Output> {
        self.runner.run(call)
    }
}

impl fmt::Debug for SharedRunner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SharedRunner")
    }
}

impl Runner for Duct {
    fn run(&self, call: &Call<'_>) -> std::io::Result<Output> {
        let nothing = Stoppable {
            signal: Arc::default(),
            family: |_| Box::new(|_| false),
        };
        nothing.run(call)
    }
}

impl Runner for Stoppable {
    fn run(&self, call: &Call<'_>) -> std::io::Result<Output> {
        let before = self.signal.load(Ordering::SeqCst);
        let git = command(call).start()?;
        let began = Instant::now();
        loop {
            if let Some(ended) = git.wait_timeout(POLL)? {
                return Ok(output(ended));
            }
            let signal = self.signal.load(Ordering::SeqCst);
            if call.timeout.is_some_and(|limit| began.elapsed() > limit) {
                // what it has started may wait for ever as well, and is not waited for
                send_to_all(&self.families(&git), KILL);
                git.kill()?;
                return Err(std::io::ErrorKind::TimedOut.into());
            }
            if signal != 0 && signal != before {
                return self.stop(&git, signal);
            }
        }
    }
}

impl Stoppable {
    fn families(&self, git: &duct::Handle) -> Vec<Family> {
        let mut families = Vec::new();
        for pid in git.pids() {
            families.push((self.family)(pid));
        }
        families
    }

    /// Hands the signal on, to git's hooks and what they have started as well, as a terminal does;
    /// a process that has not ended after a moment is killed.
    fn stop(&self, git: &duct::Handle, signal: usize) -> std::io::Result<Output> {
        let families = self.families(git);
        send_to_all(&families, signal);
        let signalled = Instant::now();
        let mut ended = None;
        while signalled.elapsed() < PATIENCE && (ended.is_none() || is_any_left(&families)) {
            ended = git.wait_timeout(POLL)?.map(output);
            if ended.is_some() && is_any_left(&families) {
                std::thread::sleep(POLL);
            }
        }
        send_to_all(&families, KILL);
        if ended.is_none() {
            git.kill()?;
            ended = git.wait_timeout(PATIENCE)?.map(output);
        }
        // it has ended, and an unknown process keeps its standard error open
        Ok(ended.unwrap_or_default())
    }
}

/// Sends a signal to all families; true if any of their processes still runs.
fn send_to_all(families: &[Family], signal: usize) -> bool {
    let mut is_any_left = false;
    for send in families {
        is_any_left |= send(signal);
    }
    is_any_left
}

/// True if any process of the families still runs.
fn is_any_left(families: &[Family]) -> bool {
    send_to_all(families, 0)
}

/// How often it is looked whether a signal came.
const POLL: Duration = Duration::from_millis(20);
/// The signal that no process can ignore (signal(7)).
const KILL: usize = 9;
/// How long git may take to clean up at a signal, and then a process that keeps its output open to
/// end.
const PATIENCE: Duration = Duration::from_millis(1500);

#[expect(clippy::disallowed_methods, reason = "the one place that starts git")]
fn command(call: &Call<'_>) -> duct::Expression {
    let command = duct::cmd(program(call.environment), call.args)
        .dir(call.dir)
        .full_env(call.environment.iter().cloned())
        .stdout_capture()
        .stderr_capture()
        .unchecked();
    match call.input {
        Some(bytes) => command.stdin_bytes(bytes),
        None => command.stdin_null(),
    }
}

/// The first git on the search path of an environment: a program that is named by its path is
/// started without a copy of this process (`posix_spawn(3)`). Where a relative directory comes
/// before it, or there is none, the system looks for it.
fn program(environment: &[(OsString, OsString)]) -> PathBuf {
    let name = PathBuf::from("git");
    let search_path = environment.iter().find(|(variable, _)| variable == "PATH");
    let Some((_, directories)) = search_path else {
        return name;
    };
    for directory in std::env::split_paths(directories) {
        let file = directory.join(&name);
        if directory.is_relative() {
            break;
        }
        if file.is_file() && access(&file, Access::EXEC_OK).is_ok() {
            return file;
        }
    }
    name
}

fn output(ended: &std::process::Output) -> Output {
    Output {
        status: ended.status.code(),
        stdout: ended.stdout.clone(),
        stderr: ended.stderr.clone(),
    }
}

/// Reports each call of git to a function.
#[derive(Clone, Default)]
pub struct Trace(Option<Arc<Receiver>>);

type Receiver = dyn Fn(&TraceEvent<'_>) + Send + Sync;

/// One event.
#[derive(Clone, Copy, Debug)]
pub enum TraceEvent<'a> {
    /// What is attempted, as a verb phrase, before the attempt.
    Step(&'a str),
    /// The arguments of a call that has ended, and the time it took.
    Command(&'a [OsString], Duration),
}

impl Trace {
    /// Reports every event to this function.
    pub fn to(receiver: impl Fn(&TraceEvent<'_>) + Send + Sync + 'static) -> Self {
        Self(Some(Arc::new(receiver)))
    }

    /// Reports an event.
    pub fn report(&self, event: &TraceEvent<'_>) {
        if let Some(receiver) = &self.0 {
            receiver(event);
        }
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({})", self.0.is_some())
    }
}
