//! Runs work in a thread that has a umask and a working directory of its own.
//!
//! Both belong to the process, and other threads of a program that uses the library create files
//! meanwhile. On Linux a thread can have its own (unshare(2), `CLONE_FS`), which the threads and
//! programs that it starts inherit. No other system has this, and a container may refuse it.

use std::io;

use camino::Utf8Path;

/// What the thread changes for itself, and for what it starts.
#[derive(Clone, Copy)]
pub enum OwnState<'a> {
    /// New files and directories get no write bits, where the system can give a thread its umask.
    CreatesReadOnly,
    /// Programs are started in this directory.
    WorksIn(&'a Utf8Path),
    /// Nothing.
    AsProcess,
}

/// Runs `work` in a thread of this state, and returns what it returned.
///
/// # Errors
/// Fails without running `work` where a thread cannot work in this directory.
pub fn run<T: Send>(state: OwnState<'_>, work: impl FnOnce() -> T + Send) -> io::Result<T> {
    std::thread::scope(|threads| {
        let thread = threads.spawn(|| {
            take_on(state)?;
            Ok(work())
        });
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Gives this thread a umask or a directory of its own. A umask that cannot be had is no failure:
/// files get their bits afterwards.
#[cfg(target_os = "linux")]
fn take_on(state: OwnState<'_>) -> io::Result<()> {
    use rustix::fs::Mode;
    use rustix::process::{chdir, umask};

    match state {
        OwnState::AsProcess => {}
        OwnState::CreatesReadOnly => {
            if unshare_from_process().is_ok() {
                let write = Mode::WUSR | Mode::WGRP | Mode::WOTH;
                let before = umask(write);
                umask(before | write);
            }
        }
        OwnState::WorksIn(directory) => {
            unshare_from_process()?;
            chdir(directory.as_std_path())?;
        }
    }
    Ok(())
}

#[cfg(target_os = "linux")]
#[expect(
    unsafe_code,
    reason = "it would be unsafe for open files, which stay shared"
)]
fn unshare_from_process() -> io::Result<()> {
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    // SAFETY: the table of open files is not touched
    Ok(unsafe { unshare_unsafe(UnshareFlags::FS) }?)
}

#[cfg(not(target_os = "linux"))]
fn take_on(state: OwnState<'_>) -> io::Result<()> {
    match state {
        OwnState::AsProcess | OwnState::CreatesReadOnly => Ok(()),
        OwnState::WorksIn(_) => Err(io::ErrorKind::Unsupported.into()),
    }
}
