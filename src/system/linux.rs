//! Asks the kernel of Linux about processes, mounts and its own run: the one reader of `/proc`
//! (proc(5)). `macos.rs` answers the same questions elsewhere.
#![expect(clippy::disallowed_methods, reason = "the one reader of /proc")]

use std::fs::DirEntry;
use std::io;
use std::path::PathBuf;

use bstr::ByteSlice as _;
use rustix::fs::{Access, access};
use rustix::process::{getpid, set_child_subreaper};
use rustix::time::ClockId;

/// The clock that goes on while the system sleeps (`clock_gettime(2)`).
pub const CLOCK: ClockId = ClockId::Boottime;

/// Where the mounts are listed that this process sees (`proc_pid_mountinfo(5)`).
pub const MOUNT_TABLE: &str = "/proc/self/mountinfo";

/// The fields of `/proc/<pid>/stat` that are used here (`proc_pid_stat(5)`).
struct Stat {
    state: State,
    parent: Option<u32>,
    session: i64,
    /// The number of the controlling terminal; 0 for none.
    terminal: i64,
    /// When the process started, in clock ticks after the boot.
    start_ticks: u64,
}

/// Says what a process does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    /// A signal has stopped it.
    Stopped,
    /// It has ended, and its parent has not asked yet how.
    Ended,
    /// It runs or sleeps.
    Running,
}

impl Stat {
    /// Reads the fields of a process; none if there is no such process.
    fn read(pid: u32) -> Option<Self> {
        let content = read(pid, "stat");
        let text = content.to_str_lossy();
        // the second field is the program's name in brackets, which may hold anything
        let (_, after_name) = text.rsplit_once(") ")?;
        let fields: Vec<&str> = after_name.split(' ').collect();
        let state = match *fields.first()? {
            "T" => State::Stopped,
            "Z" | "X" => State::Ended,
            _ => State::Running,
        };
        Some(Self {
            state,
            parent: fields.get(1)?.parse().ok(),
            session: fields.get(3)?.parse().ok()?,
            terminal: fields.get(4)?.parse().ok()?,
            start_ticks: fields.get(19)?.parse().ok()?,
        })
    }
}

/// Reads a file of a process; empty for a process that has ended, or that we may not look at.
fn read(pid: u32, file: &str) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

/// Returns where a link of a process leads; none for a process of another user.
fn read_link(pid: u32, name: &str) -> Option<PathBuf> {
    std::fs::read_link(format!("/proc/{pid}/{name}")).ok()
}

/// Returns the numbers of all processes that can be seen; none without `/proc`.
pub fn pids() -> Option<Vec<u32>> {
    let mut pids = Vec::new();
    for entry in std::fs::read_dir("/proc").ok()?.flatten() {
        let name = entry.file_name();
        if let Some(pid) = name.to_str().and_then(|name| name.parse().ok()) {
            pids.push(pid);
        }
    }
    pids.contains(&std::process::id()).then_some(pids)
}

/// Returns the process that started this one.
pub fn parent(pid: u32) -> Option<u32> {
    Stat::read(pid)?.parent
}

/// Returns the children of all threads of a process (`proc_tid_children(5)`).
pub fn children(pid: u32) -> Vec<u32> {
    let Ok(threads) = std::fs::read_dir(format!("/proc/{pid}/task")) else {
        return Vec::new();
    };
    let mut children = Vec::new();
    for thread in threads.flatten() {
        let list = std::fs::read_to_string(thread.path().join("children")).unwrap_or_default();
        children.extend(
            list.split_whitespace()
                .filter_map(|child| child.parse::<u32>().ok()),
        );
    }
    children
}

/// Returns what only this very process has, as long as its number means it: the boot and the time
/// at which it started; none when there is no such process.
pub fn start_time(pid: u32) -> Option<String> {
    let boot = boot_id()?;
    let stat = Stat::read(pid)?;
    (stat.state != State::Ended).then(|| format!("{boot} {}", stat.start_ticks))
}

/// True if a signal has stopped a process.
pub fn is_stopped(pid: u32) -> bool {
    Stat::read(pid).is_some_and(|stat| stat.state == State::Stopped)
}

/// True if a process without a terminal has started another one in a terminal of its own: that one
/// leads its session (`setsid(2)`).
pub fn serves_terminal(server: u32, shell: u32) -> bool {
    let has_no_terminal = |stat: Stat| stat.terminal == 0;
    let leads_in_terminal = |stat: Stat| stat.session == i64::from(shell) && stat.terminal != 0;
    Stat::read(server).is_some_and(has_no_terminal)
        && Stat::read(shell).is_some_and(leads_in_terminal)
}

