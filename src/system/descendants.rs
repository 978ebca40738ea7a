//! Finds what descends from a process by the kernel's lists of children. Unlike a family, that has
//! what a daemon left to us, once we adopt orphans.

use rustix::process::{Pid, getpid};

use crate::system::kernel;

/// Becomes the parent of all that a descendant leaves.
///
/// # Errors
/// Fails where the kernel does not list children: nobody would find what a command leaves.
pub fn adopt_orphans() -> rustix::io::Result<()> {
    kernel::adopt_orphans()
}

/// Ends what [`adopt_orphans`] began.
///
/// # Errors
/// Fails when the kernel refuses.
pub fn leave_orphans() -> rustix::io::Result<()> {
    kernel::leave_orphans()
}

/// Returns the number of a process as records have it.
pub fn number(pid: Pid) -> u32 {
    pid.as_raw_nonzero().get().cast_unsigned()
}

/// Returns the children of a process.
pub fn children(pid: Pid) -> Vec<Pid> {
    let mut children = Vec::new();
    for child in kernel::children(number(pid)) {
        children.extend(i32::try_from(child).ok().and_then(Pid::from_raw));
    }
    children
}

/// Returns all below a process, but these and what is below them.
pub fn descendants(ancestor: Pid, except: &[Pid]) -> Vec<Pid> {
    let mut processes = vec![ancestor];
    let mut next = 0;
    while let Some(parent) = processes.get(next).copied() {
        for child in children(parent) {
            if child != ancestor && !except.contains(&child) {
                processes.push(child);
            }
        }
        next += 1;
    }
    processes.split_off(1)
}

/// Returns the first process of the container that we started, but for these and what is below
/// them.
pub fn first_of_container(except: &[Pid]) -> Option<Pid> {
    descendants(getpid(), except)
        .into_iter()
        .find(|pid| kernel::is_first_of_namespace(number(*pid)))
}

/// True if a signal has stopped a process.
pub fn is_stopped(pid: Pid) -> bool {
    kernel::is_stopped(number(pid))
}
