//! Sends signals to processes that we started, and to all that these have started.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};

use crate::system::kernel;
use crate::system::processes::{is_alive, start_time};

/// Represents a process, and no other process that has its number later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pid: u32,
    start_time: String,
}

impl Process {
    fn of(pid: u32) -> Option<Self> {
        let start_time = start_time(pid)?;
        Some(Self { pid, start_time })
    }

    /// Sends a signal, if there is one to send; true if the process still runs.
    fn send(&self, signal: Option<Signal>) -> bool {
        let number = i32::try_from(self.pid).ok();
        let Some(pid) = number.and_then(Pid::from_raw) else {
            return false;
        };
        if !is_alive(self.pid, &self.start_time) {
            return false;
        }
        // it may end by itself at any moment
        signal.is_none_or(|signal| kill_process(pid, signal).is_ok())
    }
}

/// Returns a child of ours and all that it has started, as far as the system tells; none when the
/// child has ended. A process that has left it to live on, as a daemon does, is not one of them.
pub fn family(child: u32) -> Vec<Process> {
    let parents = parents();
    let parent = parents.get(&child);
    if parent.is_some_and(|parent| *parent != std::process::id()) {
        return Vec::new();
    }
    let mut pids = vec![child];
    let mut next = 0;
    while let Some(member) = pids.get(next).copied() {
        for (pid, parent_of_pid) in &parents {
            if *parent_of_pid == member && *pid != child {
                pids.push(*pid);
            }
        }
        next += 1;
    }
    pids.into_iter().filter_map(Process::of).collect()
}

/// Every process with its parent; nothing where the system does not tell.
fn parents() -> BTreeMap<u32, u32> {
    let mut parents = BTreeMap::new();
    for pid in kernel::pids().unwrap_or_default() {
        if let Some(parent) = kernel::parent(pid) {
            parents.insert(pid, parent);
        }
    }
    parents
}

/// Sends a signal to those that still run, none if it is 0; true if there were any.
pub fn send_signal(processes: &[Process], signal: usize) -> bool {
    let number = i32::try_from(signal).ok();
    let named = number.and_then(Signal::from_named_raw);
    let mut is_any_alive = false;
    for process in processes {
        is_any_alive |= process.send(named);
    }
    is_any_alive
}

/// Sends a signal to the processes that we started.
pub fn send_to_children(signal: usize) {
    let mut children = Vec::new();
    for (pid, parent) in parents() {
        if parent == std::process::id() {
            children.extend(Process::of(pid));
        }
    }
    send_signal(&children, signal);
}

/// Ends the processes that were started with a variable of this value, and all that they start
/// meanwhile, as far as the system tells. Returns the numbers of those that could not be ended.
pub fn end_started_with(name: &str, value: &str) -> Vec<u32> {
    /// How long the end of a killed process may take.
    const PATIENCE: Duration = Duration::from_secs(10);
    let variable = format!("{name}={value}");
    let began = Instant::now();
    loop {
        let alive = started_with(&variable);
        if alive.is_empty() || began.elapsed() > PATIENCE {
            return alive.iter().map(|process| process.pid).collect();
        }
        for process in &alive {
            process.send(Some(Signal::KILL));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The other processes that were started with this variable, and still run.
fn started_with(variable: &str) -> Vec<Process> {
    let mut processes = Vec::new();
    for pid in kernel::pids().unwrap_or_default() {
        let environment = kernel::environment(pid);
        let has_variable = environment.iter().any(|word| word == variable.as_bytes());
        if has_variable && pid != std::process::id() {
            processes.extend(Process::of(pid));
        }
    }
    processes
}

#[cfg(all(test, target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "starts a shell")]
mod tests {
    use super::*;

    #[test]
    fn a_child_ends_with_all_that_it_has_started() {
        let line = "sleep 600 & sh -c 'trap : TERM; sleep 600 & wait; wait' & wait";
        let shell = duct::cmd("sh", ["-c", line]).unchecked();
        let child = shell.start().expect("it starts");
        let pid = child.pids()[0];
        let began = Instant::now();
        let mut processes = family(pid);
        while processes.len() < 4 && began.elapsed() < Duration::from_secs(20) {
            processes = family(pid);
        }
        assert!(
            send_signal(&processes, 0) && processes.len() >= 4,
            "{processes:?}"
        );
        assert!(send_signal(&processes, 9));
        child.wait().expect("it ended");
        while send_signal(&processes, 0) {
            assert!(began.elapsed() < Duration::from_secs(40), "{processes:?}");
        }
        assert!(!send_signal(&processes, 9));
        assert_eq!(family(pid), []);
    }

    #[test]
    fn what_is_not_our_child_gets_nothing() {
        assert_eq!(family(1), []);
    }
}
