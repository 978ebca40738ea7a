//! Finds processes: those that work in a directory, those that started us, those that have a file
//! open. Where the kernel is not asked (`kernel`), little is known.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use camino::{Utf8Path, Utf8PathBuf};

use crate::system::kernel;
use crate::words::path::escape_for_terminal;

/// Returns what only this very process has, as long as its number means it: when it started, and
/// after which boot; none when there is no such process.
pub fn start_time(pid: u32) -> Option<String> {
    kernel::start_time(pid)
}

/// True if a process still runs that was seen with this start time.
pub fn is_alive(pid: u32, seen_start_time: &str) -> bool {
    start_time(pid).is_some_and(|now| now == seen_start_time)
}

/// The name of a process as it can be printed.
fn printable_name(pid: u32) -> String {
    escape_for_terminal(&kernel::name(pid))
}

fn is_in(directory: &Utf8Path, path: Option<PathBuf>) -> bool {
    path.is_some_and(|path| path.starts_with(directory))
}

/// A process that works inside a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InsideProcess {
    /// Its number.
    pub pid: u32,
    /// What it calls itself, for people.
    pub name: String,
}

/// Finds the processes whose current directory or executable is in a directory, sorted by number;
/// none if the system does not tell. Those of other users cannot be looked at, and say nothing.
pub fn working_in(directory: &Utf8Path) -> Option<Vec<InsideProcess>> {
    let mut inside = Vec::new();
    for pid in kernel::pids()? {
        let works_there = is_in(directory, kernel::current_directory(pid));
        if works_there || is_in(directory, kernel::executable(pid)) {
            let name = printable_name(pid);
            inside.push(InsideProcess { pid, name });
        }
    }
    inside.sort_by_key(|process| process.pid);
    Some(inside)
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

impl Ancestor {
    fn of(pid: u32) -> Self {
        let directory = kernel::current_directory(pid);
        let places = directory.into_iter().chain(kernel::executable(pid));
        Self {
            pid,
            name: printable_name(pid),
            places: places.flat_map(Utf8PathBuf::from_path_buf).collect(),
        }
    }
}

/// Lists our own process and those that started it, with the places of each. The list ends below
/// what serves a terminal (tmux, an editor, a desktop): that stays where it was started, whatever
/// the user does in the terminal.
pub fn ancestor_places() -> Vec<Ancestor> {
    let mut ancestors: Vec<Ancestor> = Vec::new();
    for pid in ancestor_pids() {
        if let Some(child) = ancestors.last()
            && kernel::serves_terminal(pid, child.pid)
        {
            break;
        }
        ancestors.push(Ancestor::of(pid));
    }
    ancestors
}

/// Returns our own process and those that started it, as far up as the system tells.
pub fn ancestor_pids() -> Vec<u32> {
    let mut pids = vec![std::process::id()];
    while let Some(pid) = pids.last()
        && *pid > 1
        && let Some(parent) = kernel::parent(*pid)
        && parent > 0
    {
        pids.push(parent);
    }
    pids
}

/// Counts the processes of this name whose current directory is this one or below; none if the
/// system does not tell. Neither those that we started count, nor our own ancestors: the `git` that
/// runs `git agentwt` holds no lock. Those of other users may be hidden.
pub fn count_named(name: &str, directory: &Utf8Path) -> Option<usize> {
    let ancestors = ancestor_pids();
    let mut count = 0;
    for pid in kernel::pids()? {
        let is_wanted = kernel::name(pid) == name.as_bytes()
            && is_in(directory, kernel::current_directory(pid));
        let is_ours =
            || ancestors.contains(&pid) || kernel::parent(pid) == Some(std::process::id());
        if is_wanted && !is_ours() {
            count += 1;
        }
    }
    Some(count)
}

/// Returns which of these files a process of this host has open; none if the system does not
/// tell. Those of other users are hidden from all but root.
pub fn open_files(files: &[&Utf8Path]) -> Option<BTreeSet<Utf8PathBuf>> {
    let mut open = BTreeSet::new();
    for pid in kernel::pids()? {
        for target in kernel::open_files(pid) {
            let named = files.iter().filter(|file| target == file.as_std_path());
            open.extend(named.map(|file| (*file).to_owned()));
        }
    }
    Some(open)
}

/// Waits until no git works in a directory or was started with its path, or for ten seconds: a
/// program whose parent was killed goes on. Where the system does not tell, nothing is waited for.
pub fn wait_for_gits(directory: &Utf8Path) {
    /// Longer than anything takes that git does in a worktree which is being created, but its
    /// checkout.
    const PATIENCE: Duration = Duration::from_secs(10);
    let began = Instant::now();
    while began.elapsed() < PATIENCE && has_git(directory) {
        std::thread::sleep(Duration::from_millis(20));
    }
}

/// True if a git works in a directory, or was started with its path.
fn has_git(directory: &Utf8Path) -> bool {
    let path = directory.as_str().as_bytes();
    let works_there = |pid: u32| {
        let name = kernel::name(pid);
        let is_git = name.starts_with(b"git") && !name.contains(&b'-');
        is_git
            && (kernel::command_line(pid).iter().any(|word| word == path)
                || is_in(directory, kernel::current_directory(pid)))
    };
    // the `git` that runs `git agentwt` waits for us
    let ancestors = ancestor_pids();
    let mut pids = kernel::pids().unwrap_or_default();
    pids.retain(|pid| !ancestors.contains(pid));
    pids.into_iter().any(works_there)
}

#[cfg(all(test, target_os = "linux"))]
#[expect(clippy::disallowed_methods, reason = "looks where the tests run")]
mod tests {
    use super::*;

    #[test]
    fn we_are_alive_and_whoever_had_our_number_before_is_not() {
        let own = std::process::id();
        let mark = start_time(own).expect("we run");
        assert!(is_alive(own, &mark));
        assert!(!is_alive(own, "another boot 1"));
        assert_eq!(start_time(u32::MAX - 1), None);
    }

    #[test]
    fn our_own_process_is_found_where_it_works() {
        let directory = std::env::current_dir().expect("a directory");
        let here = Utf8Path::from_path(&directory).expect("it is UTF-8");
        let own = std::process::id();
        let inside = working_in(here).expect("this system tells");
        let ours = inside
            .iter()
            .find(|process| process.pid == own)
            .expect("we are there");
        assert!(!ours.name.is_empty());
        let deeper = working_in(&here.join("no/such")).expect("this system tells");
        assert!(deeper.iter().all(|process| process.pid != own));
        assert_eq!(ancestor_pids().first(), Some(&own));
        assert!(ancestor_pids().len() > 1);
    }

    #[test]
    fn a_file_that_we_have_open_is_found_and_another_is_not() {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let canonical = file.path().canonicalize().expect("it is there");
        let path = Utf8PathBuf::from_path_buf(canonical).expect("it is UTF-8");
        let other = path.with_extension("other");
        let open = open_files(&[&path, &other]).expect("this system tells");
        assert_eq!(open.into_iter().collect::<Vec<_>>(), [path]);
    }

    #[test]
    fn nobody_is_waited_for_where_no_git_is() {
        let began = Instant::now();
        wait_for_gits(Utf8Path::new("/nowhere/at/all"));
        assert!(began.elapsed() < Duration::from_secs(2));
    }
}
