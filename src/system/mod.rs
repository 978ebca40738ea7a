//! Reads what the system tells of processes (proc(5)), starts the programs that the user names, and
//! sends signals. Where there is no `/proc`, little is known.
//!
//! Git is started in `git/`, and nowhere here.
#![expect(clippy::disallowed_methods, reason = "asks /proc, starts ourselves")]

pub mod probe;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::hash::{BuildHasher, RandomState};
use std::io::BufRead as _;
use std::os::unix::process::ExitStatusExt as _;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};
use rustix::process::{Pid, Signal, kill_process};
use rustix::time::{ClockId, clock_gettime};
use serde::{Deserialize, Serialize};

use crate::words::path;

/// Returns the name of this host.
pub fn host() -> String {
    let name = rustix::system::uname();
    name.nodename().to_string_lossy().into_owned()
}

/// Returns the name of the user that we run as (passwd(5)), or the number where there is no name.
pub fn user() -> String {
    let number = rustix::process::getuid().as_raw().to_string();
    let users = std::fs::read_to_string("/etc/passwd").unwrap_or_default();
    let mut users = users.lines().map(|line| line.split(':'));
    let name = users.find_map(|mut fields| {
        let name = fields.next()?;
        (fields.nth(1)? == number).then(|| name.to_owned())
    });
    name.unwrap_or(number)
}

/// Goes to a directory, where the one that we stand in may be gone.
pub fn enter(directory: &Utf8Path) {
    let _ = std::env::set_current_dir(directory);
}

/// Whether we run as root, for whom read-only bits have no effect.
pub fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// The numbers of all processes that can be seen; none where the system does not tell.
fn numbers() -> Option<Vec<u32>> {
    let entries = std::fs::read_dir("/proc").ok()?;
    let number = |entry: std::io::Result<std::fs::DirEntry>| {
        entry.ok()?.file_name().to_str()?.parse::<u32>().ok()
    };
    let numbers: Vec<u32> = entries.filter_map(number).collect();
    numbers.contains(&std::process::id()).then_some(numbers)
}

fn read(pid: u32, file: &str) -> Vec<u8> {
    std::fs::read(format!("/proc/{pid}/{file}")).unwrap_or_default()
}

/// Where a link of a process leads; nowhere for a process of another user.
fn link(pid: u32, name: &str) -> PathBuf {
    std::fs::read_link(format!("/proc/{pid}/{name}")).unwrap_or_default()
}

/// What the system says of a process after its name: the state, the parent, … (`proc_pid_stat(5)`);
/// none when there is no such process.
fn stat(pid: u32) -> Option<Vec<String>> {
    let stat = String::from_utf8_lossy(&read(pid, "stat")).into_owned();
    // the second field is the program's name in brackets, which may hold anything
    let (_, after) = stat.rsplit_once(") ")?;
    Some(after.split(' ').map(ToOwned::to_owned).collect())
}

/// The number of the process that started this one.
fn parent(pid: u32) -> Option<u32> {
    stat(pid)?.get(1)?.parse().ok()
}

/// Returns what only this very process has, as long as its number means it: when it started, and
/// in which run of the system; none when there is no such process.
#[cfg(target_os = "linux")]
pub fn started(pid: u32) -> Option<String> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let fields = stat(pid)?;
    let mut fields = fields.iter().map(String::as_str);
    // a zombie has ended; its parent has not asked yet how
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    let ticks = fields.nth(18)?;
    Some(format!("{} {ticks}", boot.trim()))
}

/// Returns what only this very process has, as long as its number means it: when it started, by
/// ps(1); none when there is no such process.
#[cfg(not(target_os = "linux"))]
pub fn started(pid: u32) -> Option<String> {
    let asked = duct::cmd("ps", ["-o", "lstart=", "-p", &pid.to_string()])
        .stderr_null()
        .unchecked()
        .read()
        .ok()?;
    let text = asked.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// Whether a process that was seen once still runs.
pub fn is_alive(pid: u32, was_started: &str) -> bool {
    started(pid).is_some_and(|now| now == was_started)
}

/// Holds a process that runs inside a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Its number.
    pub pid: u32,
    /// What it calls itself, for people.
    pub name: String,
}