/// True if a process is the first one of a namespace of processes (`pid_namespaces(7)`).
pub fn is_first_of_namespace(pid: u32) -> bool {
    let status = read(pid, "status");
    // the numbers of the process, from our own namespace on
    let numbers = status.lines().find_map(|line| line.strip_prefix(b"NSpid:"));
    numbers.is_some_and(|numbers| numbers.ends_with(b"\t1"))
}

/// Returns the name of a program that runs, at most 15 bytes of it (`comm`).
pub fn name(pid: u32) -> Vec<u8> {
    read(pid, "comm").trim_ascii_end().to_owned()
}

/// Returns the words of a command line.
pub fn command_line(pid: u32) -> Vec<Vec<u8>> {
    split_at_zeros(&read(pid, "cmdline"))
}

/// Returns the variables that a process was started with, as `NAME=value`; none of another user's.
pub fn environment(pid: u32) -> Vec<Vec<u8>> {
    split_at_zeros(&read(pid, "environ"))
}

fn split_at_zeros(text: &[u8]) -> Vec<Vec<u8>> {
    text.split(|byte| *byte == 0).map(<[u8]>::to_vec).collect()
}

/// Returns the directory in which a process works; none for a process of another user.
pub fn current_directory(pid: u32) -> Option<PathBuf> {
    read_link(pid, "cwd")
}

/// Returns the program of a process; none for a process of another user.
pub fn executable(pid: u32) -> Option<PathBuf> {
    read_link(pid, "exe")
}

/// Returns what a process has open; nothing of a process that has ended, or is another user's.
pub fn open_files(pid: u32) -> Vec<PathBuf> {
    let Ok(descriptors) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
        return Vec::new();
    };
    let target = |descriptor: DirEntry| std::fs::read_link(descriptor.path()).ok();
    descriptors.flatten().filter_map(target).collect()
}

/// Makes us the parent of all that a descendant leaves (`PR_SET_CHILD_SUBREAPER`).
///
/// # Errors
/// Fails where the kernel does not list children: nobody would find what a command leaves.
pub fn adopt_orphans() -> rustix::io::Result<()> {
    access("/proc/thread-self/children", Access::READ_OK)?;
    set_child_subreaper(Some(getpid()))
}

/// Ends what [`adopt_orphans`] began.
///
/// # Errors
/// Fails when the kernel refuses.
pub fn leave_orphans() -> rustix::io::Result<()> {
    set_child_subreaper(None)
}

/// Returns what is another word after each boot.
pub fn boot_id() -> Option<String> {
    let text = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned())
}

/// Returns the boot that [`CLOCK`] counts from, and in a container with a time of its own
/// (`time_namespaces(7)`) which time that is.
pub fn clock_start() -> String {
    let boot = boot_id().unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    format!("{boot} {}", namespace.display())
}

/// Returns the paths at which something is mounted; none without `/proc`.
///
/// # Errors
/// Fails when [`MOUNT_TABLE`] cannot be read.
pub fn mount_points() -> io::Result<Vec<Vec<u8>>> {
    let table = match std::fs::read(MOUNT_TABLE) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        content => content?,
    };
    let mut points = Vec::new();
    for mount in table.lines() {
        if let Some(point) = mount.split(|byte| *byte == b' ').nth(4) {
            points.push(unescaped(point));
        }
    }
    Ok(points)
}

/// A path of the table has blanks, newlines and backslashes as `\` and three octal digits.
fn unescaped(path: &[u8]) -> Vec<u8> {
    let mut plain = path.to_owned();
    for (escape, byte) in [
        ("\\040", " "),
        ("\\011", "\t"),
        ("\\012", "\n"),
        ("\\134", "\\"),
    ] {
        plain = plain.replace(escape, byte);
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mount_point_is_read_as_it_is_called() {
        assert_eq!(unescaped(br"/w\040t/a\011b\134"), b"/w t/a\tb\\");
        let points = mount_points().expect("this system tells");
        assert!(points.iter().any(|point| point == b"/proc"), "{points:?}");
    }

    #[test]
    fn we_run_and_are_our_parents_child() {
        let own = std::process::id();
        let stat = Stat::read(own).expect("we run");
        assert!(stat.state == State::Running && !is_stopped(own));
        let parent = stat.parent.expect("somebody started us");
        assert!(children(parent).contains(&own));
        assert!(Stat::read(u32::MAX - 1).is_none());
    }
}
