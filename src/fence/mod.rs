//! Fences: how the kernel keeps a command to its scope while it runs.
//!
//! A `Fence` is a mechanism of the system that refuses writes outside of a scope. A `Policy` says
//! what is to be enforced, and is computed once, without a look at the system; each fence renders it
//! in its own language. What a fence cannot say exactly is said to the user, and is found by the
//! verification after the run.

pub mod availability;
pub mod container;
pub mod error;
pub mod landlock;
pub mod mount;
pub mod policy;
pub mod presets;
pub mod probe;
#[cfg(target_os = "linux")]
pub mod restrict;
pub mod seatbelt;
pub mod shim;
pub mod signals;
pub mod start;
pub mod supervise;
pub mod unable;

#[cfg(test)]
mod tests;

use std::ffi::OsString;

/// Becomes another program, where our own was started for that: as `__init` of a fence, or as the `git`
/// on `PATH` in one. Returns only where that cannot be: the status to end with, and what to say.
pub fn become_other(arguments: &[OsString]) -> Option<(u8, String)> {
    if shim::is_asked(arguments) {
        return Some(shim::run(arguments));
    }
    #[cfg(target_os = "linux")]
    if arguments.get(1).is_some_and(|word| word == restrict::INIT) {
        return Some(restrict::run(arguments));
    }
    None
}