/// Finds the processes whose current directory or executable is in a directory, sorted by number;
/// none where the system does not tell. Those of other users cannot be looked at, and say nothing.
pub fn inside(directory: &Utf8Path) -> Option<Vec<Inside>> {
    let mut found = Vec::new();
    for pid in numbers()? {
        let is_inside = |name: &str| link(pid, name).starts_with(directory);
        if !is_inside("cwd") && !is_inside("exe") {
            continue;
        }
        let name = path::escape_for_terminal(read(pid, "comm").trim_ascii_end());
        found.push(Inside { pid, name });
    }
    found.sort_by_key(|one| one.pid);
    Some(found)
}

/// Represents this process, or one that started it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ancestor {
    /// Its number.
    pub pid: u32,
    /// What it calls itself, for people.
    pub name: String,
    /// Its current directory and its executable, where the system tells.
    pub places: Vec<Utf8PathBuf>,
}

/// Lists our own process and those that started it, with the places of each. The list ends below what
/// serves a terminal (tmux, an editor, a desktop): that stays where it was started, whatever the user
/// does in the terminal.
pub fn ancestor_places() -> Vec<Ancestor> {
    let mut found: Vec<Ancestor> = Vec::new();
    for pid in ancestors() {
        if found
            .last()
            .is_some_and(|child| serves_terminal(pid, child.pid))
        {
            break;
        }
        let places = ["cwd", "exe"].map(|name| Utf8PathBuf::from_path_buf(link(pid, name)));
        found.push(Ancestor {
            pid,
            name: path::escape_for_terminal(read(pid, "comm").trim_ascii_end()),
            places: places.into_iter().flatten().collect(),
        });
    }
    found
}

/// Whether a process without a terminal has started another one in a terminal of its own: that one leads
/// its session (`session` and `tty_nr` of proc(5), setsid(2)).
fn serves_terminal(server: u32, shell: u32) -> bool {
    const SESSION: usize = 3;
    const TERMINAL: usize = 4;
    let (Some(server), Some(fields)) = (stat(server), stat(shell)) else {
        return false;
    };
    let has_terminal = |fields: &[String]| fields.get(TERMINAL).is_some_and(|number| number != "0");
    let leads = fields.get(SESSION) == Some(&shell.to_string());
    leads && has_terminal(&fields) && !has_terminal(&server)
}

/// Our own process and those that started it, as far up as the system tells.
pub fn ancestors() -> Vec<u32> {
    let above = |pid: &u32| parent(*pid).filter(|above| *pid > 1 && *above > 0);
    std::iter::successors(Some(std::process::id()), above).collect()
}

/// Counts the processes of this name (`comm`, proc(5)) whose current directory is this one or below;
/// none where the system does not tell. Neither those that we started count, nor our own ancestors:
/// the `git` that runs `git agentwt` holds no lock. Those of other users may be hidden.
pub fn count_in(name: &str, directory: &Utf8Path) -> Option<usize> {
    let ours = ancestors();
    let is_other = |pid: &u32| {
        read(*pid, "comm").trim_ascii_end() == name.as_bytes()
            && link(*pid, "cwd").starts_with(directory)
            && !ours.contains(pid)
            && parent(*pid) != Some(std::process::id())
    };
    Some(numbers()?.iter().filter(|pid| is_other(pid)).count())
}

/// Which of these files a process of this host has open; none where the system does not tell. Those
/// of other users are hidden from all but root.
pub fn open_of(files: &[&Utf8Path]) -> Option<BTreeSet<Utf8PathBuf>> {
    let mut found = BTreeSet::new();
    for pid in numbers()? {
        // a process that has ended, or is another user's
        let Ok(open) = std::fs::read_dir(format!("/proc/{pid}/fd")) else {
            continue;
        };
        for descriptor in open.filter_map(Result::ok) {
            let target = std::fs::read_link(descriptor.path()).unwrap_or_default();
            let named = files.iter().filter(|file| target == file.as_std_path());
            found.extend(named.map(|file| (*file).to_owned()));
        }
    }
    Some(found)
}

