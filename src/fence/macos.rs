//! What macOS does instead of what `linux.rs` has: the sandbox does all, and nothing is left to do
//! here.

use std::ffi::OsString;
use std::process::Command;

use camino::Utf8Path;

use crate::config::value::Fence;
use crate::fence::availability::ProbeFailure;
use crate::fence::error::FenceError;
use crate::fence::policy::Policy;
use crate::fence::program_end::ProgramEnd;

/// Returns none: no fence starts our program as `__init` here.
pub fn become_init(_arguments: &[OsString]) -> Option<ProgramEnd> {
    None
}

/// Does nothing: there is no `__init` that would read a start file.
///
/// # Errors
/// Never fails.
pub fn write_start(_fence: Fence, _policy: &Policy) -> Result<(), FenceError> {
    Ok(())
}

/// Does nothing: `sandbox-exec` restricts the command.
///
/// # Errors
/// Never fails.
pub fn restrict_before_start(
    _command: &mut Command,
    _fence: Fence,
    _policy: &Policy,
) -> Result<(), FenceError> {
    Ok(())
}

/// Fails: there is no Landlock.
///
/// # Errors
/// Always.
pub fn landlock_support() -> Result<String, ProbeFailure> {
    Err(only_linux("Landlock"))
}

/// Fails: there is no Landlock.
///
/// # Errors
/// Always.
pub fn probe_landlock(_binary: &Utf8Path) -> Result<String, ProbeFailure> {
    landlock_support()
}

/// Fails: there is no bubblewrap.
///
/// # Errors
/// Always.
pub fn bubblewrap_support() -> Result<(), ProbeFailure> {
    Err(only_linux("bwrap"))
}

fn only_linux(what: &str) -> ProbeFailure {
    ProbeFailure::new(what, "only Linux has it", "use --fence seatbelt")
}
