//! Fences: how the kernel keeps a command to its scope while it runs.
//!
//! A `Fence` is a mechanism of the system that refuses writes outside of a scope. A `Policy` says
//! what is to be enforced, and is computed once, without a look at the system; each fence renders
//! it in its own language. What a fence cannot say exactly is said to the user, and is found by the
//! verification after the run.

pub mod availability;
pub mod compile;
pub mod container;
pub mod error;
#[cfg(target_os = "linux")]
pub mod init;
#[cfg_attr(target_os = "linux", path = "linux.rs")]
#[cfg_attr(not(target_os = "linux"), path = "macos.rs")]
pub mod kernel;
pub mod landlock;
pub mod mount;
pub mod policy;
pub mod presets;
pub mod probe;
pub mod program_end;
#[cfg(target_os = "linux")]
pub mod restrict;
pub mod seatbelt;
pub mod shim;
pub mod signals;
pub mod start;
pub mod supervise;
pub mod trial;
pub mod unable;

#[cfg(test)]
mod tests;

use std::ffi::OsString;

use crate::fence::program_end::ProgramEnd;

/// Becomes the program of a fence, where our own was started for that: as `__init` of a fence, or
/// as the `git` on `PATH` in one. Returns none if it was not; otherwise only where that cannot
/// be.
pub fn become_program_of_fence(arguments: &[OsString]) -> Option<ProgramEnd> {
    if shim::is_called(arguments) {
        return Some(shim::run(arguments));
    }
    kernel::become_init(arguments)
}
