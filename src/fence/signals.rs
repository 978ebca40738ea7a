//! Receives the signals that are meant for a command.

use std::io::Result;
use std::os::unix::net::UnixStream;
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::process::{Pid, getpid};
use signal_hook::consts::{SIGALRM, SIGCHLD, SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2};
use signal_hook::iterator::backend::SignalDelivery;
use signal_hook::iterator::exfiltrator::WithOrigin;

/// What is handed on to the command.
pub const FORWARDED: [i32; 7] = [SIGTERM, SIGINT, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGALRM];

/// A signal that came.
pub struct ReceivedSignal {
    /// Its number.
    pub number: i32,
    /// Who sent it.
    pub sender: Sender,
}

/// Says who sent a signal.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sender {
    /// The kernel, for a key of the terminal: the whole process group got it.
    Terminal,
    /// A process; our own stands for one that is outside of our namespace.
    Process(Pid),
}

/// Receives what is to be handed on, and the end of children.
pub struct Inbox(SignalDelivery<UnixStream, WithOrigin>);

impl Inbox {
    /// Begins to receive.
    ///
    /// # Errors
    /// Fails when the kernel refuses.
    pub fn open() -> Result<Self> {
        let (reader, writer) = UnixStream::pair()?;
        let signals = FORWARDED.into_iter().chain([SIGCHLD]);
        SignalDelivery::with_pipe(reader, writer, WithOrigin::default(), signals).map(Self)
    }

    /// Waits for a signal, or so long.
    ///
    /// # Errors
    /// Fails when the kernel refuses.
    pub fn wait(&self, limit: Option<Duration>) -> Result<()> {
        let timeout = limit.and_then(|limit| Timespec::try_from(limit).ok());
        let mut descriptors = [PollFd::new(self.0.get_read(), PollFlags::IN)];
        match poll(&mut descriptors, timeout.as_ref()) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the signals that came.
    pub fn read(&mut self) -> Vec<ReceivedSignal> {
        let mut received = Vec::new();
        for origin in self.0.pending() {
            let sender = match origin.process {
                None => Sender::Terminal,
                // one outside of our namespace has no number
                Some(process) => Sender::Process(Pid::from_raw(process.pid).unwrap_or_else(getpid)),
            };
            received.push(ReceivedSignal {
                number: origin.signal,
                sender,
            });
        }
        received
    }
}
