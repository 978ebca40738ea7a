//! Sends signals to programs that we started and to all that those have started, and starts our own
//! program for work that outlives the command.

use camino::Utf8Path;
use rustix::process::{Pid, Signal, kill_process};

use super::table::{is_alive, numbers, parent, started};

/// Represents a process, and nobody else that has its number later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pid: u32,
    started: String,
}

impl Process {
    fn of(pid: u32) -> Option<Self> {
        let started = started(pid)?;
        Some(Self { pid, started })
    }

    fn send(&self, signal: Option<Signal>) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let alive = is_alive(self.pid, &self.started);
        // it may end by itself at any moment
        let send = |pid| signal.is_none_or(|signal| kill_process(pid, signal).is_ok());
        alive && pid.is_some_and(send)
    }
}

/// A child of ours and all that it has started, as far as the system tells; nobody when there is no
/// such child any more. Who has left it to live on, as a daemon does, is none of them.
pub fn family(pid: u32) -> Vec<Process> {
    let parents = parents();
    let parent = |pid: u32| {
        parents
            .iter()
            .find(|(one, _)| *one == pid)
            .map(|(_, of)| *of)
    };
    if parent(pid).is_some_and(|of| of != std::process::id()) {
        return Vec::new();
    }
    let mut numbers = vec![pid];
    let mut next = 0;
    while let Some(one) = numbers.get(next).copied() {
        let children = parents.iter().filter(|(_, of)| *of == one);
        let children: Vec<u32> = children.map(|(child, _)| *child).collect();
        numbers.extend(children.into_iter().filter(|child| *child != pid));
        next += 1;
    }
    numbers.into_iter().filter_map(Process::of).collect()
}

/// Sends a signal to those that still run, none where it is 0; whether there were any.
pub fn send_to(processes: &[Process], signal: usize) -> bool {
    let number = i32::try_from(signal).ok();
    let signal = number.and_then(Signal::from_named_raw);
    let sent = processes.iter().map(|process| process.send(signal));
    sent.fold(false, |any, sent| any | sent)
}

/// Every process with its parent; nothing where the system does not tell.
fn parents() -> Vec<(u32, u32)> {
    let with_parent = |pid: u32| Some((pid, parent(pid)?));
    let numbers = numbers().unwrap_or_default();
    numbers.into_iter().filter_map(with_parent).collect()
}

/// The name of our own program, without which nothing is started: a program that uses the library
/// knows nothing of our commands.
const OURS: &str = "git-agentwt";

/// Starts our own program with these arguments, in the root directory and with nothing of the
/// terminal; whether it was started. Nobody waits for it.
pub fn start_detached(program: &Utf8Path, arguments: &[&str]) -> bool {
    if program.file_stem() != Some(OURS) {
        return false;
    }
    #[expect(
        clippy::disallowed_methods,
        reason = "our own program, which goes on after us"
    )]
    let child = duct::cmd(program.as_std_path(), arguments)
        .dir("/")
        .stdin_null()
        .stdout_null()
        .stderr_null()
        .unchecked()
        .start();
    // to let go of it leaves it running, and it is waited for when the next is started
    child.is_ok()
}

/// Leaves the session that we were started in, so that nothing that is sent to the terminal's
/// processes reaches us (setsid(2)).
pub fn leave_session() {
    // refused only to the leader of a group, which nobody has made us
    let _ = rustix::process::setsid();
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use super::*;

    #[test]
    #[expect(clippy::disallowed_methods, reason = "a child to be ended")]
    fn a_child_ends_with_all_that_it_has_started() {
        let line = "sleep 600 & sh -c 'trap : TERM; sleep 600 & wait; wait' & wait";
        let child = duct::cmd("sh", ["-c", line]).unchecked().start();
        let child = child.expect("it starts");
        let pid = child.pids()[0];
        let began = Instant::now();
        let mut all = family(pid);
        while all.len() < 4 && began.elapsed() < Duration::from_secs(20) {
            all = family(pid);
        }
        assert!(send_to(&all, 0) && all.len() >= 4, "{all:?}");
        assert!(send_to(&all, 9));
        child.wait().expect("it ended");
        while send_to(&all, 0) {
            assert!(began.elapsed() < Duration::from_secs(40), "{all:?}");
        }
        assert!(!send_to(&all, 9));
        assert_eq!(family(pid), []);
    }

    #[test]
    fn what_is_not_our_child_gets_nothing() {
        assert_eq!(family(1), []);
    }

    #[test]
    fn another_program_is_never_started() {
        assert!(!start_detached(Utf8Path::new("/bin/true"), &[]));
        assert!(!start_detached(Utf8Path::new("/nowhere/git-agentwt"), &[]));
    }
}
