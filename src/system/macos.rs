//! Asks macOS, and any other system without `/proc`, by ps(1) and pgrep(1): the twin of `linux.rs`.
//! What these programs do not say is answered with nothing.
#![expect(clippy::disallowed_methods, reason = "asks ps(1) and pgrep(1)")]

use std::io;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use rustix::time::ClockId;

/// The clock that goes on while the system sleeps (`clock_gettime(2)`).
pub const CLOCK: ClockId = ClockId::Monotonic;

/// Where the mounts are listed that this process sees; not read here.
pub const MOUNT_TABLE: &str = "mount(8)";

/// The output of a program; empty where it cannot be started.
fn output(program: &str, arguments: &[&str]) -> String {
    let mut command = Command::new(program);
    let output = command.args(arguments).stderr(Stdio::null()).output();
    output.map_or_else(
        |_| String::new(),
        |output| String::from_utf8_lossy(&output.stdout).into_owned(),
    )
}

/// Returns nothing: processes are not listed here.
pub fn pids() -> Option<Vec<u32>> {
    None
}

/// Returns nothing: no parent is known here.
pub fn parent(_pid: u32) -> Option<u32> {
    None
}

/// Returns the children of a process (pgrep(1)).
pub fn children(pid: u32) -> Vec<u32> {
    let list = output("/usr/bin/pgrep", &["-P", &pid.to_string()]);
    let pids = list.split_whitespace();
    pids.filter_map(|child| child.parse().ok()).collect()
}

/// Returns what only this very process has, as long as its number means it: the time at which it
/// started (ps(1)); none when there is no such process.
pub fn start_time(pid: u32) -> Option<String> {
    let list = output("ps", &["-o", "lstart=", "-p", &pid.to_string()]);
    let time = list.trim();
    (!time.is_empty()).then(|| time.to_owned())
}

/// Returns false: the state of a process is not known here.
pub fn is_stopped(_pid: u32) -> bool {
    false
}

/// Returns false: terminals of processes are not known here.
pub fn serves_terminal(_server: u32, _shell: u32) -> bool {
    false
}

/// Returns false: there are no namespaces here.
pub fn is_first_of_namespace(_pid: u32) -> bool {
    false
}

/// Returns nothing: names of processes are not known here.
pub fn name(_pid: u32) -> Vec<u8> {
    Vec::new()
}

/// Returns nothing: command lines are not known here.
pub fn command_line(_pid: u32) -> Vec<Vec<u8>> {
    Vec::new()
}

/// Returns nothing: variables of processes are not known here.
pub fn environment(_pid: u32) -> Vec<Vec<u8>> {
    Vec::new()
}

/// Returns nothing: where processes work is not known here.
pub fn current_directory(_pid: u32) -> Option<PathBuf> {
    None
}

/// Returns nothing: programs of processes are not known here.
pub fn executable(_pid: u32) -> Option<PathBuf> {
    None
}

/// Returns nothing: open files are not known here.
pub fn open_files(_pid: u32) -> Vec<PathBuf> {
    Vec::new()
}

/// Does nothing: orphans go to the first process here.
///
/// # Errors
/// Never fails.
pub fn adopt_orphans() -> rustix::io::Result<()> {
    Ok(())
}

/// Does nothing, as [`adopt_orphans`].
///
/// # Errors
/// Never fails.
pub fn leave_orphans() -> rustix::io::Result<()> {
    Ok(())
}

/// Returns nothing: boots have no names here.
pub fn boot_id() -> Option<String> {
    None
}

/// Returns the boot that [`CLOCK`] counts from: when the first process began is when the system
/// did.
pub fn clock_start() -> String {
    start_time(1).unwrap_or_default()
}

/// Returns nothing: mounts are not listed here.
///
/// # Errors
/// Never fails.
pub fn mount_points() -> io::Result<Vec<Vec<u8>>> {
    Ok(Vec::new())
}
