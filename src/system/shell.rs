//! Runs a line of the user's with `sh -c`, in a process group of its own.
#![expect(clippy::disallowed_methods, reason = "starts the user's own lines")]

use std::io::Result;
use std::os::unix::process::CommandExt as _;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use camino::Utf8Path;
use duct::{Expression, Handle};
use rustix::process::{Pid, Signal, kill_process_group, test_kill_process_group};

/// How often a running line is looked at.
const TICK: Duration = Duration::from_millis(20);

/// How long what has to end may take to clean up.
const PATIENCE: Duration = Duration::from_millis(1500);

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
    /// Runs the line in a process group of its own, all of which is ended when it takes too long or
    /// we are asked to stop: nothing of it survives us.
    ///
    /// # Errors
    /// Fails when no shell can be started.
    pub fn run(&self) -> Result<ShellEnd> {
        let shell = self.command().start()?;
        let began = Instant::now();
        loop {
            if let Some(output) = shell.wait_timeout(TICK)? {
                return Ok(ShellEnd::Ended(output.status.code()));
            }
            if self.timeout.is_some_and(|limit| began.elapsed() >= limit) {
                end_group(&shell);
                return Ok(ShellEnd::Late);
            }
            if self.signal.load(Ordering::SeqCst) != 0 {
                end_group(&shell);
                return Ok(ShellEnd::Stopped);
            }
        }
    }

    fn command(&self) -> Expression {
        let mut shell = duct::cmd("sh", ["-c", self.line])
            .dir(self.directory)
            .stdin_null()
            .stdout_to_stderr()
            .unchecked()
            .before_spawn(|command| {
                command.process_group(0);
                Ok(())
            });
        for (name, value) in self.variables {
            shell = shell.env(name, value);
        }
        // of two settings of a variable, duct takes the inner one
        for name in self.without.split_ascii_whitespace() {
            shell = shell.env_remove(name);
        }
        shell
    }
}

/// Ends the process and all in its group: asks them, and then kills those that go on. It has not
/// been waited for, so the number is its own.
fn end_group(shell: &Handle) {
    let mut groups = Vec::new();
    for pid in shell.pids() {
        groups.extend(i32::try_from(pid).ok().and_then(Pid::from_raw));
    }
    send(&groups, Signal::TERM);
    // the group goes on without its leader, so it is killed in any case
    let began = Instant::now();
    while began.elapsed() < PATIENCE && is_any_alive(&groups) {
        let has_leader_ended = shell.wait_timeout(TICK).is_ok_and(|end| end.is_some());
        if has_leader_ended {
            std::thread::sleep(TICK);
        }
    }
    send(&groups, Signal::KILL);
    let _ = shell.wait();
}

fn send(groups: &[Pid], signal: Signal) {
    for group in groups {
        let _ = kill_process_group(*group, signal);
    }
}

fn is_any_alive(groups: &[Pid]) -> bool {
    groups
        .iter()
        .any(|group| test_kill_process_group(*group).is_ok())
}