/// Waits until no git works in a directory or was started with its path, or for ten seconds: a
/// program whose parent was killed goes on. Where the system does not tell, nothing is waited for.
pub fn wait_for_gits(directory: &Utf8Path) {
    /// Longer than anything takes that git does in a worktree which is being created, but its
    /// checkout.
    const PATIENCE: Duration = Duration::from_secs(10);
    let is_git_there = |pid: u32| {
        let name = read(pid, "comm");
        let path = directory.as_str().as_bytes();
        name.starts_with(b"git")
            && !name.contains(&b'-')
            && (read(pid, "cmdline")
                .split(|byte| *byte == 0)
                .any(|word| word == path)
                || link(pid, "cwd").starts_with(directory))
    };
    let began = Instant::now();
    while began.elapsed() < PATIENCE && numbers().unwrap_or_default().into_iter().any(is_git_there)
    {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// Represents a process, and no other process that has its number later.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Process {
    pid: u32,
    started: String,
}

impl Process {
    fn of(pid: u32) -> Option<Self> {
        let started = started(pid)?;
        Some(Self { pid, started })
    }

    fn send(&self, signal: Option<Signal>) -> bool {
        let pid = i32::try_from(self.pid).ok().and_then(Pid::from_raw);
        let alive = is_alive(self.pid, &self.started);
        // it may end by itself at any moment
        let send = |pid| signal.is_none_or(|signal| kill_process(pid, signal).is_ok());
        alive && pid.is_some_and(send)
    }
}

/// A child of ours and all that it has started, as far as the system tells; none when the child has
/// ended. A process that has left it to live on, as a daemon does, is not one of them.
pub fn family(pid: u32) -> Vec<Process> {
    let parents = parents();
    let mut above = parents.iter().filter(|(one, _)| *one == pid);
    if above.any(|(_, of)| *of != std::process::id()) {
        return Vec::new();
    }
    let mut numbers = vec![pid];
    let mut next = 0;
    while let Some(one) = numbers.get(next).copied() {
        let children = parents
            .iter()
            .filter(|(child, of)| *of == one && *child != pid);
        numbers.extend(children.map(|(child, _)| *child));
        next += 1;
    }
    numbers.into_iter().filter_map(Process::of).collect()
}

/// Ends the processes that were started with a variable of this value, and all that they start meanwhile, as
/// far as the system tells. Returns the numbers of those that could not be ended.
pub fn end_started_with(name: &str, value: &str) -> Vec<u32> {
    /// How long the end of a killed process may take.
    const PATIENCE: Duration = Duration::from_secs(10);
    let variable = format!("{name}={value}");
    let is_one = |pid: &u32| {
        let environ = read(*pid, "environ");
        let mut variables = environ.split(|byte| *byte == 0);
        *pid != std::process::id() && variables.any(|one| one == variable.as_bytes())
    };
    let began = Instant::now();
    loop {
        let found = numbers().unwrap_or_default().into_iter().filter(is_one);
        let left: Vec<Process> = found.filter_map(Process::of).collect();
        if left.is_empty() || began.elapsed() > PATIENCE {
            return left.iter().map(|one| one.pid).collect();
        }
        for one in &left {
            one.send(Some(Signal::KILL));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Sends a signal to those that still run, none where it is 0; whether there were any.
pub fn send_to(processes: &[Process], signal: usize) -> bool {
    let number = i32::try_from(signal).ok();
    let signal = number.and_then(Signal::from_named_raw);
    let sent = processes.iter().map(|process| process.send(signal));
    sent.fold(false, |any, sent| any | sent)
}

/// Sends a signal to the processes that we started.
pub fn send_to_children(signal: usize) {
    let ours = std::process::id();
    let children = parents().into_iter().filter(|(_, of)| *of == ours);
    let children: Vec<Process> = children.filter_map(|(pid, _)| Process::of(pid)).collect();
    send_to(&children, signal);
}

/// Every process with its parent; nothing where the system does not tell.
fn parents() -> Vec<(u32, u32)> {
    let with_parent = |pid: u32| Some((pid, parent(pid)?));
    let numbers = numbers().unwrap_or_default();
    numbers.into_iter().filter_map(with_parent).collect()
}

/// Whether a program of this host listens at a port of TCP, on any of the usual addresses.
pub fn listens(port: u16) -> bool {
    std::net::TcpListener::bind(("0.0.0.0", port)).is_err()
}

/// Starts a program of the user's with our terminal and these variables, and waits for its end: its
/// status, or 128 and the signal that ended the program.
///
/// # Errors
/// Fails when the program cannot be started.
pub fn run_program(
    program: &[OsString],
    dir: &Utf8Path,
    variables: &[(&'static str, String)],
) -> std::io::Result<u8> {
    let (first, rest) = program.split_first().ok_or(std::io::ErrorKind::NotFound)?;
    let mut command = duct::cmd(first, rest).dir(dir).unchecked();
    for (name, value) in variables {
        command = command.env(name, value);
    }
    let status = command.run()?.status;
    let signal = status.signal().map(|signal| 128 + signal);
    let code = status.code().or(signal).unwrap_or(1);
    Ok(u8::try_from(code).unwrap_or(1))
}

/// Starts a program without input, and gives each line that it prints to this function; its status.
///
/// # Errors
/// Fails when the program cannot be started.
pub fn run_with_lines(
    program: &Utf8Path,
    arguments: &[OsString],
    tell: &dyn Fn(&str),
) -> std::io::Result<u8> {
    let command = duct::cmd(program.as_std_path(), arguments);
    let reader = command
        .stdin_null()
        .stderr_to_stdout()
        .unchecked()
        .reader()?;
    for line in std::io::BufReader::new(&reader).split(b'\n') {
        tell(&path::escape_for_terminal(&line?));
    }
    let ended = reader.try_wait()?.and_then(|output| {
        let signal = output.status.signal().map(|signal| 128 + signal);
        output.status.code().or(signal)
    });
    Ok(ended.and_then(|code| u8::try_from(code).ok()).unwrap_or(1))
}

/// Reads the words of our command line after the program's name.
pub fn arguments() -> Vec<OsString> {
    std::env::args_os().skip(1).collect()
}

/// Reads a variable of the environment of this process.
pub fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

/// Reads the whole environment of this process.
pub fn environment() -> Vec<(OsString, OsString)> {
    std::env::vars_os().collect()
}

/// The name of our own program, without which nothing is started: a program that uses the library
/// knows nothing of our commands.
const OURS: &str = "git-agentwt";

/// Starts our own program with these arguments, in the root directory and with nothing of the
/// terminal; whether it was started. It is not waited for.
pub fn start_detached(program: &Utf8Path, arguments: &[&str]) -> bool {
    if program.file_stem() != Some(OURS) {
        return false;
    }
    let child = duct::cmd(program.as_std_path(), arguments)
        .dir("/")
        .stdin_null()
        .stdout_null()
        .stderr_null()
        .unchecked()
        .start();
    // to let go of it leaves it running, and it is waited for when the next is started
    child.is_ok()
}

/// Leaves the session that we were started in, so that nothing that is sent to the terminal's
/// processes reaches us (setsid(2)).
pub fn leave_session() {
    // refused only to the leader of a group, which we are not
    let _ = rustix::process::setsid();
}

/// The clock that goes on while the system sleeps (`clock_gettime(2)`).
#[cfg(target_os = "linux")]
const CLOCK: ClockId = ClockId::Boottime;
/// On macOS this one does.
#[cfg(not(target_os = "linux"))]
const CLOCK: ClockId = ClockId::Monotonic;

/// A clock that only goes forward, within one run of the system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClockReading {
    /// The run of the system.
    pub boot: String,
    /// Milliseconds.
    pub milliseconds: u64,
}

/// Reads the clock, and in which run of the system it counts.
pub fn reading() -> ClockReading {
    let now = clock_gettime(CLOCK);
    let seconds = u64::try_from(now.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(now.tv_nsec).unwrap_or_default();
    let now = Duration::new(seconds, nanoseconds);
    ClockReading {
        boot: boot(),
        milliseconds: u64::try_from(now.as_millis()).unwrap_or(u64::MAX),
    }
}

/// The run of the system, and in a container with a time of its own (`time_namespaces(7)`) which.
#[cfg(target_os = "linux")]
fn boot() -> String {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").unwrap_or_default();
    let namespace = std::fs::read_link("/proc/self/ns/time").unwrap_or_default();
    format!("{} {}", boot.trim(), namespace.display())
}

/// When the first process began is when the system did.
#[cfg(not(target_os = "linux"))]
fn boot() -> String {
    started(1).unwrap_or_default()
}

/// Makes a word of 32 letters that no process has made before: the standard library's random keys
/// (they are the system's, new for each process), with our number and the time.
pub fn nonce() -> String {
    let now = clock_gettime(CLOCK);
    let mark = (std::process::id(), now.tv_sec, now.tv_nsec);
    let word = || RandomState::new().hash_one(mark);
    format!("{:016x}{:016x}", word(), word())
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn we_are_alive_and_whoever_had_our_number_before_is_not() {
        let own = std::process::id();
        let mark = started(own).expect("we run");
        assert!(is_alive(own, &mark));
        assert!(!is_alive(own, "another boot 1"));
        assert_eq!(started(u32::MAX - 1), None);
    }

    #[test]
    fn this_host_has_a_name() {
        assert!(!host().is_empty());
    }

    #[test]
    fn our_own_process_is_found_where_it_works() {
        let here = std::env::current_dir().expect("a directory");
        let here = Utf8Path::from_path(&here).expect("it is UTF-8");
        let own = std::process::id();
        let found = inside(here).expect("this system tells");
        let ours = found
            .iter()
            .find(|one| one.pid == own)
            .expect("we are there");
        assert!(!ours.name.is_empty());
        let deeper = inside(&here.join("no/such")).expect("this system tells");
        assert!(deeper.iter().all(|one| one.pid != own));
        assert_eq!(ancestors().first(), Some(&own));
        assert!(ancestors().len() > 1);
    }

    #[test]
    fn a_file_that_we_have_open_is_found_and_another_is_not() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let path = file.path().canonicalize().expect("it is there");
        let path = Utf8PathBuf::from_path_buf(path).expect("it is UTF-8");
        let other = path.with_extension("other");
        let found = open_of(&[&path, &other]).expect("this system tells");
        assert_eq!(found.into_iter().collect::<Vec<_>>(), [path]);
    }

    #[test]
    fn nobody_is_waited_for_where_no_git_is() {
        let began = Instant::now();
        wait_for_gits(Utf8Path::new("/nowhere/at/all"));
        assert!(began.elapsed() < Duration::from_secs(2));
    }

    #[test]
    fn a_child_ends_with_all_that_it_has_started() {
        let line = "sleep 600 & sh -c 'trap : TERM; sleep 600 & wait; wait' & wait";
        let child = duct::cmd("sh", ["-c", line]).unchecked().start();
        let child = child.expect("it starts");
        let pid = child.pids()[0];
        let began = Instant::now();
        let mut all = family(pid);
        while all.len() < 4 && began.elapsed() < Duration::from_secs(20) {
            all = family(pid);
        }
        assert!(send_to(&all, 0) && all.len() >= 4, "{all:?}");
        assert!(send_to(&all, 9));
        child.wait().expect("it ended");
        while send_to(&all, 0) {
            assert!(began.elapsed() < Duration::from_secs(40), "{all:?}");
        }
        assert!(!send_to(&all, 9));
        assert_eq!(family(pid), []);
    }

    #[test]
    fn what_is_not_our_child_gets_nothing() {
        assert_eq!(family(1), []);
    }

    #[test]
    fn another_program_is_never_started() {
        assert!(!start_detached(Utf8Path::new("/bin/true"), &[]));
        assert!(!start_detached(Utf8Path::new("/nowhere/git-agentwt"), &[]));
    }

    #[test]
    fn the_clock_goes_forward_in_one_run_of_the_system() {
        let (first, second) = (reading(), reading());
        assert!(second.since(&first).is_some(), "{first:?} {second:?}");
        assert!(!first.boot.is_empty());
    }

    #[test]
    fn no_word_is_made_twice() {
        let words: std::collections::BTreeSet<String> = (0..1000).map(|_| nonce()).collect();
        assert_eq!(words.len(), 1000);
        assert!(words.iter().all(|word| word.len() == 32));
    }
}
