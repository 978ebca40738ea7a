//! Asks whether we still own what we retry for: a [`SharedProber`], by a command or by a callback. Finds
//! programs on the search path.
#![expect(clippy::disallowed_methods, reason = "starts the user's own probe")]

use std::fmt;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use camino::Utf8PathBuf;

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
/// use git_agentwt::process::{Ownership, Question, SharedProber};
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

    /// Its status, none when a signal ended it. It has a process group of its own, all of which is
    /// killed when it takes too long or we are asked to stop: nothing of it survives us.
    fn status(&self, question: &Question) -> Result<Option<i32>, String> {
        let probe = duct::cmd("sh", ["-c", &self.command])
            .dir(&self.directory)
            .env("AGENTWT_NAME", &question.name)
            .env(
                "AGENTWT_OWNER",
                question.owner.as_deref().unwrap_or_default(),
            )
            .env("AGENTWT_ATTEMPT", question.attempt.to_string())
            .stdin_null()
            .stdout_to_stderr()
            .unchecked()
            .before_spawn(|command| {
                std::os::unix::process::CommandExt::process_group(command, 0);
                Ok(())
            });
        let failed = |error: std::io::Error| format!("it cannot be run: {error}");
        let running = probe.start().map_err(failed)?;
        let began = Instant::now();
        loop {
            if let Some(ended) = running.wait_timeout(TICK).map_err(failed)? {
                return Ok(ended.status.code());
            }
            let is_late = began.elapsed() >= self.timeout;
            if is_late || self.signal.load(Ordering::SeqCst) != 0 {
                kill_group(&running);
                return Err(if is_late {
                    format!("it gave no answer in {:?}", self.timeout)
                } else {
                    "it was ended with us".to_owned()
                });
            }
        }
    }
}

/// Kills the process and all in its group. It has not been waited for, so the number is its own.
fn kill_group(running: &duct::Handle) {
    for pid in running.pids() {
        let group = i32::try_from(pid)
            .ok()
            .and_then(rustix::process::Pid::from_raw);
        if let Some(group) = group {
            let _ = rustix::process::kill_process_group(group, rustix::process::Signal::KILL);
        }
    }
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
