//! Restricts a process before it becomes the command: closes the descriptors that it was given, and
//! limits it by Landlock and seccomp.
//!
//! With `landlock`, that is our child between fork(2) and execve(2), for which we opened what the
//! rules name. In the mount fence and in a container, it is our program as `__init` (`init`),
//! inside of the mounts: what a rule names has to be opened in the file system that the command
//! sees.

pub mod error;
pub mod ruleset;
pub mod seccomp;

use std::io::{Error, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::Command;

use ::landlock::RulesetCreated;
use rustix::io::Errno;
use rustix::process::{Pid, Signal, getpid, getppid, set_parent_process_death_signal};
use seccompiler::BpfProgram;

use crate::config::value::Fence;
use crate::fence::landlock::FileView;
use crate::fence::policy::{FenceRequest, Policy};
use crate::fence::restrict::error::RestrictError;
use crate::fence::restrict::ruleset::{closed_rules, policy_rules};
use crate::fence::signals::FORWARDED;

/// What a process is restricted by, as far as it can be made before.
pub struct Restriction {
    /// The rules of Landlock; none inside of which another sandbox is to start.
    rules: Option<RulesetCreated>,
    filter: BpfProgram,
}

impl Restriction {
    /// Makes what a policy says, for a process that sees these files.
    ///
    /// # Errors
    /// Fails when what a rule names cannot be opened, or the kernel refuses.
    pub fn new(policy: &Policy, view: FileView) -> Result<Self, RestrictError> {
        let request = &policy.request;
        // another sandbox does not start inside of Landlock
        let rules = if request.nested && view == FileView::Mounts {
            None
        } else {
            Some(policy_rules(policy, view)?)
        };
        Ok(Self {
            rules,
            filter: seccomp::filter(request)?,
        })
    }

    /// Makes what restricts as far as any fence does.
    ///
    /// # Errors
    /// Fails when the kernel refuses.
    pub fn closed() -> Result<Self, RestrictError> {
        Ok(Self {
            rules: Some(closed_rules()?),
            filter: seccomp::filter(&FenceRequest::default())?,
        })
    }

    /// Restricts our own process, for good.
    ///
    /// # Errors
    /// Fails when the kernel refuses.
    pub fn apply(&mut self) -> Result<(), RestrictError> {
        close_at_exec()?;
        if let Some(rules) = self.rules.take() {
            rules.restrict_self()?;
        }
        let applied = seccompiler::apply_filter(&self.filter);
        applied.map_err(|error| RestrictError::Seccomp(error.to_string()))
    }
}

/// What our child does between fork(2) and execve(2).
struct ChildSetup {
    fence: Fence,
    /// With `landlock`, its restriction.
    restriction: Option<Restriction>,
    /// Our own process.
    parent: Pid,
}

impl ChildSetup {
    fn apply(&mut self) -> Result<(), RestrictError> {
        if self.fence == Fence::Mount {
            block_signals();
        }
        end_with_parent(match self.fence {
            // podman ends its container then
            Fence::Container => Signal::TERM,
            Fence::None
            | Fence::Perms
            | Fence::Landlock
            | Fence::Mount
            | Fence::Seatbelt
            | Fence::Auto => Signal::KILL,
        })?;
        // it may have ended already
        if getppid() != Some(self.parent) {
            return Err(RestrictError::Signal(Errno::SRCH));
        }
        self.restriction.as_mut().map_or(Ok(()), Restriction::apply)
    }
}

/// Sets what the child that is to become a command does first: it restricts itself (with `landlock`
/// only), and has itself ended when this process ends for whatever reason. A child that cannot do
/// so says why and ends with 125, as env(1) does.
///
/// # Errors
/// Fails when what a rule names cannot be opened.
#[expect(unsafe_code, reason = "only the child itself can restrict itself")]
pub fn restrict_before_start(
    command: &mut Command,
    fence: Fence,
    policy: &Policy,
) -> Result<(), RestrictError> {
    let restriction = match fence {
        Fence::Landlock => Some(Restriction::new(policy, FileView::Host)?),
        Fence::None
        | Fence::Perms
        | Fence::Mount
        | Fence::Container
        | Fence::Seatbelt
        | Fence::Auto => None,
    };
    let mut setup = ChildSetup {
        fence,
        restriction,
        parent: getpid(),
    };
    let before = move || {
        if let Err(error) = setup.apply() {
            let _ = writeln!(std::io::stderr(), "git-agentwt: {error}");
            // SAFETY: ends the child without what our own end would do
            unsafe { libc::_exit(125) }
        }
        Ok(())
    };
    // SAFETY: it makes system calls only, unless it fails; then the child ends
    unsafe { command.pre_exec(before) };
    Ok(())
}

/// Blocks what a terminal sends to bubblewrap as well, with which the command would end that
/// handles it.
fn block_signals() {
    change_mask(libc::SIG_BLOCK);
}

/// Unblocks for the command what was blocked for bubblewrap.
pub fn unblock_signals() {
    change_mask(libc::SIG_UNBLOCK);
}

#[expect(unsafe_code, reason = "no safe crate sets the mask of a child")]
fn change_mask(how: libc::c_int) {
    // SAFETY: fills a set of ours, and sets the mask of this thread (pthread_sigmask(3))
    unsafe {
        let mut set = std::mem::zeroed();
        libc::sigemptyset(&raw mut set);
        for signal in FORWARDED {
            libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(how, &raw const set, std::ptr::null_mut());
    }
}

/// Has our own process get a signal when its parent ends.
///
/// # Errors
/// Fails when the kernel refuses.
pub fn end_with_parent(signal: Signal) -> Result<(), RestrictError> {
    set_parent_process_death_signal(Some(signal)).map_err(RestrictError::Signal)
}

/// Has every descriptor closed but the three of the standard when the command starts.
#[expect(
    unsafe_code,
    reason = "no safe crate closes descriptors that it did not open"
)]
fn close_at_exec() -> Result<(), RestrictError> {
    let flags = libc::CLOSE_RANGE_CLOEXEC;
    // SAFETY: closes nothing before our program has ended
    let status = unsafe { libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, flags) };
    if status == 0 {
        return Ok(());
    }
    Err(RestrictError::Close(Error::last_os_error()))
}
