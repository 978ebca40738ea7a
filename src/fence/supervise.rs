//! Runs a command to its end, with the signals that are meant for it, and ends all that it leaves.

use std::io;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getpid, getppid, kill_current_process_group, kill_process,
    waitid,
};
use signal_hook::consts::{SIGCHLD, SIGINT, SIGQUIT};

use crate::fence::error::FenceError;
use crate::fence::signals::{Inbox, ReceivedSignal, Sender};
use crate::system::descendants::{
    adopt_orphans, children, descendants, first_of_container, is_stopped, leave_orphans, number,
};
use crate::system::terminal::has_terminal;

/// How long processes may take to end that were killed.
const PATIENCE: Duration = Duration::from_secs(10);

/// Within what time a signal of our parent is the one that the terminal has sent.
const AT_ONCE: Duration = Duration::from_secs(1);

/// How often a command is looked at that may have stopped without a signal to us.
const STOP_CHECK: Duration = Duration::from_millis(250);

/// Says how a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandEnd {
    /// With a status.
    Status(u8),
    /// By a signal.
    Signal(u8),
    /// Its time was over.
    TimedOut,
}

impl CommandEnd {
    fn of(status: ExitStatus) -> Self {
        match status.signal() {
            Some(signal) => Self::Signal(to_byte(signal)),
            None => Self::Status(to_byte(status.code().unwrap_or(1))),
        }
    }
}

/// The number of a signal or a status, which fits into a byte.
fn to_byte(number: i32) -> u8 {
    u8::try_from(number).unwrap_or(u8::MAX)
}

/// Says which process is the command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CommandProcess {
    /// So many generations below the program that we start, of which the processes above are.
    Below(usize),
    /// The child of the first process of a container, which is no child of the program that we
    /// start.
    InContainer,
}

/// Holds a command, and how it is looked after.
pub struct Supervisor<'a> {
    /// What is started.
    pub command: Command,
    /// Which process is the command.
    pub process: CommandProcess,
    /// After so long it is asked to end.
    pub timeout: Option<Duration>,
    /// From the first request to end until the command is killed.
    pub kill_after: Duration,
    /// The signal that we got, which is the command's.
    pub signal: &'a Arc<AtomicUsize>,
}

impl Supervisor<'_> {
    /// Runs the command to its end, and ends every process that it leaves.
    ///
    /// # Errors
    /// Fails when it cannot be started or looked after, or a process of it cannot be ended.
    pub fn run(mut self) -> Result<CommandEnd, FenceError> {
        // the children that we had are not the command's
        let ours = children(getpid());
        let mut inbox = Inbox::open().map_err(FenceError::Supervise)?;
        let earlier = self.signal.load(Ordering::SeqCst);
        if earlier != 0 {
            return Ok(CommandEnd::Signal(u8::try_from(earlier).unwrap_or(u8::MAX)));
        }
        adopt_orphans().map_err(|error| FenceError::Supervise(error.into()))?;
        let mut early_signals = inbox.read();
        for signal in &mut early_signals {
            // the command is not there yet, so it is handed on: a signal of the terminal would not
            signal.sender = Sender::Process(getpid());
        }
        let mut child = self.command.spawn().map_err(|error| FenceError::Start {
            program: self.command.get_program().display().to_string(),
            error,
        })?;
        let mut watch = Watch::new(&self, Pid::from_child(&child), &ours);
        let end = watch.wait(&mut child, &mut inbox, early_signals);
        end_all(&ours)?;
        leave_orphans().map_err(|error| FenceError::Supervise(error.into()))?;
        // what reached us was the command's, which has ended
        self.signal.store(0, Ordering::SeqCst);
        end.map_err(FenceError::Supervise)
    }
}

/// Says when a command is to end.
#[derive(Clone, Copy)]
enum TimeLimit {
    /// Never.
    Unlimited,
    /// Then it is asked to.
    AskAt(Instant),
    /// It was asked to; then it is killed.
    KillAt(Instant),
    /// It was killed.
    Over,
}

impl TimeLimit {
    /// The time until something is to be done; none if nothing is.
    fn remaining(self) -> Option<Duration> {
        match self {
            Self::Unlimited | Self::Over => None,
            Self::AskAt(deadline) | Self::KillAt(deadline) => {
                Some(deadline.saturating_duration_since(Instant::now()))
            }
        }
    }
}

/// A signal that the terminal sent to the whole process group.
struct Key {
    number: i32,
    received: Instant,
}

