//! Asks whether we still own what we retry for: a [`SharedProber`], by a command or by a callback. Finds
//! programs on the search path.
#![expect(clippy::disallowed_methods, reason = "starts the user's own probe")]

use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};

/// Holds what a prober is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The worktree's name.
    pub name: String,
    /// Who asks, if `add` was told.
    pub owner: Option<String>,
    /// The attempt that is about to be made: 2 for the first retry.
    pub attempt: u32,
}

/// Says whether we still own it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// It is ours.
    Ours,
    /// It is another owner's: nothing more is tried.
    Lost,
    /// It is unknown, for this reason: it is tried on.
    Unknown(String),
}

type Ask = dyn Fn(&Question) -> Ownership + Send + Sync;

/// Represents who knows whether we still own what we retry for: a function or a command.
///
/// ```
/// use git_agentwt::library::{Ownership, Question, SharedProber};
/// let prober = SharedProber::new(|question: &Question| match question.attempt {
///     2 => Ownership::Ours,
///     _ => Ownership::Lost,
/// });
/// let question = Question { name: "task-5".into(), owner: None, attempt: 2 };
/// assert_eq!(prober.ask(&question), Ownership::Ours);
/// ```
#[derive(Clone)]
pub struct SharedProber {
    ask: Arc<Ask>,
    title: String,
}

impl SharedProber {
    /// Asks a function before each retry.
    pub fn new(ask: impl Fn(&Question) -> Ownership + Send + Sync + 'static) -> Self {
        Self {
            ask: Arc::new(ask),
            title: "the owner's probe".to_owned(),
        }
    }

    /// Answers before each retry.
    pub fn ask(&self, question: &Question) -> Ownership {
        (self.ask)(question)
    }

    /// What it is, for messages.
    pub fn title(&self) -> &str {
        &self.title
    }
}

impl From<CommandProber> for SharedProber {
    fn from(prober: CommandProber) -> Self {
        let title = format!("the probe `{}`", prober.command);
        let ask = move |question: &Question| prober.ask(question);
        Self {
            title,
            ..Self::new(ask)
        }
    }
}

impl fmt::Debug for SharedProber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.title)
    }
}

/// Asks a command of the user's, which `sh -c` runs: status 0 is ours, 1 is lost, and anything
/// else, a signal or no answer in time is unknown.
#[derive(Clone, Debug)]
pub struct CommandProber {
    /// The command.
    pub command: String,
    /// Where it runs.
    pub directory: Utf8PathBuf,
    /// How long it may take.
    pub timeout: Duration,
    /// The signal that asks us to stop; 0 for none.
    pub signal: Arc<AtomicUsize>,
}

/// How often a running probe is looked at.
const TICK: Duration = Duration::from_millis(20);

impl CommandProber {
    /// Runs the command.
    pub fn ask(&self, question: &Question) -> Ownership {
        match self.status(question) {
            Ok(Some(0)) => Ownership::Ours,
            Ok(Some(1)) => Ownership::Lost,
            Ok(Some(status)) => Ownership::Unknown(format!("it ended with status {status}")),
            Ok(None) => Ownership::Unknown("a signal ended it".to_owned()),
            Err(why) => Ownership::Unknown(why),
        }
    }

    fn status(&self, question: &Question) -> Result<Option<i32>, String> {
        let line = ShellLine {
            line: &self.command,
            directory: &self.directory,
            variables: &[
                ("AGENTWT_NAME", question.name.clone()),
                ("AGENTWT_OWNER", question.owner.clone().unwrap_or_default()),
                ("AGENTWT_ATTEMPT", question.attempt.to_string()),
            ],
            without: "",
            timeout: Some(self.timeout),
            signal: &self.signal,
        };
        match line.run() {
            Ok(ShellEnd::Ended(status)) => Ok(status),
            Ok(ShellEnd::Late) => Err(format!("it gave no answer in {:?}", self.timeout)),
            Ok(ShellEnd::Stopped) => Err("it was ended with us".to_owned()),
            Err(error) => Err(format!("it cannot be run: {error}")),
        }
    }
}

/// A line of the user's that `sh -c` runs, with its output on our stderr and nothing to read.
#[derive(Clone, Copy, Debug)]
pub struct ShellLine<'a> {
    /// The line.
    pub line: &'a str,
    /// Where it runs.
    pub directory: &'a Utf8Path,
    /// The variables that it gets beside our own.
    pub variables: &'a [(&'static str, String)],
    /// The names of our variables that it does not get.
    pub without: &'a str,
    /// How long it may take.
    pub timeout: Option<Duration>,
    /// The signal that asks us to stop; 0 for none.
    pub signal: &'a AtomicUsize,
}

/// Says how a line ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShellEnd {
    /// With this status; none when a signal ended it.
    Ended(Option<i32>),
    /// It took too long, and was killed.
    Late,
    /// It was killed, as a signal asked us to stop.
    Stopped,
}

