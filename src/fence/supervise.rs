//! Runs a command to its end, with the signals that are meant for it, and ends all that it leaves.
#![expect(clippy::disallowed_methods, reason = "starts the command, asks /proc")]

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, getppid, kill_current_process_group, kill_process,
    waitid,
};
use signal_hook::consts::{SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::WithOrigin;
use signal_hook::low_level::siginfo::Process;

use crate::fence::error::FenceError;

/// How long processes may take to end that were killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Within what time a signal of our parent is the one that the terminal has sent.
const AT_ONCE: Duration = Duration::from_secs(1);

/// What is handed on to the command.
pub const FORWARDED: [i32; 7] = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM];

/// Says how a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With a status.
    Status(u8),
    /// By a signal.
    Signal(u8),
    /// Its time was over.
    TimedOut,
}

impl Ended {
    fn of(status: ExitStatus) -> Self {
        let number = |number: i32| u8::try_from(number).unwrap_or(u8::MAX);
        match status.signal() {
            Some(signal) => Self::Signal(number(signal)),
            None => Self::Status(number(status.code().unwrap_or(1))),
        }
    }
}

/// Whether there is a terminal whose keys send signals.
pub fn has_terminal() -> bool {
    std::fs::File::open("/dev/tty").is_ok()
}

/// Holds a command, and how it is looked after.
pub struct Supervisor<'a> {
    /// The command.
    pub command: Command,
    /// After so long it is asked to end.
    pub timeout: Option<Duration>,
    /// From the first request to end until the command is killed.
    pub kill_after: Duration,
    /// The signal that we got, which is the command's.
    pub signal: &'a Arc<AtomicUsize>,
    /// How many processes of the fence's own program stand above that of the command.
    pub above: usize,
    /// Whether these count from the first process of a container, which is no child of the program.
    pub is_container: bool,
}

