//! Asks whether we still own what we retry for: a [`SharedProber`], by a command or by a callback.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

use camino::Utf8PathBuf;

use crate::system::shell::{ShellEnd, ShellLine};

/// Holds what a prober is asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The worktree's name.
    pub name: String,
    /// Who asks, if `add` was given an owner.
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

#[cfg(test)]
#[expect(clippy::disallowed_methods, reason = "reads what a probe wrote")]
mod tests {
    use std::time::Instant;

    use super::*;
    use crate::system::processes::start_time;

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
        let has_variables =
            r#"test "$AGENTWT_NAME $AGENTWT_OWNER $AGENTWT_ATTEMPT" = "task-5 me 3""#;
        assert_eq!(ask(has_variables, second, 0), Ownership::Ours);
    }

    #[test]
    fn one_that_hangs_is_killed_with_all_that_it_started() {
        let directory = tempfile::tempdir().expect("a directory");
        let file = directory.path().join("pid");
        let hangs = format!("sleep 600 & echo $! >'{}'; wait", file.display());
        let unknown = ask(&hangs, Duration::from_millis(300), 0);
        let why = "it gave no answer in 300ms".to_owned();
        assert_eq!(unknown, Ownership::Unknown(why));
        let number = std::fs::read_to_string(&file).expect("it began");
        let pid = number.trim().parse().expect("a number");
        let began = Instant::now();
        while start_time(pid).is_some() {
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
