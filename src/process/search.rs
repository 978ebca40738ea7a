//! Looks for programs on the search path, for a manual page, and for processes in a directory.
#![expect(
    clippy::disallowed_methods,
    reason = "the search path and proc(5) are the system's word on programs and processes"
)]

use std::os::unix::fs::PermissionsExt as _;

use camino::{Utf8Path, Utf8PathBuf};

/// Returns every program of this name on `PATH`, the one that would be started first.
#[must_use]
pub fn on_path(name: &str) -> Vec<Utf8PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let candidates = std::env::split_paths(&path).map(|directory| directory.join(name));
    let is_program = |file: &std::path::PathBuf| {
        let found = std::fs::metadata(file);
        found.is_ok_and(|found| found.is_file() && found.permissions().mode() & 0o111 != 0)
    };
    let programs = candidates.filter(is_program);
    programs
        .filter_map(|file| Utf8PathBuf::from_path_buf(file).ok())
        .collect()
}

/// Whether man(1) has this page; none where it cannot be started.
#[must_use]
pub fn shows_page(name: &str) -> Option<bool> {
    let asked = duct::cmd("man", ["-w", name])
        .stdin_null()
        .stdout_null()
        .stderr_null();
    let ended = asked.unchecked().run().ok()?;
    Some(ended.status.success())
}

/// Counts the processes of this name (`comm`, proc(5)) whose current directory is this one or
/// below it, those apart that we started; none where processes cannot be looked at. Those of other
/// users may be hidden.
#[must_use]
pub fn count_in(name: &str, directory: &Utf8Path) -> Option<usize> {
    let mut count = 0;
    let mut seen_ourselves = false;
    for process in std::fs::read_dir("/proc").ok()?.filter_map(Result::ok) {
        let number = process.file_name();
        if !number.as_encoded_bytes().iter().all(u8::is_ascii_digit) {
            continue;
        }
        seen_ourselves |= number.to_str() == Some(&std::process::id().to_string());
        let comm = std::fs::read_to_string(process.path().join("comm"));
        if comm.is_ok_and(|comm| comm.trim_end() == name) && !is_ours(&process.path()) {
            let current = std::fs::read_link(process.path().join("cwd"));
            count += usize::from(current.is_ok_and(|current| current.starts_with(directory)));
        }
    }
    seen_ourselves.then_some(count)
}

/// Whether we started a process: the second field after its name is its parent (proc(5)).
fn is_ours(process: &std::path::Path) -> bool {
    let stat = std::fs::read(process.join("stat")).unwrap_or_default();
    let stat = String::from_utf8_lossy(&stat).into_owned();
    let after = stat.rsplit_once(") ").map(|(_, after)| after);
    let parent = after.and_then(|after| after.split(' ').nth(1));
    parent == Some(&std::process::id().to_string())
}