/// Looks after a command that was started.
struct Watch<'a> {
    process: CommandProcess,
    kill_after: Duration,
    /// The program that we started.
    child: Pid,
    /// The children that we had before.
    ours: &'a [Pid],
    /// Whether keys of a terminal send signals to the command.
    has_terminal: bool,
    limit: TimeLimit,
    /// The last key of the terminal.
    last_key: Option<Key>,
    /// The last signal that came for the command.
    requested: Option<u8>,
    /// A signal that came before the command was there.
    early: Option<u8>,
}

impl<'a> Watch<'a> {
    fn new(supervisor: &Supervisor<'_>, child: Pid, ours: &'a [Pid]) -> Self {
        // a deadline that no clock reaches is none
        let deadline = supervisor
            .timeout
            .and_then(|timeout| Instant::now().checked_add(timeout));
        let is_container = supervisor.process == CommandProcess::InContainer;
        Self {
            process: supervisor.process,
            kill_after: supervisor.kill_after,
            child,
            ours,
            has_terminal: !is_container && has_terminal(),
            limit: deadline.map_or(TimeLimit::Unlimited, TimeLimit::AskAt),
            last_key: None,
            requested: None,
            early: None,
        }
    }

    /// Waits for the end of the command: hands signals on, those that were `received` first, stops
    /// with the command, and ends the command when its time is over.
    fn wait(
        &mut self,
        child: &mut Child,
        inbox: &mut Inbox,
        mut received: Vec<ReceivedSignal>,
    ) -> io::Result<CommandEnd> {
        loop {
            if let Some(status) = child.try_wait()? {
                return Ok(self.end(status));
            }
            if self.has_terminal {
                follow_stop(self.command());
            }
            let remaining = self.limit.remaining();
            if remaining == Some(Duration::ZERO) {
                self.enforce_limit();
                continue;
            }
            if received.is_empty() {
                inbox.wait(remaining.into_iter().chain(self.stop_check()).min())?;
                received = inbox.read();
            }
            for signal in std::mem::take(&mut received) {
                self.receive(&signal);
            }
        }
    }

    /// How the command ended, when the program that we started has ended with a status.
    fn end(&self, status: ExitStatus) -> CommandEnd {
        if matches!(self.limit, TimeLimit::KillAt(_) | TimeLimit::Over) {
            return CommandEnd::TimedOut;
        }
        let unheard_signal = match self.process {
            CommandProcess::Below(_) => self.early,
            CommandProcess::InContainer => self.signal_unheard_by_container(status),
        };
        unheard_signal.map_or_else(|| CommandEnd::of(status), CommandEnd::Signal)
    }

    /// The signal that a container should have ended by, though its program reports success: podman
    /// does so if the signal comes before the container is there.
    fn signal_unheard_by_container(&self, status: ExitStatus) -> Option<u8> {
        if !status.success() {
            return None;
        }
        if self.early.is_some() {
            return self.early;
        }
        let requested = self.requested?;
        first_of_container(self.ours).is_some().then_some(requested)
    }

    /// How often a process that is no child of ours is looked at: the system does not report to us
    /// that it stops.
    fn stop_check(&self) -> Option<Duration> {
        let is_child = self.process == CommandProcess::Below(0);
        (self.has_terminal && !is_child).then_some(STOP_CHECK)
    }

    /// Asks the command to end, and kills it when it was asked before.
    fn enforce_limit(&mut self) {
        let was_asked = matches!(self.limit, TimeLimit::KillAt(_));
        let signal = if was_asked || self.is_early() {
            Signal::KILL
        } else {
            Signal::TERM
        };
        // first the command: what ends with its children would end without a word
        self.send_to_all(signal);
        self.limit = if was_asked {
            TimeLimit::Over
        } else {
            TimeLimit::KillAt(Instant::now() + self.kill_after)
        };
    }

    /// Hands a signal on to the command, unless the command got it too; reaps what has ended.
    fn receive(&mut self, signal: &ReceivedSignal) {
        if signal.number == SIGCHLD {
            reap_orphans(self.child, self.ours);
            return;
        }
        self.note_request(signal.number);
        if !self.has_reached_command(signal) {
            self.forward(signal.number);
        }
    }