impl Supervisor<'_> {
    /// Runs the command to its end, and ends every process that it leaves.
    ///
    /// # Errors
    /// Fails when it cannot be started or looked after, or a process of it cannot be ended.
    pub fn run(mut self) -> Result<Ended, FenceError> {
        let supervise = |error: rustix::io::Errno| FenceError::Supervise(error.into());
        // the children that we had are not the command's
        let known: BTreeSet<i32> = children(getpid()).into_iter().collect();
        let mut inbox = Inbox::open().map_err(FenceError::Supervise)?;
        let earlier = self.signal.load(Ordering::SeqCst);
        if earlier != 0 {
            return Ok(Ended::Signal(u8::try_from(earlier).unwrap_or(u8::MAX)));
        }
        adopt(true).map_err(supervise)?;
        let mut child = self.command.spawn().map_err(|error| FenceError::Start {
            program: self.command.get_program().display().to_string(),
            error,
        })?;
        let ended = self.wait(&mut child, &mut inbox, &known);
        end_all(&known)?;
        adopt(false).map_err(supervise)?;
        // what reached us was the command's, which has ended
        self.signal.store(0, Ordering::SeqCst);
        ended.map_err(FenceError::Supervise)
    }

    fn wait(
        &self,
        child: &mut Child,
        inbox: &mut Inbox,
        known: &BTreeSet<i32>,
    ) -> std::io::Result<Ended> {
        let pid = Pid::from_child(child);
        // one that no clock reaches is none
        let after = |timeout| Instant::now().checked_add(timeout);
        let mut deadline = self.timeout.and_then(after);
        let mut is_late = false;
        let has_terminal = !self.is_container && has_terminal();
        let is_first = std::process::id() == 1;
        // what came before the command was there
        let told = inbox.read().into_iter();
        let mut told: Vec<_> = told.map(|(number, _)| (number, Some(getpid()))).collect();
        let mut key = None::<(i32, Instant)>;
        // podman that is asked before its container is there says that all went well
        let (mut asked, mut early) = (None, None);
        // nobody tells that a process stops which is no child of ours
        let pause = (has_terminal && self.above > 0).then_some(Duration::from_millis(250));
        loop {
            if let Some(status) = child.try_wait()? {
                let goes_on = || first_of_container(known).is_some();
                let lost = early.or_else(|| asked.filter(|_| self.is_container && goes_on()));
                let lost = lost.filter(|_| !self.is_container || status.success());
                return Ok(match lost {
                    _any if is_late => Ended::TimedOut,
                    Some(signal) => Ended::Signal(signal),
                    None => Ended::of(status),
                });
            }
            if has_terminal {
                follow_stop(self.target(pid, known));
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left == Some(Duration::ZERO) {
                let is_hard = is_late || self.is_early(pid, known);
                let signal = if is_hard { Signal::KILL } else { Signal::TERM };
                let target = self.target(pid, known);
                let below = descendants(target, &BTreeSet::new());
                // first the command: what ends with its children would end without a word
                for process in [target].into_iter().chain(below) {
                    let _ = kill_process(process, signal);
                    let _ = kill_process(process, Signal::CONT);
                }
                deadline = (!is_late).then(|| Instant::now() + self.kill_after);
                is_late = true;
                continue;
            }
            if told.is_empty() {
                inbox.wait(left.into_iter().chain(pause).min())?;
                told = inbox.read();
            }
            for (number, sender) in std::mem::take(&mut told) {
                if number == SIGCHLD {
                    reap(pid, known);
                    continue;
                }
                asked = u8::try_from(number).ok();
                if self.is_early(pid, known) {
                    // bubblewrap has it blocked
                    let _ = kill_process(pid, Signal::KILL);
                    early = asked;
                } else if self.is_container && first_of_container(known).is_none() {
                    early = asked;
                }
                // `git` hands on to us what the terminal has sent to us too
                let is_same = |(one, at): (i32, Instant)| one == number && at.elapsed() < AT_ONCE;
                let is_parents = sender == getppid();
                let is_told = sender.is_none() || is_parents && key.is_some_and(is_same);
                if sender.is_none() {
                    key = Some((number, Instant::now()));
                }
                if !is_told && let Some(signal) = Signal::from_named_raw(number) {
                    let target = self.target(pid, known);
                    // in a container without a terminal, these are keys of the one outside
                    let is_key = [SIGINT, SIGQUIT].contains(&number);
                    let is_alone = is_key && is_first && !has_terminal;
                    let below = is_alone.then(|| descendants(target, &BTreeSet::new()));
                    for process in [target].into_iter().chain(below.unwrap_or_default()) {
                        // it may have ended already, or be stopped, as timeout(1) has it
                        let _ = kill_process(process, signal);
                        let _ = kill_process(process, Signal::CONT);
                    }
                }
            }
        }
    }

    /// The process of the command itself, below those of the fence's program.
    fn target(&self, child: Pid, known: &BTreeSet<i32>) -> Pid {
        self.chain(child, known).pop().unwrap_or(child)
    }

    /// Whether bubblewrap has not started the command yet.
    fn is_early(&self, child: Pid, known: &BTreeSet<i32>) -> bool {
        !self.is_container && self.chain(child, known).len() <= self.above
    }

    /// The processes from the fence's program to the command, as far as they are there.
    fn chain(&self, child: Pid, known: &BTreeSet<i32>) -> Vec<Pid> {
        let below = |pid: &Pid| children(*pid).first().copied().and_then(Pid::from_raw);
        let first = self.is_container.then(|| first_of_container(known));
        let chain = std::iter::successors(first.flatten().or(Some(child)), below);
        chain.take(self.above + 1).collect()
    }
}

/// Looks after a command as the first process of a container: the status to end with, and what to say.
#[cfg(target_os = "linux")]
pub fn look_after(program: &OsString, words: &[OsString]) -> (u8, String) {
    let mut command = Command::new(program);
    command.args(words);
    let ended = Supervisor {
        command,
        timeout: None,
        kill_after: Duration::ZERO,
        signal: &Arc::default(),
        above: 0,
        is_container: false,
    }
    .run();
    match ended {
        Ok(Ended::Status(status)) => (status, String::new()),
        Ok(Ended::Signal(signal)) => (128 + signal, String::new()),
        Ok(Ended::TimedOut) => (124, String::new()),
        Err(error) => (error.status().unwrap_or(125), error.to_string()),
    }
}

/// Stops as the command does, which may reach no process but its own, with what waits for us in our process
/// group (`git`), and continues the command afterwards: at once where no shell is there to continue us, as the
/// kernel stops no orphaned process group (POSIX, XSH 2.4.3).
fn follow_stop(command: Pid) {
    let stat = std::fs::read_to_string(format!("/proc/{command}/stat")).unwrap_or_default();
    // the second field is the program's name in brackets, which may hold anything
    let state = stat.rsplit_once(") ");
    if state.is_some_and(|(_, after)| after.starts_with('T')) {
        let _ = kill_current_process_group(Signal::TSTP);
        let _ = kill_process(command, Signal::CONT);
    }
}

/// Becomes the parent of all that a descendant leaves (`PR_SET_CHILD_SUBREAPER`).
#[cfg(target_os = "linux")]
fn adopt(ours: bool) -> rustix::io::Result<()> {
    // without the list, nobody would find what the command leaves
    rustix::fs::access("/proc/thread-self/children", rustix::fs::Access::READ_OK)?;
    rustix::process::set_child_subreaper(ours.then(getpid))
}

