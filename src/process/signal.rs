//! Sends signals to programs that we started.

use rustix::process::{Pid, Signal, getpid, kill_process};

/// Sends a signal to a child of ours; to nobody when there is no such child any more.
pub fn send_to_child(pid: u32, signal: usize) {
    let numbers = i32::try_from(pid).ok().zip(i32::try_from(signal).ok());
    let Some((pid, number)) = numbers else { return };
    let both = Pid::from_raw(pid).zip(Signal::from_named_raw(number));
    if let Some((pid, signal)) = both.filter(|(pid, _)| is_child(*pid)) {
        // it may end by itself at any moment
        let _ = kill_process(pid, signal);
    }
}

/// Whether a process is our child: the number of one that has ended may be another's by now.
#[cfg(target_os = "linux")]
fn is_child(pid: Pid) -> bool {
    #[expect(
        clippy::disallowed_methods,
        reason = "/proc (proc(5)) is the system's word on processes, not a disk"
    )]
    let stat = std::fs::read(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    let Ok(stat) = stat else { return false };
    let stat = String::from_utf8_lossy(&stat).into_owned();
    let parent = stat
        .rsplit_once(") ")
        .and_then(|(_, after)| after.split(' ').nth(1));
    parent == Some(&getpid().as_raw_nonzero().to_string())
}

/// Whether a process is our child: where there is no /proc, we have not asked yet how it ended.
#[cfg(not(target_os = "linux"))]
fn is_child(_pid: Pid) -> bool {
    true
}