    /// Notes a signal, and whether the command is there to get it.
    fn note_request(&mut self, number: i32) {
        self.requested = u8::try_from(number).ok();
        if self.is_early() {
            // bubblewrap has it blocked
            let _ = kill_process(self.child, Signal::KILL);
            self.early = self.requested;
        } else if self.process == CommandProcess::InContainer
            && first_of_container(self.ours).is_none()
        {
            self.early = self.requested;
        }
    }

    /// True if the terminal has sent a signal to the command too. `git` hands on to us what the
    /// terminal has sent to us already.
    fn has_reached_command(&mut self, signal: &ReceivedSignal) -> bool {
        match signal.sender {
            Sender::Terminal => {
                self.last_key = Some(Key {
                    number: signal.number,
                    received: Instant::now(),
                });
                true
            }
            Sender::Process(sender) => {
                let is_last_key = self.last_key.as_ref().is_some_and(|key| {
                    key.number == signal.number && key.received.elapsed() < AT_ONCE
                });
                is_last_key && Some(sender) == getppid()
            }
        }
    }

    /// Sends a signal to the command; in a container without a terminal, keys of the one outside to
    /// all below the command too.
    fn forward(&self, number: i32) {
        let Some(signal) = Signal::from_named_raw(number) else {
            return;
        };
        let is_key = [SIGINT, SIGQUIT].contains(&number);
        let is_first_process = std::process::id() == 1;
        if is_key && is_first_process && !self.has_terminal {
            self.send_to_all(signal);
        } else {
            send(self.command(), signal);
        }
    }

    /// Sends a signal to the command, and then to all below it.
    fn send_to_all(&self, signal: Signal) {
        let command = self.command();
        let below = descendants(command, &[]);
        send(command, signal);
        for process in below {
            send(process, signal);
        }
    }

    /// The process of the command itself, below those of the fence's program.
    fn command(&self) -> Pid {
        self.chain().pop().unwrap_or(self.child)
    }

    /// True if bubblewrap has not started the command yet.
    fn is_early(&self) -> bool {
        match self.process {
            CommandProcess::Below(generations) => self.chain().len() <= generations,
            CommandProcess::InContainer => false,
        }
    }

    /// The processes from the fence's program to the command, as far as they are there.
    fn chain(&self) -> Vec<Pid> {
        let (first, generations) = match self.process {
            CommandProcess::Below(generations) => (self.child, generations),
            CommandProcess::InContainer => {
                let first = first_of_container(self.ours);
                (first.unwrap_or(self.child), 1)
            }
        };
        let below = |pid: &Pid| children(*pid).first().copied();
        std::iter::successors(Some(first), below)
            .take(generations + 1)
            .collect()
    }
}

/// Sends a signal to a process, also if that is stopped, as timeout(1) does. It may have ended
/// already.
fn send(process: Pid, signal: Signal) {
    let _ = kill_process(process, signal);
    let _ = kill_process(process, Signal::CONT);
}

/// Stops as the command does, which may reach no process but its own, with what waits for us in our
/// process group (`git`), and continues the command afterwards: at once where no shell is there to
/// continue us, as the kernel stops no orphaned process group (POSIX, XSH 2.4.3).
fn follow_stop(command: Pid) {
    if is_stopped(command) {
        let _ = kill_current_process_group(Signal::TSTP);
        let _ = kill_process(command, Signal::CONT);
    }
}

/// Takes note of the end of children that became ours.
fn reap_orphans(child: Pid, ours: &[Pid]) {
    for pid in children(getpid()) {
        if pid != child && !ours.contains(&pid) {
            take_end(pid);
        }
    }
}

fn take_end(pid: Pid) {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG;
    let _ = waitid(WaitId::Pid(pid), options);
}

/// Ends all that descends from us but the children that we had, until none is left.
fn end_all(ours: &[Pid]) -> Result<(), FenceError> {
    let began = Instant::now();
    // the list may lack one while another ends: two in a row are believed
    let mut empty_lists = 0;
    while empty_lists < 2 {
        let leftover = descendants(getpid(), ours);
        if leftover.is_empty() {
            empty_lists += 1;
            continue;
        }
        empty_lists = 0;
        for pid in &leftover {
            let _ = kill_process(*pid, Signal::KILL);
        }
        for pid in &leftover {
            take_end(*pid);
        }
        if began.elapsed() > PATIENCE {
            let pids = leftover.into_iter().map(number).collect();
            return Err(FenceError::Leftover { pids });
        }
        std::thread::sleep(Duration::from_micros(200));
    }
    Ok(())
}
