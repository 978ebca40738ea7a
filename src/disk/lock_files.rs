//! Finds lock files: names that end in `.lock` (api-lockfile of git), with their age.

use std::time::SystemTime;

use camino::{Utf8Path, Utf8PathBuf};

/// Says how far down is looked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Depth {
    /// In the directory itself.
    Here,
    /// Below it, too.
    Below,
}

/// Returns the lock files of a directory with their age in seconds, sorted; what cannot be read
/// has none.
#[must_use]
pub fn lock_files(directory: &Utf8Path, depth: Depth) -> Vec<(Utf8PathBuf, u64)> {
    let mut found = Vec::new();
    let mut waiting = vec![directory.to_owned()];
    while let Some(directory) = waiting.pop() {
        let Ok(entries) = directory.read_dir_utf8() else {
            continue;
        };
        for entry in entries.filter_map(Result::ok) {
            let Ok(kind) = entry.file_type() else {
                continue;
            };
            let path = entry.path();
            if kind.is_dir() && depth == Depth::Below {
                waiting.push(path.to_owned());
            } else if kind.is_file() && path.extension() == Some("lock") {
                let made = entry.metadata().and_then(|metadata| metadata.modified());
                let age = made
                    .ok()
                    .and_then(|at| SystemTime::now().duration_since(at).ok());
                found.push((path.to_owned(), age.unwrap_or_default().as_secs()));
            }
        }
    }
    found.sort();
    found
}
