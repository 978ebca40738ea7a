//! What only the kernel of Linux does for the fences. `macos.rs` is the twin.
#![expect(
    clippy::disallowed_methods,
    reason = "writes the start file, tries what the fences start"
)]

use std::ffi::OsString;
use std::io;
use std::process::Command;

use camino::Utf8Path;

use crate::config::value::Fence;
use crate::fence::availability::ProbeFailure;
use crate::fence::error::FenceError;
use crate::fence::init::{self, INIT, PROBE, Start, requested_entries};
use crate::fence::landlock::FileView;
use crate::fence::policy::Policy;
use crate::fence::program_end::ProgramEnd;
use crate::fence::restrict;
use crate::fence::restrict::ruleset::{MIN_ABI, landlock_version};
use crate::fence::trial::succeed;

/// What helps where the kernel has no Landlock, or too old a version.
const NEWER_KERNEL: &str = "a kernel from 6.12 on has what is needed";

/// Becomes the command of a fence, where our program was started as `__init`.
pub fn become_init(arguments: &[OsString]) -> Option<ProgramEnd> {
    let is_init = arguments.get(1).is_some_and(|word| word == INIT);
    is_init.then(|| init::run(arguments))
}

/// Writes the start file for `__init`, which the fences have that mount.
///
/// # Errors
/// Fails when it cannot be written.
pub fn write_start(fence: Fence, policy: &Policy) -> Result<(), FenceError> {
    if FileView::of(fence) == FileView::Host {
        return Ok(());
    }
    let file = policy.places.private.join("start.json");
    let start = Start {
        fence,
        policy,
        requested: requested_entries(&policy.request, FileView::Host),
    };
    serde_json::to_vec(&start)
        .map_err(io::Error::from)
        .and_then(|text| std::fs::write(&file, text))
        .map_err(|error| FenceError::unwritten(file.as_std_path(), &error))
}

/// Has a command end with us, and with `landlock` restrict itself before it starts.
///
/// # Errors
/// Fails when what a rule names cannot be opened.
pub fn restrict_before_start(
    command: &mut Command,
    fence: Fence,
    policy: &Policy,
) -> Result<(), FenceError> {
    if fence <= Fence::Perms {
        return Ok(());
    }
    restrict::restrict_before_start(command, fence, policy)
        .map_err(|error| FenceError::Restrict(error.to_string()))
}

/// Asks for the version of Landlock only: a restriction that fails ends its process, before
/// anything is run.
///
/// # Errors
/// Returns what is missing.
pub fn landlock_support() -> Result<String, ProbeFailure> {
    match landlock_version() {
        Ok(version) if version >= MIN_ABI => Ok(format!("Landlock ABI {version}")),
        Ok(version) => Err(ProbeFailure::new(
            format!("Landlock ABI {version}"),
            format!("{MIN_ABI} is needed, for signals and abstract sockets"),
            NEWER_KERNEL,
        )),
        Err(error) if error.raw_os_error() == Some(libc::EOPNOTSUPP) => Err(ProbeFailure::new(
            "Landlock is not enabled",
            error.to_string(),
            "add `landlock` to the list of `lsm=` on the kernel's command line \
                (/sys/kernel/security/lsm has the list now)",
        )),
        Err(error) => Err(ProbeFailure::new(
            "the kernel has no Landlock",
            error.to_string(),
            NEWER_KERNEL,
        )),
    }
}

/// Starts a process that restricts itself.
///
/// # Errors
/// Returns what is missing.
pub fn probe_landlock(binary: &Utf8Path) -> Result<String, ProbeFailure> {
    let version = landlock_support()?;
    let mut command = Command::new(binary.as_std_path());
    command.args([INIT, PROBE]);
    succeed(
        &mut command,
        "a process that restricts itself",
        |_| "look for what forbids it: the seccomp filter of a container, or a 16th restriction",
    )?;
    Ok(version)
}

/// Succeeds: bubblewrap is for Linux.
///
/// # Errors
/// Never fails.
pub fn bubblewrap_support() -> Result<(), ProbeFailure> {
    Ok(())
}