#[cfg(not(target_os = "linux"))]
fn adopt(_ours: bool) -> rustix::io::Result<()> {
    Ok(())
}

/// Receives signals.
struct Inbox(SignalDelivery<UnixStream, WithOrigin>);

impl Inbox {
    fn open() -> std::io::Result<Self> {
        let (reader, writer) = UnixStream::pair()?;
        let signals = FORWARDED.into_iter().chain([SIGCHLD]);
        SignalDelivery::with_pipe(reader, writer, WithOrigin::default(), signals).map(Self)
    }

    /// Waits for a signal, or so long.
    fn wait(&self, time: Option<Duration>) -> std::io::Result<()> {
        let time = time.and_then(|time| Timespec::try_from(time).ok());
        let mut asked = [PollFd::new(self.0.get_read(), PollFlags::IN)];
        match poll(&mut asked, time.as_ref()) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// The signals that came, and the process that sent each; none where the kernel did, to the whole process group.
    fn read(&mut self) -> Vec<(i32, Option<Pid>)> {
        // one outside of our namespace has no number
        let sender = |process: Process| Pid::from_raw(process.pid).unwrap_or_else(getpid);
        let came = self.0.pending();
        let all = came.map(|origin| (origin.signal, origin.process.map(sender)));
        all.collect()
    }
}

/// Takes note of the end of children that became ours.
fn reap(child: Pid, known: &BTreeSet<i32>) {
    let all = children(getpid()).into_iter();
    let others = all.filter(|pid| !known.contains(pid));
    let others = others.filter_map(Pid::from_raw);
    others.filter(|pid| *pid != child).for_each(take_end);
}

fn take_end(pid: Pid) {
    let ended = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let _ = waitid(WaitId::Pid(pid), ended);
}

/// Ends all that descends from us but the children that we had, until none is left.
fn end_all(known: &BTreeSet<i32>) -> Result<(), FenceError> {
    let began = Instant::now();
    // the list may lack one while another ends: two in a row are believed
    let mut empty = 0;
    while empty < 2 {
        let left = descendants(getpid(), known);
        if left.is_empty() {
            empty += 1;
            continue;
        }
        empty = 0;
        for pid in &left {
            let _ = kill_process(*pid, Signal::KILL);
        }
        left.iter().for_each(|pid| take_end(*pid));
        if began.elapsed() > PATIENCE {
            let number = |pid: &Pid| pid.as_raw_nonzero().get().cast_unsigned();
            let pids = left.iter().map(number).collect();
            return Err(FenceError::Leftover { pids });
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}

/// The first process of the container that we started.
fn first_of_container(known: &BTreeSet<i32>) -> Option<Pid> {
    let is_first = |pid: &Pid| {
        let status = std::fs::read_to_string(format!("/proc/{pid}/status")).unwrap_or_default();
        // its numbers, from our own namespace on
        let numbers = status.lines().find_map(|line| line.strip_prefix("NSpid:"));
        numbers.is_some_and(|numbers| numbers.ends_with("\t1"))
    };
    descendants(getpid(), known).into_iter().find(is_first)
}

/// All below a process, but these and what is below them.
fn descendants(top: Pid, without: &BTreeSet<i32>) -> Vec<Pid> {
    let mut found = vec![top];
    let mut next = 0;
    while let Some(one) = found.get(next).copied() {
        let mut below = children(one);
        below.retain(|pid| !without.contains(pid) && Pid::from_raw(*pid) != Some(top));
        found.extend(below.into_iter().filter_map(Pid::from_raw));
        next += 1;
    }
    found.split_off(1)
}

/// The children of a process, of all its threads (`proc_tid_children(5)`).
#[cfg(target_os = "linux")]
fn children(of: Pid) -> Vec<i32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{of}/task")) else {
        return Vec::new();
    };
    let list = |thread: std::io::Result<std::fs::DirEntry>| {
        let list = std::fs::read_to_string(thread.ok()?.path().join("children"));
        Some(list.unwrap_or_default())
    };
    let lists: Vec<String> = threads.filter_map(list).collect();
    let numbers = lists.iter().flat_map(|list| list.split_whitespace());
    numbers.filter_map(|number| number.parse().ok()).collect()
}

#[cfg(not(target_os = "linux"))]
fn children(of: Pid) -> Vec<i32> {
    let asked = Command::new("/usr/bin/pgrep")
        .args(["-P", &of.to_string()])
        .output();
    let list = asked.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    let list = list.unwrap_or_default();
    let numbers = list.split_whitespace();
    numbers.filter_map(|number| number.parse().ok()).collect()
}
