//! Waits for programs whose parent was killed: they know nothing of that, and go on.

use std::time::{Duration, Instant};

use camino::Utf8Path;

/// Longer than anything takes that git does in a worktree which is being made, but its checkout.
const PATIENCE: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(20);

/// Waits until no git works in a directory or was started with its path, or for ten seconds. Where
/// the system does not tell (no `/proc`), nobody is waited for.
pub fn wait_for_gits(directory: &Utf8Path) {
    let began = Instant::now();
    while began.elapsed() < PATIENCE && is_any_at(directory) {
        std::thread::sleep(PAUSE);
    }
}

#[cfg(target_os = "linux")]
#[expect(
    clippy::disallowed_methods,
    reason = "/proc (proc(5)) is the system's word on processes, not a disk"
)]
fn is_any_at(directory: &Utf8Path) -> bool {
    let Ok(entries) = std::fs::read_dir("/proc") else {
        return false;
    };
    let numbers = entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse::<u32>().ok());
    let read = |pid: u32, file: &str| std::fs::read(format!("/proc/{pid}/{file}"));
    let path = directory.as_str().as_bytes();
    let is_there = |pid: u32| {
        let is_git =
            read(pid, "comm").is_ok_and(|name| name.starts_with(b"git") && !name.contains(&b'-'));
        let words = || read(pid, "cmdline").unwrap_or_default();
        let at = || std::fs::read_link(format!("/proc/{pid}/cwd"));
        is_git
            && (words().split(|byte| *byte == 0).any(|word| word == path)
                || at().is_ok_and(|at| at.starts_with(directory)))
    };
    let mut numbers = numbers;
    numbers.any(is_there)
}

#[cfg(not(target_os = "linux"))]
fn is_any_at(_directory: &Utf8Path) -> bool {
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_is_waited_for_where_no_git_is() {
        let began = Instant::now();
        wait_for_gits(Utf8Path::new("/nowhere/at/all"));
        assert!(began.elapsed() < Duration::from_secs(2));
    }
}