impl ShellLine<'_> {
    /// Runs the line in a process group of its own, all of which is ended when it takes too long or we
    /// are asked to stop: nothing of it survives us.
    ///
    /// # Errors
    /// Fails when no shell can be started.
    pub fn run(&self) -> std::io::Result<ShellEnd> {
        let mut shell = duct::cmd("sh", ["-c", self.line])
            .dir(self.directory)
            .stdin_null()
            .stdout_to_stderr()
            .unchecked()
            .before_spawn(|command| {
                std::os::unix::process::CommandExt::process_group(command, 0);
                Ok(())
            });
        for (name, value) in self.variables {
            shell = shell.env(name, value);
        }
        // of two settings of a variable, duct takes the inner one
        for name in self.without.split_ascii_whitespace() {
            shell = shell.env_remove(name);
        }
        let running = shell.start()?;
        let began = Instant::now();
        loop {
            if let Some(ended) = running.wait_timeout(TICK)? {
                return Ok(ShellEnd::Ended(ended.status.code()));
            }
            if self.timeout.is_some_and(|most| began.elapsed() >= most) {
                end_group(&running);
                return Ok(ShellEnd::Late);
            }
            if self.signal.load(Ordering::SeqCst) != 0 {
                end_group(&running);
                return Ok(ShellEnd::Stopped);
            }
        }
    }
}

/// How long what has to end may take to clean up.
const PATIENCE: Duration = Duration::from_millis(1500);

/// Ends the process and all in its group: asks them, and then kills those that go on. It has not been
/// waited for, so the number is its own.
fn end_group(running: &duct::Handle) {
    let groups = running
        .pids()
        .into_iter()
        .filter_map(|pid| i32::try_from(pid).ok());
    let groups: Vec<_> = groups.filter_map(rustix::process::Pid::from_raw).collect();
    let send = |signal| {
        for group in &groups {
            let _ = rustix::process::kill_process_group(*group, signal);
        }
    };
    send(rustix::process::Signal::TERM);
    // the group goes on without its leader, so it is killed in any case
    let began = Instant::now();
    let all = || {
        groups
            .iter()
            .any(|group| rustix::process::test_kill_process_group(*group).is_ok())
    };
    while began.elapsed() < PATIENCE && all() {
        if running
            .wait_timeout(TICK)
            .is_ok_and(|ended| ended.is_some())
        {
            std::thread::sleep(TICK);
        }
    }
    send(rustix::process::Signal::KILL);
    let _ = running.wait();
}

/// Returns every program of this name on `PATH`, the one that would be started first.
pub fn on_path(name: &str) -> Vec<Utf8PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let candidates = std::env::split_paths(&path).map(|directory| directory.join(name));
    let is_program = |file: &std::path::PathBuf| {
        let found = std::fs::metadata(file);
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let programs = candidates.filter(is_program);
    programs
        .filter_map(|file| Utf8PathBuf::from_path_buf(file).ok())
        .collect()
}

/// Whether man(1) is there and has this page.
pub fn shows_page(name: &str) -> bool {
    let asked = duct::cmd("man", ["-w", name])
        .stdin_null()
        .stdout_null()
        .stderr_null();
    asked.run().is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(command: &str, timeout: Duration, signal: usize) -> Ownership {
        let prober = CommandProber {
            command: command.to_owned(),
            directory: "/".into(),
            timeout,
            signal: Arc::new(AtomicUsize::new(signal)),
        };
        prober.ask(&Question {
            name: "task-5".to_owned(),
            owner: Some("me".to_owned()),
            attempt: 3,
        })
    }

    #[test]
    fn the_status_is_the_answer() {
        let second = Duration::from_secs(60);
        assert_eq!(ask("true", second, 0), Ownership::Ours);
        assert_eq!(ask("exit 1", second, 0), Ownership::Lost);
        let unknown = |why: &str| Ownership::Unknown(why.to_owned());
        assert_eq!(ask("exit 7", second, 0), unknown("it ended with status 7"));
        assert_eq!(ask("kill -9 $$", second, 0), unknown("a signal ended it"));
        let said = r#"test "$AGENTWT_NAME $AGENTWT_OWNER $AGENTWT_ATTEMPT" = "task-5 me 3""#;
        assert_eq!(ask(said, second, 0), Ownership::Ours);
    }

    #[test]
    fn one_that_hangs_is_killed_with_all_that_it_started() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("pid");
        let hangs = format!("sleep 600 & echo $! >'{}'; wait", file.display());
        let unknown = ask(&hangs, Duration::from_millis(300), 0);
        let why = "it gave no answer in 300ms".to_owned();
        assert_eq!(unknown, Ownership::Unknown(why));
        let pid = std::fs::read_to_string(&file).expect("it began");
        let pid = pid.trim().parse().expect("a number");
        let began = Instant::now();
        while super::super::started(pid).is_some() {
            assert!(began.elapsed() < Duration::from_secs(20), "it is killed");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_signal_to_us_ends_it() {
        let began = Instant::now();
        let unknown = ask("sleep 600", Duration::from_secs(600), 15);
        assert_eq!(
            unknown,
            Ownership::Unknown("it was ended with us".to_owned())
        );
        assert!(began.elapsed() < Duration::from_secs(60));
    }
}
