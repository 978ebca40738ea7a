//! Finds who works in a directory.

use camino::Utf8Path;

/// Returns the processes whose current directory is this one or below it, without ourselves and
/// those that started us; none where the system does not tell (no `/proc`).
#[cfg(target_os = "linux")]
#[must_use]
#[expect(
    clippy::disallowed_methods,
    reason = "/proc (proc(5)) is the system's word on processes, not a disk"
)]
pub fn working_in(directory: &Utf8Path) -> Vec<u32> {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return Vec::new();
    };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok());
    let works_there = |pid: &u32| {
        let at = std::fs::read_link(format!("/proc/{pid}/cwd"));
        at.is_ok_and(|at| at.starts_with(directory))
    };
    let mut found: Vec<u32> = numbers.filter(works_there).collect();
    let mut next = Some(std::process::id());
    while let Some(pid) = next {
        found.retain(|one| *one != pid);
        next = parent(pid);
    }
    found.sort_unstable();
    found
}

/// Returns nobody: the system does not tell.
#[cfg(not(target_os = "linux"))]
#[must_use]
pub fn working_in(_directory: &Utf8Path) -> Vec<u32> {
    Vec::new()
}

#[cfg(target_os = "linux")]
#[expect(
    clippy::disallowed_methods,
    reason = "/proc (proc(5)) is the system's word on processes, not a disk"
)]
fn parent(pid: u32) -> Option<u32> {
    let stat = std::fs::read(format!("/proc/{pid}/stat")).ok()?;
    let stat = String::from_utf8_lossy(&stat).into_owned();
    // after the name, which may hold anything: the state, then the parent (proc_pid_stat(5))
    let (_, after) = stat.rsplit_once(") ")?;
    let parent = after.split(' ').nth(1)?.parse().ok()?;
    (parent != 0).then_some(parent)
}
