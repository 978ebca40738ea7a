//! Finds processes that work inside a directory.

use camino::Utf8Path;

#[cfg(target_os = "linux")]
use super::running::parent;

/// Holds a process that runs inside a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Inside {
    /// Its number.
    pub pid: u32,
    /// What it calls itself, for people.
    pub name: String,
    /// What of it is inside.
    pub what: What,
}

/// Says what of a process is inside a directory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Its current directory.
    Directory,
    /// Its executable file.
    Executable,
}

/// Finds the processes whose current directory or executable is in a directory, sorted by number;
/// none where the system does not tell. Those of other users cannot be looked at, and say nothing.
#[cfg(target_os = "linux")]
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "/proc (proc(5)) is the system's word on processes, not a disk"
)]
pub fn inside(directory: &Utf8Path) -> Option<Vec<Inside>> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").ok()? {
        let Some(pid) = entry
            .ok()
            .and_then(|e| e.file_name().to_str()?.parse().ok())
        else {
            continue;
        };
        let is_inside = |link: &str| {
            let target = std::fs::read_link(format!("/proc/{pid}/{link}"));
            target.is_ok_and(|target| target.starts_with(directory))
        };
        let what = if is_inside("cwd") {
            What::Directory
        } else if is_inside("exe") {
            What::Executable
        } else {
            continue;
        };
        let name = std::fs::read(format!("/proc/{pid}/comm")).unwrap_or_default();
        let name = crate::path::escape_for_terminal(name.trim_ascii_end());
        found.push(Inside { pid, name, what });
    }
    found.sort_by_key(|one| one.pid);
    Some(found)
}

/// Finds the processes whose current directory or executable is in a directory; none where the
/// system does not tell.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn inside(_directory: &Utf8Path) -> Option<Vec<Inside>> {
    None
}

/// Our own process and those that started it, as far up as the system tells.
#[cfg(target_os = "linux")]
#[must_use]
pub fn ancestors() -> Vec<u32> {
    let mut line = vec![std::process::id()];
    while let Some(pid) = line.last().copied()
        && pid > 1
    {
        match parent(pid) {
            Some(parent) if parent > 0 => line.push(parent),
            Some(_) | None => break,
        }
    }
    line
}

/// Our own process.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn ancestors() -> Vec<u32> {
    vec![std::process::id()]
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn our_own_process_is_found_where_it_works() {
        #[expect(clippy::disallowed_methods, reason = "where the test stands")]
        let here = std::env::current_dir().expect("a directory");
        let here = Utf8Path::from_path(&here).expect("it is UTF-8");
        let own = std::process::id();
        let found = inside(here).expect("this system tells");
        let ours = found
            .iter()
            .find(|one| one.pid == own)
            .expect("we are there");
        assert_eq!(ours.what, What::Directory);
        assert!(!ours.name.is_empty());
        let deeper = inside(&here.join("no/such")).expect("this system tells");
        assert!(deeper.iter().all(|one| one.pid != own));
        assert_eq!(ancestors().first(), Some(&own));
        assert!(ancestors().len() > 1);
    }
}
